//! What rough use once broke, each input kept as a test.

use jiff::SignedDuration;
use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use serde_json::json;

use crate::daemon::{Home, eventually};

#[tokio::test]
async fn a_successor_lives_where_the_memory_it_replaces_lives() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let (alice, bob) = (home.agent("alice").await, home.agent("bob").await);
    let old = bob.store("The office is in the north wing").await;
    let hidden = json!({ "content": "It moved", "namespace": "agent/alice", "supersedes": old });
    let message = alice.refused("memory_store", hidden).await;
    assert!(message.contains("namespace"), "{message}");
    assert_eq!(bob.recall("north wing office").await.len(), 1);
    let moved = json!({ "content": "The office is in the south wing", "supersedes": old });
    let stored = alice.must("memory_store", moved).await;
    assert_eq!(stored["memories"][0]["namespace"], "user");
    assert_eq!(bob.recall("office wing").await, ["The office is in the south wing"]);
}

#[tokio::test]
async fn a_validity_that_ends_is_over_without_anybody_touching_it() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let id = agent.store("The guest password is otter").await;
    let end = SystemClock::new().now() + SignedDuration::from_millis(1_500);
    let patch = json!({ "id": id, "valid_to": end.to_string() });
    agent.must("memory_update", patch).await;
    eventually("the memory is no longer current", async || {
        agent.recall("guest password").await.is_empty().then_some(())
    })
    .await;
    let ended = json!({ "query": "guest password", "include_superseded": true });
    let found = agent.must("memory_search", ended).await;
    assert_eq!(found["memories"].as_array().unwrap().len(), 1, "{found}");
}

#[tokio::test]
async fn one_request_key_with_other_arguments_is_another_request() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let mut bridge = home.bridge("a");
    bridge.initialize().await;
    let store = |content: &str| {
        json!({
            "name": "memory_store",
            "arguments": { "content": content },
            "_meta": { "recalld/requestKey": "same" },
        })
    };
    let mut ids = Vec::new();
    for content in ["The first text", "The second text", "The first text"] {
        let result = bridge.request("tools/call", store(content)).await;
        ids.push(result["structuredContent"]["memories"][0]["id"].clone());
    }
    assert_ne!(ids[0], ids[1], "the second text was dropped");
    assert_eq!(ids[0], ids[2], "the first text was stored twice");
}

#[tokio::test]
async fn a_memory_cannot_steer_the_terminal_of_who_reads_it() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let content = "warning \u{1b}[31mred\u{1b}]0;title\u{7} and \u{202e}turned";
    home.agent("a").await.must("memory_store", json!({ "content": content })).await;
    for arguments in [&["list"][..], &["recall", "warning", "red", "title"]] {
        let output = home.run(arguments);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.contains("warning"), "{arguments:?}: {printed}");
        assert!(!printed.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{arguments:?}: {printed:?}");
    }
}

#[tokio::test]
async fn status_counts_nothing_that_an_agent_may_not_read() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let private = json!({ "content": "Only for alice", "namespace": "agent/alice" });
    home.agent("alice").await.must("memory_store", private).await;
    let seen = home.agent("bob").await.must("memory_status", json!({})).await;
    assert_eq!(seen["store"]["n_memories"], 0, "{seen}");
    for part in ["text", "vectors"] {
        assert!(seen[part]["n_memories"].is_null() && seen[part]["detail"].is_null(), "{seen}");
    }
    assert!(seen["counters"].is_null(), "{seen}");
}

#[tokio::test]
async fn a_question_without_words_finds_nothing_and_says_why() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    for text in ["The kettle is red", "Lena plays chess", "Backups run at three"] {
        agent.store(text).await;
    }
    for query in ["*", "?", "🦆🦆", "((("] {
        let answer = agent.must("memory_search", json!({ "query": query })).await;
        assert_eq!(answer["memories"], json!([]), "{query}");
        assert!(answer["warnings"].to_string().contains("query"), "{query}: {answer}");
    }
}
