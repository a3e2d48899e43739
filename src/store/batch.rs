//! One write transaction on its way: the steps of which every operation is made.
//!
//! Each step keeps the tables in agreement (record, indexes, counts, log), so that an operation
//! cannot forget one of them. Operations see what earlier ones of the same group wrote.

use redb::{ReadableTable, WriteTransaction};

use crate::domain::change::{Committed, Effect, Operation};
use crate::domain::embedding::Embedded;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::job::RunId;
use crate::domain::memory::{Memory, Status};
use crate::domain::namespace::Namespace;
use crate::ports::StoreError;

use super::codec::{Stored as _, decode, encode, pack};
use super::errors::{Result, damaged};
use super::indexes::IndexRows;
use super::log::LogRecord;
use super::records::{IdText, MemoryRecord, UsageRecord, time};
use super::reminders::follow_text;
use super::reserve::Room;
use super::tables::{META_LOG_INDEXED, META_SEQUENCE, Tables, meta, namespace_number};

/// A memory as it is stored: record and usage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StoredMemory {
    pub(super) id: MemoryId,
    pub(super) record: MemoryRecord,
    pub(super) usage: UsageRecord,
}

impl StoredMemory {
    /// The memory it stands for.
    pub(super) fn memory(&self) -> Result<Memory> {
        self.record.to_memory(self.id, &self.usage)
    }
}

/// Reads a memory, if it is there.
pub(super) fn load(
    memories: &impl ReadableTable<u128, &'static [u8]>,
    usage: &impl ReadableTable<u128, &'static [u8]>,
    id: MemoryId,
) -> Result<Option<StoredMemory>> {
    let Some(row) = memories.get(id.as_u128())? else { return Ok(None) };
    let record = decode(row.value())?;
    let usage = usage
        .get(id.as_u128())?
        .ok_or_else(|| damaged(format!("the memory {id} has no usage row")))?;
    Ok(Some(StoredMemory { id, record, usage: decode(usage.value())? }))
}

/// Who changes something, when, and in which run.
#[derive(Clone, Copy, Debug)]
pub(super) struct By<'a> {
    pub(super) actor: &'a Actor,
    pub(super) at: jiff::Timestamp,
    pub(super) run: Option<RunId>,
}

impl<'a> By<'a> {
    /// Somebody, outside of every run.
    pub(super) const fn new(actor: &'a Actor, at: jiff::Timestamp) -> Self {
        Self { actor, at, run: None }
    }
}

/// A write transaction with its tables open.
pub(super) struct Batch<'t> {
    tables: Tables<'t>,
    sequence: u64,
    n_writes: u64,
    room: Room,
    committed: Vec<Committed>,
}

impl<'t> Batch<'t> {
    /// Opens the tables of `transaction`, on a disk with that much room.
    pub(super) fn open(transaction: &'t WriteTransaction, room: Room) -> Result<Self> {
        let tables = Tables::open(transaction)?;
        let sequence = meta(&tables.meta, META_SEQUENCE)?;
        Ok(Self { tables, sequence, n_writes: 0, room, committed: Vec::new() })
    }

    /// Refuses what makes the file grow if the disk is full. Asked before anything is written.
    pub(super) fn may_grow(&self) -> Result<()> {
        match &self.room {
            Room::Enough => Ok(()),
            Room::Little(why) | Room::None(why) => Err(StoreError::NoRoom(why.clone())),
        }
    }

    /// Refuses upkeep that nobody asked for if it would run into the full disk. Asked before anything
    /// is written.
    pub(super) fn may_tidy(&self) -> Result<()> {
        match &self.room {
            Room::Enough | Room::Little(_) => Ok(()),
            Room::None(why) => Err(StoreError::NoRoom(why.clone())),
        }
    }

    /// How much was written so far. An operation that failed with the count unchanged left no
    /// trace.
    pub(super) const fn n_writes(&self) -> u64 {
        self.n_writes
    }

    /// Ends the batch: what it did to what the indexes hold, in order.
    pub(super) fn finish(mut self) -> Result<Vec<Committed>> {
        if meta(&self.tables.meta, META_SEQUENCE)? != self.sequence {
            self.tables.meta.insert(META_SEQUENCE, self.sequence)?;
            self.tables.meta.insert(META_LOG_INDEXED, self.sequence)?;
        }
        Ok(self.committed)
    }

