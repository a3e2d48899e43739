//! Notes of which memories were returned or used, gathered here and written in batches, so that a
//! read never waits for a write. The last seconds of notes may be lost in a crash.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::Service;
use crate::domain::change::UsageNote;
use crate::domain::decay::{Use, reinforced};
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::ACCESS_BUFFER_MAX;
use crate::domain::memory::{Memory, Usage};
use crate::ports::{Measured, StoreError};

/// The notes not yet written.
#[derive(Debug, Default)]
pub(crate) struct UsageBuffer(Mutex<Notes>);

#[derive(Debug, Default)]
struct Notes {
    /// One a memory.
    gathered: HashMap<MemoryId, UsageNote>,
    /// Those that are being written.
    leaving: HashMap<MemoryId, UsageNote>,
}

impl UsageBuffer {
    /// Merges a note; `false` if the buffer is full and it was dropped.
    fn add(&self, note: UsageNote) -> bool {
        let notes = &mut self.notes().gathered;
        if let Some(known) = notes.get_mut(&note.id) {
            known.at = known.at.max(note.at);
            known.recalls += note.recalls;
            known.anchor = note.anchor.or(known.anchor);
            return true;
        }
        let has_room = notes.len() < ACCESS_BUFFER_MAX;
        if has_room {
            notes.insert(note.id, note);
        }
        has_room
    }

    /// The notes to be written; [`UsageBuffer::written`] when that is done.
    fn take(&self) -> Vec<UsageNote> {
        let mut notes = self.notes();
        notes.leaving = std::mem::take(&mut notes.gathered);
        let mut leaving: Vec<UsageNote> = notes.leaving.values().cloned().collect();
        drop(notes);
        leaving.sort_by_key(|note| note.id);
        leaving
    }

    fn written(&self) {
        self.notes().leaving.clear();
    }

    /// The usage of a memory as it will be once its notes are written.
    fn pending(&self, id: MemoryId, stored: Usage) -> Usage {
        let notes = self.notes();
        let of_it = [notes.leaving.get(&id).cloned(), notes.gathered.get(&id).cloned()];
        drop(notes);
        of_it.into_iter().flatten().fold(stored, |usage, note| Usage {
            last_recalled_at: usage.last_recalled_at.max(Some(note.at)),
            recalls: usage.recalls + note.recalls,
            anchor: note.anchor.unwrap_or(usage.anchor),
        })
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Notes that an agent was shown these memories. What the person looks at is not counted.
    pub(super) fn note_returned(
        &self,
        caller: &Caller,
        ids: impl Iterator<Item = MemoryId>,
        now: Timestamp,
    ) {
        if caller.agent().is_some() {
            for id in ids {
                self.note(UsageNote { id, at: now, recalls: 1, anchor: None });
            }
        }
    }

    /// Notes that an agent used this memory, which reinforces it.
    pub(super) fn note_used(&self, caller: &Caller, memory: &Memory, how: Use, now: Timestamp) {
        if caller.agent().is_some() {
            self.reinforce(memory, how, 1, now);
        }
    }

    /// Notes a use that moves the strength of this memory; returns its strength after that.
    pub(super) fn reinforce(&self, memory: &Memory, how: Use, recalls: u64, now: Timestamp) -> f64 {
        let anchor = reinforced(self.strength(&self.with_notes(memory.clone()), now), how, now);
        self.note(UsageNote { id: memory.id, at: now, recalls, anchor: Some(anchor) });
        anchor.value
    }

    /// The memory with the notes of its use that are not written yet.
    pub(super) fn with_notes(&self, mut memory: Memory) -> Memory {
        memory.usage = self.usage.pending(memory.id, memory.usage);
        memory
    }

    /// Writes the gathered notes; returns how many.
    ///
    /// # Errors
    /// Whatever the store says; the notes are then lost, which costs a little ranking and no memory.
    pub async fn flush_usage(&self) -> Result<usize, StoreError> {
        let notes = self.usage.take();
        let n_notes = notes.len();
        if n_notes > 0 {
            let written = self.store.note_usage(notes).await;
            self.usage.written();
            written?;
        }
        Ok(n_notes)
    }

    fn note(&self, note: UsageNote) {
        if !self.usage.add(note) {
            self.meter.record(Measured::UsageNoteDropped);
        }
    }
}
