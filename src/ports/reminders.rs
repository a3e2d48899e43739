//! The port of the reminders and of the outbox, from which messages go to people.

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::StoreError;
use crate::domain::id::{Handle, MemoryId};
use crate::domain::reminder::{
    DeliveryKey, DeliveryState, Enact, Enacted, Entry, EntryQuery, Row, RowCount, SinkState,
};

/// The reminders of a store, the deliveries that they became, and what is known of the sinks.
///
/// What is forgotten takes the reminders about it along, with their rows, in the same transaction.
pub trait Reminders: Send + Sync {
    /// A reminder, if it is there (any more).
    fn entry(&self, id: MemoryId) -> BoxFuture<'_, Result<Option<Entry>, StoreError>>;

    /// Ids whose tail starts with the handle, at most 32.
    fn entries_named(&self, handle: Handle) -> BoxFuture<'_, Result<Vec<MemoryId>, StoreError>>;

    /// Reminders, newest first.
    fn entries(&self, query: EntryQuery) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// The reminders about a memory, or shown by it.
    fn entries_of(&self, memory: MemoryId) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// The reminder of a pattern, whatever became of it.
    fn entry_of_topic(&self, topic: String) -> BoxFuture<'_, Result<Option<Entry>, StoreError>>;

    /// Reminders for which there is something to do by `now`, the earliest first.
    fn due_entries(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// When there is something to do next.
    fn next_wake(&self) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>>;

    /// Carries out changes, all or none, durable at the answer.
    fn enact(&self, request: Enact, at: Timestamp) -> BoxFuture<'_, Result<Enacted, StoreError>>;

    /// Rows in this state (of one sink), in the order in which they were due, after `after`.
    fn rows(
        &self,
        state: DeliveryState,
        sink: Option<String>,
        after: Option<(Timestamp, DeliveryKey)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Row>, StoreError>>;

    /// A row, if it is there (any more).
    fn row(&self, key: DeliveryKey) -> BoxFuture<'_, Result<Option<Row>, StoreError>>;

    /// The rows of a reminder, in the order in which they were due.
    fn rows_of(&self, reminder: MemoryId) -> BoxFuture<'_, Result<Vec<Row>, StoreError>>;

    /// How many rows there are of each state and sink, in this order.
    fn row_counts(&self) -> BoxFuture<'_, Result<Vec<RowCount>, StoreError>>;

    /// What is known of the sinks, by name.
    fn sink_states(&self) -> BoxFuture<'_, Result<Vec<(String, SinkState)>, StoreError>>;

    /// Removes rows that ended, and reminders that are over, before `before`; a declined pattern
    /// stays. Returns how many.
    fn trim_reminders(&self, before: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>>;
}
