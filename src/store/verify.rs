//! One function that proves that the tables agree with each other.
//!
//! Every row that a memory should have is looked up, and the tables are then as long as the sum of
//! what was expected: so nothing is missing and nothing is left over, at the cost of one pass and no
//! memory. Violations name ids, tables and numbers, never content.

mod links;
mod runs;

use redb::{
    Key, ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition,
    Value,
};

use crate::domain::id::MemoryId;
use crate::domain::limits::VIOLATIONS_MAX;
use crate::domain::memory::Status;

use super::batch::{StoredMemory, load};
use super::codec::decode;
use super::errors::Result;
use super::forget::ForgottenRecord;
use super::indexes::IndexRows;
use super::log::LogRecord;
use super::records::MemoryRecord;
use super::reminders;
use super::requests::RequestRecord;
use super::sessions;
use super::spaces::SpaceRecord;
use super::tables::{
    BY_KIND, BY_LAST_USE, BY_TAG, BY_TIME, DEDUPE, ERASURES, FORGOTTEN, FORGOTTEN_VERSIONS,
    HANDLES, LOG, LOG_OF, MEMORIES, META, META_LOG_INDEXED, META_LOG_START, META_SEQUENCE,
    NAMESPACE_COUNTS, NAMESPACES, PENDING, REQUEST_AGES, REQUESTS, SPACES, USAGE, VECTOR_SETS,
    VECTORS, VERSIONS, meta, namespace_number, open_newer,
};

/// What a check of the store found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Memories checked.
    pub n_memories: u64,
    /// What is wrong, at most [`VIOLATIONS_MAX`] of it; empty in a sound store.
    pub violations: Vec<String>,
}

impl Verified {
    pub(super) fn expect(&mut self, holds: bool, violation: impl FnOnce() -> String) {
        if !holds && self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(violation());
        }
    }

    pub(super) fn expect_len(&mut self, table: &str, n_rows: u64, expected: u64) {
        self.expect(n_rows == expected, || {
            format!("{table} has {n_rows} rows instead of {expected}")
        });
    }
}

/// Checks all tables.
pub(super) fn verify(transaction: &ReadTransaction) -> Result<Verified> {
    let mut found = Verified::default();
    check_memories(transaction, &mut found)?;
    check_namespaces(transaction, &mut found)?;
    check_forgotten(transaction, &mut found)?;
    check_log(transaction, &mut found)?;
    check_requests(transaction, &mut found)?;
    links::check_products(transaction, &mut found)?;
    runs::check(transaction, &mut found)?;
    runs::check_strengths(transaction, &mut found)?;
    sessions::check(transaction, &mut found)?;
    reminders::check(transaction, &mut found)?;
    Ok(found)
}

/// Rows that the memories should have in tables where a memory may have several.
#[derive(Default)]
struct Expected {
    tags: u64,
    versions: u64,
    sets: u64,
    chunks: u64,
    pending: u64,
}

fn check_memories(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let records = transaction.open_table(MEMORIES)?;
    let usage = transaction.open_table(USAGE)?;
    let mut expected = Expected::default();
    for row in records.iter()? {
        let id = MemoryId::from_u128(row?.0.value());
        let Some(stored) = load(&records, &usage, id)? else { continue };
        found.n_memories += 1;
        check_record(transaction, &stored, found)?;
        links::check(transaction, &stored, found)?;
        check_rows(transaction, &stored, &mut expected, found)?;
        check_vectors(transaction, &stored, &mut expected, found)?;
    }
    let n_memories = found.n_memories;
    found.expect_len("usage", len(transaction, USAGE)?, n_memories);
    found.expect_len("by_time", len(transaction, BY_TIME)?, n_memories);
    found.expect_len("by_kind", len(transaction, BY_KIND)?, n_memories);
    found.expect_len("by_last_use", len(transaction, BY_LAST_USE)?, n_memories);
    found.expect_len("dedupe", len(transaction, DEDUPE)?, n_memories);
    found.expect_len("handles", len(transaction, HANDLES)?, n_memories);
    found.expect_len("by_tag", len(transaction, BY_TAG)?, expected.tags);
    found.expect_len("versions", len(transaction, VERSIONS)?, expected.versions);
    found.expect_len("vector_sets", len(transaction, VECTOR_SETS)?, expected.sets);
    found.expect_len("vectors", len(transaction, VECTORS)?, expected.chunks);
    found.expect_len("pending", len(transaction, PENDING)?, expected.pending);
    Ok(())
}

