//! Writing a backup: a snapshot, copied table by table into a file of its own.
//!
//! The file is new, so that no freed page with forgotten bytes comes along, and it has its name only
//! when it is whole, on the disk and proven.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use redb::{
    Database, Durability, Key, ReadTransaction, ReadableDatabase as _, ReadableTable as _,
    ReadableTableMetadata as _, TableDefinition, TableError, TableHandle as _, Value,
};

use super::super::codec::{decode, encode};
use super::super::errors::Result as StoreResult;
use super::super::forget::ForgottenRecord;
use super::super::refusal::catch_text;
use super::super::tables::{
    ERASURES, FORGOTTEN, FORGOTTEN_VERSIONS, MEMORIES, META, META_CREATED_AT, META_FORMAT,
    META_IDENTITY, META_SEQUENCE, TableVisitor, meta, visit_tables,
};
use super::super::{StoreSettings, open};
use super::inspect::{self, InspectError};
use super::trailer::Trailer;
use crate::domain::limits::{BACKUP_CACHE_BYTES, BACKUP_ROWS_PER_COMMIT, SCAN_PAGE};
use crate::ports::{Backup, BackupError, StoreError};

/// Ends the name of a backup that is being written.
pub(super) const PARTIAL: &str = ".partial";

/// Writes what `snapshot` shows to `to`, which must not exist. Whatever fails, nothing is left.
pub(super) fn write(
    snapshot: &ReadTransaction,
    to: &Path,
    now: Timestamp,
) -> Result<Backup, BackupError> {
    if to.try_exists().map_err(|error| file_error("look for", to, &error))? {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let partial = Partial::create(to)?;
    // redb panics on some files that something else has altered.
    let counts = catch_text(|| fill(snapshot, &partial.path, now))
        .unwrap_or_else(|reason| Err(StoreError::Damaged(reason)))
        .map_err(|error| partial.store_error(error))?;
    let trailer =
        seal(&partial.path, counts).map_err(|error| file_error("write", &partial.path, &error))?;
    match inspect::prove(&partial.path) {
        Ok(_) => {}
        Err(InspectError::Unsound(what)) => return Err(BackupError::Unsound(what)),
        Err(error) => return Err(BackupError::Unsound(error.to_string())),
    }
    partial.finish(to)?;
    Ok(trailer.backup(to))
}

/// A file that is removed unless it is finished.
struct Partial {
    path: PathBuf,
    is_finished: bool,
}

impl Partial {
    fn create(to: &Path) -> Result<Self, BackupError> {
        let name = to.file_name().ok_or_else(|| BackupError::File {
            verb: "write",
            path: to.to_owned(),
            reason: "it names no file".to_owned(),
        })?;
        let mut name = name.to_owned();
        name.push(PARTIAL);
        let path = to.with_file_name(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(file_error("remove", &path, &error));
            }
            Ok(()) | Err(_) => {}
        }
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| file_error("create", &path, &error))?;
        Ok(Self { path, is_finished: false })
    }

    /// A failure of the copy, which is one of this file unless the store cannot be read.
    fn store_error(&self, error: StoreError) -> BackupError {
        match error {
            StoreError::Io(reason) | StoreError::Full(reason) | StoreError::NoRoom(reason) => {
                BackupError::File { verb: "write", path: self.path.clone(), reason }
            }
            StoreError::Damaged(_)
            | StoreError::Gone(_)
            | StoreError::Busy
            | StoreError::Closed
            | StoreError::SupersedesMissing(_)
            | StoreError::BadLink(_)
            | StoreError::RunClosed(_) => error.into(),
        }
    }

    /// Gives it its name.
    fn finish(mut self, to: &Path) -> Result<(), BackupError> {
        fs::rename(&self.path, to).map_err(|error| file_error("rename", &self.path, &error))?;
        self.is_finished = true;
        let dir = to.parent().filter(|dir| !dir.as_os_str().is_empty());
        let dir = dir.unwrap_or_else(|| Path::new("."));
        open::sync_dir(dir).map_err(|error| BackupError::File {
            verb: "write the directory",
            path: dir.to_owned(),
            reason: error.to_string(),
        })
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_finished {
            // What cannot be removed now is removed before the next one is written.
            let _is_removed = fs::remove_file(&self.path).is_ok();
        }
    }
}

pub(super) fn file_error(verb: &'static str, path: &Path, error: &io::Error) -> BackupError {
    BackupError::File { verb, path: path.to_owned(), reason: error.to_string() }
}

