//! The stored format: unknown fields, damage inside a row, and files that earlier versions wrote.
//!
//! For each format version `tests/fixtures` holds a file that was written when it was current. The
//! test of the present version writes its file if it is missing; a file that was released is never
//! written again.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use redb::ReadableTable as _;
use serde::{Deserialize, Serialize};

use super::fixture::{Fixture, SETTINGS, at, embedded, forget_request, model, tags};
use crate::domain::change::{Patch, UsageNote};
use crate::domain::id::{IdReference, MemoryId};
use crate::domain::identity::Actor;
use crate::domain::memory::{Anchor, Kind, Status};
use crate::ports::{Store, StoreError};
use crate::store::RedbStore;
use crate::store::codec::{Stored, decode, encode};
use crate::store::migrations::FORMAT_VERSION;

#[tokio::test]
async fn fields_of_a_later_version_survive_a_change_and_a_restoration() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    let later = serde_json::json!({
        "related": ["0198c0de-0000-7000-8000-000000000001"],
        "trust": 0.25,
        "nested": {"n": -3, "list": [1, null, true, "x"], "big": u64::MAX},
    });
    let serde_json::Value::Object(later) = later else { unreachable!() };
    let unknown = later.clone();
    f.rewrite(id, move |record| record.unknown = unknown.clone()).await;
    assert_eq!(f.record(id).await.unknown, later);
    f.revise(id, Patch { content: Some(Arc::from("b")), ..Patch::default() }, 2).await;
    f.forget(&[id], Some(9), 3).await;
    assert!(f.store.restore(id, Actor::Owner, at(4)).await.unwrap());
    assert_eq!(f.record(id).await.unknown, later);
    f.finish().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    n: u64,
}

impl Stored for Sample {
    const WHAT: &'static str = "sample";
}

#[test]
fn a_stored_value_is_a_version_byte_and_named_fields() {
    let bytes = encode(&Sample { n: 7 }).unwrap();
    assert_eq!(bytes, [1, 0x81, 0xa1, b'n', 7]);
    assert_eq!(decode::<Sample>(&bytes).unwrap(), Sample { n: 7 });
    for damaged in [
        &b""[..],
        &[2, 0x81, 0xa1, b'n', 7],
        &[1, 0x81, 0xa1, b'm', 7],
        &[1, 0x81],
        &[0x81, 0x81, 0xa1, b'n', 7],
    ] {
        assert!(matches!(decode::<Sample>(damaged), Err(StoreError::Damaged(_))), "{damaged:?}");
    }
}

#[tokio::test]
async fn an_archived_memory_is_kept_compressed_with_its_versions() {
    let f = Fixture::new();
    for content in [
        "The ferry to the island leaves at nine and comes back at six. ".repeat(20),
        "去岛上的渡轮九点出发，六点回来。".repeat(20),
    ] {
        let id = f.store_fact(&content, 1).await;
        let n_bytes = async || {
            let count = move |batch: &mut crate::store::batch::Batch<'_>| {
                let (tables, id) = (batch.change(), id.as_u128());
                let row = tables.memories.get(id)?.map(|row| row.value().len());
                let versions = tables.versions.range((id, 0)..=(id, u64::MAX))?;
                let n_versions = versions.map(|row| row.unwrap().1.value().len()).sum();
                Ok((row.unwrap(), n_versions))
            };
            let found: (usize, usize) = f.store.writer.write(count).await.unwrap();
            found
        };
        let (plain, _) = n_bytes().await;
        let status = |status| Patch { status: Some(status), ..Patch::default() };
        f.revise(id, status(Status::Archived), 2).await;
        let (packed, version) = n_bytes().await;
        assert!(4 * packed < plain && 4 * version < plain, "{plain} {packed} {version}");
        assert_eq!(*f.get(id).await.unwrap().content, content);
        let snapshot = f.snapshot().await;
        assert_eq!(*snapshot.history(id).await.unwrap()[0].content, content);
        f.revise(id, status(Status::Active), 3).await;
        assert_eq!(n_bytes().await.0, plain);
        assert_eq!(*f.get(id).await.unwrap().content, content);
    }
    f.finish().await;
}

#[tokio::test]
async fn a_damaged_row_fails_its_reader_and_no_other() {
    let f = Fixture::new();
    let (bad, good) = (f.store_fact("a", 1).await, f.store_fact("b", 1).await);
    let damage = move |batch: &mut crate::store::batch::Batch<'_>| {
        batch.change().memories.insert(bad.as_u128(), [1, 0x81].as_slice())?;
        Ok(())
    };
    f.store.writer.write(damage).await.unwrap();
    let snapshot = f.snapshot().await;
    assert!(matches!(snapshot.memories(vec![bad]).await, Err(StoreError::Damaged(_))));
    assert!(snapshot.memories(vec![good]).await.unwrap()[0].is_some());
    let (failed, done) = tokio::join!(
        f.store.forget(forget_request(&[bad], None, 2)),
        f.store.forget(forget_request(&[good], None, 2)),
    );
    assert!(matches!(failed, Err(StoreError::Damaged(_))), "{failed:?}");
    assert_eq!(done.unwrap().ids, [good]);
    assert_eq!(f.store.fatal(), None);
    // It goes on, and says what it met.
    let trouble = f.store.trouble().unwrap().because;
    assert!(trouble.contains("damaged") && trouble.contains("recalld restore"), "{trouble}");
}