/// The record in itself, and that it is not forgotten.
fn check_record(
    transaction: &ReadTransaction,
    stored: &StoredMemory,
    found: &mut Verified,
) -> Result<()> {
    let (id, record) = (stored.id, &stored.record);
    let memory = stored.memory()?;
    found.expect((1..=record.version).contains(&record.content_version), || {
        format!("{id}: content of version {} of {}", record.content_version, record.version)
    });
    let is_sorted = memory.tags.is_sorted_by(|a, b| a < b);
    found.expect(is_sorted, || format!("{id}: tags are not sorted or repeat"));
    let is_superseded = memory.status == Status::Superseded;
    found.expect(!is_superseded || memory.superseded_by.is_some(), || {
        format!("{id}: superseded by nothing")
    });
    let is_forgotten = has(&transaction.open_table(FORGOTTEN)?, id.as_u128())?;
    found.expect(!is_forgotten, || format!("{id}: there and forgotten"));
    Ok(())
}

/// Index rows and earlier versions.
fn check_rows(
    transaction: &ReadTransaction,
    stored: &StoredMemory,
    expected: &mut Expected,
    found: &mut Verified,
) -> Result<()> {
    let (id, record) = (stored.id, &stored.record);
    let namespaces = transaction.open_table(NAMESPACES)?;
    let Some(namespace) = namespace_number(&namespaces, &record.namespace()?)? else {
        found.expect(false, || format!("{id}: its namespace has no number"));
        return Ok(());
    };
    let rows = IndexRows::of(namespace, id, record, &stored.usage)?;
    let mut check = |table: &str, is_there: bool| {
        found.expect(is_there, || format!("{id}: no row in {table}"));
    };
    check("by_time", has(&transaction.open_table(BY_TIME)?, rows.by_time)?);
    check("by_kind", has(&transaction.open_table(BY_KIND)?, rows.by_kind)?);
    check("by_last_use", has(&transaction.open_table(BY_LAST_USE)?, rows.by_last_use)?);
    check("handles", has(&transaction.open_table(HANDLES)?, rows.handle)?);
    let (key, status, bits) = &rows.dedupe;
    check("dedupe", has(&transaction.open_table(DEDUPE)?, (key, *status, *bits))?);
    let by_tag = transaction.open_table(BY_TAG)?;
    for row in rows.by_tag() {
        expected.tags += 1;
        check("by_tag", by_tag.get(row)?.is_some());
    }
    let versions = transaction.open_table(VERSIONS)?;
    for version in 1..record.version {
        expected.versions += 1;
        let earlier = versions.get((id.as_u128(), version))?;
        let is_it = match earlier {
            Some(row) => decode::<MemoryRecord>(row.value())?.version == version,
            None => false,
        };
        check("versions", is_it);
    }
    Ok(())
}

/// For each space either a whole vector set of the present text or a row in `pending`.
fn check_vectors(
    transaction: &ReadTransaction,
    stored: &StoredMemory,
    expected: &mut Expected,
    found: &mut Verified,
) -> Result<()> {
    let (id, bits) = (stored.id, stored.id.as_u128());
    let sets = transaction.open_table(VECTOR_SETS)?;
    let pending = transaction.open_table(PENDING)?;
    let vectors = transaction.open_table(VECTORS)?;
    for row in transaction.open_table(SPACES)?.iter()? {
        let (space, record) = row?;
        let (space, record) = (space.value(), decode::<SpaceRecord>(record.value())?);
        let set = sets.get((space, bits))?.map(|set| set.value());
        let is_pending = has(&pending, (space, bits))?;
        // Of a space that is being removed some rows are gone.
        found.expect(set.is_some() != is_pending || record.is_dropped, || {
            format!("{id}: vectors in space {space} and waiting for them, or neither")
        });
        expected.pending += u64::from(is_pending);
        let Some((version, n_chunks)) = set else { continue };
        expected.sets += 1;
        expected.chunks += u64::from(n_chunks);
        let is_fresh = (stored.record.content_version..=stored.record.version).contains(&version);
        found.expect(is_fresh, || format!("{id}: vectors of version {version}"));
        for chunk in 0..n_chunks {
            let n_bytes = vectors.get((space, bits, chunk))?.map(|row| row.value().len());
            found.expect(n_bytes == Some(record.model.dimension * 4), || {
                format!("{id}: chunk {chunk} in space {space} has {n_bytes:?} bytes")
            });
        }
    }
    Ok(())
}

