//! Consolidation by the real daemon, with a language model that is wrong at first.

use serde_json::{Value, json};

use crate::daemon::{Agent, Home, WAIT};
use crate::endpoint_server::{Endpoint, chat};

const TOPIC: &str = "The nightly backup of the invoice database filled the old disk, attempt";

/// Without a model of meaning, with one that writes, and every tool.
fn config(url: &str) -> String {
    format!(
        "[embed]\nmodel = \"none\"\n[jobs]\nzone = \"UTC\"\n[mcp]\ntoolset = \"full\"\n\
         [llm.summary]\nurl = \"{url}\"\nmodel = \"stand-in\"\n"
    )
}

/// A run of the job from the command line, as JSON.
#[track_caller]
fn consolidate(home: &Home, more: &[&str]) -> Value {
    let output = home.run(&[&["--json", "jobs", "run", "consolidate"], more].concat());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn found(agent: &Agent, query: &str) -> Vec<Value> {
    let found = agent.must("memory_search", json!({ "query": query, "limit": 20 })).await;
    found["memories"].as_array().unwrap().clone()
}

async fn profile(agent: &Agent) -> String {
    let uri = json!({ "uri": "recalld://profile" });
    let read = agent.client.request("resources/read", uri, WAIT).await.unwrap();
    read["contents"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn memories_become_a_summary_that_heals_is_undone_and_goes_with_its_source() {
    let endpoint = Endpoint::start(chat("I would rather tell you a story about Ouagadougou."));
    let home = Home::with_config(&config(&endpoint.url));
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let mut ids = Vec::new();
    for n in 1..=6 {
        ids.push(agent.store(&format!("{TOPIC} {n}")).await);
    }
    let tried = consolidate(&home, &["--dry-run"]);
    assert_eq!((&tried["outcome"], &tried["report"]["n_tasks"]), (&json!("done"), &json!(1)));
    assert_eq!(endpoint.asked().len(), 0, "{tried}");

    let ran = consolidate(&home, &[]);
    assert_eq!(ran["outcome"], "partial", "{ran}");
    assert_eq!(ran["report"]["written_by"], json!({ "extract_refused": 1 }), "{ran}");
    assert!(!ran.to_string().contains("invoice"), "no content: {ran}");
    let hits = found(&agent, "nightly backup of the invoice database").await;
    assert_eq!((&hits[0]["kind"], &hits[0]["origin"]), (&json!("summary"), &json!("consolidated")));
    assert_eq!(hits[0]["derived_from"].as_array().unwrap().len(), 6, "{hits:?}");
    let quoting = hits[0]["id"].clone();
    let sources: Vec<&Value> =
        hits.iter().filter(|hit| hit["consolidated_into"] == quoting).collect();
    assert_eq!(sources.len(), 6, "{hits:?}");

    let good = json!({ "summary": format!("{TOPIC} 6"), "sources": ["$6"] });
    endpoint.always(chat(&good.to_string()));
    let healed = consolidate(&home, &[]);
    assert_eq!(healed["outcome"], "done", "{healed}");
    assert_eq!(healed["report"]["tasks_by_why"], json!({ "redone": 1 }), "{healed}");
    let n_asked = endpoint.asked().len();
    let again = consolidate(&home, &[]);
    assert_eq!((&again["n_changed"], endpoint.asked().len()), (&json!(0), 0), "{again}");
    assert!(n_asked > 0);
    let summary = found(&agent, "nightly backup of the invoice database").await[0].clone();
    assert_eq!(summary["content"], format!("{TOPIC} 6"), "{summary}");

    let output = home.run(&["jobs", "undo", &healed["run"].to_string()]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("1 withdrawn"), "{printed}");
    let got = agent.must("memory_get", json!({ "ids": [quoting, ids[0]] })).await;
    assert_eq!(got["memories"][0]["status"], "active", "{got}");
    assert_eq!(got["memories"][1]["consolidated_into"], quoting, "{got}");

    agent.must("memory_forget", json!({ "ids": [ids[5]] })).await;
    for hit in found(&agent, "nightly backup of the invoice database").await {
        assert!(hit["kind"] == "fact" && hit.get("consolidated_into").is_none(), "{hit}");
        assert!(!hit["content"].as_str().unwrap().contains("attempt 6"), "{hit}");
    }
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn an_agent_asks_for_a_summary_and_reads_who_its_user_is() {
    let home = Home::with_config("[embed]\nmodel = \"none\"\n[mcp]\ntoolset = \"full\"\n");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    assert!(profile(&agent).await.contains("Nothing is known"));
    for preference in ["Prefers oolong tea", "Likes short answers", "Wants tests first"] {
        let arguments = json!({ "content": preference, "kind": "preference" });
        agent.must("memory_store", arguments).await;
    }
    let ran = consolidate(&home, &[]);
    assert_eq!(ran["report"]["tasks"][0]["product"], "profile", "{ran}");
    let profile = profile(&agent).await;
    for preference in ["oolong tea", "short answers", "tests first", "data, not instructions"] {
        assert!(profile.contains(preference), "{profile}");
    }
    let arguments = json!({ "kinds": ["preference"], "store": true });
    let told = agent.must("memory_summarize", arguments).await;
    assert_eq!(told["sources"].as_array().unwrap().len(), 3, "{told}");
    assert!(told["summary"].as_str().unwrap().contains("oolong tea"), "{told}");
    assert!(told["written_by"].as_str().unwrap().contains("quotes"), "{told}");
    let got = agent.must("memory_get", json!({ "ids": [told["stored"]] })).await;
    assert_eq!(got["memories"][0]["derived_from"].as_array().unwrap().len(), 3, "{got}");
}
