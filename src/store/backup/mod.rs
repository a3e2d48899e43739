//! Backups of the store: making them while it goes on, proving them, and putting one in its place.
//!
//! `trailer` is the form of the file, `copy` writes one, `inspect` proves one, `restore` swaps one in.
//! Where backups were made is kept in the store (`BACKUPS`), so that a receipt of forgetting can name
//! those that still hold a memory; those in the usual place are found by looking, too.

mod copy;
mod inspect;
mod restore;
mod trailer;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use jiff::Timestamp;
use redb::{ReadTransaction, TableError};
use serde::{Deserialize, Serialize};

use super::RedbStore;
use super::batch::Batch;
use super::codec::{Stored, decode, encode};
use super::errors::Result as StoreResult;
use super::open::open_plain;
use super::records::{Unknown, time};
use super::snapshot::blocking;
use super::tables::{BACKUPS, META, META_CREATED_AT, meta};
use crate::domain::backup::{backup_name, is_backup_name};
use crate::domain::limits::BACKUPS_REMEMBERED_MAX;
use crate::ports::{Backup, BackupError, Backups, StoreError};

pub(in crate::store) use restore::sweep;
pub use restore::{Forgets, RestoreError, Restored, newest_kept, restore_backup};

use trailer::Trailer;

/// The backups of a store, with their usual place.
#[derive(Debug)]
pub struct RedbBackups {
    store: Arc<RedbStore>,
    dir: PathBuf,
    is_running: Arc<AtomicBool>,
}

impl RedbBackups {
    /// The backups of `store`; the directory `dir` is made when one is.
    pub fn new(store: Arc<RedbStore>, dir: PathBuf) -> Self {
        Self { store, dir, is_running: Arc::default() }
    }

    async fn make_one(&self, to: Option<PathBuf>, now: Timestamp) -> Result<Backup, BackupError> {
        if self.is_running.swap(true, Ordering::SeqCst) {
            return Err(BackupError::Running);
        }
        let running = Running(Arc::clone(&self.is_running));
        let to = if let Some(to) = to {
            to
        } else {
            // One that is there already belongs to somebody: it stays as it is.
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.dir)
                .map_err(|error| copy::file_error("make the directory", &self.dir, &error))?;
            remove_partial(&self.dir);
            self.dir.join(backup_name(now))
        };
        let snapshot = self.store.begin_read().await?;
        // Whoever asked may go away; the next one begins when this thread is done.
        let made = on_thread(move || {
            let _running = running;
            copy::write(snapshot.transaction(), &to, now)
        })
        .await?;
        let record = made.clone();
        match self.store.writer.write(move |batch| remember(batch, &record)).await {
            // A store that ends with the process has nothing to keep in mind.
            Ok(()) | Err(StoreError::Gone(_)) => Ok(made),
            Err(error) => Err(error.into()),
        }
    }

    /// Where the store says that its backups are, and which store it is.
    async fn recorded(&self) -> StoreResult<(u64, BTreeMap<Timestamp, Backup>)> {
        let snapshot = self.store.begin_read().await?;
        snapshot
            .read(|transaction| {
                let store = meta(&transaction.open_table(META)?, META_CREATED_AT)?;
                Ok((store, recorded(transaction)?))
            })
            .await
    }

    /// The backups in the usual place that are of this store and have a name that tells their time.
    async fn found(&self, store: u64) -> Result<Vec<Backup>, BackupError> {
        let dir = self.dir.clone();
        on_thread(move || {
            let mut found = backups_in(&dir)?;
            found.retain(|(trailer, _)| trailer.store == store);
            Ok(found.into_iter().map(|(_, backup)| backup).collect())
        })
        .await
    }
}

