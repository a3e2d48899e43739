//! Reminders, the outbox, and what is known of sinks.
//!
//! What became due and the rows that tell it are one change ([`enact()`]), so a crash neither loses nor
//! repeats a telling. Every row belongs to a reminder that is there, and goes with it; a reminder that
//! is about a memory, or shown by it, goes with that.

mod carry;
mod enact;
mod forget;
mod read;
mod read_in;
mod records;
pub(super) mod transfer;
mod verify;

pub(super) use carry::carry;
pub(super) use enact::enact;
pub(super) use forget::forget_about;
pub(super) use read_in::{follow_text, hear_again};
pub(super) use verify::check;

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use jiff::Timestamp;
use redb::{ReadTransaction, ReadableTable as _};

use super::RedbStore;
use super::batch::Batch;
use super::codec::{decode, encode};
use super::errors::{Result, damaged};
use super::records::Unknown;
use super::tables::{Tables, delivery_code, standing_code};
use crate::domain::id::{Handle, MemoryId};
use crate::domain::reminder::{
    DeliveryKey, DeliveryState, Enact, Enacted, Entry, EntryQuery, Row, RowCount, SinkState,
};
use crate::ports::Reminders;

use records::{EntryRecord, RowRecord, SinkRecord};

impl Reminders for RedbStore {
    fn entry(&self, id: MemoryId) -> BoxFuture<'_, Result<Option<Entry>>> {
        self.read(move |rows| read::entry(rows, id))
    }

    fn entries_named(&self, handle: Handle) -> BoxFuture<'_, Result<Vec<MemoryId>>> {
        self.read(move |rows| read::named(rows, handle))
    }

    fn entries(&self, query: EntryQuery) -> BoxFuture<'_, Result<Vec<Entry>>> {
        self.read(move |rows| read::entries(rows, &query))
    }

    fn entries_of(&self, memory: MemoryId) -> BoxFuture<'_, Result<Vec<Entry>>> {
        self.read(move |rows| read::of_memory(rows, memory))
    }

    fn entry_of_topic(&self, topic: String) -> BoxFuture<'_, Result<Option<Entry>>> {
        self.read(move |rows| read::of_topic(rows, &topic))
    }

    fn due_entries(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Entry>>> {
        self.read(move |rows| read::due(rows, now, limit))
    }

    fn next_wake(&self) -> BoxFuture<'_, Result<Option<Timestamp>>> {
        self.read(read::next_wake)
    }

    fn enact(&self, request: Enact, at: Timestamp) -> BoxFuture<'_, Result<Enacted>> {
        Box::pin(self.writer.write(move |batch| enact(batch, &request, at)))
    }

    fn rows(
        &self,
        state: DeliveryState,
        sink: Option<String>,
        after: Option<(Timestamp, DeliveryKey)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Row>>> {
        self.read(move |rows| read::rows(rows, state, sink.as_deref(), after, limit))
    }

    fn row(&self, key: DeliveryKey) -> BoxFuture<'_, Result<Option<Row>>> {
        self.read(move |rows| read::row(rows, key))
    }

    fn rows_of(&self, reminder: MemoryId) -> BoxFuture<'_, Result<Vec<Row>>> {
        self.read(move |rows| read::rows_of(rows, reminder))
    }

    fn row_counts(&self) -> BoxFuture<'_, Result<Vec<RowCount>>> {
        self.read(read::row_counts)
    }

    fn sink_states(&self) -> BoxFuture<'_, Result<Vec<(String, SinkState)>>> {
        self.read(read::sinks)
    }

    fn trim_reminders(&self, before: Timestamp) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.in_pages(move |batch| forget::trim(batch, before)))
    }
}

impl RedbStore {
    /// Reads from a snapshot of what is committed now.
    fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        Box::pin(async move { self.begin_read().await?.read(read).await })
    }
}

