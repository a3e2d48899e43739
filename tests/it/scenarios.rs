//! What users of other memory servers suffered, each as a test against the real daemon.

use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::{Home, WAIT, eventually};

/// An edited memory is found by its new words and not by its removed ones, before and after a
/// restart.
#[tokio::test]
async fn an_edited_memory_is_found_by_its_new_words_only() {
    let home = Home::new();
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let id = agent.store("The espresso machine stands in the pantry").await;
    let patch =
        json!({ "id": id, "content": "The kettle stands in the workshop", "tags": ["tea"] });
    agent.must("memory_update", patch).await;
    let check = async || {
        let agent = home.agent("a").await;
        assert_eq!(agent.recall("kettle workshop").await, ["The kettle stands in the workshop"]);
        assert!(agent.recall("espresso").await.is_empty());
        assert!(agent.recall("pantry").await.is_empty());
        let tagged = agent.must("memory_search", json!({ "query": "kettle", "tags": "tea" })).await;
        assert_eq!(tagged["memories"].as_array().unwrap().len(), 1);
    };
    check().await;
    assert!(daemon.stop().await.success());
    let _daemon = home.serve().await;
    check().await;
}

/// A short question finds what is there; a question about nothing stored gets nothing, and is told
/// how much was left out.
#[tokio::test]
async fn short_questions_find_and_foreign_questions_find_nothing() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    for text in [
        "Dark mode is preferred in every editor",
        "The deploy script lives in tools/deploy.sh",
        "Standup is at half past nine on weekdays",
        "Lena is allergic to peanuts",
    ] {
        agent.store(text).await;
    }
    assert_eq!(agent.recall("dark mode").await[0], "Dark mode is preferred in every editor");
    let answer = agent.must("memory_search", json!({ "query": "aubergines" })).await;
    assert_eq!(answer["memories"].as_array().unwrap().len(), 0, "{answer}");
    assert!(answer["n_below_threshold"].is_u64(), "{answer}");
}

/// Every id and every handle that one tool gives is taken by every other.
#[tokio::test]
async fn any_id_or_handle_of_one_tool_is_taken_by_every_other() {
    let home = Home::full();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let stored = agent.must("memory_store", json!({ "content": "Backups run at three" })).await;
    let found = agent.must("memory_search", json!({ "query": "backups" })).await;
    let listed = agent.must("memory_list", json!({})).await;
    let got = agent.must("memory_get", json!({ "ids": [stored["memories"][0]["id"]] })).await;
    for answer in [&stored, &found, &listed, &got] {
        let id = answer["memories"][0]["id"].as_str().unwrap();
        let tail = id.replace('-', "");
        let handle =
            recalld::domain::id::MemoryId::from_u128(u128::from_str_radix(&tail, 16).unwrap())
                .tail_text();
        for reference in [id, &handle, &handle[..8]] {
            agent.must("memory_get", json!({ "ids": [reference] })).await;
            agent.must("memory_update", json!({ "id": reference, "tags": [reference] })).await;
        }
    }
    let handle = found["memories"][0]["handle"].as_str().unwrap();
    agent.must("memory_forget", json!({ "ids": handle })).await;
    agent.refused("memory_get", json!({ "ids": [handle] })).await;
}

/// What one client stores, another finds at once: by a word, and by meaning.
#[tokio::test]
async fn another_client_finds_a_paraphrase_at_once() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let (writer, reader) = (home.agent("w").await, home.agent("r").await);
    for text in [
        "The invoice template is blue",
        "Our office is closed on Monday",
        "Tests run on every push",
    ] {
        writer.store(text).await;
    }
    // The model loads behind the start; the answer says whether the vector was ready.
    eventually("a memory is stored with its vector", async || {
        let arguments = json!({ "content": "The cat was sleeping on the sofa all afternoon" });
        let answer = writer.must("memory_store", arguments).await;
        let status = answer["memories"][0]["embedded"].as_bool();
        (status == Some(true)).then_some(())
    })
    .await;
    let found = reader.recall("a kitten napping on a couch").await;
    assert_eq!(found[0], "The cat was sleeping on the sofa all afternoon");
}

