//! The version of the stored format, and how an older file becomes one of this version.

use redb::{Database, ReadableDatabase, ReadableTable as _, WriteTransaction};

use super::codec::decode;
use super::errors::{Result, damaged};
use super::log::LogRecord;
use super::tables::{
    META, META_CREATED_AT, META_FORMAT, META_IDENTITY, META_LOG_INDEXED, META_LOG_START,
    META_SEQUENCE, Tables, meta,
};

/// Makes a file of one version one of the next.
pub(super) type Migration = fn(&WriteTransaction) -> Result<()>;

/// In order: the first makes version 2 of version 1.
pub(super) const MIGRATIONS: &[Migration] = &[];

/// The version that this code reads and writes.
pub const FORMAT_VERSION: u32 = version_after(MIGRATIONS);

const fn version_after(migrations: &[Migration]) -> u32 {
    let mut version = 1;
    let mut n_left = migrations.len();
    while n_left > 0 {
        version += 1;
        n_left -= 1;
    }
    version
}

/// Writes the tables and the version into an empty database.
pub(super) fn create(database: &Database, now: jiff::Timestamp) -> Result<()> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    let mut tables = Tables::open(&transaction)?;
    tables.meta.insert(META_FORMAT, u64::from(FORMAT_VERSION))?;
    tables.meta.insert(META_CREATED_AT, now.as_microsecond().unsigned_abs())?;
    tables.meta.insert(META_IDENTITY, new_identity())?;
    drop(tables);
    transaction.commit()?;
    Ok(())
}

/// The version of the file.
pub(super) fn stored_version(database: &impl ReadableDatabase) -> Result<u32> {
    let table = database.begin_read()?.open_table(META)?;
    match u32::try_from(meta(&table, META_FORMAT)?) {
        Ok(version) if version > 0 => Ok(version),
        Ok(_) | Err(_) => Err(damaged("the file names no format version")),
    }
}

/// Gives the file an identity if it has none: written before there were any, or a restored copy.
pub(super) fn identify(database: &Database) -> Result<()> {
    let identity = meta(&database.begin_read()?.open_table(META)?, META_IDENTITY)?;
    if identity != 0 {
        return Ok(());
    }
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    transaction.open_table(META)?.insert(META_IDENTITY, new_identity())?;
    transaction.commit()?;
    Ok(())
}

/// Adds to `log_of` the log entries that a version without that table has written, and takes out those
/// that it has trimmed.
pub(super) fn index_log(database: &Database) -> Result<()> {
    let numbers = database.begin_read()?.open_table(META)?;
    let (indexed, sequence) = (meta(&numbers, META_LOG_INDEXED)?, meta(&numbers, META_SEQUENCE)?);
    if indexed == sequence {
        return Ok(());
    }
    let log_start = meta(&numbers, META_LOG_START)?;
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    let mut tables = Tables::open(&transaction)?;
    tables.log_of.retain(|(_, sequence), ()| sequence >= log_start)?;
    for row in tables.log.range(indexed.saturating_add(1)..)? {
        let (sequence, record) = row?;
        // An entry that cannot be read is damage to be told of, not a reason to keep all else shut.
        let Ok(record) = decode::<LogRecord>(record.value()) else { continue };
        tables.log_of.insert((record.id.0.as_u128(), sequence.value()), ())?;
    }
    tables.meta.insert(META_LOG_INDEXED, sequence)?;
    drop(tables);
    transaction.commit()?;
    Ok(())
}

/// Any number but 0, which stands for none.
fn new_identity() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().1
}

/// Carries out what `migrations` a file of version `from` lacks, all in one transaction.
pub(super) fn migrate(database: &Database, from: u32, migrations: &[Migration]) -> Result<()> {
    let target = version_after(migrations);
    if from >= target {
        return Ok(());
    }
    let n_done = usize::try_from(from.saturating_sub(1)).map_err(damaged)?;
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    for migration in migrations.iter().skip(n_done) {
        migration(&transaction)?;
    }
    transaction.open_table(META)?.insert(META_FORMAT, u64::from(target))?;
    transaction.commit()?;
    Ok(())
}
