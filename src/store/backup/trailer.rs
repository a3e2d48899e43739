//! The form of a backup: the bytes of a redb file, then a trailer of fixed size.
//!
//! | bytes | what |
//! | --- | --- |
//! | n | a redb file with the tables of a store |
//! | 8 | n |
//! | 8 | which store: microseconds at which it was made |
//! | 8 | when the backup was made: microseconds since the epoch |
//! | 8 | sequence number of the last change in it |
//! | 8 | number of memories |
//! | 8 | number of memories known as forgotten (without content) |
//! | 4 | version of the stored format |
//! | 32 | BLAKE3 of all bytes before it |
//! | 4 | version of this form, 1 |
//! | 16 | `recalld backup` and two zeros |
//!
//! Numbers are little-endian. The last 20 bytes stay where they are in every later version.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use jiff::Timestamp;

use crate::ports::Backup;

/// The version of the form that this code writes and reads.
pub(super) const FORM_VERSION: u32 = 1;
/// Ends every backup.
const MAGIC: &[u8; 16] = b"recalld backup\0\0";
/// Bytes of a trailer.
pub(super) const TRAILER_BYTES: usize = 104;
/// Bytes that the hash does not cover: itself, the version and the magic.
const UNHASHED_BYTES: usize = 32 + 4 + 16;
/// Begins every redb file.
const REDB_MAGIC: &[u8; 4] = b"redb";

/// What a backup says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    /// Bytes of the redb file.
    pub(super) n_bytes: u64,
    /// Which store: when it was made, microseconds.
    pub(super) store: u64,
    /// When the backup was made, microseconds.
    pub(super) created_at: i64,
    /// Sequence number of the last change.
    pub(super) sequence: u64,
    /// Memories in it.
    pub(super) n_memories: u64,
    /// Memories known as forgotten.
    pub(super) n_forgotten: u64,
    /// Version of the stored format.
    pub(super) format: u32,
}

/// Why a file is no backup that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TrailerError {
    #[error("it is empty")]
    Empty,
    #[error(
        "it is a store file without the end of a backup: either no backup, or one that was cut short"
    )]
    Store,
    #[error("it does not end as a backup of recalld ends: it is another file, or was cut short")]
    Foreign,
    #[error(
        "it is a backup of version {0}, and this program reads version {FORM_VERSION}: a newer recalld is needed, or it is damaged"
    )]
    Newer(u32),
    #[error("it has {found} bytes where it should have {expected}: something was cut off")]
    Short { found: u64, expected: u64 },
    #[error("it has {found} bytes where it should have {expected}: something was added")]
    Long { found: u64, expected: u64 },
    #[error("its bytes are not those that were written (the checksum differs)")]
    Checksum,
    #[error("cannot read it: {0}")]
    Io(String),
}

impl From<io::Error> for TrailerError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

impl Trailer {
    /// The bytes before the hash.
    fn head(&self) -> [u8; TRAILER_BYTES - UNHASHED_BYTES] {
        let mut bytes = [0; TRAILER_BYTES - UNHASHED_BYTES];
        let numbers = [
            self.n_bytes,
            self.store,
            self.created_at.cast_unsigned(),
            self.sequence,
            self.n_memories,
            self.n_forgotten,
        ];
        let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
        let all = numbers.chain(self.format.to_le_bytes());
        for (place, byte) in bytes.iter_mut().zip(all) {
            *place = byte;
        }
        bytes
    }

    /// The trailer of a file whose bytes went through `hasher`.
    pub(super) fn seal(&self, mut hasher: blake3::Hasher) -> Vec<u8> {
        let head = self.head();
        hasher.update(&head);
        let mut bytes = head.to_vec();
        bytes.extend(hasher.finalize().as_bytes());
        bytes.extend(FORM_VERSION.to_le_bytes());
        bytes.extend(MAGIC);
        bytes
    }

    /// Reads the trailer of `file`; its checksum is not proven.
    pub(super) fn read(file: &mut File) -> Result<Self, TrailerError> {
        Self::read_with_hash(file).map(|(trailer, _)| trailer)
    }

