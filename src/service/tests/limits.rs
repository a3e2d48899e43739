//! Both sides of each limit.

use std::sync::Arc;

use super::fixture::{Fixture, agent, draft, owner, question};
use crate::domain::change::Patch;
use crate::domain::limits::{
    CONTENT_BYTES_MAX, FORGET_IDS_MAX_AGENT, GET_IDS_MAX, LIST_LIMIT_MAX, METADATA_BYTES_MAX,
    METADATA_KEYS_MAX, NAMESPACES_PER_CALL_MAX, QUERY_BYTES_MAX, RECALL_TOKENS_MAX,
    RECALL_TOKENS_MIN, SEARCH_LIMIT_MAX, SESSION_BYTES_MAX, STORE_BATCH_MAX, TAG_BYTES_MAX,
    TAGS_MAX,
};
use crate::domain::memory::Metadata;
use crate::service::forget::ForgetRequest;
use crate::service::get::GetRequest;
use crate::service::list::ListRequest;
use crate::service::recall::RecallRequest;
use crate::service::remember::Draft;
use crate::service::scope::Scope;
use crate::service::update::UpdateRequest;
use crate::service::{Service, ServiceError};

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, ServiceError>, argument: &str) {
    match outcome {
        Err(ServiceError::Invalid { argument: named, .. }) => assert_eq!(named, argument),
        other => panic!("{other:?} instead of an error about `{argument}`"),
    }
}

/// A metadata field of `n_bytes` bytes, key and value.
fn metadata_of(n_bytes: usize) -> Metadata {
    Metadata::from([("k".to_owned(), format!("\"{}\"", "x".repeat(n_bytes - 3)))])
}

fn metadata_of_keys(n_keys: usize) -> Metadata {
    (0..n_keys).map(|n| (format!("key{n}"), "1".to_owned())).collect()
}

fn tags(n_tags: usize) -> Vec<String> {
    (0..n_tags).map(|n| format!("tag{n}")).collect()
}

