//! The traits through which the core reaches the outside, and their contracts.
//!
//! They speak in whole operations of the domain ("store these memories", "the best k by words under
//! this filter"), never in keys, tables or pages, so that an embedded and a server-based adapter can
//! stand behind them and pass one list of tests.

mod clusters;
mod ledger;
mod llm;
mod maintenance;
mod reminders;
mod sessions;
mod sink;
mod store;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::domain::embedding::{ModelIdentity, SpaceId, Vector};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::search::{TextCandidates, TextQuery, VectorCandidates};
use crate::domain::transfer::{ExportPlace, Group, ImportOutcome, Item};

pub use clusters::{ClusterError, Clusterer};
pub use ledger::Ledger;
pub use llm::{LanguageModel, LlmError, LlmReport, Marks, Scorer, Summarizer};
pub use maintenance::{Asked, JobReport, Maintenance, NotRun};
pub use reminders::Reminders;
pub use sessions::Sessions;
pub use sink::Sink;
pub use store::{CommitListener, Listing, Snapshot, Store, StoreError, StoreReport, StoreTrouble};

/// Real time, and the only place it comes from.
pub trait Clock: Send + Sync {
    /// Wall clock, for what is stored and shown.
    fn now(&self) -> Timestamp;
    /// Monotonic time since some start, for durations and deadlines.
    fn monotonic(&self) -> Duration;
}

/// Source of new ids.
pub trait Ids: Send + Sync {
    /// An id that was not given before, made at `now`.
    fn next_id(&self, now: Timestamp) -> MemoryId;
}

/// What is counted. One event, one place that counts it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// A search was answered.
    Recall {
        /// Hits it returned; 0: it abstained.
        n_hits: usize,
        /// How long it took.
        elapsed: Duration,
        /// Whether an arm was missing.
        degraded: bool,
    },
    /// Memories were stored.
    Store {
        /// New ones.
        n_stored: usize,
        /// Those that were there already.
        n_deduplicated: usize,
        /// Those that had something redacted.
        n_redacted: usize,
        /// How long it took.
        elapsed: Duration,
    },
    /// A memory was changed.
    Update,
    /// Memories were forgotten.
    Forget {
        /// How many.
        n_forgotten: usize,
    },
    /// A usage note was dropped because too many waited.
    UsageNoteDropped,
    /// A tool answered with an error.
    ToolError,
}

/// Counters, for `status`.
pub trait Meter: Send + Sync {
    /// Counts an event.
    fn record(&self, event: Measured);
    /// All counters by name.
    fn snapshot(&self) -> Vec<(String, u64)>;
}

/// Copies of the store for the day on which it is lost.
///
/// A backup is one file that needs no other, consistent as of one moment, and proven before it has
/// its name. It holds nothing that was forgotten at that moment, however restorable.
pub trait Backups: Send + Sync {
    /// Makes a backup while the store goes on: at `to`, which must not exist, or in the usual place
    /// under a name that tells its time. If it fails nothing is left behind.
    fn make(
        &self,
        to: Option<PathBuf>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Backup, BackupError>>;

    /// The backups of this store that are known, oldest first: those in the usual place, and those
    /// made elsewhere.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Backup>, BackupError>>;

    /// Removes all but the newest `keep` backups of this store that were made in the usual place
    /// under a name that tells their time; returns how many.
    fn prune(&self, keep: usize) -> BoxFuture<'_, Result<usize, BackupError>>;

    /// The usual place.
    fn place(&self) -> &Path;
}

/// Everything out and back in.
pub trait Transfer: Send + Sync {
    /// What follows `after`, up to about `bytes_max` bytes of text and at least one item while there
    /// is one. Each page is as of its own moment.
    fn export(
        &self,
        after: ExportPlace,
        bytes_max: usize,
    ) -> BoxFuture<'_, Result<ExportPage, StoreError>>;

    /// Takes in each group that is not there yet, under its own ids, all or none of them, durable at
    /// the answer; nothing that is there changes. With `is_dry` nothing is written.
    fn import(
        &self,
        groups: Vec<Group>,
        actor: Actor,
        now: Timestamp,
        is_dry: bool,
    ) -> BoxFuture<'_, Result<Vec<ImportOutcome>, StoreError>>;
}

/// A page of an export.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportPage {
    /// Memories in the order of their ids, each with its earlier versions behind it; then what is
    /// forgotten.
    pub items: Vec<Item>,
    /// Where the next page begins; `None`: this was the last.
    pub next: Option<ExportPlace>,
}

/// A backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Its file.
    pub path: PathBuf,
    /// The moment as of which it is.
    pub created_at: Timestamp,
    /// Size, bytes.
    pub n_bytes: u64,
    /// Memories in it.
    pub n_memories: u64,
    /// Memories that it knows as forgotten.
    pub n_forgotten: u64,
    /// Sequence number of the last change in it.
    pub sequence: u64,
}

