//! Proving a backup without changing it: checksum, format, redb's own checksums, and the agreement of
//! the tables.

use std::fs::File;
use std::path::Path;

use redb::ReadableDatabase as _;

use super::super::migrations::{self, FORMAT_VERSION, MIGRATIONS};
use super::super::overlay::Overlay;
use super::super::refusal::catch_text;
use super::super::verify::verify;
use super::super::{StoreSettings, open};
use super::trailer::{Trailer, TrailerError};
use crate::domain::limits::BACKUP_CACHE_BYTES;
use crate::ports::{Backup, StoreError};

/// Why a file is not a sound backup.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InspectError {
    #[error("{0}")]
    Form(#[from] TrailerError),
    #[error(
        "it has the store format {found}, and this version reads formats up to {FORMAT_VERSION}: a newer recalld is needed"
    )]
    NewerFormat { found: u32 },
    #[error("the store in it is damaged: {0}")]
    Unsound(String),
}

/// Proves the backup at `path`.
pub(super) fn prove(path: &Path) -> Result<Backup, InspectError> {
    let mut file = open::open_plain(path).map_err(TrailerError::from)?;
    let trailer = Trailer::prove(&mut file)?;
    if trailer.format > FORMAT_VERSION {
        return Err(InspectError::NewerFormat { found: trailer.format });
    }
    let violations = catch_text(|| prove_store(file, trailer))
        .unwrap_or_else(|reason| Err(StoreError::Damaged(reason)))
        .map_err(|error| InspectError::Unsound(error.to_string()))?;
    match violations.as_slice() {
        [] => Ok(trailer.backup(path)),
        [first, rest @ ..] => Err(InspectError::Unsound(match rest.len() {
            0 => first.clone(),
            n_more => format!("{first} (and {n_more} more)"),
        })),
    }
}

/// What is wrong with the store in `file`.
fn prove_store(file: File, trailer: Trailer) -> Result<Vec<String>, StoreError> {
    let mut builder = open::builder(StoreSettings { cache_bytes: BACKUP_CACHE_BYTES });
    builder.set_check_integrity_on_open(true);
    let database = builder.create_with_backend(Overlay::new(file, trailer.n_bytes))?;
    let found = migrations::stored_version(&database)?;
    if found != trailer.format {
        return Ok(vec![format!("it has the format {found} and claims {}", trailer.format)]);
    }
    // An older one is brought up to date, in memory.
    migrations::migrate(&database, found, MIGRATIONS)?;
    let verified = verify(&database.begin_read()?)?;
    let mut violations = verified.violations;
    if verified.n_memories != trailer.n_memories {
        violations.push(format!(
            "it holds {} memories and claims {}",
            verified.n_memories, trailer.n_memories
        ));
    }
    Ok(violations)
}
