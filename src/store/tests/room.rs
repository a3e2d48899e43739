//! The ballast beside the store. What a full disk does is shown by the integration tests, which have
//! disks of their own.

use std::os::unix::fs::MetadataExt;

use super::fixture::Fixture;
use crate::ports::Store as _;

const MIB: u64 = 1 << 20;

/// (size, bytes that are really taken, mode) of the ballast.
fn ballast(f: &Fixture) -> Option<(u64, u64, u32)> {
    let file = std::fs::metadata(f.dir.path().join("recalld.ballast")).ok()?;
    Some((file.len(), file.blocks() * 512, file.mode() & 0o777))
}

#[tokio::test]
async fn the_ballast_takes_its_room_and_follows_the_setting() {
    let mut f = Fixture::new();
    assert_eq!(ballast(&f), None);
    for (asked, expected) in [(2 * MIB, 2 * MIB), (3 * MIB, 3 * MIB), (MIB, MIB), (MIB, MIB)] {
        f.reopen();
        f.store.keep_ballast(asked);
        let (size, taken, mode) = ballast(&f).unwrap();
        assert_eq!((size, mode), (expected, 0o600));
        assert!(taken >= expected, "{taken} bytes of {expected} are taken");
        assert_eq!(f.store.trouble(), None);
        f.store_fact(&format!("stored beside {asked} bytes"), 1).await;
    }
    f.reopen();
    f.store.keep_ballast(0);
    assert_eq!(ballast(&f), None);
    f.store_fact("stored without one", 1).await;
    f.finish().await;
}

#[tokio::test]
async fn a_ballast_that_was_half_made_is_made_whole() {
    let mut f = Fixture::new();
    std::fs::write(f.dir.path().join("recalld.ballast"), vec![0; 10_000]).unwrap();
    f.reopen();
    f.store.keep_ballast(MIB);
    let (size, taken, _) = ballast(&f).unwrap();
    assert_eq!(size, MIB);
    assert!(taken >= MIB, "{taken}");
    f.finish().await;
}
