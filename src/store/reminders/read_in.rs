//! The reminders that were read in the text of a memory, which change with it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use redb::ReadableTableMetadata as _;

use super::super::batch::Batch;
use super::super::errors::{Result, damaged};
use super::StoredEntry;
use crate::domain::id::MemoryId;
use crate::domain::limits::REMINDERS_MAX;
use crate::domain::reminder::{Entry, reread, said_again};

/// Brings the reminders about these memories in line with `read`, what the text says now. Where there
/// are too many reminders already, nothing is added.
pub(in crate::store) fn follow_text(
    batch: &mut Batch<'_>,
    memories: &[MemoryId],
    read: &[Entry],
    at: Timestamp,
) -> Result<()> {
    let mut there = BTreeMap::new();
    for memory in memories {
        there.append(&mut about(batch, *memory)?);
    }
    let entries = there.values().map(|stored| stored.entry.clone()).collect();
    let reread = reread(entries, read.to_vec(), at);
    for changed in reread.changed {
        let version = changed.version.saturating_add(1);
        let before = there.remove(&changed.id);
        batch.put_entry(before, &Entry { version, ..changed })?;
    }
    add(batch, reread.new)
}

/// Adds to the reminders about a memory what its text says, now that it is stored once more. Where there
/// are too many reminders already, nothing is added.
pub(in crate::store) fn hear_again(
    batch: &mut Batch<'_>,
    memory: MemoryId,
    read: &[Entry],
    at: Timestamp,
) -> Result<()> {
    if read.is_empty() {
        return Ok(());
    }
    let there = about(batch, memory)?.into_values().map(|stored| stored.entry).collect();
    let read = read.iter().map(|read| Entry { memory: Some(memory), ..read.clone() }).collect();
    add(batch, said_again(there, read, at))
}

fn about(batch: &Batch<'_>, memory: MemoryId) -> Result<BTreeMap<MemoryId, StoredEntry>> {
    let mut there = BTreeMap::new();
    for id in batch.reminders_of(memory)? {
        let stored = batch.load_entry(id)?;
        let stored = stored.ok_or_else(|| damaged(format!("the reminder {id} is gone")))?;
        there.insert(id, stored);
    }
    Ok(there)
}

fn add(batch: &mut Batch<'_>, new: Vec<Entry>) -> Result<()> {
    for new in new {
        if batch.tables().reminders.len()? < REMINDERS_MAX {
            batch.put_entry(None, &Entry { version: 1, ..new })?;
        }
    }
    Ok(())
}