/// The key of a delivery in keys.
const fn key_bits(key: DeliveryKey) -> u128 {
    u128::from_be_bytes(key.as_bytes())
}

/// What [`key_bits`] made.
const fn delivery_key(bits: u128) -> DeliveryKey {
    DeliveryKey::from_bytes(bits.to_be_bytes())
}

/// A reminder as it is stored.
struct StoredEntry {
    entry: Entry,
    unknown: Unknown,
}

/// A row as it is stored.
struct StoredRow {
    row: Row,
    unknown: Unknown,
}

impl Batch<'_> {
    /// Reads a reminder, if it is there.
    fn load_entry(&self, id: MemoryId) -> Result<Option<StoredEntry>> {
        let Some(row) = self.tables().reminders.get(id.as_u128())? else { return Ok(None) };
        let mut record: EntryRecord = decode(row.value())?;
        let unknown = std::mem::take(&mut record.unknown);
        Ok(Some(StoredEntry { entry: record.into_entry(id)?, unknown }))
    }

    /// Reads a row of the outbox, if it is there.
    fn load_row(&self, key: DeliveryKey) -> Result<Option<StoredRow>> {
        let Some(row) = self.tables().outbox.get(key_bits(key))? else { return Ok(None) };
        let mut record: RowRecord = decode(row.value())?;
        let unknown = std::mem::take(&mut record.unknown);
        Ok(Some(StoredRow { row: record.into_row()?, unknown }))
    }

    /// Writes a reminder in the place of what is there of it.
    fn put_entry(&mut self, before: Option<StoredEntry>, entry: &Entry) -> Result<()> {
        let (before, unknown) = match before {
            Some(StoredEntry { entry, unknown }) => (Some(entry), unknown),
            None => (None, Unknown::new()),
        };
        let bytes = encode(&EntryRecord::of(entry, unknown))?;
        let tables = self.change();
        if let Some(before) = before {
            unlist_entry(tables, &before)?;
        }
        tables.reminders.insert(entry.id.as_u128(), bytes.as_slice())?;
        list_entry(tables, entry)
    }

    /// Writes a row of the outbox in the place of what is there of it.
    fn put_row(&mut self, before: Option<StoredRow>, row: &Row) -> Result<()> {
        let (before, unknown) = match before {
            Some(StoredRow { row, unknown }) => (Some(row), unknown),
            None => (None, Unknown::new()),
        };
        let bytes = encode(&RowRecord::of(row, unknown))?;
        let tables = self.change();
        if let Some(before) = before {
            unlist_row(tables, &before)?;
        }
        let (by_state, of) = row_places(row);
        tables.outbox.insert(key_bits(row.delivery.key), bytes.as_slice())?;
        tables.outbox_by_state.insert(by_state, row.delivery.sink.as_str())?;
        tables.outbox_of.insert(of, ())?;
        Ok(())
    }

    /// Removes a row of the outbox.
    fn remove_row(&mut self, row: &Row) -> Result<()> {
        let tables = self.change();
        tables.outbox.remove(key_bits(row.delivery.key))?;
        unlist_row(tables, row)
    }

    /// Removes a reminder with its rows.
    fn remove_entry(&mut self, entry: &Entry) -> Result<()> {
        for key in self.row_keys(entry.id)? {
            let stored = self.load_row(key)?;
            let stored = stored.ok_or_else(|| damaged(format!("the delivery {key} is gone")))?;
            self.remove_row(&stored.row)?;
        }
        let tables = self.change();
        tables.reminders.remove(entry.id.as_u128())?;
        unlist_entry(tables, entry)
    }

    /// The reminders about a memory, or shown by it.
    fn reminders_of(&self, memory: MemoryId) -> Result<BTreeSet<MemoryId>> {
        let bits = memory.as_u128();
        let rows = self.tables().reminders_of.range((bits, 0)..=(bits, u128::MAX))?;
        rows.map(|row| Ok(MemoryId::from_u128(row?.0.value().1))).collect()
    }

    /// The keys of the rows of a reminder.
    fn row_keys(&self, reminder: MemoryId) -> Result<Vec<DeliveryKey>> {
        let bits = reminder.as_u128();
        let range = (bits, i64::MIN, 0)..=(bits, i64::MAX, u128::MAX);
        let rows = self.tables().outbox_of.range(range)?;
        rows.map(|row| Ok(delivery_key(row?.0.value().2))).collect()
    }

    /// What is known of a sink.
    fn sink_state(&self, name: &str) -> Result<SinkState> {
        let found = self.tables().sink_states.get(name)?;
        let record = found.map(|row| decode::<SinkRecord>(row.value())).transpose()?;
        record.map(SinkRecord::into_state).transpose().map(Option::unwrap_or_default)
    }

    /// Writes what is known of a sink; where nothing is, nothing is kept.
    fn put_sink(&mut self, name: &str, state: &SinkState) -> Result<()> {
        let before = self.tables().sink_states.get(name)?;
        let before = before.map(|row| decode::<SinkRecord>(row.value())).transpose()?;
        let unknown = before.map(|record| record.unknown).unwrap_or_default();
        if *state == SinkState::default() && unknown.is_empty() {
            self.change().sink_states.remove(name)?;
        } else {
            let bytes = encode(&SinkRecord::of(state, unknown))?;
            self.change().sink_states.insert(name, bytes.as_slice())?;
        }
        Ok(())
    }
}

