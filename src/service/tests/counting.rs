//! The port of the reminders, counting what is read and written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::domain::id::{Handle, MemoryId};
use crate::domain::reminder::{
    DeliveryKey, DeliveryState, Enact, Enacted, Entry, EntryQuery, Row, RowCount, SinkState,
};
use crate::ports::{Reminders, StoreError};
use crate::store::RedbStore;

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The store, and how often it was asked.
pub(super) struct Counting {
    store: Arc<RedbStore>,
    n_pages: AtomicUsize,
    n_single: AtomicUsize,
    n_written: AtomicUsize,
}

impl Counting {
    pub(super) fn new(store: &Arc<RedbStore>) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(store),
            n_pages: AtomicUsize::default(),
            n_single: AtomicUsize::default(),
            n_written: AtomicUsize::default(),
        })
    }

    /// Pages of rows, single rows and reminders that were read, and transactions, since the last time.
    pub(super) fn counted(&self) -> [usize; 3] {
        [&self.n_pages, &self.n_single, &self.n_written].map(|n| n.swap(0, Ordering::Relaxed))
    }
}

fn count(n: &AtomicUsize) {
    n.fetch_add(1, Ordering::Relaxed);
}

impl Reminders for Counting {
    fn entry(&self, id: MemoryId) -> Answer<'_, Option<Entry>> {
        count(&self.n_single);
        self.store.entry(id)
    }

    fn entries_named(&self, handle: Handle) -> Answer<'_, Vec<MemoryId>> {
        self.store.entries_named(handle)
    }

    fn entries(&self, query: EntryQuery) -> Answer<'_, Vec<Entry>> {
        self.store.entries(query)
    }

    fn entries_of(&self, memory: MemoryId) -> Answer<'_, Vec<Entry>> {
        self.store.entries_of(memory)
    }

    fn entry_of_topic(&self, topic: String) -> Answer<'_, Option<Entry>> {
        self.store.entry_of_topic(topic)
    }

    fn due_entries(&self, now: Timestamp, limit: usize) -> Answer<'_, Vec<Entry>> {
        self.store.due_entries(now, limit)
    }

    fn next_wake(&self) -> Answer<'_, Option<Timestamp>> {
        self.store.next_wake()
    }

    fn enact(&self, request: Enact, at: Timestamp) -> Answer<'_, Enacted> {
        count(&self.n_written);
        self.store.enact(request, at)
    }

    fn rows(
        &self,
        state: DeliveryState,
        sink: Option<String>,
        after: Option<(Timestamp, DeliveryKey)>,
        limit: usize,
    ) -> Answer<'_, Vec<Row>> {
        count(&self.n_pages);
        self.store.rows(state, sink, after, limit)
    }

    fn row(&self, key: DeliveryKey) -> Answer<'_, Option<Row>> {
        count(&self.n_single);
        self.store.row(key)
    }

    fn rows_of(&self, reminder: MemoryId) -> Answer<'_, Vec<Row>> {
        self.store.rows_of(reminder)
    }

    fn row_counts(&self) -> Answer<'_, Vec<RowCount>> {
        self.store.row_counts()
    }

    fn sink_states(&self) -> Answer<'_, Vec<(String, SinkState)>> {
        self.store.sink_states()
    }

    fn trim_reminders(&self, before: Timestamp) -> Answer<'_, u64> {
        self.store.trim_reminders(before)
    }
}
