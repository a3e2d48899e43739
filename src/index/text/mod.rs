//! The text arm: tantivy's postings on disk, scored by our own BM25, and a tail in RAM.
//!
//! A change is searchable as soon as it was put: it waits in the tail, which is searched with the
//! same scorer, until a background thread has committed it and the commit can be searched. A commit
//! carries the log entry up to which it is, so after a crash the log is replayed from there. Terms
//! are prefixed by namespace: a search walks the postings of the namespaces searched and nothing
//! else, and takes its statistics from them.
//!
//! The files are never trusted: whatever is damaged, of another version, of another store or half
//! rebuilt is wiped and made again from the store. They are opened in the background. If nobody has
//! touched them since they were sealed (`seal.rs`) they are searched at once, and until every checksum
//! was verified each hit is compared with the store, nothing is written, and a word that is in none of
//! them is looked for again afterwards. Else nothing is read from them before that. When a commit fails
//! (full disk), the tail keeps everything since the last good one, however much, and serves it; the
//! commit is tried again later.

mod committer;
mod disk;
mod document;
mod files;
mod seal;
mod search;
mod segments;
mod state;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use self::committer::{Committer, Shared};
use self::disk::{Disk, guarded};
use self::document::Document;
pub(crate) use self::search::Found;
use self::search::Search;
use self::segments::Segments;
use self::state::State;
use super::catalog::{Catalog, CompiledFilter};
use crate::domain::id::MemoryId;
use crate::domain::memory::Memory;
use crate::domain::namespace::Namespace;
use crate::domain::search::TextQuery;
use crate::ports::{ArmReport, IndexError};

/// The name of this arm in errors.
const ARM: &str = "text";

/// How the text index writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextSettings {
    /// Time from a change to the commit that contains it.
    pub(crate) commit_every: Duration,
    /// Memory of the writer, bytes, raised to the least the library takes.
    pub(crate) buffer_bytes: usize,
}

/// The inverted index over the words of all memories.
#[derive(Debug)]
pub(crate) struct TextIndex {
    dir: PathBuf,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Whether the index of a store lies in `dir`, sound or not.
pub fn is_there(dir: &Path) -> bool {
    dir.join(files::META_FILE).is_file()
}

impl TextIndex {
    /// Begins to open the index in `dir`, a directory of its own; nothing else may be called but
    /// [`Self::report`] before [`Self::wait_until_open`] has returned. Never fails: what cannot be
    /// used is wiped, and [`Self::needs_rebuild`] is true then.
    pub(crate) fn open(dir: &Path, settings: TextSettings) -> Self {
        let shared = Arc::<Shared>::default();
        let committer =
            Committer { shared: Arc::clone(&shared), dir: dir.to_owned(), settings, disk: None };
        let thread =
            std::thread::Builder::new().name("text-index".to_owned()).spawn(|| committer.run());
        let thread = thread.map_err(|error| {
            tracing::error!(%error, "text index thread not started");
            shared.write().failure = Some(format!("start its thread: {error}"));
            shared.end();
        });
        Self { dir: dir.to_owned(), shared, thread: Mutex::new(thread.ok()) }
    }

    /// Blocks until the files were verified and opened.
    pub(crate) fn wait_until_open(&self) {
        self.shared.wait_until_open();
    }

    /// The store that the index was made from; 0: none.
    pub(crate) fn identity(&self) -> u64 {
        self.shared.read().identity
    }

    /// Log entry up to which the files are: what came later is put again after a restart.
    pub(crate) fn watermark(&self) -> u64 {
        self.shared.read().watermark
    }

    /// Whether every memory has to be put again, between [`Self::start_rebuild`] and
    /// [`Self::finish_rebuild`]. Until then searches see what is there.
    pub(crate) fn needs_rebuild(&self) -> bool {
        self.shared.read().needs_rebuild()
    }

    /// Why every memory has to be put again, if it has.
    pub(crate) fn rebuild_reason(&self) -> Option<String> {
        self.shared.read().rebuild_reason()
    }

    /// Empties the index for the store of this identity and waits until its files are gone. The
    /// state of the store that is put afterwards must be read after this has returned; changes may
    /// go on meanwhile.
    pub(crate) fn start_rebuild(&self, identity: u64) {
        self.shared.wipe(identity);
    }

    /// Verifies the checksums that are still to be, and returns when that is done. If one is wrong,
    /// searches fail from then on until a rebuild starts.
    pub(crate) fn prove(&self) {
        self.shared.prove();
    }

