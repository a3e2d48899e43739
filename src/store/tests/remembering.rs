//! Storing: new, equal and superseding memories.

use super::fixture::{Fixture, at, tags};
use crate::domain::change::{Effect, Patch, StoreStatus};
use crate::domain::limits::TAGS_MAX;
use crate::domain::memory::{Anchor, Kind, Origin, Status};
use crate::ports::StoreError;

#[tokio::test]
async fn what_was_stored_reads_back_whole_after_a_restart() {
    let mut f = Fixture::new();
    let mut new = f.fact("The tea is 乌龙茶.");
    new.kind = Kind::Preference;
    new.tags = tags(&["drinks", "tea"]);
    new.metadata.insert("source".to_owned(), "{\"page\":3}".to_owned());
    new.session = Some("s1".to_owned());
    new.agent = Some("claude-code".to_owned());
    new.occurred_at = Some(at(-500));
    new.pinned = true;
    let answer = f.remember_one(new.clone(), 5).await;
    assert_eq!((answer.id, answer.status), (new.id, StoreStatus::Stored));
    assert!(!answer.embedded && answer.changed.is_empty());
    f.reopen();
    let memory = f.get(new.id).await.unwrap();
    assert_eq!(memory.content, new.content);
    assert_eq!(memory.namespace, new.namespace);
    assert_eq!((memory.kind, &memory.tags), (Kind::Preference, &new.tags));
    assert_eq!(memory.metadata, new.metadata);
    assert_eq!((memory.session, memory.agent), (new.session, new.agent));
    assert_eq!((memory.occurred_at, memory.created_at), (Some(at(-500)), at(5)));
    assert_eq!((memory.version, memory.status, memory.pinned), (1, Status::Active, true));
    assert_eq!(memory.usage.anchor, Anchor { value: 0.5, at: at(5) });
    assert_eq!(memory.usage.last_recalled_at, None);
    f.finish().await;
}

#[tokio::test]
async fn what_is_imported_has_faded_since_it_happened() {
    let f = Fixture::new();
    let mut new = f.fact("old");
    new.origin = Origin::Imported;
    new.occurred_at = Some(at(-90));
    let id = f.remember_one(new, 1).await.id;
    assert_eq!(f.get(id).await.unwrap().usage.anchor.at, at(-90));
    f.finish().await;
}

#[tokio::test]
async fn an_equal_active_memory_takes_the_new_tags() {
    let f = Fixture::new();
    let mut first = f.fact("I like tea");
    first.tags = tags(&["b"]);
    let id = f.remember_one(first, 1).await.id;
    let mut again = f.fact("  I like tea\n");
    again.tags = tags(&["a", "b"]);
    let answer = f.remember_one(again.clone(), 2).await;
    assert_eq!((answer.id, answer.status), (id, StoreStatus::Deduplicated));
    assert_eq!(answer.changed, ["tags"]);
    let memory = f.get(id).await.unwrap();
    assert_eq!((memory.tags, memory.version, memory.updated_at), (tags(&["a", "b"]), 2, at(2)));
    assert_eq!(f.get(again.id).await, None);

    let same = f.remember_one(f.fact("I like tea"), 3).await;
    assert_eq!((same.id, same.changed.len()), (id, 0));
    assert_eq!(f.get(id).await.unwrap().version, 2);
    let log = f.log().await;
    assert_eq!(log.len(), 2);
    assert_eq!(log[1], ("update".to_owned(), id, 2, tags(&["tags"])));
    f.finish().await;
}

#[tokio::test]
async fn united_tags_stay_within_their_limit() {
    let f = Fixture::new();
    let mut first = f.fact("x");
    first.tags = (0..TAGS_MAX - 1).map(|n| format!("t{n:02}")).collect();
    f.remember_one(first.clone(), 1).await;
    let mut again = f.fact("x");
    again.tags = tags(&["a", "b", "t00"]);
    f.remember_one(again, 2).await;
    let united = f.get(first.id).await.unwrap().tags;
    assert_eq!(united.len(), TAGS_MAX);
    assert!(united.contains(&"a".to_owned()) && !united.contains(&"b".to_owned()));
    assert!(first.tags.iter().all(|tag| united.contains(tag)));
    f.finish().await;
}

#[tokio::test]
async fn equal_texts_of_other_namespaces_or_event_times_are_others() {
    let f = Fixture::new();
    let mut elsewhere = f.fact("x");
    elsewhere.namespace = "agent/a".parse().unwrap();
    let mut dated = f.fact("x");
    dated.occurred_at = Some(at(0));
    let answers = f.remember(vec![f.fact("x"), elsewhere, dated, f.fact("X")], 1).await;
    assert!(answers.iter().all(|answer| answer.status == StoreStatus::Stored));
    f.finish().await;
}

