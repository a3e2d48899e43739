//! Tests of the configuration as its users see it: texts and variables in, settings or problems out.

mod access;
mod jobs;
mod paths;
mod problems;
mod reminders;
mod retention;
mod sessions;
mod sinks;
mod values;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

/// A home directory and an environment that no test shares with another.
struct Machine {
    home: TempDir,
    variables: Vec<(OsString, OsString)>,
}

impl Machine {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let runtime = home.path().join("runtime");
        let variables = vec![
            ("HOME".into(), home.path().into()),
            ("XDG_RUNTIME_DIR".into(), runtime.into_os_string()),
        ];
        Self { home, variables }
    }

    fn with_file(text: &str) -> Self {
        let machine = Self::new();
        fs::create_dir_all(machine.file().parent().unwrap()).unwrap();
        fs::write(machine.file(), text).unwrap();
        machine
    }

    fn set(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    fn file(&self) -> PathBuf {
        self.home.path().join(".config/recalld/config.toml")
    }

    fn sources(&self) -> Sources {
        let environment = Environment::new(self.variables.clone(), 1000);
        Sources { environment, ..Sources::default() }
    }

    #[track_caller]
    fn load(&self) -> Loaded {
        Config::load(&self.sources()).unwrap_or_else(|problems| panic!("{problems}"))
    }

    /// The problems as text, with `FILE` for the path of the file.
    #[track_caller]
    fn problems(&self) -> String {
        match Config::load(&self.sources()) {
            Ok(_) => panic!("the configuration was accepted"),
            Err(problems) => {
                problems.to_string().replace(&self.file().display().to_string(), "FILE")
            }
        }
    }
}
