//! The change log: its rows, and trimming it.

use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};

use crate::domain::change::LogEntry;
use crate::domain::id::MemoryId;
use crate::domain::job::RunId;
use crate::domain::limits::SCAN_PAGE;

use super::batch::Batch;
use super::codec::{Stored, decode};
use super::errors::Result;
use super::records::{IdText, time};
use super::tables::{LOG, LOG_OF, META_LOG_START, open_newer};

/// Drops entries up to `sequence` that are older than `before`, oldest first and without leaving
/// holes, at most a page of them. Returns how many.
pub(super) fn trim(batch: &mut Batch<'_>, sequence: u64, before: jiff::Timestamp) -> Result<u64> {
    batch.may_tidy()?;
    let mut dropped = Vec::new();
    for row in batch.tables().log.range(..=sequence)?.take(SCAN_PAGE) {
        let (number, record) = row?;
        let record: LogRecord = decode(record.value())?;
        if record.at >= before.as_microsecond() {
            break;
        }
        dropped.push((number.value(), record.id.0.as_u128()));
    }
    let Some((last, _)) = dropped.last() else { return Ok(0) };
    let tables = batch.change();
    for (number, id) in &dropped {
        tables.log.remove(*number)?;
        tables.log_of.remove((*id, *number))?;
    }
    tables.meta.insert(META_LOG_START, last + 1)?;
    Ok(dropped.len() as u64)
}

/// The newest entries about one memory, oldest first.
pub(super) fn of(
    transaction: &ReadTransaction,
    id: MemoryId,
    limit: usize,
) -> Result<Vec<LogEntry>> {
    let Some(index) = open_newer(transaction, LOG_OF)? else { return Ok(Vec::new()) };
    let log = transaction.open_table(LOG)?;
    let bits = id.as_u128();
    let mut entries = Vec::new();
    for row in index.range((bits, 0)..=(bits, u64::MAX))?.rev().take(limit) {
        let sequence = row?.0.value().1;
        if let Some(record) = log.get(sequence)? {
            entries.push(decode::<LogRecord>(record.value())?.into_entry(sequence)?);
        }
    }
    entries.reverse();
    Ok(entries)
}

/// A row of the change log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LogRecord {
    pub(super) at: i64,
    pub(super) actor: String,
    pub(super) operation: String,
    pub(super) id: IdText,
    pub(super) version: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) fields: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<u64>,
}

impl Stored for LogRecord {
    const WHAT: &'static str = "log entry";
}

impl LogRecord {
    /// The entry it stands for.
    pub(super) fn into_entry(self, sequence: u64) -> Result<LogEntry> {
        Ok(LogEntry {
            sequence,
            at: time(self.at)?,
            actor: self.actor,
            operation: self.operation,
            id: self.id.0,
            version: self.version,
            fields: self.fields,
            run: self.run.map(RunId),
        })
    }
}
