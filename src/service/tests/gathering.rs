//! What a consolidation is given to look at.

use std::sync::Arc;

use super::fixture::{Fixture, agent, draft};
use crate::domain::change::{Change, ChangeSet, NewMemory, Patch};
use crate::domain::consolidation::{
    FINGERPRINT_KEY, Policy, WORD_DIMENSION, WORD_SPREAD, fingerprint,
};
use crate::domain::embedding::Scripts;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::memory::{Kind, Metadata, Origin};
use crate::domain::namespace::Namespace;
use crate::ports::{Clock as _, Store as _};
use crate::service::consolidate::gather::{Gathered, gather};
use crate::service::remember::Draft;

async fn event(fixture: &Fixture, content: &str) -> MemoryId {
    let draft = Draft { kind: Some(Kind::Event), ..draft(content) };
    fixture.remember(&agent("a"), draft).await.id
}

async fn gathered(fixture: &Fixture) -> Gathered {
    let snapshot = fixture.store.snapshot().await.unwrap();
    let view = fixture.service.view().unwrap();
    gather(snapshot.as_ref(), view, &Namespace::user(), fixture.clock.now()).await.unwrap()
}

fn ids(gathered: &Gathered) -> Vec<Vec<MemoryId>> {
    let of = |items: &[crate::domain::consolidation::Item]| {
        let mut ids: Vec<MemoryId> = items.iter().map(|item| item.id).collect();
        ids.sort_unstable();
        ids
    };
    gathered.batches.iter().map(|batch| of(&batch.items)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_must_stay_as_it_is_is_left_out() {
    let fixture = Fixture::new().await;
    let (one, two) =
        (event(&fixture, "a puppy came").await, event(&fixture, "the tea is hot").await);
    for draft in [
        Draft { pinned: true, ..draft("pinned: the dog sleeps") },
        Draft { importance: Some(1.0), ..draft("most important: the dog eats") },
        Draft { kind: Some(Kind::Instruction), ..draft("always feed the dog") },
        Draft { kind: Some(Kind::Profile), ..draft("likes dogs") },
        Draft { namespace: Some("agent/a".to_owned()), ..draft("a dog elsewhere") },
    ] {
        fixture.remember(&agent("a"), draft).await;
    }
    let gathered = gathered(&fixture).await;
    assert_eq!(ids(&gathered), [[one.min(two), one.max(two)]]);
    assert_eq!((gathered.n_without_vector, gathered.is_cut), (0, false));
    let item = &gathered.batches[0].items[0];
    assert_eq!((item.kind, item.version), (Kind::Event, 1));
    let policy = Policy::default();
    assert!((gathered.batches[0].policy(policy).eps - policy.eps).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn summaries_come_with_their_sources_which_come_no_other_way() {
    let fixture = Fixture::new().await;
    let mut sources = Vec::new();
    for n in 0..3 {
        sources.push(event(&fixture, &format!("the dog barked {n} times")).await);
    }
    let loose = event(&fixture, "the car is red").await;
    let before = gathered(&fixture).await.batches.remove(0);
    let items = before.items.iter().filter(|item| sources.contains(&item.id));
    let mark = fingerprint(items);
    let summary = MemoryId::from_u128(77);
    let now = fixture.clock.now();
    let marked = Patch { consolidated_into: Some(Some(summary)), ..Patch::default() };
    let change = |id: &MemoryId| Change { id: *id, version: 1, patch: marked.clone() };
    let set = ChangeSet {
        run: None,
        new: vec![NewMemory {
            id: summary,
            namespace: Namespace::user(),
            content: Arc::from("the dog barked"),
            kind: Kind::Summary,
            tags: Vec::new(),
            metadata: Metadata::from([(FINGERPRINT_KEY.to_owned(), format!("\"{mark}\""))]),
            session: None,
            agent: None,
            occurred_at: None,
            importance: 0.5,
            pinned: false,
            origin: Origin::Consolidated,
            supersedes: None,
            derived_from: sources.clone(),
            contradicts: Vec::new(),
            embedded: None,
            reminders: Vec::new(),
        }],
        changes: sources.iter().map(change).collect(),
        marks: Vec::new(),
        actor: Actor::Owner,
        at: now,
    };
    assert_eq!(fixture.store.apply(set).await.unwrap().conflicts, []);

    let after = gathered(&fixture).await;
    assert_eq!(ids(&after), [[loose]]);
    let [found] = after.batches[0].summaries.as_slice() else { panic!("{after:?}") };
    assert_eq!((found.id, found.kind, found.sources.len()), (summary, Kind::Event, 3));
    // The mark changed the versions of the sources, not what they say.
    assert!(found.sources.iter().all(|source| source.version == 2));
    assert_eq!(found.fingerprint, Some(mark));
    assert_eq!(found.fingerprint, Some(fingerprint(&found.sources)));
    assert_eq!(found.made_by, None);
}

#[tokio::test(start_paused = true)]
async fn what_the_model_does_not_read_is_compared_by_its_words() {
    let fixture = Fixture::with_scripts(Scripts::LATIN).await;
    let english = event(&fixture, "the dog barked at the car").await;
    let chinese = event(&fixture, "小李的猫叫豆包").await;
    let gathered = gathered(&fixture).await;
    assert!(ids(&gathered).contains(&vec![chinese]), "{:?}", ids(&gathered));
    let words = gathered.batches.iter().find(|batch| batch.items[0].id == chinese).unwrap();
    assert_eq!((words.items[0].vector.len(), words.spread), (WORD_DIMENSION, WORD_SPREAD));
    assert!(ids(&gathered).contains(&vec![english]), "{:?}", ids(&gathered));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_compared_while_the_model_has_not_read_everything() {
    let fixture = Fixture::unloaded(Scripts::ALL);
    assert!(fixture.service.view().is_err());
}
