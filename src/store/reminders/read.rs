//! Reading reminders, the outbox, and what is known of sinks.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use jiff::Timestamp;
use redb::{ReadTransaction, ReadableTable};

use super::super::codec::decode;
use super::super::errors::{Result, damaged};
use super::super::records::time;
use super::super::tables::{
    OUTBOX, OUTBOX_BY_STATE, OUTBOX_OF, REMINDER_HANDLES, REMINDER_STANDINGS, REMINDER_TOPICS,
    REMINDER_WAKES, REMINDERS, REMINDERS_OF, SINK_STATES, delivery_code, open_newer, standing_code,
};
use super::records::{EntryRecord, RowRecord, SinkRecord};
use super::{delivery_key, key_bits};
use crate::domain::id::{Handle, MemoryId};
use crate::domain::limits::HANDLE_MATCHES_MAX;
use crate::domain::namespace::Namespace;
use crate::domain::reminder::{
    DeliveryKey, DeliveryState, Entry, EntryQuery, Row, RowCount, SinkState,
};

/// A reminder.
pub(super) fn entry(transaction: &ReadTransaction, id: MemoryId) -> Result<Option<Entry>> {
    let Some(table) = open_newer(transaction, REMINDERS)? else { return Ok(None) };
    load(&table, id)
}

fn load(table: &impl ReadableTable<u128, &'static [u8]>, id: MemoryId) -> Result<Option<Entry>> {
    let Some(row) = table.get(id.as_u128())? else { return Ok(None) };
    Ok(Some(decode::<EntryRecord>(row.value())?.into_entry(id)?))
}

/// Those of these reminders, all of which an index names.
fn those(
    transaction: &ReadTransaction,
    ids: impl Iterator<Item = Result<MemoryId>>,
) -> Result<Vec<Entry>> {
    let Some(table) = open_newer(transaction, REMINDERS)? else { return Ok(Vec::new()) };
    ids.map(|id| {
        let id = id?;
        load(&table, id)?.ok_or_else(|| damaged(format!("the reminder {id} is gone")))
    })
    .collect()
}

/// Ids whose tail starts with the handle.
pub(super) fn named(transaction: &ReadTransaction, handle: Handle) -> Result<Vec<MemoryId>> {
    let Some(table) = open_newer(transaction, REMINDER_HANDLES)? else { return Ok(Vec::new()) };
    table
        .range((handle.tail_min(), 0)..=(handle.tail_max(), u128::MAX))?
        .take(HANDLE_MATCHES_MAX)
        .map(|row| Ok(MemoryId::from_u128(row?.0.value().1)))
        .collect()
}

/// Reminders, newest first.
pub(super) fn entries(transaction: &ReadTransaction, query: &EntryQuery) -> Result<Vec<Entry>> {
    let Some(table) = open_newer(transaction, REMINDERS)? else { return Ok(Vec::new()) };
    let end = query.after.map_or(Unbounded, |id| Excluded(id.as_u128()));
    let mut found = Vec::new();
    if query.standings.is_empty() {
        for row in table.range::<u128>((Unbounded, end))?.rev() {
            if found.len() >= query.limit {
                break;
            }
            let (id, record) = row?;
            found.extend(fitting(id.value(), record.value(), query)?);
        }
        return Ok(found);
    }
    let index = transaction.open_table(REMINDER_STANDINGS)?;
    // Each has one standing, so that of each as many as are wanted are enough.
    for standing in &query.standings {
        let code = standing_code(*standing);
        let end =
            query.after.map_or(Included((code, u128::MAX)), |id| Excluded((code, id.as_u128())));
        let mut n_found = 0;
        for row in index.range((Included((code, 0)), end))?.rev() {
            if n_found >= query.limit {
                break;
            }
            let id = row?.0.value().1;
            let Some(record) = table.get(id)? else {
                return Err(damaged(format!("the reminder {} is gone", MemoryId::from_u128(id))));
            };
            if let Some(entry) = fitting(id, record.value(), query)? {
                found.push(entry);
                n_found += 1;
            }
        }
    }
    found.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.id));
    found.dedup_by_key(|entry| entry.id);
    found.truncate(query.limit);
    Ok(found)
}

/// The reminder of a row, if it is in a namespace that is asked for.
fn fitting(id: u128, record: &[u8], query: &EntryQuery) -> Result<Option<Entry>> {
    let record: EntryRecord = decode(record)?;
    let is_of = |names: &Vec<Namespace>| names.iter().any(|name| name.as_str() == record.namespace);
    if !query.namespaces.as_ref().is_none_or(is_of) {
        return Ok(None);
    }
    record.into_entry(MemoryId::from_u128(id)).map(Some)
}

/// The reminders about a memory, or shown by it.
pub(super) fn of_memory(transaction: &ReadTransaction, memory: MemoryId) -> Result<Vec<Entry>> {
    let Some(index) = open_newer(transaction, REMINDERS_OF)? else { return Ok(Vec::new()) };
    let bits = memory.as_u128();
    let rows = index.range((bits, 0)..=(bits, u128::MAX))?;
    those(transaction, rows.map(|row| Ok(MemoryId::from_u128(row?.0.value().1))))
}

