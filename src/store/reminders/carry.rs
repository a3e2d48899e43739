//! What a restored store learns of the one that it replaces: how far reminders are and what was told
//! since the backup was made, so that nothing of it is told again.

use redb::{ReadTransaction, ReadableTable as _};

use super::super::batch::Batch;
use super::super::codec::decode;
use super::super::errors::Result;
use super::super::tables::{OUTBOX, REMINDERS, open_newer};
use super::records::{EntryRecord, RowRecord};
use crate::domain::id::MemoryId;
use crate::domain::reminder::{DeliveryState, Entry, Reminder, Row};

/// Carries over what the store at `old` knows of the reminders of the backup. What people have
/// changed since is as it was in the backup.
pub(in crate::store) fn carry(batch: &mut Batch<'_>, old: &ReadTransaction) -> Result<()> {
    let Some(reminders) = open_newer(old, REMINDERS)? else { return Ok(()) };
    for row in reminders.iter()? {
        let (id, record) = row?;
        let id = MemoryId::from_u128(id.value());
        carry_progress(batch, decode::<EntryRecord>(record.value())?.into_entry(id)?)?;
    }
    for row in old.open_table(OUTBOX)?.iter()? {
        carry_row(batch, &decode::<RowRecord>(row?.1.value())?.into_row()?)?;
    }
    Ok(())
}

/// How far a reminder is that is told by the same rule.
fn carry_progress(batch: &mut Batch<'_>, of_old: Entry) -> Result<()> {
    let Some(stored) = batch.load_entry(of_old.id)? else { return Ok(()) };
    let (present, of_old) = (&stored.entry.reminder, of_old.reminder);
    if (&present.rule, present.lead) != (&of_old.rule, of_old.lead) {
        return Ok(());
    }
    let Reminder { counts_from, done_through, open, snoozed, generation, .. } = of_old;
    let reminder =
        Reminder { counts_from, done_through, open, snoozed, generation, ..present.clone() };
    if reminder == *present {
        return Ok(());
    }
    let version = stored.entry.version.saturating_add(1);
    let entry = Entry { version, reminder, ..stored.entry.clone() };
    batch.put_entry(Some(stored), &entry)
}

/// A row that had come further there, of a reminder that is here.
fn carry_row(batch: &mut Batch<'_>, row: &Row) -> Result<()> {
    let present = batch.load_row(row.delivery.key)?;
    let rank_here = present.as_ref().map_or(0, |stored| rank(&stored.row));
    if rank_here >= rank(row) || batch.load_entry(row.reminder)?.is_none() {
        return Ok(());
    }
    batch.put_row(present, row)
}

/// How much a row says against sending it (again).
const fn rank(row: &Row) -> u8 {
    match row.delivery.state {
        DeliveryState::Queued if row.delivery.n_attempts == 0 => 0,
        DeliveryState::Queued => 1,
        DeliveryState::Dead | DeliveryState::Dropped => 2,
        DeliveryState::Uncertain => 3,
        DeliveryState::Sent | DeliveryState::Accepted => 4,
    }
}
