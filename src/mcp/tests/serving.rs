//! The accept loop on a real socket.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::client::{Client, mcp};
use super::fake::{FakeCandidates, FakeMeter, Trouble, clock};
use crate::mcp::{McpSettings, Server, Socket};

struct Served {
    _directory: tempfile::TempDir,
    path: PathBuf,
    candidates: Arc<FakeCandidates>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

fn start(settings: McpSettings) -> Served {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("recalld.sock");
    let socket = Socket::bind(&path, 0o600).unwrap();
    let candidates = Arc::<FakeCandidates>::default();
    let mcp = mcp(Arc::clone(&candidates), Arc::<FakeMeter>::default(), clock(), settings);
    let stop = CancellationToken::new();
    let task = tokio::spawn(Server::new(mcp).serve(socket, stop.clone()));
    Served { _directory: directory, path, candidates, stop, task }
}

impl Served {
    async fn dial(&self) -> Client {
        let stream = UnixStream::connect(&self.path).await.unwrap();
        Client::new(stream, tokio::spawn(async {}))
    }
}

#[tokio::test]
async fn many_clients_are_served_and_the_socket_goes_at_the_stop() {
    let daemon = start(McpSettings::default());
    let mut clients = Vec::new();
    for number in 0..20 {
        let mut client = daemon.dial().await;
        client.initialize(&format!("agent-{number}"), "2025-06-18").await;
        client.store(&format!("memory {number}")).await;
        clients.push(client);
    }
    let status = clients[0].ok("memory_status", json!({})).await;
    assert_eq!(status["n_connections"], 20);
    assert_eq!(status["store"]["n_memories"], 20);
    daemon.stop.cancel();
    daemon.task.await.unwrap();
    assert!(!daemon.path.exists());
    for mut client in clients {
        assert_eq!(client.read().await, None);
    }
}

#[tokio::test]
async fn a_uid_over_its_connections_is_told_so_and_gets_in_when_one_ends() {
    let daemon = start(McpSettings { connections_per_uid_max: 2, ..McpSettings::default() });
    let mut first = daemon.dial().await;
    first.initialize("x", "2025-06-18").await;
    let mut second = daemon.dial().await;
    second.initialize("x", "2025-06-18").await;
    let mut third = daemon.dial().await;
    let line = third.read().await.unwrap();
    assert_eq!(line["error"]["code"], -32000, "{line}");
    assert_eq!(third.read().await, None);
    drop(first);
    // The place is free once the daemon has seen the end of the first.
    loop {
        let mut again = daemon.dial().await;
        again.write(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
        if again.read().await.is_some_and(|line| line.get("result").is_some()) {
            break;
        }
    }
}

#[tokio::test]
async fn a_call_that_outlasts_the_grace_is_cut_off() {
    let daemon = start(McpSettings { grace: Duration::from_millis(10), ..McpSettings::default() });
    let mut client = daemon.dial().await;
    client.initialize("x", "2025-06-18").await;
    *daemon.candidates.trouble.lock().unwrap() =
        Trouble::Gate(Arc::new(tokio::sync::Semaphore::new(0)));
    let search = json!({"name": "memory_search", "arguments": {"query": "tea"}});
    client.send("tools/call", search).await;
    client.write(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
    assert_eq!(client.read().await.unwrap()["id"], "p");
    daemon.stop.cancel();
    daemon.task.await.unwrap();
}
