//! Reminders that go with a memory, and what is kept no longer.

use jiff::Timestamp;
use redb::ReadableTable as _;

use super::super::batch::Batch;
use super::super::errors::{Result, damaged};
use super::super::tables::{delivery_code, standing_code};
use super::delivery_key;
use crate::domain::id::MemoryId;
use crate::domain::limits::SCAN_PAGE;
use crate::domain::reminder::{DeliveryState, Entry, Row, Standing, Status};

/// Removes the reminders about a memory that goes, or shown by it, with their rows.
pub(in crate::store) fn forget_about(batch: &mut Batch<'_>, memory: MemoryId) -> Result<()> {
    for id in batch.reminders_of(memory)? {
        let stored = batch.load_entry(id)?;
        let stored = stored.ok_or_else(|| damaged(format!("the reminder {id} is gone")))?;
        batch.remove_entry(&stored.entry)?;
    }
    Ok(())
}

/// Removes rows that ended, and reminders that are over, before `before`, at most a page of each.
/// Returns how many, fewer than a page if that was all.
pub(super) fn trim(batch: &mut Batch<'_>, before: Timestamp) -> Result<u64> {
    batch.may_tidy()?;
    let rows = ended_rows(batch, before)?;
    for row in &rows {
        batch.remove_row(row)?;
    }
    let entries = past_entries(batch, before, SCAN_PAGE - rows.len())?;
    for entry in &entries {
        batch.remove_entry(entry)?;
    }
    Ok((rows.len() + entries.len()) as u64)
}

fn ended_rows(batch: &Batch<'_>, before: Timestamp) -> Result<Vec<Row>> {
    let mut ended = Vec::new();
    for state in DeliveryState::ALL.iter().filter(|state| **state != DeliveryState::Queued) {
        let code = delivery_code(*state);
        let range = (code, i64::MIN, 0)..(code, before.as_microsecond(), 0);
        for row in batch.tables().outbox_by_state.range(range)? {
            if ended.len() >= SCAN_PAGE {
                return Ok(ended);
            }
            let key = delivery_key(row?.0.value().2);
            let stored = batch.load_row(key)?;
            let row = stored.ok_or_else(|| damaged(format!("the delivery {key} is gone")))?.row;
            if last_touched(&row) < before {
                ended.push(row);
            }
        }
    }
    Ok(ended)
}

/// When something was last done about a row, as far as that is known.
fn last_touched(row: &Row) -> Timestamp {
    let delivery = &row.delivery;
    let known = [Some(delivery.created_at), delivery.called_at, delivery.sent_at];
    known.into_iter().flatten().fold(delivery.due_at, Timestamp::max)
}

/// Reminders that are over, without those that have rows. That a pattern was declined is kept for good,
/// or it would be suggested again.
fn past_entries(batch: &Batch<'_>, before: Timestamp, limit: usize) -> Result<Vec<Entry>> {
    let code = standing_code(Standing::Past);
    let mut past = Vec::new();
    for row in batch.tables().reminder_standings.range((code, 0)..=(code, u128::MAX))? {
        if past.len() >= limit {
            break;
        }
        let id = MemoryId::from_u128(row?.0.value().1);
        let stored = batch.load_entry(id)?;
        let entry = stored.ok_or_else(|| damaged(format!("the reminder {id} is gone")))?.entry;
        let is_declined = entry.reminder.status == Status::Declined && entry.topic.is_some();
        if entry.updated_at < before && !is_declined && batch.row_keys(id)?.is_empty() {
            past.push(entry);
        }
    }
    Ok(past)
}
