//! Links between memories: that they lead somewhere, and what was made of what.
//!
//! What is made of memories is found through the table `products`: a row for each memory that some
//! kept version of the product was made of, so that nothing of a forgotten memory stays behind.

use std::collections::BTreeSet;

use redb::ReadableTable as _;

use crate::domain::id::MemoryId;
use crate::ports::StoreError;

use super::batch::Batch;
use super::codec::decode;
use super::errors::Result;
use super::records::{IdText, MemoryRecord};

impl Batch<'_> {
    /// Whether a memory is there.
    pub(super) fn is_there(&self, id: MemoryId) -> Result<bool> {
        Ok(self.tables().memories.get(id.as_u128())?.is_some())
    }

    /// Those of these memories that are there.
    pub(super) fn those_there(&self, ids: &[IdText]) -> Result<Vec<IdText>> {
        let mut there = Vec::with_capacity(ids.len());
        for id in ids {
            if self.is_there(id.0)? {
                there.push(*id);
            }
        }
        Ok(there)
    }

    /// Refuses links of `id` to what is not there, and to itself.
    pub(super) fn check_links(
        &self,
        id: MemoryId,
        mut links: impl Iterator<Item = MemoryId>,
    ) -> Result<()> {
        links.try_for_each(|link| {
            if link == id || !self.is_there(link)? {
                return Err(StoreError::BadLink(link));
            }
            Ok(())
        })
    }

    /// Notes what a version of a memory was made of.
    pub(super) fn note_sources(&mut self, product: MemoryId, record: &MemoryRecord) -> Result<()> {
        for source in &record.derived_from {
            self.change().products.insert((source.0.as_u128(), product.as_u128()), ())?;
        }
        Ok(())
    }

    /// Forgets what the versions of a memory were made of: for when they are gone.
    pub(super) fn drop_sources(
        &mut self,
        product: MemoryId,
        versions: &[(u64, Vec<u8>)],
    ) -> Result<()> {
        for (_, bytes) in versions {
            for source in decode::<MemoryRecord>(bytes)?.derived_from {
                self.change().products.remove((source.0.as_u128(), product.as_u128()))?;
            }
        }
        Ok(())
    }

    /// What the versions of a memory that is there were made of.
    pub(super) fn sources(&self, product: MemoryId) -> Result<BTreeSet<MemoryId>> {
        let mut sources = BTreeSet::new();
        let bits = product.as_u128();
        let tables = self.tables();
        let mut add = |bytes: &[u8]| -> Result<()> {
            sources.extend(decode::<MemoryRecord>(bytes)?.derived_from.iter().map(|id| id.0));
            Ok(())
        };
        if let Some(row) = tables.memories.get(bits)? {
            add(row.value())?;
        }
        for row in tables.versions.range((bits, 0)..=(bits, u64::MAX))? {
            add(row?.1.value())?;
        }
        Ok(sources)
    }

    /// Memories that were made of this one, there or forgotten and restorable.
    pub(super) fn products(&self, source: MemoryId) -> Result<Vec<MemoryId>> {
        let bits = source.as_u128();
        let rows = self.tables().products.range((bits, 0)..=(bits, u128::MAX))?;
        rows.map(|row| Ok(MemoryId::from_u128(row?.0.value().1))).collect()
    }
}
