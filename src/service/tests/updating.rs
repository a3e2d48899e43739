//! Changing a memory: vectors follow the text, never an older one.

use std::sync::Arc;

use super::fixture::{Fixture, agent, draft};
use super::model::Mood;
use crate::domain::change::Patch;
use crate::domain::identity::Caller;
use crate::service::update::{UpdateAnswer, UpdateRequest};

async fn update(fixture: &Fixture, caller: &Caller, id: String, patch: Patch) -> UpdateAnswer {
    let request = UpdateRequest { reference: id, patch, request: None };
    fixture.service.update(caller, request).await.unwrap()
}

fn content(text: &str) -> Patch {
    Patch { content: Some(Arc::from(text)), ..Patch::default() }
}

#[tokio::test(start_paused = true)]
async fn a_new_text_is_found_by_its_words_and_meaning_and_the_old_one_is_not() {
    let fixture = Fixture::new().await;
    let id = fixture.store("Rex is our dog").await;
    let answer = update(&fixture, &agent("a"), id.to_string(), content("we bought a car")).await;
    assert_eq!(answer.changed, ["content"]);
    assert_eq!(fixture.found("automobile").await, ["we bought a car"]);
    for old in ["Rex", "puppy"] {
        assert_eq!(fixture.found(old).await, Vec::<String>::new(), "{old}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_text_drops_the_old_vectors_even_while_the_model_is_slow() {
    let fixture = Fixture::new().await;
    let id = fixture.store("Rex is our dog").await;
    fixture.model.set(Mood::Slow);
    update(&fixture, &agent("a"), id.to_string(), content("we bought a car")).await;
    fixture.model.set(Mood::Well);
    let answer = fixture.recall(&agent("a"), "puppy").await;
    assert_eq!((answer.hits.len(), answer.pending_vectors), (0, 1));
    assert_eq!(fixture.found("bought").await, ["we bought a car"]);
    fixture.service.backlog_grew().await;
    assert_eq!(fixture.embed_backlog().await.n_embedded, 1);
    assert_eq!(fixture.found("automobile").await, ["we bought a car"]);
}

#[tokio::test(start_paused = true)]
async fn vectors_of_a_text_that_was_replaced_meanwhile_are_never_attached() {
    let fixture = Fixture::new().await;
    fixture.model.set(Mood::Slow);
    let id = fixture.store("Rex is our dog").await;

    // The backlog has read the old text and waits for the model; then the text changes.
    let service = Arc::clone(&fixture.service);
    let n_before = fixture.model.n_documents();
    let late = tokio::spawn(async move {
        service.embed_backlog(&mut std::collections::HashSet::new()).await.unwrap()
    });
    while fixture.model.n_documents() == n_before {
        tokio::task::yield_now().await;
    }
    update(&fixture, &agent("a"), id.to_string(), content("we bought a car")).await;
    fixture.model.set(Mood::Well);
    assert_eq!(late.await.unwrap().n_embedded, 0);

    let answer = fixture.recall(&agent("a"), "puppy").await;
    assert_eq!((answer.hits.len(), answer.pending_vectors), (0, 1));
    assert_eq!(fixture.embed_backlog().await.n_embedded, 1);
    assert_eq!(fixture.found("automobile").await, ["we bought a car"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_leaves_the_text_alone_keeps_its_vectors() {
    let fixture = Fixture::new().await;
    let id = fixture.store("Rex is our dog").await;
    let n_before = fixture.model.n_documents();
    let patch = Patch { tags: Some(vec!["pet".to_owned()]), ..Patch::default() };
    update(&fixture, &agent("a"), id.to_string(), patch).await;
    assert_eq!(fixture.model.n_documents(), n_before);
    let answer = fixture.recall(&agent("a"), "puppy").await;
    assert_eq!((answer.hits.len(), answer.pending_vectors), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_earlier_version_is_kept() {
    let fixture = Fixture::new().await;
    let id = fixture.remember(&agent("a"), draft("Rex is our dog")).await.id;
    update(&fixture, &agent("b"), id.to_string(), content("Rex was our dog")).await;
    let request = crate::service::get::GetRequest {
        references: vec![id.to_string()],
        history: true,
        reinforces: false,
    };
    let got = fixture.service.get(&agent("a"), request).await.unwrap().memories.remove(0);
    assert_eq!((&*got.memory.content, got.memory.version), ("Rex was our dog", 2));
    let earlier: Vec<&str> = got.history.iter().map(|memory| &*memory.content).collect();
    assert_eq!(earlier, ["Rex is our dog"]);
}
