//! The space in use: opened by what the model is, silent until it is whole, alone in the end.

use std::time::Duration;

use super::fixture::{Fixture, agent, contents, draft};
use super::model::{Mood, REFUSED};
use crate::domain::embedding::{Embedded, ModelIdentity, Scripts, SpaceId, SpaceNote};
use crate::domain::likeness::{Likeness, PAIRS};
use crate::domain::limits::EMBED_BATCH_MAX;
use crate::ports::{Embedder as _, Store as _};
use crate::service::status::PartState;

/// Gives the store a complete space of another model of the same dimension, with vectors for all.
async fn made_with_another_model(fixture: &Fixture, texts: &[&str]) -> SpaceId {
    let now = jiff::Timestamp::UNIX_EPOCH;
    let mut other: ModelIdentity = fixture.model.identity().unwrap();
    other.name = "another".to_owned();
    let dimension = other.dimension;
    let space = fixture.store.space(other, Vec::new(), now).await.unwrap();
    fixture.store.note_space(space, SpaceNote::Completed(now)).await.unwrap();
    for text in texts {
        let id = fixture.store(text).await;
        let chunks = vec![(0..dimension).map(|n| if n == 0 { 1.0 } else { 0.0 }).collect()];
        let embedded = Embedded { space, chunks };
        let vectors = crate::domain::change::VectorsFor { id, version: 1, embedded };
        assert_eq!(fixture.store.attach_vectors(vec![vectors], now).await.unwrap(), 1);
    }
    space
}

fn vectors_trouble(report: &crate::service::status::StatusReport) -> Option<String> {
    report.parts.iter().find(|part| part.name == "vectors").and_then(|part| match &part.state {
        PartState::Ok | PartState::Off { .. } => None,
        PartState::Degraded { because, .. } | PartState::Down { because, .. } => {
            Some(because.clone())
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_space_that_was_never_whole_serves_no_search_and_then_all_at_once() {
    let fixture = Fixture::unloaded(Scripts::ALL);
    let texts: Vec<String> =
        (0..EMBED_BATCH_MAX + 8).map(|n| format!("note {n} about the house")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).chain(["Rex is our dog"]).collect();
    let old = made_with_another_model(&fixture, &texts).await;
    fixture.load().await;
    let answer = fixture.recall(&agent("a"), "puppy").await;
    assert!(answer.hits.is_empty(), "nothing is ranked by half the vectors");
    let pass = "re-embedding with stand-in: 0 of 41, since 2023-11-14T22:13:20Z";
    assert_eq!(answer.degraded, [format!("vectors: {pass}; until then search is by words")]);
    assert_eq!(vectors_trouble(&fixture.service.status().await).unwrap(), pass);

    fixture.clock.advance(Duration::from_mins(4));
    assert!(fixture.embed_backlog().await.has_more);
    assert!(fixture.found("puppy").await.is_empty(), "still half of it");
    let report = fixture.service.status().await;
    let trouble = vectors_trouble(&report).unwrap();
    assert!(
        trouble.ends_with(": 32 of 41, since 2023-11-14T22:13:20Z, about 67 s left"),
        "{trouble}"
    );
    assert_eq!(report.reembedding.unwrap().n_total, 41);
    assert!(fixture.store.spaces().await.unwrap().iter().any(|space| space.id == old));
    // What is stored meanwhile has its vector in the new space at once.
    assert!(fixture.remember(&agent("a"), draft("a vehicle")).await.embedded);

    assert!(!fixture.embed_backlog().await.has_more);
    assert_eq!(fixture.found("puppy").await[0], "Rex is our dog");
    assert_eq!(fixture.found("automobile").await[0], "a vehicle");
    let report = fixture.service.status().await;
    assert!(report.is_ok() && report.reembedding.is_none(), "{:?}", report.parts);
    let left: Vec<String> =
        fixture.store.spaces().await.unwrap().into_iter().map(|space| space.model.name).collect();
    assert_eq!(left, ["stand-in"], "the old space is gone");
}

#[tokio::test(start_paused = true)]
async fn a_text_that_the_model_refuses_does_not_keep_a_space_from_serving() {
    let fixture = Fixture::unloaded(Scripts::ALL);
    made_with_another_model(&fixture, &[&format!("{REFUSED} dog"), "Rex is our dog"]).await;
    fixture.load().await;
    let round = fixture.embed_backlog().await;
    assert_eq!((round.n_embedded, round.n_failed, round.has_more), (1, 1, false));
    let answer = fixture.recall(&agent("a"), "puppy").await;
    assert_eq!(contents(&answer), ["Rex is our dog"]);
    assert_eq!(answer.pending_vectors, 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_away_at_first_is_named_and_opened_later() {
    let fixture = Fixture::unloaded(Scripts::ALL);
    fixture.model.set(Mood::Dead);
    assert!(fixture.service.open_space().await.is_err());
    assert!(!fixture.remember(&agent("a"), draft("Rex is our dog")).await.embedded);
    fixture.load_words().await;
    let answer = fixture.recall(&agent("a"), "dog").await;
    assert_eq!(contents(&answer), ["Rex is our dog"]);
    let because = "the embedding model is unavailable: it burnt down";
    assert_eq!(answer.degraded, [format!("vectors: {because}")]);
    assert_eq!(vectors_trouble(&fixture.service.status().await).unwrap(), because);

    fixture.model.set(Mood::Well);
    fixture.load().await;
    fixture.embed_backlog().await;
    assert_eq!(fixture.found("puppy").await, ["Rex is our dog"]);
    assert!(fixture.service.status().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_model_is_measured_once() {
    let fixture = Fixture::unloaded(Scripts::ALL);
    let space = fixture.service.open_space().await.unwrap().unwrap();
    let questions: Vec<&str> = PAIRS
        .iter()
        .map(|(english, _)| english.0)
        .chain(PAIRS.iter().map(|(_, chinese)| chinese.0))
        .collect();
    assert_eq!(fixture.model.queries(), questions);
    let measured: Option<Likeness> = fixture.store.spaces().await.unwrap()[0].likeness;
    assert!(
        measured.is_some_and(|found| found.latin.related > found.latin.unrelated),
        "{measured:?}"
    );
    assert_eq!(fixture.service.open_space().await.unwrap(), Some(space));
    assert_eq!(fixture.model.queries().len(), 2 * PAIRS.len());
}

#[tokio::test(start_paused = true)]
async fn weights_that_were_swapped_while_the_model_was_away_are_noticed() {
    let fixture = Fixture::new().await;
    let id = fixture.store("Rex is our dog").await;
    let before = fixture.service.open_space().await.unwrap().unwrap();
    fixture.model.swap_weights();
    let after = fixture.service.open_space().await.unwrap().unwrap();
    assert_ne!(before, after, "the same name, other vectors");
    let snapshot = fixture.store.snapshot().await.unwrap();
    assert_eq!(snapshot.without_vectors(after, 9).await.unwrap(), [id]);
    let degraded = fixture.recall(&agent("a"), "dog").await.degraded.join("");
    assert!(degraded.contains("re-embedding"), "{degraded}");
}
