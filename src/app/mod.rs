//! Composition root: open, wire, start, stop. The only room that knows all the others.

mod background;
mod connect;
mod doctor;
mod embedder;
mod engine;
mod jobs;
mod llm;
mod lost;
mod models;
mod notify;
mod offline;
mod places;
mod process;
mod reload;
mod serve;
mod sessions;
mod signals;
mod socket;
mod watchdog;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use rustix::fs::Mode;

pub use engine::{Engine, EngineSettings};

use crate::cli::{self, Arguments, Command, Door, Fault, ModelCommand, Usage};
use crate::clock::SystemClock;
use crate::config::{self, Config, Environment, Loaded, LogConfig, Problems, Sources};
use crate::ports::Clock as _;
use crate::telemetry::{self, FileSettings, Log, LogSettings, LogWorker};

/// Carries out a command line.
pub fn run(arguments: &Arguments) -> ExitCode {
    if let Command::Completions { shell } = arguments.command {
        return cli::completions(shell);
    }
    telemetry::log_panics();
    // Whatever is made here is its owner's alone, also by libraries (indexes, fetched models).
    rustix::process::umask(Mode::from_raw_mode(0o077));
    if let Command::Serve { .. } | Command::Model(_) = arguments.command
        && let Err(error) = embedder::leave_other_caches()
    {
        return failed(error, arguments.json);
    }
    if let Command::Verify { file } = &arguments.command {
        return offline::verify(file, arguments.json);
    }
    let sources = Sources {
        environment: Environment::new(std::env::vars_os(), rustix::process::geteuid().as_raw()),
        config: arguments.config.clone(),
        socket: arguments.socket.clone(),
        state_dir: arguments.state_dir.clone(),
    };
    if matches!(arguments.command, Command::Doctor) {
        return doctor::doctor(arguments, &sources);
    }
    // The daemon loads for itself, when signals are listened to.
    if let Command::Serve { detach, start_empty } = arguments.command {
        let start = serve::Options { detach, start_empty, json: arguments.json };
        return serve::serve(sources, start).unwrap_or_else(|error| failed(error, arguments.json));
    }
    let loaded = match load(arguments, &sources) {
        Ok(loaded) => loaded,
        Err(problems) => return cli::fail(Fault::Config, &problems, arguments.json),
    };
    let outcome = match &arguments.command {
        Command::Connect { agent, no_start } => start_log(&loaded)
            .and_then(|_log| connect::connect(arguments, &loaded, agent.as_deref(), *no_start)),
        Command::CheckConfig => Ok(check_config(&loaded, arguments.json)),
        Command::Model(what) => models::run(what, &loaded, &sources, &door(arguments, &loaded)),
        Command::Restore { file } => Ok(offline::restore(&loaded, file, arguments.json)),
        Command::Serve { .. }
        | Command::Demo
        | Command::Doctor
        | Command::Status(_)
        | Command::Reload
        | Command::Remember(_)
        | Command::Recall(_)
        | Command::Show { .. }
        | Command::History { .. }
        | Command::List(_)
        | Command::Update(_)
        | Command::Forget(_)
        | Command::Unforget { .. }
        | Command::Unarchive { .. }
        | Command::Backup { .. }
        | Command::Export { .. }
        | Command::Import { .. }
        | Command::Jobs(_)
        | Command::Hook(_)
        | Command::Remind(_)
        | Command::Sinks(_)
        | Command::Verify { .. }
        | Command::Eval(_)
        | Command::Completions { .. } => Ok(cli::run(arguments, &door(arguments, &loaded))),
    };
    outcome.unwrap_or_else(|error| failed(error, arguments.json))
}

fn check_config(loaded: &Loaded, json: bool) -> ExitCode {
    if let Err(problems) = places::check(loaded) {
        return cli::fail(Fault::Config, &problems, json);
    }
    let now = SystemClock::new().now();
    cli::say(&if json {
        format!("{:#}", config::check_json(loaded, now))
    } else {
        config::render_check(loaded, now)
    });
    ExitCode::SUCCESS
}

/// Everything that is configured. A client of the daemon goes on with less than a valid
/// configuration, since the daemon it asks has one.
fn load(arguments: &Arguments, sources: &Sources) -> Result<Loaded, Problems> {
    if let Command::CheckConfig
    | Command::Reload
    | Command::Model(ModelCommand::Use { .. } | ModelCommand::Import(_))
    | Command::Restore { .. } = arguments.command
    {
        return Config::load(sources);
    }
    let (loaded, problems) = Config::load_for_client(sources)?;
    if let Some(problems) = problems {
        let warning = format!(
            "warning: the configuration is not valid and no daemon starts with it ({}); \
             `recalld check-config` tells more",
            problems.in_one_line()
        );
        cli::remark(&warning, arguments.json);
    }
    Ok(loaded)
}

/// How the daemon is reached.
fn door(arguments: &Arguments, loaded: &Loaded) -> Door {
    Door {
        sockets: loaded.socket_candidates.clone(),
        state_dir: loaded.named_state_dir().map(resolved),
        models: loaded.state_dir.path.clone(),
        timeout: arguments.timeout,
        json: arguments.json,
    }
}

/// A path as everybody would name it, whether or not it is there.
fn resolved(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole.canonicalize().unwrap_or_else(|_| match (whole.parent(), whole.file_name()) {
        (Some(parent), Some(name)) => resolved(parent).join(name),
        (None, _) | (_, None) => whole,
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is what a failed run hands over")]
fn failed(error: anyhow::Error, json: bool) -> ExitCode {
    let is_usage = error.downcast_ref::<Usage>().is_some();
    let fault = if is_usage { Fault::Usage } else { Fault::Failed };
    cli::fail(fault, &told(&error), json)
}

/// An error with its causes. Each is told once: most of our messages end with the cause they have.
fn told(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |told, cause| match cause.to_string() {
        cause if told.is_empty() => cause,
        cause if told.ends_with(&cause) => told,
        cause => format!("{told}: {cause}"),
    })
}

/// The log of a bridge: to stderr, which its host keeps.
fn start_log(loaded: &Loaded) -> anyhow::Result<(Log, LogWorker)> {
    let settings = LogSettings { file: None, ..log_settings(&loaded.config) };
    install_log(&settings)
}

fn install_log(settings: &LogSettings) -> anyhow::Result<(Log, LogWorker)> {
    telemetry::install(settings, Arc::new(SystemClock::new())).context("start the log")
}

/// The log of a daemon: to stderr, and to files where they are configured.
fn log_settings(config: &Config) -> LogSettings {
    let LogConfig { directives, json, dir, file_bytes_max, files_keep } = config.log.clone();
    let file = dir.map(|dir| FileSettings { dir, bytes_max: file_bytes_max, files_keep });
    LogSettings { directives, json, file }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn each_cause_of_an_error_is_told_once() {
        let error = anyhow!("no room").context("write x: no room").context("open the store");
        assert_eq!(told(&error), "open the store: write x: no room");
        assert_eq!(told(&anyhow!("no room").context("write x")), "write x: no room");
    }
}
