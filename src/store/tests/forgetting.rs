//! Forgetting, restoring and erasing.

use std::path::Path;
use std::sync::Arc;

use redb::{ReadableDatabase, ReadableTable};

use super::fixture::{Fixture, at, embedded, forget_request, key, model, tags};
use crate::domain::change::{Effect, Forget, Patch, StoreStatus, UsageNote};
use crate::domain::filter::Filter;
use crate::domain::id::{IdReference, MemoryId};
use crate::domain::identity::Actor;
use crate::domain::namespace::Namespace;
use crate::ports::{Listing, Store};
use crate::store::tables::{FORGOTTEN, FORGOTTEN_VERSIONS, MEMORIES, USAGE, VERSIONS};

/// Stores a memory that has rows in every table, and returns its id.
async fn store_rich(f: &Fixture) -> MemoryId {
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let mut new = f.fact("a secret text");
    new.tags = tags(&["t"]);
    new.embedded = Some(embedded(space, 1, 2));
    let id = f.remember_one(new, 1).await.id;
    f.revise(id, Patch { pinned: Some(true), ..Patch::default() }, 2).await;
    let note = UsageNote { id, at: at(3), recalls: 1, anchor: None };
    f.store.note_usage(vec![note]).await.unwrap();
    id
}

/// Asserts that no reader method shows the memory.
async fn assert_unseen(f: &Fixture, id: MemoryId) {
    let snapshot = f.snapshot().await;
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    assert_eq!(snapshot.memories(vec![id]).await.unwrap(), [None]);
    assert_eq!(snapshot.history(id).await.unwrap(), []);
    assert_eq!(snapshot.scan(None, 9).await.unwrap(), []);
    assert_eq!(snapshot.scan_vectors(space, None, 9).await.unwrap(), []);
    assert_eq!(snapshot.vectors(space, vec![id]).await.unwrap(), [vec![]]);
    assert_eq!(snapshot.without_vectors(space, 9).await.unwrap(), []);
    let Ok(IdReference::Handle(handle)) = id.handle().parse() else { panic!("no handle") };
    assert_eq!(snapshot.resolve(handle).await.unwrap(), []);
    let filter = Filter { namespaces: vec![Namespace::user()], ..Filter::default() };
    for filter in [filter.clone(), Filter { tags: tags(&["t"]), ..filter }] {
        let listing = Listing { filter, newest_first: true, after: None, limit: 9 };
        assert_eq!(snapshot.list(listing).await.unwrap(), []);
    }
    assert_eq!(f.store.report().await.unwrap().n_memories, 0);
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_answer() {
    for grace in [None, Some(50)] {
        let f = Fixture::new();
        let id = store_rich(&f).await;
        let other = f.unknown_id();
        let receipt = f.forget(&[id, other, id], grace, 10).await;
        assert_eq!((receipt.ids, receipt.missing), (vec![id], vec![other]));
        assert_eq!((receipt.forgotten_at, receipt.erase_by), (at(10), at(1_010)));
        assert_unseen(&f, id).await;
        let last = f.listener.0.lock().unwrap().last().cloned().unwrap();
        assert_eq!(last.effect, Effect::Removed { id, namespace: Namespace::user() });
        assert_eq!(f.remember_one(f.fact("a secret text"), 11).await.status, StoreStatus::Stored);
        f.finish().await;
    }
}

#[tokio::test]
async fn a_restored_memory_is_whole_but_for_its_vectors() {
    let mut f = Fixture::new();
    let id = store_rich(&f).await;
    let before = f.get(id).await.unwrap();
    f.forget(&[id], Some(50), 10).await;
    f.reopen();
    assert!(f.store.restore(id, Actor::Owner, at(59)).await.unwrap());
    let after = f.get(id).await.unwrap();
    assert_eq!((after.version, after.updated_at), (before.version + 1, at(59)));
    assert_eq!((&after.content, &after.tags), (&before.content, &before.tags));
    assert_eq!(after.usage, before.usage);
    let history = f.snapshot().await.history(id).await.unwrap();
    assert_eq!(history.iter().map(|m| m.version).collect::<Vec<_>>(), [1, 2]);
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    assert_eq!(f.snapshot().await.without_vectors(space, 9).await.unwrap(), [id]);
    let (operation, ..) = f.log().await.pop().unwrap();
    assert_eq!(operation, "restore");
    assert!(!f.store.restore(id, Actor::Owner, at(60)).await.unwrap());
    f.finish().await;
}

#[tokio::test]
async fn nothing_is_restored_after_its_grace() {
    for (grace, second) in [(Some(50), 60), (Some(50), 61), (None, 11)] {
        let f = Fixture::new();
        let id = store_rich(&f).await;
        f.forget(&[id], grace, 10).await;
        assert!(!f.store.restore(id, Actor::Owner, at(second)).await.unwrap());
        assert_unseen(&f, id).await;
        f.finish().await;
    }
}

#[tokio::test]
async fn content_is_erased_once_the_grace_or_the_promise_is_over() {
    let f = Fixture::new();
    let id = store_rich(&f).await;
    let late = f.store_fact("late", 1).await;
    f.forget(&[id], Some(50), 10).await;
    f.forget(&[late], Some(5_000), 10).await;
    assert_eq!(f.store.report().await.unwrap().n_forgotten_pending, 2);
    assert_eq!(f.store.erase_due(at(59)).await.unwrap(), 0);
    assert_eq!(f.store.erase_due(at(60)).await.unwrap(), 1);
    assert!(!f.store.restore(id, Actor::Owner, at(59)).await.unwrap());
    // The second may be restored for long, but was promised to be gone by 1,010.
    assert_eq!(f.store.erase_due(at(1_009)).await.unwrap(), 0);
    assert_eq!(f.store.erase_due(at(1_010)).await.unwrap(), 1);
    assert_eq!(f.store.report().await.unwrap().n_forgotten_pending, 0);
    let operations: Vec<_> = f.log().await.into_iter().map(|entry| entry.0).collect();
    assert_eq!(operations[operations.len() - 2..], ["erase", "erase"]);
    f.finish().await;
}

#[tokio::test]
async fn erasing_goes_on_past_a_page() {
    let f = Fixture::new();
    let n = crate::domain::limits::SCAN_PAGE + 1;
    let new: Vec<_> = (0..n).map(|n| f.fact(&n.to_string())).collect();
    let ids: Vec<_> = new.iter().map(|new| new.id).collect();
    f.remember(new, 1).await;
    f.forget(&ids, Some(5), 2).await;
    assert_eq!(f.store.erase_due(at(100)).await.unwrap(), n as u64);
    f.finish().await;
}

#[tokio::test]
async fn the_person_can_cut_a_grace_short() {
    let f = Fixture::new();
    let id = store_rich(&f).await;
    f.forget(&[id], Some(500), 10).await;
    // Forgetting it once more with a grace changes nothing.
    assert_eq!(f.forget(&[id], Some(500), 11).await.missing, [id]);
    assert_eq!(f.forget(&[id], None, 12).await.ids, [id]);
    assert!(!f.store.restore(id, Actor::Owner, at(13)).await.unwrap());
    assert_eq!(f.forget(&[id], None, 14).await.missing, [id]);
    f.finish().await;
}

#[tokio::test]
async fn a_repeated_request_gives_the_first_receipt() {
    let f = Fixture::new();
    let (id, unknown) = (f.store_fact("a", 1).await, f.unknown_id());
    let request = |second| Forget {
        request: Some(key("k")),
        ..forget_request(&[id, unknown], Some(50), second)
    };
    let first = f.store.forget(request(10)).await.unwrap();
    assert_eq!(f.store.forget(request(20)).await.unwrap(), first);
    assert_eq!((first.ids, first.missing), (vec![id], vec![unknown]));
    assert!(f.store.restore(id, Actor::Owner, at(21)).await.unwrap());
    f.store.forget(request(22)).await.unwrap();
    assert!(f.get(id).await.is_some());
    f.finish().await;
}

#[tokio::test]
async fn no_row_holds_the_text_of_an_erased_memory() {
    for grace in [None, Some(50)] {
        let mut f = Fixture::new();
        let id = store_rich(&f).await;
        let patch = Patch { content: Some(Arc::from("another hidden text")), ..Patch::default() };
        f.revise(id, patch, 4).await;
        let texts = ["a secret text", "another hidden text"];
        f.store.close();
        assert!(texts.iter().all(|text| rows_hold(f.dir.path(), text)));
        f.reopen();
        f.forget(&[id], grace, 10).await;
        f.store.erase_due(at(60)).await.unwrap();
        f.store.close();
        assert!(!texts.iter().any(|text| rows_hold(f.dir.path(), text)));
        f.reopen();
        f.finish().await;
    }
}

/// Whether the text stands in a row of the tables that hold content.
pub(super) fn rows_hold(dir: &Path, text: &str) -> bool {
    let database = redb::Database::open(dir.join("recalld.redb")).unwrap();
    let transaction = database.begin_read().unwrap();
    let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    let by_id = [MEMORIES, USAGE, FORGOTTEN].into_iter().any(|table| {
        let table = transaction.open_table(table).unwrap();
        table.iter().unwrap().any(|row| holds(row.unwrap().1.value()))
    });
    by_id
        || [VERSIONS, FORGOTTEN_VERSIONS].into_iter().any(|table| {
            let table = transaction.open_table(table).unwrap();
            table.iter().unwrap().any(|row| holds(row.unwrap().1.value()))
        })
}