/// Drafts at the limit and just past it, with the argument that the error names.
fn drafts() -> Vec<(&'static str, Draft, Draft)> {
    let base = || draft("a zebra");
    let content = |n: usize| draft(&"x".repeat(n));
    let tagged = |tags| Draft { tags, ..base() };
    let session = |n| Draft { session: Some("s".repeat(n)), ..base() };
    let metadata = |metadata| Draft { metadata, ..base() };
    let importance = |x| Draft { importance: Some(x), ..base() };
    vec![
        ("content", content(CONTENT_BYTES_MAX), content(CONTENT_BYTES_MAX + 1)),
        ("content", content(1), draft(" \n\t")),
        (
            "content",
            draft(&"é".repeat(CONTENT_BYTES_MAX / 2)),
            draft(&"é".repeat(CONTENT_BYTES_MAX / 2 + 1)),
        ),
        ("tags", tagged(tags(TAGS_MAX)), tagged(tags(TAGS_MAX + 1))),
        (
            "tags",
            tagged(vec!["t".repeat(TAG_BYTES_MAX)]),
            tagged(vec!["t".repeat(TAG_BYTES_MAX + 1)]),
        ),
        ("tags", tagged(vec!["t".to_owned()]), tagged(vec![" ".to_owned()])),
        ("session", session(SESSION_BYTES_MAX), session(SESSION_BYTES_MAX + 1)),
        (
            "metadata",
            metadata(metadata_of(METADATA_BYTES_MAX)),
            metadata(metadata_of(METADATA_BYTES_MAX + 1)),
        ),
        (
            "metadata",
            metadata(metadata_of_keys(METADATA_KEYS_MAX)),
            metadata(metadata_of_keys(METADATA_KEYS_MAX + 1)),
        ),
        ("importance", importance(1.0), importance(1.000_001)),
        ("importance", importance(0.0), importance(-0.000_001)),
        ("importance", importance(0.5), importance(f64::NAN)),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_draft_is_taken_at_each_limit_and_refused_past_it() {
    for (argument, at_limit, past_limit) in drafts() {
        let fixture = Fixture::new().await;
        let outcome = fixture.try_remember(&agent("a"), past_limit).await;
        assert_refused(outcome, argument);
        assert_eq!(fixture.n_memories().await, 0, "{argument}");
        fixture.remember(&agent("a"), at_limit).await;
        assert_eq!(fixture.n_memories().await, 1, "{argument}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_bad_draft_refuses_the_whole_batch() {
    let fixture = Fixture::new().await;
    let drafts = vec![draft("fine"), draft("")];
    let outcome = fixture.service.remember(&agent("a"), drafts, None).await;
    assert_refused(outcome, "content");
    assert_eq!(fixture.n_memories().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_batch_has_one_to_a_hundred_memories() {
    let fixture = Fixture::new().await;
    let batch = |n| (0..n).map(|n| draft(&format!("note {n}"))).collect::<Vec<_>>();
    let store = async |n| fixture.service.remember(&agent("a"), batch(n), None).await;
    assert_refused(store(0).await, "memories");
    assert_refused(store(STORE_BATCH_MAX + 1).await, "memories");
    assert_eq!(store(STORE_BATCH_MAX).await.unwrap().memories.len(), STORE_BATCH_MAX);
}

#[tokio::test(start_paused = true)]
async fn an_update_keeps_to_the_same_limits() {
    let fixture = Fixture::new().await;
    let id = fixture.store("a zebra").await.to_string();
    let update = async |patch: Patch| {
        let request = UpdateRequest { reference: id.clone(), patch, request: None };
        fixture.service.update(&agent("a"), request).await
    };
    let none = Patch::default;
    let content = |n: usize| Patch { content: Some(Arc::from("y".repeat(n))), ..none() };
    assert_refused(update(none()).await, "id");
    assert_refused(update(content(CONTENT_BYTES_MAX + 1)).await, "content");
    update(content(CONTENT_BYTES_MAX)).await.unwrap();
    assert_refused(update(Patch { tags: Some(tags(TAGS_MAX + 1)), ..none() }).await, "tags");
    let metadata = metadata_of(METADATA_BYTES_MAX + 1);
    assert_refused(update(Patch { metadata: Some(metadata), ..none() }).await, "metadata");
    assert_refused(update(Patch { importance: Some(1.1), ..none() }).await, "importance");
}

async fn recall(service: &Service, request: RecallRequest) -> Result<usize, ServiceError> {
    Ok(service.recall(&agent("a"), request).await?.hits.len())
}

#[tokio::test(start_paused = true)]
async fn a_search_refuses_limits_and_budgets_out_of_range() {
    let fixture = Fixture::new().await;
    fixture.store("a zebra").await;
    let limit = |n| RecallRequest { limit: Some(n), ..question("zebra") };
    let budget = |n| RecallRequest { max_tokens: Some(n), ..question("zebra") };
    let service = &fixture.service;
    for (argument, request) in [
        ("limit", limit(0)),
        ("limit", limit(SEARCH_LIMIT_MAX + 1)),
        ("max_tokens", budget(RECALL_TOKENS_MIN - 1)),
        ("max_tokens", budget(RECALL_TOKENS_MAX + 1)),
        ("query", question(" \n")),
    ] {
        assert_refused(recall(service, request).await, argument);
    }
    for request in
        [limit(1), limit(SEARCH_LIMIT_MAX), budget(RECALL_TOKENS_MIN), budget(RECALL_TOKENS_MAX)]
    {
        assert_eq!(recall(service, request).await.unwrap(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_question_is_cut_with_a_warning() {
    let fixture = Fixture::new().await;
    fixture.store("a zebra").await;
    // The cut falls into a character of two bytes.
    let past_limit = format!("zebra {}", "é".repeat(QUERY_BYTES_MAX / 2));
    let past_limit = past_limit.replacen("zebra ", "zebra  ", 1);
    let answer = fixture.recall(&agent("a"), &past_limit).await;
    assert_eq!((answer.hits.len(), answer.warnings.len()), (1, 1));
    let at_limit = format!("zebra {}", "x".repeat(QUERY_BYTES_MAX - 6));
    let answer = fixture.recall(&agent("a"), &at_limit).await;
    assert_eq!((answer.hits.len(), answer.warnings.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_scope_refuses_what_contradicts_itself() {
    let fixture = Fixture::new().await;
    let time = |text: &str| Some(text.parse().unwrap());
    let many = |n| (0..n).map(|n| format!("shared/{n}")).collect();
    let scope = Scope::default;
    let search =
        async |scope| recall(&fixture.service, RecallRequest { scope, ..question("zebra") }).await;
    for (argument, scope) in [
        ("namespace", Scope { namespaces: many(NAMESPACES_PER_CALL_MAX + 1), ..scope() }),
        (
            "before",
            Scope {
                after: time("2024-01-02T00:00:00Z"),
                before: time("2024-01-02T00:00:00Z"),
                ..scope()
            },
        ),
        ("min_importance", Scope { importance_min: Some(1.1), ..scope() }),
        (
            "layer",
            Scope {
                layer: Some(crate::domain::memory::Layer::Episodic),
                kinds: vec![crate::domain::memory::Kind::Fact],
                ..scope()
            },
        ),
    ] {
        assert_refused(search(scope).await, argument);
    }
    let allowed = Scope { namespaces: many(NAMESPACES_PER_CALL_MAX), ..scope() };
    assert_eq!(search(allowed).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn listings_reads_and_forgetting_keep_to_their_counts() {
    let fixture = Fixture::new().await;
    let ids: Vec<String> = {
        let drafts = (0..=GET_IDS_MAX).map(|n| draft(&format!("note {n}"))).collect();
        let kept = fixture.service.remember(&agent("a"), drafts, None).await.unwrap().memories;
        kept.iter().map(|one| one.id.to_string()).collect()
    };
    let list = async |n| {
        let request = ListRequest { limit: Some(n), ..ListRequest::default() };
        fixture.service.list(&agent("a"), request).await
    };
    assert_refused(list(0).await, "limit");
    assert_refused(list(LIST_LIMIT_MAX + 1).await, "limit");
    assert_eq!(list(LIST_LIMIT_MAX).await.unwrap().memories.len(), GET_IDS_MAX + 1);

    let get = async |n: usize| {
        let request = GetRequest { references: ids[..n].to_vec(), ..GetRequest::default() };
        fixture.service.get(&agent("a"), request).await
    };
    assert_refused(get(0).await, "ids");
    assert_refused(get(GET_IDS_MAX + 1).await, "ids");
    assert_eq!(get(GET_IDS_MAX).await.unwrap().memories.len(), GET_IDS_MAX);

    let forget = async |caller, n: usize| {
        let request = ForgetRequest::Ids { references: ids[..n].to_vec(), request: None };
        fixture.service.forget(&caller, request).await
    };
    assert_refused(forget(agent("a"), 0).await, "ids");
    assert_refused(forget(agent("a"), FORGET_IDS_MAX_AGENT + 1).await, "ids");
    forget(agent("a"), FORGET_IDS_MAX_AGENT).await.unwrap();
    forget(owner(), GET_IDS_MAX + 1).await.unwrap();
    assert_eq!(fixture.n_memories().await, 0);
}
