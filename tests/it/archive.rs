//! What has faded, and what rules of retention take, in the real daemon.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::daemon::{Agent, Home, eventually};

const CONFIG: &str =
    "[embed]\nmodel = \"none\"\n[mcp]\ntoolset = \"full\"\n[jobs]\nzone = \"UTC\"\n";

/// Runs the program; gives the answer in its structured form.
#[track_caller]
fn json(home: &Home, arguments: &[&str]) -> Value {
    let mut all = vec!["--json"];
    all.extend(arguments);
    let output = home.run(&all);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An export as it would be had everything been stored in 2020 and not been wanted since.
fn aged(export: &str) -> String {
    let lines: Vec<&str> = export.lines().collect();
    let [header, body @ .., footer] = lines.as_slice() else { panic!("{export}") };
    let mut footer: Value = serde_json::from_str(footer).unwrap();
    let mut aged = String::new();
    for line in body {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let memory = &mut line["memory"];
        for field in ["created_at", "updated_at"] {
            memory[field] = json!("2020-03-04T05:06:07Z");
        }
        memory["usage"]["anchor_at"] = json!("2020-03-04T05:06:07Z");
        aged.push_str(&format!("{line}\n"));
    }
    footer["end"]["blake3"] = json!(blake3::hash(aged.as_bytes()).to_hex().as_str());
    format!("{header}\n{aged}{footer}\n")
}

/// Stores `drafts` as they would be had they been stored in 2020; gives their ids.
async fn store_in_2020(home: &Home, drafts: &[Value]) -> Vec<String> {
    let then = Home::with_config(CONFIG);
    let _daemon = then.serve().await;
    let agent = then.agent("a").await;
    let mut ids = Vec::new();
    for draft in drafts {
        let stored = agent.must("memory_store", draft.clone()).await;
        ids.push(stored["memories"][0]["id"].as_str().unwrap().to_owned());
    }
    let export = then.run(&["export"]);
    let file = home.path("aged.jsonl");
    fs::write(&file, aged(&String::from_utf8(export.stdout).unwrap())).unwrap();
    let done = json(home, &["import", file.to_str().unwrap()]);
    assert_eq!(done["n_added"], drafts.len(), "{done}");
    ids
}

async fn found(agent: &Agent, request: Value) -> Vec<(String, String)> {
    let answer = agent.must("memory_search", request).await;
    let hits = answer["memories"].as_array().cloned().unwrap_or_default();
    let text = |hit: &Value, field: &str| hit[field].as_str().unwrap_or_default().to_owned();
    hits.iter().map(|hit| (text(hit, "id"), text(hit, "status"))).collect()
}

#[tokio::test]
async fn what_faded_is_moved_away_and_comes_back_when_it_is_wanted() {
    let home = Home::with_config(CONFIG).expect_log("indexes repaired");
    let _daemon = home.serve().await;
    let event = |content: &str| json!({ "content": content, "kind": "event" });
    let ids = store_in_2020(
        &home,
        &[
            event("The ferry to the island was late that day"),
            event("那天去岛上的渡轮晚点了"),
            event("The lighthouse on the island was painted"),
            json!({ "content": "The ferry ticket is pinned", "kind": "event", "pinned": true }),
            json!({ "content": "岛上的医生最重要", "kind": "event", "importance": 1.0 }),
        ],
    )
    .await;
    let agent = home.agent("a").await;
    agent.store("The island has a harbour").await;
    json(&home, &["jobs", "run", "decay"]);
    let tried = json(&home, &["jobs", "run", "archive", "--dry-run"]);
    assert_eq!(tried["report"]["n_archived"], 3, "{tried}");
    let ran = json(&home, &["jobs", "run", "archive"]);
    assert_eq!(
        (&ran["outcome"], &ran["report"]["n_archived"]),
        (&json!("done"), &json!(3)),
        "{ran}"
    );
    let archived = json(&home, &["list", "--status", "archived"]);
    assert_eq!(archived["memories"].as_array().unwrap().len(), 3, "{archived}");

    // By default the current ones answer; the others when asked for, in any language.
    let island = found(&agent, json!({ "query": "island" })).await;
    assert!(island.iter().all(|(_, status)| status != "archived") && !island.is_empty());
    let all = found(&agent, json!({ "query": "island", "include_archived": true })).await;
    assert!(all.contains(&(ids[0].clone(), "archived".to_owned())), "{all:?}");
    let need = found(&agent, json!({ "query": "渡轮晚点" })).await;
    assert_eq!(need[0], (ids[1].clone(), "archived".to_owned()), "nothing else answers");

    // Brought back by the tool, by being read, and by undoing the run what is left.
    let restored = agent.must("memory_restore", json!({ "ids": [ids[1]] })).await;
    assert_eq!(restored["n_restored"], 1, "{restored}");
    let read = agent.must("memory_get", json!({ "ids": [ids[0]] })).await;
    assert_eq!(read["memories"][0]["status"], "active", "{read}");
    let undone = json(&home, &["jobs", "undo", &ran["run"].to_string()]);
    assert_eq!(undone["restored"], json!([ids[2]]), "{undone}");
    assert_eq!(undone["left"].as_array().unwrap().len(), 2, "{undone}");
    assert_eq!(found(&agent, json!({ "query": "渡轮晚点" })).await[0].1, "");
    let again = json(&home, &["jobs", "run", "archive"]);
    assert_eq!(again["report"]["n_archived"], 0, "{again}");
    let history = json(&home, &["history", &ids[1]]);
    let text = history.to_string();
    assert!(text.contains("job/archive") && text.contains("agent/a"), "{text}");
}

#[tokio::test]
async fn only_a_rule_that_was_shown_forgets_and_its_run_says_what() {
    let home = Home::with_config(CONFIG).expect_log("indexes repaired");
    let daemon = home.serve().await;
    let log = |content: &str| json!({ "content": content, "namespace": "shared/ci" });
    let ids = store_in_2020(&home, &[log("Build 7 passed"), log("构建8通过了")]).await;
    let agent = home.agent("a").await;
    agent.must("memory_store", log("Build 9 passed")).await;
    let nothing = json(&home, &["jobs", "run", "purge"]);
    assert_eq!(nothing["report"], json!({ "n_rules": 0 }), "{nothing}");

    let rule =
        "[[retention.rules]]\nnamespace = \"shared/*\"\nkinds = [\"fact\"]\nolder_than_days = 30\n";
    home.rewrite(&format!("{CONFIG}{rule}"));
    daemon.signal(Signal::HUP);
    let shown = eventually("the rule is in force", async || {
        let shown = json(&home, &["jobs", "run", "purge"]);
        (shown["report"]["n_rules"] == 1).then_some(shown)
    })
    .await;
    assert_eq!(shown["report"]["only_shows"], true, "{shown}");
    assert_eq!(shown["report"]["n_due"], 2, "{shown}");
    assert_eq!(found(&agent, json!({ "query": "构建" })).await.len(), 1, "it is only shown");
    let ran = json(&home, &["jobs", "run", "purge"]);
    let mut due: Vec<&str> =
        ran["report"]["due"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    due.sort_unstable();
    assert_eq!(due, ids, "{ran}");
    assert!(found(&agent, json!({ "query": "构建" })).await.is_empty());
    assert_eq!(found(&agent, json!({ "query": "build passed" })).await.len(), 1);
    assert!(home.run(&["unforget", &ids[1]]).status.success(), "while the grace lasts");
    assert_eq!(found(&agent, json!({ "query": "构建" })).await.len(), 1);
}
