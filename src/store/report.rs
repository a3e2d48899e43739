//! Counts and sizes.

use redb::{ReadTransaction, ReadableTableMetadata, TableDefinition};

use crate::ports::StoreReport;

use super::errors::{Result, damaged};
use super::tables::{
    ERASURES, MEMORIES, META, META_FORMAT, META_SEQUENCE, NAMESPACE_COUNTS, NAMESPACES, OUTBOX,
    REMINDERS, meta, open_newer,
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
        n_reminders: n_rows(transaction, REMINDERS)?,
        n_deliveries: n_rows(transaction, OUTBOX)?,
        n_forgotten_pending: transaction.open_table(ERASURES)?.len()?,
        sequence: meta(&numbers, META_SEQUENCE)?,
        format_version: u32::try_from(meta(&numbers, META_FORMAT)?).map_err(damaged)?,
        ..StoreReport::default()
    })
}

fn n_rows(
    transaction: &ReadTransaction,
    table: TableDefinition<'static, u128, &'static [u8]>,
) -> Result<u64> {
    let table = open_newer(transaction, table)?;
    Ok(table.map(|table| table.len()).transpose()?.unwrap_or_default())
}
