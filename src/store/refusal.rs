//! Why a store could not be opened, and what redb's refusals mean.

use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::DatabaseError;

use crate::ports::StoreError;

use super::errors;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
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
    /// Another process has it.
    #[error("the store in {} is in use by another daemon{}", dir.display(), process(*.pid))]
    InUse {
        /// Its directory.
        dir: PathBuf,
        /// The other process, if it said so.
        pid: Option<u32>,
    },
    /// Its bytes are not those of a store. The file was left as it is.
    #[error("{} is damaged or no store of recalld: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A later version wrote it. The file was left as it is.
    #[error(
        "{} has the format {found}, and this version reads formats up to {known}: a newer recalld is needed",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// It could not be brought to the present format; it still has its old one.
    #[error("cannot migrate {} from format {from}: {source}", path.display())]
    Migration {
        /// The file.
        path: PathBuf,
        /// Its format.
        from: u32,
        /// Why it failed.
        source: StoreError,
    },
}

impl OpenError {
    /// Whether there was no room on the disk to open it.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::File { source, .. } => errors::is_full(source),
            Self::Migration { source, .. } => matches!(source, StoreError::Full(_)),
            Self::InUse { .. } | Self::Damaged { .. } | Self::Newer { .. } => false,
        }
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

/// An error of the file system.
pub(super) fn file_error(verb: &'static str, path: &Path, source: io::Error) -> OpenError {
    OpenError::File { verb, path: path.to_owned(), source }
}

/// Why redb did not open a file.
pub(super) enum Refusal {
    Database(DatabaseError),
    Store(StoreError),
    Panic(String),
}

impl Refusal {
    /// What it means for the store at `path` in `dir`.
    pub(super) fn into_open_error(self, dir: &Path, path: &Path) -> OpenError {
        match self {
            Self::Database(DatabaseError::DatabaseAlreadyOpen) => {
                OpenError::InUse { dir: dir.to_owned(), pid: None }
            }
            Self::Database(DatabaseError::Storage(redb::StorageError::Io(source)))
                if source.kind() != ErrorKind::InvalidData
                    && source.kind() != ErrorKind::UnexpectedEof =>
            {
                file_error("open", path, source)
            }
            Self::Database(error) => damaged(path, error.to_string()),
            Self::Store(error) => store_error(path, error),
            Self::Panic(reason) => damaged(path, reason),
        }
    }
}

/// A failure of the first reads and writes.
pub(super) fn store_error(path: &Path, error: StoreError) -> OpenError {
    match error {
        StoreError::Io(reason) => file_error("write", path, io::Error::other(reason)),
        StoreError::Full(_) | StoreError::NoRoom(_) => {
            file_error("write", path, ErrorKind::StorageFull.into())
        }
        StoreError::Damaged(_)
        | StoreError::Gone(_)
        | StoreError::Busy
        | StoreError::Closed
        | StoreError::SupersedesMissing(_)
        | StoreError::BadLink(_)
        | StoreError::RunClosed(_) => damaged(path, error.to_string()),
    }
}

fn damaged(path: &Path, reason: String) -> OpenError {
    OpenError::Damaged { path: path.to_owned(), reason }
}

/// Opens a file with redb.
pub(super) fn guarded<T>(open: impl FnOnce() -> Result<T, DatabaseError>) -> Result<T, Refusal> {
    catch(|| open().map_err(Refusal::Database))
}

/// A file that something else has altered may make redb panic when it is opened.
pub(super) fn catch<T>(open: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    catch_text(open).unwrap_or_else(|reason| Err(Refusal::Panic(reason)))
}

/// Runs work on such a file; the error says how redb panicked.
pub(super) fn catch_text<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no reason given");
        format!("redb panicked: {text}")
    })
}
