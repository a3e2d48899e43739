//! How the store is: whether its file has failed for good or is gone from its place, and whether there
//! is room to grow.
//!
//! redb takes its file for lost after the first error of a read, a write or a sync: from then on it
//! answers only what it has in its cache. So whoever meets such an error notes it here, and the
//! process ends in order and starts again.

use std::sync::OnceLock;

use tokio::sync::watch;

use crate::ports::{StoreError, StoreTrouble};

use super::errors::{Result, is_fatal};
use super::presence::Presence;
use super::reserve::{Reserve, Room};

/// Shared by the writer and all readers of one store.
#[derive(Debug)]
pub(super) struct Condition {
    fatal: watch::Sender<Option<String>>,
    /// `None` for a store that is no file.
    presence: Option<Presence>,
    reserve: OnceLock<Reserve>,
    /// The first damage that was met since the start: what is stored goes on, but a person must look.
    damage: OnceLock<String>,
}

impl Condition {
    /// A store that has just been opened.
    pub(super) fn new(presence: Option<Presence>) -> Self {
        Self {
            fatal: watch::Sender::new(None),
            presence,
            reserve: OnceLock::new(),
            damage: OnceLock::new(),
        }
    }

    /// Has the room on the disk looked after from now on.
    pub(super) fn keep(&self, reserve: Reserve) {
        let _first = self.reserve.set(reserve).is_ok();
    }

    /// Looks at the room on the disk.
    pub(super) fn room(&self) -> Room {
        self.reserve.get().map_or(Room::Enough, Reserve::room)
    }

    /// Looks whether what is written lasts.
    ///
    /// # Errors
    /// [`StoreError::Gone`].
    pub(super) fn present(&self) -> Result<()> {
        self.presence
            .as_ref()
            .and_then(Presence::look)
            .map_or(Ok(()), |why| Err(StoreError::Gone(why)))
    }

    /// The same before a transaction, for the thread that writes: looks into the file, too.
    ///
    /// # Errors
    /// [`StoreError::Gone`].
    pub(super) fn untouched(&self) -> Result<()> {
        if let Some(presence) = &self.presence {
            presence.look_inside();
        }
        self.present()
    }

    /// Notes that the thread that writes has ended a transaction, however it went.
    pub(super) fn note_written(&self) {
        if let Some(presence) = &self.presence {
            presence.note_written();
        }
    }

    /// Why nothing is stored, or nothing new, or something cannot be read: the file has failed or is
    /// gone, the disk is full, or damage was met.
    pub(super) fn trouble(&self) -> Option<StoreTrouble> {
        let gone = || self.presence.as_ref().and_then(Presence::gone);
        if let Some(because) = self.fatal().or_else(gone) {
            return Some(StoreTrouble { because, is_down: true });
        }
        let full = self.reserve.get().and_then(Reserve::full);
        let because = full.or_else(|| self.damage.get().cloned())?;
        Some(StoreTrouble { because, is_down: false })
    }

    /// Notes the error of an outcome if no more can be written after it; the first one stands. On a
    /// full disk the ballast is given up, so that the next start has room to open the file.
    pub(super) fn note<T>(&self, outcome: &Result<T>) {
        if let Err(error @ StoreError::Damaged(_)) = outcome {
            let _first =
                self.damage.set(format!("{error}; `recalld restore` brings a backup")).is_ok();
        }
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
