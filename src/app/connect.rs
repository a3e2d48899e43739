//! `recalld connect`: what the bridge needs to know.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::Value;
use serde_json::value::RawValue;

use super::resolved;
use super::serve::toolset;
use crate::bridge::{self, BridgeSettings, Offline, StartSettings, UnitSettings};
use crate::cli::{Arguments, Usage};
use crate::config::Loaded;
use crate::domain::identity::AgentName;
use crate::mcp::{self, Toolset};

/// The user unit that runs the daemon where one is installed.
const UNIT: &str = "recalld.service";

/// What the daemon would answer to a handshake, from the lists in this program.
struct CompiledIn(Toolset);

impl Offline for CompiledIn {
    fn answer(&self, method: &str, params: Option<&RawValue>) -> Option<Value> {
        let params: Option<Value> = params.and_then(|raw| serde_json::from_str(raw.get()).ok());
        mcp::offline_answer(method, params.as_ref(), self.0)
    }
}

/// Runs the bridge until its client goes.
///
/// # Errors
/// If the agent's name is none, or the bridge cannot start.
pub(super) fn connect(
    arguments: &Arguments,
    loaded: &Loaded,
    agent: Option<&str>,
    no_start: bool,
) -> anyhow::Result<ExitCode> {
    let agent = agent
        .map(str::parse::<AgentName>)
        .transpose()
        .map_err(|error| Usage(format!("--agent: {error}")))?;
    let may_start = !no_start && std::env::var_os("RECALLD_NO_START").is_none();
    let settings = BridgeSettings {
        socket: socket(loaded),
        agent: agent.map(|name| name.to_string()),
        token: std::env::var("RECALLD_TOKEN").ok(),
        state_dir: loaded.named_state_dir().map(resolved),
        start: if may_start { Some(start_settings(arguments, loaded)?) } else { None },
    };
    let offline = CompiledIn(toolset(&loaded.config));
    Ok(bridge::run_stdio(settings, Arc::new(offline))?.into())
}

/// The first socket that exists, else the one that a daemon started here would bind.
fn socket(loaded: &Loaded) -> PathBuf {
    let existing = loaded.socket_candidates.iter().find(|path| path.exists());
    existing.unwrap_or(&loaded.socket.path).clone()
}

fn start_settings(arguments: &Arguments, loaded: &Loaded) -> anyhow::Result<StartSettings> {
    let own_paths = [
        ("--config", &arguments.config),
        ("--socket", &arguments.socket),
        ("--state-dir", &arguments.state_dir),
    ];
    let mut args: Vec<OsString> = vec!["serve".into(), "--detach".into()];
    for (flag, path) in own_paths {
        if let Some(path) = path {
            args.push(flag.into());
            args.push(absolute(path)?.into());
        }
    }
    let is_default = own_paths.iter().all(|(_, path)| path.is_none());
    Ok(StartSettings {
        unit: is_default
            .then(|| UnitSettings { systemctl: "systemctl".into(), name: UNIT.to_owned() }),
        program: std::env::current_exe().context("find this program")?,
        args,
        log: absolute(&loaded.state_dir.path)?.join("daemon.log"),
    })
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("make {} absolute", path.display()))
}
