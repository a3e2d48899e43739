//! Undoing runs: exact but for the version, and never over what came later.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::faults::{Random, seed};
use super::fixture::{Fixture, at, set, spoken_for_by, tags};
use crate::domain::change::{Change, ChangeSet, NewMemory, Patch};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::job::{Left, NotUndone, Outcome, RunId, Trigger, Undone};
use crate::domain::memory::{Memory, Status};
use crate::ports::{Ledger, Store};

/// All that is there, but for versions.
async fn records(f: &Fixture) -> BTreeMap<MemoryId, Memory> {
    f.all().await.into_iter().map(|m| (m.id, Memory { version: 0, ..m })).collect()
}

fn archived() -> Patch {
    Patch { status: Some(Status::Archived), ..Patch::default() }
}

#[tokio::test]
async fn an_undo_gives_back_what_was_there() {
    let mut f = Fixture::new();
    let mut ids = Vec::new();
    for n in 0..4 {
        ids.push(f.store_fact(&format!("memory {n}"), 0).await);
    }
    ids.sort();
    let before = records(&f).await;
    let (summarised, summary) = f.summarised("three memories", &ids[..3]).await;
    let run = f.begin(10).await;
    f.apply(ChangeSet { run: Some(run), at: at(10), ..summarised }).await;
    // A second page of the same run changes one of them again, and another.
    let rewritten = Patch { content: Some(Arc::from("other words")), ..archived() };
    let changes = vec![f.change(ids[0], rewritten).await, f.change(ids[3], archived()).await];
    f.apply(ChangeSet { run: Some(run), changes, at: at(11), ..set() }).await;
    assert_eq!(f.store.undo(run, Actor::Owner, at(12)).await.unwrap(), Err(NotUndone::Open));
    f.end(run, 12).await;
    f.reopen();
    let Undone { run: undo, restored, withdrawn, left } = f.undo(run, 20).await;
    assert_eq!((restored, withdrawn, left), (ids.clone(), vec![summary], vec![]));
    assert_eq!(records(&f).await, before);
    let first = f.get(ids[0]).await.unwrap();
    assert_eq!((first.version, first.updated_at), (4, at(0)));

    let [undone, by] = [run, undo].map(|id| f.store.run(id));
    let (undone, by) = (undone.await.unwrap().unwrap(), by.await.unwrap().unwrap());
    assert_eq!((undone.undone_by, by.undoes), (Some(undo), Some(run)));
    assert_eq!((by.trigger, by.outcome, by.n_changed), (Trigger::Owner, Some(Outcome::Done), 5));
    assert_eq!((by.started_at, by.finished_at), (at(20), Some(at(20))));
    let report: serde_json::Value = serde_json::from_str(&by.report).unwrap();
    assert_eq!(report["withdrawn"], serde_json::json!([summary.to_string()]));
    assert!(!by.report.contains("memor"), "no content: {}", by.report);
    let log = f.snapshot().await.log_of(ids[0], 1).await.unwrap().remove(0);
    assert_eq!((&*log.operation, &*log.actor, log.run), ("undo", "owner", Some(undo)));
    assert_eq!(log.fields, tags(&["content", "status", "consolidated_into"]));
    // Its history is whole: nothing was overwritten.
    assert_eq!(f.snapshot().await.history(ids[0]).await.unwrap().len(), 3);
    assert_eq!(
        f.store.undo(run, Actor::Owner, at(21)).await.unwrap(),
        Err(NotUndone::Before(undo))
    );
    assert_eq!(f.store.undo(undo, Actor::Owner, at(21)).await.unwrap(), Err(NotUndone::IsUndo));
    assert_eq!(
        f.store.undo(RunId(99), Actor::Owner, at(21)).await.unwrap(),
        Err(NotUndone::Missing)
    );
    f.finish().await;
}

#[tokio::test]
async fn vectors_follow_a_text_that_comes_back_and_stay_with_one_that_did_not_change() {
    use super::fixture::{embedded, model};
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let embed = |n, text: &str| NewMemory { embedded: Some(embedded(space, n, 1)), ..f.fact(text) };
    let kept = f.remember_one(embed(1, "kept"), 1).await.id;
    let text = f.remember_one(embed(2, "text"), 1).await.id;
    let other = Patch { content: Some(Arc::from("other")), ..Patch::default() };
    let changes = vec![f.change(kept, archived()).await, f.change(text, other).await];
    let run = f.run(ChangeSet { changes, ..set() }, 2).await;
    f.undo(run, 3).await;
    assert_eq!(f.snapshot().await.without_vectors(space, 9).await.unwrap(), [text]);
    f.finish().await;
}