    /// Reads the trailer of `file` and proves that every byte is as it was written.
    pub(super) fn prove(file: &mut File) -> Result<Self, TrailerError> {
        let (trailer, expected) = Self::read_with_hash(file)?;
        file.seek(SeekFrom::Start(0))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file.by_ref().take(trailer.n_bytes))?;
        hasher.update(&trailer.head());
        if hasher.finalize() != expected {
            return Err(TrailerError::Checksum);
        }
        Ok(trailer)
    }

    fn read_with_hash(file: &mut File) -> Result<(Self, blake3::Hash), TrailerError> {
        let len = file.metadata()?.len();
        if len == 0 {
            return Err(TrailerError::Empty);
        }
        let mut bytes = [0; TRAILER_BYTES];
        let is_long_enough = len >= TRAILER_BYTES as u64;
        if is_long_enough {
            file.seek(SeekFrom::Start(len - TRAILER_BYTES as u64))?;
            file.read_exact(&mut bytes)?;
        }
        let mut rest = bytes.as_slice();
        let mut numbers = [0_u64; 6];
        for number in &mut numbers {
            *number = u64::from_le_bytes(take(&mut rest)?);
        }
        let [n_bytes, store, created_at, sequence, n_memories, n_forgotten] = numbers;
        let format = u32::from_le_bytes(take(&mut rest)?);
        let hash = blake3::Hash::from_bytes(take(&mut rest)?);
        let form = u32::from_le_bytes(take(&mut rest)?);
        if !is_long_enough || rest != MAGIC {
            return Err(foreign(file, len));
        }
        if form != FORM_VERSION {
            return Err(TrailerError::Newer(form));
        }
        let expected = n_bytes.saturating_add(TRAILER_BYTES as u64);
        if len < expected {
            return Err(TrailerError::Short { found: len, expected });
        }
        if len > expected {
            return Err(TrailerError::Long { found: len, expected });
        }
        let created_at = created_at.cast_signed();
        let trailer =
            Self { n_bytes, store, created_at, sequence, n_memories, n_forgotten, format };
        Ok((trailer, hash))
    }

    /// The backup at `path` that ends so.
    pub(super) fn backup(&self, path: &Path) -> Backup {
        Backup {
            path: path.to_owned(),
            created_at: Timestamp::from_microsecond(self.created_at).unwrap_or(Timestamp::MIN),
            n_bytes: self.n_bytes + TRAILER_BYTES as u64,
            n_memories: self.n_memories,
            n_forgotten: self.n_forgotten,
            sequence: self.sequence,
        }
    }
}

/// Where a trailer ends inside the file.
fn inner_end(file: &mut File) -> io::Result<Option<u64>> {
    file.seek(SeekFrom::Start(0))?;
    let mut window = Vec::new();
    // Bytes of the file before the window.
    let mut n_before = 0_u64;
    loop {
        let n_read = file.by_ref().take(WINDOW_BYTES).read_to_end(&mut window)?;
        if n_read == 0 {
            return Ok(None);
        }
        for (at, _) in window.windows(MAGIC.len()).enumerate().filter(|(_, part)| part == MAGIC) {
            let end = n_before + (at + MAGIC.len()) as u64;
            let Some(n_bytes) = end.checked_sub(TRAILER_BYTES as u64) else { continue };
            let mut field = [0; 8];
            file.read_exact_at(&mut field, n_bytes)?;
            // The same words in a text are no trailer.
            if u64::from_le_bytes(field) == n_bytes {
                return Ok(Some(end));
            }
        }
        // What is left may hold the start of the next.
        let n_done = window.len().saturating_sub(MAGIC.len() - 1);
        window.drain(..n_done);
        n_before += n_done as u64;
    }
}

/// Bytes that are looked through at once.
const WINDOW_BYTES: u64 = 1 << 20;

/// Takes a field off the front.
fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], TrailerError> {
    let (field, after) = rest.split_first_chunk::<N>().ok_or(TrailerError::Foreign)?;
    *rest = after;
    Ok(*field)
}

/// What a file of `len` bytes is that does not end with a trailer.
fn foreign(file: &mut File, len: u64) -> TrailerError {
    if let Ok(Some(expected)) = inner_end(file) {
        return TrailerError::Long { found: len, expected };
    }
    let mut start = [0; REDB_MAGIC.len()];
    let is_store = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut start)).is_ok()
        && start == *REDB_MAGIC;
    if is_store { TrailerError::Store } else { TrailerError::Foreign }
}
