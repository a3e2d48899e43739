//! A second misfortune: storage fails, or the power is cut again, while a store opens after a cut.

use std::io::ErrorKind;

use super::check::{Reference, held};
use super::cutting::{progress_at, record};
use super::disk::{Disk, Fault, Lasting, Random, seed};
use super::dump::{Dump, difference};
use super::workload::{Step, World};

/// Runs that are cut and then opened under faults.
const CUTS: u64 = 6;

/// Opens the store as a start does, as far as that goes.
async fn open(disk: &Disk) {
    if let Ok(world) = World::open(disk, None) {
        // Fails if a fault comes.
        drop(world.take(Step::Begin).await);
        world.close();
    }
}

fn same(after: &Dump, before: &Dump) -> Result<(), String> {
    difference(after, before).map_or(Ok(()), Err)
}

#[tokio::test]
async fn a_fault_or_a_cut_while_reopening_after_a_cut_loses_nothing() {
    let reference = Reference::run().await;
    let mut random = Random::new(seed("faults while reopening"));
    let disk = Disk::new(reference.base.clone());
    let acknowledged_at = record(&disk).await;
    let (first, last) = (acknowledged_at[0], disk.n_ops());
    let mut cuts = disk.cuts();
    let mut n_faults = 0;
    for part in 1..=CUTS {
        // Anywhere in its part of the run.
        let length = usize::try_from((last - first) / CUTS).unwrap();
        let n_ops = first + (last - first) * part / CUTS - random.below(length) as u64;
        cuts.advance(n_ops);
        let image = cuts.cut(&mut random);
        let allowed = progress_at(n_ops, &acknowledged_at).allowed();
        reference.state_of(image.clone(), allowed).await.unwrap();
        // A step of several commits may have been cut between two of them.
        let before = held(image.clone()).await.unwrap();

        for lasting in [Lasting::Once, Lasting::FromThenOn] {
            for at in 1.. {
                let fault = Fault { at, lasting, kind: ErrorKind::Other };
                let disk = Disk::failing(image.clone(), fault);
                open(&disk).await;
                let after = held(disk.image()).await.and_then(|after| same(&after, &before));
                after.unwrap_or_else(|loss| panic!("cut at {n_ops}, fault at {at}: {loss}"));
                if !disk.has_failed() {
                    break;
                }
                n_faults += 1;
            }
        }

        let disk = Disk::new(image);
        open(&disk).await;
        let mut cuts = disk.cuts();
        for at in 0..=disk.n_ops() {
            cuts.advance(at);
            let image = cuts.cut(&mut random);
            let after = held(image).await.and_then(|after| same(&after, &before));
            after.unwrap_or_else(|loss| panic!("cut at {n_ops}, again at {at}: {loss}"));
        }
    }
    eprintln!("{n_faults} operations of reopening failed");
    assert!(n_faults > 20, "{n_faults}");
}
