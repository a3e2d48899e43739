//! `daemon_reload`: the person has the configuration read anew. Not listed: agents cannot use it.

use super::super::args::Arguments;
use super::super::error::ToolError;
use super::super::reply::Reply;
use super::{Call, Outcome};

pub(super) const NAME: &str = "daemon_reload";

pub(super) async fn run(call: Call<'_>, arguments: Arguments) -> Outcome {
    let mut warnings = arguments.finish();
    let reloaded = call.shared.control.reload().await.map_err(ToolError::Configuration)?;
    warnings.extend(reloaded.warnings);
    let mut reply = Reply::default();
    reply.line(format!("Configuration {} is in force.", reloaded.generation));
    reply.field("generation", reloaded.generation);
    reply.remarks("changed", &reloaded.changed);
    reply.remarks("needs_restart", &reloaded.needs_restart);
    reply.remarks("warnings", &warnings);
    Ok(reply)
}
