//! Sets of changes: all or none, links in agreement, strengths and marks beside them.

use std::sync::Arc;

use super::fixture::{Fixture, at, new_run, set, spoken_for_by, tags};
use crate::domain::change::{Change, ChangeSet, NewMemory, Patch, StoreStatus};
use crate::domain::identity::Actor;
use crate::domain::job::{JobName, NewRun, Outcome, RunChange};
use crate::domain::memory::{Kind, Status};
use crate::ports::{Ledger, Store, StoreError};
use crate::store::tables::STRENGTHS;

#[tokio::test]
async fn a_set_is_carried_out_whole() {
    let f = Fixture::new();
    let (a, b) = f.two_facts().await;
    let run = f.begin(5).await;
    let (summarised, summary) = f.summarised("a and b", &[a, b]).await;
    let marks = vec![("cursor".to_owned(), b"x".to_vec())];
    let applied = f.apply(ChangeSet { run: Some(run), marks, at: at(6), ..summarised }).await;
    assert_eq!((applied.stored[0].id, applied.stored[0].status), (summary, StoreStatus::Stored));
    assert_eq!(applied.conflicts, []);
    let made = f.get(summary).await.unwrap();
    assert_eq!((made.kind, made.derived_from), (Kind::Summary, vec![a, b]));
    for id in [a, b] {
        let source = f.get(id).await.unwrap();
        assert_eq!(source.consolidated_into, Some(summary));
        assert_eq!((source.version, source.updated_at, source.created_at), (2, at(6), at(1)));
        assert_eq!(f.snapshot().await.products(id).await.unwrap(), [summary]);
    }
    assert_eq!(f.snapshot().await.mark("cursor").await.unwrap(), Some(b"x".to_vec()));
    assert_eq!(f.snapshot().await.mark("other").await.unwrap(), None);
    let change = |id, version, is_new| RunChange { id, version, is_new };
    let expected = [change(summary, 1, true), change(a, 2, false), change(b, 2, false)];
    assert_eq!(f.store.run_changes(run, 9).await.unwrap(), expected);
    assert_eq!(f.store.run_changes(run, 2).await.unwrap(), expected[..2]);
    let log = f.snapshot().await.log_of(a, 9).await.unwrap();
    let told: Vec<_> = log.iter().map(|e| (e.operation.as_str(), &*e.actor, e.run)).collect();
    assert_eq!(told, [("store", "owner", None), ("update", "job/consolidate", Some(run))]);
    assert_eq!(log[1].fields, tags(&["consolidated_into"]));
    assert_eq!(f.snapshot().await.log_of(a, 1).await.unwrap(), log[1..]);
    f.finish().await;
}

#[tokio::test]
async fn nothing_is_written_if_a_memory_is_not_what_it_was() {
    let f = Fixture::new();
    let (a, b, gone) =
        (f.store_fact("a", 1).await, f.store_fact("b", 1).await, f.store_fact("c", 1).await);
    let stale = f.change(b, spoken_for_by(a)).await;
    f.revise(b, Patch { pinned: Some(true), ..Patch::default() }, 2).await;
    f.forget(&[gone], Some(50), 3).await;
    let fresh = f.change(a, Patch { tags: Some(tags(&["t"])), ..Patch::default() }).await;
    let of_gone = f.summary("of c", &[a, gone]);
    let (sequence, n_commits) = (f.snapshot().await.sequence(), f.store.n_commits());
    for (set, conflicts) in [
        (ChangeSet { changes: vec![fresh.clone(), stale.clone()], ..set() }, vec![b]),
        (ChangeSet { new: vec![of_gone], changes: vec![fresh.clone()], ..set() }, vec![gone]),
        (
            ChangeSet {
                changes: vec![
                    Change { id: gone, ..fresh.clone() },
                    Change { patch: spoken_for_by(gone), ..fresh.clone() },
                    stale,
                ],
                ..set()
            },
            vec![gone, b],
        ),
    ] {
        let marks = vec![("cursor".to_owned(), vec![1])];
        let applied = f.apply(ChangeSet { marks, ..set }).await;
        assert_eq!((applied.conflicts, applied.stored), (conflicts, vec![]));
    }
    assert_eq!((f.snapshot().await.sequence(), f.store.n_commits()), (sequence, n_commits));
    assert_eq!(f.snapshot().await.mark("cursor").await.unwrap(), None);
    f.finish().await;
}

