//! The seal: which files of the index hold what was written to them, as far as the file system knows.
//!
//! A list of the files with the device, inode, size and times of each. Whoever writes to a file moves
//! its ctime, which no call sets back, and a copy or a restored file is another inode: a file that is
//! still what the seal says holds what it held then, unless the disk itself has lost it.
//!
//! The seal is also the leave to serve files whose checksums were not verified yet. It is taken off,
//! durably, before the first of them is read and put on again when all were verified. Should reading
//! them end the process (the library believes the sizes it reads and asks for that much memory), the
//! next start finds no seal and verifies first.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::files::{UNFINISHED, sealed, unsealed};

/// Its file.
pub(super) const SEAL_FILE: &str = "seal";

/// By the name of the file, what it is on the disk.
pub(super) type Identities = BTreeMap<String, String>;

/// The seal of a directory.
#[derive(Clone, Debug)]
pub(super) struct Seal {
    dir: PathBuf,
    /// The files under it; `None` while it is off.
    files: Arc<Mutex<Option<Identities>>>,
}

impl Seal {
    /// That of `dir`, off.
    pub(super) fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), files: Arc::default() }
    }

    /// What these files are now.
    ///
    /// # Errors
    /// If one of them is not there.
    pub(super) fn look(&self, files: impl Iterator<Item = PathBuf>) -> io::Result<Identities> {
        files
            .map(|file| Ok((file.display().to_string(), identity(&self.dir.join(file))?)))
            .collect()
    }

    /// Takes it off if each file is what it says; tells whether that is so. Durable at the return.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(super) fn take(&self, files: &Identities) -> io::Result<bool> {
        let Some(sealed) = self.read() else { return Ok(false) };
        if !files.iter().all(|(name, identity)| sealed.get(name) == Some(identity)) {
            return Ok(false);
        }
        fs::remove_file(self.path())?;
        File::open(&self.dir)?.sync_all()?;
        Ok(true)
    }

    /// Puts it on files that hold what was written to them, as they were before that was found.
    pub(super) fn put(&self, files: Identities) {
        let mut sealed = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&files);
        *sealed = Some(files);
        drop(sealed);
    }

    /// Puts it on the files of the segments in `list`, which was just written. Those that were under
    /// it stay there as they were, so that what was done to them meanwhile does not go unseen.
    pub(super) fn renew(&self, list: &[u8]) {
        let mut sealed = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = sealed.take() {
            let now = self.files_of(&segments(list), &before);
            self.write(&now);
            *sealed = Some(now);
        }
        drop(sealed);
    }

    fn files_of(&self, segments: &HashSet<String>, before: &Identities) -> Identities {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names
            .filter(|name| name.split('.').next().is_some_and(|id| segments.contains(id)))
            .filter_map(|name| {
                let identity = match before.get(&name) {
                    Some(identity) => identity.clone(),
                    None => identity(&self.dir.join(&name)).ok()?,
                };
                Some((name, identity))
            })
            .collect()
    }

    fn read(&self) -> Option<Identities> {
        let list = String::from_utf8(unsealed(fs::read(self.path()).ok()?).ok()?).ok()?;
        let files = list.lines().filter_map(|line| line.split_once(' '));
        Some(files.map(|(name, identity)| (name.to_owned(), identity.to_owned())).collect())
    }

    /// Without a sync, and without an error: whatever is not there or not whole after a crash costs
    /// a verification.
    fn write(&self, files: &Identities) {
        let list: String =
            files.iter().map(|(name, identity)| format!("{name} {identity}\n")).collect();
        let unfinished = self.dir.join(format!("{UNFINISHED}-{SEAL_FILE}"));
        let written = fs::write(&unfinished, sealed(list.as_bytes()))
            .and_then(|()| fs::rename(&unfinished, self.path()));
        if let Err(error) = written {
            tracing::debug!(%error, "text index not sealed");
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.join(SEAL_FILE)
    }
}

/// What a file is on the disk.
fn identity(path: &Path) -> io::Result<String> {
    let file = path.metadata()?;
    Ok(format!(
        "{} {} {} {}.{:09} {}.{:09}",
        file.dev(),
        file.ino(),
        file.size(),
        file.mtime(),
        file.mtime_nsec(),
        file.ctime(),
        file.ctime_nsec()
    ))
}

/// The segments in a list that the library has written, by what the names of their files begin with.
fn segments(list: &[u8]) -> HashSet<String> {
    let list: serde_json::Value = serde_json::from_slice(list).unwrap_or_default();
    let segments = list.get("segments").and_then(|segments| segments.as_array());
    let id =
        |segment: &serde_json::Value| Some(segment.get("segment_id")?.as_str()?.replace('-', ""));
    segments.into_iter().flatten().filter_map(id).collect()
}
