//! Whether the file that is open still is the one at its path, and as we left it.
//!
//! A file that was removed, or that another one took the place of, goes on as long as it is open:
//! redb writes into it without an error, and all of it is gone when the process ends. One that
//! something else writes into is lost with the next commit. So nothing is acknowledged that would
//! not be found at the path afterwards. What is open can still be read, and backed up.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::open::open_plain;

/// Bytes at the head of a file in which each commit of redb leaves its mark: the header with both
/// commit slots takes 320.
const HEAD_BYTES: usize = 512;

/// What no one else may change: length and head.
type Stamp = (u64, [u8; HEAD_BYTES]);

/// The file of an open store.
#[derive(Debug)]
pub(super) struct Presence {
    path: PathBuf,
    /// Device and inode of what was opened. The number is not given again while the file is open.
    opened: (u64, u64),
    /// How it was left by our last write; `None`: not known.
    left: Mutex<Option<Stamp>>,
    /// Whether it was found otherwise.
    is_altered: AtomicBool,
    /// Why no write would last, as of the last look.
    gone: Mutex<Option<String>>,
}

impl Presence {
    /// Of the file that was just opened at `path`.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let opened = id(path)?;
        let presence = Self {
            path: path.to_owned(),
            opened,
            left: Mutex::new(None),
            is_altered: AtomicBool::new(false),
            gone: Mutex::new(None),
        };
        presence.note_written();
        Ok(presence)
    }

    /// Looks whether something else has written into the file since [`Presence::note_written`]. For
    /// the thread that writes, between two of its transactions.
    pub(super) fn look_inside(&self) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(left), Some(found)) = (&*left, self.stamp()) {
            self.is_altered.store(*left != found, Ordering::Relaxed);
        }
        drop(left);
    }

    /// Notes how the file is after a transaction of our own. For the thread that writes.
    pub(super) fn note_written(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = self.stamp();
    }

    /// `None` if it cannot be read, or is not the file that was opened.
    fn stamp(&self) -> Option<Stamp> {
        let mut file = open_plain(&self.path).ok()?;
        let metadata = file.metadata().ok()?;
        let mut head = [0; HEAD_BYTES];
        let mut n_read = 0;
        while let Some(rest) = head.get_mut(n_read..).filter(|rest| !rest.is_empty()) {
            match file.read(rest).ok()? {
                0 => break,
                n => n_read += n,
            }
        }
        ((metadata.dev(), metadata.ino()) == self.opened).then_some((metadata.len(), head))
    }

    /// Looks at the path: why no write would last, if that is so. A file that is put back is as good
    /// as before.
    pub(super) fn look(&self) -> Option<String> {
        let what = match id(&self.path) {
            Ok(found) if found == self.opened => {
                self.is_altered.load(Ordering::Relaxed).then_some("written into by something else")
            }
            Ok(_) => Some("replaced by another file"),
            Err(error) if is_missing(&error) => Some("removed"),
            // What cannot be asked the next write will tell.
            Err(_) => None,
        };
        let why = what.map(|what| {
            format!(
                "{} was {what} while it is open here. What was stored can still be read: `recalld \
                 backup` saves all of it; then stop the daemon, put that backup in place with \
                 `recalld restore`, and start it again",
                self.path.display()
            )
        });
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*gone, what) {
            (None, Some(what)) => {
                tracing::error!(path = %self.path.display(), what, "the file of the store is gone");
            }
            (Some(_), None) => {
                tracing::info!(path = %self.path.display(), "the file of the store is back");
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        gone.clone_from(&why);
        drop(gone);
        why
    }

    /// Why no write would last, as of the last look.
    pub(super) fn gone(&self) -> Option<String> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Device and inode of what is at `path`.
fn id(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}
