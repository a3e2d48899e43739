//! What was made of a forgotten memory goes with it, and nothing else does.

use std::sync::Arc;

use super::fixture::{Fixture, at, forget_request, key, set, spoken_for_by};
use super::forgetting::rows_hold;
use crate::domain::change::{ChangeSet, Effect, Forget, NewMemory, Patch};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::memory::Status;
use crate::domain::transfer::{ExportPlace, ImportOutcome, Item};
use crate::ports::{Store, Transfer};

/// Memories a, b and c; a summary of them; a profile made of the summary.
async fn summarised(f: &Fixture) -> ([MemoryId; 3], MemoryId, MemoryId) {
    let mut ids = [f.unknown_id(); 3];
    for (id, text) in ids.iter_mut().zip(["anna rows", "bert sings", "cleo digs"]) {
        *id = f.store_fact(text, 1).await;
    }
    let (made, summary) = f.summarised("anna rows, bert sings, cleo digs", &ids).await;
    f.run(made, 2).await;
    let (made, profile) = f.summarised("rowing people", &[summary]).await;
    f.run(made, 3).await;
    (ids, summary, profile)
}

#[tokio::test]
async fn what_was_made_of_a_forgotten_memory_goes_with_it() {
    for grace in [None, Some(50)] {
        let mut f = Fixture::new();
        let ([a, b, c], summary, profile) = summarised(&f).await;
        let receipt = f.forget(&[a], grace, 10).await;
        let mut made = vec![summary, profile];
        made.sort();
        assert_eq!((receipt.ids, receipt.withdrawn), (vec![a], made.clone()));
        for id in [a, summary, profile] {
            assert!(f.get(id).await.is_none());
            assert_eq!(f.snapshot().await.history(id).await.unwrap(), []);
        }
        let removed = |f: &Fixture, id| {
            let told = f.listener.0.lock().unwrap();
            told.iter().any(|c| matches!(c.effect, Effect::Removed { id: gone, .. } if gone == id))
        };
        assert!([a, summary, profile].iter().all(|id| removed(&f, *id)));
        for id in [b, c] {
            let source = f.get(id).await.unwrap();
            assert_eq!((source.consolidated_into, source.status), (None, Status::Active));
        }
        // Their text goes at once, even where the source is restorable.
        for id in made {
            assert!(!f.store.restore(id, Actor::Owner, at(11)).await.unwrap());
            let (operation, ..) = log_of(&f, id).await.pop().unwrap();
            assert_eq!(operation, "withdraw");
        }
        f.store.close();
        assert!(!rows_hold(f.dir.path(), "rowing people"));
        assert!(!rows_hold(f.dir.path(), "anna rows, bert"));
        assert_eq!(rows_hold(f.dir.path(), "anna rows"), grace.is_some());
        f.reopen();
        let is_back = f.store.restore(a, Actor::Owner, at(12)).await.unwrap();
        assert_eq!(is_back, grace.is_some());
        if is_back {
            assert_eq!(f.get(a).await.unwrap().consolidated_into, None);
        }
        f.finish().await;
    }
}

async fn log_of(f: &Fixture, id: MemoryId) -> Vec<(String, Option<u64>)> {
    let entries = f.snapshot().await.log_of(id, 99).await.unwrap();
    entries.into_iter().map(|entry| (entry.operation, entry.run.map(|run| run.0))).collect()
}

#[tokio::test]
async fn a_repeated_request_tells_again_what_was_withdrawn() {
    let f = Fixture::new();
    let ([a, ..], ..) = summarised(&f).await;
    let request = |second| Forget { request: Some(key("k")), ..forget_request(&[a], None, second) };
    let first = f.store.forget(request(10)).await.unwrap();
    assert_eq!(first.withdrawn.len(), 2);
    assert_eq!(f.store.forget(request(20)).await.unwrap(), first);
    f.finish().await;
}

