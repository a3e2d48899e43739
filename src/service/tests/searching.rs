//! A search answers within its deadline with the arms it has, and says which is missing.

use super::fixture::{Fixture, agent, contents, draft, draft_in, owner, question};
use super::model::Mood;
use crate::domain::embedding::Scripts;
use crate::domain::memory::{Kind, Layer};
use crate::service::recall::RecallRequest;
use crate::service::scope::Scope;

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_answer_costs_the_deadline_and_one_arm() {
    let fixture = Fixture::new().await;
    fixture.store("Rex is our dog").await;
    fixture.model.set(Mood::Slow);
    let started = tokio::time::Instant::now();
    let answer = fixture.recall(&agent("a"), "Rex").await;
    assert_eq!(started.elapsed().as_secs(), 2);
    assert_eq!(contents(&answer), ["Rex is our dog"]);
    assert_eq!(answer.degraded, ["vectors: the model did not answer within the deadline"]);

    fixture.model.set(Mood::Well);
    assert!(fixture.recall(&agent("a"), "Rex").await.degraded.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_index_that_is_not_loaded_costs_the_deadline_and_is_named() {
    let fixture = Fixture::unloaded(Scripts::ALL);
    fixture.service.open_space().await.unwrap();
    fixture.store("Rex is our dog").await;
    let answer = fixture.recall(&agent("a"), "Rex").await;
    assert!(answer.hits.is_empty());
    assert_eq!(
        answer.degraded,
        [
            "text: it did not answer within the deadline",
            "vectors: they did not answer within the deadline"
        ]
    );
    fixture.load().await;
    assert_eq!(fixture.found("Rex").await, ["Rex is our dog"]);
}

#[tokio::test(start_paused = true)]
async fn a_chinese_question_to_a_latin_model_is_answered_by_words_and_says_so() {
    let fixture = Fixture::with_scripts(Scripts::LATIN).await;
    fixture.store("我喜欢乌龙茶").await;
    fixture.store("Rex is our dog").await;
    let answer = fixture.recall(&agent("a"), "乌龙茶").await;
    assert_eq!(contents(&answer), ["我喜欢乌龙茶"]);
    assert_eq!(
        answer.degraded,
        ["vectors: the model reads Latin script only; this was searched by words"]
    );
    assert!(fixture.model.queries().is_empty(), "the model was not asked");
    assert!(fixture.recall(&agent("a"), "puppy").await.degraded.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_model_of_all_languages_is_asked_in_chinese_too() {
    let fixture = Fixture::new().await;
    fixture.store("我喜欢乌龙茶").await;
    let answer = fixture.recall(&agent("a"), "乌龙茶").await;
    assert_eq!((contents(&answer).len(), answer.degraded.len()), (1, 0));
    assert_eq!(fixture.model.queries(), ["乌龙茶"]);
}

#[tokio::test(start_paused = true)]
async fn every_condition_of_the_scope_narrows_both_arms() {
    let fixture = Fixture::new().await;
    let mut wanted = draft("the dog was ill");
    wanted.kind = Some(Kind::Event);
    wanted.tags = vec!["health".to_owned(), "pet".to_owned()];
    wanted.session = Some("s1".to_owned());
    wanted.importance = Some(0.8);
    wanted.occurred_at = Some("2020-05-01T00:00:00Z".parse().unwrap());
    wanted.metadata.insert("vet".to_owned(), "\"Mia\"".to_owned());
    fixture.remember(&agent("a"), wanted).await;
    fixture.remember(&agent("b"), draft("the dog sleeps")).await;

    let scope = Scope::default;
    let scopes = [
        Scope { kinds: vec![Kind::Event], ..scope() },
        Scope { layer: Some(Layer::Episodic), ..scope() },
        Scope { tags: vec!["pet".to_owned()], ..scope() },
        Scope { session: Some("s1".to_owned()), ..scope() },
        Scope { agent: Some("a".to_owned()), ..scope() },
        Scope { importance_min: Some(0.7), ..scope() },
        Scope { before: Some("2021-01-01T00:00:00Z".parse().unwrap()), ..scope() },
        Scope { metadata: vec![("vet".to_owned(), "\"Mia\"".to_owned())], ..scope() },
    ];
    for scope in scopes {
        for query in ["dog", "puppy"] {
            let request = RecallRequest { scope: scope.clone(), ..question(query) };
            let answer = fixture.service.recall(&owner(), request).await.unwrap();
            assert_eq!(contents(&answer), ["the dog was ill"], "{query} {scope:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_answered_to_a_question_about_something_else() {
    let fixture = Fixture::new().await;
    fixture.store("Rex is our dog").await;
    let answer = fixture.recall(&agent("a"), "automobile").await;
    assert_eq!(contents(&answer), Vec::<String>::new());
    assert!(answer.degraded.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_memory_of_another_namespace_leaves_no_trace_in_an_answer() {
    let fixture = Fixture::new().await;
    fixture.remember(&agent("a"), draft_in("agent/a", "Rex is the secret dog")).await;
    let answer = fixture.recall(&agent("b"), "Rex").await;
    assert_eq!(contents(&answer), Vec::<String>::new());
    assert_eq!((answer.n_below_threshold, answer.pending_vectors), (0, 0));
}
