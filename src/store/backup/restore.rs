//! Putting a backup in the place of the store, while no daemon has it.
//!
//! The backup is copied beside the store, proven there, told of what was forgotten since it was made,
//! and only then renamed. Killed at any moment, either the old store or the restored one is
//! whole under the final name. The derived indexes go before that: those of one store must never be
//! taken for those of another.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use redb::{Database, ReadOnlyTable, ReadableDatabase as _, ReadableTable as _, TableError};

use super::super::StoreSettings;
use super::super::batch::Batch;
use super::super::codec::{decode, encode};
use super::super::errors::Result as StoreResult;
use super::super::forget::{ForgottenRecord, forget};
use super::super::migrations::{self, MIGRATIONS};
use super::super::open::{self, FILE_NAME};
use super::super::overlay::Overlay;
use super::super::records::{time, times};
use super::super::refusal::{OpenError, catch_text};
use super::super::reminders;
use super::super::reserve::Room;
use super::super::sessions;
use super::super::tables::{BACKUPS, FORGOTTEN};
use super::super::verify::verify;
use super::inspect;
use super::trailer::TRAILER_BYTES;
use crate::domain::change::Forget;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::limits::SCAN_PAGE;
use crate::ports::{Backup, StoreError};

/// A backup that is being put in place.
const RESTORED_NAME: &str = "recalld.redb.restored";
/// What a derived directory is called while it is being removed.
const REMOVED_SUFFIX: &str = ".removed";
/// Begins the name of the store that was there before; the time follows.
const KEPT_PREFIX: &str = "recalld.redb.before-restore-";
/// Who forgets again, in the log.
const RESTORE_JOB: Actor = Actor::Job("restore");

/// What came of a restoration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// What is there now.
    pub backup: Backup,
    /// Where the store that was there before is.
    pub kept_as: Option<PathBuf>,
    /// What was forgotten since the backup.
    pub forgets: Forgets,
}

/// What became of the memories that the store before had forgotten since the backup was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forgets {
    /// There was no store before.
    NoStore,
    /// They are forgotten again: so many of them were in the backup.
    Applied(u64),
    /// The store before cannot be read, so some of them may be back.
    Unknown(String),
}

/// Why nothing was restored. The store is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The backup is not sound.
    #[error("{} is not restored: {reason}", path.display())]
    Backup {
        /// The backup.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The directory cannot be used, or a daemon uses it.
    #[error(transparent)]
    Directory(#[from] OpenError),
    /// The file system refused.
    #[error("cannot {verb} {}: {source}", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The copy cannot be worked with.
    #[error("cannot prepare {}: {source}", path.display())]
    Copy {
        /// The copy.
        path: PathBuf,
        /// Why.
        source: StoreError,
    },
}

/// Puts the backup at `file` in the place of the store in `dir`, and removes the directories
/// `derived` in it. The store that was there is kept beside it.
///
/// # Errors
/// [`RestoreError`]; the store is then as it was.
pub fn restore_backup(
    dir: &Path,
    file: &Path,
    derived: &[&str],
    settings: StoreSettings,
    now: Timestamp,
) -> Result<Restored, RestoreError> {
    open::make_private_dir(dir)?;
    let _lock = open::lock_dir(dir)?;
    sweep(dir).map_err(file_error("sweep", dir))?;
    let unsound = |reason: String| RestoreError::Backup { path: file.to_owned(), reason };
    inspect::prove(file).map_err(|error| unsound(error.to_string()))?;
    let copy = Copy::make(dir, file)?;
    // Proven again where it lies now.
    let mut backup = inspect::prove(&copy.path).map_err(|error| unsound(error.to_string()))?;
    file.clone_into(&mut backup.path);
    copy.cut_trailer(&backup)?;
    let path = dir.join(FILE_NAME);
    let prepared = catch_text(|| prepare(&copy.path, &path, &backup, settings))
        .unwrap_or_else(|reason| Err(StoreError::Damaged(reason)));
    let forgets =
        prepared.map_err(|source| RestoreError::Copy { path: copy.path.clone(), source })?;
    copy.sync()?;
    for name in derived {
        remove_dir(&dir.join(name))?;
    }
    open::sync_dir(dir)?;
    let kept_as = keep(dir, &path, now)?;
    copy.put_in_place(&path)?;
    open::sync_dir(dir)?;
    Ok(Restored { backup, kept_as, forgets })
}

/// The newest of the stores in `dir` that restorations have replaced.
pub fn newest_kept(dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.flatten();
    let is_kept = |entry: &fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|name| name.starts_with(KEPT_PREFIX))
    };
    // Their names end with the time.
    entries.filter(is_kept).map(|entry| entry.path()).max()
}

