//! How much there is, and how much room is left.

use std::fs;
use std::path::Path;

use super::{DataPlaces, Finding};
use crate::cli::words::bytes;

/// Free space below which the next days are in danger, bytes (guessed: some weeks of memories).
const FREE_BYTES_WANTED: u64 = 256 * 1024 * 1024;
/// Free space below which writes are about to fail, bytes (guessed: a few commits and index merges).
const FREE_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// The store and what lies beside it.
pub(super) fn sizes(places: &DataPlaces) -> Finding {
    let mut sizes = vec![format!("store {}", bytes(size(&places.store)))];
    sizes.extend(
        places
            .beside
            .iter()
            .filter(|(_, path)| path.exists())
            .map(|(name, path)| format!("{name} {}", bytes(size(path)))),
    );
    Finding::ok("sizes", sizes.join(", "))
}

/// Room on the file system of the data directory.
pub(super) fn disk(places: &DataPlaces) -> Option<Finding> {
    // The directory may not be there yet; its room is that of the nearest one that is.
    let dir = places.dir.ancestors().find(|dir| dir.is_dir())?;
    let space = rustix::fs::statvfs(dir).ok()?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    Some(judge(free, size(&places.store), dir))
}

/// A backup or a compaction of the store takes as much again as the store.
fn judge(free: u64, store: u64, dir: &Path) -> Finding {
    let detail = format!("{} free at {}", bytes(free), dir.display());
    let advice = "free some space there, or move the data directory (`store.dir`)";
    if free < FREE_BYTES_MIN {
        Finding::down("disk", detail, advice)
    } else if free < FREE_BYTES_WANTED.max(store) {
        Finding::degraded("disk", detail, advice)
    } else {
        Finding::ok("disk", detail)
    }
}

/// Bytes of a file, or of everything below a directory. Links are not followed.
fn size(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries.flatten().map(|entry| size(&entry.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn little_room_is_told_before_there_is_none() {
        const MIB: u64 = 1024 * 1024;
        for (free, store, expected) in [
            (0, 0, State::Down),
            (FREE_BYTES_MIN - 1, 0, State::Down),
            (FREE_BYTES_MIN, 0, State::Degraded),
            (FREE_BYTES_WANTED - 1, 0, State::Degraded),
            (FREE_BYTES_WANTED, 0, State::Ok),
            (FREE_BYTES_WANTED, FREE_BYTES_WANTED + 1, State::Degraded),
            (800 * MIB, 700 * MIB, State::Ok),
        ] {
            assert_eq!(judge(free, store, Path::new("/")).state, expected, "{free} {store}");
        }
    }

    #[test]
    fn a_directory_is_as_large_as_its_files() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("a"), "12345").unwrap();
        fs::write(dir.path().join("below/b"), "123").unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("link")).unwrap();
        assert_eq!(size(dir.path()), 5 + 3 + 1, "a link counts as its own length");
        assert_eq!(size(&dir.path().join("none")), 0);
    }
}