#[tokio::test]
async fn a_product_that_is_restorable_is_erased_with_its_source() {
    let mut f = Fixture::new();
    let ([a, b, _], summary, profile) = summarised(&f).await;
    // The summary is forgotten alone: its sources are there to be summarised again.
    let receipt = f.forget(&[summary], Some(500), 10).await;
    assert_eq!((receipt.ids, receipt.withdrawn), (vec![summary], vec![profile]));
    assert_eq!(f.get(b).await.unwrap().consolidated_into, None);
    f.check().await;
    f.forget(&[a], Some(500), 11).await;
    assert!(!f.store.restore(summary, Actor::Owner, at(12)).await.unwrap());
    f.store.close();
    assert!(!rows_hold(f.dir.path(), "bert sings, cleo"));
    f.reopen();
    f.finish().await;
}

#[tokio::test]
async fn a_product_named_with_its_source_is_not_restorable_alone() {
    let f = Fixture::new();
    let ([a, ..], summary, profile) = summarised(&f).await;
    let receipt = f.forget(&[summary, a], Some(500), 10).await;
    let mut made = vec![summary, profile];
    made.sort();
    assert_eq!((receipt.ids, receipt.withdrawn), (vec![a], made));
    assert!(!f.store.restore(summary, Actor::Owner, at(11)).await.unwrap());
    assert!(f.store.restore(a, Actor::Owner, at(11)).await.unwrap());
    f.finish().await;
}

#[tokio::test]
async fn a_restored_summary_stands_alone_until_it_is_linked_again() {
    let f = Fixture::new();
    let (sources, summary, _) = summarised(&f).await;
    f.forget(&[summary], Some(500), 10).await;
    assert!(f.store.restore(summary, Actor::Owner, at(11)).await.unwrap());
    assert_eq!(f.get(summary).await.unwrap().derived_from, sources);
    assert_eq!(f.snapshot().await.products(sources[0]).await.unwrap(), [summary]);
    assert_eq!(f.get(sources[0]).await.unwrap().consolidated_into, None);
    f.finish().await;
}

#[tokio::test]
async fn an_earlier_version_that_was_made_of_a_memory_goes_with_it() {
    let mut f = Fixture::new();
    let ([a, b, c], summary, _) = summarised(&f).await;
    let patch = Patch {
        content: Some(Arc::from("bert sings, cleo digs on")),
        derived_from: Some(vec![b, c]),
        ..Patch::default()
    };
    f.apply(ChangeSet { changes: vec![f.change(summary, patch).await], at: at(5), ..set() }).await;
    f.check().await;
    let receipt = f.forget(&[a], None, 6).await;
    assert!(receipt.withdrawn.contains(&summary));
    f.store.close();
    assert!(!rows_hold(f.dir.path(), "anna rows"));
    f.reopen();
    f.finish().await;
}

#[tokio::test]
async fn the_summary_before_speaks_again_for_what_it_was_made_of() {
    let f = Fixture::new();
    let ([a, b, c], first, _) = summarised(&f).await;
    let late = f.store_fact("dora flies", 4).await;
    let mut before = first;
    for (content, of) in [("four people", vec![a, b, c, late]), ("they all", vec![a, b, c, late])] {
        let (made, next) = f.summarised(content, &of).await;
        let replaced = NewMemory { supersedes: Some(before), ..made.new[0].clone() };
        f.run(ChangeSet { new: vec![replaced], ..made }, 5).await;
        assert_eq!(f.get(before).await.unwrap().status, Status::Superseded);
        before = next;
    }
    let receipt = f.forget(&[late], None, 7).await;
    assert_eq!(receipt.withdrawn.len(), 2);
    let alive = f.get(first).await.unwrap();
    assert_eq!((alive.status, alive.superseded_by, alive.valid_to), (Status::Active, None, None));
    for id in [a, b, c] {
        assert_eq!(f.get(id).await.unwrap().consolidated_into, Some(first));
    }
    f.finish().await;
}

#[tokio::test]
async fn a_summary_that_is_forgotten_by_name_leaves_no_older_one_in_its_place() {
    let f = Fixture::new();
    let (sources, first, _) = summarised(&f).await;
    let (made, second) = f.summarised("three people", &sources).await;
    let replaced = NewMemory { supersedes: Some(first), ..made.new[0].clone() };
    f.run(ChangeSet { new: vec![replaced], ..made }, 5).await;
    f.forget(&[second], None, 7).await;
    assert_eq!(f.get(first).await.unwrap().status, Status::Superseded);
    assert_eq!(f.get(sources[0]).await.unwrap().consolidated_into, None);
    f.finish().await;
}

