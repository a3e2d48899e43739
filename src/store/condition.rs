//! How the store is: whether its file has failed for good, and whether there is room to grow.
//!
//! redb takes its file for lost after the first error of a read, a write or a sync: from then on it
//! answers only what it has in its cache. So whoever meets such an error notes it here, and the
//! process ends in order and starts again.

use std::sync::OnceLock;

use tokio::sync::watch;

use crate::ports::StoreError;

use super::errors::{Result, is_fatal};
use super::reserve::{Reserve, Room};

/// Shared by the writer and all readers of one store.
#[derive(Debug)]
pub(super) struct Condition {
    fatal: watch::Sender<Option<String>>,
    reserve: OnceLock<Reserve>,
}

impl Condition {
    /// A store that has just been opened.
    pub(super) fn new() -> Self {
        Self { fatal: watch::Sender::new(None), reserve: OnceLock::new() }
    }

    /// Has the room on the disk looked after from now on.
    pub(super) fn keep(&self, reserve: Reserve) {
        let _first = self.reserve.set(reserve).is_ok();
    }

    /// Looks at the room on the disk.
    pub(super) fn room(&self) -> Room {
        self.reserve.get().map_or(Room::Enough, Reserve::room)
    }

    /// Why nothing is stored, or nothing new: the file has failed, or the disk is full.
    pub(super) fn trouble(&self) -> Option<String> {
        self.fatal().or_else(|| self.reserve.get().and_then(Reserve::full))
    }

    /// Notes the error of an outcome if no more can be written after it; the first one stands. On a
    /// full disk the ballast is given up, so that the next start has room to open the file.
    pub(super) fn note<T>(&self, outcome: &Result<T>) {
        let Some(error) = outcome.as_ref().err().filter(|error| is_fatal(error)) else { return };
        let reason =
            if let StoreError::Io(reason) = error { reason.clone() } else { error.to_string() };
        if let (StoreError::Full(_), Some(reserve)) = (error, self.reserve.get()) {
            reserve.release();
        }
        self.fatal.send_if_modified(|fatal| {
            let is_first = fatal.is_none();
            if is_first {
                *fatal = Some(reason);
            }
            is_first
        });
    }

    /// Why the file has failed, if it has.
    pub(super) fn fatal(&self) -> Option<String> {
        self.fatal.borrow().clone()
    }

    /// Changes once, from `None` to what [`Condition::fatal`] gives.
    pub(super) fn watch_fatal(&self) -> watch::Receiver<Option<String>> {
        self.fatal.subscribe()
    }
}
