//! Pages of searches and listings: nothing twice, nothing left out, and within the budget.

use super::fixture::{Fixture, agent, contents, draft, owner, question};
use crate::domain::budget::tokens_estimate;
use crate::domain::limits::{HIT_TOKENS_OVERHEAD, RECALL_TOKENS_MIN};
use crate::service::ServiceError;
use crate::service::list::ListRequest;
use crate::service::recall::{RecallAnswer, RecallRequest};
use crate::service::scope::Scope;

const N: usize = 23;

/// Animals that are too unlike to be twins, all of them about zebras.
async fn populated() -> Fixture {
    let fixture = Fixture::new().await;
    for n in 0..N {
        let mut draft = draft(&format!("zebra {n} {}", "grazes ".repeat(n)));
        // Two of each event time, so that ties are met.
        let second = 1_600_000_000 + i64::try_from(n / 2).unwrap();
        draft.occurred_at = Some(jiff::Timestamp::from_second(second).unwrap());
        fixture.remember(&agent("a"), draft).await;
    }
    fixture
}

async fn page(
    fixture: &Fixture,
    cursor: Option<String>,
    limit: usize,
) -> Result<RecallAnswer, ServiceError> {
    let request = RecallRequest { cursor, limit: Some(limit), ..question("zebra") };
    fixture.service.recall(&agent("a"), request).await
}

#[tokio::test(start_paused = true)]
async fn the_pages_of_a_search_are_the_whole_answer_in_order() {
    let fixture = populated().await;
    let whole = page(&fixture, None, 100).await.unwrap();
    assert_eq!((whole.hits.len(), &whole.next_cursor), (N, &None));
    for limit in [1, 5, 22, 23] {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let answer = page(&fixture, cursor, limit).await.unwrap();
            assert!(answer.hits.len() <= limit);
            found.extend(contents(&answer));
            cursor = answer.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, contents(&whole), "pages of {limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_keeps_to_its_budget_and_the_next_goes_on_where_it_was_cut() {
    let fixture = populated().await;
    let whole = page(&fixture, None, 100).await.unwrap();
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let request =
            RecallRequest { cursor, limit: Some(100), max_tokens: Some(300), ..question("zebra") };
        let answer = fixture.service.recall(&agent("a"), request).await.unwrap();
        let n_tokens: usize =
            answer.hits.iter().map(|hit| tokens_estimate(&hit.excerpt) + HIT_TOKENS_OVERHEAD).sum();
        assert!(n_tokens <= 300, "{n_tokens}");
        assert!(!answer.hits.is_empty());
        found.extend(contents(&answer));
        cursor = answer.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, contents(&whole));
}

#[tokio::test(start_paused = true)]
async fn one_hit_is_shown_even_if_it_is_dearer_than_the_budget() {
    let fixture = Fixture::new().await;
    fixture.store(&"zebra grazes ".repeat(100)).await;
    let request = RecallRequest { max_tokens: Some(RECALL_TOKENS_MIN), ..question("zebra") };
    let answer = fixture.service.recall(&agent("a"), request).await.unwrap();
    assert_eq!(answer.hits.len(), 1);
    assert!(answer.hits[0].truncated);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_serves_only_its_own_call() {
    let fixture = populated().await;
    let cursor = page(&fixture, None, 5).await.unwrap().next_cursor;
    let asked = |query: &str, scope: Scope| RecallRequest {
        cursor: cursor.clone(),
        scope,
        ..question(query)
    };
    let tagged = Scope { tags: vec!["x".to_owned()], ..Scope::default() };
    for (caller, request) in [
        (agent("a"), asked("zebras", Scope::default())),
        (agent("a"), asked("zebra", tagged)),
        (agent("b"), asked("zebra", Scope::default())),
        (owner(), asked("zebra", Scope::default())),
        (agent("a"), RecallRequest { cursor: Some("page 2".to_owned()), ..question("zebra") }),
    ] {
        let error = fixture.service.recall(&caller, request).await.unwrap_err();
        assert!(matches!(error, ServiceError::Invalid { argument: "cursor", .. }), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_pages_of_a_listing_are_the_whole_in_order_of_event_time() {
    let fixture = populated().await;
    for oldest_first in [false, true] {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let request =
                ListRequest { oldest_first, limit: Some(4), cursor, ..Default::default() };
            let answer = fixture.service.list(&agent("a"), request).await.unwrap();
            found.extend(answer.memories.into_iter().map(|m| (m.event_time(), m.id)));
            cursor = answer.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        let mut expected = found.clone();
        expected.sort();
        expected.dedup();
        if !oldest_first {
            expected.reverse();
        }
        assert_eq!((found.len(), found), (N, expected), "oldest first: {oldest_first}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cursor_of_a_listing_serves_only_its_own_call() {
    let fixture = populated().await;
    let first = ListRequest { limit: Some(4), ..Default::default() };
    let cursor = fixture.service.list(&agent("a"), first.clone()).await.unwrap().next_cursor;
    for (caller, oldest_first) in [(agent("b"), false), (agent("a"), true)] {
        let request = ListRequest { cursor: cursor.clone(), oldest_first, ..first.clone() };
        let error = fixture.service.list(&caller, request).await.unwrap_err();
        assert!(matches!(error, ServiceError::Invalid { argument: "cursor", .. }), "{error}");
    }
}