    /// The tables, to read.
    pub(super) const fn tables(&self) -> &Tables<'t> {
        &self.tables
    }

    /// The tables, to write.
    pub(super) const fn change(&mut self) -> &mut Tables<'t> {
        self.n_writes += 1;
        &mut self.tables
    }

    /// Reads a memory, if it is there.
    pub(super) fn load(&self, id: MemoryId) -> Result<Option<StoredMemory>> {
        load(&self.tables.memories, &self.tables.usage, id)
    }

    /// Adds a memory with its index rows, without vectors.
    pub(super) fn insert(&mut self, new: &StoredMemory) -> Result<()> {
        let namespace = self.intern(&new.record.namespace()?)?;
        let rows = IndexRows::of(namespace, new.id, &new.record, &new.usage)?;
        let (record, usage) = (encode(&new.record)?, encode(&new.usage)?);
        let tables = self.change();
        tables.memories.insert(new.id.as_u128(), record.as_slice())?;
        tables.usage.insert(new.id.as_u128(), usage.as_slice())?;
        rows.insert(tables)?;
        self.note_sources(new.id, &new.record)?;
        self.count(namespace, 1)?;
        self.await_vectors(new.id)
    }

    /// Puts `new` in the place of `old`, its earlier version, which is kept.
    pub(super) fn replace(&mut self, old: &StoredMemory, new: &StoredMemory) -> Result<()> {
        let namespace = self.intern(&old.record.namespace()?)?;
        let old_rows = IndexRows::of(namespace, old.id, &old.record, &old.usage)?;
        let new_rows = IndexRows::of(namespace, new.id, &new.record, &new.usage)?;
        let id = new.id.as_u128();
        let (record, usage) = (encode(&new.record)?, encode(&new.usage)?);
        let tables = self.change();
        if let Some(earlier) = tables.memories.insert(id, record.as_slice())? {
            let place = (id, old.record.version);
            if new.record.is_cold() {
                tables.versions.insert(place, pack(earlier.value())?.as_slice())?;
            } else {
                tables.versions.insert(place, earlier.value())?;
            }
        }
        if old.usage != new.usage {
            tables.usage.insert(id, usage.as_slice())?;
        }
        if old_rows != new_rows {
            old_rows.remove(tables)?;
            new_rows.insert(tables)?;
        }
        if old.record.derived_from != new.record.derived_from {
            self.note_sources(new.id, &new.record)?;
        }
        if is_no_longer_true(old.record.status()?, new.record.status()?) {
            // What was read in it is not so any more.
            let at = time(new.record.updated_at)?;
            follow_text(self, &[new.id], &[], at)?;
        }
        Ok(())
    }

    /// Takes a memory out of everything that a reader sees. Returns the bytes of its record.
    pub(super) fn remove(&mut self, old: &StoredMemory) -> Result<Vec<u8>> {
        let namespace = self.intern(&old.record.namespace()?)?;
        let rows = IndexRows::of(namespace, old.id, &old.record, &old.usage)?;
        let id = old.id.as_u128();
        let tables = self.change();
        let record = tables
            .memories
            .remove(id)?
            .map(|row| row.value().to_vec())
            .ok_or_else(|| damaged(format!("the memory {} is gone", old.id)))?;
        tables.usage.remove(id)?;
        tables.strengths.remove(id)?;
        rows.remove(tables)?;
        self.count(namespace, -1)?;
        self.forget_vectors(old.id)?;
        Ok(record)
    }

    /// Writes a log entry about the memory as it is now, and returns its sequence number.
    pub(super) fn log(
        &mut self,
        by: By<'_>,
        operation: Operation,
        id: MemoryId,
        version: u64,
        fields: &[&'static str],
    ) -> Result<u64> {
        let entry = encode(&LogRecord {
            at: by.at.as_microsecond(),
            actor: by.actor.to_string(),
            operation: operation.as_str().to_owned(),
            id: IdText(id),
            version,
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            run: by.run.map(|run| run.0),
        })?;
        self.sequence += 1;
        let sequence = self.sequence;
        let tables = self.change();
        tables.log.insert(sequence, entry.as_slice())?;
        tables.log_of.insert((id.as_u128(), sequence), ())?;
        Ok(sequence)
    }

    /// Logs a change of a memory, notes it in the run that makes it, and tells the listener what the
    /// memory is now.
    pub(super) fn announce(
        &mut self,
        by: By<'_>,
        operation: Operation,
        now: &StoredMemory,
        fields: &[&'static str],
        text: NewText,
    ) -> Result<()> {
        let sequence = self.log(by, operation, now.id, now.record.version, fields)?;
        if let Some(run) = by.run {
            let change = (now.id.as_u128(), now.record.version, operation == Operation::Store);
            self.change().run_changes.insert((run.0, sequence), change)?;
        }
        let (content_changed, embedded) = match text {
            NewText::No => (false, None),
            NewText::Back => (false, self.present_vectors(now.id)?),
            NewText::Yes(embedded) => (true, embedded),
        };
        let memory = std::sync::Arc::new(now.memory()?);
        self.tell(sequence, Effect::Put { memory, content_changed, embedded });
        Ok(())
    }

    /// Tells the listener, once this is committed.
    pub(super) fn tell(&mut self, sequence: u64, effect: Effect) {
        self.committed.push(Committed { sequence, effect });
    }

    /// The number of a namespace in keys, given at its first memory.
    fn intern(&mut self, namespace: &Namespace) -> Result<u32> {
        if let Some(number) = namespace_number(&self.tables.namespaces, namespace)? {
            return Ok(number);
        }
        let n_known = redb::ReadableTableMetadata::len(&self.tables.namespaces)?;
        let number = u32::try_from(n_known).map_err(damaged)?;
        self.change().namespaces.insert(namespace.as_str(), number)?;
        Ok(number)
    }

    fn count(&mut self, namespace: u32, more: i64) -> Result<()> {
        let counts = &mut self.change().namespace_counts;
        let count = counts.get(namespace)?.map_or(0, |row| row.value());
        counts.insert(namespace, count.saturating_add_signed(more))?;
        Ok(())
    }
}

/// Whether a memory that was to be believed is not any more.
fn is_no_longer_true(before: Status, now: Status) -> bool {
    let is_over = |status| matches!(status, Status::Superseded | Status::Invalidated);
    is_over(now) && !is_over(before)
}

impl NewText {
    /// Of two versions with the same text.
    pub(super) fn of_same(old: &MemoryRecord, new: &MemoryRecord) -> Result<Self> {
        let is_back = old.status()? == Status::Archived && new.status()? != Status::Archived;
        Ok(if is_back { Self::Back } else { Self::No })
    }
}

/// Whether the text of a memory is new, and then its vectors if they came along.
#[derive(Clone, Debug)]
pub(super) enum NewText {
    /// The same text; its vectors stay.
    No,
    /// The same text of a memory that was archived: its vectors are there, but in no index.
    Back,
    /// A new text.
    Yes(Option<Embedded>),
}
