//! Composition root: open, wire, start, stop. The only room that knows all the others.

mod background;
mod connect;
mod engine;
mod offline;
mod serve;
mod signals;

use std::process::ExitCode;

use anyhow::Context as _;

pub use engine::{Engine, EngineSettings};

use crate::cli::{self, Arguments, Command};
use crate::config::{self, Config, Environment, Loaded, Sources};
use crate::telemetry::{self, LogSettings};

/// Exit code for a bad configuration (`EX_CONFIG` of `sysexits.h`).
const EXIT_CONFIG: u8 = 78;

/// Carries out a command line.
pub fn run(arguments: &Arguments) -> ExitCode {
    if let Command::Completions { shell } = arguments.command {
        return cli::completions(shell);
    }
    telemetry::log_panics();
    if let Command::Verify { file } = &arguments.command {
        return offline::verify(file, arguments.json);
    }
    let sources = Sources {
        environment: Environment::new(std::env::vars_os(), rustix::process::geteuid().as_raw()),
        config: arguments.config.clone(),
        socket: arguments.socket.clone(),
        state_dir: arguments.state_dir.clone(),
    };
    let loaded = match Config::load(&sources) {
        Ok(loaded) => loaded,
        Err(problems) => {
            cli::complain(&problems);
            return ExitCode::from(EXIT_CONFIG);
        }
    };
    let outcome = match &arguments.command {
        Command::Serve { detach } => serve(&loaded, *detach),
        Command::Connect { agent, no_start } => start_log(&loaded)
            .and_then(|()| connect::connect(arguments, &loaded, agent.as_deref(), *no_start)),
        Command::CheckConfig => {
            cli::say(&if arguments.json {
                format!("{:#}", config::check_json(&loaded))
            } else {
                config::render_check(&loaded)
            });
            Ok(ExitCode::SUCCESS)
        }
        Command::Restore { file } => Ok(offline::restore(&loaded, file, arguments.json)),
        Command::Demo
        | Command::Status
        | Command::Remember(_)
        | Command::Recall(_)
        | Command::Show { .. }
        | Command::List(_)
        | Command::Update(_)
        | Command::Forget(_)
        | Command::Unforget { .. }
        | Command::Backup { .. }
        | Command::Verify { .. }
        | Command::Eval(_)
        | Command::Completions { .. } => Ok(cli::run(arguments, &loaded.socket_candidates)),
    };
    outcome.unwrap_or_else(|error| {
        cli::complain(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

fn serve(loaded: &Loaded, detach: bool) -> anyhow::Result<ExitCode> {
    start_log(loaded)?;
    for warning in &loaded.warnings {
        tracing::warn!(warning, "configuration");
    }
    serve::serve(loaded, detach)?;
    Ok(ExitCode::SUCCESS)
}

/// To stderr, which hosts of a bridge keep too.
fn start_log(loaded: &Loaded) -> anyhow::Result<()> {
    let log = &loaded.config.log;
    telemetry::install(&LogSettings { directives: log.directives.clone(), json: log.json })
        .context("start the log")
}
