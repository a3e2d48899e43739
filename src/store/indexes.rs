//! The rows that a memory has in the secondary indexes: all derived from its record and its usage.

use redb::ReadableTable;

use crate::domain::id::MemoryId;

use super::errors::Result;
use super::records::{MemoryRecord, UsageRecord};
use super::tables::{Tables, kind_code, status_code};

/// Keys of one memory in the secondary indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexRows {
    pub(super) by_time: (u32, u8, i64, u128),
    pub(super) by_kind: (u32, u8, i64, u128),
    pub(super) by_last_use: (i64, u128),
    pub(super) dedupe: ([u8; 32], u8, u128),
    pub(super) handle: (u64, u128),
    tags: Vec<String>,
}

impl IndexRows {
    /// The rows of a memory in the namespace with this number.
    pub(super) fn of(
        namespace: u32,
        id: MemoryId,
        record: &MemoryRecord,
        usage: &UsageRecord,
    ) -> Result<Self> {
        let bits = id.as_u128();
        let time = record.event_time();
        let status = status_code(record.status()?);
        Ok(Self {
            by_time: (namespace, status, time, bits),
            by_kind: (namespace, kind_code(record.kind()?), time, bits),
            by_last_use: last_use(id, record, usage),
            dedupe: (record.dedupe_key()?.0, status, bits),
            handle: (id.tail(), bits),
            tags: record.tags.clone(),
        })
    }

    /// Its keys in the index of tags.
    pub(super) fn by_tag(&self) -> impl Iterator<Item = (u32, &str, i64, u128)> {
        let (namespace, _, time, id) = self.by_time;
        self.tags.iter().map(move |tag| (namespace, tag.as_str(), time, id))
    }

    /// Adds the rows.
    pub(super) fn insert(&self, tables: &mut Tables<'_>) -> Result<()> {
        tables.by_time.insert(self.by_time, ())?;
        tables.by_kind.insert(self.by_kind, ())?;
        for row in self.by_tag() {
            tables.by_tag.insert(row, ())?;
        }
        tables.by_last_use.insert(self.by_last_use, ())?;
        let (key, status, id) = &self.dedupe;
        tables.dedupe.insert((key, *status, *id), ())?;
        tables.handles.insert(self.handle, ())?;
        Ok(())
    }

    /// Takes the rows away.
    pub(super) fn remove(&self, tables: &mut Tables<'_>) -> Result<()> {
        tables.by_time.remove(self.by_time)?;
        tables.by_kind.remove(self.by_kind)?;
        for row in self.by_tag() {
            tables.by_tag.remove(row)?;
        }
        tables.by_last_use.remove(self.by_last_use)?;
        let (key, status, id) = &self.dedupe;
        tables.dedupe.remove((key, *status, *id))?;
        tables.handles.remove(self.handle)?;
        Ok(())
    }
}

/// The key of a memory in the index by last use.
pub(super) fn last_use(id: MemoryId, record: &MemoryRecord, usage: &UsageRecord) -> (i64, u128) {
    (usage.last_recalled_at.unwrap_or(record.created_at), id.as_u128())
}

/// The memories that have this dedupe key and status, in the order of ids.
pub(super) fn equal_memories(
    dedupe: &impl ReadableTable<(&'static [u8; 32], u8, u128), ()>,
    key: &[u8; 32],
    status: u8,
) -> Result<impl Iterator<Item = Result<MemoryId>>> {
    let rows = dedupe.range((key, status, 0)..=(key, status, u128::MAX))?;
    Ok(rows.map(|row| Ok(MemoryId::from_u128(row?.0.value().2))))
}
