//! Everything that a store holds, as bytes: two states are the same if and only if their dumps are.

use std::collections::BTreeMap;

use redb::{Key, ReadTransaction, ReadableTable as _, TableDefinition, TableError, Value};

use crate::store::RedbStore;
use crate::store::errors::Result;
use crate::store::tables::{
    BACKUPS, BY_KIND, BY_LAST_USE, BY_TAG, BY_TIME, DEDUPE, ERASURES, FORGOTTEN, FORGOTTEN_TURNS,
    FORGOTTEN_VERSIONS, HANDLES, JOBS, LOG, LOG_OF, MARKS, MEMORIES, META, NAMESPACE_COUNTS,
    NAMESPACES, OUTBOX, OUTBOX_BY_STATE, OUTBOX_OF, PENDING, PRODUCTS, REMINDER_HANDLES,
    REMINDER_STANDINGS, REMINDER_TOPICS, REMINDER_WAKES, REMINDERS, REMINDERS_OF, REQUEST_AGES,
    REQUESTS, RUN_CHANGES, RUNS, SESSION_LOOKS, SESSION_SUMMARIES, SESSIONS, SINK_STATES, SPACES,
    STRENGTHS, TURNS, USAGE, VECTOR_SETS, VECTORS, VERSIONS,
};

/// (table, key) to value.
pub(super) type Dump = BTreeMap<(String, Vec<u8>), Vec<u8>>;

/// Reads all tables.
pub(super) async fn dump(store: &RedbStore) -> Result<Dump> {
    let dump_whole = |transaction: &ReadTransaction| {
        assert_eq!(transaction.list_tables()?.count(), 45, "a table is missing in `dump_all`");
        dump_all(transaction)
    };
    store.begin_read().await?.read(dump_whole).await
}

/// Reads the tables of the present format.
pub(super) fn dump_all(transaction: &ReadTransaction) -> Result<Dump> {
    let mut dump = Dump::new();
    macro_rules! add {
        ($($table:ident)+) => { $(add(transaction, $table, &mut dump)?;)+ };
    }
    add! {
        META NAMESPACES NAMESPACE_COUNTS MEMORIES USAGE VERSIONS BY_TIME BY_KIND BY_TAG BY_LAST_USE
        DEDUPE HANDLES SPACES VECTOR_SETS VECTORS PENDING LOG REQUESTS REQUEST_AGES FORGOTTEN
        FORGOTTEN_VERSIONS ERASURES BACKUPS PRODUCTS STRENGTHS LOG_OF MARKS JOBS RUNS RUN_CHANGES
        SESSIONS TURNS SESSION_SUMMARIES SESSION_LOOKS FORGOTTEN_TURNS REMINDERS REMINDER_WAKES
        REMINDER_STANDINGS REMINDER_HANDLES REMINDERS_OF REMINDER_TOPICS OUTBOX OUTBOX_BY_STATE
        OUTBOX_OF SINK_STATES
    }
    Ok(dump)
}

/// Adds the rows of one table.
pub(super) fn add<K: Key + 'static, V: Value + 'static>(
    transaction: &ReadTransaction,
    definition: TableDefinition<'_, K, V>,
    dump: &mut Dump,
) -> Result<()> {
    let name = redb::TableHandle::name(&definition).to_owned();
    let table = match transaction.open_table(definition) {
        // Tables are made when they are first needed.
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        table => table?,
    };
    for row in table.iter()? {
        let (key, value) = row?;
        let key = K::as_bytes(&key.value()).as_ref().to_vec();
        dump.insert((name.clone(), key), V::as_bytes(&value.value()).as_ref().to_vec());
    }
    Ok(())
}

/// The first row in which two dumps differ, in words.
pub(super) fn difference(found: &Dump, expected: &Dump) -> Option<String> {
    let text = |value: Option<&Vec<u8>>| {
        value.map_or_else(|| "nothing".to_owned(), |bytes| String::from_utf8_lossy(bytes).into())
    };
    found.keys().chain(expected.keys()).find(|key| found.get(*key) != expected.get(*key)).map(
        |key| {
            let (found, expected) = (text(found.get(key)), text(expected.get(key)));
            format!("{} {:x?}: {found:?} instead of {expected:?}", key.0, key.1)
        },
    )
}
