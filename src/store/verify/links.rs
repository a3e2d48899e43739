//! Links between memories: none leads to what is forgotten, and where both ends are there they agree.
//!
//! A link may lead to what was never here: an import takes in memories one after the other, and not
//! always all of them.

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

/// The links of one memory.
pub(super) fn check(
    transaction: &ReadTransaction,
    stored: &StoredMemory,
    found: &mut Verified,
) -> Result<()> {
    let (id, record) = (stored.id, &stored.record);
    let forgotten = transaction.open_table(FORGOTTEN)?;
    let memories = transaction.open_table(MEMORIES)?;
    let far = |other: &IdText| -> Result<Option<MemoryRecord>> {
        memories.get(other.0.as_u128())?.map(|row| decode(row.value())).transpose()
    };
    let links = record.derived_from.iter().chain(&record.consolidated_into);
    for other in links.chain(&record.contradicts) {
        let is_forgotten = has(&forgotten, other.0.as_u128())?;
        found.expect(!is_forgotten, || format!("{id}: leads to {}, which is forgotten", other.0));
        found.expect(other.0 != id, || format!("{id}: leads to itself"));
    }
    if let Some(summary) = &record.consolidated_into {
        let is_of_it = far(summary)?.is_none_or(|far| far.derived_from.contains(&IdText(id)));
        found.expect(is_of_it, || format!("{id}: {} does not speak for it", summary.0));
    }
    for other in &record.contradicts {
        let names_it = far(other)?.is_none_or(|far| far.contradicts.contains(&IdText(id)));
        found.expect(names_it, || format!("{id}: {} does not say otherwise", other.0));
    }
    Ok(())
}

/// The table `products` holds what the versions that are kept were made of, and nothing else.
pub(super) fn check_products(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let mut expected = Expected { n_rows: 0, last: None };
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
struct Expected {
    n_rows: u64,
    /// What the versions of the memory at hand were made of so far.
    last: Option<Vec<IdText>>,
}

impl Expected {
    /// The versions of another memory follow.
    fn begin(&mut self) {
        self.last = None;
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
        let known = self.last.get_or_insert_default();
        for source in sources {
            if known.contains(&source) {
                continue;
            }
            known.push(source);
            self.n_rows += 1;
            let is_there = match &table {
                Some(table) => has(table, (source.0.as_u128(), product))?,
                None => false,
            };
            found.expect(is_there, || {
                let product = MemoryId::from_u128(product);
                format!("{product}: no row in products under {}", source.0)
            });
        }
        Ok(())
    }
}
