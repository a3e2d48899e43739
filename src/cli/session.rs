//! One call of a person to the daemon.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::failure::{Fault, remark};
use super::requests::ToolArguments;
use crate::mcp::client::{Client, ClientError, Hello};
use crate::mcp::{ARGUMENT_FAULT, CONFIGURATION_FAULT};

/// Longest wait of a person for an answer.
pub(super) const WAIT: Duration = Duration::from_mins(1);

/// Longest wait for what takes as long as the store is large.
pub(super) const LONG_WAIT: Duration = Duration::from_hours(6);

/// Time after which a person is told what a command waits for.
const NOTICE_AFTER: Duration = Duration::from_secs(3);

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
    /// The configuration that the daemon read is wrong.
    #[error("{0}")]
    Configuration(String),
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
            // One that is gone or hangs is as good as none.
            Self::NoDaemon { .. }
            | Self::Client(
                ClientError::Connect { .. } | ClientError::Closed | ClientError::Timeout { .. },
            ) => Fault::NoDaemon,
            Self::Configuration(_) => Fault::Config,
            Self::Client(_) | Self::Refused(_) | Self::Io(_) | Self::Data(_) => Fault::Failed,
        }
    }
}

/// Where the daemon is, and how long a person waits for it.
#[derive(Clone, Debug)]
pub struct Door {
    /// Where to look for it, in order.
    pub sockets: Vec<PathBuf>,
    /// The data directory that is meant, if only that one is.
    pub state_dir: Option<PathBuf>,
    /// The data directory whose installed models may be used.
    pub models: PathBuf,
    /// Longest wait for an answer; `None`: as the call needs.
    pub timeout: Option<Duration>,
    /// Whether a program reads what is said.
    pub json: bool,
}

/// A connection of the person.
pub(super) struct Connection {
    client: Client,
    place: PathBuf,
    timeout: Option<Duration>,
    json: bool,
    /// Whether a wait is told of: once a command.
    is_told: AtomicBool,
}

impl Connection {
    /// Calls a tool; gives its structured answer.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: impl Into<Value>,
    ) -> Result<Value, CliError> {
        self.call_within(tool, arguments, WAIT).await
    }

    /// Calls a tool and waits so long, unless the person wants it otherwise; gives its structured
    /// answer.
    pub(super) async fn call_within(
        &self,
        tool: &str,
        arguments: impl Into<Value>,
        wait: Duration,
    ) -> Result<Value, CliError> {
        let wait = self.timeout.unwrap_or(wait);
        self.patiently(wait, call_within(&self.client, tool, arguments, wait)).await
    }

    /// Says that it waits, when it has waited a while.
    async fn patiently<T>(&self, wait: Duration, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        if let Ok(done) = tokio::time::timeout(NOTICE_AFTER, &mut work).await {
            return done;
        }
        if !self.is_told.swap(true, Ordering::Relaxed) {
            let notice = format!(
                "waiting for the daemon at {}, for at most {} s (`--timeout SECONDS`)",
                self.place.display(),
                wait.as_secs_f64()
            );
            remark(&notice, self.json);
        }
        work.await
    }
}

/// A connection as the owner, to the first socket that answers. `tells`: long waits are told of.
pub(super) async fn connect(door: &Door, tells: bool) -> Result<Connection, CliError> {
    let state_dir = door.state_dir.as_ref().map(|dir| dir.to_string_lossy().into_owned());
    let hello = Hello { state_dir, ..Hello::owner() };
    for socket in &door.sockets {
        if let Ok(client) = Client::connect(socket, &hello).await {
            let connection = Connection {
                client,
                place: socket.clone(),
                timeout: door.timeout,
                json: door.json,
                is_told: AtomicBool::new(!tells),
            };
            let wait = door.timeout.unwrap_or(WAIT);
            connection.patiently(wait, connection.client.initialize(wait)).await?;
            return Ok(connection);
        }
    }
    let sockets: Vec<String> = door.sockets.iter().map(|path| path.display().to_string()).collect();
    Err(CliError::NoDaemon { sockets: sockets.join(", ") })
}

/// Calls a tool; gives its structured answer.
pub(super) async fn call(
    door: &Door,
    tool: &str,
    arguments: ToolArguments,
) -> Result<Value, CliError> {
    connect(door, true).await?.call(tool, arguments).await
}

/// Calls a tool on a connection; gives its structured answer.
pub(super) async fn call_on(
    client: &Client,
    tool: &str,
    arguments: Value,
) -> Result<Value, CliError> {
    call_within(client, tool, arguments, WAIT).await
}

async fn call_within(
    client: &Client,
    tool: &str,
    arguments: impl Into<Value>,
    wait: Duration,
) -> Result<Value, CliError> {
    let reply = client.call_tool(tool, arguments.into(), wait).await?;
    if reply.is_error {
        return Err(match reply.fault.as_deref() {
            Some(ARGUMENT_FAULT) => CliError::Usage(reply.text),
            Some(CONFIGURATION_FAULT) => CliError::Configuration(reply.text),
            Some(_) | None => CliError::Refused(reply.text),
        });
    }
    Ok(reply.structured.unwrap_or_else(|| json!({})))
}

/// Reads memories whole: a tool result is bounded, so long texts come in pieces.
pub(super) async fn get_whole(
    door: &Door,
    ids: &[String],
    history: bool,
) -> Result<Vec<Value>, CliError> {
    let connection = connect(door, true).await?;
    let mut memories = Vec::with_capacity(ids.len());
    for id in ids {
        let first = json!({ "ids": [id], "history": history });
        let mut answer = connection.call("memory_get", first).await?;
        let versions = answer.get_mut("history").map(Value::take);
        let mut memory = first_memory(answer);
        while let Some(offset) = memory.get("next_offset").and_then(Value::as_u64) {
            let more = json!({ "ids": [id], "offset": offset });
            let next = first_memory(connection.call("memory_get", more).await?);
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
