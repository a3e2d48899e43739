//! Trimming the change log.

use redb::ReadableTable;

use crate::domain::limits::SCAN_PAGE;

use super::batch::Batch;
use super::codec::decode;
use super::errors::Result;
use super::records::LogRecord;
use super::tables::META_LOG_START;

/// Drops entries up to `sequence` that are older than `before`, oldest first and without leaving
/// holes, at most a page of them. Returns how many.
pub(super) fn trim(batch: &mut Batch<'_>, sequence: u64, before: jiff::Timestamp) -> Result<u64> {
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
