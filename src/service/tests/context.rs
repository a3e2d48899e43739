//! What an agent is told before it begins.

use std::time::Duration;

use super::consolidating::consolidate;
use super::fixture::{Fixture, agent, draft, draft_in, owner};
use crate::domain::context::Part;
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::memory::Kind;
use crate::ports::Clock as _;
use crate::service::context::{ContextAnswer, ContextRequest, Told};
use crate::service::remember::Draft;

async fn said(f: &Fixture, caller: &Caller, kind: Kind, content: &str) -> MemoryId {
    f.clock.advance(Duration::from_secs(1));
    f.remember(caller, Draft { kind: Some(kind), ..draft(content) }).await.id
}

async fn context(f: &Fixture, query: Option<&str>, parts: &[Part]) -> ContextAnswer {
    let request = ContextRequest { query: query.map(str::to_owned), parts: parts.to_vec() };
    let mut answer = f.service.context(&agent("a"), request).await.unwrap();
    // There is no model of meaning here.
    answer.degraded.clear();
    answer
}

fn texts(told: &[Told]) -> Vec<&str> {
    told.iter().map(|told| told.content.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn orders_come_before_preferences_and_the_users_word_before_an_agents() {
    let f = Fixture::of_words(None).await;
    said(&f, &owner(), Kind::Instruction, "Never push on a Friday").await;
    said(&f, &agent("a"), Kind::Preference, "Prefers oolong tea").await;
    said(&f, &agent("a"), Kind::Instruction, "Always run the tests").await;
    said(&f, &owner(), Kind::Preference, "Likes short answers").await;
    said(&f, &agent("a"), Kind::Fact, "The router is in the hall").await;
    let told = context(&f, None, &[]).await;
    assert_eq!(
        texts(&told.orders),
        [
            "Never push on a Friday",
            "Always run the tests",
            "Likes short answers",
            "Prefers oolong tea"
        ]
    );
    assert_eq!(texts(&told.memories), ["The router is in the hall"], "nothing is told twice");
    assert!(told.profiles.is_empty());

    consolidate(&f).await;
    said(&f, &agent("a"), Kind::Preference, "Wants metric units").await;
    let told = context(&f, None, &[]).await;
    assert_eq!(told.profiles.len(), 1);
    assert!(told.profiles[0].content.contains("oolong"), "{}", told.profiles[0].content);
    assert_eq!(
        texts(&told.orders),
        ["Never push on a Friday", "Always run the tests", "Wants metric units"],
        "what the profile tells is told by it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_brings_what_answers_it_and_no_question_what_is_newest() {
    let f = Fixture::of_words(None).await;
    said(&f, &agent("a"), Kind::Fact, "Rex is our dog").await;
    said(&f, &agent("a"), Kind::Instruction, "Walk the dog at noon").await;
    said(&f, &agent("a"), Kind::Fact, "The kettle is broken").await;
    let later = f.clock.now() + Duration::from_hours(24 * 30);
    f.remember(&agent("a"), Draft { occurred_at: Some(later), ..draft("The lease ends") }).await;
    let told = context(&f, Some("dog"), &[]).await;
    assert_eq!(texts(&told.memories), ["Rex is our dog"]);
    assert_eq!(texts(&told.orders), ["Walk the dog at noon"]);
    let told = context(&f, Some("volcano"), &[Part::Memories]).await;
    assert_eq!(told, ContextAnswer::default());
    let told = context(&f, None, &[Part::Memories]).await;
    assert_eq!(
        texts(&told.memories),
        ["The kettle is broken", "Walk the dog at noon", "Rex is our dog"],
        "what is a month ahead is not new"
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_what_he_may_not_read() {
    let f = Fixture::of_words(None).await;
    for kind in [Kind::Instruction, Kind::Preference, Kind::Fact] {
        let content = format!("a secret {kind} of the other");
        f.remember(&agent("b"), Draft { kind: Some(kind), ..draft_in("agent/b", &content) }).await;
    }
    for query in [None, Some("secret")] {
        assert_eq!(context(&f, query, &[]).await, ContextAnswer::default());
    }
}
