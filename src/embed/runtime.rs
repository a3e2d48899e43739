//! Finds and opens ONNX Runtime, a shared library that runs the models of the catalogue.
//!
//! It is not part of the daemon: without it everything but those models works. It is opened so that
//! a missing, foreign, old or damaged library is an error that says what to do, never a panic or the
//! end of the process. A process has one of them, which stays open until it ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ort::environment::Environment;
use ort::logging::LogLevel;

use super::elf;
use super::lanes::lock;

/// Where the library may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// What configuration says (`embed.onnx_runtime`): then it is looked for nowhere else.
    pub configured: Option<PathBuf>,
    /// What `ORT_DYLIB_PATH` says: then nowhere else either.
    pub variable: Option<PathBuf>,
    /// Directories, in the order in which they are looked into.
    pub dirs: Vec<PathBuf>,
}

/// The oldest version that works.
pub const VERSION_MIN: &str = "1.24";

/// Start of the library's name.
const NAME: &str = "libonnxruntime.so";

/// Why the library cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    /// There is none.
    #[error("ONNX Runtime is not there (looked for {looked}); {}", how_to_get(.looked_in.as_deref()))]
    Missing {
        /// What was looked for, for people.
        looked: String,
        /// The first of the directories.
        looked_in: Option<PathBuf>,
    },
    /// There is one that does not work.
    #[error("ONNX Runtime at {} cannot be used: {reason} (version {VERSION_MIN} or newer is needed)", path.display())]
    Unusable {
        /// Where.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// What a person does to get the library; `dir` is where to put it.
pub fn how_to_get(dir: Option<&Path>) -> String {
    let dir = dir.map_or_else(
        || "the directory ort of the data directory".to_owned(),
        |dir| dir.display().to_string(),
    );
    format!(
        "get version {VERSION_MIN} or newer, for instance with `pip download --no-deps \
         onnxruntime`: unzip the wheel and put its onnxruntime/capi/{NAME}.* into {dir}"
    )
}

/// The library, opened.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// Where it was found.
    pub path: PathBuf,
    /// Its one environment.
    pub(super) environment: Environment,
}

impl Runtime {
    /// Its release, like `1.32.0`.
    pub fn version(&self) -> String {
        elf::symbol_version(&self.path).unwrap_or_else(|| "of an unknown version".to_owned())
    }
}

/// The library that would be opened.
///
/// # Errors
/// [`RuntimeError::Missing`].
pub fn find(places: &Places) -> Result<PathBuf, RuntimeError> {
    if let Some(path) = places.configured.as_ref().or(places.variable.as_ref()) {
        let looked = path.display().to_string();
        let missing = RuntimeError::Missing { looked, looked_in: places.dirs.first().cloned() };
        return if path.is_file() { Ok(path.clone()) } else { Err(missing) };
    }
    let found = places.dirs.iter().find_map(|dir| {
        let entries = std::fs::read_dir(dir).ok()?;
        let is_library = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME))
                && path.is_file()
        };
        // Of several, the plain name, which is a link to the one in use, else the last.
        let found: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(is_library).collect();
        let plain = dir.join(NAME);
        if found.contains(&plain) { Some(plain) } else { found.into_iter().max() }
    });
    found.ok_or_else(|| {
        let looked: Vec<String> =
            places.dirs.iter().map(|dir| dir.join(NAME).display().to_string()).collect();
        let looked_in = places.dirs.first().cloned();
        RuntimeError::Missing { looked: looked.join(", "), looked_in }
    })
}

static OPENED: Mutex<Option<Runtime>> = Mutex::new(None);

/// Opens the library; later calls get the one that is open.
///
/// # Errors
/// Why it cannot be used.
pub fn open(places: &Places) -> Result<Runtime, RuntimeError> {
    let mut opened = lock(&OPENED);
    if let Some(runtime) = &*opened {
        return Ok(runtime.clone());
    }
    let path = find(places)?;
    let unusable = |reason: String| RuntimeError::Unusable { path: path.clone(), reason };
    elf::check(&path).map_err(unusable)?;
    // A library that lies about its version is met by a panic inside.
    let made = catch_unwind(AssertUnwindSafe(|| {
        ort::init_from(&path)
            .map_err(|error| error.to_string())?
            .with_name("recalld")
            .with_telemetry(false)
            .build()
            .map_err(|error| error.to_string())
    }));
    let environment =
        made.unwrap_or_else(|_| Err("it does not start".to_owned())).map_err(unusable)?;
    // Its warnings go to standard error and concern those who wrote the model.
    environment.set_log_level(LogLevel::Error);
    let runtime = Runtime { path: path.clone(), environment };
    *opened = Some(runtime.clone());
    drop(opened);
    Ok(runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_looked_for_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let dirs = vec![dir.path().join("first"), dir.path().join("second")];
        let places = Places { dirs, ..Places::default() };
        let missing = find(&places).unwrap_err().to_string();
        for said in ["first/libonnxruntime.so", "second/", "1.24", "pip download"] {
            assert!(missing.contains(said), "{missing}");
        }
        file("first/other.so");
        let second = file("second/libonnxruntime.so.1.30.0");
        assert_eq!(find(&places).unwrap(), second);
        let newer = file("second/libonnxruntime.so.1.32.0");
        assert_eq!(find(&places).unwrap(), newer);
        let first = file("first/libonnxruntime.so");
        assert_eq!(find(&places).unwrap(), first);
        let named = file("elsewhere/onnx.so");
        let places = Places { variable: Some(named.clone()), ..places };
        assert_eq!(find(&places).unwrap(), named);
        // What somebody named is the only place.
        let places = Places { configured: Some(dir.path().join("gone.so")), ..places };
        assert!(find(&places).unwrap_err().to_string().contains("gone.so"));
    }
}