/// Ids that are no ids, and ids of somebody else's memories, mean nothing and change nothing.
#[tokio::test]
async fn foreign_and_invented_ids_are_not_found() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let (mine, other) = (home.agent("mine").await, home.agent("other").await);
    let secret = json!({ "content": "Only mine to know", "namespace": "agent/mine" });
    let stored = mine.must("memory_store", secret).await;
    let id = stored["memories"][0]["id"].clone();
    for reference in [
        id.clone(),
        json!(&id.as_str().unwrap()[..8]),
        json!("../users/x"),
        json!("agent/mine"),
        json!("00000000-0000-7000-8000-000000000000"),
        json!(""),
        json!("' OR 1=1"),
    ] {
        for tool in ["memory_get", "memory_forget"] {
            other.refused(tool, json!({ "ids": [reference] })).await;
        }
        other.refused("memory_update", json!({ "id": reference, "content": "taken" })).await;
    }
    let message = other.refused("memory_get", json!({ "ids": [id] })).await;
    assert!(message.contains("not found"), "{message}");
    let everything = json!({ "query": "Only mine to know", "namespace": "*" });
    let found = other.must("memory_search", everything).await;
    assert_eq!(found["memories"].as_array().unwrap().len(), 0, "{found}");
    let message =
        other.refused("memory_search", json!({ "query": "x", "namespace": "agent/mine" })).await;
    assert!(message.contains("namespace"), "{message}");
    assert_eq!(mine.recall("Only mine to know").await, ["Only mine to know"]);
}

/// Empty content and unknown kinds are refused with the argument's name, and nothing is stored.
#[tokio::test]
async fn bad_input_is_refused_and_stores_nothing() {
    let home = Home::full();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    for (arguments, named) in [
        (json!({}), "content"),
        (json!({ "content": "" }), "content"),
        (json!({ "content": "  \n" }), "content"),
        (json!({ "content": "x".repeat(32 * 1024 + 1) }), "content"),
        (json!({ "content": "x", "kind": "opinion" }), "kind"),
        (json!({ "content": "x", "importance": 7 }), "importance"),
        (json!({ "content": "x", "occurred_at": "yesterday" }), "occurred_at"),
        (json!({ "content": "x", "namespace": "../etc" }), "namespace"),
        (json!({ "content": "x", "namespace": "agent/other" }), "namespace"),
        (json!({ "content": "x", "supersedes": "zzzzzzzz" }), "zzzzzzzz"),
        (json!({ "content": "x", "metadata": "not json" }), "metadata"),
        (json!({ "content": "x", "memories": ["y"] }), "content"),
    ] {
        let message = agent.refused("memory_store", arguments.clone()).await;
        assert!(message.contains(named), "{arguments}: {message}");
    }
    let listed = agent.must("memory_list", json!({})).await;
    assert_eq!(listed["memories"], json!([]));
    let longest = agent.must("memory_store", json!({ "content": "x".repeat(32 * 1024) })).await;
    assert_eq!(longest["memories"][0]["status"], "stored");
}

/// The tool list is small, and no schema holds what breaks a client.
#[tokio::test]
async fn schemas_are_plain_and_small() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let mut bridge = home.bridge("a");
    bridge.initialize().await;
    let tools = bridge.request("tools/list", json!({})).await;
    let text = tools["tools"].to_string();
    let n_tokens = text.len() / 4;
    assert!(n_tokens < 3_000, "{n_tokens} tokens");
    for breaker in [
        "\"$schema\"",
        "\"$ref\"",
        "\"anyOf\"",
        "\"oneOf\"",
        "\"allOf\"",
        "\"format\"",
        "\"default\"",
    ] {
        assert!(!text.contains(breaker), "{breaker}");
    }
    for tool in tools["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(
            name.len() <= 24 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{name}"
        );
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert!(tool["inputSchema"]["properties"].is_object(), "{name}");
    }
}

