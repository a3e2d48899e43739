//! Why a use case could not do what it was asked.

use crate::domain::id::MemoryId;
use crate::domain::job::{NotUndone, RunId};
use crate::ports::{BackupError, IndexError, StoreError};

/// Its text is meant for the caller: it names the argument and says what was expected.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// An argument is wrong. The caller's fault; trying again unchanged is useless.
    #[error("`{argument}`: expected {expected}, got {found}")]
    Invalid {
        /// Name of the argument.
        argument: &'static str,
        /// What it must be.
        expected: String,
        /// What it was.
        found: String,
    },
    /// An argument is refused for a reason that tells what was expected.
    #[error("`{argument}`: {why}")]
    Refused {
        /// Name of the argument.
        argument: &'static str,
        /// Why.
        why: String,
    },
    /// There is no such memory, or not for this caller.
    #[error("memory `{reference}` not found")]
    NotFound {
        /// What the caller wrote.
        reference: String,
    },
    /// A run that is not known, or cannot be undone.
    #[error("run {run}: {why}")]
    Run {
        /// Its number.
        run: RunId,
        /// Why not.
        why: NotUndone,
    },
    /// A handle means more than one memory that the caller may read.
    #[error("handle `{reference}` means more than one memory: {}", list(ids))]
    Ambiguous {
        /// What the caller wrote.
        reference: String,
        /// All of them.
        ids: Vec<MemoryId>,
    },
    /// The caller may not read there.
    #[error("`namespace`: `{namespace}` is not readable for you")]
    NotReadable {
        /// Which.
        namespace: String,
    },
    /// The caller may not write there.
    #[error("`namespace`: `{namespace}` is not writable for you")]
    NotWritable {
        /// Which.
        namespace: String,
    },
    /// The store failed; nothing was written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A backup could not be made.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The indexes failed.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl ServiceError {
    /// An [`ServiceError::Invalid`]; what was found is cut at 80 characters.
    pub(crate) fn invalid(
        argument: &'static str,
        expected: impl Into<String>,
        found: impl std::fmt::Display,
    ) -> Self {
        let found = found.to_string();
        let short: String = found.chars().take(80).collect();
        let found = if short.len() < found.len() { format!("{short}...") } else { short };
        Self::Invalid { argument, expected: expected.into(), found }
    }

    /// A [`ServiceError::Refused`].
    pub(crate) fn refused(argument: &'static str, why: impl std::fmt::Display) -> Self {
        Self::Refused { argument, why: why.to_string() }
    }
}

fn list(ids: &[MemoryId]) -> String {
    ids.iter().map(MemoryId::to_string).collect::<Vec<_>>().join(", ")
}
