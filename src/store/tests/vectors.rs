//! Embedding spaces and vectors.

use super::fixture::{Fixture, at, embedded, model};
use crate::domain::change::{Effect, Patch, VectorsFor};
use crate::domain::embedding::{Embedded, ModelIdentity, Scripts, SpaceId};
use crate::domain::id::MemoryId;
use crate::ports::Store;

async fn pending(f: &Fixture, space: SpaceId) -> Vec<MemoryId> {
    f.snapshot().await.without_vectors(space, usize::MAX).await.unwrap()
}

#[tokio::test]
async fn a_space_is_found_by_the_whole_identity_of_its_model() {
    let mut f = Fixture::new();
    let base = model("m");
    let first = f.store.space(base.clone(), Vec::new(), at(0)).await.unwrap();
    let others = [
        ModelIdentity { name: "n".to_owned(), ..base.clone() },
        ModelIdentity { dimension: 8, ..base.clone() },
        ModelIdentity { tokens_max: 1, ..base.clone() },
        ModelIdentity { pooling: "cls".to_owned(), ..base.clone() },
        ModelIdentity { normalised: false, ..base.clone() },
        ModelIdentity { query_prefix: "q".to_owned(), ..base.clone() },
        ModelIdentity { document_prefix: "d".to_owned(), ..base.clone() },
        ModelIdentity { weights_hash: "x".to_owned(), ..base.clone() },
        ModelIdentity { tokenizer_hash: "x".to_owned(), ..base.clone() },
        ModelIdentity { text_template: "2".to_owned(), ..base.clone() },
        ModelIdentity { scripts: Scripts::LATIN, ..base.clone() },
    ];
    let mut spaces = vec![first];
    for other in others {
        spaces.push(f.store.space(other, Vec::new(), at(1)).await.unwrap());
    }
    spaces.dedup();
    assert_eq!(spaces.len(), 12);
    f.reopen();
    assert_eq!(f.store.space(base, Vec::new(), at(2)).await.unwrap(), first);
    f.finish().await;
}

#[tokio::test]
async fn vectors_are_stored_with_the_memory_and_read_back_bit_for_bit() {
    let mut f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let mut new = f.fact("a");
    new.embedded = Some(embedded(space, 9, 3));
    let answer = f.remember_one(new.clone(), 1).await;
    assert!(answer.embedded);
    let plain = f.store_fact("b", 1).await;
    f.reopen();
    let snapshot = f.snapshot().await;
    let expected = embedded(space, 9, 3);
    let vectors = snapshot.vectors(space, vec![plain, new.id]).await.unwrap();
    assert_eq!(vectors, [vec![], expected.chunks.clone()]);
    assert_eq!(snapshot.scan_vectors(space, None, 9).await.unwrap(), [(new.id, expected)]);
    assert_eq!(pending(&f, space).await, [plain]);
    f.finish().await;
}

#[tokio::test]
async fn a_scan_of_vectors_pages_by_memory() {
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let other = f.store.space(model("n"), Vec::new(), at(0)).await.unwrap();
    let mut ids = Vec::new();
    for n in 0..7 {
        let mut new = f.fact(&n.to_string());
        new.embedded = Some(embedded(if n == 3 { other } else { space }, n, 1 + n % 3));
        ids.push((new.id, new.embedded.clone().unwrap()));
        f.remember_one(new, 1).await;
    }
    ids.retain(|(_, embedded)| embedded.space == space);
    ids.sort_by_key(|(id, _)| *id);
    let snapshot = f.snapshot().await;
    let mut seen = Vec::new();
    loop {
        let after = seen.last().map(|(id, _): &(MemoryId, Embedded)| *id);
        let page = snapshot.scan_vectors(space, after, 2).await.unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 2);
        seen.extend(page);
    }
    assert_eq!(seen, ids);
    f.finish().await;
}

#[tokio::test]
async fn every_memory_waits_for_vectors_in_a_new_space() {
    let f = Fixture::new();
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(f.store_fact(&n.to_string(), 1).await);
    }
    let space = f.store.space(model("m"), Vec::new(), at(2)).await.unwrap();
    ids.push(f.store_fact("later", 3).await);
    ids.sort();
    assert_eq!(pending(&f, space).await, ids);
    let page = f.snapshot().await.without_vectors(space, 2).await.unwrap();
    assert_eq!(page, ids[..2]);
    f.finish().await;
}

#[tokio::test]
async fn late_vectors_are_attached_unless_the_text_has_changed() {
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let (fresh, tagged) = (f.store_fact("a", 1).await, f.store_fact("b", 1).await);
    let (rewritten, gone) = (f.store_fact("c", 1).await, f.store_fact("d", 1).await);
    f.revise(tagged, Patch { pinned: Some(true), ..Patch::default() }, 2).await;
    f.revise(rewritten, Patch { content: Some("e".into()), ..Patch::default() }, 2).await;
    f.forget(&[gone], None, 2).await;
    let late = |id, version| VectorsFor { id, version, embedded: embedded(space, 5, 1) };
    let all = vec![late(fresh, 1), late(tagged, 1), late(rewritten, 1), late(gone, 1)];
    assert_eq!(f.store.attach_vectors(all, at(3)).await.unwrap(), 2);
    assert_eq!(pending(&f, space).await, [rewritten]);
    assert_eq!(f.store.attach_vectors(vec![late(rewritten, 2)], at(4)).await.unwrap(), 1);
    assert_eq!(f.store.attach_vectors(vec![late(rewritten, 3)], at(4)).await.unwrap(), 0);
    let last = f.listener.0.lock().unwrap().last().cloned().unwrap();
    assert_eq!(last.effect, Effect::Embedded { id: rewritten, embedded: embedded(space, 5, 1) });
    assert_eq!(f.log().await.last().unwrap().0, "embed");
    f.finish().await;
}

#[tokio::test]
async fn vectors_that_do_not_fit_their_space_are_not_stored() {
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    for (n, chunks) in [vec![], vec![[1.0, 0.0].into()], vec![[1.0, 0.0, 0.0, f32::NAN].into()]]
        .into_iter()
        .enumerate()
    {
        let mut new = f.fact(&n.to_string());
        new.embedded = Some(Embedded { space, chunks });
        assert!(!f.remember_one(new, 1).await.embedded, "{n}");
    }
    let mut new = f.fact("unknown space");
    new.embedded = Some(embedded(SpaceId(9), 1, 1));
    assert!(!f.remember_one(new, 1).await.embedded);
    assert_eq!(pending(&f, space).await.len(), 4);
    f.finish().await;
}

#[tokio::test]
async fn an_equal_memory_takes_the_vectors_it_waits_for() {
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let id = f.store_fact("a", 1).await;
    let again = |seed| {
        let mut again = f.fact("a");
        again.embedded = Some(embedded(space, seed, 1));
        again
    };
    assert!(f.remember_one(again(1), 2).await.embedded);
    assert_eq!(f.log().await.last().unwrap().0, "embed");
    // It has some now; those of a third one are not needed.
    let sequence = f.snapshot().await.sequence();
    assert!(f.remember_one(again(2), 3).await.embedded);
    assert!(f.remember_one(f.fact("a"), 3).await.embedded);
    assert_eq!(f.snapshot().await.sequence(), sequence);
    let vectors = f.snapshot().await.vectors(space, vec![id]).await.unwrap();
    assert_eq!(vectors, [embedded(space, 1, 1).chunks]);
    f.finish().await;
}
