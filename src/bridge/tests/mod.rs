//! The bridge between a client on in-memory pipes and a stand-in daemon on a real socket, which
//! each test plays line by line.

mod limits;
mod offline;
mod reconnect;
mod starting;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, DuplexStream, Lines};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use super::message::{PROTOCOL_VERSION, REQUEST_KEY, SUBSCRIPTION_ID};
use super::*;

/// Bounds a wait, so that a bug is a failure and no hang.
async fn soon<T>(wait: impl Future<Output = T>) -> T {
    timeout(std::time::Duration::from_mins(1), wait).await.expect("nothing came")
}

/// What this program knows of itself.
struct KnownOffline;

impl Offline for KnownOffline {
    fn answer(&self, method: &str, params: Option<&RawValue>) -> Option<Value> {
        match method {
            "initialize" => {
                Some(json!({ "protocolVersion": message::field(params, "protocolVersion") }))
            }
            "server/discover" => {
                Some(json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"] }))
            }
            "tools/list" => Some(json!({ "tools": [{ "name": "memory_search" }] })),
            "ping" => Some(json!({})),
            _ => None,
        }
    }
}

/// A directory for one test, with its socket.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn socket(&self) -> PathBuf {
        self.path("recalld.sock")
    }

    fn settings(&self) -> BridgeSettings {
        BridgeSettings {
            socket: self.socket(),
            agent: None,
            token: None,
            state_dir: None,
            start: None,
        }
    }

    fn client(&self) -> Client {
        Client::start(self.settings())
    }

    fn daemon(&self) -> Daemon {
        Daemon::bind(&self.socket())
    }
}

/// The agent's end of a bridge. Fails on any line of stdout that is no JSON-RPC message.
struct Client {
    stdin: Option<DuplexStream>,
    stdout: Lines<BufReader<DuplexStream>>,
    bridge: JoinHandle<Ending>,
}

impl Client {
    fn start(settings: BridgeSettings) -> Self {
        let (stdin, input) = tokio::io::duplex(64 * 1024);
        let (output, stdout) = tokio::io::duplex(64 * 1024);
        let bridge = tokio::spawn(run(settings, Arc::new(KnownOffline), input, output));
        Self { stdin: Some(stdin), stdout: BufReader::new(stdout).lines(), bridge }
    }

    async fn send_text(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        soon(stdin.write_all(format!("{text}\n").as_bytes())).await.unwrap();
    }

    async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    async fn call(&mut self, id: impl Into<Value>) {
        self.request(id, "tools/call", json!({ "name": "memory_store", "arguments": {} })).await;
    }

    async fn receive(&mut self) -> Value {
        let line = soon(self.stdout.next_line()).await.unwrap().expect("stdout is open");
        let message: Value = serde_json::from_str(&line).expect("stdout carries JSON only");
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Does the older handshake, with the daemon at the other end.
    async fn initialize(&mut self, daemon: &mut Connection) {
        self.request(0, "initialize", initialize_params()).await;
        let request = daemon.receive().await;
        daemon.answer(&request, json!({ "protocolVersion": "2025-11-25" })).await;
        assert_eq!(self.receive().await["id"], 0);
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        assert_eq!(daemon.receive().await["method"], "notifications/initialized");
    }

    /// Shows that nothing else is on its way to the client: the next line is this ping's answer.
    async fn is_silent(&mut self, daemon: &mut Connection) {
        self.request("is_silent", "ping", json!({})).await;
        let ping = daemon.receive().await;
        assert_eq!(ping["method"], "ping", "{ping}");
        daemon.answer(&ping, json!({})).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], "is_silent", "{answer}");
    }

    /// Closes stdin and returns what still came, and how the bridge ended.
    async fn close(mut self) -> (Vec<Value>, Ending) {
        self.stdin = None;
        let mut rest = Vec::new();
        while let Some(line) = soon(self.stdout.next_line()).await.unwrap() {
            rest.push(serde_json::from_str(&line).expect("stdout carries JSON only"));
        }
        (rest, soon(self.bridge).await.unwrap())
    }
}

fn initialize_params() -> Value {
    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x" } })
}

/// Parameters of the 2026-07-28 protocol.
fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    params
}

/// A daemon that does what the test says. Dropping it leaves a socket file nobody listens at.
struct Daemon {
    listener: UnixListener,
}

impl Daemon {
    fn bind(socket: &Path) -> Self {
        if socket.exists() {
            std::fs::remove_file(socket).unwrap();
        }
        Self { listener: UnixListener::bind(socket).unwrap() }
    }

    /// The next connection, its hello read.
    async fn accept(&self) -> Connection {
        let mut connection = self.accept_raw().await;
        connection.hello = connection.receive().await;
        assert_eq!(connection.hello["method"], "recalld/hello");
        assert!(connection.hello.get("id").is_none());
        connection
    }

    async fn accept_raw(&self) -> Connection {
        let (stream, _) = soon(self.listener.accept()).await.unwrap();
        let (read, write) = stream.into_split();
        Connection { read: BufReader::new(read).lines(), write, hello: Value::Null }
    }
}

/// The daemon's end of one connection; dropping it is what a killed daemon does.
struct Connection {
    read: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
    hello: Value,
}

impl Connection {
    async fn receive(&mut self) -> Value {
        let line = soon(self.read.next_line()).await.unwrap().expect("the connection is open");
        serde_json::from_str(&line).unwrap()
    }

    async fn send(&mut self, message: Value) {
        soon(self.write.write_all(format!("{message}\n").as_bytes())).await.unwrap();
    }

    async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    /// Answers the handshake that the bridge repeats after a reconnect.
    async fn take_repeated_handshake(&mut self) {
        let request = self.receive().await;
        assert_eq!(request["method"], "initialize");
        assert_eq!(request["params"], initialize_params());
        self.answer(&request, json!({ "protocolVersion": "2025-11-25" })).await;
        assert_eq!(self.receive().await["method"], "notifications/initialized");
    }
}

fn request_key(call: &Value) -> String {
    call["params"]["_meta"][REQUEST_KEY].as_str().expect("a request key").to_owned()
}
