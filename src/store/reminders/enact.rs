//! Changes of reminders and of the outbox that belong together.
//!
//! Everything is looked at before anything is written, since what is refused must leave no trace in
//! the transaction that it shares with others.

use std::collections::BTreeSet;

use jiff::Timestamp;
use redb::{ReadableTable as _, ReadableTableMetadata as _};

use super::super::batch::Batch;
use super::super::errors::Result;
use super::super::records::IdText;
use super::super::requests::{Keyed, RequestItem, RequestRecord};
use super::{StoredEntry, StoredRow, delivery_code, memories_of};
use crate::domain::id::MemoryId;
use crate::domain::limits::{DELIVERIES_MAX, REMINDERS_MAX};
use crate::domain::reminder::{DeliveryKey, DeliveryState, Enact, Enacted, Entry, Row};
use crate::ports::StoreError;

/// Carries out changes, all or none.
pub(in crate::store) fn enact(
    batch: &mut Batch<'_>,
    request: &Enact,
    at: Timestamp,
) -> Result<Enacted> {
    if let Some(first) = batch.first_answer(Keyed::Enact, request.request.as_ref(), at)? {
        return Ok(Enacted::Done(first.items.iter().map(|item| item.id.0).collect()));
    }
    let plan = match Plan::of(batch, request) {
        Ok(plan) => plan,
        Err(Stop::Refused(why)) => return Ok(why),
        Err(Stop::Failed(error)) => return Err(error),
    };
    // What is due is told even if the disk is full: rows are small, and they are trimmed.
    if request.new.is_empty() {
        batch.may_tidy()?;
    } else {
        batch.may_grow()?;
    }
    plan.carry_out(batch, request)?;
    let ids: Vec<MemoryId> = request.new.iter().map(|entry| entry.id).collect();
    let item =
        |id: &MemoryId| RequestItem { id: IdText(*id), status: String::new(), changed: Vec::new() };
    let record = RequestRecord { items: ids.iter().map(item).collect(), ..RequestRecord::at(at) };
    batch.keep_answer(Keyed::Enact, request.request.as_ref(), &record, at)?;
    Ok(Enacted::Done(ids))
}

/// Why a request is not carried out.
enum Stop {
    Refused(Enacted),
    Failed(StoreError),
}

impl<E: Into<StoreError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

fn conflict(what: String) -> Stop {
    Stop::Refused(Enacted::Conflict(what))
}

/// What is there of what a request changes.
struct Plan {
    removed: Vec<Entry>,
    /// In the order of [`Enact::changed`].
    changed: Vec<StoredEntry>,
    /// Those of [`Enact::queued`] whose key is not there, by their place.
    queued: Vec<usize>,
    /// In the order of [`Enact::rows`].
    rows: Vec<StoredRow>,
}

impl Plan {
    /// Looks whether everything can be done.
    fn of(batch: &Batch<'_>, request: &Enact) -> std::result::Result<Self, Stop> {
        let gone: BTreeSet<MemoryId> = request.removed.iter().copied().collect();
        let mut removed = Vec::new();
        for id in &gone {
            removed.extend(batch.load_entry(*id)?.map(|stored| stored.entry));
        }
        let mut touched = gone.clone();
        let mut topics = BTreeSet::new();
        let mut changed = Vec::with_capacity(request.changed.len());
        for entry in &request.changed {
            let stored = batch.load_entry(entry.id)?.filter(|_| touched.insert(entry.id));
            let is_same = |stored: &StoredEntry| stored.entry.version == entry.version;
            let Some(stored) = stored.filter(is_same) else {
                return Err(conflict(format!("the reminder {} has changed", entry.id)));
            };
            changed.push(stored);
        }
        for entry in &request.new {
            let is_there = batch.load_entry(entry.id)?.is_some();
            if is_there || !touched.insert(entry.id) {
                return Err(conflict(format!("the reminder {} is there already", entry.id)));
            }
        }
        for entry in request.changed.iter().chain(&request.new) {
            may_be(batch, entry, &touched, &mut topics)?;
        }
        let n_after = batch.tables().reminders.len()? + request.new.len() as u64;
        if !request.new.is_empty() && n_after > REMINDERS_MAX + removed.len() as u64 {
            return Err(Stop::Refused(Enacted::TooMany));
        }
        let (queued, rows) = rows_of(batch, request, &gone)?;
        for change in &request.sinks {
            if batch.sink_state(&change.name)? != change.was {
                return Err(conflict(format!(
                    "what is known of the sink {} has changed",
                    change.name
                )));
            }
        }
        Ok(Self { removed, changed, queued, rows })
    }

