//! One call of a person to the daemon.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::failure::Fault;
use super::requests::ToolArguments;
use crate::mcp::ARGUMENT_FAULT;
use crate::mcp::client::{Client, ClientError, Hello};

/// Longest wait of a person for an answer.
pub(super) const WAIT: Duration = Duration::from_mins(1);

/// Longest wait for what takes as long as the store is large.
pub(super) const LONG_WAIT: Duration = Duration::from_hours(6);

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The command line contradicts itself, or the daemon cannot read an argument.
    #[error("{0}")]
    Usage(String),
    /// No daemon.
    #[error(
        "no daemon answers at {sockets}: start one with `recalld serve` (or `systemctl --user start recalld`)"
    )]
    NoDaemon {
        /// Where it was looked for.
        sockets: String,
    },
    /// The connection failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The daemon refused.
    #[error("{0}")]
    Refused(String),
    /// A file or terminal failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A dialogue set is not what it should be.
    #[error("{0}")]
    Data(String),
}

impl CliError {
    /// What sort of failure this is.
    pub(super) fn fault(&self) -> Fault {
        match self {
            Self::Usage(_) => Fault::Usage,
            Self::NoDaemon { .. } => Fault::NoDaemon,
            Self::Client(_) | Self::Refused(_) | Self::Io(_) | Self::Data(_) => Fault::Failed,
        }
    }
}

/// A connection as the owner, to the first socket that answers.
pub(super) async fn connect(sockets: &[PathBuf]) -> Result<Client, CliError> {
    let hello = Hello::owner();
    for socket in sockets {
        if let Ok(client) = Client::connect(socket, &hello).await {
            client.initialize(WAIT).await?;
            return Ok(client);
        }
    }
    let sockets: Vec<String> = sockets.iter().map(|path| path.display().to_string()).collect();
    Err(CliError::NoDaemon { sockets: sockets.join(", ") })
}

/// Calls a tool; gives its structured answer.
pub(super) async fn call(
    sockets: &[PathBuf],
    tool: &str,
    arguments: ToolArguments,
) -> Result<Value, CliError> {
    call_on(&connect(sockets).await?, tool, Value::Object(arguments)).await
}

/// Calls a tool on a connection; gives its structured answer.
pub(super) async fn call_on(
    client: &Client,
    tool: &str,
    arguments: Value,
) -> Result<Value, CliError> {
    call_within(client, tool, arguments, WAIT).await
}

/// Calls a tool on a connection and waits so long; gives its structured answer.
pub(super) async fn call_within(
    client: &Client,
    tool: &str,
    arguments: impl Into<Value>,
    wait: Duration,
) -> Result<Value, CliError> {
    let reply = client.call_tool(tool, arguments.into(), wait).await?;
    if reply.is_error {
        let is_usage = reply.fault.as_deref() == Some(ARGUMENT_FAULT);
        return Err(if is_usage {
            CliError::Usage(reply.text)
        } else {
            CliError::Refused(reply.text)
        });
    }
    Ok(reply.structured.unwrap_or_else(|| json!({})))
}

/// Reads memories whole: a tool result is bounded, so long texts come in pieces.
pub(super) async fn get_whole(
    sockets: &[PathBuf],
    ids: &[String],
    history: bool,
) -> Result<Vec<Value>, CliError> {
    let client = connect(sockets).await?;
    let mut memories = Vec::with_capacity(ids.len());
    for id in ids {
        let first = json!({ "ids": [id], "history": history });
        let mut answer = call_on(&client, "memory_get", first).await?;
        let versions = answer.get_mut("history").map(Value::take);
        let mut memory = first_memory(answer);
        while let Some(offset) = memory.get("next_offset").and_then(Value::as_u64) {
            let more = json!({ "ids": [id], "offset": offset });
            let next = first_memory(call_on(&client, "memory_get", more).await?);
            let text = |part: &ToolArguments| {
                part.get("content").and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let content = text(&memory) + &text(&next);
            memory.insert("content".to_owned(), content.into());
            memory.insert("next_offset".to_owned(), next.get("next_offset").cloned().into());
        }
        memory.remove("truncated");
        memory.extend(versions.map(|versions| ("history".to_owned(), versions)));
        memories.push(Value::Object(memory));
    }
    Ok(memories)
}

/// The first memory of an answer, as its fields.
fn first_memory(mut answer: Value) -> ToolArguments {
    match answer.pointer_mut("/memories/0").map(Value::take) {
        Some(Value::Object(fields)) => fields,
        _ => ToolArguments::new(),
    }
}
