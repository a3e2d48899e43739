//! Reading reinforces, finding only counts, and what the person or a resource looks at does neither.

use std::time::Duration;

use super::fixture::{Fixture, agent, draft, owner};
use crate::domain::decay::Verdict;
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::memory::{Kind, Usage};
use crate::ports::Store as _;
use crate::service::feedback::FeedbackRequest;
use crate::service::get::GetRequest;
use crate::service::remember::Draft;

const DAY: Duration = Duration::from_hours(24);

/// An event of importance 0.9, whose strength above the floor halves in 30 days.
async fn event(fixture: &Fixture) -> MemoryId {
    let draft =
        Draft { kind: Some(Kind::Event), importance: Some(0.9), ..draft("Rex the dog was ill") };
    fixture.remember(&agent("a"), draft).await.id
}

async fn read(fixture: &Fixture, caller: &Caller, id: MemoryId, reinforces: bool) -> f64 {
    let request = GetRequest { references: vec![id.to_string()], history: false, reinforces };
    fixture.service.get(caller, request).await.unwrap().memories[0].strength
}

async fn stored_usage(fixture: &Fixture, id: MemoryId) -> Usage {
    let snapshot = fixture.store.snapshot().await.unwrap();
    snapshot.memories(vec![id]).await.unwrap().remove(0).unwrap().usage
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
}

#[tokio::test(start_paused = true)]
async fn strength_follows_the_half_life_of_the_kind() {
    let fixture = Fixture::new().await;
    let id = event(&fixture).await;
    for expected in [0.9, 0.5, 0.3, 0.2] {
        assert_near(read(&fixture, &owner(), id, false).await, expected);
        fixture.clock.advance(30 * DAY);
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_of_an_agent_moves_the_anchor_from_the_strength_of_that_moment() {
    let fixture = Fixture::new().await;
    let id = event(&fixture).await;
    fixture.clock.advance(30 * DAY);
    assert_near(read(&fixture, &agent("a"), id, true).await, 0.5);
    assert_eq!(stored_usage(&fixture, id).await.recalls, 0, "notes are written in batches");
    assert_eq!(fixture.service.flush_usage().await.unwrap(), 1);

    let usage = stored_usage(&fixture, id).await;
    assert_near(usage.anchor.value, 0.5 + 0.05 * 0.5);
    let memory = fixture.memory(id).await;
    assert_eq!((usage.recalls, usage.last_recalled_at), (1, Some(usage.anchor.at)));
    assert_eq!(usage.anchor.at, memory.created_at + 30 * DAY);
    assert_eq!(memory.version, 1, "using a memory is no change of it");
    assert_eq!(fixture.service.flush_usage().await.unwrap(), 0);

    fixture.clock.advance(30 * DAY);
    assert_near(read(&fixture, &owner(), id, false).await, 0.1 + 0.425 / 2.0);
}

#[tokio::test(start_paused = true)]
async fn what_is_read_shows_what_was_said_of_it_a_moment_ago() {
    let fixture = Fixture::new().await;
    let id = event(&fixture).await;
    fixture.clock.advance(30 * DAY);
    let request = FeedbackRequest {
        references: vec![id.to_string()],
        verdict: Verdict::Useful,
        correction: None,
    };
    fixture.service.feedback(&agent("a"), request).await.unwrap();
    read(&fixture, &agent("a"), id, true).await;
    let strength = 0.5 + 0.1 * 0.5;
    let strength = strength + 0.05 * (1.0 - strength);
    for _ in 0..2 {
        let got = fixture.get(&owner(), &id.to_string()).await.unwrap();
        assert_near(got.strength, strength);
        assert_eq!(got.memory.usage.recalls, 1, "before and after it is written");
        fixture.service.flush_usage().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn reads_between_two_flushes_add_up() {
    let fixture = Fixture::new().await;
    let id = event(&fixture).await;
    fixture.clock.advance(30 * DAY);
    read(&fixture, &agent("a"), id, true).await;
    read(&fixture, &agent("b"), id, true).await;
    fixture.service.flush_usage().await.unwrap();
    let usage = stored_usage(&fixture, id).await;
    let once = 0.5 + 0.05 * 0.5;
    assert_near(usage.anchor.value, once + 0.05 * (1.0 - once));
    assert_eq!(usage.recalls, 2);
}

#[tokio::test(start_paused = true)]
async fn a_search_counts_what_it_returned_and_reinforces_nothing() {
    let fixture = Fixture::new().await;
    let id = event(&fixture).await;
    let bystander = fixture.store("the road is long").await;
    let before = stored_usage(&fixture, id).await;
    fixture.clock.advance(DAY);
    fixture.found("Rex").await;
    fixture.found("puppy").await;
    assert_eq!(fixture.service.flush_usage().await.unwrap(), 1);
    let after = stored_usage(&fixture, id).await;
    assert_eq!((after.recalls, after.anchor), (2, before.anchor));
    assert!(after.last_recalled_at.is_some());
    assert_eq!(stored_usage(&fixture, bystander).await.recalls, 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_person_or_a_resource_looks_at_is_not_counted() {
    let fixture = Fixture::new().await;
    let id = event(&fixture).await;
    let before = stored_usage(&fixture, id).await;
    fixture.clock.advance(DAY);
    fixture.recall(&owner(), "Rex").await;
    read(&fixture, &owner(), id, true).await;
    read(&fixture, &agent("a"), id, false).await;
    assert_eq!(fixture.service.flush_usage().await.unwrap(), 0);
    assert_eq!(stored_usage(&fixture, id).await, before);
}

#[tokio::test(start_paused = true)]
async fn pinned_memories_do_not_fade() {
    let fixture = Fixture::new().await;
    let draft = Draft { pinned: true, importance: Some(0.6), ..draft("Rex is our dog") };
    let id = fixture.remember(&agent("a"), draft).await.id;
    fixture.clock.advance(4_000 * DAY);
    assert_near(read(&fixture, &owner(), id, false).await, 0.6);
}
