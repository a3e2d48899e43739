//! Embedding spaces: one for each identity of a model that was ever used.

use redb::ReadableTable;

use crate::domain::embedding::{ModelIdentity, SpaceId};

use super::batch::Batch;
use super::codec::{decode, encode};
use super::errors::{Result, damaged};
use super::records::SpaceRecord;

/// The space of `model`. If it is new, every memory waits for vectors in it.
pub(super) fn find_or_make(
    batch: &mut Batch<'_>,
    model: &ModelIdentity,
    now: jiff::Timestamp,
) -> Result<SpaceId> {
    let wanted = SpaceRecord::new(model, now);
    let mut next = 0;
    for row in batch.tables().spaces.iter()? {
        let (number, record) = row?;
        if decode::<SpaceRecord>(record.value())?.is_same_model(&wanted) {
            return Ok(SpaceId(number.value()));
        }
        next = number.value().checked_add(1).ok_or_else(|| damaged("no space number is left"))?;
    }
    let bytes = encode(&wanted)?;
    let tables = batch.change();
    tables.spaces.insert(next, bytes.as_slice())?;
    for row in tables.memories.iter()? {
        tables.pending.insert((next, row?.0.value()), ())?;
    }
    Ok(SpaceId(next))
}
