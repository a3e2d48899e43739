//! Installed models: directories below the data directory, each with a manifest that is written last.
//!
//! `NAME/manifest.json` says what the model is and how it wants to be asked; a directory without one
//! is no model yet (a download that stopped goes on where it was). A model of the catalogue lies
//! there as the hub's own cache does, so that fastembed opens its file; any other one as it came.

mod hash;
mod import;
mod manifest;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use fastembed::TextEmbedding;

pub use self::import::Import;
pub use self::manifest::Manifest;

use super::catalogue::{self, Hub, Row};
use super::onnx;
use super::runtime::{self, Places, Runtime, RuntimeError};
use crate::domain::embedding::{Scripts, is_model_name};
use crate::embed::Model as _;

/// The weights of a model that is no catalogue one.
pub(super) const WEIGHTS: &str = "model.onnx";
/// The files that describe its tokenizer, in the order in which they are handed over.
pub(super) const TOKENIZER_FILES: [&str; 4] =
    ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// Why a model cannot be installed or opened.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// It is not there.
    #[error(
        "the model {name} is not installed: run `recalld model use {name}`, or `recalld model import DIR --name {name}`"
    )]
    NotInstalled {
        /// Its name.
        name: String,
    },
    /// No model can be called so.
    #[error("a model is called by 1 to 64 of a-z, 0-9, `.`, `_` and `-`, not `{0}`")]
    Name(String),
    /// A file system said no.
    #[error("{action} {}: {error}", path.display())]
    Io {
        /// What was done.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// Files are not there.
    #[error("{} is missing {}", dir.display(), names.join(", "))]
    Missing {
        /// Where.
        dir: PathBuf,
        /// Which.
        names: Vec<String>,
    },
    /// What was installed is not what is there.
    #[error("{what} is damaged ({reason}): {remedy}")]
    Damaged {
        /// Which files.
        what: String,
        /// How.
        reason: String,
        /// How the model is installed anew.
        remedy: String,
    },
    /// What is to be installed does not work.
    #[error("the model {name} does not work: {reason}")]
    Broken {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// ONNX Runtime cannot be used.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// Something that is said of it is wrong, or must be said.
    #[error("{0}")]
    Argument(String),
    /// Its files do not say enough.
    #[error("{0}")]
    Unclear(String),
}

impl FilesError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { action, path, error }
    }
}

/// How the files of a model lie.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// As the cache of the hub, for fastembed.
    Hub(Hub),
    /// Flat, under the names they came with.
    Plain,
}

/// A model that is there.
#[derive(Clone, Debug)]
pub struct Installed {
    /// What it is.
    pub manifest: Manifest,
    /// Its directory.
    pub(super) dir: PathBuf,
    pub(super) layout: Layout,
}

