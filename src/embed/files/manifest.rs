//! What an installed model is: `manifest.json`.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{FilesError, TOKENIZER_FILES, hash};
use crate::domain::embedding::Scripts;
use crate::embed::catalogue::{Pooling, Row};

/// Name of the file.
pub(super) const NAME: &str = "manifest.json";
/// Version of its form.
const VERSION: u32 = 1;
/// Origin of a model that a person brought.
pub(super) const IMPORTED: &str = "import";

/// What an installed model is and how it wants to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// What configuration calls it.
    pub name: String,
    /// Where it came from, for people.
    pub origin: String,
    /// Coordinates of a vector.
    pub dimension: usize,
    /// Longest input, tokens.
    pub tokens_max: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Put before a query.
    pub query_prefix: String,
    /// Put before a document.
    pub document_prefix: String,
    /// What it reads.
    pub scripts: Scripts,
    /// Whether its files lie as the hub's cache does.
    pub(super) is_cache: bool,
    pub(super) files: Vec<Stamp>,
    /// Hash of the weights.
    pub weights_hash: String,
    /// Hash of the files of the tokenizer.
    pub tokenizer_hash: String,
}

/// A file of a model, and when it was last known to be the one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    /// Path below the directory of the model.
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) modified_ns: i64,
}

impl Stamp {
    pub(super) fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    fn is_tokenizer(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        TOKENIZER_FILES.contains(&name)
    }

    fn look(&self, dir: &Path) -> Result<Self, FilesError> {
        let path = dir.join(&self.path);
        let found = fs::metadata(&path).map_err(FilesError::io("look at", &path))?;
        let modified_ns =
            found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Ok(Self { path: self.path.clone(), bytes: found.len(), modified_ns })
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    name: String,
    origin: String,
    layout: String,
    dimension: usize,
    tokens_max: usize,
    pooling: String,
    query_prefix: String,
    document_prefix: String,
    languages: String,
    weights_hash: String,
    tokenizer_hash: String,
    files: Vec<Stamp>,
}

const LAYOUTS: [(&str, bool); 2] = [("files", false), ("hub cache", true)];

fn layout_name(is_cache: bool) -> &'static str {
    LAYOUTS.iter().find(|(_, known)| *known == is_cache).map_or("", |(name, _)| name)
}

impl Manifest {
    /// That of a catalogue row, before its files are measured.
    pub(super) fn of_row(row: &Row) -> Self {
        Self {
            name: row.name.to_owned(),
            origin: "hub".to_owned(),
            dimension: row.dimension,
            tokens_max: row.tokens_max,
            pooling: row.pooling,
            query_prefix: row.query_prefix.to_owned(),
            document_prefix: row.document_prefix.to_owned(),
            scripts: row.scripts,
            is_cache: true,
            files: Vec::new(),
            weights_hash: String::new(),
            tokenizer_hash: String::new(),
        }
    }

    /// Bytes of its files.
    pub fn n_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Weights beside the first file of them.
    pub(in crate::embed) fn external_files(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().filter(|file| !file.is_tokenizer());
        files.map(|file| file.path.as_str()).filter(|path| *path != super::WEIGHTS)
    }