/// Every reply obeys its limits, however much matches, and a cursor leads through the rest without
/// repeats.
#[tokio::test]
async fn replies_obey_their_budget_and_cursors_lead_on() {
    let home = Home::full();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let long = "harbour ".repeat(300);
    for batch in 0..3 {
        let memories: Vec<String> =
            (0..20).map(|n| format!("Note {batch}-{n} about the harbour. {long}")).collect();
        agent.must("memory_store", json!({ "memories": memories })).await;
    }
    for tool in ["memory_search", "memory_list"] {
        let mut seen = std::collections::BTreeSet::new();
        let mut cursor = Value::Null;
        loop {
            let arguments = json!({ "query": "harbour note", "limit": 50, "max_tokens": 1500, "cursor": cursor });
            let reply = agent.call(tool, arguments).await;
            assert!(!reply.is_error, "{}", reply.text);
            let structured = reply.structured.unwrap();
            assert!(reply.text.len() <= 24 * 1024 && structured.to_string().len() <= 24 * 1024);
            for memory in structured["memories"].as_array().unwrap() {
                assert!(seen.insert(memory["id"].to_string()), "{tool} repeats {}", memory["id"]);
            }
            cursor = structured["next_cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(seen.len(), 60, "{tool}");
    }
}

/// Eight bridges store at once beside searches: everything is there, nothing failed.
#[tokio::test(flavor = "multi_thread")]
async fn eight_bridges_lose_nothing() {
    const BRIDGES: usize = 8;
    const STORES: usize = 250;
    let home = Home::new();
    let _daemon = home.serve().await;
    let writers = (0..BRIDGES).map(|n| {
        let mut bridge = home.bridge(&format!("agent{n}"));
        async move {
            bridge.initialize().await;
            for step in 0..STORES {
                let content = format!("memory {step} of bridge {n} about topic{}", step % 7);
                let answer = bridge.tool("memory_store", json!({ "content": content })).await;
                assert_eq!(answer["memories"][0]["status"], "stored");
                if step % 25 == 0 {
                    bridge.tool("memory_search", json!({ "query": "memory about topic3" })).await;
                }
            }
            assert!(bridge.close().await.success());
        }
    });
    futures::future::join_all(writers).await;
    let status = home.owner().await.must("memory_status", json!({})).await;
    assert_eq!(status["store"]["n_memories"], json!(BRIDGES * STORES), "{status}");
}

/// A thousand idle connections cost less than 100 MB.
#[tokio::test]
async fn a_thousand_idle_connections_are_cheap() {
    let home = Home::new();
    let daemon = home.serve().await;
    let first = home.agent("idle").await;
    first.store("warm").await;
    // The model is part of the daemon, not of a connection: wait until it is there.
    eventually("the model is loaded", async || {
        let status = first.must("memory_status", json!({})).await;
        (status["ok"] == true).then_some(())
    })
    .await;
    let before = daemon.resident_bytes();
    let mut connections = Vec::new();
    for _ in 0..1_000 {
        connections.push(home.agent("idle").await);
    }
    let added = daemon.resident_bytes().saturating_sub(before);
    eprintln!("1,000 idle connections: {:.1} MB", added as f64 / 1e6);
    assert!(added < 100_000_000, "{added} bytes");
    connections.last().unwrap().store("the last one works").await;
}

/// A store is answered while many wait, and a search within its deadline.
#[tokio::test]
async fn a_call_is_answered_even_if_its_client_left_others_behind() {
    let home = Home::new();
    let _daemon = home.serve().await;
    for n in 0..20 {
        let agent = home.agent("leaver").await;
        let arguments = json!({ "content": format!("left behind {n}") });
        let call = agent.call("memory_store", arguments);
        drop(tokio::time::timeout(Duration::from_millis(n), call).await);
    }
    let agent = home.agent("stayer").await;
    agent.store("The one who stayed").await;
    let found = tokio::time::timeout(WAIT, agent.recall("who stayed")).await.unwrap();
    assert_eq!(found[0], "The one who stayed");
}
