//! The tables of the file, their keys, and the codes that stand in keys.
//!
//! Names, key types and codes are part of the stored format: a change of any of them is a migration
//! ([`super::migrations`]). Keys hold no `Option` and no optional text, whose encodings redb 5
//! changes. In keys a memory is its id as `u128`, a time is microseconds since the epoch, and a
//! namespace is the number under which `namespaces` knows it.

use std::result::Result as AnyResult;

use redb::{
    Key, ReadOnlyTable, ReadTransaction, ReadableTable, Table, TableDefinition, TableError, Value,
    WriteTransaction,
};

use crate::domain::memory::{Kind, Status};
use crate::domain::namespace::Namespace;
use crate::domain::reminder::{DeliveryState, Standing};

use super::errors::{Result, damaged};

/// Does something with every table, whatever its types.
pub(super) trait TableVisitor {
    /// Why it stopped.
    type Error;

    /// Visits one table.
    fn visit<K: Key + 'static, V: Value + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> AnyResult<(), Self::Error>;
}

macro_rules! tables {
    ($($(#[$doc:meta])* $constant:ident $field:ident: $key:ty => $value:ty;)+) => {
        $($(#[$doc])*
        pub(super) const $constant: TableDefinition<'static, $key, $value> =
            TableDefinition::new(stringify!($field));)+

        /// All tables, open for writing.
        pub(super) struct Tables<'t> {
            $($(#[$doc])* pub(super) $field: Table<'t, $key, $value>,)+
        }

        impl<'t> Tables<'t> {
            /// Opens all tables, making those that are missing.
            pub(super) fn open(transaction: &'t WriteTransaction) -> Result<Self> {
                Ok(Self { $($field: transaction.open_table($constant)?,)+ })
            }
        }

        /// Visits the definition of every table.
        pub(super) fn visit_tables<V: TableVisitor>(visitor: &mut V) -> AnyResult<(), V::Error> {
            $(visitor.visit($constant)?;)+
            Ok(())
        }
    };
}

tables! {
    /// Single numbers, see the `META_` constants.
    META meta: &'static str => u64;
    /// Namespace to its number.
    NAMESPACES namespaces: &'static str => u32;
    /// Number of a namespace to its count of memories.
    NAMESPACE_COUNTS namespace_counts: u32 => u64;

    /// Memory to its record.
    MEMORIES memories: u128 => &'static [u8];
    /// Memory to how it has been used.
    USAGE usage: u128 => &'static [u8];
    /// (memory, version) to an earlier record.
    VERSIONS versions: (u128, u64) => &'static [u8];

    /// (namespace, status, event time, memory).
    BY_TIME by_time: (u32, u8, i64, u128) => ();
    /// (namespace, kind, event time, memory).
    BY_KIND by_kind: (u32, u8, i64, u128) => ();
    /// (namespace, tag, event time, memory).
    BY_TAG by_tag: (u32, &'static str, i64, u128) => ();
    /// (last recall, else creation; memory).
    BY_LAST_USE by_last_use: (i64, u128) => ();
    /// (dedupe key, status, memory).
    DEDUPE dedupe: (&'static [u8; 32], u8, u128) => ();
    /// (tail of the id, memory).
    HANDLES handles: (u64, u128) => ();

    /// Embedding space to the identity of its model.
    SPACES spaces: u32 => &'static [u8];
    /// (space, memory) to (record version it was made from, number of chunks).
    VECTOR_SETS vector_sets: (u32, u128) => (u64, u32);
    /// (space, memory, chunk) to the coordinates, f32 little-endian.
    VECTORS vectors: (u32, u128, u32) => &'static [u8];
    /// (space, memory): has no vectors there yet. A memory has, for each space, either this row or
    /// a vector set.
    PENDING pending: (u32, u128) => ();

    /// Sequence number to what changed.
    LOG log: u64 => &'static [u8];
    /// Hash of a request key to the first answer.
    REQUESTS requests: &'static [u8; 32] => &'static [u8];
    /// (time of the request, hash of its key).
    REQUEST_AGES request_ages: (i64, &'static [u8; 32]) => ();

    /// Forgotten memory to what may be told of it: no content.
    FORGOTTEN forgotten: u128 => &'static [u8];
    /// (forgotten memory, version) to its record, the newest being the last; gone once erased.
    FORGOTTEN_VERSIONS forgotten_versions: (u128, u64) => &'static [u8];
    /// (when its content must be erased, forgotten memory).
    ERASURES erasures: (i64, u128) => ();

    /// Time of a backup to where it is. Older files have neither this table nor those below.
    BACKUPS backups: i64 => &'static [u8];

    /// (memory, memory made of it): of some version of it that is kept.
    PRODUCTS products: (u128, u128) => ();
    /// Memory to its materialised strength.
    STRENGTHS strengths: u128 => f64;
    /// (memory, sequence number of a log entry about it).
    LOG_OF log_of: (u128, u64) => ();
    /// Name to a cursor or the like.
    MARKS marks: &'static str => &'static [u8];
    /// Job to its state.
    JOBS jobs: &'static str => &'static [u8];
    /// Number of a run to what is known of it.
    RUNS runs: u64 => &'static [u8];
    /// (run, sequence number) to (memory it changed, version after that, whether it made it).
    RUN_CHANGES run_changes: (u64, u64) => (u128, u64, bool);

    /// Session to what is known of it beside its turns.
    SESSIONS sessions: &'static [u8; 32] => &'static [u8];
    /// (session, number of a turn) to the turn.
    TURNS turns: (&'static [u8; 32], u64) => &'static [u8];
    /// Session to what is told of turns that are gone.
    SESSION_SUMMARIES session_summaries: &'static [u8; 32] => &'static [u8];
    /// (when it is to be looked at, session).
    SESSION_LOOKS session_looks: (i64, &'static [u8; 32]) => ();
    /// (session, number of a turn, 0 being all of them until then) to when it was forgotten.
    FORGOTTEN_TURNS forgotten_turns: (&'static [u8; 32], u64) => i64;

    /// Reminder to its record.
    REMINDERS reminders: u128 => &'static [u8];
    /// (when there is something to do for it, reminder).
    REMINDER_WAKES reminder_wakes: (i64, u128) => ();
    /// (what there is to say of it, reminder).
    REMINDER_STANDINGS reminder_standings: (u8, u128) => ();
    /// (tail of the id, reminder).
    REMINDER_HANDLES reminder_handles: (u64, u128) => ();
    /// (memory, reminder that is about it or that it shows).
    REMINDERS_OF reminders_of: (u128, u128) => ();
    /// Pattern to its reminder.
    REMINDER_TOPICS reminder_topics: &'static str => u128;
    /// Key of a delivery to its row of the outbox.
    OUTBOX outbox: u128 => &'static [u8];
    /// (how far it came, when what it tells was due, key of the delivery) to its sink.
    OUTBOX_BY_STATE outbox_by_state: (u8, i64, u128) => &'static str;
    /// (reminder, when what it tells was due, key of the delivery).
    OUTBOX_OF outbox_of: (u128, i64, u128) => ();
    /// Sink to what is known of it.
    SINK_STATES sink_states: &'static str => &'static [u8];
}

/// Version of the stored format.
pub(super) const META_FORMAT: &str = "format_version";
/// When the store was made, microseconds.
pub(super) const META_CREATED_AT: &str = "created_at";
/// Number of the embedding space in use.
pub(super) const META_SPACE: &str = "space";
/// Number of the next embedding space, if one was ever made.
pub(super) const META_NEXT_SPACE: &str = "next_space";
/// Last sequence number given.
pub(super) const META_SEQUENCE: &str = "sequence";
/// Sequence number of the oldest log entry kept; 0 if none was ever trimmed.
pub(super) const META_LOG_START: &str = "log_start";
/// Sequence number up to which `log_of` has the log.
pub(super) const META_LOG_INDEXED: &str = "log_indexed";
/// Number of the last run.
pub(super) const META_RUN: &str = "run";
/// A random number that tells this store from every other; a file without one gets it when it is
/// opened. A copy that goes on as another store must not keep it.
pub(super) const META_IDENTITY: &str = "identity";

/// A number of [`META`], 0 if it was never set.
pub(super) fn meta(table: &impl ReadableTable<&'static str, u64>, name: &str) -> Result<u64> {
    Ok(table.get(name)?.map_or(0, |row| row.value()))
}

/// Opens a table that older files do not have; such a file has no rows of it.
pub(super) fn open_newer<K: Key + 'static, V: Value + 'static>(
    transaction: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
) -> Result<Option<ReadOnlyTable<K, V>>> {
    match transaction.open_table(table) {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        other => Ok(Some(other?)),
    }
}

/// The number of a namespace in keys, if it ever held a memory.
pub(super) fn namespace_number(
    table: &impl ReadableTable<&'static str, u32>,
    namespace: &Namespace,
) -> Result<Option<u32>> {
    Ok(table.get(namespace.as_str())?.map(|row| row.value()))
}

/// The status in keys.
pub(super) const fn status_code(status: Status) -> u8 {
    match status {
        Status::Active => 0,
        Status::Superseded => 1,
        Status::Invalidated => 2,
        Status::Archived => 3,
    }
}

/// The kind in keys.
pub(super) const fn kind_code(kind: Kind) -> u8 {
    match kind {
        Kind::Fact => 0,
        Kind::Preference => 1,
        Kind::Instruction => 2,
        Kind::Event => 3,
        Kind::Procedure => 4,
        Kind::Task => 5,
        Kind::Reflection => 6,
        Kind::Summary => 7,
        Kind::Profile => 8,
    }
}

/// What there is to say of a reminder, in keys.
pub(super) const fn standing_code(standing: Standing) -> u8 {
    match standing {
        Standing::Due => 0,
        Standing::Upcoming => 1,
        Standing::Snoozed => 2,
        Standing::Proposed => 3,
        Standing::Paused => 4,
        Standing::Past => 5,
    }
}

/// How far a delivery came, in keys.
pub(super) const fn delivery_code(state: DeliveryState) -> u8 {
    match state {
        DeliveryState::Queued => 0,
        DeliveryState::Sent => 1,
        DeliveryState::Accepted => 2,
        DeliveryState::Uncertain => 3,
        DeliveryState::Dead => 4,
        DeliveryState::Dropped => 5,
    }
}

/// The coordinates of a vector as they are stored.
pub(super) fn vector_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Reads what [`vector_bytes`] wrote.
pub(super) fn vector_from_bytes(bytes: &[u8]) -> Result<std::sync::Arc<[f32]>> {
    let (coordinates, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(damaged("a vector whose length is no multiple of 4"));
    }
    Ok(coordinates.iter().map(|x| f32::from_le_bytes(*x)).collect())
}