/// The memories with which a reminder goes.
fn memories_of(entry: &Entry) -> impl Iterator<Item = MemoryId> + '_ {
    entry.memory.into_iter().chain(entry.evidence.iter().copied())
}

fn list_entry(tables: &mut Tables<'_>, entry: &Entry) -> Result<()> {
    let id = entry.id.as_u128();
    if let Some(at) = entry.wakes_at {
        tables.reminder_wakes.insert((at.as_microsecond(), id), ())?;
    }
    tables.reminder_standings.insert((standing_code(entry.reminder.standing()), id), ())?;
    tables.reminder_handles.insert((entry.id.tail(), id), ())?;
    for memory in memories_of(entry) {
        tables.reminders_of.insert((memory.as_u128(), id), ())?;
    }
    if let Some(topic) = &entry.topic {
        tables.reminder_topics.insert(topic.as_str(), id)?;
    }
    Ok(())
}

fn unlist_entry(tables: &mut Tables<'_>, entry: &Entry) -> Result<()> {
    let id = entry.id.as_u128();
    if let Some(at) = entry.wakes_at {
        tables.reminder_wakes.remove((at.as_microsecond(), id))?;
    }
    tables.reminder_standings.remove((standing_code(entry.reminder.standing()), id))?;
    tables.reminder_handles.remove((entry.id.tail(), id))?;
    for memory in memories_of(entry) {
        tables.reminders_of.remove((memory.as_u128(), id))?;
    }
    if let Some(topic) = &entry.topic {
        // Another may have taken it over in the same request.
        let holder = tables.reminder_topics.get(topic.as_str())?.map(|row| row.value());
        if holder == Some(id) {
            tables.reminder_topics.remove(topic.as_str())?;
        }
    }
    Ok(())
}

/// Where a row stands in `outbox_by_state` and in `outbox_of`.
fn row_places(row: &Row) -> ((u8, i64, u128), (u128, i64, u128)) {
    let (key, due_at) = (key_bits(row.delivery.key), row.delivery.due_at.as_microsecond());
    ((delivery_code(row.delivery.state), due_at, key), (row.reminder.as_u128(), due_at, key))
}

fn unlist_row(tables: &mut Tables<'_>, row: &Row) -> Result<()> {
    let (by_state, of) = row_places(row);
    tables.outbox_by_state.remove(by_state)?;
    tables.outbox_of.remove(of)?;
    Ok(())
}