/// The reminder of a pattern.
pub(super) fn of_topic(transaction: &ReadTransaction, topic: &str) -> Result<Option<Entry>> {
    let Some(index) = open_newer(transaction, REMINDER_TOPICS)? else { return Ok(None) };
    match index.get(topic)? {
        Some(row) => entry(transaction, MemoryId::from_u128(row.value())),
        None => Ok(None),
    }
}

/// Reminders for which there is something to do by `now`.
pub(super) fn due(
    transaction: &ReadTransaction,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Entry>> {
    let Some(index) = open_newer(transaction, REMINDER_WAKES)? else { return Ok(Vec::new()) };
    let rows = index.range(..=(now.as_microsecond(), u128::MAX))?.take(limit);
    those(transaction, rows.map(|row| Ok(MemoryId::from_u128(row?.0.value().1))))
}

/// When there is something to do next.
pub(super) fn next_wake(transaction: &ReadTransaction) -> Result<Option<Timestamp>> {
    let Some(index) = open_newer(transaction, REMINDER_WAKES)? else { return Ok(None) };
    index.first()?.map(|(key, _)| time(key.value().0)).transpose()
}

/// A row of the outbox.
pub(super) fn row(transaction: &ReadTransaction, key: DeliveryKey) -> Result<Option<Row>> {
    let Some(table) = open_newer(transaction, OUTBOX)? else { return Ok(None) };
    let Some(row) = table.get(key_bits(key))? else { return Ok(None) };
    Ok(Some(decode::<RowRecord>(row.value())?.into_row()?))
}

/// Those of these rows, all of which an index names.
fn those_rows(
    transaction: &ReadTransaction,
    keys: impl Iterator<Item = Result<DeliveryKey>>,
) -> Result<Vec<Row>> {
    keys.map(|key| {
        let key = key?;
        row(transaction, key)?.ok_or_else(|| damaged(format!("the delivery {key} is gone")))
    })
    .collect()
}

/// Rows in this state (of one sink), in the order in which they were due.
pub(super) fn rows(
    transaction: &ReadTransaction,
    state: DeliveryState,
    sink: Option<&str>,
    after: Option<(Timestamp, DeliveryKey)>,
    limit: usize,
) -> Result<Vec<Row>> {
    let Some(index) = open_newer(transaction, OUTBOX_BY_STATE)? else { return Ok(Vec::new()) };
    let code = delivery_code(state);
    let first = after.map_or(Included((code, i64::MIN, 0)), |(due_at, key)| {
        Excluded((code, due_at.as_microsecond(), key_bits(key)))
    });
    let rows = index.range((first, Included((code, i64::MAX, u128::MAX))))?;
    let keys = rows.filter_map(|row| match row {
        Ok((key, of)) => {
            let is_of = sink.is_none_or(|sink| sink == of.value());
            is_of.then(|| Ok(delivery_key(key.value().2)))
        }
        Err(error) => Some(Err(error.into())),
    });
    those_rows(transaction, keys.take(limit))
}

/// The rows of a reminder, in the order in which they were due.
pub(super) fn rows_of(transaction: &ReadTransaction, reminder: MemoryId) -> Result<Vec<Row>> {
    let Some(index) = open_newer(transaction, OUTBOX_OF)? else { return Ok(Vec::new()) };
    let bits = reminder.as_u128();
    let rows = index.range((bits, i64::MIN, 0)..=(bits, i64::MAX, u128::MAX))?;
    those_rows(transaction, rows.map(|row| Ok(delivery_key(row?.0.value().2))))
}

/// How many rows there are, by state and sink.
pub(super) fn row_counts(transaction: &ReadTransaction) -> Result<Vec<RowCount>> {
    let Some(index) = open_newer(transaction, OUTBOX_BY_STATE)? else { return Ok(Vec::new()) };
    let mut counts: BTreeMap<(u8, String), u64> = BTreeMap::new();
    for row in index.iter()? {
        let (key, sink) = row?;
        *counts.entry((key.value().0, sink.value().to_owned())).or_default() += 1;
    }
    counts.into_iter().map(|((code, sink), n)| Ok((state_of(code)?, sink, n))).collect()
}

fn state_of(code: u8) -> Result<DeliveryState> {
    let state = DeliveryState::ALL.iter().find(|state| delivery_code(**state) == code);
    state.copied().ok_or_else(|| damaged(format!("a delivery in the unknown state {code}")))
}

/// What is known of the sinks.
pub(super) fn sinks(transaction: &ReadTransaction) -> Result<Vec<(String, SinkState)>> {
    let Some(table) = open_newer(transaction, SINK_STATES)? else { return Ok(Vec::new()) };
    table
        .iter()?
        .map(|row| {
            let (name, record) = row?;
            let state = decode::<SinkRecord>(record.value())?.into_state()?;
            Ok((name.value().to_owned(), state))
        })
        .collect()
}
