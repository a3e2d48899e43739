//! How a command fails: an exit code for each sort of failure, and one form of telling why for people
//! and one for programs.

use std::fmt::Display;
use std::process::ExitCode;

use serde_json::json;

use super::output::{complain, say_aside};

/// What sort of failure it is. The README has the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It could not be done; the message says why.
    Failed,
    /// The command line is wrong, by itself or in the eyes of the daemon (`EX_USAGE` of `sysexits.h`).
    Usage,
    /// No daemon answers, or not in time (`EX_UNAVAILABLE`).
    NoDaemon,
    /// The configuration is wrong (`EX_CONFIG`).
    Config,
}

impl Fault {
    /// What scripts see.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 64,
            Self::NoDaemon => 69,
            Self::Config => 78,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::NoDaemon => "no_daemon",
            Self::Config => "config",
        }
    }
}

/// The command line is wrong, where that shows only while it is carried out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Says something on standard error beside the answer: in words, or as a JSON object on a line.
pub fn remark(remark: &impl Display, json: bool) {
    if json {
        say_aside(&json!({ "remark": remark.to_string() }).to_string());
    } else {
        complain(remark);
    }
}

/// Says on standard error why a command failed: in words, or as a JSON object on a line.
pub fn fail(fault: Fault, problem: &impl Display, json: bool) -> ExitCode {
    let code = fault.exit_code();
    if json {
        let message = problem.to_string();
        let error =
            json!({ "kind": fault.name(), "exit_code": code, "message": message.trim_end() });
        say_aside(&json!({ "error": error }).to_string());
    } else {
        complain(problem);
    }
    ExitCode::from(code)
}

/// Whether a command line that could not be read asks for JSON.
pub fn wants_json(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> bool {
    arguments.any(|argument| argument == "--json")
}
