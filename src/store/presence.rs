//! Whether the file that is open still is the one at its path.
//!
//! A file that was removed, or that another one took the place of, goes on as long as it is open:
//! redb writes into it without an error, and all of it is gone when the process ends. So nothing is
//! acknowledged that would not be found at the path afterwards. What is open can still be read, and
//! backed up.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file of an open store.
#[derive(Debug)]
pub(super) struct Presence {
    path: PathBuf,
    /// Device and inode of what was opened. The number is not given again while the file is open.
    opened: (u64, u64),
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
        Ok(Self { path: path.to_owned(), opened, gone: Mutex::new(None) })
    }

    /// Looks at the path: why no write would last, if that is so. A file that is put back is as good
    /// as before.
    pub(super) fn look(&self) -> Option<String> {
        let what = match id(&self.path) {
            Ok(found) if found == self.opened => None,
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