    /// Reads the files again and compares their checksums, however they were when they were opened.
    ///
    /// # Errors
    /// [`IndexError::Failed`] if they have changed; searches fail too until a rebuild starts.
    pub(crate) fn verify(&self) -> Result<(), IndexError> {
        let state = self.shared.read();
        let searched = Arc::clone(&state.segments);
        let has_none = searched.is_empty() || state.needs_rebuild() || state.failure.is_some();
        drop(state);
        if has_none {
            return Ok(());
        }
        let verified = Disk::verify(&self.dir);
        if let Err(error) = &verified {
            self.distrust(&searched, error);
        }
        verified
    }

    /// Adds a memory or replaces its words, by the log entry of the change (in a rebuild: the last
    /// one of the state of the store that is read). Searchable at the return. A change older than
    /// what is known of the memory is ignored, a repeated one does no harm; but a replay must have
    /// ended before later changes come, or a crash could lose the rest of it.
    ///
    /// Quick, unless commits lag behind by the whole tail: then it waits for one (1 s at most).
    pub(crate) fn put(&self, memory: &Memory, sequence: u64) {
        self.apply(memory.id, sequence, Some(Arc::new(Document::of(memory))));
    }

    /// Removes a memory; the rest is as for [`Self::put`].
    pub(crate) fn remove(&self, id: MemoryId, sequence: u64) {
        self.apply(id, sequence, None);
    }

    /// Every memory of the state of the store as of `sequence` was put.
    pub(crate) fn finish_rebuild(&self, sequence: u64) {
        let mut state = self.shared.write();
        state.finish_rebuild(sequence);
        let n_tail = state.tail.len();
        drop(state);
        self.shared.changed(n_tail);
    }

    /// The best `k` memories that contain a term of the query, under the filter, in `namespaces`
    /// (those of the filter, by name). Until checksums were verified they are to be compared with the
    /// store.
    ///
    /// # Errors
    /// [`IndexError::Failed`] when reading the files fails, from then on until a rebuild starts.
    pub(crate) fn search(
        &self,
        catalog: &Catalog,
        query: &TextQuery,
        filter: &CompiledFilter,
        namespaces: &[Namespace],
        k: usize,
    ) -> Result<Found, IndexError> {
        self.reading(|state| Search { catalog, query, filter, namespaces, k }.run(state))
    }

    /// Every memory in the index, for the comparison with the store.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub(crate) fn ids(&self) -> Result<HashSet<MemoryId>, IndexError> {
        self.reading(|state| Ok(search::ids(state)))
    }

    /// State, for `status`.
    pub(crate) fn report(&self) -> ArmReport {
        let is_open = self.shared.is_open();
        let state = self.shared.read();
        let problem = state.damage.as_ref().or(state.failure.as_ref());
        let detail = match problem {
            Some(reason) => reason.clone(),
            None if !is_open => "its files are being opened".to_owned(),
            None if state.needs_rebuild() => "being rebuilt".to_owned(),
            None if state.unproven => "ready, its checksums are being verified".to_owned(),
            None => "ready".to_owned(),
        };
        ArmReport {
            ready: problem.is_none() && is_open && !state.needs_rebuild(),
            detail,
            n_memories: state.n_memories() as u64,
            disk_bytes: files::size(&self.dir),
            watermark: state.watermark,
        }
    }

    /// Commits what came so far; returns after the attempt.
    pub(crate) fn flush(&self) {
        self.shared.flush();
    }

    /// Commits what came so far and ends the thread. Searches go on; changes stay in RAM.
    pub(crate) fn close(&self) {
        self.shared.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("text index thread panicked");
        }
    }

    fn apply(&self, id: MemoryId, sequence: u64, document: Option<Arc<Document>>) {
        self.shared.wait_for_room();
        let mut state = self.shared.write();
        state.apply(id, sequence, document);
        let n_tail = state.tail.len();
        drop(state);
        self.shared.changed(n_tail);
    }

    /// Reads the index, and remembers if that fails.
    fn reading<T>(&self, read: impl FnOnce(&State) -> tantivy::Result<T>) -> Result<T, IndexError> {
        let state = self.shared.read();
        if let Some(reason) = &state.damage {
            return Err(IndexError::Failed { arm: ARM, reason: reason.clone() });
        }
        let searched = Arc::clone(&state.segments);
        let outcome = guarded(|| read(&state));
        drop(state);
        if let Err(error) = &outcome {
            self.distrust(&searched, error);
        }
        outcome
    }

    /// Believes nothing of what was searched any more, unless a rebuild has replaced it meanwhile.
    fn distrust(&self, searched: &Arc<Segments>, error: &IndexError) {
        tracing::error!(%error, "text index damaged");
        let mut state = self.shared.write();
        if Arc::ptr_eq(&state.segments, searched) {
            state.damage = Some(error.to_string());
            files::distrust(&self.dir);
        }
        drop(state);
    }
}

impl Drop for TextIndex {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
pub(super) mod tests;
