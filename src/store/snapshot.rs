//! Reading: a redb read transaction a snapshot, on tokio's threads for blocking work.

use std::sync::Arc;

use futures::future::BoxFuture;
use redb::{ReadOnlyTable, ReadTransaction};

use crate::domain::change::LogEntry;
use crate::domain::embedding::{Embedded, SpaceId, Vector};
use crate::domain::id::{Handle, MemoryId};
use crate::domain::limits::HANDLE_MATCHES_MAX;
use crate::domain::memory::Memory;
use crate::domain::namespace::Namespace;
use crate::ports::{Listing, Snapshot, StoreError};

use super::batch::load;
use super::codec::decode;
use super::condition::Condition;
use super::errors::{Result, damaged};
use super::listing;
use super::log::{self, LogRecord};
use super::records::MemoryRecord;
use super::tables::{
    HANDLES, LOG, MARKS, MEMORIES, META, META_IDENTITY, META_LOG_START, META_SEQUENCE, NAMESPACES,
    PENDING, PRODUCTS, USAGE, VECTOR_SETS, VECTORS, VERSIONS, meta, open_newer, vector_from_bytes,
};
use super::usage;

/// What was committed when it was made.
pub(super) struct RedbSnapshot {
    transaction: Arc<ReadTransaction>,
    condition: Arc<Condition>,
    sequence: u64,
    log_start: u64,
    identity: u64,
}

impl RedbSnapshot {
    /// The view of `transaction`.
    pub(super) fn new(transaction: ReadTransaction, condition: Arc<Condition>) -> Result<Self> {
        let table = transaction.open_table(META)?;
        Ok(Self {
            sequence: meta(&table, META_SEQUENCE)?,
            log_start: meta(&table, META_LOG_START)?,
            identity: meta(&table, META_IDENTITY)?,
            transaction: Arc::new(transaction),
            condition,
        })
    }

    /// The transaction it reads with.
    pub(super) fn transaction(&self) -> &ReadTransaction {
        &self.transaction
    }

    /// Runs `query` off the caller's thread.
    pub(super) async fn read<T, F>(&self, query: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTransaction) -> Result<T> + Send + 'static,
    {
        let transaction = Arc::clone(&self.transaction);
        let outcome = blocking(move || query(&transaction)).await;
        self.condition.note(&outcome);
        outcome
    }
}

/// Runs work that may wait for the disk on a thread that may wait.
pub(super) async fn blocking<T, F>(work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        // redb panics on some files that something else has altered.
        Err(error) if error.is_panic() => Err(damaged("reading the store failed")),
        Err(_) => Err(StoreError::Closed),
    }
}

