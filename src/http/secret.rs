//! Keys from files: read for each use, so that a new one counts at once; never shown.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::domain::limits::SECRET_BYTES_MAX;

/// A key. It has no `Display`, and its `Debug` shows nothing of it.
pub struct Secret(String);

impl Secret {
    /// The key itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Bits of a file's mode that let others in.
const OTHERS: u32 = 0o077;

/// Reads the key in a file, without the blanks and newlines around it: one word.
///
/// # Errors
/// As [`read_line`], or if there are blanks or characters beyond ASCII in it.
pub fn read_token(path: &Path) -> Result<Secret, String> {
    let key = read_line(path)?;
    if key.0.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(key);
    }
    Err(format!("{} holds no key: one line without blanks is expected", path.display()))
}

/// Reads the one line in a file, like a password, without the blanks and newlines around it.
///
/// # Errors
/// If it cannot be read, is empty or long, or if others may read it: only credentials that systemd
/// hands over (below `/run`) may have a mode of their own.
pub fn read_line(path: &Path) -> Result<Secret, String> {
    let shown = path.display();
    let fail = |error: std::io::Error| format!("read the key in {shown}: {error}");
    // To open a pipe would wait for ever, and nobody should narrow the mode of a directory.
    if !path.metadata().map_err(fail)?.is_file() {
        return Err(format!("{shown} holds no key: it is no file"));
    }
    let file = File::open(path).map_err(fail)?;
    let mode = file.metadata().map_err(fail)?.mode();
    let is_credential =
        path.starts_with("/run") && path.components().any(|part| part.as_os_str() == "credentials");
    if mode & OTHERS != 0 && !is_credential {
        return Err(format!(
            "the key in {shown} can be read by others (mode {:o}): run `chmod 600 {shown}`",
            mode & 0o777
        ));
    }
    let mut text = String::new();
    file.take(SECRET_BYTES_MAX as u64 + 1).read_to_string(&mut text).map_err(fail)?;
    let key = text.trim();
    if key.is_empty() || key.len() > SECRET_BYTES_MAX || key.chars().any(char::is_control) {
        return Err(format!("{shown} holds no key: one line without blanks is expected"));
    }
    Ok(Secret(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_read_from_a_file_of_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        assert!(read_token(&path).unwrap_err().contains("read the key in"));
        for (content, mode, expected) in [
            ("sk-12345\n", 0o600, Ok("sk-12345")),
            ("  sk-12345 \n\n", 0o400, Ok("sk-12345")),
            ("sk-12345", 0o640, Err("chmod 600")),
            ("sk-12345", 0o604, Err("mode 604")),
            ("", 0o600, Err("holds no key")),
            ("one two", 0o600, Err("holds no key")),
            ("schl\u{fc}ssel", 0o600, Err("holds no key")),
        ] {
            drop(fs::remove_file(&path));
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match (read_token(&path), expected) {
                (Ok(key), Ok(expected)) => assert_eq!(key.reveal(), expected),
                (Err(error), Err(expected)) => {
                    assert!(error.contains(expected), "{error}");
                    assert!(!error.contains("12345"), "{error}");
                }
                (found, _) => panic!("{content:?} {mode:o}: {found:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        for path in [pipe.as_path(), dir.path(), Path::new("/dev/zero")] {
            let error = read_line(path).unwrap_err();
            assert!(error.ends_with("holds no key: it is no file"), "{error}");
        }
    }

    #[test]
    fn a_password_may_have_blanks_and_any_letters() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        for (content, expected) in [
            ("open sesame \u{fc}\n", Some("open sesame \u{fc}")),
            ("two\nlines", None),
            ("\n", None),
        ] {
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let read = read_line(&path).ok();
            assert_eq!(read.as_ref().map(Secret::reveal), expected, "{content:?}");
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(format!("{:?}", Secret("sk-12345".to_owned())), "Secret");
    }
}
