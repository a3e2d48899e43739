//! Summaries on demand.

use super::consolidating::{consolidate, records};
use super::fixture::{Fixture, agent, draft, draft_in, owner, reader};
use super::writer::{Manner, Writer};
use crate::domain::id::MemoryId;
use crate::domain::memory::{Kind, Origin};
use crate::service::ServiceError;
use crate::service::forget::ForgetRequest;
use crate::service::remember::Draft;
use crate::service::scope::Scope;
use crate::service::summarize::SummarizeRequest;
use crate::service::summary::{Author, Because};

async fn days(f: &Fixture) -> Vec<MemoryId> {
    let mut ids = Vec::new();
    for day in 1..=4 {
        let draft = Draft {
            occurred_at: Some(format!("2026-05-0{day}T12:00:00Z").parse().unwrap()),
            tags: vec!["trip".to_owned()],
            ..draft(&format!("On day {day} of the trip the ferry to the island was {day} h late"))
        };
        ids.push(f.remember(&agent("a"), draft).await.id);
    }
    ids
}

fn of_the_trip() -> SummarizeRequest {
    let scope = Scope { tags: vec!["trip".to_owned()], ..Scope::default() };
    SummarizeRequest { scope, ..SummarizeRequest::default() }
}

#[tokio::test(start_paused = true)]
async fn a_caller_gets_a_summary_of_a_time_and_nothing_is_stored() {
    let writer = Writer::new(&[Manner::Well]);
    let f = Fixture::of_words(Some(writer)).await;
    let ids = days(&f).await;
    f.store("Something else altogether").await;
    let before = records(&f).await;
    let scope = Scope {
        after: Some("2026-05-02T00:00:00Z".parse().unwrap()),
        before: Some("2026-05-04T00:00:00Z".parse().unwrap()),
        ..Scope::default()
    };
    let request = SummarizeRequest { scope, ..SummarizeRequest::default() };
    let answer = f.service.summarize(&agent("a"), request).await.unwrap();
    let read: Vec<MemoryId> = answer.memories.iter().map(|memory| memory.id).collect();
    assert_eq!((read.as_slice(), answer.has_more, answer.stored), (&ids[1..3], false, None));
    let written = answer.written.unwrap();
    assert!(matches!(written.author, Author::Model { .. }), "{written:?}");
    assert!(written.text.contains("day 3"), "{written:?}");
    assert_eq!(records(&f).await, before);
    let limited = SummarizeRequest { limit: Some(2), ..of_the_trip() };
    let answer = f.service.summarize(&agent("a"), limited).await.unwrap();
    assert!(answer.has_more && answer.memories.iter().map(|one| one.id).eq(ids[2..].to_vec()));
    let nothing = SummarizeRequest {
        scope: Scope { tags: vec!["none".to_owned()], ..Scope::default() },
        store: true,
        limit: None,
    };
    let answer = f.service.summarize(&agent("a"), nothing).await.unwrap();
    assert_eq!((answer.written, answer.stored), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_answer_in_time_is_not_waited_for() {
    let f = Fixture::of_words(Some(Writer::new(&[Manner::Waits]))).await;
    days(&f).await;
    let answer = f.service.summarize(&agent("a"), of_the_trip()).await.unwrap();
    let written = answer.written.unwrap();
    assert!(matches!(written.author, Author::Extract(Because::Away(_))), "{written:?}");
    assert!(written.text.contains("the ferry to the island"), "{written:?}");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_stored_is_nobodys_to_extend_and_goes_with_its_sources() {
    let f = Fixture::of_words(None).await;
    let ids = days(&f).await;
    let request = SummarizeRequest { store: true, ..of_the_trip() };
    let refused = f.service.summarize(&reader("b"), request.clone()).await.unwrap_err();
    assert!(matches!(refused, ServiceError::NotWritable { .. }), "{refused}");
    let answer = f.service.summarize(&agent("a"), request.clone()).await.unwrap();
    let stored = f.memory(answer.stored.unwrap()).await;
    assert_eq!((stored.kind, stored.origin), (Kind::Summary, Origin::Consolidated));
    assert_eq!((&stored.derived_from, stored.tags.as_slice()), (&ids, &["trip".to_owned()][..]));
    assert_eq!(f.memory(ids[0]).await.consolidated_into, None);
    let before = records(&f).await;
    let (_, report) = consolidate(&f).await;
    assert_eq!((report.n_changed, records(&f).await), (0, before), "{report:#?}");
    let forget = ForgetRequest::Ids { references: vec![ids[0].to_string()], request: None };
    f.service.forget(&owner(), forget).await.unwrap();
    assert!(!records(&f).await.contains_key(&stored.id));
    // Memories of two namespaces have no common home.
    let elsewhere = Draft { tags: vec!["trip".to_owned()], ..draft_in("agent/a", "Packed a tent") };
    f.remember(&agent("a"), elsewhere).await;
    let refused = f.service.summarize(&agent("a"), request).await.unwrap_err();
    assert!(matches!(refused, ServiceError::Invalid { argument: "namespace", .. }), "{refused}");
}
