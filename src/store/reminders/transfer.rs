//! Reminders out of the store and back in; what was sent stays behind.

use std::ops::Bound::{Excluded, Unbounded};

use jiff::Timestamp;
use redb::{ReadTransaction, ReadableTable as _, ReadableTableMetadata as _};

use super::super::batch::Batch;
use super::super::codec::decode;
use super::super::errors::Result;
use super::super::tables::{REMINDERS, open_newer};
use super::memories_of;
use super::records::EntryRecord;
use crate::domain::id::MemoryId;
use crate::domain::limits::REMINDERS_MAX;
use crate::domain::reminder::{Entry, Standing};
use crate::domain::transfer::ImportOutcome;

/// The reminder after `after` in the order of ids, with its size, bytes.
pub(in crate::store) fn next_entry(
    transaction: &ReadTransaction,
    after: Option<MemoryId>,
) -> Result<Option<(Entry, usize)>> {
    let Some(table) = open_newer(transaction, REMINDERS)? else { return Ok(None) };
    let first = after.map_or(Unbounded, |id| Excluded(id.as_u128()));
    let row = table.range::<u128>((first, Unbounded))?.next().transpose()?;
    row.map(|(id, record)| {
        let n_bytes = record.value().len();
        let id = MemoryId::from_u128(id.value());
        let entry = decode::<EntryRecord>(record.value())?.into_entry(id)?;
        // The number of its changes and when it is looked at are of this store alone.
        Ok((Entry { version: 1, wakes_at: None, ..entry }, n_bytes))
    })
    .transpose()
}

/// Takes in a reminder, unless one of its id is there or what it is about is not. It knows what was
/// told, and the engine looks at once whether there is something to do for it.
pub(in crate::store) fn import_entry(
    batch: &mut Batch<'_>,
    entry: &Entry,
    at: Timestamp,
    is_dry: bool,
) -> Result<ImportOutcome> {
    if let Some(present) = batch.load_entry(entry.id)? {
        let is_same = says_the_same(&present.entry, entry);
        return Ok(if is_same { ImportOutcome::Same } else { ImportOutcome::Different });
    }
    let mut is_whole = true;
    for memory in memories_of(entry) {
        if batch.forgotten(memory)?.is_some() {
            return Ok(ImportOutcome::ForgottenHere);
        }
        is_whole &= batch.is_there(memory)?;
    }
    if let Some(topic) = &entry.topic
        && batch.tables().reminder_topics.get(topic.as_str())?.is_some()
    {
        return Ok(ImportOutcome::Different);
    }
    if is_dry {
        return Ok(ImportOutcome::Added);
    }
    if !is_whole {
        return Ok(ImportOutcome::WithoutMemory);
    }
    if batch.tables().reminders.len()? >= REMINDERS_MAX {
        return Ok(ImportOutcome::TooMany);
    }
    batch.may_grow()?;
    let wakes_at = (entry.reminder.standing() != Standing::Past).then_some(at);
    batch.put_entry(None, &Entry { wakes_at, ..entry.clone() })?;
    Ok(ImportOutcome::Added)
}

/// Whether two are one reminder, however far each is.
fn says_the_same(a: &Entry, b: &Entry) -> bool {
    let said = |entry: &Entry| {
        let Entry { namespace, text, source, memory, evidence, topic, created_at, .. } =
            entry.clone();
        let (rule, lead) = (entry.reminder.rule.clone(), entry.reminder.lead);
        (namespace, text, source, memory, evidence, topic, created_at, rule, lead)
    };
    said(a) == said(b)
}
