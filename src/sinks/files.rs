//! The files that a sink needs: whether they have changed since it was last used.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::domain::sink::SinkSettings;

/// A number that changes whenever one of the files of a sink is written, replaced, removed, or gets
/// other rights; made of what the file system says of them. `None`: it has none.
pub(super) fn mark(settings: &SinkSettings) -> Option<u64> {
    let secrets =
        [&settings.url_file, &settings.token_file, &settings.secret_file, &settings.to_file];
    let files = secrets.into_iter().flatten().map(PathBuf::as_path);
    let files: Vec<&Path> = files.chain(settings.command.first().map(Path::new)).collect();
    if files.is_empty() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    for path in files {
        match path.metadata() {
            Ok(found) => {
                let written = (found.mtime(), found.mtime_nsec());
                let changed = (found.ctime(), found.ctime_nsec());
                (found.dev(), found.ino(), found.size(), written, changed).hash(&mut hasher);
            }
            Err(error) => error.raw_os_error().hash(&mut hasher),
        }
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::domain::sink::SinkKind;

    #[test]
    fn whatever_happens_to_a_file_of_a_sink_changes_its_mark() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("url");
        let mut settings = SinkSettings::new("team", SinkKind::Slack);
        assert_eq!(mark(&settings), None);
        settings.url_file = Some(path.clone());
        let mut marks = vec![mark(&settings)];
        let mut note = |what: &str| {
            let now = mark(&settings);
            assert!(now.is_some() && !marks.contains(&now), "{what}");
            assert_eq!(now, mark(&settings), "{what}: it stays as it is");
            marks.push(now);
        };
        fs::write(&path, "https://example.org/a").unwrap();
        note("it is there");
        fs::write(&path, "https://example.org/ab").unwrap();
        note("it is longer");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        note("others may not read it");
        let other = dir.path().join("other");
        fs::write(&other, "https://example.org/ab").unwrap();
        fs::rename(&other, &path).unwrap();
        note("another one took its place");
    }
}