/// Every model that is installed, by name.
pub fn list(models_dir: &Path) -> Vec<Manifest> {
    let entries = fs::read_dir(models_dir).into_iter().flatten().flatten();
    let mut found: Vec<Manifest> =
        entries.filter_map(|entry| Manifest::read(&entry.path()).ok()).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Opens an installed model and reads all its files: they are those that were installed. A damaged one
/// must not get to the runtime, and other weights under the same name are another model.
///
/// # Errors
/// [`FilesError::NotInstalled`], or what is wrong with it.
pub fn open(models_dir: &Path, name: &str) -> Result<Installed, FilesError> {
    let installed = look(models_dir, name)?;
    installed.manifest.prove(&installed.dir)?;
    Ok(installed)
}

/// Looks at an installed model: all its files are there. They are read only if length or time of
/// change say that they are others.
///
/// # Errors
/// [`FilesError::NotInstalled`], or what is wrong with it.
pub fn glance(models_dir: &Path, name: &str) -> Result<Installed, FilesError> {
    let installed = look(models_dir, name)?;
    if installed.manifest.has_changed(&installed.dir)? {
        installed.manifest.prove(&installed.dir)?;
    }
    Ok(installed)
}

fn look(models_dir: &Path, name: &str) -> Result<Installed, FilesError> {
    let dir = directory(models_dir, name)?;
    if !dir.join(manifest::NAME).exists() {
        return Err(FilesError::NotInstalled { name: name.to_owned() });
    }
    let manifest = Manifest::read(&dir)?;
    let paths = manifest.files.iter().map(|file| file.path.as_str());
    let missing: Vec<&str> = paths.filter(|path| !dir.join(path).is_file()).collect();
    if !missing.is_empty() {
        return Err(manifest.damaged(&dir, &missing, "not there"));
    }
    let layout = match catalogue::named(name).and_then(|row| row.hub.clone()) {
        Some(hub) if manifest.is_cache => Layout::Hub(hub),
        _ => Layout::Plain,
    };
    Ok(Installed { manifest, dir, layout })
}

/// Fetches a model of the catalogue from the hub and proves that it works; what is there already is
/// not fetched again. Shows its progress on a terminal.
///
/// # Errors
/// Why not; the model is not installed then.
pub fn fetch(
    models_dir: &Path,
    row: &Row,
    places: &Places,
    n_threads: usize,
) -> Result<Manifest, FilesError> {
    let dir = directory(models_dir, row.name)?;
    let runtime = &runtime::open(places)?;
    let broken = |reason: String| FilesError::Broken { name: row.name.to_owned(), reason };
    let hub = row.hub.as_ref().ok_or_else(|| broken("no hub has it".to_owned()))?;
    fs::create_dir_all(&dir).map_err(FilesError::io("make", &dir))?;
    let options = onnx::options(hub, dir.clone(), runtime, n_threads);
    let fetched = TextEmbedding::try_new(options.with_show_download_progress(true));
    // What did not arrive whole may be why it does not load.
    hash::check_blobs(&dir).map_err(broken)?;
    drop(fetched.map_err(|error| broken(onnx::causes(&error)))?);
    let mut manifest = Manifest::of_row(row);
    manifest.files = import::cached_files(&dir, hub)?;
    manifest.measure(&dir)?;
    let installed = Installed { manifest, dir, layout: Layout::Hub(hub.clone()) };
    prove(installed, Some(row.scripts), runtime, n_threads)
}

/// Loads an installed model and sees that it works.
///
/// # Errors
/// Why it does not.
pub fn check(
    models_dir: &Path,
    name: &str,
    places: &Places,
    n_threads: usize,
) -> Result<Manifest, FilesError> {
    let installed = open(models_dir, name)?;
    let scripts = installed.manifest.scripts;
    prove(installed, Some(scripts), &runtime::open(places)?, n_threads)
}

/// Whether a model of this name is installed.
pub fn is_installed(models_dir: &Path, name: &str) -> bool {
    directory(models_dir, name).is_ok_and(|dir| dir.join(manifest::NAME).is_file())
}

/// Loads a model, sees that it tells like from unlike, and writes its manifest. What it reads is found
/// out unless that is known.
fn prove(
    installed: Installed,
    scripts: Option<Scripts>,
    runtime: &Runtime,
    n_threads: usize,
) -> Result<Manifest, FilesError> {
    let name = installed.manifest.name.clone();
    let broken = |reason: String| FilesError::Broken { name: name.clone(), reason };
    let mut model = onnx::open(&installed, runtime, n_threads).map_err(broken)?;
    let scripts = match scripts {
        Some(scripts) => scripts,
        None => model.scripts().map_err(broken)?,
    };
    if scripts.is_empty() {
        return Err(broken(
            "its tokenizer makes single letters of every script that was tried; if it reads one \
             all the same, say --languages"
                .to_owned(),
        ));
    }
    let vectors = model.embed(&PROOF).map_err(|error| broken(error.to_string()))?;
    let [text, like, unlike] = vectors.as_slice() else {
        return Err(broken(format!("{} vectors for 3 texts", vectors.len())));
    };
    let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let (near, far) = (cosine(text, like), cosine(text, unlike));
    // Not-a-number is not greater either.
    if !matches!(near.partial_cmp(&far), Some(std::cmp::Ordering::Greater)) {
        return Err(broken(format!(
            "it does not tell like texts from others (cosines {near:.2} and {far:.2}): the pooling \
             or the tokenizer may be wrong"
        )));
    }
    let manifest = Manifest { dimension: text.len(), scripts, ..installed.manifest };
    manifest.write(&installed.dir)?;
    Ok(manifest)
}

/// A text, one that is like it and one that is not.
const PROOF: [&str; 3] = [
    "The cat sleeps on the sofa.",
    "A cat is sleeping on the couch.",
    "The invoice was paid by bank transfer in March.",
];

/// Installs a model from a directory, whole or not at all; one of the same name is replaced.
///
/// # Errors
/// Why not; what was installed before stays as it is.
pub fn import(
    models_dir: &Path,
    import: &Import,
    places: &Places,
    n_threads: usize,
) -> Result<Manifest, FilesError> {
    let name = import.name()?;
    let dir = directory(models_dir, &name)?;
    let manifest = import.manifest(&name)?;
    let scripts = import.scripts(&name)?;
    let runtime = &runtime::open(places)?;
    fs::create_dir_all(models_dir).map_err(FilesError::io("make", models_dir))?;
    let staging = tempfile::Builder::new()
        .prefix(".import-")
        .tempdir_in(models_dir)
        .map_err(FilesError::io("make a directory in", models_dir))?;
    let made = staging.path().join(&name);
    let (manifest, layout) = import.copy(manifest, &made)?;
    let installed = Installed { manifest, dir: made.clone(), layout };
    let manifest = prove(installed, scripts, runtime, n_threads)?;
    sync(&made)?;
    if dir.exists() {
        let old = staging.path().join("replaced");
        fs::rename(&dir, &old).map_err(FilesError::io("replace", &dir))?;
    }
    fs::rename(&made, &dir).map_err(FilesError::io("install", &dir))?;
    sync(models_dir)?;
    Ok(manifest)
}

fn sync(dir: &Path) -> Result<(), FilesError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(FilesError::io("sync", dir))
}

fn directory(models_dir: &Path, name: &str) -> Result<PathBuf, FilesError> {
    if !is_model_name(name) {
        return Err(FilesError::Name(name.to_owned()));
    }
    Ok(models_dir.join(name))
}