fn fixture_path(version: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/store-v{version}.redb"))
}

/// Ids of the memories in the fixture, in the order in which they were stored.
fn id(n: u8) -> MemoryId {
    let text = format!("0198c0de-0000-7000-8000-0000000000{n:02x}");
    let Ok(IdReference::Whole(id)) = text.parse() else { panic!("{text}") };
    id
}

/// Writes a store that has rows in every table.
async fn write_fixture(path: &std::path::Path) {
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let mut rich = f.fact("I like oolong, 乌龙茶.");
    rich.id = id(1);
    rich.kind = Kind::Preference;
    rich.tags = tags(&["drinks", "tea"]);
    rich.metadata.insert("source".to_owned(), "{\"page\":3}".to_owned());
    rich.session = Some("s1".to_owned());
    rich.agent = Some("claude-code".to_owned());
    rich.occurred_at = Some(at(-500));
    rich.embedded = Some(embedded(space, 1, 2));
    let mut new = f.fact("Oslo");
    new.id = id(3);
    new.namespace = "agent/claude-code".parse().unwrap();
    new.supersedes = Some(id(2));
    let [mut old, mut forgotten, mut erased] = [f.fact("Rome"), f.fact("c"), f.fact("d")];
    (old.id, forgotten.id, erased.id) = (id(2), id(4), id(5));
    f.try_remember(vec![rich, old], Some(super::fixture::key("k")), 1).await.unwrap();
    f.remember(vec![new, forgotten, erased], 2).await;
    f.revise(id(1), Patch { pinned: Some(true), ..Patch::default() }, 3).await;
    let anchor = Some(Anchor { value: 0.75, at: at(4) });
    f.store.note_usage(vec![UsageNote { id: id(1), at: at(4), recalls: 3, anchor }]).await.unwrap();
    f.forget(&[id(4)], Some(500), 5).await;
    f.forget(&[id(5)], None, 5).await;
    f.store.trim_log(1, at(9)).await.unwrap();
    f.store.close();
    let stored = f.dir.path().join("recalld.redb");
    let mut database = redb::Database::open(&stored).unwrap();
    while database.compact().unwrap() {}
    drop(database);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(stored, path).unwrap();
}

#[tokio::test]
async fn a_store_of_every_released_format_opens_and_reads_whole() {
    let present = fixture_path(FORMAT_VERSION);
    if !present.exists() {
        write_fixture(&present).await;
    }
    for version in 1..=FORMAT_VERSION {
        let dir = tempfile::tempdir().unwrap();
        fs::copy(fixture_path(version), dir.path().join("recalld.redb")).unwrap();
        let store = RedbStore::open(dir.path(), SETTINGS, at(9)).unwrap();
        check_fixture(&store).await;
        assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
    }
}

async fn check_fixture(store: &RedbStore) {
    assert_eq!(store.report().await.unwrap().format_version, FORMAT_VERSION);
    let space = store.space(model("m"), Vec::new(), at(9)).await.unwrap();
    let snapshot = store.snapshot().await.unwrap();
    let all = snapshot.scan(None, 9).await.unwrap();
    assert_eq!(all.iter().map(|memory| memory.id).collect::<Vec<_>>(), [id(1), id(2), id(3)]);
    let rich = &all[0];
    assert_eq!((&*rich.content, rich.kind), ("I like oolong, 乌龙茶.", Kind::Preference));
    assert_eq!((&rich.tags, rich.pinned), (&tags(&["drinks", "tea"]), true));
    assert_eq!(rich.metadata.get("source").unwrap(), "{\"page\":3}");
    assert_eq!(rich.session.as_deref(), Some("s1"));
    assert_eq!(rich.agent.as_deref(), Some("claude-code"));
    assert_eq!((rich.occurred_at, rich.created_at), (Some(at(-500)), at(1)));
    assert_eq!((rich.updated_at, rich.version), (at(3), 2));
    assert_eq!(rich.usage.anchor, Anchor { value: 0.75, at: at(4) });
    assert_eq!((rich.usage.recalls, rich.usage.last_recalled_at), (3, Some(at(4))));
    assert_eq!((all[1].status, all[1].superseded_by), (Status::Superseded, Some(id(3))));
    assert_eq!((all[2].supersedes, all[2].namespace.as_str()), (Some(id(2)), "agent/claude-code"));
    let vectors = snapshot.vectors(space, vec![id(1)]).await.unwrap();
    assert_eq!(vectors, [embedded(space, 1, 2).chunks]);
    assert_eq!(snapshot.without_vectors(space, 9).await.unwrap(), [id(2), id(3)]);
    assert_eq!(snapshot.history(id(1)).await.unwrap().len(), 1);
    let log = snapshot.log(0, 99).await.unwrap();
    let operations: Vec<_> = log.iter().map(|entry| entry.operation.as_str()).collect();
    let expected = ["store", "store", "supersede", "store", "store", "update", "forget", "forget"];
    assert_eq!((operations.as_slice(), snapshot.log_start()), (&expected[..], 2));
    assert!(store.restore(id(4), Actor::Owner, at(9)).await.unwrap());
    assert!(!store.restore(id(5), Actor::Owner, at(9)).await.unwrap());
}
