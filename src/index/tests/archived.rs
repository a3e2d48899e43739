//! Archived memories: out of the rows in RAM, found by words, and back with their vectors.

use super::*;
use crate::domain::change::{Change, ChangeSet};
use crate::domain::memory::Status;

async fn set_status(world: &World, ids: &[MemoryId], status: Status) {
    let present = world.snapshot().await.memories(ids.to_vec()).await.unwrap();
    let patch = Patch { status: Some(status), ..Patch::default() };
    let change =
        |memory: Memory| Change { id: memory.id, version: memory.version, patch: patch.clone() };
    let set = ChangeSet {
        run: None,
        new: Vec::new(),
        changes: present.into_iter().flatten().map(change).collect(),
        marks: Vec::new(),
        actor: Actor::Job("archive"),
        at: Timestamp::UNIX_EPOCH,
    };
    assert_eq!(world.store.apply(set).await.unwrap().conflicts, []);
}

/// Words find both, meaning finds `hot`, nothing is waited for, and the check finds no difference.
async fn assert_hot(world: &World, both: [MemoryId; 2], hot: &[MemoryId]) {
    assert_eq!(world.by_words("common").await, both.into());
    assert_eq!(world.nearest(&axis(0)).await, hot.iter().copied().collect());
    let report = world.index.report();
    assert_eq!((report.vectors.n_memories, report.n_pending_vectors), (hot.len() as u64, 0));
    assert_eq!(world.check().await, ParityReport { n_compared: 2, ..ParityReport::default() });
}

#[tokio::test]
async fn archived_memories_leave_the_rows_and_come_back_with_their_vectors() {
    let world = World::loaded().await;
    let first = world.remember("common tea", Some(&axis(1))).await;
    let second = world.remember("common coffee", Some(&axis(2))).await;
    set_status(&world, &[first], Status::Archived).await;
    assert_hot(&world, [first, second], &[second]).await;
    set_status(&world, &[first], Status::Active).await;
    assert_hot(&world, [first, second], &[first, second]).await;
    assert!((world.cosine_of(first, &axis(1)).await - 1.0).abs() < 0.01);
}

#[tokio::test]
async fn archived_memories_are_not_loaded() {
    let world = World::new().await;
    let first = world.remember("common tea", Some(&axis(1))).await;
    let second = world.remember("common coffee", Some(&axis(2))).await;
    set_status(&world, &[first], Status::Archived).await;
    world.load().await;
    assert_hot(&world, [first, second], &[second]).await;
    // Storing the same again wakes it.
    assert_eq!(world.remember("common tea", None).await, first);
    assert_hot(&world, [first, second], &[first, second]).await;
}
