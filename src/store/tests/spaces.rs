//! Embedding spaces: which model is which, what is kept with a space, and how one is removed.

use super::fixture::{Fixture, at, embedded, model};
use crate::domain::change::{Patch, VectorsFor};
use crate::domain::embedding::{Space, SpaceId, SpaceNote, Vector};
use crate::domain::likeness::Likeness;
use crate::domain::limits::{SCAN_PAGE, STORE_BATCH_MAX};
use crate::ports::Store;
use crate::store::spaces::drop_page;

/// Three vectors that are `turned` away from the axes.
fn probes(turned: f32) -> Vec<Vector> {
    (0..3).map(|axis| (0..4).map(|n| if n == axis { 1.0 } else { turned }).collect()).collect()
}

async fn space(f: &Fixture, id: SpaceId) -> Space {
    f.store.spaces().await.unwrap().into_iter().find(|space| space.id == id).unwrap()
}

#[tokio::test]
async fn other_weights_under_the_same_name_are_another_space() {
    let mut f = Fixture::new();
    let first = f.store.space(model("m"), probes(0.0), at(0)).await.unwrap();
    f.reopen();
    // Another processor gives other last digits.
    assert_eq!(f.store.space(model("m"), probes(0.01), at(1)).await.unwrap(), first);
    let swapped = f.store.space(model("m"), probes(0.1), at(2)).await.unwrap();
    assert_ne!(swapped, first);
    // Each is found again by what it makes of the probes.
    assert_eq!(f.store.space(model("m"), probes(0.0), at(3)).await.unwrap(), first);
    assert_eq!(f.store.space(model("m"), probes(0.1), at(3)).await.unwrap(), swapped);
    f.finish().await;
}

#[tokio::test]
async fn a_space_without_probes_takes_those_of_its_model_and_stays_complete() {
    let mut f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    f.store_fact("b", 1).await;
    let old = f.store.space(model("m"), Vec::new(), at(2)).await.unwrap();
    let vectors = VectorsFor { id, version: 1, embedded: embedded(old, 1, 1) };
    f.store.attach_vectors(vec![vectors], at(3)).await.unwrap();
    assert_eq!(space(&f, old).await.completed_at, None);
    assert_eq!(f.store.space(model("m"), probes(0.0), at(4)).await.unwrap(), old);
    f.reopen();
    assert_eq!(space(&f, old).await.completed_at, Some(at(4)));
    assert_ne!(f.store.space(model("m"), probes(0.1), at(5)).await.unwrap(), old);
    f.finish().await;
}

#[tokio::test]
async fn a_space_is_complete_when_there_is_nothing_to_embed_or_when_it_is_noted() {
    let mut f = Fixture::new();
    let first = f.store.space(model("m"), probes(0.0), at(0)).await.unwrap();
    assert_eq!(space(&f, first).await.completed_at, Some(at(0)));
    f.store_fact("a", 1).await;
    let second = f.store.space(model("n"), probes(0.0), at(2)).await.unwrap();
    let found = space(&f, second).await;
    assert_eq!((found.completed_at, found.n_embedded, found.n_pending), (None, 0, 1));
    let likeness = Likeness { unrelated: 0.75, related: 0.875 };
    f.store.note_space(second, SpaceNote::Likeness(likeness)).await.unwrap();
    f.store.note_space(second, SpaceNote::Completed(at(9))).await.unwrap();
    f.store.note_space(SpaceId(77), SpaceNote::Completed(at(9))).await.unwrap();
    f.reopen();
    let found = space(&f, second).await;
    assert_eq!((found.completed_at, found.likeness), (Some(at(9)), Some(likeness)));
    assert_eq!((found.model, found.created_at), (model("n"), at(2)));
    f.finish().await;
}

#[tokio::test]
async fn a_removal_of_a_space_is_taken_up_again_where_it_stopped() {
    let mut f = Fixture::new();
    let old = f.store.space(model("m"), probes(0.0), at(0)).await.unwrap();
    let mut ids = Vec::new();
    while ids.len() < SCAN_PAGE + 200 {
        let memories: Vec<_> = (0..STORE_BATCH_MAX)
            .map(|n| {
                let mut new = f.fact(&format!("{} {n}", ids.len()));
                new.embedded = (n % 4 > 0).then(|| embedded(old, 1, 2));
                new
            })
            .collect();
        ids.extend(f.remember(memories, 1).await.iter().map(|one| one.id));
    }
    let new = f.store.space(model("n"), probes(0.0), at(2)).await.unwrap();
    let page = f.store.writer.write(move |batch| drop_page(batch, old)).await.unwrap();
    assert_eq!(page, SCAN_PAGE as u64);
    f.reopen();
    // Half removed, it takes nothing, gives nothing up to others and is not found as its model's.
    let late = VectorsFor { id: ids[0], version: 1, embedded: embedded(old, 3, 1) };
    assert_eq!(f.store.attach_vectors(vec![late], at(3)).await.unwrap(), 0);
    f.store_fact("stored meanwhile", 3).await;
    f.revise(ids[600], Patch { content: Some("changed".into()), ..Patch::default() }, 3).await;
    f.forget(&[ids[601]], None, 3).await;
    assert_eq!(f.store.verify().await.unwrap().violations, Vec::<String>::new());
    assert!(space(&f, old).await.is_dropped);
    let again = f.store.space(model("m"), probes(0.0), at(4)).await.unwrap();
    assert!(again > new, "{again:?}");
    f.store.drop_space(again).await.unwrap();
    assert!(f.store.drop_space(old).await.unwrap() > 0);
    assert_eq!(f.store.drop_space(old).await.unwrap(), 0);
    let left: Vec<SpaceId> =
        f.store.spaces().await.unwrap().into_iter().map(|space| space.id).collect();
    assert_eq!(left, [new]);
    assert!(f.snapshot().await.scan_vectors(old, None, 9).await.unwrap().is_empty());
    // A number is never given again: vectors on their way to a space cannot reach another one.
    assert!(f.store.space(model("m"), probes(0.0), at(5)).await.unwrap() > again);
    f.finish().await;
}

#[tokio::test]
async fn an_equal_memory_is_embedded_if_it_is_so_in_the_space_in_use() {
    let f = Fixture::new();
    let used = f.store.space(model("m"), probes(0.0), at(0)).await.unwrap();
    let mut new = f.fact("a");
    new.embedded = Some(embedded(used, 1, 1));
    f.remember_one(new, 1).await;
    assert!(f.remember_one(f.fact("a"), 2).await.embedded);
    f.store.space(model("n"), probes(0.0), at(3)).await.unwrap();
    assert!(!f.remember_one(f.fact("a"), 4).await.embedded);
    f.store.space(model("m"), probes(0.0), at(5)).await.unwrap();
    assert!(f.remember_one(f.fact("a"), 6).await.embedded);
    f.finish().await;
}
