//! Opening and creating the file, and the lock on its directory.
//!
//! A new store is written beside its final name and renamed when it is whole: redb leaves a file
//! that it will never open if it is killed while creating one. An existing file is looked at without
//! writing first, so that one that is refused stays as it is.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use redb::{Builder, Database, StorageBackend};

use super::StoreSettings;
use super::backup;
use super::errors::{damaged, is_full};
use super::migrations::{self, FORMAT_VERSION, MIGRATIONS};
use super::overlay::Overlay;
use super::refusal::{OpenError, Refusal, catch, file_error, guarded, store_error};
use super::reserve;
use crate::domain::limits::PROVEN_AT_START_BYTES_MAX;

/// The store in its directory.
pub const FILE_NAME: &str = "recalld.redb";
/// A store that is being created.
const NEW_FILE_NAME: &str = "recalld.redb.new";
/// Rights of the group and of everybody else.
const OTHERS: u32 = 0o077;
/// Held by the process that has the store; says which one.
pub const LOCK_NAME: &str = "recalld.lock";

/// Where a store lies, with the lock on it.
#[derive(Debug)]
pub(super) struct Location {
    path: PathBuf,
    lock: Mutex<Option<File>>,
}

impl Location {
    /// Size of the file, bytes; 0 if there is none.
    pub(super) fn file_bytes(&self) -> u64 {
        self.path.metadata().map_or(0, |metadata| metadata.len())
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its directory.
    pub(super) fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Lets another process open the store.
    pub(super) fn unlock(&self) {
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// An error of the file system.
    pub(super) fn file_error(&self, verb: &'static str, source: io::Error) -> OpenError {
        file_error(verb, &self.path, source)
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.display().fmt(f)
    }
}

/// Opens the store in `dir`, making both if they are missing.
pub(super) fn open_dir(
    dir: &Path,
    settings: StoreSettings,
    now: Timestamp,
) -> Result<(Location, Database), OpenError> {
    make_private_dir(dir)?;
    let lock = lock_dir(dir)?;
    backup::sweep(dir).map_err(|source| file_error("sweep", dir, source))?;
    let path = dir.join(FILE_NAME);
    let database = match open_or_create(dir, &path, settings, now) {
        // Opening a file that was not closed writes; this is what the ballast is for.
        Err(error) if error.is_full() && reserve::release(dir) => {
            open_or_create(dir, &path, settings, now)?
        }
        outcome => outcome?,
    };
    Ok((Location { path, lock: Mutex::new(Some(lock)) }, database))
}

fn open_or_create(
    dir: &Path,
    path: &Path,
    settings: StoreSettings,
    now: Timestamp,
) -> Result<Database, OpenError> {
    if !path.try_exists().map_err(|source| file_error("look for", path, source))? {
        create_file(dir, path, settings, now)?;
    }
    make_private(path)?;
    open_file(dir, path, settings)
}

/// Opens the store on `backend`, making it if it is empty.
pub(super) fn open_backend(
    backend: impl StorageBackend,
    settings: StoreSettings,
    now: Timestamp,
) -> Result<(Location, Database), OpenError> {
    let path = PathBuf::from("(custom backend)");
    let is_empty =
        backend.len().map_err(|source| file_error("read the length of", &path, source))? == 0;
    let database = guarded(|| builder(settings).create_with_backend(backend))
        .map_err(|error| error.into_open_error(&path, &path))?;
    if is_empty {
        migrations::create(&database, now).map_err(|error| store_error(&path, error))?;
    }
    bring_up_to_date(&database, &path)?;
    Ok((Location { path, lock: Mutex::new(None) }, database))
}

pub(super) fn make_private_dir(dir: &Path) -> Result<(), OpenError> {
    let existed = dir.is_dir();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|source| file_error("make the directory", dir, source))?;
    make_private(dir)?;
    match dir.parent().filter(|parent| !existed && !parent.as_os_str().is_empty()) {
        Some(parent) => sync_dir(parent),
        None => Ok(()),
    }
}

/// Takes the lock on the directory and writes our process id into it.
pub(super) fn lock_dir(dir: &Path) -> Result<File, OpenError> {
    let path = dir.join(LOCK_NAME);
    let mut lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|source| file_error("open", &path, source))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = lock.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(OpenError::InUse { dir: dir.to_owned(), pid });
        }
        Err(TryLockError::Error(source)) => return Err(file_error("lock", &path, source)),
    }
    match write_pid(&mut lock) {
        // It only serves to name the process.
        Err(source) if !is_full(&source) => return Err(file_error("write", &path, source)),
        Ok(()) | Err(_) => {}
    }
    Ok(lock)
}

