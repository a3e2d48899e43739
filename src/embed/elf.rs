//! Looks at a shared library before the loader does.
//!
//! The loader maps the parts of a library without looking at the length of the file: one that was cut
//! off (a copy or download that stopped) kills the process with SIGBUS, without an error to catch.
//! Fields and values are those of elf(5).

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Whether the loader can be given this file: a 64-bit library for this processor, and whole.
///
/// # Errors
/// Why not.
pub(super) fn check(path: &Path) -> Result<(), String> {
    if cfg!(not(all(target_pointer_width = "64", target_endian = "little"))) {
        return Ok(());
    }
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let mut header = [0; HEADER_BYTES];
    let is_long = file.read_exact(&mut header).is_ok();
    if !is_long || !header.starts_with(b"\x7fELF") {
        return Err("it is no shared library".to_owned());
    }
    let is_library = number(&header, 4, 1) == 2 && number(&header, 16, 2) == ET_DYN;
    if !is_library || MACHINE.is_some_and(|machine| number(&header, 18, 2) != machine) {
        return Err("it is no shared library for this machine".to_owned());
    }
    let (table, n_parts) = (number(&header, 32, 8), number(&header, 56, 2));
    for part in 0..n_parts {
        let at = table.saturating_add(part * PART_BYTES as u64);
        let mut fields = [0; PART_BYTES];
        let is_there = file.read_exact_at(&mut fields, at).is_ok();
        let end = number(&fields, 8, 8).saturating_add(number(&fields, 32, 8));
        if !is_there || (number(&fields, 0, 4) == PT_LOAD && end > length) {
            return Err(format!("it is cut off: {length} bytes are not all of it"));
        }
    }
    Ok(())
}

/// The version that a library gives its symbols, like `1.32.0` of `VERS_1.32.0`: what ONNX Runtime says
/// of its own build names no release.
pub(super) fn symbol_version(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(NAMES_BYTES_MAX).read_to_end(&mut start).ok()?;
    let at = start.windows(VERSION_MARK.len()).position(|bytes| bytes == VERSION_MARK)?;
    let rest = start.get(at + VERSION_MARK.len()..)?.iter().copied();
    let version: String =
        rest.take_while(|byte| byte.is_ascii_digit() || *byte == b'.').map(char::from).collect();
    (!version.is_empty()).then_some(version)
}

/// Begins the name of a version of symbols.
const VERSION_MARK: &[u8] = b"VERS_";
/// The names of symbols lie at the start of a library: at byte 25,000 of ONNX Runtime 1.32.
const NAMES_BYTES_MAX: u64 = 1 << 20;
const HEADER_BYTES: usize = 64;
/// An entry of the program header table.
const PART_BYTES: usize = 56;
const ET_DYN: u64 = 3;
const PT_LOAD: u64 = 1;
/// `e_machine` of this processor, where we know it.
const MACHINE: Option<u64> = if cfg!(target_arch = "x86_64") {
    Some(62)
} else if cfg!(target_arch = "aarch64") {
    Some(183)
} else {
    None
};

/// The little-endian number of `n` bytes at `at`; 0 past the end.
fn number(bytes: &[u8], at: usize, n: usize) -> u64 {
    let bytes = bytes.get(at..at + n).unwrap_or_default();
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library that this process has mapped.
    fn library() -> std::path::PathBuf {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.contains("libc.so")).unwrap();
        line.split_whitespace().last().unwrap().into()
    }

    #[test]
    fn a_whole_library_passes_and_every_cut_of_it_does_not() {
        let library = library();
        check(&library).unwrap();
        let bytes = std::fs::read(&library).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cut.so");
        for length in [0, 3, 63, 64, 200, 4_096, bytes.len() / 2] {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(check(&path).is_err(), "{length}");
        }
        for (at, value) in [(0, 0), (4, 1), (16, 2), (18, 3)] {
            let mut other = bytes.clone();
            other[at] = value;
            std::fs::write(&path, &other).unwrap();
            assert!(check(&path).unwrap_err().contains("no shared library"), "{at}");
        }
        assert_eq!(symbol_version(&path), None);
        std::fs::write(&path, b"\x7fELF\0OrtGetApiBase\0VERS_1.32.0\0more").unwrap();
        assert_eq!(symbol_version(&path).as_deref(), Some("1.32.0"));
        assert!(check(&dir.path().join("missing")).is_err());
        assert!(check(dir.path()).is_err());
    }
}