impl Backups for RedbBackups {
    fn make(
        &self,
        to: Option<PathBuf>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Backup, BackupError>> {
        Box::pin(self.make_one(to, now))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Backup>, BackupError>> {
        Box::pin(async move {
            let (store, mut all) = self.recorded().await?;
            let found = self.found(store).await?;
            let dir = self.dir.clone();
            on_thread(move || {
                all.retain(|_, backup| is_elsewhere(backup, &dir));
                all.extend(found.into_iter().map(|backup| (backup.created_at, backup)));
                Ok(all.into_values().collect())
            })
            .await
        })
    }

    fn prune(&self, keep: usize) -> BoxFuture<'_, Result<usize, BackupError>> {
        Box::pin(async move {
            let (store, _) = self.recorded().await?;
            let mut found = self.found(store).await?;
            let n_surplus = found.len().saturating_sub(keep);
            found.truncate(n_surplus);
            let paths = found.into_iter().map(|backup| backup.path);
            on_thread(move || {
                for path in paths {
                    fs::remove_file(&path)
                        .map_err(|error| copy::file_error("remove", &path, &error))?;
                }
                Ok(n_surplus)
            })
            .await
        })
    }

    fn place(&self) -> &Path {
        &self.dir
    }
}

/// Says at its end that the next backup may begin.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// Whether a backup that the store remembers is one that a look into `dir` does not find, and not one
/// that somebody removed. What is on a disk that is not there now still holds what it holds.
fn is_elsewhere(backup: &Backup, dir: &Path) -> bool {
    let name = backup.path.file_name().and_then(|name| name.to_str());
    let is_usual = backup.path.parent() == Some(dir) && name.is_some_and(is_backup_name);
    let is_gone = !backup.path.exists() && backup.path.parent().is_some_and(Path::exists);
    !is_usual && !is_gone
}

/// The newest backup in `dir` by what its trailer says; it is not proven.
pub fn newest_backup(dir: &Path) -> Option<Backup> {
    backups_in(dir).ok()?.pop().map(|(_, backup)| backup)
}

/// Proves the backup at `path`, which is not changed.
///
/// # Errors
/// What is wrong with it, in words.
pub fn verify_backup(path: &Path) -> Result<Backup, String> {
    inspect::prove(path).map_err(|error| error.to_string())
}

/// The backups in `dir` with a name that tells their time, oldest first.
fn backups_in(dir: &Path) -> Result<Vec<(Trailer, Backup)>, BackupError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(copy::file_error("read the directory", dir, &error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| copy::file_error("read the directory", dir, &error))?;
        if !entry.file_name().to_str().is_some_and(is_backup_name) {
            continue;
        }
        let path = entry.path();
        let trailer = open_plain(&path).ok().and_then(|mut file| Trailer::read(&mut file).ok());
        // What does not read as a backup is not ours to count or to remove.
        if let Some(trailer) = trailer {
            found.push((trailer, trailer.backup(&path)));
        }
    }
    found.sort_by(|(_, a), (_, b)| {
        a.created_at.cmp(&b.created_at).then_with(|| a.path.cmp(&b.path))
    });
    Ok(found)
}

/// Removes what an interrupted backup left in the usual place.
fn remove_partial(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_partial = name
            .to_str()
            .and_then(|name| name.strip_suffix(copy::PARTIAL))
            .is_some_and(is_backup_name);
        if is_partial {
            // One that cannot be removed only costs space.
            let _is_removed = fs::remove_file(entry.path()).is_ok();
        }
    }
}

/// Runs work on a thread that may wait.
async fn on_thread<T, F>(work: F) -> Result<T, BackupError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, BackupError> + Send + 'static,
{
    blocking(move || Ok(work())).await?
}

/// What redb says of a durability that it does not take.
fn durability_error(error: impl std::fmt::Display) -> StoreError {
    StoreError::Io(error.to_string())
}

/// Where a backup is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct BackupRecord {
    path: String,
    n_bytes: u64,
    n_memories: u64,
    n_forgotten: u64,
    sequence: u64,
    #[serde(flatten)]
    unknown: Unknown,
}

impl Stored for BackupRecord {
    const WHAT: &'static str = "record of a backup";
}

/// Keeps in mind where a backup is, and drops the oldest of too many.
fn remember(batch: &mut Batch<'_>, made: &Backup) -> StoreResult<()> {
    let record = encode(&BackupRecord {
        path: made.path.to_string_lossy().into_owned(),
        n_bytes: made.n_bytes,
        n_memories: made.n_memories,
        n_forgotten: made.n_forgotten,
        sequence: made.sequence,
        unknown: Unknown::new(),
    })?;
    let table = &mut batch.change().backups;
    table.insert(made.created_at.as_microsecond(), record.as_slice())?;
    while redb::ReadableTableMetadata::len(table)? > BACKUPS_REMEMBERED_MAX as u64 {
        table.pop_first()?;
    }
    Ok(())
}

/// The backups that the store remembers.
fn recorded(transaction: &ReadTransaction) -> StoreResult<BTreeMap<Timestamp, Backup>> {
    let table = match transaction.open_table(BACKUPS) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(BTreeMap::new()),
        other => other?,
    };
    let mut all = BTreeMap::new();
    for row in table.range::<i64>(..)? {
        let (at, record) = row?;
        let record: BackupRecord = decode(record.value())?;
        let created_at = time(at.value())?;
        let backup = Backup {
            path: record.path.into(),
            created_at,
            n_bytes: record.n_bytes,
            n_memories: record.n_memories,
            n_forgotten: record.n_forgotten,
            sequence: record.sequence,
        };
        all.insert(created_at, backup);
    }
    Ok(all)
}
