//! The log: its files, what becomes of them, and what never stands in it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::daemon::{Home, eventually};

/// What stays as it is in every configuration here, since it needs a restart.
const KEPT: &str = "[mcp]\ntoolset = \"full\"\n";

/// A home whose daemon also writes files into `logs`.
fn home() -> Home {
    let mut home = Home::new();
    let config = format!("{KEPT}[log]\ndir = \"{}\"\n", home.path("logs").display());
    home.configure(&config);
    home
}

async fn log_facts(home: &Home) -> Value {
    home.owner().await.must("memory_status", json!({})).await["log"].clone()
}

async fn log_part(home: &Home) -> Value {
    let status = home.owner().await.must("memory_status", json!({})).await;
    let parts = status["parts"].as_array().unwrap();
    parts.iter().find(|part| part["name"] == "log").unwrap().clone()
}

/// Waits until a file holds a text.
async fn until_written(path: &Path, text: &str) {
    eventually(text, async || {
        fs::read_to_string(path).is_ok_and(|found| found.contains(text)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn files_hold_json_lines_and_are_opened_anew_when_moved_or_asked() {
    let home = home();
    let daemon = home.serve().await;
    let path = home.path("logs/recalld.log");
    until_written(&path, "\"ready\"").await;
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        for field in ["timestamp", "level", "target", "fields"] {
            assert!(line.get(field).is_some(), "{field}: {line}");
        }
    }
    assert_eq!(log_facts(&home).await["file"], path.to_str().unwrap());
    // As logrotate does it, with and without telling the daemon.
    for (number, signal) in [(1, None), (2, Some(Signal::HUP))] {
        let moved = home.path(&format!("logs/moved-{number}"));
        fs::rename(&path, &moved).unwrap();
        if let Some(signal) = signal {
            daemon.signal(signal);
            until_written(&path, "configuration reloaded").await;
        } else {
            daemon.signal(Signal::USR2);
            until_written(&path, "job asked for by a signal").await;
        }
    }
    // Another directory, and then none.
    let elsewhere = home.path("elsewhere/recalld.log");
    home.rewrite(&format!("{KEPT}[log]\ndir = \"{}\"\n", home.path("elsewhere").display()));
    assert!(home.run(&["reload"]).status.success());
    until_written(&elsewhere, "configuration reloaded").await;
    home.rewrite(KEPT);
    assert!(home.run(&["reload"]).status.success());
    assert_eq!(log_facts(&home).await["file"], Value::Null);
    assert!(daemon.stop().await.success());
    assert!(!fs::read_to_string(&elsewhere).unwrap().contains("stopped"));
}

#[tokio::test]
async fn a_directory_that_cannot_be_used_fails_a_reload_but_no_start() {
    let home = home()
        .expect_log("configuration refused")
        .expect_log("log lines not written")
        .expect_log("expected a directory that can be made and written");
    fs::write(home.path("logs"), "no directory").unwrap();
    let daemon = home.serve().await;
    let part = log_part(&home).await;
    assert_eq!(part["state"], "degraded", "{part}");
    assert!(part["because"].as_str().unwrap().contains("recalld.log is not written"), "{part}");
    let refused = home.owner().await.refused("daemon_reload", json!({})).await;
    assert!(
        refused.contains("log.dir; expected a directory") && refused.contains("logs"),
        "{refused}"
    );
    let output = home.run(&["check-config"]);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    fs::remove_file(home.path("logs")).unwrap();
    assert!(home.run(&["reload"]).status.success());
    eventually("the log is well", async || (log_part(&home).await["state"] == "ok").then_some(()))
        .await;
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_full_disk_costs_lines_that_are_counted_and_told_and_nothing_else() {
    let home = home().expect_log("log lines not written");
    fs::create_dir(home.path("logs")).unwrap();
    let path = home.path("logs/recalld.log");
    symlink("/dev/full", &path).unwrap();
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    agent.store("Stored while the log was full").await;
    let part = log_part(&home).await;
    assert!(part["because"].as_str().unwrap().contains("No space left"), "{part}");
    assert!(log_facts(&home).await["n_failed"].as_u64().unwrap() > 0);
    assert_eq!(agent.recall("log full").await.len(), 1);
    fs::remove_file(&path).unwrap();
    daemon.signal(Signal::USR2);
    until_written(&path, "job asked for by a signal").await;
    assert_eq!(log_part(&home).await["state"], "ok");
    assert!(daemon.stop().await.success());
    assert!(home.log().contains("log lines not written"), "told on stderr");
}

#[tokio::test]
async fn a_disk_that_hangs_costs_lines_that_are_counted_and_nothing_else() {
    let home = home().expect_log("log lines dropped");
    fs::create_dir(home.path("logs")).unwrap();
    // Opening a pipe that nobody reads waits for ever, as a dead network disk does.
    let fifo = home.path("logs/recalld.log");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let chatty = "trace,rmcp=trace,tantivy=trace";
    let daemon = home.serve_with(|command| drop_ref(command.env("RECALLD_LOG", chatty))).await;
    let agent = home.agent("a").await;
    agent.store("Stored while the log hung").await;
    eventually("lines are dropped", async || {
        futures::future::join_all((0..32).map(|_| agent.recall("the log"))).await;
        (log_facts(&home).await["n_dropped"].as_u64().unwrap() > 0).then_some(())
    })
    .await;
    assert!(daemon.stop().await.success());
    assert!(home.log().contains("log lines dropped"));
}

fn drop_ref(_: &mut std::process::Command) {}

#[tokio::test]
async fn lines_for_the_journal_carry_priorities_instead_of_times() {
    let home = Home::new();
    let log = fs::File::create(home.path("daemon.log")).unwrap().metadata().unwrap();
    let stream = format!("{}:{}", log.dev(), log.ino());
    let daemon = home.serve_with(|command| drop_ref(command.env("JOURNAL_STREAM", stream))).await;
    assert!(daemon.stop().await.success());
    let text = home.log();
    assert!(text.lines().all(|line| line.starts_with("<6> INFO") || line.starts_with("<7>")));
    assert!(text.contains("<6> INFO recalld::app::serve: ready"), "{text}");
}

/// What no line may hold.
const MARKER: &str = "xylophonequartz";

#[tokio::test]
async fn no_line_holds_content_of_a_memory_or_of_a_question() {
    let home = home();
    let daemon = home.serve_with(|command| drop_ref(command.env("RECALLD_LOG", "debug"))).await;
    let agent = home.agent("a").await;
    let stored = agent.must(
        "memory_store",
        json!({
            "content": format!("The {MARKER} is kept in the cellar"),
            "tags": [MARKER],
            "session": MARKER,
            "metadata": format!("{{\"{MARKER}\":\"{MARKER}\"}}"),
        }),
    );
    let id = stored.await["memories"][0]["id"].as_str().unwrap().to_owned();
    let other = agent.store(&format!("Another {MARKER}")).await;
    for (tool, arguments) in [
        ("memory_search", json!({ "query": MARKER, "tags": [MARKER], "session": MARKER })),
        ("memory_search", json!({ "query": MARKER, "limit": MARKER })),
        ("memory_search", json!({ "query": MARKER, "cursor": MARKER })),
        ("memory_get", json!({ "ids": [id], "history": true })),
        ("memory_get", json!({ "ids": [MARKER] })),
        ("memory_list", json!({ "tags": [MARKER] })),
        ("memory_context", json!({ "query": MARKER, "parts": [MARKER], MARKER: 1 })),
        ("memory_context", json!({ "query": MARKER })),
        ("memory_update", json!({ "id": id, "content": format!("No {MARKER} any more") })),
        ("memory_update", json!({ "id": id, "kind": MARKER })),
        ("memory_store", json!({ "content": MARKER, "namespace": MARKER })),
        ("memory_store", json!({ "content": MARKER, "supersedes": MARKER, MARKER: MARKER })),
        ("memory_store", json!({ "memories": [MARKER, format!("{{\"content\":\"{MARKER}")] })),
        ("memory_forget", json!({ "query": MARKER, "dry_run": true })),
        ("memory_forget", json!({ "ids": [other] })),
        ("memory_unforget", json!({ "id": other })),
        ("memory_status", json!({ MARKER: MARKER })),
        ("daemon_reload", json!({ MARKER: MARKER })),
        ("memory_export", json!({})),
        ("memory_import", json!({ "memories": [{ "content": MARKER }], "lines": [MARKER] })),
        (MARKER, json!({})),
    ] {
        for caller in [&agent, &home.owner().await] {
            // Answers and refusals alike: only the log counts.
            drop(caller.client.call_tool(tool, arguments.clone(), crate::daemon::WAIT).await);
        }
    }
    for line in [MARKER.to_owned(), format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{MARKER}\"}}")] {
        let mut bridge = home.bridge("b");
        bridge.initialize().await;
        bridge.text(&line).await;
        bridge.tool("memory_search", json!({ "query": MARKER })).await;
        bridge.close().await;
    }
    for arguments in [&["remember", MARKER][..], &["recall", MARKER], &["show", MARKER]] {
        home.run(arguments);
    }
    assert!(daemon.stop().await.success());
    let file = fs::read_to_string(home.path("logs/recalld.log")).unwrap();
    for (log, text) in [("stderr", home.log()), ("file", file)] {
        assert!(text.contains("tool answered") && text.contains("tool refused"), "{log}: {text}");
        let told: Vec<&str> = text.lines().filter(|line| line.contains(MARKER)).collect();
        assert!(told.is_empty(), "{log}: {told:#?}");
    }
}