impl Snapshot for RedbSnapshot {
    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn memories(&self, ids: Vec<MemoryId>) -> BoxFuture<'_, Result<Vec<Option<Memory>>>> {
        Box::pin(self.read(move |transaction| memories(transaction, &ids)))
    }

    fn resolve(&self, handle: Handle) -> BoxFuture<'_, Result<Vec<MemoryId>>> {
        Box::pin(self.read(move |transaction| {
            let range = (handle.tail_min(), 0)..=(handle.tail_max(), u128::MAX);
            let rows = transaction.open_table(HANDLES)?.range(range)?;
            rows.take(HANDLE_MATCHES_MAX)
                .map(|row| Ok(MemoryId::from_u128(row?.0.value().1)))
                .collect()
        }))
    }

    fn list(&self, listing: Listing) -> BoxFuture<'_, Result<Vec<Memory>>> {
        Box::pin(self.read(move |transaction| listing::list(transaction, &listing)))
    }

    fn history(&self, id: MemoryId) -> BoxFuture<'_, Result<Vec<Memory>>> {
        Box::pin(self.read(move |transaction| history(transaction, id)))
    }

    fn log_of(&self, id: MemoryId, limit: usize) -> BoxFuture<'_, Result<Vec<LogEntry>>> {
        Box::pin(self.read(move |transaction| log::of(transaction, id, limit)))
    }

    fn products(&self, id: MemoryId) -> BoxFuture<'_, Result<Vec<MemoryId>>> {
        Box::pin(self.read(move |transaction| products(transaction, id)))
    }

    fn weaker_than(
        &self,
        strength: f64,
        after: Option<MemoryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(f64, MemoryId)>>> {
        Box::pin(
            self.read(move |transaction| usage::weaker_than(transaction, strength, after, limit)),
        )
    }

    fn mark(&self, name: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>>> {
        let name = name.to_owned();
        Box::pin(self.read(move |transaction| {
            let Some(marks) = open_newer(transaction, MARKS)? else { return Ok(None) };
            Ok(marks.get(name.as_str())?.map(|mark| mark.value().to_vec()))
        }))
    }

    fn namespaces(&self) -> BoxFuture<'_, Result<Vec<Namespace>>> {
        Box::pin(self.read(|transaction| {
            let rows = transaction.open_table(NAMESPACES)?.range::<&str>(..)?;
            rows.map(|row| row?.0.value().parse().map_err(damaged)).collect()
        }))
    }

    fn scan(&self, after: Option<MemoryId>, limit: usize) -> BoxFuture<'_, Result<Vec<Memory>>> {
        Box::pin(self.read(move |transaction| scan(transaction, after, limit)))
    }

    fn scan_vectors(
        &self,
        space: SpaceId,
        after: Option<MemoryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(MemoryId, Embedded)>>> {
        Box::pin(self.read(move |transaction| scan_vectors(transaction, space, after, limit)))
    }

    fn vectors(
        &self,
        space: SpaceId,
        ids: Vec<MemoryId>,
    ) -> BoxFuture<'_, Result<Vec<Vec<Vector>>>> {
        Box::pin(self.read(move |transaction| vectors(transaction, space, &ids)))
    }

    fn without_vectors(
        &self,
        space: SpaceId,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<MemoryId>>> {
        Box::pin(self.read(move |transaction| {
            let range = (space.0, 0)..=(space.0, u128::MAX);
            let rows = transaction.open_table(PENDING)?.range(range)?;
            rows.take(limit).map(|row| Ok(MemoryId::from_u128(row?.0.value().1))).collect()
        }))
    }

    fn log(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<LogEntry>>> {
        Box::pin(self.read(move |transaction| {
            let rows = transaction.open_table(LOG)?.range(after.saturating_add(1)..)?;
            rows.take(limit)
                .map(|row| {
                    let (sequence, record) = row?;
                    decode::<LogRecord>(record.value())?.into_entry(sequence.value())
                })
                .collect()
        }))
    }

    fn log_start(&self) -> u64 {
        self.log_start
    }

    fn identity(&self) -> u64 {
        self.identity
    }
}

fn memories(transaction: &ReadTransaction, ids: &[MemoryId]) -> Result<Vec<Option<Memory>>> {
    let records = transaction.open_table(MEMORIES)?;
    let usage = transaction.open_table(USAGE)?;
    ids.iter()
        .map(|id| load(&records, &usage, *id)?.map(|stored| stored.memory()).transpose())
        .collect()
}

/// Earlier versions, each with the usage of the present memory: usage has no versions.
fn history(transaction: &ReadTransaction, id: MemoryId) -> Result<Vec<Memory>> {
    let records = transaction.open_table(MEMORIES)?;
    let Some(present) = load(&records, &transaction.open_table(USAGE)?, id)? else {
        return Ok(Vec::new());
    };
    let bits = id.as_u128();
    let versions = transaction.open_table(VERSIONS)?;
    versions
        .range((bits, 0)..=(bits, u64::MAX))?
        .map(|row| decode::<MemoryRecord>(row?.1.value())?.to_memory(id, &present.usage))
        .collect()
}

/// Memories that were made of this one and are there.
fn products(transaction: &ReadTransaction, id: MemoryId) -> Result<Vec<MemoryId>> {
    let Some(table) = open_newer(transaction, PRODUCTS)? else { return Ok(Vec::new()) };
    let memories = transaction.open_table(MEMORIES)?;
    let bits = id.as_u128();
    let mut products = Vec::new();
    for row in table.range((bits, 0)..=(bits, u128::MAX))? {
        let product = row?.0.value().1;
        if memories.get(product)?.is_some() {
            products.push(MemoryId::from_u128(product));
        }
    }
    Ok(products)
}

fn scan(
    transaction: &ReadTransaction,
    after: Option<MemoryId>,
    limit: usize,
) -> Result<Vec<Memory>> {
    let Some(first) = next_id(after) else { return Ok(Vec::new()) };
    let usage = transaction.open_table(USAGE)?;
    let rows = transaction.open_table(MEMORIES)?.range(first..)?;
    rows.take(limit)
        .map(|row| {
            let (id, record) = row?;
            let id = MemoryId::from_u128(id.value());
            let usage = usage
                .get(id.as_u128())?
                .ok_or_else(|| damaged(format!("the memory {id} has no usage row")))?;
            decode::<MemoryRecord>(record.value())?.to_memory(id, &decode(usage.value())?)
        })
        .collect()
}

fn scan_vectors(
    transaction: &ReadTransaction,
    space: SpaceId,
    after: Option<MemoryId>,
    limit: usize,
) -> Result<Vec<(MemoryId, Embedded)>> {
    let Some(first) = next_id(after) else { return Ok(Vec::new()) };
    let table = transaction.open_table(VECTORS)?;
    let sets = transaction.open_table(VECTOR_SETS)?;
    sets.range((space.0, first)..=(space.0, u128::MAX))?
        .take(limit)
        .map(|row| {
            let id = MemoryId::from_u128(row?.0.value().1);
            Ok((id, Embedded { space, chunks: chunks(&table, space, id)? }))
        })
        .collect()
}

fn vectors(
    transaction: &ReadTransaction,
    space: SpaceId,
    ids: &[MemoryId],
) -> Result<Vec<Vec<Vector>>> {
    let table = transaction.open_table(VECTORS)?;
    ids.iter().map(|id| chunks(&table, space, *id)).collect()
}

/// The vectors of one memory, none if it has none.
fn chunks(
    table: &ReadOnlyTable<(u32, u128, u32), &'static [u8]>,
    space: SpaceId,
    id: MemoryId,
) -> Result<Vec<Vector>> {
    let bits = id.as_u128();
    table
        .range((space.0, bits, 0)..=(space.0, bits, u32::MAX))?
        .map(|row| vector_from_bytes(row?.1.value()))
        .collect()
}

/// The first key after `after`; `None` if there can be none.
fn next_id(after: Option<MemoryId>) -> Option<u128> {
    after.map_or(Some(0), |id| id.as_u128().checked_add(1))
}
