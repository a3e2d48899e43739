//! Forgetting: out of sight at the answer, gone when the grace is over.

use std::time::Duration;

use super::fixture::{Fixture, GRACE, agent, draft, draft_in, owner, reader};
use crate::domain::change::Forgotten;
use crate::domain::identity::Caller;
use crate::ports::Store as _;
use crate::service::ServiceError;
use crate::service::forget::{ForgetAnswer, ForgetRequest};
use crate::service::list::ListRequest;

fn by_words(query: &str, confirm: Option<String>) -> ForgetRequest {
    let query = Some(query.to_owned());
    ForgetRequest::Matching { scope: Box::default(), query, confirm, request: None }
}

/// The token of what these words match, and how many that is.
async fn preview(fixture: &Fixture, caller: &Caller, query: &str) -> (String, usize) {
    match fixture.service.forget(caller, by_words(query, None)).await.unwrap() {
        ForgetAnswer::Preview { n_matching, confirm, .. } => (confirm, n_matching),
        ForgetAnswer::Receipt { .. } => panic!("forgotten without being confirmed"),
    }
}

/// The token of what these words match.
pub(super) async fn confirmation(fixture: &Fixture, caller: &Caller, query: &str) -> String {
    preview(fixture, caller, query).await.0
}

async fn confirmed(
    fixture: &Fixture,
    caller: &Caller,
    query: &str,
    confirm: String,
) -> Result<Forgotten, ServiceError> {
    match fixture.service.forget(caller, by_words(query, Some(confirm))).await? {
        ForgetAnswer::Receipt { receipt, .. } => Ok(receipt),
        ForgetAnswer::Preview { .. } => panic!("a preview in spite of a token"),
    }
}

