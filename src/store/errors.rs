//! What redb's errors mean to the callers of the port.

use std::io::ErrorKind;

use crate::ports::StoreError;

/// Shorthand of this room.
pub(super) type Result<T> = std::result::Result<T, StoreError>;

/// Bytes that do not read as `what`.
pub(super) fn damaged(what: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged(what.to_string())
}

/// Whether redb takes no more writes after this error.
pub(super) fn is_fatal(error: &StoreError) -> bool {
    matches!(error, StoreError::Io(_) | StoreError::Full(_))
}

/// Whether an operation failed because there was no room for it.
pub(super) fn is_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}

fn from_redb(error: &redb::Error) -> StoreError {
    use redb::Error;
    if let Error::Io(io) = error {
        return if is_full(io) {
            StoreError::Full(io.to_string())
        } else {
            StoreError::Io(io.to_string())
        };
    }
    let is_damage = matches!(
        error,
        Error::Corrupted(_)
            | Error::TableTypeMismatch { .. }
            | Error::TableIsMultimap(_)
            | Error::TypeDefinitionChanged { .. }
            | Error::TableDoesNotExist(_)
            | Error::UpgradeRequired(_)
    );
    if is_damage {
        damaged(error)
    } else if matches!(error, Error::DatabaseClosed) {
        StoreError::Closed
    } else {
        // What is left is a storage that failed before, or a state of redb that only a restart
        // clears.
        StoreError::Io(error.to_string())
    }
}

macro_rules! from_redb {
    ($($error:ident)+) => {
        $(impl From<redb::$error> for StoreError {
            fn from(error: redb::$error) -> Self {
                from_redb(&error.into())
            }
        })+
    };
}

from_redb!(StorageError TableError CommitError TransactionError DatabaseError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_a_failing_one() {
        for (kind, is_full) in [
            (ErrorKind::StorageFull, true),
            (ErrorKind::QuotaExceeded, true),
            (ErrorKind::FileTooLarge, true),
            (ErrorKind::Other, false),
        ] {
            let error = StoreError::from(redb::StorageError::Io(kind.into()));
            assert_eq!(matches!(error, StoreError::Full(_)), is_full, "{kind}");
            assert!(is_fatal(&error));
        }
        let damage = StoreError::from(redb::StorageError::Corrupted("x".to_owned()));
        assert!(matches!(damage, StoreError::Damaged(_)));
        assert!(!is_fatal(&damage));
    }
}
