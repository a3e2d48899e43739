//! A daemon that goes and comes back, with calls in flight.

use super::*;
use crate::domain::limits::RESENDS_MAX;

#[tokio::test]
async fn a_call_outlives_the_daemon_under_one_request_key() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    client.initialize(&mut connection).await;
    client.call(1).await;
    client.call("two").await;
    let (first, second) = (connection.receive().await, connection.receive().await);
    drop((daemon, connection));

    let daemon = place.daemon();
    let mut connection = daemon.accept().await;
    connection.take_repeated_handshake().await;
    assert_eq!(connection.receive().await, first);
    assert_eq!(connection.receive().await, second);
    assert_ne!(request_key(&first), request_key(&second));
    connection.answer(&second, json!({ "n": 2 })).await;
    connection.answer(&first, json!({ "n": 1 })).await;
    connection.answer(&first, json!({ "n": 1 })).await;
    assert_eq!(client.receive().await["id"], "two");
    assert_eq!(client.receive().await, json!({ "jsonrpc": "2.0", "id": 1, "result": { "n": 1 } }));
    client.is_silent(&mut connection).await;
}

#[tokio::test]
async fn a_modern_client_keeps_its_listener_and_its_call() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    client.request(1, "server/discover", modern(json!({}))).await;
    let discover = connection.receive().await;
    connection.answer(&discover, json!({ "supportedVersions": ["2026-07-28"] })).await;
    assert_eq!(client.receive().await["id"], 1);
    client.request(2, "subscriptions/listen", modern(json!({ "notifications": {} }))).await;
    let listen = connection.receive().await;
    let acknowledged = json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": { "_meta": { SUBSCRIPTION_ID: 2 }, "notifications": {} },
    });
    connection.send(acknowledged.clone()).await;
    assert_eq!(client.receive().await, acknowledged);
    client.request(3, "tools/call", modern(json!({ "name": "x" }))).await;
    let call = connection.receive().await;
    assert_eq!(call["params"]["_meta"][PROTOCOL_VERSION], "2026-07-28");
    // A daemon that stops ends its listeners; the next one takes them over.
    connection.answer(&listen, json!({ "resultType": "complete" })).await;
    drop((daemon, connection));

    let daemon = place.daemon();
    let mut connection = daemon.accept().await;
    assert_eq!(connection.receive().await, listen);
    assert_eq!(connection.receive().await, call);
    connection.send(acknowledged).await;
    let updated = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated" });
    connection.send(updated.clone()).await;
    assert_eq!(client.receive().await, updated);
    connection.answer(&call, json!({})).await;
    assert_eq!(client.receive().await["id"], 3);
    // Nor is the old daemon's end of the listener told later.
    tokio::time::pause();
    tokio::time::sleep(BRIDGE_DRAIN_WAIT * 2).await;
    tokio::time::resume();
    client.is_silent(&mut connection).await;
}

#[tokio::test]
async fn the_end_of_a_listener_is_told_when_the_daemon_stays() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    client.request(1, "subscriptions/listen", modern(json!({ "notifications": {} }))).await;
    let listen = connection.receive().await;
    connection.answer(&listen, json!({ "resultType": "complete" })).await;
    client.is_silent(&mut connection).await;
    tokio::time::pause();
    assert_eq!(client.receive().await["id"], 1);
}

#[tokio::test]
async fn subscriptions_are_restored_without_a_word() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    client.initialize(&mut connection).await;
    for (id, method, uri) in [
        (1, "resources/subscribe", "recalld://a"),
        (2, "resources/subscribe", "recalld://b"),
        (3, "resources/unsubscribe", "recalld://a"),
    ] {
        client.request(id, method, json!({ "uri": uri })).await;
        let request = connection.receive().await;
        connection.answer(&request, json!({})).await;
        assert_eq!(client.receive().await["id"], id);
    }
    drop(connection);

    let mut connection = daemon.accept().await;
    connection.take_repeated_handshake().await;
    let request = connection.receive().await;
    assert_eq!(request["method"], "resources/subscribe");
    assert_eq!(request["params"], json!({ "uri": "recalld://b" }));
    connection.answer(&request, json!({})).await;
    client.is_silent(&mut connection).await;
}

