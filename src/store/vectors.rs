//! Vectors of memories, apart from their records; and which memories still wait for some.
//!
//! For each embedding space a memory has either a vector set or a row in `pending`. A set names the
//! version of the record whose text it was made from.

use redb::ReadableTable;

use crate::domain::change::{Effect, Operation, VectorsFor};
use crate::domain::embedding::{Embedded, SpaceId};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;

use super::batch::{Batch, By, StoredMemory};
use super::codec::decode;
use super::errors::{Result, damaged};
use super::spaces::SpaceRecord;
use super::tables::{META_SPACE, meta, vector_bytes, vector_from_bytes};

/// Who attaches vectors that were made later, in the log.
const EMBED_JOB: Actor = Actor::Job("embed");

/// Attaches vectors made after their memory was stored, but for those whose memory is gone or has
/// another text by now. Returns how many memories got theirs.
pub(super) fn attach_late(
    batch: &mut Batch<'_>,
    late: &[VectorsFor],
    at: jiff::Timestamp,
) -> Result<u64> {
    batch.may_grow()?;
    let mut n_attached = 0;
    for VectorsFor { id, version, embedded } in late {
        let Some(stored) = batch.load(*id)? else { continue };
        let made_from_this_text =
            (stored.record.content_version..=stored.record.version).contains(version);
        if made_from_this_text && batch.attach(*id, *version, embedded)? {
            let by = By::new(&EMBED_JOB, at);
            batch.announce_vectors(by, *id, stored.record.version, embedded)?;
            n_attached += 1;
        }
    }
    Ok(n_attached)
}

impl Batch<'_> {
    /// Stores the vectors of a memory, made from this version of it, instead of those it had in
    /// that space. Returns whether they were stored: vectors that do not fit their space (another
    /// dimension, no number, none at all) are not.
    pub(super) fn attach(
        &mut self,
        id: MemoryId,
        version: u64,
        embedded: &Embedded,
    ) -> Result<bool> {
        if !self.fits(embedded)? {
            return Ok(false);
        }
        let (space, bits) = (embedded.space.0, id.as_u128());
        self.drop_set(space, id)?;
        let n_chunks = u32::try_from(embedded.chunks.len()).map_err(damaged)?;
        let tables = self.change();
        for (chunk, vector) in (0..n_chunks).zip(&embedded.chunks) {
            tables.vectors.insert((space, bits, chunk), vector_bytes(vector).as_slice())?;
        }
        tables.vector_sets.insert((space, bits), (version, n_chunks))?;
        tables.pending.remove((space, bits))?;
        Ok(true)
    }

    /// Stores the vectors that came with a new text, if there are any. Returns those stored.
    pub(super) fn attach_new(
        &mut self,
        stored: &StoredMemory,
        embedded: Option<&Embedded>,
    ) -> Result<Option<Embedded>> {
        let Some(embedded) = embedded else { return Ok(None) };
        let is_attached = self.attach(stored.id, stored.record.version, embedded)?;
        Ok(is_attached.then(|| embedded.clone()))
    }

    /// Logs vectors that came later and tells the listener.
    pub(super) fn announce_vectors(
        &mut self,
        by: By<'_>,
        id: MemoryId,
        version: u64,
        embedded: &Embedded,
    ) -> Result<()> {
        let sequence = self.log(by, Operation::Embed, id, version, &[])?;
        self.tell(sequence, Effect::Embedded { id, embedded: embedded.clone() });
        Ok(())
    }

    /// Marks a memory as waiting for vectors in every space that stays, and drops those it has.
    pub(super) fn await_vectors(&mut self, id: MemoryId) -> Result<()> {
        for (space, record) in self.spaces()? {
            self.drop_set(space, id)?;
            if !record.is_dropped {
                self.change().pending.insert((space, id.as_u128()), ())?;
            }
        }
        Ok(())
    }

    /// Takes away all vectors of a memory and that it waits for some.
    pub(super) fn forget_vectors(&mut self, id: MemoryId) -> Result<()> {
        for (space, _) in self.spaces()? {
            self.drop_set(space, id)?;
            self.change().pending.remove((space, id.as_u128()))?;
        }
        Ok(())
    }

    /// Whether a memory has vectors in `space`.
    pub(super) fn has_vectors(&self, space: u32, id: MemoryId) -> Result<bool> {
        Ok(self.tables().vector_sets.get((space, id.as_u128()))?.is_some())
    }

    /// Whether a memory has vectors in the space in use.
    pub(super) fn has_present_vectors(&self, id: MemoryId) -> Result<bool> {
        self.has_vectors(self.present_space()?, id)
    }

    /// The vectors that a memory has in the space in use.
    pub(super) fn present_vectors(&self, id: MemoryId) -> Result<Option<Embedded>> {
        let (space, bits) = (self.present_space()?, id.as_u128());
        let rows = self.tables().vectors.range((space, bits, 0)..=(space, bits, u32::MAX))?;
        let chunks: Vec<_> =
            rows.map(|row| vector_from_bytes(row?.1.value())).collect::<Result<_>>()?;
        Ok((!chunks.is_empty()).then_some(Embedded { space: SpaceId(space), chunks }))
    }

    fn present_space(&self) -> Result<u32> {
        u32::try_from(meta(&self.tables().meta, META_SPACE)?).map_err(damaged)
    }

    /// The spaces there are, in order of creation.
    fn spaces(&self) -> Result<Vec<(u32, SpaceRecord)>> {
        let mut spaces = Vec::new();
        for row in self.tables().spaces.iter()? {
            let (number, record) = row?;
            spaces.push((number.value(), decode(record.value())?));
        }
        Ok(spaces)
    }

    fn fits(&self, embedded: &Embedded) -> Result<bool> {
        let Some(row) = self.tables().spaces.get(embedded.space.0)? else { return Ok(false) };
        let space: SpaceRecord = decode(row.value())?;
        let fits = |vector: &[f32]| {
            vector.len() == space.model.dimension && vector.iter().all(|x| x.is_finite())
        };
        let has_room = !space.is_dropped && !embedded.chunks.is_empty();
        Ok(has_room && embedded.chunks.iter().all(|chunk| fits(chunk)))
    }

    fn drop_set(&mut self, space: u32, id: MemoryId) -> Result<()> {
        let bits = id.as_u128();
        if !self.has_vectors(space, id)? {
            return Ok(());
        }
        let tables = self.change();
        let set = tables.vector_sets.remove((space, bits))?.map(|row| row.value());
        for chunk in 0..set.map_or(0, |(_, n_chunks)| n_chunks) {
            tables.vectors.remove((space, bits, chunk))?;
        }
        Ok(())
    }
}
