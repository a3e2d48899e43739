//! Owners and modes: memories are private.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

use super::{DataPlaces, Finding};

/// Rights of the group and of everybody else.
const OTHERS: u32 = 0o077;
/// Right to write of the owner.
const OWNER_WRITES: u32 = 0o200;
/// Right to write of the group and of everybody else.
const OTHERS_WRITE: u32 = 0o022;
/// Rights of everybody else.
const EVERYBODY: u32 = 0o007;
/// In such a directory only the owner of a file may replace it.
const STICKY: u32 = 0o1000;

/// The data directory and the store in it.
pub(super) fn data(places: &DataPlaces) -> Vec<Finding> {
    let part = "data directory";
    let dir = &places.dir;
    let directory = match fs::metadata(dir) {
        Ok(metadata) if metadata.is_dir() => private(part, dir, &metadata, 0o700),
        Ok(_) => {
            let detail = format!("{} is no directory", dir.display());
            Finding::down(part, detail, "move it away, or set `store.dir`")
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let detail = format!("{} is not there yet: the first start makes it", dir.display());
            return vec![Finding::off(part, detail)];
        }
        Err(error) => {
            let detail = format!("{}: {error}", dir.display());
            Finding::down(part, detail, "run this as the user whose daemon it is")
        }
    };
    let store = match fs::symlink_metadata(&places.store) {
        Ok(metadata) => private("store file", &places.store, &metadata, 0o600),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let detail = format!("{} is not there", places.store.display());
            Finding::off("store file", detail)
        }
        Err(error) => {
            let detail = format!("{}: {error}", places.store.display());
            Finding::down("store file", detail, "run this as the user whose daemon it is")
        }
    };
    vec![directory, store]
}

/// A file or directory that must be its owner's alone, with mode `wanted`.
fn private(part: &'static str, path: &Path, metadata: &Metadata, wanted: u32) -> Finding {
    let (whole, path, mode) = (path, path.display(), metadata.mode() & 0o7777);
    let (owner, us) = (metadata.uid(), rustix::process::geteuid().as_raw());
    // Root looks after the daemons of others.
    if owner != us && us != 0 {
        let detail = format!("{path} belongs to uid {owner}, not to you (uid {us})");
        return Finding::down(part, detail, "run this as the user whose daemon it is");
    }
    if mode & wanted != wanted {
        let what =
            if mode & OWNER_WRITES == 0 { "it is read-only" } else { "its owner cannot use it" };
        let detail = format!("{path} has mode {mode:04o}: {what}");
        return Finding::down(part, detail, format!("chmod {wanted:o} {path}"));
    }
    if rustix::fs::access(whole, Access::WRITE_OK) == Err(Errno::ROFS) {
        let detail = format!("{path} is on a file system that is read-only");
        return Finding::down(part, detail, "mount it for writing, or set `store.dir`");
    }
    if mode & OTHERS != 0 {
        let detail = format!("{path} has mode {mode:04o}: others may get at your memories");
        return Finding::degraded(part, detail, format!("chmod {wanted:o} {path}"));
    }
    Finding::ok(part, format!("{path}, mode {mode:04o}, uid {owner}"))
}

/// The file of a socket, and the directory that it is in.
pub(super) fn socket(path: &Path) -> Vec<Finding> {
    let part = "socket file";
    let Ok(metadata) = fs::symlink_metadata(path) else { return Vec::new() };
    let mode = metadata.mode() & 0o7777;
    if !metadata.file_type().is_socket() {
        let detail = format!("{} is no socket", path.display());
        return vec![Finding::down(part, detail, "move it away, or set `server.socket`")];
    }
    let file = if mode & EVERYBODY != 0 {
        let detail = format!("{} has mode {mode:04o}: everybody may connect", path.display());
        Finding::degraded(part, detail, format!("chmod 600 {}", path.display()))
    } else {
        let owner = metadata.uid();
        Finding::ok(part, format!("{}, mode {mode:04o}, uid {owner}", path.display()))
    };
    let directory = path.parent().and_then(|parent| {
        let mode = fs::metadata(parent).ok()?.mode() & 0o7777;
        let may_be_replaced = mode & OTHERS_WRITE != 0 && mode & STICKY == 0;
        may_be_replaced.then(|| {
            let shown = parent.display();
            let detail = format!("{shown} has mode {mode:04o}: others may replace the socket");
            Finding::degraded("socket directory", detail, format!("chmod 700 {shown}"))
        })
    });
    [Some(file), directory].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::State;
    use super::*;

    fn places(dir: &Path) -> DataPlaces {
        DataPlaces {
            dir: dir.to_owned(),
            store: dir.join("store"),
            lock: dir.join("lock"),
            beside: Vec::new(),
        }
    }

    #[test]
    fn what_others_may_read_and_what_nobody_may_is_told_with_the_remedy() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("data");
        let states = |dir: &Path| -> Vec<State> {
            data(&places(dir)).iter().map(|finding| finding.state).collect()
        };
        assert_eq!(states(&dir), [State::Off], "nothing is there yet");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("store"), "").unwrap();
        for (of_dir, of_store, expected) in [
            (0o700, 0o600, [State::Ok, State::Ok]),
            (0o750, 0o600, [State::Degraded, State::Ok]),
            (0o700, 0o604, [State::Ok, State::Degraded]),
            (0o500, 0o600, [State::Down, State::Ok]),
            (0o700, 0o400, [State::Ok, State::Down]),
        ] {
            fs::set_permissions(dir.join("store"), fs::Permissions::from_mode(of_store)).unwrap();
            fs::set_permissions(&dir, fs::Permissions::from_mode(of_dir)).unwrap();
            assert_eq!(states(&dir), expected, "{of_dir:o} {of_store:o}");
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o500)).unwrap();
        let detail = data(&places(&dir)).swap_remove(0).detail;
        assert!(detail.contains("read-only"), "{detail}");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        let advice = data(&places(&dir)).swap_remove(0).advice.unwrap();
        assert_eq!(advice, format!("chmod 700 {}", dir.display()));
    }
}
