//! The directory of the index: what the library reads and writes there, and what we do to it as a
//! whole.
//!
//! The library ends each segment file with a checksum, but not its two lists (which segments there
//! are, up to which log entry they reach, which files are its own). Those end with ours, so that no
//! byte is believed unchecked.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

use super::seal::Seal;

/// The file that makes a directory an index, written last in each commit.
pub(super) const META_FILE: &str = "meta.json";
/// How the library names a file that it has not finished, as `tempfile` does.
pub(super) const UNFINISHED: &str = ".tmp";
/// Bytes that end a list: the hash in hexadecimal digits and a line feed.
const SEAL_BYTES: usize = 65;

/// The files, as the library sees them.
#[derive(Clone, Debug)]
pub(super) struct Files {
    mapped: MmapDirectory,
    /// Renewed with each list of the segments.
    pub(super) seal: Seal,
    #[cfg(test)]
    dir: PathBuf,
}

impl Files {
    /// The files of `dir`.
    pub(super) fn open(dir: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self {
            mapped: MmapDirectory::open(dir)?,
            seal: Seal::of(dir),
            #[cfg(test)]
            dir: dir.to_owned(),
        })
    }
}

impl Directory for Files {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let file = self.mapped.open_write(path)?;
        #[cfg(test)]
        let file = super::tests::disk::limited(&self.dir, file);
        Ok(file)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let list = self.mapped.atomic_read(path)?;
        unsealed(list).map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let list = sealed(data);
        #[cfg(test)]
        super::tests::disk::take_room(&self.dir, list.len())?;
        self.mapped.atomic_write(path, &list)?;
        if path == Path::new(META_FILE) {
            self.seal.renew(data);
        }
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.mapped.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

/// A list with its hash behind it.
pub(super) fn sealed(list: &[u8]) -> Vec<u8> {
    let mut sealed = list.to_vec();
    sealed.extend_from_slice(blake3::hash(list).to_hex().as_bytes());
    sealed.push(b'\n');
    sealed
}

/// The list in front of its hash.
///
/// # Errors
/// If the hash is not its own.
pub(super) fn unsealed(mut sealed_list: Vec<u8>) -> io::Result<Vec<u8>> {
    let end = sealed_list.len().saturating_sub(SEAL_BYTES);
    let list = sealed_list.get(..end).unwrap_or_default();
    if sealed(list) != sealed_list {
        return Err(io::Error::new(ErrorKind::InvalidData, "its checksum is wrong"));
    }
    sealed_list.truncate(end);
    Ok(sealed_list)
}

/// Removes the files that the library was still writing when the process ended: it renames each
/// when it is whole, and knows nothing of the others.
///
/// # Errors
/// Whatever the file system says, and if something there is no file: to open a pipe waits for ever.
pub(super) fn sweep(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if !path.metadata()?.is_file() {
            let what = format!("{} is no plain file", path.display());
            return Err(io::Error::new(ErrorKind::InvalidInput, what));
        }
        let name = path.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with(UNFINISHED) {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Bytes of the files in `dir`.
pub(super) fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// Makes `dir` an empty directory, whatever is there. What a link points to stays as it is: it may
/// be anybody's.
pub(super) fn empty(dir: &Path) -> io::Result<()> {
    match dir.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {
            let mut entries: Vec<PathBuf> = std::fs::read_dir(dir)?
                .map(|entry| Ok(entry?.path()))
                .collect::<io::Result<_>>()?;
            // First what names the others: a process that ends on the way leaves nothing that
            // looks like an index with files missing.
            entries.sort_by_key(|path| path.file_name() != Some(OsStr::new(META_FILE)));
            return entries.iter().try_for_each(|path| remove(path));
        }
        Ok(_) => std::fs::remove_file(dir)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    std::fs::create_dir_all(dir)
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    }
}

/// Makes sure that no later start opens the files in `dir`.
pub(super) fn distrust(dir: &Path) {
    if let Err(error) = std::fs::remove_file(dir.join(META_FILE)) {
        tracing::warn!(%error, "text index files not marked as damaged");
    }
}
