//! Counts and sizes.

use redb::{ReadTransaction, ReadableTableMetadata};

use crate::ports::StoreReport;

use super::errors::{Result, damaged};
use super::tables::{
    ERASURES, MEMORIES, META, META_FORMAT, META_SEQUENCE, NAMESPACE_COUNTS, NAMESPACES, meta,
};

/// What the file says of itself; place, size and queue are added by the caller.
pub(super) fn report(transaction: &ReadTransaction) -> Result<StoreReport> {
    let counts = transaction.open_table(NAMESPACE_COUNTS)?;
    let mut namespaces = Vec::new();
    for row in transaction.open_table(NAMESPACES)?.range::<&str>(..)? {
        let (namespace, number) = row?;
        let count = counts.get(number.value())?.map_or(0, |count| count.value());
        namespaces.push((namespace.value().parse().map_err(damaged)?, count));
    }
    let numbers = transaction.open_table(META)?;
    Ok(StoreReport {
        n_memories: transaction.open_table(MEMORIES)?.len()?,
        namespaces,
        n_forgotten_pending: transaction.open_table(ERASURES)?.len()?,
        sequence: meta(&numbers, META_SEQUENCE)?,
        format_version: u32::try_from(meta(&numbers, META_FORMAT)?).map_err(damaged)?,
        ..StoreReport::default()
    })
}
