//! The model that configuration names, with what it needs around it.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::Context as _;

use crate::config::{EmbedConfig, EmbedModel, EndpointConfig, Loaded};
use crate::embed::runtime::Places;
use crate::embed::{self, Choice, EndpointSettings, Queue, Surroundings};
use crate::ports::Clock;

/// Directory of installed models inside the data directory.
const MODELS_DIR: &str = "models";
/// Directory inside the data directory where ONNX Runtime is looked for.
pub(super) const RUNTIME_DIR: &str = "ort";
/// The variable that other programs look for ONNX Runtime by.
const RUNTIME_VARIABLE: &str = "ORT_DYLIB_PATH";

/// The variable that moves the caches of all programs that fetch models.
const OTHER_CACHE: &str = "HF_HOME";

/// Starts this program again without the variable that would move fastembed's cache out of the data
/// directory; there is no argument that wins over it. Process id and open files stay.
///
/// # Errors
/// If it cannot be started again.
pub(super) fn leave_other_caches() -> anyhow::Result<()> {
    if std::env::var_os(OTHER_CACHE).is_none() {
        return Ok(());
    }
    let program = std::env::current_exe().context("find this program")?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).env_remove(OTHER_CACHE);
    Err(command.exec()).context("start again without HF_HOME")
}

/// Where models are installed.
pub(super) fn models_dir(state_dir: &Path) -> PathBuf {
    state_dir.join(MODELS_DIR)
}

/// Where ONNX Runtime is looked for.
pub(super) fn places(loaded: &Loaded) -> Places {
    places_of(&loaded.config.embed, &loaded.state_dir.path)
}

fn places_of(config: &EmbedConfig, state_dir: &Path) -> Places {
    let beside = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned));
    Places {
        configured: config.onnx_runtime.clone(),
        variable: std::env::var_os(RUNTIME_VARIABLE)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from),
        dirs: [Some(state_dir.join(RUNTIME_DIR)), beside].into_iter().flatten().collect(),
    }
}

/// Starts the model; `None`: meaning is switched off.
pub(super) fn start(
    config: &EmbedConfig,
    state_dir: &Path,
    clock: Arc<dyn Clock>,
) -> Option<Arc<Queue>> {
    let choice = match &config.model {
        EmbedModel::None => return None,
        EmbedModel::Bundled => Choice::Bundled,
        EmbedModel::Seeded => Choice::Seeded,
        EmbedModel::Endpoint => Choice::Endpoint(Box::new(endpoint(&config.endpoint)?)),
        EmbedModel::Installed(name) => Choice::Installed(name.clone()),
    };
    let surroundings = Surroundings {
        models_dir: models_dir(state_dir),
        places: places_of(config, state_dir),
        n_threads: config.threads,
        clock,
    };
    Some(Arc::new(embed::start(choice, surroundings)))
}

/// `None` without a URL, which validation asks for where the endpoint is used.
fn endpoint(config: &EndpointConfig) -> Option<EndpointSettings> {
    Some(EndpointSettings {
        url: config.url.clone()?,
        model: config.model.clone(),
        key_file: config.key_file.clone(),
        timeout: config.timeout,
        dimensions: config.dimensions,
        query_prefix: config.query_prefix.clone(),
        document_prefix: config.document_prefix.clone(),
        tokens_max: config.tokens_max,
        scripts: config.scripts,
        batch: config.batch,
        allow_private: config.allow_private.clone(),
    })
}
