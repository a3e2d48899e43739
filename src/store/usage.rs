//! Usage of memories and their materialised strengths: kept beside the record, so that using one, or
//! working out how well it is held, is no change of it.

use redb::ReadTransaction;

use crate::domain::change::UsageNote;
use crate::domain::id::MemoryId;

use super::batch::Batch;
use super::codec::encode;
use super::errors::Result;
use super::indexes::last_use;
use super::tables::{STRENGTHS, open_newer};

/// Writes usage notes; those of memories that are gone are dropped.
pub(super) fn note(batch: &mut Batch<'_>, notes: &[UsageNote]) -> Result<()> {
    batch.may_tidy()?;
    for UsageNote { id, at, recalls, anchor } in notes {
        let Some(stored) = batch.load(*id)? else { continue };
        let mut usage = stored.usage.clone();
        // Notes wait in a buffer, so a later time or anchor may be there already.
        usage.last_recalled_at = usage.last_recalled_at.max(Some(at.as_microsecond()));
        usage.recalls = usage.recalls.saturating_add(*recalls);
        if let Some(anchor) = anchor.filter(|new| new.at.as_microsecond() >= usage.anchor_at) {
            usage.anchor = anchor.value;
            usage.anchor_at = anchor.at.as_microsecond();
        }
        let bytes = encode(&usage)?;
        let tables = batch.change();
        tables.by_last_use.remove(last_use(*id, &stored.record, &stored.usage))?;
        tables.by_last_use.insert(last_use(*id, &stored.record, &usage), ())?;
        tables.usage.insert(id.as_u128(), bytes.as_slice())?;
    }
    Ok(())
}

/// Writes materialised strengths; those of memories that are gone are dropped.
pub(super) fn note_strengths(batch: &mut Batch<'_>, strengths: &[(MemoryId, f64)]) -> Result<()> {
    batch.may_tidy()?;
    for (id, strength) in strengths {
        if batch.is_there(*id)? {
            batch.change().strengths.insert(id.as_u128(), *strength)?;
        }
    }
    Ok(())
}

/// Memories with a lower materialised strength, after `after` in the order of ids.
pub(super) fn weaker_than(
    transaction: &ReadTransaction,
    strength: f64,
    after: Option<MemoryId>,
    limit: usize,
) -> Result<Vec<(f64, MemoryId)>> {
    let Some(table) = open_newer(transaction, STRENGTHS)? else { return Ok(Vec::new()) };
    let first = after.map_or(Some(0), |id| id.as_u128().checked_add(1));
    let Some(first) = first else { return Ok(Vec::new()) };
    let mut weaker = Vec::new();
    for row in table.range(first..)? {
        if weaker.len() >= limit {
            break;
        }
        let (id, found) = row?;
        if found.value() < strength {
            weaker.push((found.value(), MemoryId::from_u128(id.value())));
        }
    }
    Ok(weaker)
}
