//! Reloading, by signal and by command: all of a good file, nothing of a bad one.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::daemon::{Home, eventually};

async fn status(home: &Home) -> Value {
    home.owner().await.must("memory_status", json!({})).await
}

/// Number of the configuration in force.
async fn generation(home: &Home) -> u64 {
    status(home).await["config"]["generation"].as_u64().unwrap()
}

fn part<'a>(status: &'a Value, name: &str) -> &'a Value {
    status["parts"].as_array().unwrap().iter().find(|part| part["name"] == name).unwrap()
}

#[tokio::test]
async fn a_reload_changes_what_it_can_and_names_what_needs_a_restart() {
    let home = Home::with_config("[recall]\nlimit = 5\n").expect_log("keys need a restart");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    for number in 0..4 {
        agent.store(&format!("The train to town number {number} leaves at {number} o'clock")).await;
    }
    assert_eq!(agent.recall("train to town").await.len(), 4);
    home.rewrite("[recall]\nlimit = 2\n[store]\ncache_mb = 32\n");
    let output = home.run(&["reload"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for part in ["configuration 2 is in force", "changed: recall.limit", "store.cache_mb"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert_eq!(agent.recall("train to town").await.len(), 2, "also on an open connection");
    assert_eq!(status(&home).await["config"]["needs_restart"], json!(["store.cache_mb"]));
    // What is put back needs none.
    home.rewrite("[recall]\nlimit = 2\n");
    let answer: Value = serde_json::from_slice(&home.run(&["--json", "reload"]).stdout).unwrap();
    assert_eq!(answer, json!({ "generation": 3 }));
}

#[tokio::test]
async fn a_bad_file_changes_nothing_and_every_problem_is_told() {
    let home = Home::with_config("[recall]\nlimit = 1\n").expect_log("configuration refused");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    agent.store("The first train leaves at six").await;
    agent.store("The last train leaves at midnight").await;
    home.rewrite("[recall]\nlimit = 5\ndeadline_ms = 1\n[log]\nlevel = \"inof\"\n");
    // The command reads the same file for the place of the socket, and tells the same of it.
    let output = home.run(&["reload"]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{printed}");
    let refused = home.owner().await.refused("daemon_reload", json!({})).await;
    for part in ["config.toml:3:15: recall.deadline_ms", "config.toml:5:9: log.level"] {
        for told in [&*printed, &refused, &home.log()] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    assert_eq!(agent.recall("train leaves").await.len(), 1, "the old limit");
    let told = status(&home).await;
    assert_eq!(told["config"]["generation"], 1);
    assert_eq!(part(&told, "config")["state"], "degraded");
    assert!(part(&told, "config")["because"].as_str().unwrap().contains("recall.deadline_ms"));
    home.rewrite("[recall]\nlimit = 5\n");
    assert!(home.run(&["reload"]).status.success());
    assert_eq!(agent.recall("train leaves").await.len(), 2);
    assert_eq!(part(&status(&home).await, "config")["state"], "ok");
}

#[tokio::test]
async fn hup_does_the_same_and_access_and_log_level_follow() {
    let home = Home::with_config("[log]\nlevel = \"info\"\n");
    let daemon = home
        .serve_with(|command| {
            command.env_remove("RECALLD_LOG");
        })
        .await;
    let agent = home.agent("guest").await;
    agent.store("The guest may write this").await;
    assert!(!home.log().contains("DEBUG"), "{}", home.log());
    home.rewrite(
        "[log]\nlevel = \"debug\"\n[[access.agents]]\nname = \"guest\"\nread = []\nwrite = []\n",
    );
    daemon.signal(Signal::HUP);
    eventually("the reload", async || (generation(&home).await == 2).then_some(())).await;
    let reason = agent.refused("memory_store", json!({ "content": "nor this" })).await;
    assert!(reason.contains("user"), "{reason}");
    assert!(agent.recall("guest").await.is_empty());
    assert!(home.log().contains("DEBUG"), "{}", home.log());
}

#[tokio::test]
async fn an_agent_can_neither_reload_nor_see_that_it_could() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    assert!(agent.client.call_tool("daemon_reload", json!({}), crate::daemon::WAIT).await.is_err());
    let told = agent.must("memory_status", json!({})).await;
    for secret in ["config", "log", "watchdog"] {
        assert!(told.get(secret).is_none(), "{secret}: {told}");
    }
}

#[tokio::test]
async fn usr1_writes_the_state_to_the_log_and_to_a_private_file() {
    use std::os::unix::fs::MetadataExt as _;
    let home = Home::new();
    let daemon = home.serve().await;
    home.agent("a").await.store("A memory that no status shows").await;
    daemon.signal(Signal::USR1);
    let path = home.state().join("status.json");
    let text = eventually("the file", async || fs::read_to_string(&path).ok()).await;
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(written["store"]["n_memories"], 1, "{written}");
    assert_eq!(written["config"]["generation"], 1);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert!(!text.contains("no status shows"));
    let log = home.log();
    let line = log.lines().find(|line| line.contains("status n_memories=1")).unwrap();
    assert!(line.contains("INFO") && line.contains("generation=1"), "{line}");
    // Only that one file, nothing half-written beside it.
    let names = fs::read_dir(home.state()).unwrap().map(|entry| entry.unwrap().file_name());
    let beside: Vec<_> = names.filter(|n| n.to_string_lossy().starts_with(".status")).collect();
    assert!(beside.is_empty(), "{beside:?}");
}

#[tokio::test]
async fn quit_stops_at_once_and_loses_nothing() {
    let home = Home::new().expect_log("stopping at once");
    let mut daemon = home.serve().await;
    let agent = home.agent("a").await;
    agent.store("Stored before the end").await;
    daemon.signal(Signal::QUIT);
    let status = eventually("the end", async || daemon.exited()).await;
    assert_eq!(status.code(), Some(1));
    let _again = home.serve().await;
    assert_eq!(home.agent("b").await.recall("stored before").await.len(), 1);
}
