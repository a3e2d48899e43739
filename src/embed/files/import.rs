//! Taking in a model that a person has as a directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use fastembed::TextEmbedding;
use serde_json::Value;

use super::manifest::{IMPORTED, Manifest, Stamp};
use super::{FilesError, Layout, TOKENIZER_FILES, WEIGHTS};
use crate::domain::embedding::Scripts;
use crate::domain::limits::EMBED_TOKENS_MAX;
use crate::embed::catalogue::{self, Hub, Pooling};

/// What to take in, and what is said of it. What is not said comes from the catalogue, if it knows
/// the name, else from the files that sentence-transformers writes.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The directory.
    pub dir: PathBuf,
    /// What to call it; else as the directory.
    pub name: Option<String>,
    /// Put before a query.
    pub query_prefix: Option<String>,
    /// Put before a document.
    pub document_prefix: Option<String>,
    /// `mean` or `cls`.
    pub pooling: Option<String>,
    /// Longest input, tokens.
    pub tokens_max: Option<usize>,
    /// `all`, or names of scripts; else what the tokenizer shows.
    pub languages: Option<String>,
}

/// Window of a model that says nothing of its own, tokens.
const TOKENS_DEFAULT: usize = 512;
/// Revision under which an imported model of the catalogue lies in the cache.
const REVISION: &str = "imported";

impl Import {
    /// The name, from the directory if none is given.
    pub(super) fn name(&self) -> Result<String, FilesError> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let dir = fs::canonicalize(&self.dir).map_err(FilesError::io("open", &self.dir))?;
        Ok(dir.file_name().unwrap_or_default().to_string_lossy().to_lowercase())
    }

    /// What the model reads, if that is said or known.
    pub(super) fn scripts(&self, name: &str) -> Result<Option<Scripts>, FilesError> {
        match &self.languages {
            Some(words) => words.parse().map(Some).map_err(|error| {
                FilesError::Argument(format!("--languages: {error}, not `{words}`"))
            }),
            None => Ok(catalogue::alike(name).map(|row| row.scripts)),
        }
    }

    /// What the model will be, as far as it can be told without loading it.
    pub(super) fn manifest(&self, name: &str) -> Result<Manifest, FilesError> {
        self.look()?;
        let row = catalogue::alike(name);
        let pooling = match (&self.pooling, row) {
            (Some(word), _) => Pooling::parse(word).ok_or_else(|| {
                FilesError::Argument(format!("--pooling is mean or cls, not `{word}`"))
            })?,
            (None, Some(row)) => row.pooling,
            (None, None) => self.pooling_file().ok_or_else(|| {
                FilesError::Argument(format!(
                    "the pooling of {name} is not known: say --pooling mean or --pooling cls (its \
                     card tells)"
                ))
            })?,
        };
        let tokens_max = self
            .tokens_max
            .or_else(|| row.map(|row| row.tokens_max))
            .unwrap_or_else(|| self.window());
        if !(1..=EMBED_TOKENS_MAX).contains(&tokens_max) {
            let refusal = format!("--max-tokens is 1 to {EMBED_TOKENS_MAX}, not {tokens_max}");
            return Err(FilesError::Argument(refusal));
        }
        let prefix = |said: &Option<String>, known: Option<&str>| {
            said.clone().unwrap_or_else(|| known.unwrap_or_default().to_owned())
        };
        Ok(Manifest {
            name: name.to_owned(),
            origin: IMPORTED.to_owned(),
            dimension: 0,
            tokens_max,
            pooling,
            query_prefix: prefix(&self.query_prefix, row.map(|row| row.query_prefix)),
            document_prefix: prefix(&self.document_prefix, row.map(|row| row.document_prefix)),
            scripts: Scripts::ALL,
            is_cache: false,
            files: Vec::new(),
            weights_hash: String::new(),
            tokenizer_hash: String::new(),
        })
    }

    /// Copies the files to `target`. A model of the catalogue is laid out as the cache of the hub, so
    /// that it is opened from its file.
    pub(super) fn copy(
        &self,
        mut manifest: Manifest,
        target: &Path,
    ) -> Result<(Manifest, Layout), FilesError> {
        let row = catalogue::named(&manifest.name).filter(|row| row.pooling == manifest.pooling);
        let hub = row.and_then(|row| row.hub.clone());
        let weights = self.weights();
        // Weights beside the first file lie under its name or, in the cache, under known ones.
        let weights_dir = weights.parent().unwrap_or(&self.dir);
        let mut beside: Vec<String> = fs::read_dir(weights_dir)
            .map_err(FilesError::io("list", weights_dir))?
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with(WEIGHTS) && name != WEIGHTS)
            .collect();
        beside.sort();
        let layout = match hub {
            Some(hub) if beside.is_empty() => {
                let snapshot = target.join(snapshot(&hub, REVISION));
                let info = TextEmbedding::get_model_info(&hub.variant)
                    .map_err(|error| FilesError::Unclear(error.to_string()))?;
                copy(&weights, &snapshot.join(&info.model_file))?;
                for name in TOKENIZER_FILES {
                    copy(&self.dir.join(name), &snapshot.join(name))?;
                }
                let refs = target.join(repository(&hub)).join("refs");
                fs::create_dir_all(&refs).map_err(FilesError::io("make", &refs))?;
                let main = refs.join("main");
                fs::write(&main, REVISION).map_err(FilesError::io("write", &main))?;
                manifest.is_cache = true;
                manifest.files = cached_files(target, &hub)?;
                Layout::Hub(hub)
            }
            _ => {
                copy(&weights, &target.join(WEIGHTS))?;
                manifest.files.push(Stamp::new(WEIGHTS));
                for name in &beside {
                    copy(&weights_dir.join(name), &target.join(name))?;
                    manifest.files.push(Stamp::new(name));
                }
                for name in TOKENIZER_FILES {
                    copy(&self.dir.join(name), &target.join(name))?;
                    manifest.files.push(Stamp::new(name));
                }
                Layout::Plain
            }
        };
        manifest.measure(target)?;
        Ok((manifest, layout))
    }

    /// The weights: at the top, or where exports put them.
    fn weights(&self) -> PathBuf {
        let top = self.dir.join(WEIGHTS);
        let below = self.dir.join("onnx").join(WEIGHTS);
        if top.is_file() || !below.is_file() { top } else { below }
    }

    /// All files are there, and the tokenizer's configuration says what the library wants to know.
    fn look(&self) -> Result<(), FilesError> {
        let mut missing: Vec<String> = TOKENIZER_FILES
            .into_iter()
            .filter(|name| !self.dir.join(name).is_file())
            .map(str::to_owned)
            .collect();
        if !self.weights().is_file() {
            missing.insert(0, WEIGHTS.to_owned());
        }
        if !missing.is_empty() {
            return Err(FilesError::Missing { dir: self.dir.clone(), names: missing });
        }
        let config = self.json("tokenizer_config.json").unwrap_or_default();
        let pad = config.get("pad_token");
        let has_pad = pad.is_some_and(|pad| pad.is_string() || pad.get("content").is_some());
        if has_pad && config.get("model_max_length").is_some_and(Value::is_number) {
            return Ok(());
        }
        Err(FilesError::Unclear(format!(
            "{} needs a number `model_max_length` and a `pad_token`",
            self.dir.join("tokenizer_config.json").display()
        )))
    }

    fn json(&self, name: &str) -> Option<Value> {
        serde_json::from_slice(&fs::read(self.dir.join(name)).ok()?).ok()
    }

    fn pooling_file(&self) -> Option<Pooling> {
        let config = self.json("1_Pooling/config.json")?;
        let is_on = |key: &str| config.get(key).and_then(Value::as_bool).unwrap_or_default();
        if is_on("pooling_mode_mean_tokens") {
            return Some(Pooling::Mean);
        }
        is_on("pooling_mode_cls_token").then_some(Pooling::Cls)
    }

    /// The window that the files tell of.
    fn window(&self) -> usize {
        let number = |file: &str, key: &str| {
            let number = self.json(file)?.get(key)?.as_u64()?;
            usize::try_from(number).ok().filter(|n| (1..=EMBED_TOKENS_MAX).contains(n))
        };
        number("sentence_bert_config.json", "max_seq_length")
            .or_else(|| number("tokenizer_config.json", "model_max_length"))
            .map_or(TOKENS_DEFAULT, |tokens| tokens.min(TOKENS_DEFAULT))
    }
}