#[tokio::test]
async fn equal_memories_of_one_call_are_one() {
    let f = Fixture::new();
    let answers = f.remember(vec![f.fact("x"), f.fact("x"), f.fact("y")], 1).await;
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [StoreStatus::Stored, StoreStatus::Deduplicated, StoreStatus::Stored]);
    assert_eq!(answers[0].id, answers[1].id);
    f.finish().await;
}

#[tokio::test]
async fn a_superseded_memory_points_to_its_successor_and_counts_as_absent() {
    let f = Fixture::new();
    let cats = f.store_fact("cats", 1).await;
    let mut dogs = f.fact("dogs");
    dogs.supersedes = Some(cats);
    let answer = f.remember_one(dogs.clone(), 2).await;
    assert_eq!(answer.status, StoreStatus::Superseded);
    let old = f.get(cats).await.unwrap();
    assert_eq!((old.status, old.superseded_by), (Status::Superseded, Some(dogs.id)));
    assert_eq!((old.valid_to, old.version), (Some(at(2)), 2));
    assert_eq!(f.get(dogs.id).await.unwrap().supersedes, Some(cats));

    let mut again = f.fact("cats");
    again.supersedes = Some(dogs.id);
    again.occurred_at = None;
    let answer = f.remember_one(again.clone(), 3).await;
    assert_eq!((answer.id, answer.status), (again.id, StoreStatus::Superseded));
    let log: Vec<_> = f.log().await.into_iter().map(|(op, id, ..)| (op, id)).collect();
    let expected = [("store", cats), ("store", dogs.id), ("supersede", cats)]
        .into_iter()
        .chain([("store", again.id), ("supersede", dogs.id)])
        .map(|(op, id)| (op.to_owned(), id));
    assert_eq!(log, expected.collect::<Vec<_>>());
    f.finish().await;
}

#[tokio::test]
async fn the_successor_says_since_when_the_old_one_is_not_true() {
    let f = Fixture::new();
    let old = f.store_fact("lives in Rome", 1).await;
    let mut new = f.fact("lives in Oslo");
    new.supersedes = Some(old);
    new.occurred_at = Some(at(-7));
    f.remember_one(new, 2).await;
    assert_eq!(f.get(old).await.unwrap().valid_to, Some(at(-7)));
    f.finish().await;
}

#[tokio::test]
async fn an_equal_memory_can_supersede_another_but_not_itself() {
    let f = Fixture::new();
    let (tea, coffee) = (f.store_fact("tea", 1).await, f.store_fact("coffee", 1).await);
    let mut tea_instead = f.fact("tea");
    tea_instead.supersedes = Some(coffee);
    let answer = f.remember_one(tea_instead, 2).await;
    assert_eq!((answer.id, answer.status), (tea, StoreStatus::Deduplicated));
    assert_eq!(answer.changed, ["supersedes"]);
    assert_eq!(f.get(coffee).await.unwrap().superseded_by, Some(tea));
    let mut itself = f.fact("tea");
    itself.supersedes = Some(tea);
    let answer = f.remember_one(itself, 3).await;
    assert_eq!((answer.id, answer.changed.len()), (tea, 0));
    assert_eq!(f.get(tea).await.unwrap().status, Status::Active);
    f.finish().await;
}

#[tokio::test]
async fn a_pin_is_kept_when_an_equal_memory_is_there() {
    let f = Fixture::new();
    let tea = f.store_fact("tea", 1).await;
    let mut pinned = f.fact("tea");
    pinned.pinned = true;
    assert_eq!(f.remember_one(pinned, 2).await.changed, ["pinned"]);
    // Nothing but an update takes it away.
    let answer = f.remember_one(f.fact("tea"), 3).await;
    assert_eq!((answer.id, answer.changed.len()), (tea, 0));
    assert!(f.get(tea).await.unwrap().pinned);
    f.finish().await;
}

#[tokio::test]
async fn who_corrects_what_was_corrected_meanwhile_corrects_the_correction() {
    let f = Fixture::new();
    let first = f.store_fact("the office is in the south", 1).await;
    let mut successors = Vec::new();
    for text in ["it is in the north", "it is in the east", "it is in the west"] {
        let mut new = f.fact(text);
        new.supersedes = Some(first);
        let answer = f.remember_one(new, 2).await;
        let expected = successors.last().copied().unwrap_or(first);
        assert_eq!((answer.status, answer.supersedes), (StoreStatus::Superseded, Some(expected)));
        assert_eq!(f.get(expected).await.unwrap().superseded_by, Some(answer.id));
        assert_eq!(f.get(answer.id).await.unwrap().supersedes, Some(expected));
        successors.push(answer.id);
    }
    // The same correction once more is the one that is there, and changes nothing.
    let mut again = f.fact("it is in the west");
    again.supersedes = Some(first);
    let answer = f.remember_one(again, 3).await;
    assert_eq!((answer.id, answer.supersedes), (successors[2], None));
    assert_eq!((answer.status, answer.changed.len()), (StoreStatus::Deduplicated, 0));
    // Where the successor was forgotten, the one before it is the last.
    f.forget(&successors[2..], None, 4).await;
    let mut new = f.fact("it is in the middle");
    new.supersedes = Some(first);
    assert_eq!(f.remember_one(new, 5).await.supersedes, Some(successors[1]));
    f.finish().await;
}