#[tokio::test]
async fn a_set_that_cannot_be_right_leaves_nothing() {
    let f = Fixture::new();
    let (a, b) = (f.store_fact("a", 1).await, f.store_fact("b", 1).await);
    let summary = f.summary("of b alone", &[b]);
    let id = summary.id;
    let denied = ChangeSet {
        new: vec![summary],
        changes: vec![f.change(a, spoken_for_by(id)).await],
        ..set()
    };
    let itself = Patch { contradicts: Some(vec![a]), ..Patch::default() };
    let looped =
        ChangeSet { new: vec![f.fact("new")], changes: vec![f.change(a, itself).await], ..set() };
    for (set, link) in [(denied, id), (looped, a)] {
        // Another request shares the transaction, and is not harmed.
        let (refused, stored) =
            tokio::join!(f.store.apply(set), f.try_remember(vec![f.fact("other")], None, 2));
        assert_eq!(refused, Err(StoreError::BadLink(link)));
        assert!(stored.is_ok());
    }
    assert_eq!(f.all().await.len(), 3);
    assert_eq!(f.get(a).await.unwrap().version, 1);
    f.finish().await;
}

#[tokio::test]
async fn only_an_open_run_takes_changes() {
    let f = Fixture::new();
    let ended = f.begin(1).await;
    f.end(ended, 2).await;
    let dry = NewRun { is_dry_run: true, job: JobName::Decay, ..new_run(3) };
    let dry = f.store.begin_run(dry).await.unwrap().unwrap().id;
    for run in [ended, dry, crate::domain::job::RunId(77)] {
        let set = ChangeSet { run: Some(run), new: vec![f.fact("a")], ..set() };
        assert_eq!(f.store.apply(set).await, Err(StoreError::RunClosed(run)));
    }
    assert_eq!(f.n_memories().await, 0);
    f.finish().await;
}

#[tokio::test]
async fn contradictions_stand_in_both_memories() {
    let f = Fixture::new();
    let old = f.store_fact("the meeting is at 9", 1).await;
    let new = NewMemory { contradicts: vec![old], ..f.fact("the meeting is at 10") };
    let new = f.remember_one(new, 2).await.id;
    assert_eq!(f.get(old).await.unwrap().contradicts, [new]);
    assert_eq!(f.get(new).await.unwrap().version, 1);
    // Said again with another: both links stand.
    let third = f.store_fact("the meeting is at 11", 3).await;
    let again = NewMemory { contradicts: vec![third, old], ..f.fact("the meeting is at 10") };
    assert_eq!(f.remember_one(again, 4).await.id, new);
    assert_eq!(f.get(new).await.unwrap().contradicts, [old, third]);
    assert_eq!(f.get(third).await.unwrap().contradicts, [new]);
    // Taken back on one side, it is on the other too.
    let patch = Patch { contradicts: Some(vec![third]), ..Patch::default() };
    f.apply(ChangeSet { changes: vec![f.change(new, patch).await], at: at(5), ..set() }).await;
    assert_eq!(f.get(old).await.unwrap().contradicts, []);
    f.check().await;
    f.forget(&[new], Some(50), 6).await;
    assert_eq!(f.get(third).await.unwrap().contradicts, []);
    f.check().await;
    assert!(f.store.restore(new, Actor::Owner, at(7)).await.unwrap());
    assert_eq!(f.get(third).await.unwrap().contradicts, [new]);
    f.finish().await;
}

#[tokio::test]
async fn a_set_changes_each_memory_once() {
    let f = Fixture::new();
    let (a, b) = (f.store_fact("a", 1).await, f.store_fact("b", 1).await);
    let contradicts = |id| Patch { contradicts: Some(vec![id]), ..Patch::default() };
    let changes = vec![
        f.change(a, contradicts(b)).await,
        f.change(b, contradicts(a)).await,
        f.change(a, Patch { content: Some(Arc::from("a2")), ..Patch::default() }).await,
    ];
    f.apply(ChangeSet { changes, at: at(2), ..set() }).await;
    for id in [a, b] {
        assert_eq!(f.get(id).await.unwrap().version, 2);
    }
    f.finish().await;
}

#[tokio::test]
async fn what_is_made_of_memories_is_never_one_with_what_was_said() {
    let f = Fixture::new();
    let a = f.store_fact("a", 1).await;
    let (summarised, summary) = f.summarised("tea", &[a]).await;
    f.apply(ChangeSet { at: at(2), ..summarised }).await;
    let said = f.remember_one(f.fact("tea"), 3).await;
    assert_eq!(said.status, StoreStatus::Stored);
    assert_eq!(f.store_fact("tea", 4).await, said.id);
    let again = f.summary("tea", &[said.id]);
    let applied = f.apply(ChangeSet { new: vec![again], at: at(5), ..set() }).await;
    assert_eq!(applied.stored[0].status, StoreStatus::Stored);
    f.forget(&[a], None, 6).await;
    assert!(f.get(summary).await.is_none());
    assert!(f.get(said.id).await.is_some());
    f.finish().await;
}

