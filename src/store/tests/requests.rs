//! Request keys: a call sent twice is carried out once.

use super::fixture::{Fixture, key, tags};
use crate::domain::change::{RequestKey, StoreStatus};
use crate::domain::limits::REQUEST_KEY_AGE_MAX;
use crate::store::tables::{REQUEST_AGES, REQUESTS};
use redb::{ReadableDatabase, ReadableTableMetadata};

#[tokio::test]
async fn a_repeated_call_gives_the_first_answer_whatever_it_says() {
    let mut f = Fixture::new();
    f.store_fact("old", 1).await;
    let mut tagged = f.fact("old");
    tagged.tags = tags(&["t"]);
    let first = f.try_remember(vec![tagged, f.fact("new")], Some(key("k")), 2).await.unwrap();
    f.reopen();
    let again = f.try_remember(vec![f.fact("something else")], Some(key("k")), 3).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(again[0].changed, ["tags"]);
    assert_eq!(f.n_memories().await, 2);
    f.finish().await;
}

#[tokio::test]
async fn a_repeated_call_in_the_same_group_is_carried_out_once() {
    let f = Fixture::new();
    let (a, b) = tokio::join!(
        f.try_remember(vec![f.fact("x")], Some(key("k")), 1),
        f.try_remember(vec![f.fact("x")], Some(key("k")), 1),
    );
    assert_eq!(a.as_ref().unwrap(), b.as_ref().unwrap());
    assert_eq!(a.unwrap()[0].status, StoreStatus::Stored);
    f.finish().await;
}

#[tokio::test]
async fn a_forgotten_memory_is_told_as_forgotten() {
    let f = Fixture::new();
    let first = f.try_remember(vec![f.fact("a"), f.fact("b")], Some(key("k")), 1).await.unwrap();
    f.forget(&[first[0].id], None, 2).await;
    let again = f.try_remember(vec![f.fact("a"), f.fact("b")], Some(key("k")), 3).await.unwrap();
    assert_eq!((again[0].id, again[0].status), (first[0].id, StoreStatus::Forgotten));
    assert_eq!(again[1], first[1]);
    assert_eq!(f.get(first[0].id).await, None);
    f.finish().await;
}

#[tokio::test]
async fn keys_of_other_uids_and_actors_are_other_keys() {
    let f = Fixture::new();
    let own = key("k");
    for (n, request) in [
        own.clone(),
        RequestKey { uid: 1, ..own.clone() },
        RequestKey { actor: "agent/b".to_owned(), ..own.clone() },
        RequestKey { key: "l".to_owned(), ..own },
    ]
    .into_iter()
    .enumerate()
    {
        let new = f.fact(&n.to_string());
        let answer = f.try_remember(vec![new.clone()], Some(request), 1).await.unwrap();
        assert_eq!(answer[0].id, new.id, "{n}");
    }
    f.finish().await;
}

#[tokio::test]
async fn a_call_that_failed_may_be_sent_again() {
    let f = Fixture::new();
    let mut new = f.fact("a");
    new.supersedes = Some(f.unknown_id());
    assert!(f.try_remember(vec![new.clone()], Some(key("k")), 1).await.is_err());
    new.supersedes = None;
    let answer = f.try_remember(vec![new.clone()], Some(key("k")), 2).await.unwrap();
    assert_eq!((answer[0].id, answer[0].status), (new.id, StoreStatus::Stored));
    f.finish().await;
}

#[tokio::test]
async fn old_keys_are_forgotten_and_dropped() {
    let f = Fixture::new();
    let age = i64::try_from(REQUEST_KEY_AGE_MAX.as_secs()).unwrap();
    for n in 0..40 {
        f.try_remember(vec![f.fact(&n.to_string())], Some(key(&n.to_string())), 0).await.unwrap();
    }
    // At its greatest age a key still counts; past it the call is a new one.
    let known = f.try_remember(vec![f.fact("x")], Some(key("7")), age).await.unwrap();
    assert_eq!(known[0].status, StoreStatus::Stored);
    let new = f.fact("new");
    let answer = f.try_remember(vec![new.clone()], Some(key("7")), age + 1).await.unwrap();
    assert_eq!(answer[0].id, new.id);
    for n in 0..2 {
        let name = format!("more {n}");
        f.try_remember(vec![f.fact(&name)], Some(key(&name)), age + 1).await.unwrap();
    }
    f.check().await;
    f.store.close();
    let database = redb::Database::open(f.dir.path().join("recalld.redb")).unwrap();
    let transaction = database.begin_read().unwrap();
    assert_eq!(transaction.open_table(REQUESTS).unwrap().len().unwrap(), 3);
    assert_eq!(transaction.open_table(REQUEST_AGES).unwrap().len().unwrap(), 3);
}
