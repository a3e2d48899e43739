//! Changing a memory, and its history.

use std::sync::Arc;

use super::fixture::{Fixture, at, embedded, key, model, tags};
use crate::domain::change::{Patch, Revise, Revised, StoreStatus, UsageNote};
use crate::domain::identity::Actor;
use crate::domain::memory::{Anchor, Kind, Memory, Metadata, Status};
use crate::ports::Store;

fn done(revised: Revised) -> (Memory, Vec<&'static str>) {
    match revised {
        Revised::Done { memory, changed } => (*memory, changed),
        Revised::Missing => panic!("the memory is missing"),
    }
}

#[tokio::test]
async fn only_what_differs_changes() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    let same = Patch {
        content: Some(Arc::from("a")),
        kind: Some(Kind::Fact),
        tags: Some(Vec::new()),
        metadata: Some(Metadata::new()),
        importance: Some(0.5),
        pinned: Some(false),
        occurred_at: Some(None),
        valid_to: Some(None),
        status: Some(Status::Active),
        consolidated_into: Some(None),
        superseded_by: Some(None),
        supersedes: Some(None),
        contradicts: Some(Vec::new()),
        derived_from: Some(Vec::new()),
    };
    let (memory, changed) = done(f.revise(id, same, 2).await);
    assert_eq!((memory.version, memory.updated_at, changed.len()), (1, at(1), 0));
    assert_eq!(f.log().await.len(), 1);

    let all = Patch {
        content: Some(Arc::from("b")),
        kind: Some(Kind::Event),
        tags: Some(tags(&["t"])),
        metadata: Some(Metadata::from([("k".to_owned(), "1".to_owned())])),
        importance: Some(0.9),
        pinned: Some(true),
        occurred_at: Some(Some(at(-3))),
        valid_to: Some(Some(at(100))),
        ..Patch::default()
    };
    let (memory, changed) = done(f.revise(id, all, 3).await);
    let names =
        ["content", "kind", "tags", "metadata", "importance", "pinned", "occurred_at", "valid_to"];
    assert_eq!(changed, names);
    assert_eq!((memory.version, memory.updated_at), (2, at(3)));
    assert_eq!(memory.usage.anchor, Anchor { value: 0.9, at: at(3) });
    assert_eq!((memory.status, memory.event_time()), (Status::Active, at(-3)));
    assert_eq!(f.get(id).await, Some(memory));
    assert_eq!(f.log().await[1].3, tags(&names));
    f.finish().await;
}

#[tokio::test]
async fn a_missing_memory_is_missing() {
    let f = Fixture::new();
    let patch = Patch { pinned: Some(true), ..Patch::default() };
    assert_eq!(f.revise(f.unknown_id(), patch, 1).await, Revised::Missing);
    f.finish().await;
}

#[tokio::test]
async fn every_earlier_version_is_kept() {
    let f = Fixture::new();
    let id = f.store_fact("v1", 1).await;
    for n in 2..5 {
        let patch = Patch { content: Some(Arc::from(format!("v{n}"))), ..Patch::default() };
        f.revise(id, patch, n).await;
    }
    let history = f.snapshot().await.history(id).await.unwrap();
    let texts: Vec<_> = history.iter().map(|m| (m.version, &*m.content, m.updated_at)).collect();
    assert_eq!(texts, [(1, "v1", at(1)), (2, "v2", at(2)), (3, "v3", at(3))]);
    f.finish().await;
}

#[tokio::test]
async fn a_new_text_is_found_by_equal_memories_and_the_old_one_is_not() {
    let f = Fixture::new();
    let id = f.store_fact("old", 1).await;
    f.revise(id, Patch { content: Some(Arc::from("new")), ..Patch::default() }, 2).await;
    assert_eq!(f.remember_one(f.fact("new"), 3).await.id, id);
    assert_eq!(f.remember_one(f.fact("old"), 3).await.status, StoreStatus::Stored);
    f.finish().await;
}

