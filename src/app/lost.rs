//! A store that is missing where there was one. To start empty there would look as if everything had
//! been forgotten, and the next backups would push out those that still hold it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::engine::{INDEX_DIR, backup_dir};
use crate::config::Config;
use crate::index::text;
use crate::ports::Backup;
use crate::store::{FILE_NAME, newest_backup, newest_kept};

/// What tells of a store that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LostStore {
    file: PathBuf,
    trace: Trace,
}

/// The best of what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trace {
    Backup(Backup),
    /// The store that a restoration replaced.
    Kept(PathBuf),
    /// Its index.
    Index(PathBuf),
}

impl LostStore {
    /// What is left of a store in `state_dir` whose file is missing; `None` if it is there, or if
    /// there never was one.
    pub(super) fn look(state_dir: &Path, config: &Config) -> Option<Self> {
        let file = state_dir.join(FILE_NAME);
        if file.symlink_metadata().is_ok() {
            return None;
        }
        let index = state_dir.join(INDEX_DIR);
        let trace = newest_backup(&backup_dir(state_dir, config))
            .map(Trace::Backup)
            .or_else(|| newest_kept(state_dir).map(Trace::Kept))
            .or_else(|| text::is_there(&index).then_some(Trace::Index(index)))?;
        Some(Self { file, trace })
    }

    /// How it is brought back, and how it is given up.
    pub(super) fn advice(&self) -> String {
        let back = match &self.trace {
            Trace::Backup(backup) => {
                format!("bring it back with `recalld restore {}`", backup.path.display())
            }
            Trace::Kept(kept) => {
                format!("bring it back with `mv {} {}`", kept.display(), self.file.display())
            }
            Trace::Index(_) => "bring the file back to its place".to_owned(),
        };
        format!("{back}; to start with an empty store on purpose: `recalld serve --start-empty`")
    }
}

impl fmt::Display for LostStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store {} is missing, and there was one: ", self.file.display())?;
        match &self.trace {
            Trace::Backup(Backup { path, created_at, n_memories, .. }) => write!(
                f,
                "the newest backup is {} of {created_at}, with {n_memories} memories",
                path.display()
            ),
            Trace::Kept(kept) => {
                write!(f, "the one before the last restore is kept as {}", kept.display())
            }
            Trace::Index(index) => {
                write!(f, "its index lies in {}, and no backup was found", index.display())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::Sources;

    #[test]
    fn only_traces_of_a_store_tell_of_one_that_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let sources = Sources { state_dir: Some(dir.to_owned()), ..Sources::default() };
        let config = Config::load(&sources).unwrap().config;
        let look = || LostStore::look(dir, &config);
        assert_eq!(look(), None, "nothing was ever here");
        // An interrupted first start, and what was installed before it.
        fs::write(dir.join("recalld.lock"), "1").unwrap();
        fs::write(dir.join("recalld.redb.new"), "half").unwrap();
        fs::create_dir_all(dir.join("models")).unwrap();
        fs::create_dir_all(dir.join("index")).unwrap();
        assert_eq!(look(), None);
        fs::write(dir.join("index/meta.json"), "{}").unwrap();
        assert!(look().unwrap().to_string().contains("its index lies in"));
        for name in ["20250101T000000.000Z", "20260101T000000.000Z"] {
            fs::write(dir.join(format!("recalld.redb.before-restore-{name}")), "").unwrap();
        }
        let lost = look().unwrap();
        assert!(lost.to_string().ends_with("before-restore-20260101T000000.000Z"), "{lost}");
        assert!(lost.advice().contains("`mv ") && lost.advice().contains("--start-empty"));
        fs::write(dir.join(FILE_NAME), "").unwrap();
        assert_eq!(look(), None, "it is there");
    }
}
