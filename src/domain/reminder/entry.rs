//! Reminders as they are kept, with what they say, and the rows of the outbox.

use jiff::Timestamp;

use super::delivery::{Delivery, DeliveryKey, DeliveryState};
use super::lifecycle::{Kind, Reminder, Skipped, Standing, Telling};
use super::pacing::SinkState;
use crate::domain::change::RequestKey;
use crate::domain::id::MemoryId;
use crate::domain::memory::named_values;
use crate::domain::namespace::Namespace;

named_values! {
    /// How a reminder came to be.
    Source {
        /// Somebody set it.
        Stated = "stated",
        /// The text of a memory asked for it.
        Asked = "asked",
        /// The text of a memory names a time.
        Found = "found",
        /// Memories show that something happens again and again.
        Pattern = "pattern",
    }
}

named_values! {
    /// What a listing of reminders is of.
    View {
        /// What was told and not acknowledged.
        Due = "due",
        /// What will be told, the next first; what is snoozed and what is paused too.
        Upcoming = "upcoming",
        /// What somebody has to accept first.
        Proposed = "proposed",
        /// What is over.
        Past = "past",
        /// What has messages that were given up or may not have arrived.
        Dead = "dead",
        /// All of them.
        All = "all",
    }
}

/// A reminder as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// A `UUIDv7` of its own, with handles as memories have them.
    pub id: MemoryId,
    /// Grows with each change, from 1.
    pub version: u64,
    /// Who may read it.
    pub namespace: Namespace,
    /// What it says, redacted, 1 to [`REMINDER_TEXT_BYTES_MAX`] bytes.
    ///
    /// [`REMINDER_TEXT_BYTES_MAX`]: crate::domain::limits::REMINDER_TEXT_BYTES_MAX
    pub text: String,
    /// How it came to be.
    pub source: Source,
    /// The memory that it is about, if it is about one: forgotten with it.
    pub memory: Option<MemoryId>,
    /// The memories that show a pattern; it is forgotten with any of them.
    pub evidence: Vec<MemoryId>,
    /// What a pattern is known by, so that one that was declined is not suggested again.
    pub topic: Option<String>,
    /// Sinks by name; none: those of the configuration.
    pub sinks: Vec<String>,
    /// Who set it, as the change log names them.
    pub actor: String,
    /// When it was set.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When a person was told of the proposal.
    pub proposed_at: Option<Timestamp>,
    /// The last occurrences that were not told, until a digest has said so.
    pub skipped: Option<SkippedNote>,
    /// When the engine has something to do for it ([`Reminder::wakes_at`]).
    pub wakes_at: Option<Timestamp>,
    /// When it is due, and how far it is.
    pub reminder: Reminder,
}

/// Occurrences that were not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedNote {
    /// How many.
    pub n: u64,
    /// When the last of them was due.
    pub last_due_at: Timestamp,
    /// Why.
    pub why: Skipped,
    /// When they were skipped.
    pub at: Timestamp,
}

/// A delivery with what it tells: one row of the outbox. It holds no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Grows with each change, from 1.
    pub version: u64,
    /// How far it came.
    pub delivery: Delivery,
    /// The reminder.
    pub reminder: MemoryId,
    /// What is told of it.
    pub telling: Telling,
    /// The message that it became a part of when it was first sent: sent again, the message has the
    /// same parts.
    pub message: Option<DeliveryKey>,
}

impl Row {
    /// Which telling of its occurrence it is.
    pub const fn kind(&self) -> Kind {
        self.telling.kind
    }
}

/// How many rows of a state and a sink there are.
pub type RowCount = (DeliveryState, String, u64);

/// Which reminders are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryQuery {
    /// Those of these namespaces; `None`: of all.
    pub namespaces: Option<Vec<Namespace>>,
    /// Those of which there is this to say; none: all.
    pub standings: Vec<Standing>,
    /// Those after this one, in the order of ids, newest first.
    pub after: Option<MemoryId>,
    /// At most so many.
    pub limit: usize,
}

/// Changes of reminders and of the outbox that belong together, all or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enact {
    /// Reminders that are new, about memories that are there.
    pub new: Vec<Entry>,
    /// Reminders as they are to be, each with the version that it had when it was read; it gets the
    /// next one.
    pub changed: Vec<Entry>,
    /// Reminders that go, with all their rows; one that is gone already is no conflict.
    pub removed: Vec<MemoryId>,
    /// Rows that are to be sent, of reminders that are there or new; one whose key is there already is
    /// left as it is.
    pub queued: Vec<Row>,
    /// Rows as they are to be, each with the version that it had when it was read; it gets the next
    /// one. Key and reminder stay.
    pub rows: Vec<Row>,
    /// What is known of sinks from now on; of one of which nothing is known nothing is kept.
    pub sinks: Vec<SinkChange>,
    /// Idempotency key, for the ids of what is new.
    pub request: Option<RequestKey>,
}

/// What is known of a sink, and what was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkChange {
    /// Its name.
    pub name: String,
    /// What was known.
    pub was: SinkState,
    /// What is known from now on.
    pub is: SinkState,
}

/// What came of an [`Enact`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enacted {
    /// It is done, and durable. The ids of what is new, or those of the first answer to its key.
    Done(Vec<MemoryId>),
    /// Something has another version by now, is gone, or is there already, and what: nothing was
    /// written.
    Conflict(String),
    /// There would be more than [`REMINDERS_MAX`] reminders, or more than [`DELIVERIES_MAX`] rows
    /// would wait: nothing was written.
    ///
    /// [`REMINDERS_MAX`]: crate::domain::limits::REMINDERS_MAX
    /// [`DELIVERIES_MAX`]: crate::domain::limits::DELIVERIES_MAX
    TooMany,
}

#[cfg(test)]
pub(super) mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::domain::reminder::Status;
    use crate::domain::scanner::whole;

    /// A moment with its offset.
    pub(crate) fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// A reminder in Berlin, set on the last day of November 2026.
    pub(crate) fn entry(text: &str, when: &str, lead: &str) -> Entry {
        let now = time("2026-11-30T12:00+01:00");
        let wall = now.to_zoned_datetime(TimeZone::get("Europe/Berlin").unwrap());
        let rule = whole(when, &wall, jiff::civil::time(9, 0, 0, 0)).unwrap().when.rule().unwrap();
        let reminder = Reminder::new(rule, lead.parse().unwrap(), Status::Active, now).unwrap();
        let mut hash = [0; 16];
        hash.copy_from_slice(&blake3::hash(format!("{text} {when}").as_bytes()).as_bytes()[..16]);
        Entry {
            id: MemoryId::new(1_700_000_000_000, u128::from_be_bytes(hash)),
            version: 1,
            namespace: Namespace::user(),
            text: text.to_owned(),
            source: Source::Stated,
            memory: None,
            evidence: Vec::new(),
            topic: None,
            sinks: Vec::new(),
            actor: "owner".to_owned(),
            created_at: now,
            updated_at: now,
            proposed_at: None,
            skipped: None,
            wakes_at: None,
            reminder,
        }
    }
}
