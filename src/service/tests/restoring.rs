//! The person brings back what an agent forgot, while the grace lasts.

use super::fixture::{Fixture, GRACE, agent, owner};
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::service::ServiceError;
use crate::service::forget::ForgetRequest;

async fn forgotten(fixture: &Fixture, caller: &Caller) -> MemoryId {
    let id = fixture.store("Rex is our dog").await;
    let request = ForgetRequest::Ids { references: vec![id.to_string()], request: None };
    fixture.service.forget(caller, request).await.unwrap();
    id
}

async fn refused(fixture: &Fixture, caller: &Caller, id: MemoryId) {
    let outcome = fixture.service.restore(caller, &id.to_string()).await;
    assert!(matches!(outcome, Err(ServiceError::NotFound { .. })), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_restored_memory_is_found_by_words_at_once_and_by_meaning_after_the_backlog() {
    let fixture = Fixture::new().await;
    let id = forgotten(&fixture, &agent("a")).await;
    let memory = fixture.service.restore(&owner(), &id.to_string()).await.unwrap();
    assert_eq!((memory.id, &*memory.content), (id, "Rex is our dog"));
    assert_eq!(fixture.found("Rex").await, ["Rex is our dog"]);
    fixture.service.backlog_grew().await;
    assert_eq!(fixture.embed_backlog().await.n_embedded, 1);
    assert_eq!(fixture.found("puppy").await, ["Rex is our dog"]);
    fixture.clock.advance(2 * GRACE);
    assert_eq!(fixture.service.erase_due().await.unwrap(), 0);
    refused(&fixture, &owner(), id).await;
}

#[tokio::test(start_paused = true)]
async fn only_the_person_restores() {
    let fixture = Fixture::new().await;
    let id = forgotten(&fixture, &agent("a")).await;
    refused(&fixture, &agent("a"), id).await;
    assert!(fixture.found("Rex").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_comes_back_after_its_grace_or_if_the_person_forgot_it() {
    let fixture = Fixture::new().await;
    let id = forgotten(&fixture, &agent("a")).await;
    fixture.clock.advance(GRACE);
    refused(&fixture, &owner(), id).await;
    let id = forgotten(&fixture, &owner()).await;
    refused(&fixture, &owner(), id).await;
}

#[tokio::test(start_paused = true)]
async fn a_handle_names_no_forgotten_memory() {
    let fixture = Fixture::new().await;
    let id = forgotten(&fixture, &agent("a")).await;
    let error = fixture.service.restore(&owner(), &id.handle()).await.unwrap_err();
    assert!(matches!(error, ServiceError::Invalid { argument: "id", .. }), "{error}");
}