async fn forget(fixture: &Fixture, caller: &Caller, references: Vec<String>) -> Forgotten {
    let request = ForgetRequest::Ids { references, request: None };
    match fixture.service.forget(caller, request).await.unwrap() {
        ForgetAnswer::Receipt { receipt, .. } => receipt,
        ForgetAnswer::Preview { .. } => panic!("a preview of ids"),
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_shows_a_forgotten_memory() {
    let fixture = Fixture::new().await;
    let id = fixture.store("Rex is our dog").await;
    forget(&fixture, &agent("a"), vec![id.handle()]).await;
    for caller in [agent("a"), owner()] {
        for query in ["Rex", "puppy"] {
            assert!(fixture.recall(&caller, query).await.hits.is_empty(), "{query}");
        }
        for reference in [id.to_string(), id.handle()] {
            let got = fixture.get(&caller, &reference).await;
            assert!(matches!(got, Err(ServiceError::NotFound { .. })), "{reference}");
        }
        let listed = fixture.service.list(&caller, ListRequest::default()).await.unwrap();
        assert!(listed.memories.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_memory_is_not_embedded_later() {
    let fixture = Fixture::new().await;
    fixture.model.set(super::model::Mood::Slow);
    let id = fixture.store("Rex is our dog").await;
    forget(&fixture, &agent("a"), vec![id.to_string()]).await;
    fixture.model.set(super::model::Mood::Well);
    assert_eq!(fixture.embed_backlog().await.n_embedded, 0);
    assert!(fixture.recall(&owner(), "puppy").await.hits.is_empty());
}

#[tokio::test(start_paused = true)]
async fn content_goes_when_the_grace_of_an_agent_is_over() {
    let fixture = Fixture::new().await;
    let id = fixture.store("Rex is our dog").await;
    let receipt = forget(&fixture, &agent("a"), vec![id.to_string()]).await;
    let until = receipt.forgotten_at + GRACE;
    assert_eq!((receipt.restorable_until, receipt.erase_by), (Some(until), until));

    let pending = async || fixture.store.report().await.unwrap().n_forgotten_pending;
    fixture.clock.advance(GRACE.checked_sub(Duration::from_secs(1)).unwrap());
    assert_eq!((fixture.service.erase_due().await.unwrap(), pending().await), (0, 1));
    fixture.clock.advance(Duration::from_secs(1));
    assert_eq!((fixture.service.erase_due().await.unwrap(), pending().await), (1, 0));
    assert_eq!(fixture.service.erase_due().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_person_forgets_goes_at_once() {
    let fixture = Fixture::new().await;
    let id = fixture.store("Rex is our dog").await;
    let receipt = forget(&fixture, &owner(), vec![id.to_string()]).await;
    assert_eq!(receipt.restorable_until, None);
    assert_eq!(receipt.erase_by, receipt.forgotten_at);
    assert_eq!(fixture.store.report().await.unwrap().n_forgotten_pending, 0);
}

#[tokio::test(start_paused = true)]
async fn a_filter_forgets_exactly_what_was_shown() {
    let fixture = Fixture::new().await;
    for text in ["the green tea", "Green Tea again", "a teapot", "green paint, tea"] {
        fixture.store(text).await;
    }
    let (token, n_matching) = preview(&fixture, &agent("a"), "green tea").await;
    assert_eq!(n_matching, 2);
    assert_eq!(fixture.n_memories().await, 4, "a preview forgets nothing");
    let receipt = confirmed(&fixture, &agent("a"), "green tea", token).await.unwrap();
    assert_eq!(receipt.ids.len(), 2);
    let left = fixture.service.list(&agent("a"), ListRequest::default()).await.unwrap().memories;
    let mut left: Vec<&str> = left.iter().map(|memory| &*memory.content).collect();
    left.sort_unstable();
    assert_eq!(left, ["a teapot", "green paint, tea"]);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_good_for_its_caller_and_its_set_alone() {
    let fixture = Fixture::new().await;
    fixture.store("a zebra").await;
    let token = confirmation(&fixture, &agent("a"), "zebra").await;
    let refused = async |caller: Caller, query: &str, token: String| {
        let error = confirmed(&fixture, &caller, query, token).await.unwrap_err();
        assert!(matches!(error, ServiceError::Invalid { argument: "confirm", .. }), "{error}");
    };
    refused(agent("b"), "zebra", token.clone()).await;
    refused(owner(), "zebra", token.clone()).await;
    refused(agent("a"), "zebra", "yes".to_owned()).await;
    refused(agent("a"), "nothing of the sort", token.clone()).await;

    // One more matches now: the token is of another set.
    let late = fixture.store("one more zebra").await;
    refused(agent("a"), "zebra", token.clone()).await;
    forget(&fixture, &agent("a"), vec![late.to_string()]).await;

    // The same memory in another version is not what was shown.
    let memories = fixture.service.list(&owner(), ListRequest::default()).await.unwrap().memories;
    let patch = crate::domain::change::Patch { pinned: Some(true), ..Default::default() };
    let reference = memories[0].id.to_string();
    let update = crate::service::update::UpdateRequest { reference, patch, request: None };
    fixture.service.update(&owner(), update).await.unwrap();
    refused(agent("a"), "zebra", token).await;

    let token = confirmation(&fixture, &agent("a"), "zebra").await;
    let receipt = confirmed(&fixture, &agent("a"), "zebra", token).await.unwrap();
    assert_eq!(receipt.ids.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_filter_reaches_only_what_the_caller_may_write() {
    let fixture = Fixture::new().await;
    for namespace in ["user", "agent/a", "agent/b"] {
        fixture.remember(&owner(), draft_in(namespace, "a zebra")).await;
    }
    assert_eq!(preview(&fixture, &agent("a"), "zebra").await.1, 2);
    assert_eq!(preview(&fixture, &reader("a"), "zebra").await.1, 0);
    assert_eq!(preview(&fixture, &owner(), "zebra").await.1, 3);
}

#[tokio::test(start_paused = true)]
async fn a_filter_without_conditions_is_refused() {
    let fixture = Fixture::new().await;
    fixture.remember(&agent("a"), draft("a zebra")).await;
    let request = ForgetRequest::Matching {
        scope: Box::default(),
        query: None,
        confirm: None,
        request: None,
    };
    let error = fixture.service.forget(&agent("a"), request).await.unwrap_err();
    assert!(matches!(error, ServiceError::Invalid { argument: "ids", .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn ids_that_mean_nothing_are_named_beside_those_that_were_forgotten() {
    let fixture = Fixture::new().await;
    let id = fixture.store("a zebra").await;
    let references = vec!["zzzzzzzz".to_owned(), id.to_string()];
    let request = ForgetRequest::Ids { references, request: None };
    match fixture.service.forget(&agent("a"), request).await.unwrap() {
        ForgetAnswer::Receipt { receipt, missing, .. } => {
            assert_eq!((receipt.ids, missing), (vec![id], vec!["zzzzzzzz".to_owned()]));
        }
        ForgetAnswer::Preview { .. } => panic!("a preview of ids"),
    }
}
