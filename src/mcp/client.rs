//! A small MCP client over the daemon's socket, for the command line, the evaluation and tests.
//!
//! It knows the wire (lines of JSON-RPC, the `initialize` handshake, the two forms of a tool's
//! answer) and nothing of the tools. A handle is cheap to clone, and any number of calls may be in
//! flight through its clones. It does not reconnect: that is the bridge's work.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::domain::limits::{CALLS_PER_CONNECTION_MAX, LINE_BYTES_MAX};

/// Where a failed tool says whose fault it is.
const FAULT_POINTER: &str = "/_meta/recalld~1fault";
/// Time for what the daemon said before it closed to be read.
const REFUSAL_WAIT: Duration = Duration::from_secs(1);

/// The protocol version that [`Client::initialize`] asks for.
pub const PROTOCOL_VERSION: &str = "2025-11-25";

/// The first line of a connection: who speaks. A notification, so the daemon does not answer it.
#[derive(Clone, Default, Serialize)]
pub struct Hello {
    /// `owner`: the person, through the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The agent's name; without one the daemon takes the name in the MCP handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The secret that proves the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The data directory whose store is meant; a daemon of another one refuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<String>,
    /// Version of the program that speaks.
    pub bridge: String,
    /// One id for all connections of this process.
    pub session: String,
}

impl Hello {
    /// Nobody in particular.
    pub fn new() -> Self {
        Self {
            bridge: env!("CARGO_PKG_VERSION").to_owned(),
            session: Uuid::new_v4().to_string(),
            ..Self::default()
        }
    }

    /// The person whose memory it is.
    pub fn owner() -> Self {
        Self { role: Some("owner".to_owned()), ..Self::new() }
    }

    /// The agent of this name.
    pub fn agent(name: &str) -> Self {
        Self { agent: Some(name.to_owned()), ..Self::new() }
    }

    /// The line, without its newline.
    pub fn to_line(&self) -> String {
        json!({ "jsonrpc": "2.0", "method": "recalld/hello", "params": self }).to_string()
    }
}

/// Why a call brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers at the socket.
    #[error("connect to {path}: {source}")]
    Connect {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The daemon closed the connection, before or during the call.
    #[error("the daemon closed the connection")]
    Closed,
    /// The daemon refused the connection.
    #[error("{0}")]
    Refused(String),
    /// No answer in time. The daemon may still be at work; it was told to stop.
    #[error("no answer to {method} in {} s", .after.as_secs_f64())]
    Timeout {
        /// The method that was called.
        method: String,
        /// The time that was given.
        after: Duration,
    },
    /// The daemon refused the request.
    #[error("{message} (error {code})")]
    Rpc {
        /// JSON-RPC error code.
        code: i64,
        /// What it said.
        message: String,
    },
    /// The request is over the daemon's limit for a line.
    #[error("the request is over {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// The answer has not the form it must have.
    #[error("the answer to {method} has no {what}")]
    Malformed {
        /// The method that was called.
        method: String,
        /// What is missing.
        what: &'static str,
    },
}

/// What a tool said.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolReply {
    /// Whether the tool failed; then the text says why.
    pub is_error: bool,
    /// Whose fault that is, as far as the daemon says ([`super::ARGUMENT_FAULT`]).
    pub fault: Option<String>,
    /// Its text blocks, joined by newlines.
    pub text: String,
    /// The same facts as JSON, if it gave them.
    pub structured: Option<Value>,
}

/// A connection to the daemon. The last clone that goes closes it.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    lines: mpsc::Sender<String>,
    waiting: Arc<Waiting>,
    next_id: AtomicU64,
    /// The reader and the writer; they end when this is dropped.
    _tasks: JoinSet<()>,
}

struct Waiting {
    /// Callers that wait for an answer, by id; `None` once the connection is gone.
    callers: Mutex<Option<HashMap<u64, oneshot::Sender<Value>>>>,
    /// Why the daemon wants no connection, if it said so.
    refusal: OnceLock<String>,
    /// Cancelled when everything that the daemon said was read.
    ended: CancellationToken,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Value>>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nobody answers any more.
    fn closed(&self) -> ClientError {
        self.refusal.get().map_or(ClientError::Closed, |why| ClientError::Refused(why.clone()))
    }
}