#[tokio::test]
async fn the_end_of_validity_moves_the_status() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    for (second, valid_to, status, fields) in [
        (10, Some(at(10)), Status::Invalidated, &["valid_to", "status"][..]),
        (11, None, Status::Active, &["valid_to", "status"]),
        (12, Some(at(50)), Status::Active, &["valid_to"]),
        (13, Some(at(5)), Status::Invalidated, &["valid_to", "status"]),
        (14, Some(at(60)), Status::Active, &["valid_to", "status"]),
    ] {
        let patch = Patch { valid_to: Some(valid_to), ..Patch::default() };
        let (memory, changed) = done(f.revise(id, patch, second).await);
        assert_eq!((memory.status, memory.valid_to), (status, valid_to), "{second}");
        assert_eq!(changed, fields, "{second}");
    }
    f.finish().await;
}

#[tokio::test]
async fn a_superseded_memory_stays_superseded() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    let mut new = f.fact("b");
    new.supersedes = Some(id);
    f.remember_one(new, 2).await;
    let patch = Patch { valid_to: Some(None), ..Patch::default() };
    let (memory, changed) = done(f.revise(id, patch, 3).await);
    assert_eq!((memory.status, changed), (Status::Superseded, vec!["valid_to"]));
    f.finish().await;
}

#[tokio::test]
async fn vectors_follow_the_text() {
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let mut new = f.fact("a");
    new.embedded = Some(embedded(space, 1, 2));
    let id = f.remember_one(new, 1).await.id;
    let vectors = async |f: &Fixture| {
        f.snapshot().await.vectors(space, vec![id]).await.unwrap().remove(0).len()
    };
    f.revise(id, Patch { pinned: Some(true), ..Patch::default() }, 2).await;
    assert_eq!(vectors(&f).await, 2);
    f.revise(id, Patch { content: Some(Arc::from("b")), ..Patch::default() }, 3).await;
    assert_eq!(vectors(&f).await, 0);
    assert_eq!(f.snapshot().await.without_vectors(space, 9).await.unwrap(), [id]);
    f.store
        .revise(Revise {
            id,
            patch: Patch { content: Some(Arc::from("c")), ..Patch::default() },
            embedded: Some(embedded(space, 3, 1)),
            reminders: None,
            request: None,
            actor: Actor::Owner,
            at: at(4),
        })
        .await
        .unwrap();
    assert_eq!(vectors(&f).await, 1);
    assert_eq!(f.snapshot().await.without_vectors(space, 9).await.unwrap(), []);
    f.finish().await;
}

#[tokio::test]
async fn a_repeated_request_changes_nothing_more() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    let request = |importance, second| Revise {
        id,
        patch: Patch { importance: Some(importance), ..Patch::default() },
        embedded: None,
        reminders: None,
        request: Some(key("k")),
        actor: Actor::Owner,
        at: at(second),
    };
    done(f.store.revise(request(0.7, 2)).await.unwrap());
    f.revise(id, Patch { importance: Some(0.2), ..Patch::default() }, 3).await;
    let (memory, changed) = done(f.store.revise(request(0.7, 4)).await.unwrap());
    assert_eq!((memory.version, changed), (3, vec!["importance"]));
    assert!((memory.importance - 0.2).abs() < 1e-12);
    f.forget(&[id], None, 5).await;
    assert_eq!(f.store.revise(request(0.7, 6)).await.unwrap(), Revised::Missing);
    f.finish().await;
}

#[tokio::test]
async fn use_is_noted_beside_the_record() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    let note = |second, anchor: Option<(f64, i64)>| UsageNote {
        id,
        at: at(second),
        recalls: 2,
        anchor: anchor.map(|(value, second)| Anchor { value, at: at(second) }),
    };
    let lost = UsageNote { id: f.unknown_id(), ..note(9, None) };
    f.store.note_usage(vec![note(20, Some((0.6, 20))), lost]).await.unwrap();
    f.revise(id, Patch { importance: Some(0.8), ..Patch::default() }, 30).await;
    // A note that waited while the importance changed neither sets the anchor nor the time back.
    f.store.note_usage(vec![note(15, Some((0.1, 15)))]).await.unwrap();
    let memory = f.get(id).await.unwrap();
    assert_eq!((memory.usage.recalls, memory.usage.last_recalled_at), (4, Some(at(20))));
    assert_eq!(memory.usage.anchor, Anchor { value: 0.8, at: at(30) });
    assert_eq!(memory.version, 2);
    assert_eq!(f.log().await.len(), 2);
    f.finish().await;
}