fn check_namespaces(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let by_time = transaction.open_table(BY_TIME)?;
    let counts = transaction.open_table(NAMESPACE_COUNTS)?;
    for row in transaction.open_table(NAMESPACES)?.iter()? {
        let number = row?.1.value();
        let rows = (number, 0, i64::MIN, 0)..=(number, u8::MAX, i64::MAX, u128::MAX);
        let n_memories = by_time.range(rows)?.count() as u64;
        let count = counts.get(number)?.map_or(0, |row| row.value());
        found.expect(count == n_memories, || {
            format!("namespace {number} counts {count} memories instead of {n_memories}")
        });
    }
    Ok(())
}

/// What is restorable has its content and a time to erase it, what is erased has neither.
fn check_forgotten(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let versions = transaction.open_table(FORGOTTEN_VERSIONS)?;
    let erasures = transaction.open_table(ERASURES)?;
    let (mut n_versions, mut n_pending) = (0, 0);
    for row in transaction.open_table(FORGOTTEN)?.iter()? {
        let (id, record) = row?;
        let (bits, record) = (id.value(), decode::<ForgottenRecord>(record.value())?);
        let id = MemoryId::from_u128(bits);
        let n_kept = versions.range((bits, 0)..=(bits, u64::MAX))?.count() as u64;
        n_versions += n_kept;
        if record.erased_at.is_some() {
            found.expect(n_kept == 0 && record.usage.is_none(), || {
                format!("{id}: erased, but {n_kept} versions are there")
            });
        } else {
            n_pending += 1;
            let is_whole = n_kept == record.version
                && record.usage.is_some()
                && has(&erasures, (record.due(), bits))?;
            found.expect(is_whole, || format!("{id}: forgotten, but not restorable"));
        }
    }
    found.expect_len("forgotten_versions", versions.len()?, n_versions);
    found.expect_len("erasures", erasures.len()?, n_pending);
    Ok(())
}

fn check_log(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let numbers = transaction.open_table(META)?;
    let (start, end) = (meta(&numbers, META_LOG_START)?, meta(&numbers, META_SEQUENCE)?);
    let indexed = meta(&numbers, META_LOG_INDEXED)?;
    let index = open_newer(transaction, LOG_OF)?;
    let mut n_indexed = 0;
    for row in transaction.open_table(LOG)?.iter()? {
        let (sequence, record) = row?;
        let sequence = sequence.value();
        let entry = decode::<LogRecord>(record.value())?.into_entry(sequence)?;
        found.expect((start.max(1)..=end).contains(&sequence), || {
            format!("log entry {sequence} is not in {start}..={end}")
        });
        if sequence > indexed {
            continue;
        }
        n_indexed += 1;
        let is_indexed = match &index {
            Some(index) => has(index, (entry.id.as_u128(), sequence))?,
            None => false,
        };
        found.expect(is_indexed, || format!("log entry {sequence} is not in log_of"));
    }
    let n_rows = index.map(|index| index.len()).transpose()?.unwrap_or_default();
    found.expect_len("log_of", n_rows, n_indexed);
    Ok(())
}

fn check_requests(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let requests = transaction.open_table(REQUESTS)?;
    let ages = transaction.open_table(REQUEST_AGES)?;
    for row in ages.iter()? {
        let (key, _) = row?;
        let (at, digest) = key.value();
        let kept_at = match requests.get(digest)? {
            Some(row) => Some(decode::<RequestRecord>(row.value())?.at),
            None => None,
        };
        found.expect(kept_at == Some(at), || format!("a request key of {at} has no answer"));
    }
    found.expect_len("request_ages", ages.len()?, requests.len()?);
    Ok(())
}

fn len<K: Key + 'static, V: Value + 'static>(
    transaction: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
) -> Result<u64> {
    Ok(transaction.open_table(table)?.len()?)
}

fn has<K: Key + 'static, V: Value + 'static>(
    table: &ReadOnlyTable<K, V>,
    key: K::SelfType<'_>,
) -> Result<bool> {
    Ok(table.get(key)?.is_some())
}
