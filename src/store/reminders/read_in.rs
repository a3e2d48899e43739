//! The reminders that were read in the text of a memory, which change with it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use redb::ReadableTableMetadata as _;

use super::super::batch::Batch;
use super::super::errors::{Result, damaged};
use super::StoredEntry;
use crate::domain::id::MemoryId;
use crate::domain::limits::REMINDERS_MAX;
use crate::domain::reminder::{Entry, reread};

/// Brings the reminders about these memories in line with `read`, what the text says now. Where there
/// are too many reminders already, nothing is added.
pub(in crate::store) fn follow_text(
    batch: &mut Batch<'_>,
    memories: &[MemoryId],
    read: &[Entry],
    at: Timestamp,
) -> Result<()> {
    let mut there: BTreeMap<MemoryId, StoredEntry> = BTreeMap::new();
    for memory in memories {
        for id in batch.reminders_of(*memory)? {
            let stored = batch.load_entry(id)?;
            let stored = stored.ok_or_else(|| damaged(format!("the reminder {id} is gone")))?;
            there.insert(id, stored);
        }
    }
    let entries = there.values().map(|stored| stored.entry.clone()).collect();
    let reread = reread(entries, read.to_vec(), at);
    for changed in reread.changed {
        let version = changed.version.saturating_add(1);
        let before = there.remove(&changed.id);
        batch.put_entry(before, &Entry { version, ..changed })?;
    }
    for new in reread.new {
        if batch.tables().reminders.len()? < REMINDERS_MAX {
            batch.put_entry(None, &Entry { version: 1, ..new })?;
        }
    }
    Ok(())
}
