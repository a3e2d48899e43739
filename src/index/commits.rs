//! How the indexes learn of commits.
//!
//! Lock order: following, catalog, then what the arms have inside. None is held over an await.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::EmbeddedIndex;
use super::catalog::Catalog;
use super::text::TextIndex;
use super::vectors::VectorIndex;
use crate::domain::change::{Committed, Effect};
use crate::domain::id::MemoryId;
use crate::domain::memory::Memory;
use crate::ports::CommitListener;

/// What searches need on their own threads.
pub(super) struct Shared {
    known: RwLock<Known>,
    pub(super) vectors: Arc<VectorIndex>,
    pub(super) text: TextIndex,
    following: Mutex<Following>,
}

/// The catalog, and what commits touch while the store is scanned.
#[derive(Default)]
pub(super) struct Known {
    pub(super) catalog: Catalog,
    /// Newer than whatever a scan that is under way reads.
    pub(super) touched: Option<HashSet<MemoryId>>,
}

/// How the text index takes commits.
pub(super) enum Following {
    /// Not at all: its files are still being opened. The log has them.
    Nothing,
    /// It does not yet know the log up to now. Until it does, changes that arrive are marked with
    /// the log entry up to which it does: were they marked with their own, the index on disk would
    /// claim to know the entries between.
    Replay(Replay),
    /// As they come.
    Commits,
}

/// Where a replay of the log is.
pub(super) struct Replay {
    pub(super) known_to: u64,
    pub(super) touched: HashSet<MemoryId>,
}

impl CommitListener for EmbeddedIndex {
    fn committed(&self, changes: &[Committed]) {
        let mut following = self.shared.following();
        let mut known = self.shared.write();
        for change in changes {
            known.apply(&self.shared.vectors, &change.effect);
        }
        drop(known);
        for change in changes {
            self.shared.tell_text(change, &mut following);
        }
    }
}

impl Known {
    /// Applies a commit to the catalog and the rows.
    fn apply(&mut self, vectors: &VectorIndex, effect: &Effect) {
        match effect {
            Effect::Put { memory, content_changed, embedded } => {
                self.touch(memory.id);
                let slot = self.catalog.put(memory);
                if let Some(entry) = self.catalog.entry(slot) {
                    vectors.put(slot, entry, *content_changed, embedded.as_ref());
                }
            }
            Effect::Embedded { id, embedded } => {
                if let Some((slot, entry)) = self.catalog.find(*id) {
                    vectors.put(slot, entry, false, Some(embedded));
                }
            }
            Effect::Removed { id, .. } => {
                self.touch(*id);
                if let Some((slot, entry)) = self.catalog.remove(*id) {
                    vectors.remove(slot, &entry);
                }
            }
        }
    }

    /// Adds a memory read by a scan, unless a commit has touched it since the scan began.
    pub(super) fn load(&mut self, vectors: &VectorIndex, memory: &Memory) {
        if self.touched.as_ref().is_some_and(|touched| touched.contains(&memory.id)) {
            return;
        }
        let slot = self.catalog.put(memory);
        if let Some(entry) = self.catalog.entry(slot) {
            vectors.put(slot, entry, false, None);
        }
    }

    fn touch(&mut self, id: MemoryId) {
        if let Some(touched) = &mut self.touched {
            touched.insert(id);
        }
    }
}

impl Shared {
    /// Empty but for what the text index has on disk; everything is still to be loaded.
    pub(super) fn new(vectors: Arc<VectorIndex>, text: TextIndex) -> Self {
        let known = Known { touched: Some(HashSet::new()), ..Known::default() };
        Self { known: RwLock::new(known), vectors, text, following: Mutex::new(Following::Nothing) }
    }

    /// Waits until the files of the text index are open, and has it take commits from then on.
    pub(super) fn open_text(&self) {
        self.text.wait_until_open();
        let mut following = self.following();
        if matches!(*following, Following::Nothing) {
            let known_to = self.text.watermark();
            *following = Following::Replay(Replay { known_to, touched: HashSet::new() });
        }
        drop(following);
    }

    /// Applies a commit to the text index.
    fn tell_text(&self, change: &Committed, following: &mut Following) {
        let (id, memory) = match &change.effect {
            // With the same text it need not be put again, nor if the log is still being replayed:
            // then the replay puts it.
            Effect::Put { memory, content_changed: true, .. } => (memory.id, Some(memory)),
            Effect::Removed { id, .. } => (*id, None),
            Effect::Put { .. } | Effect::Embedded { .. } => return,
        };
        let sequence = match following {
            Following::Nothing => return,
            Following::Replay(replay) => {
                replay.touched.insert(id);
                replay.known_to
            }
            Following::Commits => change.sequence,
        };
        match memory {
            Some(memory) => self.text.put(memory, sequence),
            None => self.text.remove(id, sequence),
        }
    }

    pub(super) fn following(&self) -> MutexGuard<'_, Following> {
        self.following.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}