#[tokio::test]
async fn links_to_a_new_memory_follow_it_to_its_equal() {
    let f = Fixture::new();
    let (old, equal) = (f.store_fact("tea at 4", 1).await, f.store_fact("tea at 5", 1).await);
    let replaced = |by| Patch {
        status: Some(Status::Superseded),
        superseded_by: Some(Some(by)),
        valid_to: Some(Some(at(2))),
        ..Patch::default()
    };
    let new = f.fact("tea at 5");
    let changes = vec![f.change(old, replaced(new.id)).await];
    let applied = f.apply(ChangeSet { new: vec![new], changes, at: at(2), ..set() }).await;
    assert_eq!((applied.stored[0].id, applied.conflicts), (equal, vec![]));
    let replaced_now = f.get(old).await.unwrap();
    assert_eq!(
        (replaced_now.superseded_by, replaced_now.status),
        (Some(equal), Status::Superseded)
    );
    // One that would replace itself is told, and stays.
    let same = f.fact("tea at 5");
    let changes = vec![f.change(equal, replaced(same.id)).await];
    let applied = f.apply(ChangeSet { new: vec![same], changes, at: at(3), ..set() }).await;
    assert_eq!(applied.conflicts, [equal]);
    assert_eq!(f.get(equal).await.unwrap().status, Status::Active);
    f.finish().await;
}

#[tokio::test]
async fn a_summary_that_lets_go_of_a_source_no_longer_speaks_for_it() {
    let f = Fixture::new();
    let (a, b) = (f.store_fact("a", 1).await, f.store_fact("b", 1).await);
    let (summarised, summary) = f.summarised("a and b", &[a, b]).await;
    f.apply(ChangeSet { at: at(2), ..summarised }).await;
    let patch = Patch { derived_from: Some(vec![a]), ..Patch::default() };
    f.apply(ChangeSet { changes: vec![f.change(summary, patch).await], at: at(3), ..set() }).await;
    assert_eq!(f.get(b).await.unwrap().consolidated_into, None);
    assert_eq!(f.get(a).await.unwrap().consolidated_into, Some(summary));
    f.finish().await;
}

#[tokio::test]
async fn weak_memories_are_found_page_by_page() {
    let f = Fixture::new();
    let mut ids = Vec::new();
    for n in 0..6 {
        ids.push(f.store_fact(&n.to_string(), 1).await);
    }
    ids.sort();
    let strengths = ids.iter().zip([0.1, 0.9, 0.2, 0.25, 0.0, 0.24]).map(|(id, s)| (*id, s));
    let sequence = f.snapshot().await.sequence();
    let unknown = (f.unknown_id(), 0.0);
    f.store.note_strengths(strengths.chain([unknown]).collect()).await.unwrap();
    let snapshot = f.snapshot().await;
    let first = snapshot.weaker_than(0.25, None, 2).await.unwrap();
    assert_eq!(first, [(0.1, ids[0]), (0.2, ids[2])]);
    let rest = snapshot.weaker_than(0.25, Some(ids[2]), 9).await.unwrap();
    assert_eq!(rest, [(0.0, ids[4]), (0.24, ids[5])]);
    assert_eq!(snapshot.weaker_than(0.25, Some(ids[5]), 9).await.unwrap(), []);
    // No record, no version, no log entry of it.
    assert_eq!((f.get(ids[0]).await.unwrap().version, snapshot.sequence()), (1, sequence));
    f.forget(&ids[..1], Some(50), 2).await;
    assert_eq!(f.snapshot().await.weaker_than(0.25, None, 1).await.unwrap(), [(0.2, ids[2])]);
    f.finish().await;
}

#[tokio::test]
async fn a_store_without_the_newer_tables_answers_and_takes_them_in() {
    let mut f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    f.store.close();
    let path = f.dir.path().join("recalld.redb");
    let database = redb::Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    for name in ["products", "log_of", "marks", "jobs", "runs", "run_changes"] {
        let table: redb::TableDefinition<'_, u128, u128> = redb::TableDefinition::new(name);
        let _was_there = transaction.delete_table(table).is_ok();
    }
    transaction.delete_table(STRENGTHS).unwrap();
    let meta: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("meta");
    transaction.open_table(meta).unwrap().remove("log_indexed").unwrap();
    transaction.commit().unwrap();
    drop(database);
    f.reopen();
    let snapshot = f.snapshot().await;
    assert_eq!(snapshot.log_of(id, 9).await.unwrap().len(), 1, "the log is indexed at the start");
    assert_eq!(snapshot.products(id).await.unwrap(), []);
    assert_eq!(snapshot.weaker_than(1.0, None, 9).await.unwrap(), []);
    assert_eq!(snapshot.mark("x").await.unwrap(), None);
    assert_eq!(f.store.job_states().await.unwrap(), []);
    assert_eq!(f.store.runs(None, None, 9).await.unwrap(), []);
    assert_eq!(f.store.run(crate::domain::job::RunId(1)).await.unwrap(), None);
    f.check().await;
    let (summarised, _) = f.summarised("s", &[id]).await;
    f.run(summarised, 5).await;
    assert_eq!(f.store.job_states().await.unwrap()[0].last_outcome, Some(Outcome::Done));
    f.finish().await;
}
