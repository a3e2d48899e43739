//! A raw client: lines in, lines out.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::fake::{FakeCandidates, FakeMeter, OneJob, Trouble, clock, service};
use crate::clock::ManualClock;
use crate::domain::identity::{Access, AgentName, ReadGrant};
use crate::domain::namespace::{Namespace, NamespacePattern};
use crate::mcp::REQUEST_KEY;
use crate::mcp::connections::connection;
use crate::mcp::hello::Uids;
use crate::mcp::transport::Life;
use crate::mcp::{
    AccessPolicy, Control, Mcp, McpSettings, ProcessReport, Reloaded, Shared, SocketLook, Toolset,
};
use crate::ports::Clock;

pub(super) const MODERN: &str = "2026-07-28";

/// A daemon without a socket: connections are made of socket pairs.
pub(super) struct Daemon {
    pub(super) candidates: Arc<FakeCandidates>,
    pub(super) meter: Arc<FakeMeter>,
    clock: Arc<ManualClock>,
    shared: Arc<Shared>,
    pub(super) stop: CancellationToken,
}

/// What agents may do by default: their own namespace, the user's and the shared ones. The agent
/// `careful` needs a token.
pub(super) fn access() -> AccessPolicy {
    Arc::new(|name: &AgentName, token| {
        if name.as_str() == "careful" && token != Some("secret") {
            return None;
        }
        let own = NamespacePattern::Exact(name.namespace());
        let patterns = vec![own, "user".parse().unwrap(), "shared/*".parse().unwrap()];
        let read = patterns.iter().map(|p| ReadGrant { pattern: p.clone(), weight: 1.0 }).collect();
        Some(Access { read, write: patterns, write_default: Namespace::user() })
    })
}

impl Daemon {
    pub(super) fn new() -> Self {
        Self::with(McpSettings::default())
    }

    pub(super) fn with(settings: McpSettings) -> Self {
        let (candidates, meter) = (Arc::<FakeCandidates>::default(), Arc::<FakeMeter>::default());
        let clock = clock();
        let mcp = mcp(Arc::clone(&candidates), Arc::clone(&meter), Arc::clone(&clock), settings);
        let shared = Arc::new(Shared::new(mcp));
        Self { candidates, meter, clock, shared, stop: CancellationToken::new() }
    }

    /// Lets time pass, and reminders become due.
    pub(super) async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        let now = Clock::now(&*self.clock);
        self.shared.service.advance_reminders(now).await.unwrap();
    }

    /// Makes the searches to come misbehave.
    pub(super) fn trouble(&self, trouble: Trouble) {
        *self.candidates.trouble.lock().unwrap() = trouble;
    }

    /// A connection of the daemon's own user, nothing said yet.
    pub(super) fn dial(&self) -> Client {
        self.dial_as(1000)
    }

    pub(super) fn dial_as(&self, peer: u32) -> Client {
        let (client, server) = UnixStream::pair().unwrap();
        let life = Life {
            stop: self.stop.child_token(),
            kill: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        let uids = Uids { own: 1000, peer };
        let served = tokio::spawn(connection(server, uids, Arc::clone(&self.shared), life));
        Client::new(client, served)
    }

    /// A legacy client called `name`.
    pub(super) async fn legacy(&self, name: &str) -> Client {
        let mut client = self.dial();
        client.initialize(name, "2025-06-18").await;
        client
    }
}

pub(super) fn mcp(
    candidates: Arc<FakeCandidates>,
    meter: Arc<FakeMeter>,
    clock: Arc<ManualClock>,
    settings: McpSettings,
) -> Mcp {
    Mcp {
        service: service(candidates, Arc::clone(&meter), Arc::clone(&clock)),
        access: access(),
        clock,
        meter,
        control: Arc::new(NoControl),
        maintenance: Arc::new(OneJob),
        toolset: Toolset::Full,
        state_dir: "/state".into(),
        settings: watch::channel(settings).1,
    }
}

/// A process that knows nothing of itself.
struct NoControl;

impl Control for NoControl {
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, Vec<String>>> {
        let problems = ["config.toml:3:1: recall.limit", "config.toml:9:1: log.level"];
        std::future::ready(Err(problems.map(str::to_owned).to_vec())).boxed()
    }

    fn report(&self) -> ProcessReport {
        ProcessReport::default()
    }

    fn note_socket(&self, look: SocketLook) {
        assert_eq!(look, SocketLook::InPlace);
    }

    fn asked_for_life(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }
}

/// The other end of a connection.
pub(super) struct Client {
    reader: BufReader<OwnedReadHalf>,
    pub(super) writer: OwnedWriteHalf,
    next_id: i64,
    meta: Option<Value>,
    pub(super) served: JoinHandle<()>,
}

impl Client {
    pub(super) fn new(stream: UnixStream, served: JoinHandle<()>) -> Self {
        let (reader, writer) = stream.into_split();
        Self { reader: BufReader::new(reader), writer, next_id: 1, meta: None, served }
    }

    /// From now on each request carries what 2026-07-28 asks for.
    pub(super) fn modern(mut self, name: &str) -> Self {
        self.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }));
        self
    }

    pub(super) async fn hello(&mut self, params: Value) {
        let hello = json!({"jsonrpc": "2.0", "method": "recalld/hello", "params": params});
        self.write(&hello.to_string()).await;
    }

    pub(super) async fn initialize(&mut self, name: &str, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": name, "version": "1"},
        });
        let answer = self.request("initialize", params).await;
        self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        answer
    }

    pub(super) async fn write(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    /// The next line, or `None` at the end.
    pub(super) async fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    /// Sends a request without waiting; returns its id.
    pub(super) async fn send(&mut self, method: &str, mut params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        if let (Some(meta), Some(params)) = (&self.meta, params.as_object_mut()) {
            let mut merged = meta.clone();
            if let Some(own) = params.get("_meta").and_then(Value::as_object) {
                merged.as_object_mut().unwrap().extend(own.clone());
            }
            params.insert("_meta".to_owned(), merged);
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request.to_string()).await;
        id
    }

    /// Sends a request and reads its answer, which must be the next line.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let answer = self.read().await.expect("an answer");
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool and returns its result, or the JSON-RPC error.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.request("tools/call", params).await;
        answer.get("result").or(answer.get("error")).cloned().unwrap()
    }

    /// Calls a tool that must succeed; returns its structure.
    pub(super) async fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone()).await;
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that must answer with an error; returns its text.
    pub(super) async fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments.clone()).await;
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(result.get("structuredContent").is_none(), "errors have no structure");
        text(&result)
    }

    /// Calls a tool under an idempotency key.
    pub(super) async fn keyed(&mut self, key: &str, tool: &str, arguments: Value) -> Value {
        let meta = json!({ REQUEST_KEY: key });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let answer = self.request("tools/call", params).await;
        answer["result"]["structuredContent"].clone()
    }

    /// Stores a memory; returns its id.
    pub(super) async fn store(&mut self, content: &str) -> String {
        let stored = self.ok("memory_store", json!({"content": content})).await;
        stored["memories"][0]["id"].as_str().unwrap().to_owned()
    }
}

/// The text of a result.
pub(super) fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
