//! What the text index knows in RAM: the tail of changes that are not committed yet, and the exact
//! length statistics of each namespace.

use std::collections::HashMap;
use std::sync::Arc;

use super::disk::Write;
use super::document::{Document, NamespaceKey};
use super::segments::Segments;
use crate::domain::bm25::{LENGTH_FLOOR, floored};
use crate::domain::id::MemoryId;

/// A change that the searched segments do not show yet. It hides whatever they hold of its memory.
#[derive(Debug)]
pub(super) struct Change {
    /// Place in the order of arrival.
    pub(super) number: u64,
    /// `None`: the memory was removed.
    pub(super) document: Option<Arc<Document>>,
}

/// What is known of each memory of the index, wherever it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) namespace: NamespaceKey,
    /// Length in tokens.
    pub(super) length: u32,
    /// Log entry of its last change.
    pub(super) sequence: u64,
}

/// Number and summed floored lengths of the memories of a namespace.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    n: u64,
    sum: u64,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// What is committed.
    pub(super) segments: Arc<Segments>,
    /// What is not.
    pub(super) tail: HashMap<MemoryId, Change>,
    /// Every memory is in it: no rebuild is due or under way.
    pub(super) complete: bool,
    /// The checksums of the files are still to be verified: what is found is to be compared with the
    /// store.
    pub(super) unproven: bool,
    /// Reading failed: nothing of `segments` is believed until the next rebuild.
    pub(super) damage: Option<String>,
    /// The files cannot be opened again: what is open is searched, nothing more is committed.
    pub(super) is_lost: bool,
    /// Why the last attempt to commit failed.
    pub(super) failure: Option<String>,
    /// Why the files that were found are not used.
    pub(super) unusable: Option<String>,
    /// The store that the index is made from; 0: none yet.
    pub(super) identity: u64,
    /// Highest log entry seen.
    pub(super) sequence: u64,
    /// Log entry up to which the files are.
    pub(super) watermark: u64,
    known: HashMap<MemoryId, Known>,
    lengths: HashMap<NamespaceKey, Lengths>,
    /// What was removed while a rebuild is under way, with the log entry: the rebuild reads an
    /// earlier state of the store and must not bring it back.
    removed: HashMap<MemoryId, u64>,
    n_changes: u64,
}

impl State {
    /// The state of an empty index for the store of this identity.
    pub(super) fn empty(identity: u64) -> Self {
        Self { identity, ..Self::default() }
    }

    /// The state of an index that was found on disk.
    pub(super) fn of(
        segments: Segments,
        known: HashMap<MemoryId, Known>,
        identity: u64,
        watermark: u64,
    ) -> Self {
        let mut state = Self {
            segments: Arc::new(segments),
            complete: true,
            identity,
            sequence: watermark,
            watermark,
            ..Self::default()
        };
        for known in known.values() {
            state.count(*known);
        }
        state.known = known;
        state
    }

    /// Takes a change in, unless a later one of the same memory was taken already.
    pub(super) fn apply(&mut self, id: MemoryId, sequence: u64, document: Option<Arc<Document>>) {
        self.sequence = self.sequence.max(sequence);
        let last = self.known.get(&id).map(|known| known.sequence);
        if last.or_else(|| self.removed.get(&id).copied()).is_some_and(|last| last > sequence) {
            return;
        }
        if let Some(old) = self.known.remove(&id) {
            self.discount(old);
        }
        if let Some(document) = &document {
            let known = Known { namespace: document.namespace, length: document.length, sequence };
            self.known.insert(id, known);
            self.count(known);
            self.removed.remove(&id);
        } else if !self.complete {
            self.removed.insert(id, sequence);
        }
        self.n_changes += 1;
        self.tail.insert(id, Change { number: self.n_changes, document });
    }

    /// Ends a rebuild that read the store as of `sequence`.
    pub(super) fn finish_rebuild(&mut self, sequence: u64) {
        self.sequence = self.sequence.max(sequence);
        self.complete = true;
        self.removed = HashMap::new();
    }

    /// Number of the last change so far.
    pub(super) fn n_changes(&self) -> u64 {
        self.n_changes
    }

    /// The changes up to number `until` are in `segments` now, and the files are at `watermark`.
    pub(super) fn committed(&mut self, segments: Arc<Segments>, until: u64, watermark: u64) {
        self.segments = segments;
        self.tail.retain(|_, change| change.number > until);
        self.watermark = watermark;
        self.failure = None;
    }

    /// Whether everything has to be put again.
    pub(super) fn needs_rebuild(&self) -> bool {
        !self.complete || self.damage.is_some() || self.is_lost
    }

    /// Why everything has to be put again, if it has.
    pub(super) fn rebuild_reason(&self) -> Option<String> {
        let lost = self.failure.as_ref().filter(|_| self.is_lost);
        let reason = self.damage.as_ref().or(lost).or(self.unusable.as_ref());
        let unfinished = || "a rebuild was not finished".to_owned();
        self.needs_rebuild().then(|| reason.cloned().unwrap_or_else(unfinished))
    }

    /// The tail, to be written.
    pub(super) fn writes(&self) -> Vec<Write> {
        let write = |(id, change): (&MemoryId, &Change)| Write {
            id: *id,
            sequence: self.known.get(id).map_or(0, |known| known.sequence),
            document: change.document.clone(),
        };
        self.tail.iter().map(write).collect()
    }

    /// Memories in the index.
    pub(super) fn n_memories(&self) -> usize {
        self.known.len()
    }

    /// Mean floored length over the memories of these namespaces; the floor if there are none.
    pub(super) fn average_length(&self, namespaces: impl Iterator<Item = NamespaceKey>) -> f64 {
        let (mut n, mut sum) = (0, 0);
        for lengths in namespaces.filter_map(|namespace| self.lengths.get(&namespace)) {
            n += lengths.n;
            sum += lengths.sum;
        }
        if n == 0 { f64::from(LENGTH_FLOOR) } else { sum as f64 / n as f64 }
    }

    fn count(&mut self, known: Known) {
        let lengths = self.lengths.entry(known.namespace).or_default();
        lengths.n += 1;
        lengths.sum += u64::from(floored(known.length));
    }

    fn discount(&mut self, known: Known) {
        if let Some(lengths) = self.lengths.get_mut(&known.namespace) {
            lengths.n = lengths.n.saturating_sub(1);
            lengths.sum = lengths.sum.saturating_sub(u64::from(floored(known.length)));
        }
    }
}