#[tokio::test]
async fn what_changed_since_is_left_and_listed() {
    let f = Fixture::new();
    let (a, b, c) =
        (f.store_fact("a", 1).await, f.store_fact("b", 1).await, f.store_fact("c", 1).await);
    let mut changes = Vec::new();
    for id in [a, b, c] {
        changes.push(f.change(id, archived()).await);
    }
    let new = vec![f.fact("kept"), f.fact("taken")];
    let (kept, taken) = (new[0].id, new[1].id);
    let run = f.run(ChangeSet { new, changes, ..set() }, 2).await;
    f.revise(b, Patch { pinned: Some(true), ..Patch::default() }, 3).await;
    f.revise(kept, Patch { tags: Some(tags(&["mine"])), ..Patch::default() }, 3).await;
    f.forget(&[c], Some(500), 3).await;
    let undone = f.undo(run, 4).await;
    assert_eq!((undone.restored, undone.withdrawn), (vec![a], vec![taken]));
    let mut left = vec![(b, Left::Changed), (c, Left::Forgotten), (kept, Left::Changed)];
    left.sort_by_key(|(id, _)| *id);
    assert_eq!(undone.left, left);
    assert_eq!(f.get(b).await.unwrap().status, Status::Archived);
    assert_eq!(f.get(kept).await.unwrap().tags, ["mine"]);
    assert!(f.get(c).await.is_none(), "what is forgotten stays forgotten");
    assert!(!f.store.restore(taken, Actor::Owner, at(5)).await.unwrap());
    f.finish().await;
}

#[tokio::test]
async fn a_change_between_two_of_a_run_is_kept() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    let run = f.begin(2).await;
    let in_run = |changes: Vec<Change>, second| ChangeSet {
        run: Some(run),
        changes,
        at: at(second),
        ..set()
    };
    f.apply(in_run(vec![f.change(id, archived()).await], 2)).await;
    f.revise(id, Patch { pinned: Some(true), ..Patch::default() }, 3).await;
    let tagged = Patch { tags: Some(tags(&["t"])), ..Patch::default() };
    f.apply(in_run(vec![f.change(id, tagged).await], 4)).await;
    f.end(run, 5).await;
    let undone = f.undo(run, 6).await;
    assert_eq!((undone.restored, undone.left), (vec![id], vec![(id, Left::Changed)]));
    let memory = f.get(id).await.unwrap();
    assert_eq!((memory.pinned, memory.tags.len(), memory.status), (true, 0, Status::Archived));
    f.finish().await;
}

#[tokio::test]
async fn what_later_runs_built_on_it_is_withdrawn_too() {
    let f = Fixture::new();
    let (a, b) = f.two_facts().await;
    let (made, summary) = f.summarised("a and b", &[a, b]).await;
    let first = f.run(made, 2).await;
    // Made of the summary, which it does not change; and of that.
    let profile = f.summary("profile", &[summary]);
    let reflection = f.summary("reflection", &[profile.id]);
    let later = vec![profile.id, reflection.id];
    f.run(ChangeSet { new: vec![profile, reflection], ..set() }, 3).await;
    let undone = f.undo(first, 4).await;
    let mut withdrawn = [vec![summary], later].concat();
    withdrawn.sort();
    assert_eq!((undone.restored, undone.withdrawn), (vec![a, b], withdrawn));
    assert_eq!(f.all().await.len(), 2);
    f.finish().await;
}

#[tokio::test]
async fn links_are_cut_even_in_memories_that_are_left() {
    let f = Fixture::new();
    let (a, b) = (f.store_fact("a", 1).await, f.store_fact("b", 1).await);
    let (made, summary) = f.summarised("a and b", &[a, b]).await;
    let run = f.run(made, 2).await;
    f.revise(a, Patch { pinned: Some(true), ..Patch::default() }, 3).await;
    let undone = f.undo(run, 4).await;
    assert_eq!((undone.restored, undone.withdrawn), (vec![b], vec![summary]));
    assert_eq!(undone.left, [(a, Left::Changed)]);
    let left = f.get(a).await.unwrap();
    assert_eq!((left.consolidated_into, left.pinned), (None, true));
    f.finish().await;
}

#[tokio::test]
async fn a_replaced_summary_speaks_again() {
    let f = Fixture::new();
    let (a, b) = (f.store_fact("a", 1).await, f.store_fact("b", 1).await);
    let (made, first) = f.summarised("a", &[a]).await;
    f.run(made, 2).await;
    let before = records(&f).await;
    let (made, second) = f.summarised("a and b", &[a, b]).await;
    let replaces = NewMemory { supersedes: Some(first), ..made.new[0].clone() };
    let run = f.run(ChangeSet { new: vec![replaces], ..made }, 3).await;
    assert_eq!(f.get(first).await.unwrap().superseded_by, Some(second));
    let undone = f.undo(run, 4).await;
    assert_eq!((undone.withdrawn, undone.left), (vec![second], vec![]));
    assert_eq!(records(&f).await, before);
    f.finish().await;
}