impl Client {
    /// Connects and says hello.
    ///
    /// # Errors
    /// [`ClientError::Connect`].
    pub async fn connect(path: &Path, hello: &Hello) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path)
            .await
            .map_err(|source| ClientError::Connect { path: path.to_owned(), source })?;
        let (read, write) = stream.into_split();
        let (lines, queue) = mpsc::channel(CALLS_PER_CONNECTION_MAX);
        let waiting = Arc::new(Waiting {
            callers: Mutex::new(Some(HashMap::new())),
            refusal: OnceLock::new(),
            ended: CancellationToken::new(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(read_answers(read, waiting.clone()));
        tasks.spawn(write_lines(write, queue));
        let shared = Shared { lines, waiting, next_id: AtomicU64::new(1), _tasks: tasks };
        let client = Self { shared: Arc::new(shared) };
        client.send(hello.to_line()).await?;
        Ok(client)
    }

    /// The handshake: returns what the daemon says of itself.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub async fn initialize(&self, wait: Duration) -> Result<Value, ClientError> {
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "recalld", "version": env!("CARGO_PKG_VERSION") },
        });
        let result = self.request("initialize", params, wait).await?;
        self.notify("notifications/initialized", json!({})).await?;
        Ok(result)
    }

    /// Calls a tool. A tool that fails is a reply, not an error.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Value,
        wait: Duration,
    ) -> Result<ToolReply, ClientError> {
        let params = json!({ "name": name, "arguments": arguments });
        let mut result = self.request("tools/call", params, wait).await?;
        let texts: Option<Vec<&str>> = result
            .get("content")
            .and_then(Value::as_array)
            .map(|blocks| blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect());
        let text = texts
            .ok_or_else(|| ClientError::Malformed { method: name.to_owned(), what: "content" })?
            .join("\n");
        Ok(ToolReply {
            is_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
            fault: result.pointer(FAULT_POINTER).and_then(Value::as_str).map(str::to_owned),
            text,
            structured: result.get_mut("structuredContent").map(Value::take),
        })
    }

    /// Sends a request and waits at most `wait` for its result.
    ///
    /// # Errors
    /// All but [`ClientError::Connect`].
    pub async fn request(
        &self,
        method: &str,
        params: Value,
        wait: Duration,
    ) -> Result<Value, ClientError> {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let closed = || self.shared.waiting.closed();
        self.shared.waiting.lock().as_mut().ok_or_else(closed)?.insert(id, sender);
        let _forget = Forget { waiting: &self.shared.waiting, id };
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let exchange = async {
            self.send(line.to_string()).await?;
            answer.await.map_err(|_| closed())
        };
        let Ok(message) = timeout(wait, exchange).await else {
            let cancel = json!({ "requestId": id, "reason": "no answer in time" });
            let cancel = notification("notifications/cancelled", &cancel);
            if self.shared.lines.try_send(cancel).is_err() {
                tracing::debug!(method, "could not cancel a request");
            }
            return Err(ClientError::Timeout { method: method.to_owned(), after: wait });
        };
        result_of(method, message?)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// [`ClientError::Closed`] and [`ClientError::TooLong`].
    pub async fn notify(&self, method: &str, params: Value) -> Result<(), ClientError> {
        self.send(notification(method, &params)).await
    }

    async fn send(&self, line: String) -> Result<(), ClientError> {
        if line.len() > LINE_BYTES_MAX {
            return Err(ClientError::TooLong);
        }
        if self.shared.lines.send(line).await.is_err() {
            // What cannot be written any more was closed at the other end, which may have said why.
            let waiting = &self.shared.waiting;
            let read = timeout(REFUSAL_WAIT, waiting.ended.cancelled()).await;
            tracing::debug!(in_time = read.is_ok(), "connection closed");
            return Err(waiting.closed());
        }
        Ok(())
    }
}

/// Takes a caller off the list when it stops waiting, for whatever reason.
struct Forget<'a> {
    waiting: &'a Waiting,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.lock().as_mut() {
            waiting.remove(&self.id);
        }
    }
}

fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn result_of(method: &str, mut message: Value) -> Result<Value, ClientError> {
    if let Some(error) = message.get("error") {
        let text = error.get("message").and_then(Value::as_str).unwrap_or("refused");
        return Err(ClientError::Rpc {
            code: error.get("code").and_then(Value::as_i64).unwrap_or(0),
            message: text.to_owned(),
        });
    }
    message
        .get_mut("result")
        .map(Value::take)
        .ok_or_else(|| ClientError::Malformed { method: method.to_owned(), what: "result" })
}

async fn read_answers(read: OwnedReadHalf, waiting: Arc<Waiting>) {
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    loop {
        line.clear();
        // One byte over the limit shows that a line is too long; then the stream is lost, since
        // its next line cannot be told from the rest of this one.
        let mut limited = (&mut read).take(LINE_BYTES_MAX as u64 + 1);
        let is_line = match limited.read_until(b'\n', &mut line).await {
            Ok(_) => line.last() == Some(&b'\n'),
            Err(error) => {
                tracing::debug!(%error, "read failed");
                false
            }
        };
        if !is_line {
            break;
        }
        // Requests and notifications of the daemon are not for this client.
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        let id = message.get("id").and_then(Value::as_u64);
        let error = message.pointer("/error/message").and_then(Value::as_str);
        if let (None, Some(error)) = (id, error) {
            // An error that answers nothing is about the connection; the first one counts.
            let _first = waiting.refusal.set(error.to_owned()).is_ok();
        }
        let is_answer = message.get("method").is_none();
        let caller = id.filter(|_| is_answer).and_then(|id| waiting.lock().as_mut()?.remove(&id));
        if let Some(Err(_)) = caller.map(|caller| caller.send(message)) {
            tracing::debug!("an answer came too late");
        }
    }
    // Dropping the senders tells everybody who waits, and `None` everybody who comes.
    *waiting.lock() = None;
    waiting.ended.cancel();
}

async fn write_lines(mut write: OwnedWriteHalf, mut queue: mpsc::Receiver<String>) {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        if let Err(error) = write.write_all(line.as_bytes()).await {
            tracing::debug!(%error, "write failed");
            return;
        }
    }
}

#[cfg(test)]
mod tests;
