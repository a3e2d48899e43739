//! Bringing a forgotten memory back while its grace lasts.

use crate::domain::change::Operation;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;

use super::batch::{Batch, By, NewText, StoredMemory};
use super::codec::decode;
use super::errors::{Result, damaged};
use super::records::MemoryRecord;
use super::staging::Staging;

/// Brings the memory back as a new version of itself, without vectors and without the links to what is
/// gone. `false` if it was not
/// forgotten, is erased, or its grace has passed at `now`.
pub(super) fn restore(
    batch: &mut Batch<'_>,
    id: MemoryId,
    actor: &Actor,
    now: jiff::Timestamp,
) -> Result<bool> {
    let Some(mut tombstone) = batch.forgotten(id)? else { return Ok(false) };
    if tombstone.erased_at.is_some() || tombstone.due() <= now.as_microsecond() {
        return Ok(false);
    }
    let usage = tombstone.usage.take().ok_or_else(|| damaged(format!("{id} lost its usage")))?;
    let mut versions = batch.take_forgotten_versions(id, &tombstone)?;
    let (_, latest) = versions.last().ok_or_else(|| damaged(format!("{id} lost its content")))?;
    let mut record: MemoryRecord = decode(latest)?;
    let mut staging = Staging::default();
    record.contradicts = batch.those_there(&record.contradicts)?;
    if let Some(summary) = record.consolidated_into
        && !staging.is_made_of(batch, summary.0, id)?
    {
        record.consolidated_into = None;
    }
    let restored = StoredMemory {
        id,
        record: MemoryRecord {
            version: record.version + 1,
            updated_at: now.as_microsecond(),
            ..record
        },
        usage,
    };
    batch.insert(&restored)?;
    let tables = batch.change();
    tables.forgotten.remove(id.as_u128())?;
    for (version, bytes) in versions.drain(..) {
        tables.versions.insert((id.as_u128(), version), bytes.as_slice())?;
    }
    let by = By::new(actor, now);
    batch.announce(by, Operation::Restore, &restored, &[], NewText::Yes(None))?;
    staging.link_back(batch, id, &[], &restored.record.contradicts)?;
    staging.write(batch, by, None)?;
    Ok(true)
}
