//! Namespaces: who finds what, who may change what, and what a stranger learns (nothing).

use std::sync::Arc;

use super::fixture::{Fixture, agent, contents, draft, draft_in, owner, question, reader};
use crate::domain::change::Patch;
use crate::domain::id::MemoryId;
use crate::service::ServiceError;
use crate::service::forget::ForgetRequest;
use crate::service::list::ListRequest;
use crate::service::recall::RecallRequest;
use crate::service::remember::Draft;
use crate::service::scope::Scope;
use crate::service::update::UpdateRequest;

fn within(namespaces: &[&str]) -> Scope {
    let namespaces = namespaces.iter().map(|text| (*text).to_owned()).collect();
    Scope { namespaces, ..Scope::default() }
}

/// One memory each in the namespaces of two agents, in `user`, and in two shared ones.
async fn populated() -> Fixture {
    let fixture = Fixture::new().await;
    for namespace in ["agent/a", "agent/b", "user", "shared/x", "shared/y"] {
        let text = format!("the password hint of {namespace} is blue");
        fixture.remember(&owner(), draft_in(namespace, &text)).await;
    }
    fixture
}

async fn namespaces_found(fixture: &Fixture, scope: Scope) -> Result<Vec<String>, ServiceError> {
    let request = RecallRequest { scope, ..question("password hint blue") };
    let answer = fixture.service.recall(&agent("a"), request).await?;
    Ok(answer.hits.iter().map(|hit| hit.memory.namespace.to_string()).collect())
}

