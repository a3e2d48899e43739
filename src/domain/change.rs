//! Changes that a store carries out whole, and what it answers.
//!
//! Each request here is one atomic, durable step. A request that carries a [`RequestKey`] is
//! carried out once: the same key again gives the first answer, without text.

use std::sync::Arc;

use jiff::Timestamp;

use super::embedding::Embedded;
use super::id::MemoryId;
use super::identity::Actor;
use super::job::RunId;
use super::memory::{Anchor, Kind, Memory, Metadata, Origin, Status};
use super::namespace::Namespace;
use super::reminder::Entry;

/// Idempotency key of a call, scoped to the uid and the agent that sent it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey {
    /// Uid of the peer.
    pub uid: u32,
    /// Who acts, as it stands in the change log.
    pub actor: String,
    /// The caller's key, at most [`super::limits::REQUEST_KEY_BYTES_MAX`] bytes.
    pub key: String,
}

/// A memory to be stored: validated, redacted, not yet deduplicated.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMemory {
    /// The id it gets if it is new.
    pub id: MemoryId,
    /// Where it goes.
    pub namespace: Namespace,
    /// The text.
    pub content: Arc<str>,
    /// What sort of statement it is.
    pub kind: Kind,
    /// Sorted, without repeats.
    pub tags: Vec<String>,
    /// Free fields.
    pub metadata: Metadata,
    /// The conversation it comes from.
    pub session: Option<String>,
    /// The agent that stores it.
    pub agent: Option<String>,
    /// When it happened.
    pub occurred_at: Option<Timestamp>,
    /// 0.0..=1.0.
    pub importance: f64,
    /// Never decays.
    pub pinned: bool,
    /// How it came to be.
    pub origin: Origin,
    /// The memory it replaces, which becomes superseded in the same transaction.
    pub supersedes: Option<MemoryId>,
    /// The memories that it is made of, without repeats. One that is made of memories is always a
    /// new one, and no other is ever taken for equal to it.
    pub derived_from: Vec<MemoryId>,
    /// Memories that say otherwise; they name it too from the same transaction on.
    pub contradicts: Vec<MemoryId>,
    /// Its vectors, if they were ready in time.
    pub embedded: Option<Embedded>,
    /// The reminders that are read in its text. Those of the memory it replaces become these.
    pub reminders: Vec<Entry>,
}

/// Store these memories, all or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Remember {
    /// What to store, in order; none: only ask what the first answer to the key was.
    pub memories: Vec<NewMemory>,
    /// Idempotency key.
    pub request: Option<RequestKey>,
    /// Who acts.
    pub actor: Actor,
    /// Now.
    pub at: Timestamp,
}

/// What became of one memory of a [`Remember`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreStatus {
    /// It is new.
    Stored,
    /// An active memory with the same dedupe key was there; tags were united.
    Deduplicated,
    /// It is new and replaced the memory it named.
    Superseded,
    /// It was stored by an earlier call with the same request key and has been forgotten since.
    Forgotten,
}

impl StoreStatus {
    /// The name that users read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Deduplicated => "deduplicated",
            Self::Superseded => "superseded",
            Self::Forgotten => "forgotten",
        }
    }
}

/// The answer for one memory of a [`Remember`], in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The id under which it is found: its own, or that of the equal memory.
    pub id: MemoryId,
    /// What became of it.
    pub status: StoreStatus,
    /// Whether its vectors are stored too.
    pub embedded: bool,
    /// Names of the fields of the equal memory that changed (`tags`, `status`, `pinned`).
    pub changed: Vec<&'static str>,
    /// The memory that it took the place of: the one it named, or that one's latest successor.
    pub supersedes: Option<MemoryId>,
}

/// Fields to change; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// New text; the old vectors go.
    pub content: Option<Arc<str>>,
    /// New kind.
    pub kind: Option<Kind>,
    /// New tags, sorted, without repeats.
    pub tags: Option<Vec<String>>,
    /// New metadata.
    pub metadata: Option<Metadata>,
    /// New importance; the strength anchor moves with it.
    pub importance: Option<f64>,
    /// New pin.
    pub pinned: Option<bool>,
    /// New event time; `Some(None)` removes it.
    pub occurred_at: Option<Option<Timestamp>>,
    /// End of validity; past it the memory is invalidated, unless `status` says something else;
    /// `Some(None)` makes it valid again.
    pub valid_to: Option<Option<Timestamp>>,
    /// New place in its life.
    pub status: Option<Status>,
    /// The summary that speaks for it; `Some(None)`: none does.
    pub consolidated_into: Option<Option<MemoryId>>,
    /// The memory that replaced it.
    pub superseded_by: Option<Option<MemoryId>>,
    /// The memory that it replaced.
    pub supersedes: Option<Option<MemoryId>>,
    /// All memories that say otherwise; they follow in the same transaction.
    pub contradicts: Option<Vec<MemoryId>>,
    /// All memories that it is made of.
    pub derived_from: Option<Vec<MemoryId>>,
}

/// Change one memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Revise {
    /// Which.
    pub id: MemoryId,
    /// What.
    pub patch: Patch,
    /// Vectors of the new text, if they were ready in time.
    pub embedded: Option<Embedded>,
    /// The reminders that are read in the new text; `None`: it says the same of times.
    pub reminders: Option<Vec<Entry>>,
    /// Idempotency key.
    pub request: Option<RequestKey>,
    /// Who acts.
    pub actor: Actor,
    /// Now.
    pub at: Timestamp,
}

