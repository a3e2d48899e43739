//! Room on the disk. A store that fills it could not even forget: redb writes new pages before it lets
//! go of old ones, and after one failed write it takes no other.
//!
//! So a file of some size, the *ballast*, is kept beside the store and given up when the disk is full.
//! From then on nothing that grows is taken, and what the ballast leaves serves the rest (forgetting,
//! erasing, the store's own books). It takes more free space to come out of this state than to get
//! into it, or a daemon that starts again would run into the full disk again. Everything follows from
//! what is on the disk, so a restart forgets nothing of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, OFlags, fallocate, statvfs};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::errors::is_full;
use crate::domain::limits::{DISK_SHARE, FREE_BYTES_LOW, FREE_BYTES_TO_RESUME, FREE_SHARE_LOW};

/// The ballast in its directory.
const FILE_NAME: &str = "recalld.ballast";

/// Whether there is room, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// For everything.
    Enough,
    /// Only for what does not grow.
    Little(String),
    /// Not even for upkeep that nobody asked for.
    None(String),
}

/// The room of one store.
#[derive(Debug)]
pub(super) struct Reserve {
    dir: PathBuf,
    store: PathBuf,
    /// Asked for, bytes; 0: no ballast.
    wanted: u64,
    /// Why nothing that grows is taken.
    full: Mutex<Option<String>>,
}

impl Reserve {
    /// Looks at the room in `dir`, where the store lies, and makes the ballast if there is some.
    pub(super) fn new(dir: &Path, store: &Path, wanted: u64) -> Self {
        let reserve =
            Self { dir: dir.to_owned(), store: store.to_owned(), wanted, full: Mutex::new(None) };
        reserve.look(true);
        reserve
    }

    /// Looks at the free space: gives the ballast up when it runs low, and makes it again when there
    /// is enough.
    pub(super) fn room(&self) -> Room {
        self.look(false)
    }

    /// Gives the ballast up, because a write found the disk full.
    pub(super) fn release(&self) {
        release(&self.dir);
    }

    /// Why nothing that grows is taken, as of the last look.
    pub(super) fn full(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.full.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, is_start: bool) -> Room {
        let mut full = self.lock();
        if size(&self.dir) > self.wanted {
            self.release();
        }
        let Ok(space) = Space::of(&self.dir, &self.store) else {
            // What cannot be asked the next write will tell.
            return Room::Enough;
        };
        let (ballast, present) = (self.wanted.min(space.total / DISK_SHARE), size(&self.dir));
        let to_resume = ballast + ballast.max(FREE_BYTES_TO_RESUME.min(space.total / DISK_SHARE));
        // A start without a ballast may be one that follows a full disk.
        let is_careful = full.is_some() || present < ballast || (is_start && ballast == 0);
        let needed = if is_careful { to_resume } else { space.low() };
        let made = if space.free < needed {
            None
        } else if present >= ballast {
            Some(Ok(()))
        } else {
            Some(make(&self.dir, ballast))
        };
        if let Some(Ok(())) = made {
            if full.take().is_some() {
                tracing::info!(free_bytes = space.free, "room on the disk again");
            }
            return Room::Enough;
        }
        self.release();
        let space = Space::of(&self.dir, &self.store).unwrap_or(space);
        let dir = self.dir.display();
        let why = match made {
            // A directory that is read-only, not a disk that is full.
            Some(Err(error)) if !is_full(&error) => format!(
                "the ballast file cannot be made in {dir}: {error}; nothing new is stored before it is \
                 there (or `store.ballast_mb` is 0), reading and forgetting go on"
            ),
            _ => format!(
                "the disk is full: {dir} has {} MiB free, and {} MiB are needed before anything new \
                 is stored; reading and forgetting go on",
                space.free / MIB,
                to_resume.div_ceil(MIB),
            ),
        };
        if full.replace(why.clone()).is_none() {
            tracing::warn!(
                free_bytes = space.free,
                needed_bytes = to_resume,
                "disk full: nothing new is stored"
            );
        }
        drop(full);
        if space.free < space.low() { Room::None(why) } else { Room::Little(why) }
    }
}

/// Gives up the ballast in `dir`; whether there was one.
pub(super) fn release(dir: &Path) -> bool {
    std::fs::remove_file(dir.join(FILE_NAME)).is_ok()
}

fn size(dir: &Path) -> u64 {
    dir.join(FILE_NAME).metadata().map_or(0, |metadata| metadata.len())
}

/// Makes a file that really takes `bytes`, or none.
fn make(dir: &Path, bytes: u64) -> io::Result<()> {
    let path = dir.join(FILE_NAME);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // Should it be a pipe, this fails instead of waiting for a reader.
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    let allocated = match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => fill(&file, bytes),
        outcome => outcome.map_err(io::Error::from),
    };
    if allocated.is_err() {
        release(dir);
    }
    allocated
}

/// Writes what no file system can compress away.
fn fill(mut file: &File, bytes: u64) -> io::Result<()> {
    let mut noise = blake3::Hasher::new().update(FILE_NAME.as_bytes()).finalize_xof();
    let mut block = vec![0; 1 << 16];
    let mut n_left = bytes;
    while n_left > 0 {
        noise.fill(&mut block);
        let part = block.get(..usize::try_from(n_left).unwrap_or(usize::MAX)).unwrap_or(&block);
        file.write_all(part)?;
        n_left -= part.len() as u64;
    }
    file.sync_all()
}

const MIB: u64 = 1 << 20;

/// What a file system, or the limit of this process on the size of a file, has to offer.
#[derive(Clone, Copy, Debug)]
struct Space {
    free: u64,
    total: u64,
}

impl Space {
    fn of(dir: &Path, store: &Path) -> io::Result<Self> {
        let system = statvfs(dir)?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        let total = system.f_blocks.saturating_mul(system.f_frsize);
        let Some(limit) = getrlimit(Resource::Fsize).current else {
            return Ok(Self { free, total });
        };
        // The file of the store doubles when it grows.
        let grown = store.metadata()?.len().saturating_mul(2);
        Ok(Self { free: free.min(limit.saturating_sub(grown)), total: total.min(limit) })
    }

    /// Free space at which nothing that grows is taken any more.
    fn low(self) -> u64 {
        FREE_BYTES_LOW.min(self.total / FREE_SHARE_LOW)
    }
}
