//! That the tables of reminders and of the outbox agree with each other.

use redb::{ReadTransaction, ReadableTable as _, ReadableTableMetadata as _};

use super::super::codec::decode;
use super::super::errors::Result;
use super::super::tables::{
    MEMORIES, OUTBOX, OUTBOX_BY_STATE, OUTBOX_OF, REMINDER_HANDLES, REMINDER_STANDINGS,
    REMINDER_TOPICS, REMINDER_WAKES, REMINDERS, REMINDERS_OF, open_newer, standing_code,
};
use super::super::verify::Verified;
use super::records::{EntryRecord, RowRecord};
use super::{key_bits, memories_of, read, row_places};
use crate::domain::id::MemoryId;

/// Each reminder and each row has its places, no index has more, the memories that reminders go with
/// are there, and so is the reminder of each row.
pub(in crate::store) fn check(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    check_entries(transaction, found)?;
    check_rows(transaction, found)?;
    read::sinks(transaction).map(drop)
}

fn check_entries(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let Some(reminders) = open_newer(transaction, REMINDERS)? else { return Ok(()) };
    let memories = transaction.open_table(MEMORIES)?;
    let wakes = transaction.open_table(REMINDER_WAKES)?;
    let standings = transaction.open_table(REMINDER_STANDINGS)?;
    let handles = transaction.open_table(REMINDER_HANDLES)?;
    let of = transaction.open_table(REMINDERS_OF)?;
    let topics = transaction.open_table(REMINDER_TOPICS)?;
    let (mut n_wakes, mut n_of, mut n_topics) = (0, 0, 0);
    for row in reminders.iter()? {
        let (bits, record) = row?;
        let (bits, id) = (bits.value(), MemoryId::from_u128(bits.value()));
        let entry = decode::<EntryRecord>(record.value())?.into_entry(id)?;
        let mut expect = |table: &str, is_there: bool| {
            found.expect(is_there, || format!("the reminder {id}: no row in {table}"));
        };
        if let Some(at) = entry.wakes_at {
            n_wakes += 1;
            expect("reminder_wakes", wakes.get((at.as_microsecond(), bits))?.is_some());
        }
        let code = standing_code(entry.reminder.standing());
        expect("reminder_standings", standings.get((code, bits))?.is_some());
        expect("reminder_handles", handles.get((id.tail(), bits))?.is_some());
        let mut goes_with: Vec<MemoryId> = memories_of(&entry).collect();
        goes_with.sort_unstable();
        goes_with.dedup();
        for memory in goes_with {
            n_of += 1;
            expect("reminders_of", of.get((memory.as_u128(), bits))?.is_some());
            expect("memories", memories.get(memory.as_u128())?.is_some());
        }
        if let Some(topic) = &entry.topic {
            n_topics += 1;
            let holder = topics.get(topic.as_str())?.map(|row| row.value());
            expect("reminder_topics", holder == Some(bits));
        }
    }
    let n_reminders = reminders.len()?;
    found.expect_len("reminder_wakes", wakes.len()?, n_wakes);
    found.expect_len("reminder_standings", standings.len()?, n_reminders);
    found.expect_len("reminder_handles", handles.len()?, n_reminders);
    found.expect_len("reminders_of", of.len()?, n_of);
    found.expect_len("reminder_topics", topics.len()?, n_topics);
    Ok(())
}

fn check_rows(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let Some(outbox) = open_newer(transaction, OUTBOX)? else { return Ok(()) };
    let reminders = transaction.open_table(REMINDERS)?;
    let by_state = transaction.open_table(OUTBOX_BY_STATE)?;
    let of = transaction.open_table(OUTBOX_OF)?;
    for row in outbox.iter()? {
        let (bits, record) = row?;
        let row = decode::<RowRecord>(record.value())?.into_row()?;
        let key = row.delivery.key;
        let mut expect = |holds: bool, what: &str| {
            found.expect(holds, || format!("the delivery {key}: {what}"));
        };
        expect(key_bits(key) == bits.value(), "it is not where it belongs");
        let places = row_places(&row);
        let sink = by_state.get(places.0)?;
        let is_named = sink.is_some_and(|sink| sink.value() == row.delivery.sink);
        expect(is_named, "no row in outbox_by_state");
        expect(of.get(places.1)?.is_some(), "no row in outbox_of");
        expect(reminders.get(row.reminder.as_u128())?.is_some(), "its reminder is gone");
    }
    found.expect_len("outbox_by_state", by_state.len()?, outbox.len()?);
    found.expect_len("outbox_of", of.len()?, outbox.len()?);
    Ok(())
}
