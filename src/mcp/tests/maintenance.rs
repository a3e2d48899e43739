//! Jobs and feedback over the wire.

use serde_json::json;

use super::client::{Daemon, text};

#[tokio::test]
async fn a_run_is_answered_with_its_outcome_and_only_the_person_sees_which_memories() {
    let daemon = Daemon::new();
    let mut agent = daemon.legacy("x").await;
    let told = agent.ok("maintenance_run", json!({"job": "decay", "dry_run": "true"})).await;
    assert_eq!((&told["run"], &told["outcome"]), (&json!(7), &json!("done")), "{told}");
    assert_eq!(told["trigger"], "agent");
    assert_eq!(told["dry_run"], true);
    let counts = json!({"n_memories": 3, "tenths": [1, 2], "of": {"n": 1}});
    assert_eq!(told["report"], counts);
}

#[tokio::test]
async fn a_job_that_does_not_exist_is_answered_with_those_that_do() {
    let mut agent = Daemon::new().legacy("x").await;
    for arguments in [json!({}), json!({"job": "purge"}), json!({"job": "make coffee"})] {
        let refusal = agent.refused("maintenance_run", arguments).await;
        assert!(refusal.contains("`job`: expected one of decay"), "{refusal}");
    }
    let refusal = agent.refused("maintenance_undo", json!({"run": 3})).await;
    assert!(refusal.contains("there is no such run"), "{refusal}");
    let refusal = agent.refused("maintenance_undo", json!({})).await;
    assert!(refusal.contains("`run`: expected the number of a run"), "{refusal}");
}

#[tokio::test]
async fn lists_and_reports_of_runs_are_for_the_person() {
    let mut agent = Daemon::new().legacy("x").await;
    for tool in ["maintenance_list", "maintenance_report"] {
        let answer = agent.request("tools/call", json!({"name": tool, "arguments": {}})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn feedback_moves_the_strength_and_wrong_takes_a_memory_out_of_sight() {
    let mut agent = Daemon::new().legacy("x").await;
    let id = agent.store("Anna drinks tea").await;
    let told = agent.ok("memory_feedback", json!({"ids": [id], "verdict": "useful"})).await;
    // A fact begins with 0.5: 0.5 + 0.1 * 0.5.
    assert_eq!(told["memories"][0]["strength"], 0.55, "{told}");
    let told = agent.ok("memory_feedback", json!({"id": id, "verdict": "useless"})).await;
    assert_eq!(told["memories"][0]["strength"], 0.44, "what waits to be written counts: {told}");
    let answer = agent.call("memory_feedback", json!({"ids": [id], "verdict": "wrong"})).await;
    assert_eq!(answer["structuredContent"]["memories"][0]["status"], "invalidated", "{answer}");
    assert!(text(&answer).contains("supersedes"), "{answer}");
    let found = agent.ok("memory_search", json!({"query": "tea"})).await;
    assert_eq!(found["n_found"], 0, "{found}");
    for (arguments, expected) in [
        (json!({"ids": [id]}), "`verdict`: expected one of useful, useless, wrong"),
        (json!({"ids": [id], "verdict": "nice"}), "`verdict`"),
        (json!({"verdict": "useful"}), "`ids`"),
        (json!({"ids": ["zzzzzzzz"], "verdict": "useful"}), "not found"),
    ] {
        let refusal = agent.refused("memory_feedback", arguments.clone()).await;
        assert!(refusal.contains(expected), "{arguments}: {refusal}");
    }
}
