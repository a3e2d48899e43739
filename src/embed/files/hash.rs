//! Hashes of files.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// One hash over the names, lengths and contents of files below `dir`.
///
/// # Errors
/// What the file system says.
pub(super) fn of_files<'a>(dir: &Path, paths: impl Iterator<Item = &'a str>) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        let file = File::open(dir.join(path))?;
        // Where a file lies says nothing about what it is.
        let name = path.rsplit('/').next().unwrap_or(path);
        for number in [name.len() as u64, file.metadata()?.len()] {
            hasher.update(&number.to_be_bytes());
        }
        hasher.update(name.as_bytes());
        hasher.update_reader(file)?;
    }
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}

/// Checks what came from the hub: it calls a large file by its SHA-256. Files that are not what they
/// are called are removed, so that the next attempt fetches them again.
///
/// # Errors
/// That there were some, or what the file system says.
pub(super) fn check_blobs(cache_dir: &Path) -> Result<(), String> {
    let mut n_damaged = 0;
    for repository in entries(cache_dir) {
        for blob in entries(&repository.join("blobs")) {
            let name = blob.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_hash = name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
            if is_hash && sha256(&blob).map_err(|error| error.to_string())? != name {
                fs::remove_file(&blob).map_err(|error| error.to_string())?;
                n_damaged += 1;
            }
        }
        remove_dangling(&repository.join("snapshots")).map_err(|error| error.to_string())?;
    }
    match n_damaged {
        0 => Ok(()),
        n => Err(format!("{n} of its files were damaged on their way here; try again")),
    }
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Removes links to files that are gone: the library would not put new ones in their place.
fn remove_dangling(dir: &Path) -> io::Result<()> {
    for path in entries(dir) {
        if path.is_symlink() && !path.exists() {
            fs::remove_file(&path)?;
        } else if path.is_dir() {
            remove_dangling(&path)?;
        }
    }
    Ok(())
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hasher.update(buffer.get(..n).unwrap_or_default());
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
