//! The change log: its rows, and trimming it.

use redb::ReadableTable;
use serde::{Deserialize, Serialize};

use crate::domain::change::LogEntry;
use crate::domain::limits::SCAN_PAGE;

use super::batch::Batch;
use super::codec::{Stored, decode};
use super::errors::Result;
use super::records::{IdText, time};
use super::tables::META_LOG_START;

/// Drops entries up to `sequence` that are older than `before`, oldest first and without leaving
/// holes, at most a page of them. Returns how many.
pub(super) fn trim(batch: &mut Batch<'_>, sequence: u64, before: jiff::Timestamp) -> Result<u64> {
    batch.may_tidy()?;
    let mut dropped = Vec::new();
    for row in batch.tables().log.range(..=sequence)?.take(SCAN_PAGE) {
        let (number, record) = row?;
        if decode::<LogRecord>(record.value())?.at >= before.as_microsecond() {
            break;
        }
        dropped.push(number.value());
    }
    let Some(last) = dropped.last() else { return Ok(0) };
    let tables = batch.change();
    for number in &dropped {
        tables.log.remove(*number)?;
    }
    tables.meta.insert(META_LOG_START, last + 1)?;
    Ok(dropped.len() as u64)
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
        })
    }
}