/// Why a backup could not be made. The store itself is untouched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackupError {
    /// One at a time.
    #[error("a backup is being made already; try again when it is done")]
    Running,
    /// Something of that name is there, and nothing is ever overwritten.
    #[error("{} exists already: name another file", .0.display())]
    Exists(PathBuf),
    /// The file system refused.
    #[error("cannot {verb} {}: {reason}", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        reason: String,
    },
    /// What was written is not sound, so the store is not either.
    #[error("the backup is not sound, so the store may be damaged: {0}")]
    Unsound(String),
    /// The store failed under it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an arm of the search could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// It is still being loaded or built.
    #[error("the {0} index is not ready yet")]
    NotReady(&'static str),
    /// Its files failed; a rebuild is under way.
    #[error("the {arm} index failed: {reason}")]
    Failed {
        /// Which arm.
        arm: &'static str,
        /// Why.
        reason: String,
    },
    /// The store failed under it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Candidate search. The filter is applied inside; a hit may still be stale and is checked against
/// the record by the caller.
pub trait Candidates: Send + Sync {
    /// The best `k` by words under `filter`, and the number of memories that match a word.
    /// Everything acknowledged is found, whether or not the index has committed it, unless the
    /// answer says that it is incomplete.
    fn by_text<'a>(
        &'a self,
        snapshot: &'a Arc<dyn Snapshot>,
        query: TextQuery,
        filter: &'a Filter,
        k: usize,
    ) -> BoxFuture<'a, Result<TextCandidates, IndexError>>;

    /// The best `k` by cosine under `filter`, and the cosines of the memories in `also`.
    fn by_vector<'a>(
        &'a self,
        snapshot: &'a Arc<dyn Snapshot>,
        space: SpaceId,
        vector: Vector,
        filter: &'a Filter,
        k: usize,
        also: Vec<MemoryId>,
    ) -> BoxFuture<'a, Result<VectorCandidates, IndexError>>;

    /// State of both arms, for `status`.
    fn report(&self) -> IndexReport;

    /// Compares the indexes with the store and repairs what differs.
    fn check<'a>(
        &'a self,
        snapshot: &'a Arc<dyn Snapshot>,
    ) -> BoxFuture<'a, Result<ParityReport, IndexError>>;
}

/// State of one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmReport {
    /// Whether it answers.
    pub ready: bool,
    /// What it is doing, or why it is down.
    pub detail: String,
    /// Memories it knows.
    pub n_memories: u64,
    /// Bytes on disk (0: none).
    pub disk_bytes: u64,
    /// Log entry up to which its disk state is.
    pub watermark: u64,
}

/// State of the indexes.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexReport {
    /// Vectors.
    pub vectors: ArmReport,
    /// Words.
    pub text: ArmReport,
    /// Namespaces served by a graph instead of a scan.
    pub n_graphs: usize,
    /// Readable memories without a vector.
    pub n_pending_vectors: u64,
    /// Times that the text index was built anew since the start.
    pub text_rebuilds: Rebuilds,
}

/// How often something derived was made anew from the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilds {
    /// How often.
    pub n: u64,
    /// When and why the last time.
    pub last: Option<(Timestamp, String)>,
}

/// What a comparison of index and store found. All numbers but the first are 0 in a sound daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParityReport {
    /// Memories compared.
    pub n_compared: u64,
    /// Missing in an index, added.
    pub n_missing: u64,
    /// In an index but not in the store, removed.
    pub n_surplus: u64,
    /// Different attributes, corrected.
    pub n_different: u64,
}

/// Why a text could not be embedded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// Still loading.
    #[error("the embedding model is still loading")]
    Loading,
    /// It cannot be used at all.
    #[error("the embedding model is unavailable: {0}")]
    Unavailable(String),
    /// Too many texts wait; try again.
    #[error("too many texts are waiting for the embedding model")]
    Busy,
    /// This text failed.
    #[error("the embedding model failed: {0}")]
    Failed(String),
}

/// A text embedding model. Queries go before documents; nothing blocks the caller's thread.
pub trait Embedder: Send + Sync {
    /// What its vectors can be compared with; `None` until it is known (an endpoint that never
    /// answered, a model whose files are not read yet).
    fn identity(&self) -> Option<ModelIdentity>;

    /// One list of chunk vectors a text, in order. Each text is chunked by
    /// [`crate::domain::chunk::chunks`], so that a chunk number leads back to its place.
    fn embed_documents(
        &self,
        texts: Vec<Arc<str>>,
    ) -> BoxFuture<'_, Result<Vec<Vec<Vector>>, EmbedError>>;

    /// The same for texts that nobody waits for; an embedder with a queue puts them behind all others.
    fn embed_backlog(
        &self,
        texts: Vec<Arc<str>>,
    ) -> BoxFuture<'_, Result<Vec<Vec<Vector>>, EmbedError>> {
        self.embed_documents(texts)
    }

    /// The vector of a query.
    fn embed_query(&self, text: Arc<str>) -> BoxFuture<'_, Result<Vector, EmbedError>>;

    /// State, for `status`: ready or not, and why.
    fn report(&self) -> EmbedderReport;
}

/// State of an embedder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedderReport {
    /// Whether it answers.
    pub ready: bool,
    /// What it is doing, or why it is down.
    pub detail: String,
    /// Texts waiting.
    pub n_waiting: usize,
}

/// State of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// The file it is written to beside standard error, if there is one.
    pub file: Option<String>,
    /// Since when and why that file is not written, if it is not.
    pub trouble: Option<(Timestamp, String)>,
    /// Lines dropped because the queue to the file was full.
    pub n_dropped: u64,
    /// Lines that could not be written to the file.
    pub n_failed: u64,
    /// Warnings and errors told as "repeated" instead of one by one.
    pub n_folded: u64,
    /// The last error: when, and which event.
    pub last_error: Option<(Timestamp, String)>,
}
