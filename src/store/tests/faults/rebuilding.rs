//! The store fails while the indexes are filled from it: they say so, and after the restart that
//! follows they are whole.

use std::io::ErrorKind;

use super::check::Reference;
use super::disk::{Disk, Lasting};
use super::workload::{STEPS, Step, World};
use crate::ports::Candidates as _;
use crate::store::StoreSettings;

/// Of so many operations one fails: filling the indexes takes longer than the rest.
const EVERY: usize = 6;

/// Whatever is read is read from the disk.
const UNCACHED: StoreSettings = StoreSettings { cache_bytes: 0 };

#[tokio::test]
async fn a_fault_while_the_indexes_are_filled_is_told_and_mended_by_the_next_start() {
    let reference = Reference::run().await;
    let mut n_faults = 0;
    for n_more in (0..).step_by(EVERY) {
        let lasting = if n_more % 2 == 0 { Lasting::Once } else { Lasting::FromThenOn };
        let disk = Disk::new(reference.whole.clone());
        let dir = tempfile::tempdir().unwrap();
        let world = World::open_with(UNCACHED, &disk, Some(dir.path())).unwrap();
        disk.fail_after(n_more, lasting, ErrorKind::Other);
        let outcome = world.take(Step::Begin).await;
        let (has_failed, fatal) = (disk.has_failed(), world.store.fatal());
        let report = world.index.as_ref().unwrap().report();
        if let Err(error) = &outcome {
            assert!(fatal.is_some(), "the process is not told to end after: {error}");
            let arms = [report.text, report.vectors];
            assert!(arms.iter().any(|arm| !arm.ready && !arm.detail.is_empty()), "{arms:?}");
        } else {
            assert!(!has_failed || fatal.is_some(), "the fault at {n_more} was passed over");
        }
        world.close();
        let state = STEPS.len();
        let left = reference.state_of(disk.image(), state..=state).await;
        left.unwrap_or_else(|loss| panic!("fault at {n_more}: {loss}"));
        reference.assert_goes_on(disk.image(), dir.path(), state).await;
        if !has_failed {
            break;
        }
        n_faults += 1;
    }
    eprintln!("{n_faults} operations failed");
    assert!(n_faults > 5, "{n_faults}");
}