/// Copies everything into a new database at `path` and closes it.
fn fill(snapshot: &ReadTransaction, path: &Path, now: Timestamp) -> StoreResult<Trailer> {
    let settings = StoreSettings { cache_bytes: BACKUP_CACHE_BYTES };
    let mut database = open::builder(settings).create(path)?;
    visit_tables(&mut Copy { from: snapshot, to: &database })?;
    settle_forgotten(&database, now)?;
    let mut last = database.begin_write()?;
    // What is made of it is another store than the one that goes on.
    last.open_table(META)?.remove(META_IDENTITY)?;
    last.set_durability(Durability::Immediate).map_err(super::durability_error)?;
    last.commit()?;
    // Freed pages go, so that the file is as small as it can be.
    database.compact().map_err(|error| StoreError::Io(error.to_string()))?;
    let mut last = database.begin_write()?;
    last.set_quick_repair(true);
    last.commit()?;
    let trailer = counts(&database, now)?;
    database.close()?;
    Ok(trailer)
}

struct Copy<'a> {
    from: &'a ReadTransaction,
    to: &'a Database,
}

impl TableVisitor for Copy<'_> {
    type Error = StoreError;

    /// Copies one table, some rows a transaction, so that memory stays bounded.
    fn visit<K: Key + 'static, V: Value + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> StoreResult<()> {
        // The content of what is forgotten stays behind.
        let is_left_out = [FORGOTTEN_VERSIONS.name(), ERASURES.name()].contains(&table.name());
        let rows = match self.from.open_table(table) {
            Err(TableError::TableDoesNotExist(_)) => None,
            Ok(_) if is_left_out => None,
            other => Some(other?.range::<K::SelfType<'static>>(..)?),
        };
        let mut rows = rows.into_iter().flatten();
        loop {
            let mut transaction = self.to.begin_write()?;
            transaction.set_durability(Durability::None).map_err(super::durability_error)?;
            let mut n_copied = 0;
            let mut target = transaction.open_table(table)?;
            for row in rows.by_ref().take(BACKUP_ROWS_PER_COMMIT) {
                let (key, value) = row?;
                target.insert(key.value(), value.value())?;
                n_copied += 1;
            }
            drop(target);
            transaction.commit()?;
            if n_copied < BACKUP_ROWS_PER_COMMIT {
                return Ok(());
            }
        }
    }
}

/// What could still be restored in the store is erased in the backup.
fn settle_forgotten(database: &Database, now: Timestamp) -> StoreResult<()> {
    let mut after = None;
    loop {
        let transaction = database.begin_write()?;
        let mut table = transaction.open_table(FORGOTTEN)?;
        let first = after.map_or(0, |id: u128| id.saturating_add(1));
        let mut rows = Vec::new();
        for row in table.range(first..)?.take(SCAN_PAGE) {
            let (id, record) = row?;
            rows.push((id.value(), decode::<ForgottenRecord>(record.value())?));
        }
        let n_rows = rows.len();
        after = rows.last().map(|(id, _)| *id);
        for (id, mut record) in rows.into_iter().filter(|(_, record)| record.erased_at.is_none()) {
            record.erased_at = Some(now.as_microsecond());
            record.restorable_until = None;
            record.usage = None;
            table.insert(id, encode(&record)?.as_slice())?;
        }
        drop(table);
        transaction.commit()?;
        if n_rows < SCAN_PAGE {
            return Ok(());
        }
    }
}

/// What the file holds; its size is not known yet.
fn counts(database: &Database, now: Timestamp) -> StoreResult<Trailer> {
    let transaction = database.begin_read()?;
    let numbers = transaction.open_table(META)?;
    let format = u32::try_from(meta(&numbers, META_FORMAT)?)
        .map_err(|_| StoreError::Damaged("the store names no format version".to_owned()))?;
    Ok(Trailer {
        n_bytes: 0,
        store: meta(&numbers, META_CREATED_AT)?,
        created_at: now.as_microsecond(),
        sequence: meta(&numbers, META_SEQUENCE)?,
        n_memories: transaction.open_table(MEMORIES)?.len()?,
        n_forgotten: transaction.open_table(FORGOTTEN)?.len()?,
        format,
    })
}

/// Adds the trailer and brings everything to the disk.
fn seal(path: &Path, counts: Trailer) -> io::Result<Trailer> {
    let mut file = File::options().read(true).append(true).open(path)?;
    let trailer = Trailer { n_bytes: file.metadata()?.len(), ..counts };
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(&mut file)?;
    file.write_all(&trailer.seal(hasher))?;
    file.sync_all()?;
    Ok(trailer)
}
