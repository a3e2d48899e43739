//! A newer memory takes the place of an older one, which stays reachable for who asks.

use super::fixture::{Fixture, agent, contents, draft, owner, question};
use crate::domain::change::StoreStatus;
use crate::domain::id::MemoryId;
use crate::domain::memory::Status;
use crate::service::list::ListRequest;
use crate::service::recall::RecallRequest;
use crate::service::remember::Draft;
use crate::service::scope::Scope;

async fn supersede(fixture: &Fixture, old: MemoryId, content: &str) -> MemoryId {
    let draft = Draft { supersedes: Some(old.handle()), ..draft(content) };
    let kept = fixture.remember(&agent("a"), draft).await;
    assert_eq!(kept.status, StoreStatus::Superseded);
    kept.id
}

#[tokio::test(start_paused = true)]
async fn a_superseded_memory_is_hidden_unless_it_is_asked_for() {
    let fixture = Fixture::new().await;
    let old = fixture.store("the dog is called Rex").await;
    supersede(&fixture, old, "the dog is called Luna").await;
    for query in ["dog", "puppy"] {
        assert_eq!(fixture.found(query).await, ["the dog is called Luna"], "{query}");
        let scope = Scope { include_superseded: true, ..Scope::default() };
        let request = RecallRequest { scope, ..question(query) };
        let mut all = contents(&fixture.service.recall(&agent("a"), request).await.unwrap());
        all.sort();
        assert_eq!(all, ["the dog is called Luna", "the dog is called Rex"], "{query}");
    }
    let listed = fixture.service.list(&agent("a"), ListRequest::default()).await.unwrap();
    assert_eq!(listed.memories.len(), 1);
    let scope = Scope { statuses: vec![Status::Superseded], ..Scope::default() };
    let request = ListRequest { scope, ..ListRequest::default() };
    let listed = fixture.service.list(&agent("a"), request).await.unwrap();
    assert_eq!(listed.memories.iter().map(|m| m.id).collect::<Vec<_>>(), [old]);
}

#[tokio::test(start_paused = true)]
async fn the_chain_is_followed_in_both_directions() {
    let fixture = Fixture::new().await;
    let first = fixture.store("the dog is called Rex").await;
    let second = supersede(&fixture, first, "the dog is called Luna").await;
    let third = supersede(&fixture, second, "the dog is called Max").await;
    let chain = [
        (first, None, Some(second)),
        (second, Some(first), Some(third)),
        (third, Some(second), None),
    ];
    for (id, supersedes, superseded_by) in chain {
        let memory = fixture.get(&agent("a"), &id.to_string()).await.unwrap().memory;
        assert_eq!((memory.supersedes, memory.superseded_by), (supersedes, superseded_by));
        let is_last = superseded_by.is_none();
        assert_eq!(memory.status, if is_last { Status::Active } else { Status::Superseded });
        assert_eq!(memory.valid_to.is_none(), is_last);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_may_be_said_again() {
    let fixture = Fixture::new().await;
    let cats = fixture.store("we like cats").await;
    let dogs = supersede(&fixture, cats, "we like dogs").await;
    let again = supersede(&fixture, dogs, "we like cats").await;
    assert_ne!(again, cats);
    assert_eq!(fixture.found("like").await, ["we like cats"]);
    assert_eq!(fixture.memory(cats).await.status, Status::Superseded);
    assert!(fixture.recall(&owner(), "dogs").await.hits.iter().all(|hit| hit.memory.id != dogs));
}