    fn carry_out(self, batch: &mut Batch<'_>, request: &Enact) -> Result<()> {
        for entry in &self.removed {
            batch.remove_entry(entry)?;
        }
        for (stored, entry) in self.changed.into_iter().zip(&request.changed) {
            let entry = Entry { version: entry.version.saturating_add(1), ..entry.clone() };
            batch.put_entry(Some(stored), &entry)?;
        }
        for entry in &request.new {
            batch.put_entry(None, &Entry { version: 1, ..entry.clone() })?;
        }
        for row in self.queued.iter().filter_map(|place| request.queued.get(*place)) {
            batch.put_row(None, &Row { version: 1, ..row.clone() })?;
        }
        for (stored, row) in self.rows.into_iter().zip(&request.rows) {
            let row = Row { version: row.version.saturating_add(1), ..row.clone() };
            batch.put_row(Some(stored), &row)?;
        }
        for change in &request.sinks {
            batch.put_sink(&change.name, &change.is)?;
        }
        Ok(())
    }
}

/// Whether a reminder may be as it is to be: what it goes with is there, and nobody else has its topic.
fn may_be(
    batch: &Batch<'_>,
    entry: &Entry,
    touched: &BTreeSet<MemoryId>,
    topics: &mut BTreeSet<String>,
) -> std::result::Result<(), Stop> {
    for memory in memories_of(entry) {
        if !batch.is_there(memory)? {
            return Err(conflict(format!("the memory {memory} is gone")));
        }
    }
    let Some(topic) = &entry.topic else { return Ok(()) };
    let holder = batch.tables().reminder_topics.get(topic.as_str())?;
    let holder = holder.map(|row| MemoryId::from_u128(row.value()));
    // Whoever holds it and is changed as well either lets go of it or claims it in this request.
    if holder.is_some_and(|holder| !touched.contains(&holder)) || !topics.insert(topic.clone()) {
        return Err(conflict("the pattern has a reminder already".to_owned()));
    }
    Ok(())
}

/// The new rows by their place, and what is there of those that change.
fn rows_of(
    batch: &Batch<'_>,
    request: &Enact,
    gone: &BTreeSet<MemoryId>,
) -> std::result::Result<(Vec<usize>, Vec<StoredRow>), Stop> {
    let new: BTreeSet<MemoryId> = request.new.iter().map(|entry| entry.id).collect();
    let mut keys: BTreeSet<DeliveryKey> = BTreeSet::new();
    let mut rows = Vec::with_capacity(request.rows.len());
    for row in &request.rows {
        let key = row.delivery.key;
        let stored = batch.load_row(key)?.filter(|_| keys.insert(key));
        let is_same = |stored: &StoredRow| {
            stored.row.version == row.version
                && stored.row.reminder == row.reminder
                && !gone.contains(&row.reminder)
        };
        let Some(stored) = stored.filter(is_same) else {
            return Err(conflict(format!("the delivery {key} has changed")));
        };
        rows.push(stored);
    }
    let mut queued = Vec::with_capacity(request.queued.len());
    for (place, row) in request.queued.iter().enumerate() {
        let id = row.reminder;
        let is_there = new.contains(&id) || batch.load_entry(id)?.is_some();
        if !is_there || gone.contains(&id) {
            return Err(conflict(format!("the reminder {id} is gone")));
        }
        if batch.load_row(row.delivery.key)?.is_none() && keys.insert(row.delivery.key) {
            queued.push(place);
        }
    }
    let n_new = queued.len() as u64;
    let is_far_from_it = batch.tables().outbox.len()? + n_new <= DELIVERIES_MAX;
    if n_new > 0 && !is_far_from_it && n_waiting(batch)? + n_new > DELIVERIES_MAX {
        return Err(Stop::Refused(Enacted::TooMany));
    }
    Ok((queued, rows))
}

/// Rows that wait.
fn n_waiting(batch: &Batch<'_>) -> Result<u64> {
    let code = delivery_code(DeliveryState::Queued);
    let range = (code, i64::MIN, 0)..=(code, i64::MAX, u128::MAX);
    Ok(batch.tables().outbox_by_state.range(range)?.count() as u64)
}
