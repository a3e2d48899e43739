//! A call that is sent again with the same request key is carried out once.

use std::sync::Arc;

use super::fixture::{Fixture, agent, draft, key};
use crate::domain::change::{Patch, StoreStatus};
use crate::service::forget::{ForgetAnswer, ForgetRequest};
use crate::service::remember::Draft;
use crate::service::update::UpdateRequest;

#[tokio::test(start_paused = true)]
async fn a_store_sent_again_gives_the_first_answer() {
    let fixture = Fixture::new().await;
    let caller = agent("a");
    let send = async |drafts: Vec<Draft>, caller| {
        let request = Some(key(caller, "k1"));
        fixture.service.remember(caller, drafts, request).await.unwrap().memories
    };
    let drafts = || vec![draft("one"), draft("two")];
    let first = send(drafts(), &caller).await;
    let again = send(drafts(), &caller).await;
    let ids = |kept: &[crate::service::remember::Kept]| {
        kept.iter().map(|one| (one.id, one.status)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&again), ids(&first));
    assert_eq!(fixture.n_memories().await, 2);

    // The key is the caller's: the same word of another agent is another request.
    let other = send(vec![draft("three")], &agent("b")).await;
    assert_eq!(other[0].status, StoreStatus::Stored);
    assert_eq!(fixture.n_memories().await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_store_sent_again_after_its_memory_was_forgotten_does_not_bring_it_back() {
    let fixture = Fixture::new().await;
    let caller = agent("a");
    let send = async || {
        let request = Some(key(&caller, "k1"));
        let answer = fixture.service.remember(&caller, vec![draft("a zebra")], request).await;
        answer.unwrap().memories.remove(0)
    };
    let first = send().await;
    let forget = ForgetRequest::Ids { references: vec![first.id.to_string()], request: None };
    fixture.service.forget(&caller, forget).await.unwrap();
    let again = send().await;
    assert_eq!((again.id, again.status), (first.id, StoreStatus::Forgotten));
    assert!(fixture.found("zebra").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_superseding_store_sent_again_gives_the_first_answer() {
    let fixture = Fixture::new().await;
    let caller = agent("a");
    let old = fixture.store("the zebra is young").await;
    let send = async || {
        let newer = Draft { supersedes: Some(old.to_string()), ..draft("the zebra is old by now") };
        let answer = fixture.service.remember(&caller, vec![newer], Some(key(&caller, "k1"))).await;
        answer.unwrap().memories.remove(0)
    };
    let first = send().await;
    assert_eq!(first.status, StoreStatus::Superseded);
    let again = send().await;
    assert_eq!((again.id, again.status), (first.id, first.status));
}

#[tokio::test(start_paused = true)]
async fn an_update_sent_again_changes_nothing_more() {
    let fixture = Fixture::new().await;
    let caller = agent("a");
    let id = fixture.store("one").await;
    let send = async |text: &str, request_key: &str| {
        let patch = Patch { content: Some(Arc::from(text)), ..Patch::default() };
        let request = Some(key(&caller, request_key));
        let request = UpdateRequest { reference: id.to_string(), patch, request };
        fixture.service.update(&caller, request).await.unwrap()
    };
    let first = send("two", "k1").await;
    send("three", "k2").await;
    let again = send("two", "k1").await;
    assert_eq!(again.changed, first.changed);
    let memory = fixture.memory(id).await;
    assert_eq!((&*memory.content, memory.version), ("three", 3));
}

#[tokio::test(start_paused = true)]
async fn a_forget_sent_again_gives_the_first_receipt() {
    let fixture = Fixture::new().await;
    let caller = agent("a");
    let id = fixture.store("one").await;
    let send = async || {
        let request = Some(key(&caller, "k1"));
        let request = ForgetRequest::Ids { references: vec![id.to_string()], request };
        match fixture.service.forget(&caller, request).await.unwrap() {
            ForgetAnswer::Receipt { receipt, .. } => receipt,
            ForgetAnswer::Preview { .. } => panic!("not asked for"),
        }
    };
    let first = send().await;
    fixture.clock.advance(std::time::Duration::from_mins(1));
    assert_eq!(send().await, first);
    assert_eq!(first.ids, [id]);
}

#[tokio::test(start_paused = true)]
async fn a_forget_by_filter_sent_again_gives_the_first_receipt() {
    let fixture = Fixture::new().await;
    let caller = agent("a");
    fixture.store("a zebra").await;
    let confirm = super::forgetting::confirmation(&fixture, &caller, "zebra").await;
    let send = async || {
        let request = ForgetRequest::Matching {
            scope: Box::default(),
            query: Some("zebra".to_owned()),
            confirm: Some(confirm.clone()),
            request: Some(key(&caller, "k1")),
        };
        match fixture.service.forget(&caller, request).await.unwrap() {
            ForgetAnswer::Receipt { receipt, .. } => receipt,
            ForgetAnswer::Preview { .. } => panic!("not asked for"),
        }
    };
    let first = send().await;
    assert_eq!(send().await, first);
}

#[tokio::test(start_paused = true)]
async fn a_superseding_store_sent_again_after_the_old_memory_was_forgotten_gives_the_first_answer()
{
    let fixture = Fixture::new().await;
    let caller = agent("a");
    let old = fixture.store("the zebra is young").await;
    let send = async |request: &str| {
        let newer = Draft { supersedes: Some(old.to_string()), ..draft("the zebra is old by now") };
        fixture.service.remember(&caller, vec![newer], Some(key(&caller, request))).await
    };
    let first = send("k1").await.unwrap().memories.remove(0);
    let forget = ForgetRequest::Ids { references: vec![old.to_string()], request: None };
    fixture.service.forget(&caller, forget).await.unwrap();
    let again = send("k1").await.unwrap().memories.remove(0);
    assert_eq!((again.id, again.status), (first.id, first.status));
    assert_eq!(again.namespace, first.namespace);
    // A new request is told that the memory is gone, and leaves no answer under its key.
    for _ in 0..2 {
        assert!(send("k2").await.unwrap_err().to_string().contains("not found"));
    }
    assert_eq!(fixture.n_memories().await, 1);
}