fn file_error(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RestoreError {
    let path = path.to_owned();
    move |source| RestoreError::File { verb, path, source }
}

/// The copy, removed unless it is put in place.
struct Copy {
    path: PathBuf,
    is_placed: bool,
}

impl Copy {
    fn make(dir: &Path, file: &Path) -> Result<Self, RestoreError> {
        let copy = Self { path: dir.join(RESTORED_NAME), is_placed: false };
        fs::copy(file, &copy.path).map_err(file_error("copy to", &copy.path))?;
        // It takes over the mode of the backup.
        fs::set_permissions(&copy.path, Permissions::from_mode(0o600))
            .map_err(file_error("make private", &copy.path))?;
        Ok(copy)
    }

    /// Leaves the store alone.
    fn cut_trailer(&self, backup: &Backup) -> Result<(), RestoreError> {
        let n_bytes = backup.n_bytes.saturating_sub(TRAILER_BYTES as u64);
        let cut = || File::options().write(true).open(&self.path)?.set_len(n_bytes);
        cut().map_err(file_error("write", &self.path))
    }

    fn sync(&self) -> Result<(), RestoreError> {
        let sync = || File::open(&self.path)?.sync_all();
        sync().map_err(file_error("write", &self.path))
    }

    fn put_in_place(mut self, path: &Path) -> Result<(), RestoreError> {
        fs::rename(&self.path, path).map_err(file_error("rename", &self.path))?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if !self.is_placed {
            // What cannot be removed now is removed at the next attempt.
            let _is_removed = fs::remove_file(&self.path).is_ok();
        }
    }
}

/// Removes what a restore that was killed has left in `dir`: a copy of a backup, directories half
/// removed. Nobody reads them, and they may hold what is forgotten later.
pub(in crate::store) fn sweep(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == RESTORED_NAME {
            fs::remove_file(&path)?;
        } else if name.ends_with(REMOVED_SUFFIX) && path.is_dir() {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

/// Removes a directory at once, whenever the process ends: half a directory of derived files would
/// be taken for a whole one.
fn remove_dir(path: &Path) -> Result<(), RestoreError> {
    let mut doomed = path.as_os_str().to_owned();
    doomed.push(REMOVED_SUFFIX);
    let doomed = PathBuf::from(doomed);
    match fs::rename(path, &doomed) {
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(()),
        renamed => renamed.map_err(file_error("rename", path))?,
    }
    fs::remove_dir_all(&doomed).map_err(file_error("remove", &doomed))
}

/// Gives the store that is there a second name, so that it never lacks its own.
fn keep(dir: &Path, path: &Path, now: Timestamp) -> Result<Option<PathBuf>, RestoreError> {
    if !path.try_exists().map_err(file_error("look for", path))? {
        return Ok(None);
    }
    let kept = dir.join(format!("{KEPT_PREFIX}{}", now.strftime("%Y%m%dT%H%M%S.%3fZ")));
    let keep = || {
        // Some file systems have no second names.
        fs::hard_link(path, &kept).or_else(|_| {
            fs::copy(path, &kept)?;
            File::open(&kept)?.sync_all()
        })
    };
    keep().map_err(file_error("keep the store as", &kept))?;
    open::sync_dir(dir)?;
    Ok(Some(kept))
}

/// Brings the copy up to date and tells it what the store at `old` has forgotten.
fn prepare(
    copy: &Path,
    old: &Path,
    backup: &Backup,
    settings: StoreSettings,
) -> StoreResult<Forgets> {
    let database = open::builder(settings).open(copy)?;
    let format = migrations::stored_version(&database)?;
    migrations::migrate(&database, format, MIGRATIONS)?;
    migrations::index_log(&database)?;
    let forgets = forget_again(&database, old, settings)?;
    write(&database, |batch| super::remember(batch, backup))?;
    let verified = verify(&database.begin_read()?)?;
    if let Some(violation) = verified.violations.into_iter().next() {
        return Err(StoreError::Damaged(violation));
    }
    database.close()?;
    Ok(forgets)
}

/// Runs `change` in a transaction of its own.
fn write<T>(
    database: &Database,
    change: impl FnOnce(&mut Batch<'_>) -> StoreResult<T>,
) -> StoreResult<T> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    let mut batch = Batch::open(&transaction, Room::Enough)?;
    let outcome = change(&mut batch)?;
    batch.finish()?;
    transaction.commit()?;
    Ok(outcome)
}

/// Forgets in `new` what the store at `old` has forgotten; that store is only read.
fn forget_again(new: &Database, old: &Path, settings: StoreSettings) -> StoreResult<Forgets> {
    let file = match open::open_plain(old) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Forgets::NoStore),
        Err(error) => return Ok(Forgets::Unknown(error.to_string())),
    };
    let opened = catch_text(|| {
        let n_bytes = file.metadata().map_err(|error| StoreError::Io(error.to_string()))?.len();
        let backend = Overlay::new(file, n_bytes);
        let database = open::builder(settings).create_with_backend(backend)?;
        migrations::stored_version(&database)?;
        Ok(database)
    });
    let old: Database = match opened.unwrap_or_else(|reason| Err(StoreError::Damaged(reason))) {
        Ok(database) => database,
        Err(error) => return Ok(Forgets::Unknown(error.to_string())),
    };
    let snapshot = old.begin_read()?;
    carry_backups(new, &snapshot)?;
    // What cannot be read of that costs a repetition, which is no reason to restore nothing.
    let _is_carried = catch_text(|| write(new, |batch| reminders::carry(batch, &snapshot))).is_ok();
    let said = catch_text(|| write(new, |batch| sessions::forget_again(batch, &snapshot)));
    if let Err(error) = said.unwrap_or_else(|reason| Err(StoreError::Damaged(reason))) {
        return Ok(Forgets::Unknown(error.to_string()));
    }
    let mut n_applied = 0;
    let mut after: Option<MemoryId> = None;
    loop {
        let page = catch_text(|| forgotten_page(&snapshot.open_table(FORGOTTEN)?, after));
        let page = match page.unwrap_or_else(|reason| Err(StoreError::Damaged(reason))) {
            Ok(page) => page,
            Err(error) => return Ok(Forgets::Unknown(error.to_string())),
        };
        after = page.last().map(|(id, _)| *id);
        let is_last = page.len() < SCAN_PAGE;
        n_applied += write(new, |batch| apply(batch, page))?;
        if is_last {
            return Ok(Forgets::Applied(n_applied));
        }
    }
}

fn forgotten_page(
    table: &ReadOnlyTable<u128, &'static [u8]>,
    after: Option<MemoryId>,
) -> StoreResult<Vec<(MemoryId, ForgottenRecord)>> {
    let first = after.map_or(0, |id| id.as_u128().saturating_add(1));
    let rows = table.range(first..)?.take(SCAN_PAGE);
    rows.map(|row| {
        let (id, record) = row?;
        Ok((MemoryId::from_u128(id.value()), decode(record.value())?))
    })
    .collect()
}

/// Forgets each as the store before did; returns how many were there.
fn apply(batch: &mut Batch<'_>, page: Vec<(MemoryId, ForgottenRecord)>) -> StoreResult<u64> {
    let mut n_applied = 0;
    for (id, mut record) in page {
        if batch.load(id)?.is_some() {
            let is_restorable = record.erased_at.is_none();
            let restorable_until = record.restorable_until.filter(|_| is_restorable);
            let request = Forget {
                ids: vec![id],
                restorable_until: times(restorable_until)?,
                erase_by: time(record.erase_by)?,
                request: None,
                actor: RESTORE_JOB,
                at: time(record.forgotten_at)?,
            };
            n_applied += forget(batch, &request)?.ids.len() as u64;
        } else if batch.forgotten(id)?.is_none() {
            // It came and went after the backup: only that it is forgotten is kept.
            record.erased_at = record.erased_at.or(Some(record.forgotten_at));
            record.restorable_until = None;
            record.usage = None;
            let bytes = encode(&record)?;
            batch.change().forgotten.insert(id.as_u128(), bytes.as_slice())?;
        }
    }
    Ok(n_applied)
}

/// Carries over where backups are that were made since.
fn carry_backups(new: &Database, old: &redb::ReadTransaction) -> StoreResult<()> {
    let table = match old.open_table(BACKUPS) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        other => other?,
    };
    let rows = catch_text(|| {
        table
            .iter()?
            .map(|row| {
                let (at, record) = row?;
                Ok((at.value(), record.value().to_vec()))
            })
            .collect::<StoreResult<Vec<_>>>()
    });
    // A list that cannot be read costs names in receipts and nothing else.
    let Ok(Ok(rows)) = rows else { return Ok(()) };
    write(new, |batch| {
        for (at, record) in &rows {
            batch.change().backups.insert(*at, record.as_slice())?;
        }
        Ok(())
    })
}
