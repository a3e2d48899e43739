//! What leaves the store with an export and comes back with an import: all that is kept of a memory
//! but its vectors, which are made anew.

use jiff::Timestamp;

use super::id::MemoryId;
use super::memory::{Memory, Metadata};
use super::namespace::Namespace;
use super::reminder::Entry;
use super::session::{Session, SessionKey, Turn};

/// One version of a memory, with what its readers do not see.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// The memory as it was. Usage has no versions: that of an earlier one means nothing.
    pub memory: Memory,
    /// The version in which its content became what it is, 1..=version.
    pub content_version: u64,
    /// Fields of a later version of the program: name to JSON text.
    pub later: Metadata,
}

/// A memory with all its versions, or that one is forgotten.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A memory as it is now.
    Memory {
        /// The present version.
        version: Box<Version>,
        /// Fields of its usage of a later version of the program.
        usage_later: Metadata,
    },
    /// An earlier version of the memory before it, oldest first.
    Earlier(Box<Version>),
    /// A memory was forgotten. Its content does not leave the store, restorable or not.
    Forgotten(ForgottenItem),
    /// A session without its turns.
    Session(Box<Session>),
    /// A turn of a session.
    Turn(Box<TurnItem>),
    /// A reminder, as of version 1 and without when there is something to do for it.
    Reminder(Box<Entry>),
}

/// A turn and the session it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnItem {
    /// Where the session lies.
    pub namespace: Namespace,
    /// Its name.
    pub session: String,
    /// When it was begun.
    pub started_at: Timestamp,
    /// Number of its last turn.
    pub last_turn: u64,
    /// The turn.
    pub turn: Turn,
}

/// What may be told of a forgotten memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenItem {
    /// Which.
    pub id: MemoryId,
    /// Where it was.
    pub namespace: Namespace,
    /// Its last version.
    pub version: u64,
    /// When it was forgotten.
    pub forgotten_at: Timestamp,
}

/// How far an export has come: what comes next follows this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportPlace {
    /// Nothing yet.
    #[default]
    Start,
    /// This version of this memory; 0 is the present one, which comes first.
    Memory(MemoryId, u64),
    /// All memories.
    Memories,
    /// This forgotten memory.
    Forgotten(MemoryId),
    /// This turn of this session; 0 is the session itself.
    Session(SessionKey, u64),
    /// This reminder.
    Reminder(MemoryId),
}

/// Items that belong together: a memory with earlier versions, more earlier versions of one that was
/// imported before, a forgotten one, a session, a turn, or a reminder.
pub type Group = Vec<Item>;

/// What an import made of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It was not there and is now.
    Added,
    /// It was there already, and is the same.
    Same,
    /// Another memory (session, reminder) has this id; it stays as it is.
    Different,
    /// It was forgotten here, or is made of what was, and stays forgotten.
    ForgottenHere,
    /// It is forgotten there and not here; it stays.
    RememberedHere,
    /// Earlier versions of a memory that is not here, or a reminder about one.
    WithoutMemory,
    /// There is room for no more of its kind.
    TooMany,
}