#[tokio::test]
async fn a_link_to_what_was_forgotten_since_does_not_come_back() {
    let f = Fixture::new();
    let (a, b) = (f.store_fact("a", 1).await, f.store_fact("b", 1).await);
    let (made, first) = f.summarised("a", &[a]).await;
    f.run(made, 2).await;
    let says = Patch { contradicts: Some(vec![b]), ..Patch::default() };
    f.apply(ChangeSet { changes: vec![f.change(a, says).await], at: at(3), ..set() }).await;
    let cut = Patch { contradicts: Some(Vec::new()), consolidated_into: Some(None), ..archived() };
    let run = f.run(ChangeSet { changes: vec![f.change(a, cut).await], ..set() }, 4).await;
    f.forget(&[first, b], None, 5).await;
    let undone = f.undo(run, 6).await;
    assert_eq!(undone.restored, [a]);
    assert_eq!(undone.left, [(b, Left::Forgotten)]);
    let back = f.get(a).await.unwrap();
    assert_eq!(
        (back.status, back.consolidated_into, back.contradicts),
        (Status::Active, None, vec![])
    );
    f.finish().await;
}

#[tokio::test]
async fn runs_that_are_undone_from_the_last_on_leave_no_trace() {
    let mut random = Random::new(seed("runs to undo"));
    for _ in 0..12 {
        let f = Fixture::new();
        for n in 0..8 {
            f.store_fact(&format!("memory {n}"), n).await;
        }
        let mut runs = Vec::new();
        for second in 10..20 {
            let before = records(&f).await;
            let run = f.begin(second).await;
            for page in 0..=random.below(2) {
                let set = random_set(&f, &mut random, &format!("{second}.{page}")).await;
                let applied = f.apply(ChangeSet { run: Some(run), at: at(second), ..set }).await;
                assert_eq!(applied.conflicts, []);
            }
            f.end(run, second).await;
            runs.push((run, before));
        }
        f.check().await;
        for (second, (run, before)) in (30..).zip(runs.into_iter().rev()) {
            let undone = f.undo(run, second).await;
            assert_eq!(undone.left, [], "run {run}");
            assert_eq!(records(&f).await, before, "after run {run} is undone");
            f.check().await;
        }
        f.finish().await;
    }
}

/// What a job could do: a summary that may replace another, states, contradictions.
async fn random_set(f: &Fixture, random: &mut Random, name: &str) -> ChangeSet {
    let all = f.all().await;
    let mut some: Vec<&Memory> = all.iter().filter(|_| random.below(3) == 0).collect();
    some.truncate(5);
    let ids: Vec<MemoryId> = some.iter().map(|memory| memory.id).collect();
    match random.below(4) {
        0 if !ids.is_empty() => {
            let (mut made, _) = f.summarised(&format!("summary {name}"), &ids).await;
            let active = all.iter().filter(|m| m.status == Status::Active);
            let outside: Vec<_> = active.filter(|m| !ids.contains(&m.id)).collect();
            if random.below(2) == 0 && !outside.is_empty() {
                made.new[0].supersedes = Some(outside[random.below(outside.len())].id);
            }
            made
        }
        1 => {
            let mut changes = Vec::new();
            for memory in &some {
                let patch = Patch {
                    content: Some(Arc::from(format!("{} {name}", memory.content))),
                    status: Some(Status::ALL[random.below(4)]).filter(|s| *s != Status::Superseded),
                    tags: Some(tags(&[name])),
                    ..Patch::default()
                };
                changes.push(f.change(memory.id, patch).await);
            }
            ChangeSet { changes, ..set() }
        }
        2 => {
            let mut changes = Vec::new();
            for pair in ids.chunks_exact(2) {
                let patch = Patch { contradicts: Some(vec![pair[1]]), ..Patch::default() };
                changes.push(f.change(pair[0], patch).await);
            }
            ChangeSet { changes, ..set() }
        }
        _ => {
            let mut changes = Vec::new();
            for memory in &some {
                // A summary lets go of its first source, a source of its summary.
                let patch = Patch {
                    derived_from: memory.derived_from.get(1..).map(<[MemoryId]>::to_vec),
                    consolidated_into: Some(None),
                    ..Patch::default()
                };
                changes.push(f.change(memory.id, patch).await);
            }
            let new = vec![NewMemory { contradicts: ids, ..f.fact(&format!("new {name}")) }];
            ChangeSet { new, changes, ..set() }
        }
    }
}

#[tokio::test]
async fn an_unchanged_source_is_not_asked_for_twice() {
    // A source that is named twice, or a patch without effect, makes no version to undo.
    let f = Fixture::new();
    let a = f.store_fact("a", 1).await;
    let (made, summary) = f.summarised("s", &[a]).await;
    let run = f.run(made, 2).await;
    let same = ChangeSet { changes: vec![f.change(a, spoken_for_by(summary)).await], ..set() };
    let idle = f.run(same, 3).await;
    assert_eq!(f.store.run_changes(idle, 9).await.unwrap(), []);
    let undone = f.undo(idle, 4).await;
    assert_eq!((undone.restored, undone.withdrawn, undone.left), (vec![], vec![], vec![]));
    assert_eq!(f.undo(run, 5).await.restored, [a]);
    f.finish().await;
}