/// The answer to a [`Revise`].
#[derive(Clone, Debug, PartialEq)]
pub enum Revised {
    /// The memory as it is now, and the names of the fields that changed (none: nothing was written).
    Done {
        /// The memory.
        memory: Box<Memory>,
        /// What changed.
        changed: Vec<&'static str>,
    },
    /// There is no such memory.
    Missing,
}

/// One change of a [`ChangeSet`].
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which memory.
    pub id: MemoryId,
    /// The version it was decided on.
    pub version: u64,
    /// What. Its own version grows by one, whatever else the set does to it.
    pub patch: Patch,
}

/// Changes that belong together: carried out all or none.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeSet {
    /// The run that makes them, which must be open and no dry one: they can be undone with it.
    pub run: Option<RunId>,
    /// Memories to store, in order. Links may name them by the ids they have here.
    pub new: Vec<NewMemory>,
    /// Memories to change, after that.
    pub changes: Vec<Change>,
    /// Cursors and the like, by name.
    pub marks: Vec<(String, Vec<u8>)>,
    /// Who acts.
    pub actor: Actor,
    /// Now.
    pub at: Timestamp,
}

/// What came of a [`ChangeSet`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The answer for each new memory, in order.
    pub stored: Vec<Remembered>,
    /// Memories of another version than expected, or named and not there any more. If there are
    /// any, nothing was written.
    pub conflicts: Vec<MemoryId>,
}

/// Forget memories: at the answer no reader can see them.
#[derive(Clone, Debug, PartialEq)]
pub struct Forget {
    /// Which; repeats are ignored.
    pub ids: Vec<MemoryId>,
    /// Until when the person may bring them back; `None`: content goes with this transaction.
    pub restorable_until: Option<Timestamp>,
    /// When its content must be deleted at the latest.
    pub erase_by: Timestamp,
    /// Idempotency key.
    pub request: Option<RequestKey>,
    /// Who acts.
    pub actor: Actor,
    /// Now.
    pub at: Timestamp,
}

/// The receipt of a [`Forget`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// What was forgotten now.
    pub ids: Vec<MemoryId>,
    /// What was made of them, and is gone for good with them.
    pub withdrawn: Vec<MemoryId>,
    /// What was not there.
    pub missing: Vec<MemoryId>,
    /// When.
    pub forgotten_at: Timestamp,
    /// When its content must be deleted at the latest.
    pub erase_by: Timestamp,
    /// Until when the person may bring them back.
    pub restorable_until: Option<Timestamp>,
}

/// One use of a memory. Notes for forgotten memories are dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageNote {
    /// Which.
    pub id: MemoryId,
    /// When it was last returned.
    pub at: Timestamp,
    /// How often it was returned since the last note.
    pub recalls: u64,
    /// The reinforced strength anchor, if it was *used*.
    pub anchor: Option<Anchor>,
}

/// Vectors that were made after their memory was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorsFor {
    /// Which memory.
    pub id: MemoryId,
    /// The version whose text they were made from; vectors of an older text are dropped.
    pub version: u64,
    /// The vectors.
    pub embedded: Embedded,
}

/// What sort of change a log entry tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new memory.
    Store,
    /// Fields changed.
    Update,
    /// Replaced by a newer one.
    Supersede,
    /// Forgotten.
    Forget,
    /// Brought back.
    Restore,
    /// The content of a forgotten memory is gone.
    Erase,
    /// Vectors came later.
    Embed,
    /// It has its earlier record again, because the run that changed it was undone.
    Undo,
    /// Gone for good with what it was made of, or with the run that made it.
    Withdraw,
}

impl Operation {
    /// The name that is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Update => "update",
            Self::Supersede => "supersede",
            Self::Forget => "forget",
            Self::Restore => "restore",
            Self::Erase => "erase",
            Self::Embed => "embed",
            Self::Undo => "undo",
            Self::Withdraw => "withdraw",
        }
    }
}

/// A row of the change log: never content.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// Grows with each change; may have gaps.
    pub sequence: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What, see [`Operation::as_str`].
    pub operation: String,
    /// Which memory.
    pub id: MemoryId,
    /// Its version after the change.
    pub version: u64,
    /// Names of the changed fields.
    pub fields: Vec<String>,
    /// The run that did it, if one did.
    pub run: Option<RunId>,
}

impl LogEntry {
    /// Whether a job did it, and nobody asked for it.
    pub fn is_by_job(&self) -> bool {
        self.actor.starts_with("job/")
    }
}

/// What a commit did to what the indexes hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The memory is now this.
    Put {
        /// The whole memory.
        memory: Arc<Memory>,
        /// Whether its text is new: then vectors made before are stale.
        content_changed: bool,
        /// Vectors stored in the same transaction.
        embedded: Option<Embedded>,
    },
    /// Vectors came later.
    Embedded {
        /// The memory.
        id: MemoryId,
        /// The vectors.
        embedded: Embedded,
    },
    /// The memory is not there any more.
    Removed {
        /// The memory.
        id: MemoryId,
        /// Where it was.
        namespace: Namespace,
    },
}

/// One committed change, in commit order.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// Sequence number of its log entry.
    pub sequence: u64,
    /// What it did.
    pub effect: Effect,
}
