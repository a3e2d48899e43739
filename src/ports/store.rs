//! The port of the one truth: changing it, reading a consistent view of it, and following it.

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::domain::change::{
    Applied, ChangeSet, Committed, Forget, Forgotten, LogEntry, Remember, Remembered, Revise,
    Revised, UsageNote, VectorsFor,
};
use crate::domain::embedding::{Embedded, ModelIdentity, Space, SpaceId, SpaceNote, Vector};
use crate::domain::filter::Filter;
use crate::domain::id::{Handle, MemoryId};
use crate::domain::identity::Actor;
use crate::domain::job::RunId;
use crate::domain::memory::Memory;
use crate::domain::namespace::Namespace;

/// Why a store could not do what it was asked. "Not found" is no error: it is an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk or the file system failed; nothing of the request was written. Fatal to the process.
    #[error("the store cannot write or read its file: {0}")]
    Io(String),
    /// No space left; nothing of the request was written.
    #[error("the disk is full, nothing was written: {0}")]
    Full(String),
    /// Too little space is left to store anything new; nothing was tried. It ends by itself when
    /// there is space again; what does not grow goes on meanwhile.
    #[error("nothing new is stored: {0}")]
    NoRoom(String),
    /// The file is not at its place any more: what is written to it would not outlive the process.
    /// What was stored can still be read and backed up.
    #[error("nothing is stored, since the file of the store is gone: {0}")]
    Gone(String),
    /// Stored bytes do not read as what they should be.
    #[error("stored bytes are damaged: {0}")]
    Damaged(String),
    /// Too much waits already; try again.
    #[error("too many writes are waiting; try again shortly")]
    Busy,
    /// The daemon is stopping.
    #[error("the store is closed")]
    Closed,
    /// `supersedes` names a memory that is not there any more.
    #[error("the memory to be superseded ({0}) is not there")]
    SupersedesMissing(MemoryId),
    /// A link names a memory that is not there, or the one that it stands in.
    #[error("the memory {0} cannot be linked to: it is not there, or it is the same one")]
    BadLink(MemoryId),
    /// Changes came under the id of a run that takes none.
    #[error("the run {0} takes no changes: it has ended, or is a dry one")]
    RunClosed(RunId),
}

/// The one truth: everything acknowledged is durable.
pub trait Store: Send + Sync {
    /// A consistent view of everything committed so far, which never waits for a writer.
    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Snapshot>, StoreError>>;

    /// Stores memories, all or none, durable at the answer. An active memory of the same namespace
    /// with the same dedupe key takes the new one's tags instead; an archived one becomes active; a
    /// superseded one counts as absent. A known request key gives the first answer again.
    fn remember(&self, request: Remember) -> BoxFuture<'_, Result<Vec<Remembered>, StoreError>>;

    /// Changes one memory, durable at the answer; the earlier version is kept.
    fn revise(&self, request: Revise) -> BoxFuture<'_, Result<Revised, StoreError>>;

    /// Carries out changes that belong together, all or none, durable at the answer. A conflict is
    /// an answer too: then nothing was written.
    fn apply(&self, set: ChangeSet) -> BoxFuture<'_, Result<Applied, StoreError>>;

    /// Forgets memories, and withdraws for good what was made of them, durable at the answer.
    fn forget(&self, request: Forget) -> BoxFuture<'_, Result<Forgotten, StoreError>>;

