//! What is made of memories: nothing of a forgotten one is left, and all of it is found.
//!
//! Other links are not proven: an import takes in what another store held, in which they need not
//! agree, and one that leads nowhere does no harm.

use std::collections::BTreeSet;

use redb::{ReadTransaction, ReadableTable as _, ReadableTableMetadata as _};

use super::super::batch::StoredMemory;
use super::super::codec::decode;
use super::super::errors::Result;
use super::super::records::{IdText, MemoryRecord};
use super::super::tables::{
    FORGOTTEN, FORGOTTEN_VERSIONS, MEMORIES, PRODUCTS, VERSIONS, open_newer,
};
use super::{Verified, has};
use crate::domain::id::MemoryId;

/// What one memory is made of.
pub(super) fn check(
    transaction: &ReadTransaction,
    stored: &StoredMemory,
    found: &mut Verified,
) -> Result<()> {
    let id = stored.id;
    let forgotten = transaction.open_table(FORGOTTEN)?;
    for IdText(source) in &stored.record.derived_from {
        let is_forgotten = has(&forgotten, source.as_u128())?;
        found.expect(!is_forgotten, || format!("{id}: made of {source}, which is forgotten"));
        found.expect(*source != id, || format!("{id}: made of itself"));
    }
    Ok(())
}

/// The table `products` holds what the versions that are kept were made of, and nothing else.
pub(super) fn check_products(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let mut expected = Expected::default();
    for row in transaction.open_table(MEMORIES)?.iter()? {
        let (id, record) = row?;
        let bits = id.value();
        expected.begin();
        expected.add(transaction, bits, record.value(), found)?;
        let versions = transaction.open_table(VERSIONS)?;
        for row in versions.range((bits, 0)..=(bits, u64::MAX))? {
            expected.add(transaction, bits, row?.1.value(), found)?;
        }
    }
    let mut before = None;
    for row in transaction.open_table(FORGOTTEN_VERSIONS)?.iter()? {
        let (key, record) = row?;
        let (bits, _) = key.value();
        if before.replace(bits) != Some(bits) {
            expected.begin();
        }
        expected.add(transaction, bits, record.value(), found)?;
    }
    let n_rows = match open_newer(transaction, PRODUCTS)? {
        Some(table) => table.len()?,
        None => 0,
    };
    found.expect_len("products", n_rows, expected.n_rows);
    Ok(())
}

/// Rows that `products` should have.
#[derive(Default)]
struct Expected {
    n_rows: u64,
    /// What the versions of the memory at hand were made of so far.
    sources: BTreeSet<MemoryId>,
}

impl Expected {
    /// The versions of another memory follow.
    fn begin(&mut self) {
        self.sources.clear();
    }

    fn add(
        &mut self,
        transaction: &ReadTransaction,
        product: u128,
        record: &[u8],
        found: &mut Verified,
    ) -> Result<()> {
        let sources = decode::<MemoryRecord>(record)?.derived_from;
        if sources.is_empty() {
            return Ok(());
        }
        let table = open_newer(transaction, PRODUCTS)?;
        for IdText(source) in sources {
            if !self.sources.insert(source) {
                continue;
            }
            self.n_rows += 1;
            let is_there = match &table {
                Some(table) => has(table, (source.as_u128(), product))?,
                None => false,
            };
            found.expect(is_there, || {
                let product = MemoryId::from_u128(product);
                format!("{product}: no row in products under {source}")
            });
        }
        Ok(())
    }
}
