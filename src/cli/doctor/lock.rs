//! Which process has the store.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::daemon::Contact;
use super::{DataPlaces, Finding};

const PART: &str = "store lock";

/// Who holds the lock on the data directory, and whether that is the daemon that answers.
pub(super) fn holder(places: &DataPlaces, contact: &Contact) -> Finding {
    let Some(inode) = fs::metadata(&places.lock).ok().map(|metadata| metadata.ino()) else {
        return Finding::off(PART, "nobody has ever opened this store");
    };
    let Ok(locks) = fs::read_to_string("/proc/locks") else {
        return Finding::unknown(PART, "/proc/locks cannot be read");
    };
    match (locked_by(&locks, inode), contact) {
        (Some(pid), Contact::Answers { .. }) => Finding::ok(PART, format!("held by {}", who(pid))),
        (Some(pid), Contact::Dead { .. } | Contact::Absent { .. }) => {
            let detail = format!("{} has the store, and no socket answers", who(pid));
            let advice = format!(
                "it may be starting or stopping, or listen at another place (`--socket`); a socket \
                 whose file was removed it makes again within seconds, unless systemd holds it \
                 (`systemctl --user restart recalld.socket`); if it hangs, `kill {pid}` and start it \
                 again"
            );
            Finding::down(PART, detail, advice)
        }
        (None, Contact::Answers { .. }) => {
            let dir = places.dir.display();
            Finding::degraded(
                PART,
                format!("a daemon answers, but none has the store in {dir}"),
                "it serves another data directory: compare `recalld check-config` with `recalld status`",
            )
        }
        (None, Contact::Dead { .. } | Contact::Absent { .. }) => {
            Finding::off(PART, "nobody holds it: no daemon runs on this store")
        }
    }
}

/// The process that holds a lock on the file of this number, as `/proc/locks` has it
/// (`1: FLOCK  ADVISORY  WRITE 4321 fe:00:5923742 0 EOF`).
fn locked_by(locks: &str, inode: u64) -> Option<u32> {
    let inode = inode.to_string();
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_lock = words.next()? == "FLOCK";
        let pid = words.nth(2)?.parse().ok()?;
        let file = words.next()?;
        (is_lock && file.rsplit(':').next()? == inode).then_some(pid)
    })
}

fn who(pid: u32) -> String {
    let name = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("comm"));
    match name {
        Ok(name) => format!("{} (process {pid})", name.trim()),
        // Also what a process in another container looks like.
        Err(_) => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_read_from_the_list_of_locks() {
        let locks = "\
1: FLOCK  ADVISORY  WRITE 4321 fe:00:5923742 0 EOF
2: POSIX  ADVISORY  WRITE 17 fe:00:99 0 EOF
2: -> POSIX  ADVISORY  WRITE 18 fe:00:99 0 EOF
3: FLOCK  ADVISORY  READ  22 00:2a:100 0 EOF
";
        for (inode, expected) in [(5_923_742, Some(4_321)), (100, Some(22)), (99, None), (1, None)]
        {
            assert_eq!(locked_by(locks, inode), expected, "{inode}");
        }
    }
}
