//! Each operation of the run fails, once and from then on: nothing acknowledged is lost, nothing
//! forgotten is back, nothing is half there.

use std::io::ErrorKind;

use tempfile::TempDir;

use super::check::Reference;
use super::disk::{Disk, Fault, Lasting};
use super::workload::World;
use crate::domain::embedding::SpaceId;
use crate::domain::memory::Status;
use crate::ports::Store as _;

/// Of so many runs one has indexes and goes on with their files afterwards.
const INDEXED_EVERY: u64 = 16;

async fn fail_each_operation(lasting: Lasting) {
    let reference = Reference::run().await;
    let mut n_runs = 0;
    for at in 1.. {
        // Every third is a full disk.
        let kind = if at % 3 == 0 { ErrorKind::StorageFull } else { ErrorKind::Other };
        let disk = Disk::failing(reference.base.clone(), Fault { at, lasting, kind });
        let dir = (at % INDEXED_EVERY == 0).then(|| tempfile::tempdir().unwrap());
        let dir = dir.as_ref().map(TempDir::path);
        let allowed = match World::open(&disk, dir) {
            Ok(world) => {
                let progress = reference.run_until_it_fails(&world).await;
                world.close();
                progress.allowed()
            }
            Err(_) => 0..=0,
        };
        let state = reference.state_of(disk.image(), allowed.clone()).await;
        let state = state.unwrap_or_else(|loss| panic!("operation {at}, {lasting:?}: {loss}"));
        if let Some(dir) = dir {
            reference.assert_goes_on(disk.image(), dir, state).await;
        }
        if !disk.has_failed() {
            break;
        }
        n_runs += 1;
    }
    eprintln!("{n_runs} operations failed, {lasting:?}");
    assert!(n_runs > 100, "the run is too small to show anything: {n_runs} operations");
}

#[tokio::test]
async fn each_operation_may_fail_once() {
    fail_each_operation(Lasting::Once).await;
}

#[tokio::test]
async fn each_operation_may_fail_for_good() {
    fail_each_operation(Lasting::FromThenOn).await;
}

/// All comparisons are with this run, so it must be right itself.
#[tokio::test]
async fn the_run_without_a_fault_leaves_what_its_steps_say() {
    let reference = Reference::run().await;
    let disk = Disk::new(reference.whole.clone());
    let world = World::open(&disk, None).unwrap();
    let snapshot = world.store.snapshot().await.unwrap();
    let space = SpaceId(0);
    let mut found = Vec::new();
    for memory in snapshot.scan(None, 99).await.unwrap() {
        let vectors = snapshot.vectors(space, vec![memory.id]).await.unwrap();
        let text: String = memory.content.chars().take(35).collect();
        let use_and_vectors = (memory.usage.recalls, vectors[0].len());
        let tags = memory.tags.join(" ");
        found.push((text, tags, memory.status, memory.version, use_and_vectors));
    }
    let expected = [
        ("The ferry leaves the harbour at ten", "ferry", Status::Invalidated, 3, (1, 1)),
        ("Mara drinks oolong tea", "drinks", Status::Active, 3, (0, 0)),
        ("The crane repairs end in April", "", Status::Superseded, 2, (0, 1)),
        ("The crane repairs end in May", "", Status::Active, 1, (0, 1)),
        ("lighthouse lamp oil lighthouse lamp", "", Status::Active, 1, (0, 1)),
        ("TogetherFirst of three that come to", "together", Status::Active, 5, (0, 0)),
        ("TogetherSecond of three that come t", "together", Status::Active, 5, (0, 0)),
    ];
    let expected = expected.map(|(text, tags, status, version, use_and_vectors)| {
        (text.to_owned(), tags.to_owned(), status, version, use_and_vectors)
    });
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let mut expected = expected.to_vec();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found, expected);
    assert!(snapshot.log_start() > 0, "the log was not trimmed");
    assert_eq!(world.store.report().await.unwrap().n_forgotten_pending, 0);
    drop(snapshot);
    world.close();
}
