//! The power is cut: after any operation, with any of the un-synced sectors on the disk. And the proof
//! that these cuts show a disk that lies.

use super::check::{Progress, Reference};
use super::disk::{Disk, Random, seed};
use super::workload::{STEPS, World};

/// Cuts at each operation.
const CUTS: usize = 2;
/// Of so many cuts one goes on with index files.
const INDEXED_EVERY: usize = 64;

/// A whole run: the operation after which each step was acknowledged.
pub(super) async fn record(disk: &Disk) -> Vec<u64> {
    let world = World::open(disk, None).unwrap();
    let mut acknowledged_at = Vec::new();
    for step in STEPS {
        world.take(step).await.unwrap();
        acknowledged_at.push(disk.n_ops());
    }
    world.close();
    acknowledged_at
}

/// How far the run was when the disk had done `n_ops` operations.
pub(super) fn progress_at(n_ops: u64, acknowledged_at: &[u64]) -> Progress {
    let n_done = acknowledged_at.iter().take_while(|at| **at <= n_ops).count();
    Progress { n_done, n_begun: acknowledged_at.len().min(n_done + 1) }
}

/// Cuts the power of a recorded run everywhere; gives the first loss.
async fn first_loss(
    reference: &Reference,
    disk: &Disk,
    acknowledged_at: &[u64],
    random: &mut Random,
) -> Option<String> {
    let mut cuts = disk.cuts();
    let mut n_cuts = 0;
    for n_ops in 0..=disk.n_ops() {
        cuts.advance(n_ops);
        let allowed = progress_at(n_ops, acknowledged_at).allowed();
        for _ in 0..CUTS {
            let image = cuts.cut(random);
            match reference.state_of(image.clone(), allowed.clone()).await {
                Ok(state) if n_cuts % INDEXED_EVERY == 0 => {
                    let dir = tempfile::tempdir().unwrap();
                    reference.assert_goes_on(image, dir.path(), state).await;
                }
                Ok(_) => {}
                Err(loss) => return Some(format!("cut after operation {n_ops}: {loss}")),
            }
            n_cuts += 1;
        }
    }
    eprintln!("{n_cuts} cuts without a loss");
    None
}

#[tokio::test]
async fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let reference = Reference::run().await;
    let mut random = Random::new(seed("power cuts"));
    let disk = Disk::new(reference.base.clone());
    let acknowledged_at = record(&disk).await;
    assert_eq!(first_loss(&reference, &disk, &acknowledged_at, &mut random).await, None);
}

#[tokio::test]
async fn a_disk_that_skips_one_sync_in_seven_is_caught() {
    let reference = Reference::run().await;
    let mut random = Random::new(seed("a disk that lies"));
    for phase in 0..7 {
        let disk = Disk::lying(reference.base.clone(), phase);
        let acknowledged_at = record(&disk).await;
        let loss = first_loss(&reference, &disk, &acknowledged_at, &mut random).await;
        eprintln!("phase {phase}: {}", loss.expect("nobody noticed"));
    }
}