    /// Brings a forgotten memory back, without vectors, while its grace lasts; durable at the answer.
    /// Returns whether it did.
    fn restore(
        &self,
        id: MemoryId,
        actor: Actor,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Erases the content of forgotten memories whose grace has passed at `now`; returns how many.
    fn erase_due(&self, now: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Writes usage notes; no version, no log entry.
    fn note_usage(&self, notes: Vec<UsageNote>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Writes materialised strengths, 0.0..=1.0, for threshold queries: no version, no log entry;
    /// those of memories that are gone are dropped.
    fn note_strengths(
        &self,
        strengths: Vec<(MemoryId, f64)>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Attaches vectors made later; stale ones are dropped. Returns how many were attached.
    fn attach_vectors(
        &self,
        vectors: Vec<VectorsFor>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// The space of `model`, made if it is new, and from now on the one in use. `probes` are what the
    /// model makes of [`PROBES`](crate::domain::embedding::PROBES) (empty: not known): a known space
    /// of the same identity whose probes differ is another one.
    fn space(
        &self,
        model: ModelIdentity,
        probes: Vec<Vector>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<SpaceId, StoreError>>;

    /// All spaces, in order of creation.
    fn spaces(&self) -> BoxFuture<'_, Result<Vec<Space>, StoreError>>;

    /// Notes something about a space; nothing if it is gone.
    fn note_space(&self, id: SpaceId, note: SpaceNote) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes a space with its vectors, in steps of bounded size that may be taken up again later.
    /// Nothing is found in it or added to it from the first step on. Returns how many memories had
    /// a row in it.
    fn drop_space(&self, id: SpaceId) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Drops log entries up to `sequence` that are older than `before`.
    fn trim_log(&self, sequence: u64, before: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Counts and sizes for `status`.
    fn report(&self) -> BoxFuture<'_, Result<StoreReport, StoreError>>;

    /// What keeps it from doing all of its work, as of the last look; asks nothing.
    fn trouble(&self) -> Option<StoreTrouble>;
}

/// Counts and sizes of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreReport {
    /// Where it lies.
    pub location: String,
    /// Memories that can be read.
    pub n_memories: u64,
    /// Memories a namespace.
    pub namespaces: Vec<(Namespace, u64)>,
    /// Reminders, those that are over included.
    pub n_reminders: u64,
    /// Rows of the outbox, those that were sent included.
    pub n_deliveries: u64,
    /// Forgotten memories whose content is still restorable.
    pub n_forgotten_pending: u64,
    /// Size of the file, bytes.
    pub file_bytes: u64,
    /// Last sequence number of the change log.
    pub sequence: u64,
    /// Version of the stored format.
    pub format_version: u32,
    /// Writes waiting now.
    pub n_waiting: usize,
}

/// What keeps a store from doing all of its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreTrouble {
    /// Why, and what helps.
    pub because: String,
    /// Whether nothing at all is stored.
    pub is_down: bool,
}

/// Order and page of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// What is listed.
    pub filter: Filter,
    /// Newest event time first, or oldest first.
    pub newest_first: bool,
    /// Start after this (event time, id) in the order asked for.
    pub after: Option<(Timestamp, MemoryId)>,
    /// At most this many.
    pub limit: usize,
}

/// A consistent view of the store. All reads of one call use one of these.
pub trait Snapshot: Send + Sync {
    /// Sequence number of the last change in it.
    fn sequence(&self) -> u64;

    /// The memories with these ids, in the same order; `None` where there is none (any more).
    fn memories(
        &self,
        ids: Vec<MemoryId>,
    ) -> BoxFuture<'_, Result<Vec<Option<Memory>>, StoreError>>;

    /// Ids whose tail starts with the handle, at most 32.
    fn resolve(&self, handle: Handle) -> BoxFuture<'_, Result<Vec<MemoryId>, StoreError>>;

    /// Memories in order of event time, filter applied, through the index that serves it best.
    fn list(&self, listing: Listing) -> BoxFuture<'_, Result<Vec<Memory>, StoreError>>;

    /// Earlier versions of a memory, oldest first, without the present one.
    fn history(&self, id: MemoryId) -> BoxFuture<'_, Result<Vec<Memory>, StoreError>>;

    /// The newest log entries of one memory, oldest first, forgotten ones included.
    fn log_of(
        &self,
        id: MemoryId,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>>;

    /// Memories that were made of this one, in the order of ids.
    fn products(&self, id: MemoryId) -> BoxFuture<'_, Result<Vec<MemoryId>, StoreError>>;

    /// Memories whose materialised strength is below `strength`, after `after` in the order of ids.
    fn weaker_than(
        &self,
        strength: f64,
        after: Option<MemoryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(f64, MemoryId)>, StoreError>>;

    /// What a [`ChangeSet`] last left under this name.
    fn mark(&self, name: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;

    /// Every namespace that has ever held a memory, sorted.
    fn namespaces(&self) -> BoxFuture<'_, Result<Vec<Namespace>, StoreError>>;

    /// The next memories after `after` in the order of ids, for a pass over all of them.
    fn scan(
        &self,
        after: Option<MemoryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Memory>, StoreError>>;

    /// The vectors in `space` of the next memories after `after` that have some, in id order.
    fn scan_vectors(
        &self,
        space: SpaceId,
        after: Option<MemoryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(MemoryId, Embedded)>, StoreError>>;

    /// The vectors in `space` of these memories, one list of chunks each (empty where none).
    fn vectors(
        &self,
        space: SpaceId,
        ids: Vec<MemoryId>,
    ) -> BoxFuture<'_, Result<Vec<Vec<Vector>>, StoreError>>;

    /// Memories without vectors in `space`, oldest first.
    fn without_vectors(
        &self,
        space: SpaceId,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<MemoryId>, StoreError>>;

    /// Log entries after `sequence`, in order.
    fn log(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>>;

    /// Sequence number of the oldest log entry kept (0: the log is whole).
    fn log_start(&self) -> u64;

    /// A number that no other store has: what is derived from one store is worth nothing beside
    /// another, even if both count the same changes.
    fn identity(&self) -> u64;
}

/// Learns of each commit, in commit order, before it is acknowledged.
///
/// Called on the writer's thread: it must be quick and cannot fail.
pub trait CommitListener: Send + Sync {
    /// These changes are durable.
    fn committed(&self, changes: &[Committed]);
}
