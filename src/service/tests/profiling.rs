//! Profiles: who the user is, kept as a summary is.

use super::consolidating::{consolidate, live, records};
use super::fixture::{Fixture, agent, draft, owner, reader};
use super::writer::{Manner, Writer};
use crate::domain::id::MemoryId;
use crate::domain::job::Outcome;
use crate::domain::limits::PROFILES_SHOWN_MAX;
use crate::domain::memory::{Kind, Status};
use crate::service::forget::ForgetRequest;
use crate::service::remember::Draft;

async fn said(f: &Fixture, kind: Kind, content: &str) -> MemoryId {
    f.remember(&agent("a"), Draft { kind: Some(kind), ..draft(content) }).await.id
}

/// A preference, a standing order and a way of doing things.
async fn three(f: &Fixture) -> Vec<MemoryId> {
    let mut ids = Vec::new();
    for (kind, content) in [
        (Kind::Preference, "Prefers oolong tea in the morning"),
        (Kind::Instruction, "Never push to the main branch on a Friday"),
        (Kind::Procedure, "Releases are cut from a tag and then signed"),
    ] {
        ids.push(said(f, kind, content).await);
        f.clock.advance(std::time::Duration::from_secs(1));
    }
    ids
}

#[tokio::test(start_paused = true)]
async fn a_namespace_has_one_live_profile_that_follows_its_sources() {
    let writer = Writer::new(&[Manner::Well]);
    let f = Fixture::of_words(Some(writer.clone())).await;
    let mut ids = three(&f).await;
    said(&f, Kind::Fact, "The router is in the hall").await;
    let before = records(&f).await;
    let (_, report) = consolidate(&f).await;
    assert_eq!(report.outcome(), Outcome::Done, "{report:#?}");
    let first = live(&f, Kind::Profile).await.remove(0);
    assert_eq!(first.derived_from, ids);
    // Its sources are as they were: a standing order is not ranked lower for it.
    let mut after = records(&f).await;
    after.remove(&first.id);
    assert_eq!(after, before);
    let n_calls = writer.n_calls();
    assert_eq!(consolidate(&f).await.1.n_changed, 0);
    assert_eq!(writer.n_calls(), n_calls);

    ids.push(said(&f, Kind::Preference, "Likes short answers without headings").await);
    f.clock.advance(std::time::Duration::from_secs(1));
    consolidate(&f).await;
    let profiles = live(&f, Kind::Profile).await;
    assert_eq!((profiles.len(), &profiles[0].derived_from), (1, &ids));
    assert_eq!(profiles[0].supersedes, Some(first.id));
    assert_eq!(f.memory(first.id).await.status, Status::Superseded);
    // A source that is replaced is not told any more.
    let replacing = Draft {
        kind: Some(Kind::Preference),
        supersedes: Some(ids[0].to_string()),
        ..draft("Prefers espresso now")
    };
    ids.push(f.remember(&agent("a"), replacing).await.id);
    ids.remove(0);
    consolidate(&f).await;
    let profiles = live(&f, Kind::Profile).await;
    assert_eq!((profiles.len(), &profiles[0].derived_from), (1, &ids));
    assert!(!profiles[0].content.contains("oolong"), "{}", profiles[0].content);
}

#[tokio::test(start_paused = true)]
async fn a_profile_goes_with_a_forgotten_source_and_ends_with_too_few() {
    let f = Fixture::of_words(None).await;
    let ids = three(&f).await;
    consolidate(&f).await;
    let shown = f.service.profiles(&agent("a")).await.unwrap();
    assert_eq!(shown.len(), 1);
    for quoted in ["oolong", "Friday", "signed"] {
        assert!(shown[0].content.contains(quoted), "{}", shown[0].content);
    }
    let request = ForgetRequest::Ids { references: vec![ids[0].to_string()], request: None };
    f.service.forget(&owner(), request).await.unwrap();
    assert_eq!(f.service.profiles(&owner()).await.unwrap(), []);
    consolidate(&f).await;
    assert_eq!(f.service.profiles(&owner()).await.unwrap(), [], "two make none");
    said(&f, Kind::Preference, "Prefers green tea").await;
    consolidate(&f).await;
    let profile = live(&f, Kind::Profile).await.remove(0);
    assert!(!profile.content.contains("oolong"), "{}", profile.content);
    let verdict = crate::domain::change::Patch {
        valid_to: Some(Some(crate::ports::Clock::now(&*f.clock))),
        ..Default::default()
    };
    let update = crate::service::update::UpdateRequest {
        reference: ids[1].to_string(),
        patch: verdict,
        request: None,
    };
    f.service.update(&owner(), update).await.unwrap();
    consolidate(&f).await;
    assert_eq!(live(&f, Kind::Profile).await, []);
    assert_eq!(f.memory(profile.id).await.status, Status::Invalidated);
}

#[tokio::test(start_paused = true)]
async fn what_others_call_a_profile_crowds_none_out() {
    let f = Fixture::of_words(None).await;
    three(&f).await;
    consolidate(&f).await;
    let made = live(&f, Kind::Profile).await;
    for n in 0..=PROFILES_SHOWN_MAX {
        said(&f, Kind::Profile, &format!("What agent number {n} thinks of its user")).await;
    }
    assert_eq!(f.service.profiles(&agent("a")).await.unwrap(), made);
    assert_eq!(consolidate(&f).await.1.n_changed, 0, "it is known for the one that was made");
}

#[tokio::test(start_paused = true)]
async fn callers_are_shown_the_profiles_of_what_they_may_read() {
    let f = Fixture::of_words(None).await;
    three(&f).await;
    for n in 0..3 {
        let draft = Draft {
            kind: Some(Kind::Preference),
            namespace: Some("agent/a".to_owned()),
            ..draft(&format!("Answers agent a in haiku number {n}"))
        };
        f.remember(&agent("a"), draft).await;
    }
    consolidate(&f).await;
    for (caller, n_shown) in [(owner(), 2), (agent("a"), 2), (agent("b"), 1), (reader("c"), 1)] {
        let shown = f.service.profiles(&caller).await.unwrap();
        assert_eq!(shown.len(), n_shown, "{}", caller.actor);
    }
}