fn write_pid(lock: &mut File) -> io::Result<()> {
    let pid = format!("{}\n", std::process::id());
    lock.write_all(pid.as_bytes())?;
    lock.set_len(pid.len() as u64)
}

/// Creates the file under another name and renames it when it is whole and on the disk.
fn create_file(
    dir: &Path,
    path: &Path,
    settings: StoreSettings,
    now: Timestamp,
) -> Result<(), OpenError> {
    let new = dir.join(NEW_FILE_NAME);
    match std::fs::remove_file(&new) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            return Err(file_error("remove", &new, source));
        }
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .map_err(|source| file_error("create", &new, source))?;
    let database = guarded(|| builder(settings).create(&new))
        .map_err(|error| error.into_open_error(dir, &new))?;
    migrations::create(&database, now).map_err(|error| store_error(&new, error))?;
    database.close().map_err(|error| Refusal::Database(error).into_open_error(dir, &new))?;
    File::open(&new)
        .and_then(|file| file.sync_all())
        .map_err(|source| file_error("write", &new, source))?;
    std::fs::rename(&new, path).map_err(|source| file_error("rename", &new, source))?;
    sync_dir(dir)
}

fn open_file(dir: &Path, path: &Path, settings: StoreSettings) -> Result<Database, OpenError> {
    look(dir, path, settings)?;
    let database = guarded(|| builder(settings).open(path))
        .map_err(|error| error.into_open_error(dir, path))?;
    bring_up_to_date(&database, path)?;
    Ok(database)
}

/// Why the store in `dir` would not open, looked at without a trace; `None` if it would, if there is
/// none, or if somebody has it open.
pub fn ails(dir: &Path, settings: StoreSettings) -> Option<OpenError> {
    let path = dir.join(FILE_NAME);
    let lock = open_plain(&dir.join(LOCK_NAME)).ok();
    let is_held = lock.as_ref().is_some_and(|lock| lock.try_lock().is_err());
    if is_held || !path.is_file() {
        return None;
    }
    look(dir, &path, settings).err()
}

/// Opens the file without a trace: what is refused stays as it is. redb repairs a file that was not
/// closed, and a file of moderate size is read through, so that damage is met here and not later.
fn look(dir: &Path, path: &Path, settings: StoreSettings) -> Result<(), OpenError> {
    let file = open_plain(path).map_err(|source| file_error("open", path, source))?;
    let len =
        file.metadata().map_err(|source| file_error("read the length of", path, source))?.len();
    if len == 0 {
        return Err(Refusal::Store(damaged("it is empty")).into_open_error(dir, path));
    }
    let mut builder = builder(settings);
    builder.set_check_integrity_on_open(len <= PROVEN_AT_START_BYTES_MAX);
    let looked = catch(|| {
        let overlay = Overlay::new(file, len);
        let database = builder.create_with_backend(overlay).map_err(Refusal::Database)?;
        migrations::stored_version(&database).map_err(Refusal::Store)
    });
    refuse_newer(path, looked.map_err(|error| error.into_open_error(dir, path))?)
}

/// Opens a file for reading: to open a pipe that somebody has put in its place would wait for ever.
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    if path.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other("it is a pipe and no file"));
    }
    File::open(path)
}

fn bring_up_to_date(database: &Database, path: &Path) -> Result<(), OpenError> {
    let from = guarded_version(database).map_err(|error| error.into_open_error(path, path))?;
    refuse_newer(path, from)?;
    migrations::migrate(database, from, MIGRATIONS)
        .and_then(|()| migrations::identify(database))
        .and_then(|()| migrations::index_log(database))
        .map_err(|source| OpenError::Migration { path: path.to_owned(), from, source })
}

fn refuse_newer(path: &Path, found: u32) -> Result<(), OpenError> {
    if found > FORMAT_VERSION {
        return Err(OpenError::Newer { path: path.to_owned(), found, known: FORMAT_VERSION });
    }
    Ok(())
}

pub(super) fn builder(settings: StoreSettings) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(settings.cache_bytes);
    builder
}

fn guarded_version(database: &impl redb::ReadableDatabase) -> Result<u32, Refusal> {
    catch(|| migrations::stored_version(database).map_err(Refusal::Store))
}

/// Takes the rights of all others away, if they have some. What its owner may stays as it is: who
/// took the right to write from it meant that.
fn make_private(path: &Path) -> Result<(), OpenError> {
    let narrow = || {
        let mode = path.metadata()?.permissions().mode() & 0o7777;
        if mode & OTHERS == 0 {
            return Ok(());
        }
        std::fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))
    };
    narrow().map_err(|source| file_error("make private", path, source))
}

/// Makes a new name in `dir` last.
pub(super) fn sync_dir(dir: &Path) -> Result<(), OpenError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|source| file_error("write the directory", dir, source))
}
