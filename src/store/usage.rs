//! Usage of memories: kept beside the record, so that using one is no change of it.

use crate::domain::change::UsageNote;

use super::batch::Batch;
use super::codec::encode;
use super::errors::Result;
use super::indexes::last_use;

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
