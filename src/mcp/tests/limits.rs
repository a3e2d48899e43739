//! Panics, full queues, cancelled calls, repeated ids, slow readers.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::client::{Client, Daemon, text};
use super::fake::Trouble;
use crate::domain::limits::CALLS_PER_CONNECTION_MAX;
use crate::mcp::McpSettings;
use crate::ports::Meter;

fn search() -> Value {
    json!({"name": "memory_search", "arguments": {"query": "tea"}})
}

/// A client whose searches wait at a gate.
async fn gated(daemon: &Daemon) -> (Client, Arc<Semaphore>) {
    let client = daemon.legacy("x").await;
    let gate = Arc::new(Semaphore::new(0));
    daemon.trouble(Trouble::Gate(Arc::clone(&gate)));
    (client, gate)
}

#[tokio::test]
async fn a_panic_is_answered_without_its_text_and_the_next_call_works() {
    let daemon = Daemon::new();
    let mut client = daemon.legacy("x").await;
    daemon.trouble(Trouble::Panic);
    let refusal = client.refused("memory_search", json!({"query": "tea"})).await;
    assert!(refusal.contains("internal error") && !refusal.contains("secret"), "{refusal}");
    assert_eq!(daemon.meter.snapshot(), [("tool_errors".to_owned(), 1)]);
    daemon.trouble(Trouble::None);
    client.ok("memory_search", json!({"query": "tea"})).await;
}

#[tokio::test]
async fn one_call_over_the_limit_is_refused_and_all_others_answered() {
    let daemon = Daemon::new();
    let (mut client, gate) = gated(&daemon).await;
    let mut ids = Vec::new();
    for _ in 0..=CALLS_PER_CONNECTION_MAX {
        ids.push(client.send("tools/call", search()).await);
    }
    let refused = client.read().await.unwrap();
    assert!(text(&refused["result"]).contains("too many calls"), "{refused}");
    gate.add_permits(CALLS_PER_CONNECTION_MAX);
    let mut answered = vec![refused["id"].as_i64().unwrap()];
    for _ in 0..CALLS_PER_CONNECTION_MAX {
        let answer = client.read().await.unwrap();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answered.push(answer["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, ids);
}

#[tokio::test]
async fn calls_over_the_daemons_limit_wait_for_their_turn() {
    let daemon = Daemon::with(McpSettings { calls_max: 1, ..McpSettings::default() });
    let (mut client, gate) = gated(&daemon).await;
    let first = client.send("tools/call", search()).await;
    let second = client.send("tools/call", search()).await;
    gate.add_permits(2);
    let mut answered = [
        client.read().await.unwrap()["id"].as_i64().unwrap(),
        client.read().await.unwrap()["id"].as_i64().unwrap(),
    ];
    answered.sort_unstable();
    assert_eq!(answered, [first, second]);
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered_and_gives_its_place_back() {
    let daemon = Daemon::with(McpSettings { calls_max: 1, ..McpSettings::default() });
    let (mut client, gate) = gated(&daemon).await;
    let id = client.send("tools/call", search()).await;
    let waiting = client.send("tools/call", search()).await;
    for id in [id, waiting] {
        let cancel = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id},
        });
        client.write(&cancel.to_string()).await;
    }
    daemon.trouble(Trouble::None);
    let answer = client.request("tools/call", search()).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    gate.add_permits(2);
    client.request("ping", json!({})).await;
}

#[tokio::test]
async fn an_id_that_is_in_flight_is_refused_and_the_first_call_answered() {
    let daemon = Daemon::new();
    let (mut client, gate) = gated(&daemon).await;
    let line = json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": search()});
    client.write(&line.to_string()).await;
    client.write(&line.to_string()).await;
    let refused = client.read().await.unwrap();
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(refused["id"], "same");
    gate.add_permits(1);
    let answer = client.read().await.unwrap();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    client.write(&line.to_string()).await;
    gate.add_permits(1);
    assert_eq!(client.read().await.unwrap()["result"]["isError"], false, "an id may come again");
}

#[tokio::test]
async fn stopping_answers_what_is_in_flight_and_reads_no_more() {
    let daemon = Daemon::new();
    let (mut client, gate) = gated(&daemon).await;
    let id = client.send("tools/call", search()).await;
    client.write(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
    assert_eq!(client.read().await.unwrap()["id"], "p", "the call before it has begun");
    daemon.stop.cancel();
    gate.add_permits(1);
    let answer = client.read().await.unwrap();
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["isError"], false);
    assert_eq!(client.read().await, None);
    client.served.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_ends() {
    let mut client = Daemon::new().dial();
    assert_eq!(client.read().await, None);
}
