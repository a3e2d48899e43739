//! What was true and what is true, through the tools and the commands of the real daemon.

use serde_json::{Value, json};

use crate::daemon::{Home, WAIT, eventually};

/// The contents of a search's hits.
fn contents(answer: &Value) -> Vec<String> {
    let hits = answer["memories"].as_array().cloned().unwrap_or_default();
    hits.iter().filter_map(|hit| hit["content"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_correction_supersedes_and_as_of_shows_what_was_true() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    for (first, second, query) in [
        ("The router is 192.168.7.1", "The router is 192.168.9.1", "Which address has the router?"),
        ("I am vegetarian", "I eat meat again", "Does the user eat meat or vegetarian food?"),
        ("打印机是192.168.7.5", "打印机是192.168.9.5", "打印机的地址"),
        ("我吃素", "我又开始吃肉了", "吃肉还是吃素"),
    ] {
        let old = json!({ "content": first, "kind": "preference", "occurred_at": "2026-01-10" });
        let old = agent.must("memory_store", old).await["memories"][0]["id"].clone();
        let new = json!({ "content": second, "kind": "preference", "occurred_at": "2026-06-10" });
        let new = agent.must("memory_store", new).await["memories"][0].clone();
        // On a busy machine the comparison may come after the answer.
        if new["comparison"] != "pending" {
            assert_eq!(new["superseded"], json!([old]), "{new}");
        }
        eventually("the old one is superseded", async || {
            let got = agent.must("memory_get", json!({ "ids": [old] })).await;
            (got["memories"][0]["superseded_by"] == new["id"]).then_some(())
        })
        .await;
        let now = agent.must("memory_search", json!({ "query": query })).await;
        assert_eq!(contents(&now).first().map(String::as_str), Some(second), "{now}");
        assert!(!contents(&now).contains(&first.to_owned()), "{now}");
        let then = json!({ "query": query, "as_of": "2026-03-15" });
        let then = agent.must("memory_search", then).await;
        assert_eq!(contents(&then).first().map(String::as_str), Some(first), "{then}");
        assert!(!contents(&then).contains(&second.to_owned()), "{then}");
        let printed = home.run(&["recall", query, "--as-of", "2026-03-15"]);
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        assert!(printed.contains(first) && !printed.contains(second), "{printed}");
        let got = agent.must("memory_get", json!({ "ids": [new["id"]] })).await;
        assert_eq!(got["memories"][0]["chain"][0]["content"], first, "{got}");
    }
    let refused = agent.call("memory_search", json!({ "query": "x", "as_of": "once" })).await;
    assert!(refused.is_error && refused.text.contains("as_of"), "{}", refused.text);
}

#[tokio::test]
async fn a_superseded_memory_is_made_current_again_by_the_person() {
    let home = Home::with_config("[mcp]\ntoolset = \"full\"\n");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let store = async |content: &str, day: &str| {
        let draft = json!({ "content": content, "occurred_at": day });
        agent.must("memory_store", draft).await["memories"][0].clone()
    };
    let old = store("The team has 20 people", "2026-01-10").await;
    let new = store("The team has 25 people", "2026-06-10").await;
    let id = old["id"].as_str().unwrap();
    eventually("the old one is superseded", async || {
        let got = agent.must("memory_get", json!({ "ids": [id] })).await;
        (got["memories"][0]["superseded_by"] == new["id"]).then_some(())
    })
    .await;
    let updated = home.run(&["update", id, "--status", "active"]);
    let printed = String::from_utf8_lossy(&updated.stdout).into_owned();
    assert!(updated.status.success() && printed.contains("status"), "{printed}");
    let found = agent.must("memory_search", json!({ "query": "team people" })).await;
    assert_eq!(contents(&found).len(), 2, "{found}");
    let untouched = agent.must("memory_restore", json!({ "ids": [id] })).await;
    assert_eq!(untouched["n_untouched"], 1, "{untouched}");
    assert!(home.run(&["unarchive", id]).status.success());
    let nothing = agent.client.call_tool("memory_restore", json!({ "ids": ["none"] }), WAIT).await;
    assert!(nothing.is_ok_and(|reply| reply.is_error));
}
