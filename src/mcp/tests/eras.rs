//! Both eras of the protocol, and who the caller is in each.

use serde_json::{Value, json};

use super::client::{Client, Daemon, MODERN, text};

/// What a client of either era sees of one life of a memory.
async fn lives(mut client: Client) {
    let id = client.store("Anna drinks oolong tea").await;
    let found = client.ok("memory_search", json!({"query": "oolong tea"})).await;
    assert_eq!(found["memories"][0]["id"], id, "{found}");
    let answer =
        client.request("resources/read", json!({"uri": format!("recalld://memory/{id}")})).await;
    let read = answer["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(read.contains("Anna drinks oolong tea"), "{read}");
    client.ok("memory_forget", json!({"ids": [id]})).await;
    let found = client.ok("memory_search", json!({"query": "oolong tea"})).await;
    assert_eq!(found["n_found"], 0, "{found}");
}

#[tokio::test]
async fn a_memory_lives_and_goes_in_both_eras() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Daemon::new().dial();
        let answer = client.initialize("x", version).await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        lives(client).await;
    }
    lives(Daemon::new().dial().modern("x")).await;
}

#[tokio::test]
async fn results_have_the_shape_of_their_era() {
    let daemon = Daemon::new();
    let result = daemon.legacy("x").await.call("memory_status", json!({})).await;
    assert!(result.get("resultType").is_none(), "{result}");
    let result = daemon.dial().modern("x").call("memory_status", json!({})).await;
    assert_eq!(result["resultType"], "complete");
}

#[tokio::test]
async fn a_probe_and_a_handshake_in_one_go_are_both_answered() {
    let daemon = Daemon::new();
    let mut probe = daemon.dial().modern("copilot");
    let discover = probe.send("server/discover", json!({})).await;
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "copilot", "version": "1"},
    });
    let line = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params});
    probe.write(&line.to_string()).await;
    let answer = probe.read().await.unwrap();
    assert_eq!(answer["id"], discover);
    let versions = answer["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(MODERN)) && versions.contains(&json!("2024-11-05")));
    let answer = probe.read().await.unwrap();
    assert_eq!(answer["id"], "i");
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn a_subscription_is_acknowledged_and_does_not_hold_the_connection() {
    let daemon = Daemon::new();
    let mut client = daemon.dial().modern("claude-code");
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    client.send("subscriptions/listen", wanted).await;
    let acknowledged = client.read().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    drop(client.writer);
    client.served.await.unwrap();
}

/// The namespace that `agent/<name>` would be, stored to by a client.
async fn own_namespace(client: &mut Client, name: &str) -> Value {
    let namespace = format!("agent/{name}");
    client.call("memory_store", json!({"content": "mine", "namespace": namespace})).await
}

#[tokio::test]
async fn the_agent_is_named_by_hello_or_client_in_each_era() {
    let daemon = Daemon::new();
    let mut legacy = daemon.legacy("Claude Code").await;
    assert_eq!(own_namespace(&mut legacy, "claude-code").await["isError"], false);
    assert_eq!(own_namespace(&mut legacy, "codex").await["isError"], true);

    let mut modern = daemon.dial().modern("codex");
    assert_eq!(own_namespace(&mut modern, "codex").await["isError"], false);

    let mut named = daemon.dial();
    named.hello(json!({"agent": "helper", "bridge": "0.1.0", "session": "s-1"})).await;
    named.initialize("claude-code", "2025-06-18").await;
    assert_eq!(own_namespace(&mut named, "helper").await["isError"], false);
    assert_eq!(own_namespace(&mut named, "claude-code").await["isError"], true);

    let mut owner = daemon.dial();
    owner.hello(json!({"role": "owner"})).await;
    owner.initialize("recalld", "2025-06-18").await;
    assert_eq!(own_namespace(&mut owner, "anyone").await["isError"], false);
}

#[tokio::test]
async fn a_wrong_token_and_a_false_owner_are_refused_with_a_reason() {
    let daemon = Daemon::new();
    for (peer, hello) in [
        (1000, json!({"agent": "careful", "token": "guess"})),
        (1000, json!({"agent": 5})),
        (1001, json!({"role": "owner"})),
    ] {
        let mut client = daemon.dial_as(peer);
        client.hello(hello).await;
        let line = client.read().await.unwrap();
        assert_eq!(line["error"]["code"], -32001);
        assert!(!line.to_string().contains("guess"));
        assert_eq!(client.read().await, None, "the connection ends");
    }
    let mut late = daemon.legacy("careful").await;
    let answer = late.call("memory_search", json!({"query": "x"})).await;
    assert_eq!(answer["code"], -32001, "{answer}");
}

#[tokio::test]
async fn a_session_of_the_hello_is_that_of_its_memories() {
    let mut client = Daemon::new().dial();
    client.hello(json!({"agent": "x", "session": "s-1"})).await;
    client.initialize("x", "2025-06-18").await;
    client.store("first").await;
    client.ok("memory_store", json!({"content": "second", "session": "other"})).await;
    let found =
        client.ok("memory_search", json!({"query": "first second", "session": "s-1"})).await;
    assert_eq!(found["n_found"], 1, "{found}");
}

#[tokio::test]
async fn another_agents_memory_is_not_found_by_any_way() {
    let daemon = Daemon::new();
    let mut anna = daemon.legacy("anna").await;
    let stored = anna
        .ok("memory_store", json!({"content": "a private plan", "namespace": "agent/anna"}))
        .await;
    let id = stored["memories"][0]["id"].as_str().unwrap().to_owned();
    let handle = stored["memories"][0]["handle"].as_str().unwrap().to_owned();
    let mut mallory = daemon.legacy("mallory").await;
    for reference in [id.as_str(), &handle, "../users/x", "recalld://memory/1", "*", "%2e%2e", "0"]
    {
        for (tool, arguments) in [
            ("memory_get", json!({"ids": [reference]})),
            ("memory_update", json!({"id": reference, "content": "changed"})),
            ("memory_forget", json!({"ids": [reference]})),
            ("memory_forget", json!({"ids": [reference], "dry_run": true})),
        ] {
            let refusal = mallory.refused(tool, arguments).await;
            assert!(refusal.contains("not found"), "{tool} {reference}: {refusal}");
        }
        let uri = format!("recalld://memory/{reference}");
        let answer = mallory.request("resources/read", json!({"uri": uri})).await;
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        let mut modern = daemon.dial().modern("mallory");
        let answer = modern.request("resources/read", json!({"uri": uri})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    for tool in ["memory_search", "memory_list", "memory_forget"] {
        let arguments = json!({"query": "a private plan", "namespace": "agent/anna"});
        let refusal = mallory.refused(tool, arguments).await;
        assert!(refusal.contains("not readable"), "{tool}: {refusal}");
    }
    let status = mallory.call("memory_status", json!({})).await;
    assert!(!text(&status).contains("agent/anna"), "{status}");
    let kept = anna.ok("memory_get", json!({"ids": [id]})).await;
    assert_eq!(kept["memories"][0]["content"], "a private plan");
}