#[tokio::test]
async fn a_call_that_supersedes_nothing_stores_nothing() {
    let f = Fixture::new();
    let missing = f.unknown_id();
    let mut new = f.fact("b");
    new.supersedes = Some(missing);
    let outcome = f.try_remember(vec![f.fact("a"), new], None, 1).await;
    assert_eq!(outcome, Err(StoreError::SupersedesMissing(missing)));
    assert_eq!(f.n_memories().await, 0);
    assert_eq!(f.snapshot().await.sequence(), 0);
    f.finish().await;
}

#[tokio::test]
async fn a_call_can_supersede_what_it_brings() {
    let f = Fixture::new();
    let first = f.fact("a");
    let mut second = f.fact("b");
    second.supersedes = Some(first.id);
    f.remember(vec![first.clone(), second], 1).await;
    assert_eq!(f.get(first.id).await.unwrap().status, Status::Superseded);
    f.finish().await;
}

#[tokio::test]
async fn a_call_that_fails_halfway_leaves_nothing_and_its_neighbours_whole() {
    let f = Fixture::new();
    f.store_fact("known", 1).await;
    // The second is equal to a stored one, so its id names nothing when the third comes to it.
    let equal = f.fact("known");
    let mut third = f.fact("c");
    third.supersedes = Some(equal.id);
    let missing = equal.id;
    let (torn, whole) = tokio::join!(
        f.try_remember(vec![f.fact("a"), equal, third], None, 2),
        f.remember(vec![f.fact("neighbour")], 2),
    );
    assert_eq!(torn, Err(StoreError::SupersedesMissing(missing)));
    assert!(f.get(whole[0].id).await.is_some());
    assert_eq!(f.n_memories().await, 2);
    let told = f.listener.0.lock().unwrap().len();
    assert_eq!(told, 2);
    f.finish().await;
}

#[tokio::test]
async fn an_id_is_given_once() {
    let f = Fixture::new();
    let new = f.fact("a");
    f.remember_one(new.clone(), 1).await;
    let mut other = f.fact("b");
    other.id = new.id;
    assert!(matches!(
        f.try_remember(vec![other.clone()], None, 2).await,
        Err(StoreError::Damaged(_))
    ));
    f.forget(&[new.id], None, 3).await;
    assert!(f.try_remember(vec![other], None, 4).await.is_err());
    f.finish().await;
}

#[tokio::test]
async fn an_equal_archived_memory_becomes_active() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    f.rewrite(id, |record| record.status = Status::Archived.to_string()).await;
    let answer = f.remember_one(f.fact("a"), 3).await;
    assert_eq!((answer.id, answer.status), (id, StoreStatus::Deduplicated));
    assert_eq!(answer.changed, ["status"]);
    assert_eq!(f.get(id).await.unwrap().status, Status::Active);
    f.finish().await;
}

#[tokio::test]
async fn an_active_memory_is_found_before_an_equal_archived_one() {
    let f = Fixture::new();
    let archived = f.store_fact("a", 1).await;
    let active = f.store_fact("b", 1).await;
    f.rewrite(archived, |record| record.status = Status::Archived.to_string()).await;
    f.revise(active, Patch { content: Some("a".into()), ..Patch::default() }, 2).await;
    assert_eq!(f.remember_one(f.fact("a"), 3).await.id, active);
    f.finish().await;
}

#[tokio::test]
async fn an_invalidated_memory_counts_as_absent() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    f.revise(id, Patch { valid_to: Some(Some(at(1))), ..Patch::default() }, 2).await;
    let answer = f.remember_one(f.fact("a"), 3).await;
    assert_eq!(answer.status, StoreStatus::Stored);
    assert_ne!(answer.id, id);
    f.finish().await;
}

#[tokio::test]
async fn the_listener_learns_of_each_change_in_order() {
    let f = Fixture::new();
    let old = f.store_fact("a", 1).await;
    let mut new = f.fact("b");
    new.supersedes = Some(old);
    f.remember_one(new.clone(), 2).await;
    f.forget(&[old], None, 3).await;
    let told = f.listener.0.lock().unwrap().clone();
    assert_eq!(told.iter().map(|c| c.sequence).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let what: Vec<_> = told
        .iter()
        .map(|c| match &c.effect {
            Effect::Put { memory, content_changed, .. } => (memory.id, Some(*content_changed)),
            Effect::Embedded { id, .. } | Effect::Removed { id, .. } => (*id, None),
        })
        .collect();
    let expected = [(old, Some(true)), (new.id, Some(true)), (old, Some(false)), (old, None)];
    assert_eq!(what, expected);
    f.finish().await;
}