#[tokio::test(start_paused = true)]
async fn a_caller_finds_what_it_may_read_and_nothing_else() {
    let fixture = populated().await;
    let mut found = namespaces_found(&fixture, Scope::default()).await.unwrap();
    found.sort();
    assert_eq!(found, ["agent/a", "shared/x", "shared/y", "user"]);
    assert_eq!(fixture.recall(&owner(), "password hint blue").await.hits.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_weight_of_a_namespace_orders_what_is_otherwise_equal() {
    let namespaces = ["shared/x", "user", "agent/a"];
    for turn in 0..namespaces.len() {
        let fixture = Fixture::new().await;
        for (at, text) in ["Rex eats", "Rex plays", "Rex sleeps"].iter().enumerate() {
            let namespace = namespaces[(turn + at) % namespaces.len()];
            fixture.remember(&owner(), draft_in(namespace, text)).await;
        }
        let hits = fixture.recall(&agent("a"), "Rex").await.hits;
        let found: Vec<&str> = hits.iter().map(|hit| hit.memory.namespace.as_str()).collect();
        assert_eq!(found, ["agent/a", "user", "shared/x"], "turn {turn}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pattern_means_what_the_caller_may_read_of_it() {
    let fixture = populated().await;
    for (asked, expected) in [
        (&["agent/*"][..], &["agent/a"][..]),
        (&["shared/*"], &["shared/x", "shared/y"]),
        (&["*"], &["agent/a", "shared/x", "shared/y", "user"]),
        (&["user", "shared/y"], &["shared/y", "user"]),
        (&["customer/*"], &[]),
        // Readable, though nothing was ever stored there.
        (&["shared/z"], &[]),
    ] {
        let mut found = namespaces_found(&fixture, within(asked)).await.unwrap();
        found.sort();
        assert_eq!(found, expected, "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_named_and_not_readable_is_an_error_whether_it_exists_or_not() {
    let fixture = populated().await;
    for asked in ["agent/b", "agent/nobody", "customer/1"] {
        let error = namespaces_found(&fixture, within(&["user", asked])).await.unwrap_err();
        assert!(matches!(&error, ServiceError::NotReadable { namespace } if namespace == asked));
        let listing = ListRequest { scope: within(&[asked]), ..ListRequest::default() };
        let error = fixture.service.list(&agent("a"), listing).await.unwrap_err();
        assert!(matches!(error, ServiceError::NotReadable { .. }), "{error}");
    }
    let error = namespaces_found(&fixture, within(&["No Name"])).await.unwrap_err();
    assert!(matches!(error, ServiceError::Invalid { argument: "namespace", .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn words_of_unreadable_memories_do_not_move_scores() {
    let lonely = Fixture::new().await;
    let crowded = Fixture::new().await;
    for n in 0..30 {
        crowded.remember(&agent("b"), draft_in("agent/b", &format!("zebra number {n}"))).await;
    }
    let mut scores = Vec::new();
    for fixture in [&lonely, &crowded] {
        fixture.store("a zebra crossed the road").await;
        fixture.store("the road is long").await;
        let hits = fixture.recall(&agent("a"), "zebra road").await.hits;
        scores.push(hits.iter().map(|hit| hit.score.to_bits()).collect::<Vec<_>>());
    }
    assert_eq!(scores[0], scores[1]);
}

#[tokio::test(start_paused = true)]
async fn nobody_stores_where_it_may_not_write() {
    let fixture = Fixture::new().await;
    for (caller, namespace) in [(agent("a"), "agent/b"), (reader("a"), "user")] {
        let outcome = fixture.try_remember(&caller, draft_in(namespace, "x")).await;
        assert!(matches!(outcome, Err(ServiceError::NotWritable { .. })), "{namespace}");
    }
}

/// Two ids that share the random tail, so that every handle of one is a handle of the other.
fn twins() -> [MemoryId; 2] {
    [MemoryId::new(1_700_000_000_000, 42), MemoryId::new(1_700_000_000_001, 42)]
}

#[tokio::test(start_paused = true)]
async fn a_handle_is_ambiguous_only_among_what_the_caller_may_read() {
    let fixture = Fixture::new().await;
    fixture.lay_out(twins());
    fixture.remember(&owner(), draft_in("agent/a", "of a")).await;
    fixture.remember(&owner(), draft_in("agent/b", "of b")).await;
    let handle = twins()[0].handle();
    for name in ["a", "b"] {
        let got = fixture.get(&agent(name), &handle).await.unwrap();
        assert_eq!(&*got.memory.content, format!("of {name}"));
    }
    match fixture.get(&owner(), &handle).await {
        Err(ServiceError::Ambiguous { mut ids, .. }) => {
            ids.sort();
            assert_eq!(ids, twins());
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_stranger_cannot_tell_a_memory_from_none() {
    let fixture = Fixture::new().await;
    let (hidden, missing) = (MemoryId::new(1, 5), MemoryId::new(1, 1 << 40));
    fixture.lay_out([hidden]);
    fixture.remember(&owner(), draft_in("agent/b", "of b")).await;
    let stranger = agent("a");
    let patch = || Patch { content: Some(Arc::from("mine now")), ..Patch::default() };
    for id in [hidden, missing] {
        for reference in [id.to_string(), id.handle()] {
            let get = fixture.get(&stranger, &reference).await.map(|_| ());
            let update =
                UpdateRequest { reference: reference.clone(), patch: patch(), request: None };
            let update = fixture.service.update(&stranger, update).await.map(|_| ());
            let forget = ForgetRequest::Ids { references: vec![reference.clone()], request: None };
            let forget = fixture.service.forget(&stranger, forget).await.map(|_| ());
            let supersede = Draft { supersedes: Some(reference.clone()), ..draft("newer") };
            let supersede = fixture.try_remember(&stranger, supersede).await.map(|_| ());
            for (what, outcome) in
                [("get", get), ("update", update), ("forget", forget), ("supersedes", supersede)]
            {
                let expected = format!("memory `{reference}` not found");
                assert_eq!(outcome.unwrap_err().to_string(), expected, "{what}");
            }
        }
    }
    assert_eq!(&*fixture.memory(hidden).await.content, "of b");
    assert_eq!(fixture.recall(&owner(), "newer").await.hits.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_reads_without_writing_is_told_so() {
    let fixture = Fixture::new().await;
    let id = fixture.store("Rex is our dog").await.to_string();
    let caller = reader("r");
    assert_eq!(contents(&fixture.recall(&caller, "Rex").await).len(), 1);
    let patch = Patch { pinned: Some(true), ..Patch::default() };
    let update = UpdateRequest { reference: id.clone(), patch, request: None };
    let update = fixture.service.update(&caller, update).await.map(|_| ());
    let forget = ForgetRequest::Ids { references: vec![id.clone()], request: None };
    let forget = fixture.service.forget(&caller, forget).await.map(|_| ());
    for outcome in [update, forget] {
        assert!(matches!(outcome, Err(ServiceError::NotWritable { .. })), "{outcome:?}");
    }
}
