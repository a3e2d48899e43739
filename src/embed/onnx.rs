//! Models that run here, by fastembed on ONNX Runtime.
//!
//! A model is on one thread, so that its weights are in memory once; the runtime computes each call
//! on as many threads as configured. A model of the catalogue is read from its file; any other one
//! has to be handed over as bytes, which costs its size in memory once more.

use std::fs;
use std::path::PathBuf;

use fastembed::{
    AutoDevicePolicy, InitOptionsUserDefined, TextEmbedding, TextInitOptions, TokenizerFiles,
    UserDefinedEmbeddingModel,
};

use super::catalogue::{Hub, Pooling};
use super::files::{Installed, Layout};
use super::queue::{Plan, Queue};
use super::runtime::{self, Places, Runtime};
use super::scripts::{self, Piece};
use super::worker::{Loaded, Model, ModelError};
use super::{files, text_template};
use crate::domain::embedding::{ModelIdentity, Scripts};
use crate::domain::limits::{EMBED_BATCH_MAX, EMBED_BATCH_TOKENS};

/// Starts an installed model.
pub(super) fn start(name: String, models_dir: PathBuf, places: Places, n_threads: usize) -> Queue {
    let plan = Plan { name: name.clone(), identity: None, n_threads: 1, n_for_queries: 0 };
    Queue::run(plan, move |_| {
        let installed = files::open(&models_dir, &name).map_err(|error| error.to_string())?;
        let runtime = runtime::open(&places).map_err(|error| error.to_string())?;
        load(&installed, &runtime, n_threads)
    })
}

/// Loads a model and learns what it gives.
fn load(installed: &Installed, runtime: &Runtime, n_threads: usize) -> Result<Loaded, String> {
    let manifest = &installed.manifest;
    let mut model = open(installed, runtime, n_threads)?;
    let first = model.embed(&[FIRST_TEXT]).map_err(|error| error.to_string())?;
    let identity = ModelIdentity {
        name: manifest.name.clone(),
        dimension: first.first().map_or(0, Vec::len),
        tokens_max: manifest.tokens_max,
        pooling: format!("{}; L2 normalized", manifest.pooling.as_str()),
        normalised: true,
        query_prefix: manifest.query_prefix.clone(),
        document_prefix: manifest.document_prefix.clone(),
        weights_hash: manifest.weights_hash.clone(),
        tokenizer_hash: manifest.tokenizer_hash.clone(),
        text_template: text_template(),
        scripts: manifest.scripts,
    };
    Ok(Loaded { identity, model: Box::new(model) })
}

/// Opens the files of a model.
///
/// # Errors
/// What they or the runtime say.
pub(super) fn open(
    installed: &Installed,
    runtime: &Runtime,
    n_threads: usize,
) -> Result<Onnx, String> {
    let manifest = &installed.manifest;
    let inner = match &installed.layout {
        Layout::Hub(hub) => {
            let options = options(hub, installed.dir.clone(), runtime, n_threads);
            TextEmbedding::try_new(options.with_max_length(manifest.tokens_max))
        }
        Layout::Plain => {
            let options = InitOptionsUserDefined::new()
                .with_environment(runtime.environment.clone())
                .with_max_length(manifest.tokens_max)
                .with_intra_threads(n_threads)
                .with_session_config(SPINNING.0, SPINNING.1)
                .with_auto_device(AutoDevicePolicy::PreferCPU);
            TextEmbedding::try_new_from_user_defined(bytes(installed)?, options)
        }
    };
    let inner = inner.map_err(|error| causes(&error))?;
    Ok(Onnx { inner, tokens_max: manifest.tokens_max })
}

/// What is embedded first, to learn the dimension.
const FIRST_TEXT: &str = "hello";

/// Idle threads of the runtime would otherwise burn a processor while they wait for work.
const SPINNING: (&str, &str) = ("session.intra_op.allow_spinning", "0");

/// How fastembed fetches and opens a model of the catalogue; all its files are below `cache_dir`.
pub(super) fn options(
    hub: &Hub,
    cache_dir: PathBuf,
    runtime: &Runtime,
    n_threads: usize,
) -> TextInitOptions {
    TextInitOptions::new(hub.variant.clone())
        .with_environment(runtime.environment.clone())
        .with_cache_dir(cache_dir)
        .with_intra_threads(n_threads)
        .with_session_config(SPINNING.0, SPINNING.1)
        .with_auto_device(AutoDevicePolicy::PreferCPU)
        .with_show_download_progress(false)
}

fn bytes(installed: &Installed) -> Result<UserDefinedEmbeddingModel, String> {
    let read = |name: &str| {
        let path = installed.dir.join(name);
        fs::read(&path).map_err(|error| format!("read {}: {error}", path.display()))
    };
    let [tokenizer, config, marks, tokenizer_config] = files::TOKENIZER_FILES;
    let tokenizer_files = TokenizerFiles {
        tokenizer_file: read(tokenizer)?,
        config_file: read(config)?,
        special_tokens_map_file: read(marks)?,
        tokenizer_config_file: read(tokenizer_config)?,
    };
    // Without a pooling of its own the library would guess one.
    let mut model = UserDefinedEmbeddingModel::new(read(files::WEIGHTS)?, tokenizer_files)
        .with_pooling(match installed.manifest.pooling {
            Pooling::Mean => fastembed::Pooling::Mean,
            Pooling::Cls => fastembed::Pooling::Cls,
        });
    for name in installed.manifest.external_files() {
        model = model.with_external_initializer(name.to_owned(), read(name)?);
    }
    Ok(model)
}

/// An error with its causes.
pub(super) fn causes(error: &fastembed::Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let inner_words = inner.to_string();
        if !words.contains(&inner_words) {
            words.push_str(": ");
            words.push_str(&inner_words);
        }
        cause = inner.source();
    }
    words
}

/// A model on ONNX Runtime.
pub(super) struct Onnx {
    inner: TextEmbedding,
    tokens_max: usize,
}

impl Onnx {
    /// The scripts that its tokenizer knows.
    ///
    /// # Errors
    /// What the tokenizer says.
    pub(super) fn scripts(&self) -> Result<Scripts, String> {
        scripts::known(|text| {
            let whole = self.inner.tokenizer.encode(text, false).map_err(|e| e.to_string())?;
            // A window that is shorter than a sentence leaves the rest of it over.
            let parts = std::iter::once(&whole).chain(whole.get_overflowing());
            let pieces = parts.flat_map(|part| part.get_tokens().iter().zip(part.get_offsets()));
            let mut n_counted = 0;
            Ok(pieces
                .map(|(token, (start, end))| {
                    // Several bytes of one letter all say that they are the letter.
                    let new = text.get((*start).max(n_counted)..*end).unwrap_or_default();
                    n_counted = n_counted.max(*end);
                    Piece {
                        is_unknown: UNKNOWN.contains(&token.as_str()) || token.starts_with("<0x"),
                        n_letters: new.chars().filter(|c| c.is_alphabetic()).count(),
                    }
                })
                .collect())
        })
    }
}

/// What tokenizers call a piece that they do not have.
const UNKNOWN: [&str; 2] = ["[UNK]", "<unk>"];

impl Model for Onnx {
    /// A processor gains little from long batches, and a query waits for one.
    fn batch_max(&self) -> usize {
        (EMBED_BATCH_TOKENS / self.tokens_max.max(1)).clamp(1, EMBED_BATCH_MAX)
    }

    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let found = self.inner.embed(texts, Some(EMBED_BATCH_MAX));
        found.map_err(|error| ModelError::Text(causes(&error)))
    }
}
