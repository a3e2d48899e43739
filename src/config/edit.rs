//! Changes one key in a configuration file and leaves everything else in it as it is, comments too.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, Value, value};

/// Why a file could not be changed. It is as it was.
#[derive(Debug, thiserror::Error)]
#[error("change {}: {reason}", path.display())]
pub struct EditError {
    path: PathBuf,
    reason: String,
}

/// Sets `section.key` to a text in the file at `path`, which is made if it is not there.
///
/// # Errors
/// If it cannot be read, understood or written.
pub fn set_text(path: &Path, section: &str, key: &str, text: &str) -> Result<(), EditError> {
    let fail = |reason: String| EditError { path: path.to_owned(), reason };
    let old = match fs::read_to_string(path) {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fail(error.to_string())),
    };
    let new = with_text(&old, section, key, text).map_err(fail)?;
    write(path, &new).map_err(|error| fail(error.to_string()))
}

fn with_text(old: &str, section: &str, key: &str, text: &str) -> Result<String, String> {
    let mut document: DocumentMut = old.parse().map_err(|error| format!("{error}"))?;
    if document.is_empty() {
        // Remarks alone would land behind what is added.
        let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{old}{gap}[{section}]\n{key} = {}\n", Value::from(text)));
    }
    let table = document
        .entry(section)
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()
        .ok_or_else(|| format!("`{section}` is no section"))?;
    match table.get_mut(key).and_then(Item::as_value_mut) {
        // In its place, so that the remarks above and behind it stay.
        Some(old) => {
            let decor = old.decor().clone();
            *old = Value::from(text);
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(key, value(text));
        }
    }
    Ok(document.to_string())
}

/// Replaces the file at once; a link to it stays a link.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let dir = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    let mode = fs::metadata(&target).map_or(0o600, |found| found.permissions().mode());
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    fs::File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_changes_and_all_else_stays() {
        for (old, expected) in [
            ("", "[embed]\nmodel = \"e5\"\n"),
            (
                "[store]\ncache_mb = 8 # small\n",
                "[store]\ncache_mb = 8 # small\n\n[embed]\nmodel = \"e5\"\n",
            ),
            (
                "# mine\n[embed]\n# why\nmodel = \"bundled\" # for now\nthreads = 2\n",
                "# mine\n[embed]\n# why\nmodel = \"e5\" # for now\nthreads = 2\n",
            ),
            ("[embed]\nthreads = 2\n", "[embed]\nthreads = 2\nmodel = \"e5\"\n"),
            ("embed.threads = 2\n", "embed.threads = 2\nembed.model = \"e5\"\n"),
            ("embed = { threads = 2 }\n", "embed = { threads = 2 , model = \"e5\" }\n"),
            (
                "[embed.endpoint]\nurl = \"x\"\n",
                "[embed]\nmodel = \"e5\"\n[embed.endpoint]\nurl = \"x\"\n",
            ),
        ] {
            let new = with_text(old, "embed", "model", "e5").unwrap();
            let (found, wanted): (toml::Table, toml::Table) =
                (new.parse().unwrap(), expected.parse().unwrap());
            assert_eq!(found, wanted, "{old}");
            for line in old.lines().filter(|line| line.contains('#')) {
                let remark = line.split('#').next_back().unwrap();
                assert!(new.contains(remark), "{new}");
            }
            assert_eq!(with_text(&new, "embed", "model", "e5").unwrap(), new);
        }
        assert!(with_text("embed = 3", "embed", "model", "e5").is_err());
        assert!(with_text("[embed", "embed", "model", "e5").is_err());
    }

    #[test]
    fn a_link_stays_a_link_and_a_mode_stays_a_mode() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.toml"), dir.path().join("link.toml"));
        fs::write(&real, "# kept\n").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        set_text(&link, "embed", "model", "e5").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().starts_with("# kept\n"));
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        let new = dir.path().join("deep/er/config.toml");
        set_text(&new, "embed", "model", "e5").unwrap();
        assert_eq!(fs::read_to_string(new).unwrap(), "[embed]\nmodel = \"e5\"\n");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "nothing is left behind");
    }
}