/// The directory of a repository in the hub's cache.
fn repository(hub: &Hub) -> String {
    let code = TextEmbedding::get_model_info(&hub.variant).map(|info| info.model_code.as_str());
    format!("models--{}", code.unwrap_or_default().replace('/', "--"))
}

fn snapshot(hub: &Hub, revision: &str) -> String {
    format!("{}/snapshots/{revision}", repository(hub))
}

/// The files of a model in the hub's cache below `dir`.
pub(super) fn cached_files(dir: &Path, hub: &Hub) -> Result<Vec<Stamp>, FilesError> {
    let info = TextEmbedding::get_model_info(&hub.variant)
        .map_err(|error| FilesError::Unclear(error.to_string()))?;
    let main = dir.join(repository(hub)).join("refs/main");
    let revision = fs::read_to_string(&main).map_err(FilesError::io("read", &main))?;
    let snapshot = snapshot(hub, revision.trim());
    let names = std::iter::once(info.model_file.as_str())
        .chain(info.additional_files.iter().map(String::as_str))
        .chain(TOKENIZER_FILES);
    Ok(names.map(|name| Stamp::new(format!("{snapshot}/{name}"))).collect())
}

fn copy(from: &Path, to: &Path) -> Result<(), FilesError> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(FilesError::io("make", parent))?;
    }
    // Not with the mode of the original: what lies here is its owner's alone.
    let copied = File::create(to).and_then(|mut file| {
        io::copy(&mut File::open(from)?, &mut file)?;
        file.sync_all()
    });
    copied.map_err(FilesError::io("copy", from))
}
