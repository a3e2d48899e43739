//! Log files: `recalld.log` and its predecessors `recalld.log.1` (the newest) and so on.
//!
//! A file is opened anew when somebody asks for it or has moved it away (logrotate), and set aside
//! when it has grown to its limit. Only files with exactly these names are ever renamed or deleted. A
//! line that cannot be written is counted and told; it never stops the daemon.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::ports::Clock;

/// Name of the file that is written now.
const NAME: &str = "recalld.log";

/// Where and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSettings {
    /// The directory; made if it is missing.
    pub dir: PathBuf,
    /// Size at which a file is set aside, bytes.
    pub bytes_max: u64,
    /// Files kept beside the present one.
    pub files_keep: usize,
}

impl FileSettings {
    /// The file that is written now.
    pub fn path(&self) -> PathBuf {
        self.dir.join(NAME)
    }

    fn aside(&self, number: usize) -> PathBuf {
        self.dir.join(format!("{NAME}.{number}"))
    }

    /// Opens the file for more lines, mode 0600 if it is new.
    pub(super) fn open(&self) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        OpenOptions::new().create(true).append(true).mode(0o600).open(self.path())
    }

    /// Sets the present file aside and deletes what is too old.
    fn rotate(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.dir)?.flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(NAME)?.strip_prefix('.'));
            // Only numbers as they are written here: no sign, no leading zero.
            let number = number
                .and_then(|text| text.parse().ok().filter(|n: &usize| n.to_string() == *text));
            if number.is_some_and(|number| number >= self.files_keep) {
                fs::remove_file(entry.path())?;
            }
        }
        for number in (1..self.files_keep).rev() {
            rename(&self.aside(number), &self.aside(number + 1))?;
        }
        rename(&self.path(), &self.aside(1))
    }
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// What the writer of the file and the handle on the log share.
pub(super) struct Target {
    clock: Arc<dyn Clock>,
    settings: Mutex<Option<FileSettings>>,
    /// Grows when the file is to be opened anew.
    n_reopens: AtomicU64,
    n_failed: AtomicU64,
    trouble: Mutex<Option<(Timestamp, String)>>,
}

impl Target {
    pub(super) fn new(clock: Arc<dyn Clock>, settings: Option<FileSettings>) -> Self {
        Self {
            clock,
            settings: Mutex::new(settings),
            n_reopens: AtomicU64::new(0),
            n_failed: AtomicU64::new(0),
            trouble: Mutex::default(),
        }
    }

    /// Where lines go, if they go to a file.
    pub(super) fn settings(&self) -> Option<FileSettings> {
        lock(&self.settings).clone()
    }

    /// Whether lines go to a file.
    pub(super) fn is_on(&self) -> bool {
        lock(&self.settings).is_some()
    }

    /// Sends lines elsewhere, or to the same file opened anew.
    pub(super) fn set(&self, settings: Option<FileSettings>) {
        if settings.is_none() {
            *lock(&self.trouble) = None;
        }
        *lock(&self.settings) = settings;
        self.n_reopens.fetch_add(1, Ordering::Release);
    }

    /// Lines that were not written.
    pub(super) fn n_failed(&self) -> u64 {
        self.n_failed.load(Ordering::Relaxed)
    }

    /// Since when and why lines are not written.
    pub(super) fn trouble(&self) -> Option<(Timestamp, String)> {
        lock(&self.trouble).clone()
    }

    fn failed(&self, path: &Path, error: &io::Error) {
        self.n_failed.fetch_add(1, Ordering::Relaxed);
        let because = format!("{} is not written: {error}", path.display());
        let mut trouble = lock(&self.trouble);
        let since = trouble.as_ref().map_or_else(|| self.clock.now(), |(since, _)| *since);
        *trouble = Some((since, because));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes lines; one call, one line.
pub(super) struct LogFile {
    target: Arc<Target>,
    n_reopens: u64,
    open: Option<Open>,
}

struct Open {
    file: File,
    settings: FileSettings,
    /// Device and inode.
    id: (u64, u64),
    n_bytes: u64,
}

impl Open {
    fn new(settings: FileSettings) -> io::Result<Self> {
        let file = settings.open()?;
        let metadata = file.metadata()?;
        Ok(Self { file, settings, id: (metadata.dev(), metadata.ino()), n_bytes: metadata.len() })
    }

    /// Whether it still is what its name leads to.
    fn is_in_place(&self) -> bool {
        fs::metadata(self.settings.path()).is_ok_and(|found| (found.dev(), found.ino()) == self.id)
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(line) {
            // The part of the line that went in must not run into the next one. Where that cannot be
            // helped (a device, a pipe), the error that counts is still the first.
            let _is_cut = self.file.set_len(self.n_bytes).is_ok();
            return Err(error);
        }
        self.n_bytes += line.len() as u64;
        Ok(())
    }
}

impl LogFile {
    pub(super) fn new(target: Arc<Target>) -> Self {
        Self { target, n_reopens: 0, open: None }
    }

    fn put(&mut self, settings: &FileSettings, line: &[u8]) -> io::Result<()> {
        let n_reopens = self.target.n_reopens.load(Ordering::Acquire);
        if std::mem::replace(&mut self.n_reopens, n_reopens) != n_reopens {
            self.open = None;
        }
        let mut open = match self.open.take().filter(Open::is_in_place) {
            Some(open) => open,
            None => Open::new(settings.clone())?,
        };
        if open.n_bytes > 0 && open.n_bytes + line.len() as u64 > settings.bytes_max {
            settings.rotate()?;
            open = Open::new(settings.clone())?;
        }
        let written = open.write(line);
        self.open = Some(open);
        written
    }
}

impl Write for LogFile {
    /// Takes every line: what becomes of it is known to the [`Target`].
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(settings) = self.target.settings() {
            match self.put(&settings, line) {
                Ok(()) => drop(lock(&self.target.trouble).take()),
                Err(error) => self.target.failed(&settings.path(), &error),
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
