//! No daemon, for a while or at all. Time is tokio's, and it jumps: without a daemon the bridge
//! waits for nothing but timers.

use super::*;
use crate::domain::limits::{OFFLINE_AFTER, SILENT_AFTER, UNREACHABLE_AFTER};

#[tokio::test(start_paused = true)]
async fn the_older_handshake_is_answered_without_a_daemon_and_repeated_when_there_is_one() {
    let place = Place::new();
    let started_at = Instant::now();
    let mut client = place.client();
    client.request(0, "initialize", initialize_params()).await;
    assert_eq!(client.receive().await["result"]["protocolVersion"], "2025-11-25");
    assert!(started_at.elapsed() >= OFFLINE_AFTER);
    client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    client.request(1, "tools/list", json!({})).await;
    assert_eq!(client.receive().await["result"]["tools"][0]["name"], "memory_search");
    client.call(2).await;

    tokio::time::resume();
    let daemon = place.daemon();
    let mut connection = daemon.accept().await;
    connection.take_repeated_handshake().await;
    let tools = connection.receive().await;
    assert_eq!(tools["method"], "tools/list");
    let call = connection.receive().await;
    connection.answer(&call, json!({})).await;
    assert_eq!(client.receive().await["id"], 2);
    connection.answer(&tools, json!({ "tools": [{ "name": "memory_search" }] })).await;
    client.is_silent(&mut connection).await;
}

#[tokio::test(start_paused = true)]
async fn the_modern_handshake_is_answered_without_a_daemon_and_has_nothing_to_repeat() {
    let place = Place::new();
    let mut client = place.client();
    client.request(1, "server/discover", modern(json!({}))).await;
    assert_eq!(client.receive().await["result"]["supportedVersions"], json!(["2026-07-28"]));
    client.request(2, "tools/call", modern(json!({ "name": "x" }))).await;

    tokio::time::resume();
    let daemon = place.daemon();
    let mut connection = daemon.accept().await;
    assert_eq!(connection.receive().await["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn without_a_daemon_calls_fail_after_a_while_and_later_ones_soon() {
    let place = Place::new();
    let started_at = Instant::now();
    let mut client = place.client();
    client.call(1).await;
    client.request(2, "resources/read", json!({ "uri": "x" })).await;
    client.request(3, "tools/call", modern(json!({ "name": "x" }))).await;
    let failed = client.receive().await;
    assert!(started_at.elapsed() >= UNREACHABLE_AFTER);
    assert_eq!(failed["id"], 1);
    assert_eq!(failed["result"]["isError"], true);
    assert!(failed["result"].get("resultType").is_none());
    let text = failed["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("systemctl --user start recalld"), "{text}");
    assert!(text.contains(place.socket().to_str().unwrap()), "{text}");
    assert_eq!(client.receive().await["error"]["code"], -32_603);
    assert_eq!(client.receive().await["result"]["resultType"], "complete");

    let asked_at = Instant::now();
    client.call(4).await;
    assert_eq!(client.receive().await["result"]["isError"], true);
    assert!(asked_at.elapsed() < UNREACHABLE_AFTER / 10);
    client.request(5, "ping", json!({})).await;
    assert_eq!(client.receive().await["result"], json!({}));
    // Nothing was started, nor prepared for it.
    assert_eq!(std::fs::read_dir(place.dir.path()).unwrap().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_without_a_daemon_is_not_waited_out_when_nothing_is_in_flight() {
    let place = Place::new();
    let mut client = place.client();
    client.request(1, "ping", json!({})).await;
    client.receive().await;
    let closed_at = Instant::now();
    let (rest, ending) = client.close().await;
    assert_eq!((rest.len(), ending), (0, Ending::InputClosed));
    assert!(closed_at.elapsed() < BRIDGE_DRAIN_WAIT / 5);
}

#[tokio::test]
async fn a_daemon_that_hangs_before_its_first_word_does_not_hang_the_handshake() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    tokio::time::pause();
    let asked_at = Instant::now();
    client.request(0, "initialize", initialize_params()).await;
    assert_eq!(client.receive().await["result"]["protocolVersion"], "2025-11-25");
    assert!(asked_at.elapsed() >= SILENT_AFTER);
    tokio::time::resume();
    // It comes to itself: what it says to the handshake is old news, and calls are its own.
    let initialize = connection.receive().await;
    connection.answer(&initialize, json!({ "protocolVersion": "2025-06-18" })).await;
    client.is_silent(&mut connection).await;
}