#[tokio::test]
async fn an_import_brings_nothing_that_was_made_of_what_is_forgotten_here() {
    let (there, here) = (Fixture::new(), Fixture::new());
    let ([a, b, _], summary, profile) = summarised(&there).await;
    let patch = Patch { derived_from: Some(vec![b]), ..Patch::default() };
    let changes = vec![there.change(summary, patch).await];
    there.apply(ChangeSet { changes, at: at(4), ..set() }).await;
    let groups = exported(&there).await;
    let source = groups.iter().position(|group| is_of(group, a)).unwrap();
    let import = |groups| here.store.import(groups, Actor::Owner, at(9), false);
    import(vec![groups[source].clone()]).await.unwrap();
    here.forget(&[a], None, 10).await;
    let outcomes = import(groups.clone()).await.unwrap();
    for (group, outcome) in groups.iter().zip(outcomes) {
        // What was made of the summary may come before it, and goes with it then.
        if !is_of(group, profile) {
            let is_gone = is_of(group, a) || is_of(group, summary);
            let expected =
                if is_gone { ImportOutcome::ForgottenHere } else { ImportOutcome::Added };
            assert_eq!(outcome, expected);
        }
    }
    for id in [a, summary, profile] {
        assert!(here.get(id).await.is_none());
    }
    assert_eq!(here.get(b).await.unwrap().consolidated_into, None);
    here.finish().await;
}

/// Everything, as an import takes it.
async fn exported(f: &Fixture) -> Vec<Vec<Item>> {
    let mut groups: Vec<Vec<Item>> = Vec::new();
    for item in f.store.export(ExportPlace::Start, usize::MAX).await.unwrap().items {
        match item {
            Item::Earlier(_) => groups.last_mut().unwrap().push(item),
            Item::Memory { .. }
            | Item::Forgotten(_)
            | Item::Session(_)
            | Item::Turn(_)
            | Item::Reminder(_) => groups.push(vec![item]),
        }
    }
    groups
}

fn is_of(group: &[Item], id: MemoryId) -> bool {
    matches!(&group[0], Item::Memory { version, .. } if version.memory.id == id)
}

#[tokio::test]
async fn links_go_out_and_come_in() {
    let (there, here) = (Fixture::new(), Fixture::new());
    let ([a, b, _], ..) = summarised(&there).await;
    let patch = Patch { contradicts: Some(vec![b]), ..Patch::default() };
    there
        .apply(ChangeSet { changes: vec![there.change(a, patch).await], at: at(4), ..set() })
        .await;
    let mut groups = exported(&there).await;
    // A product may come before what it was made of.
    groups.reverse();
    for group in groups {
        here.store.import(vec![group], Actor::Owner, at(9), false).await.unwrap();
        assert_eq!(here.store.verify().await.unwrap().violations, Vec::<String>::new());
    }
    assert_eq!(here.all().await, there.all().await);
    let receipt = here.forget(&[a], None, 10).await;
    assert_eq!(receipt.withdrawn.len(), 2);
    here.finish().await;
}

#[tokio::test]
async fn a_statement_may_name_what_it_was_made_of() {
    let f = Fixture::new();
    let a = f.store_fact("a", 1).await;
    let made = f.remember_one(f.summary("of a", &[a]), 2).await.id;
    assert_eq!(f.get(made).await.unwrap().derived_from, [a]);
    let missing = f.unknown_id();
    let refused = f.try_remember(vec![f.summary("of nothing", &[missing])], None, 3).await;
    assert_eq!(refused, Err(crate::ports::StoreError::BadLink(missing)));
    let patch = spoken_for_by(made);
    f.revise(a, patch, 4).await;
    assert_eq!(f.get(a).await.unwrap().consolidated_into, Some(made));
    f.finish().await;
}