    /// Whether a file is not the one that was measured, as far as length and time of change tell.
    pub(super) fn has_changed(&self, dir: &Path) -> Result<bool, FilesError> {
        for file in &self.files {
            if file.look(dir)? != *file {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the files and notes what they are.
    pub(super) fn measure(&mut self, dir: &Path) -> Result<(), FilesError> {
        for file in &mut self.files {
            *file = file.look(dir)?;
        }
        self.weights_hash = self.hash(dir, false)?;
        self.tokenizer_hash = self.hash(dir, true)?;
        Ok(())
    }

    fn hash(&self, dir: &Path, of_tokenizer: bool) -> Result<String, FilesError> {
        let files = self.files.iter().filter(|file| file.is_tokenizer() == of_tokenizer);
        hash::of_files(dir, files.map(|file| file.path.as_str()))
            .map_err(FilesError::io("read the files in", dir))
    }

    /// Reads the files: they are those that were measured.
    ///
    /// # Errors
    /// [`FilesError::Damaged`] names those that may not be.
    pub(super) fn prove(&self, dir: &Path) -> Result<(), FilesError> {
        for (of_tokenizer, expected) in [(false, &self.weights_hash), (true, &self.tokenizer_hash)]
        {
            if self.hash(dir, of_tokenizer)? == *expected {
                continue;
            }
            let suspects = self.files.iter().filter(|file| file.is_tokenizer() == of_tokenizer);
            let changed: Vec<&str> = suspects
                .clone()
                .filter(|file| file.look(dir).map_or(true, |found| found != **file))
                .map(|file| file.path.as_str())
                .collect();
            // Bytes can change without leaving a trace in length and time.
            let all: Vec<&str> = suspects.map(|file| file.path.as_str()).collect();
            let paths = if changed.is_empty() { &all } else { &changed };
            return Err(self.damaged(dir, paths, "its hash is not that of what was installed"));
        }
        Ok(())
    }

    /// These files are not what they should be.
    pub(super) fn damaged(&self, dir: &Path, paths: &[&str], reason: &str) -> FilesError {
        let paths: Vec<String> =
            paths.iter().map(|path| dir.join(path).display().to_string()).collect();
        let remedy = if self.origin == IMPORTED {
            format!("install it anew with `recalld model import DIR --name {}`", self.name)
        } else {
            format!("remove {} and run `recalld model use {}`", dir.display(), self.name)
        };
        FilesError::Damaged { what: paths.join(", "), reason: reason.to_owned(), remedy }
    }

    /// The manifest in a directory.
    pub(super) fn read(dir: &Path) -> Result<Self, FilesError> {
        let path = dir.join(NAME);
        let text = fs::read(&path).map_err(FilesError::io("read", &path))?;
        let damaged = |reason: String| FilesError::Damaged {
            what: path.display().to_string(),
            reason,
            remedy: format!("remove {} and install the model anew", dir.display()),
        };
        let stored: Stored =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if stored.version != VERSION {
            return Err(damaged(format!("version {} instead of {VERSION}", stored.version)));
        }
        let layout = LAYOUTS.iter().find(|(name, _)| *name == stored.layout);
        let (Some((_, is_cache)), Some(pooling), Ok(scripts)) =
            (layout, Pooling::parse(&stored.pooling), stored.languages.parse())
        else {
            return Err(damaged("unknown layout, pooling or languages".to_owned()));
        };
        let is_inside = |file: &Stamp| {
            let parts = Path::new(&file.path).components();
            parts.into_iter().all(|part| matches!(part, std::path::Component::Normal(_)))
        };
        if !stored.files.iter().all(is_inside) {
            return Err(damaged("a file outside the directory".to_owned()));
        }
        Ok(Self {
            name: stored.name,
            origin: stored.origin,
            dimension: stored.dimension,
            tokens_max: stored.tokens_max,
            pooling,
            query_prefix: stored.query_prefix,
            document_prefix: stored.document_prefix,
            scripts,
            is_cache: *is_cache,
            files: stored.files,
            weights_hash: stored.weights_hash,
            tokenizer_hash: stored.tokenizer_hash,
        })
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self, dir: &Path) -> Result<(), FilesError> {
        let stored = Stored {
            version: VERSION,
            name: self.name.clone(),
            origin: self.origin.clone(),
            layout: layout_name(self.is_cache).to_owned(),
            dimension: self.dimension,
            tokens_max: self.tokens_max,
            pooling: self.pooling.as_str().to_owned(),
            query_prefix: self.query_prefix.clone(),
            document_prefix: self.document_prefix.clone(),
            languages: self.scripts.words(),
            weights_hash: self.weights_hash.clone(),
            tokenizer_hash: self.tokenizer_hash.clone(),
            files: self.files.clone(),
        };
        let path: PathBuf = dir.join(NAME);
        let text = serde_json::to_vec_pretty(&stored)
            .map_err(|error| FilesError::io("write", &path)(error.into()))?;
        let written = tempfile::NamedTempFile::new_in(dir).and_then(|mut file| {
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            File::open(dir)?.sync_all()
        });
        written.map_err(FilesError::io("write", &path))
    }
}