/// Gets the tool list, restarts the daemon twice, with the same and with another list.
async fn tools_list_after_restarts(client: &mut Client, daemon: &Daemon, old: bool, id: i64) {
    let params = if old { json!({}) } else { modern(json!({})) };
    let mut connection = daemon.accept().await;
    if old {
        client.initialize(&mut connection).await;
    } else {
        let filter = json!({ "notifications": { "toolsListChanged": true } });
        client.request(9, "subscriptions/listen", modern(filter)).await;
        connection.receive().await;
        let acknowledged = json!({ "_meta": { SUBSCRIPTION_ID: 9 }, "notifications": {} });
        let method = "notifications/subscriptions/acknowledged";
        connection
            .send(json!({ "jsonrpc": "2.0", "method": method, "params": acknowledged }))
            .await;
        client.receive().await;
    }
    client.request(id, "tools/list", params.clone()).await;
    let request = connection.receive().await;
    connection.answer(&request, json!({ "tools": [{ "name": "a", "title": "A" }] })).await;
    client.receive().await;
    for tools in [json!([{ "title": "A", "name": "a" }]), json!([{ "name": "b" }])] {
        drop(connection);
        connection = daemon.accept().await;
        if old {
            connection.take_repeated_handshake().await;
        }
        let request = connection.receive().await;
        assert_eq!(request["method"], "tools/list");
        assert_eq!(request["params"], params);
        assert_ne!(request["id"], id);
        if !old {
            assert_eq!(connection.receive().await["method"], "subscriptions/listen");
        }
        connection.answer(&request, json!({ "tools": tools })).await;
        if tools[0]["name"] == "a" {
            client.is_silent(&mut connection).await;
        }
    }
    let mut expected = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    if !old {
        expected["params"] = json!({ "_meta": { SUBSCRIPTION_ID: 9 } });
    }
    assert_eq!(client.receive().await, expected);
    client.is_silent(&mut connection).await;
}

#[tokio::test]
async fn a_changed_tool_list_is_announced_and_an_equal_one_is_not() {
    for old in [true, false] {
        let place = Place::new();
        let daemon = place.daemon();
        let mut client = place.client();
        tools_list_after_restarts(&mut client, &daemon, old, 5).await;
    }
}

#[tokio::test]
async fn a_request_that_takes_the_daemon_down_again_and_again_fails_in_the_end() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    client.call(1).await;
    client.request(2, "resources/read", json!({ "uri": "x" })).await;
    for _ in 0..=RESENDS_MAX {
        let mut connection = daemon.accept().await;
        assert_eq!(connection.receive().await["id"], 1);
        assert_eq!(connection.receive().await["id"], 2);
        connection.send(json!({ "jsonrpc": "2.0", "method": "notifications/x" })).await;
        assert_eq!(client.receive().await["method"], "notifications/x");
    }
    let failed = client.receive().await;
    assert_eq!(failed["id"], 1);
    assert_eq!(failed["result"]["isError"], true);
    assert!(failed["result"]["content"][0]["text"].as_str().unwrap().contains("4 times"));
    let failed = client.receive().await;
    assert_eq!((&failed["id"], &failed["error"]["code"]), (&json!(2), &json!(-32_603)));
    client.is_silent(&mut daemon.accept().await).await;
}

#[tokio::test]
async fn connections_that_end_without_a_word_are_no_attempts() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    client.call(1).await;
    for _ in 0..=RESENDS_MAX + 1 {
        drop(daemon.accept_raw().await);
    }
    let mut connection = daemon.accept().await;
    let call = connection.receive().await;
    connection.answer(&call, json!({})).await;
    assert_eq!(client.receive().await["id"], 1);
}

#[tokio::test]
async fn a_cancelled_call_is_not_sent_again() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    client.call(1).await;
    client.call(2).await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": 1 } });
    client.send(cancel.clone()).await;
    let first = connection.receive().await;
    connection.receive().await;
    assert_eq!(connection.receive().await, cancel);
    // Its answer may be on the way already; the client must not get it.
    connection.answer(&first, json!({})).await;
    drop(connection);

    let mut connection = daemon.accept().await;
    assert_eq!(connection.receive().await["id"], 2);
    client.is_silent(&mut connection).await;
}

#[tokio::test]
async fn hello_names_the_agent_and_one_session_for_all_connections() {
    let place = Place::new();
    let daemon = place.daemon();
    let settings = BridgeSettings {
        agent: Some("codex".into()),
        token: Some("secret".into()),
        ..place.settings()
    };
    assert!(!format!("{settings:?}").contains("secret"));
    let _client = Client::start(settings);
    let first = daemon.accept().await.hello;
    assert_eq!(first["params"]["agent"], "codex");
    assert_eq!(first["params"]["token"], "secret");
    assert_eq!(first["params"]["bridge"], env!("CARGO_PKG_VERSION"));
    assert!(first["params"].get("role").is_none());
    assert_eq!(daemon.accept().await.hello, first);

    let _nameless = place.client();
    loop {
        let hello = daemon.accept().await.hello;
        if hello["params"]["session"] != first["params"]["session"] {
            assert!(hello["params"].get("agent").is_none());
            assert!(hello["params"].get("token").is_none());
            return;
        }
    }
}
