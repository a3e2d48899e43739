//! What goes wrong around a running daemon, and what is missing at its start: it notices, says what to
//! do, and loses nothing that it has acknowledged.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::daemon::{Bridge, Home, eventually, program};
use crate::skip::skip;

/// Exit code and what was complained about.
fn failed(home: &Home, arguments: &[&str]) -> (Option<i32>, String) {
    let output = home.run(arguments);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What the doctor says of a part: state and detail.
fn examined(home: &Home, part: &str) -> (String, String) {
    let output = home.run(&["--json", "doctor"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["part"] == json!(part));
    let finding = finding.unwrap_or_else(|| panic!("nothing about `{part}` in {report:#}"));
    (finding["state"].as_str().unwrap().to_owned(), finding["detail"].as_str().unwrap().to_owned())
}

fn store_part(status: &Value) -> &Value {
    &status["parts"][0]
}

fn the_backup(home: &Home) -> Option<PathBuf> {
    let entries = fs::read_dir(home.state().join("backups")).ok()?;
    entries
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension() != Some("partial".as_ref()))
}

#[tokio::test]
async fn a_store_removed_under_its_daemon_is_told_and_saved_and_missed_at_the_next_start() {
    let home = Home::new()
        .expect_log("the file of the store is gone")
        .expect_log("tool failed")
        .expect_log("not compared")
        .expect_log("usage notes lost");
    let file = home.state().join("recalld.redb");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let text = "The lighthouse keeper is called Marit";
    let id = agent.store(text).await;
    fs::remove_file(&file).unwrap();

    let refused = agent.refused("memory_store", json!({ "content": "Written into nowhere" })).await;
    assert!(refused.contains("recalld backup") && refused.contains("removed"), "{refused}");
    assert_eq!(agent.recall("lighthouse keeper").await, [text], "reading goes on");
    let status = home.owner().await.must("memory_status", json!({})).await;
    assert_eq!(store_part(&status)["state"], "down", "{status}");
    let (state, detail) = examined(&home, "store");
    assert!(state == "down" && detail.contains("removed"), "{state}: {detail}");

    // The daemon saves itself, and the person can too.
    let saved = eventually("a backup of what is left", async || the_backup(&home)).await;
    let own = home.path("own.backup");
    let output = eventually("the daemon's own backup is done", async || {
        let output = home.run(&["backup", own.to_str().unwrap()]);
        (!String::from_utf8_lossy(&output.stderr).contains("being made already")).then_some(output)
    })
    .await;
    assert!(output.status.success(), "{output:?}");
    assert!(daemon.stop().await.success());

    let (code, complaint) = failed(&home, &["serve"]);
    assert_eq!(code, Some(1), "{complaint}");
    for said in ["is missing", saved.to_str().unwrap(), "recalld restore", "--start-empty"] {
        assert!(complaint.contains(said), "{said}: {complaint}");
    }
    assert!(!file.exists(), "nothing was made in its place");
    let (state, detail) = examined(&home, "lost store");
    assert!(state == "down" && detail.contains(saved.to_str().unwrap()), "{state}: {detail}");

    for backup in [&saved, &own] {
        let restored = home.run(&["restore", backup.to_str().unwrap()]);
        assert!(restored.status.success(), "{restored:?}");
    }
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let got = agent.must("memory_get", json!({ "ids": [id] })).await;
    assert_eq!(got["memories"][0]["content"], json!(text));
    assert_eq!(agent.recall("lighthouse keeper").await, [text]);
}

#[tokio::test]
async fn a_store_that_is_missing_is_made_anew_only_on_purpose() {
    let home = Home::new();
    let daemon = home.serve().await;
    home.agent("a").await.store("Soon gone").await;
    assert!(home.run(&["backup"]).status.success());
    assert!(daemon.stop().await.success());
    fs::remove_file(home.state().join("recalld.redb")).unwrap();
    assert_eq!(failed(&home, &["serve"]).0, Some(1));
    let start_empty = |command: &mut Command| {
        command.arg("--start-empty");
    };
    let daemon = home.serve_with(start_empty).await;
    let status = home.owner().await.must("memory_status", json!({})).await;
    assert_eq!(status["store"]["n_memories"], 0, "{status}");
    assert!(daemon.stop().await.success());
    let _daemon = home.serve().await;
}

#[test]
fn why_a_data_directory_cannot_be_used_is_told_once_and_by_the_doctor() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "ro,mode=0700", "recalld-test"])
        .arg(home.state())
        .output()
        .unwrap();
    if !mounted.status.success() {
        let why = String::from_utf8_lossy(&mounted.stderr);
        return skip("why a data directory cannot be used is told once", why.trim());
    }
    let (code, complaint) = failed(&home, &["serve"]);
    let (state, detail) = examined(&home, "data directory");
    drop(Command::new("umount").arg("--lazy").arg(home.state()).status());
    assert_eq!(code, Some(1), "{complaint}");
    assert_eq!(complaint.matches("Read-only file system").count(), 1, "{complaint}");
    assert!(state == "down" && detail.contains("read-only"), "{state}: {detail}");
}

#[tokio::test]
async fn a_bad_configuration_keeps_no_client_from_its_daemon() {
    let home = Home::with_config("[recall]\nlimit = 3\n");
    let _daemon = home.serve().await;
    home.agent("a").await.store("The ferry leaves at seven").await;
    home.rewrite("[recall]\nlimt = 3\n[log]\nlevel = \"inof\"\n");
    let arguments: [&[&str]; 6] = [
        &["status"],
        &["model", "list"],
        &["recall", "ferry"],
        &["list"],
        &["remember", "The ferry is called Hurtig"],
        &["backup"],
    ];
    for arguments in arguments {
        let output = home.run(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
        assert!(told.contains("warning") && told.contains("recall.limt"), "{arguments:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{arguments:?}: {told}");
    }
    let mut bridge = home.bridge("b");
    bridge.initialize().await;
    let found = bridge.tool("memory_search", json!({ "query": "ferry" })).await;
    assert_eq!(found["memories"].as_array().unwrap().len(), 2, "{found}");
    bridge.close().await;
    for command in ["check-config", "reload", "serve"] {
        let (code, complaint) = failed(&home, &[command]);
        assert_eq!(code, Some(78), "{command}: {complaint}");
        assert!(complaint.contains("recall.limt"), "{command}: {complaint}");
    }
}

#[tokio::test]
async fn a_client_that_names_another_data_directory_is_refused_with_both_names() {
    let home = Home::new().expect_log("connection refused");
    let _daemon = home.serve().await;
    let other = home.path("other");
    let (own, other) = (home.state(), other.to_str().unwrap());
    let both = |told: &str| told.contains(own.to_str().unwrap()) && told.contains(other);
    let elsewhere = |arguments: &[&str]| {
        let mut command = Command::new(program());
        command.env_clear().env("HOME", home.path("")).arg("--socket").arg(home.socket());
        command.args(["--state-dir", other]).args(arguments);
        command
    };
    for arguments in [&["status"][..], &["remember", "Not here"], &["recall", "anything"]] {
        let output = elsewhere(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && both(&told), "{arguments:?}: {told}");
    }
    let mut bridge = Bridge::start(elsewhere(&["connect", "--no-start", "--agent", "b"]));
    let id = bridge.send("tools/call", json!({ "name": "memory_status", "arguments": {} })).await;
    let answer = bridge.answer(id).await;
    assert!(both(&answer.to_string()), "{answer}");
    drop(bridge);
    // Another name of the same directory is the same directory.
    let link = home.path("link");
    std::os::unix::fs::symlink(&own, &link).unwrap();
    let mut command = Command::new(program());
    command.env_clear().env("HOME", home.path("")).env("RECALLD_STORE_DIR", link);
    let output = command.arg("--socket").arg(home.socket()).arg("status").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_command_says_what_it_waits_for_and_for_how_long() {
    let home = Home::new();
    fs::create_dir_all(home.socket().parent().unwrap()).unwrap();
    // It listens and never answers, as a daemon that hangs.
    let _hung = std::os::unix::net::UnixListener::bind(home.socket()).unwrap();
    let (code, told) = failed(&home, &["--timeout", "3.5", "status"]);
    assert_eq!(code, Some(69), "{told}");
    let waits = format!("waiting for the daemon at {}", home.socket().display());
    assert!(told.contains(&waits) && told.contains("at most 3.5 s"), "{told}");
    assert_eq!(told.matches("waiting").count(), 1, "{told}");
    let (code, told) = failed(&home, &["--timeout", "0.1", "recall", "anything"]);
    assert_eq!(code, Some(69), "{told}");
    assert!(!told.contains("waiting") && told.contains("0.1 s"), "{told}");
    assert_eq!(failed(&home, &["--timeout", "never", "status"]).0, Some(64));
}

#[tokio::test]
async fn a_socket_that_was_removed_is_made_again_and_that_is_told() {
    let home = Home::new().expect_log("socket file was gone and is made again");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    fs::remove_file(home.socket()).unwrap();
    // Whoever is connected notices nothing, and who comes finds it again, with its mode.
    agent.store("Stored without a socket").await;
    assert_eq!(home.agent("b").await.recall("without a socket").await.len(), 1);
    let mode = fs::metadata(home.socket()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    fs::remove_dir_all(home.socket().parent().unwrap()).unwrap();
    assert_eq!(home.agent("c").await.recall("without a socket").await.len(), 1);
    assert_eq!(examined(&home, "socket").0, "ok");
    let status = home.owner().await.must("memory_status", json!({})).await;
    let notes = status["notes"].to_string();
    assert!(notes.contains("made again 2 times"), "{notes}");
    let doctor = home.run(&["doctor"]).stdout;
    assert!(String::from_utf8_lossy(&doctor).contains("made again 2 times"));
    assert!(daemon.stop().await.success());
    assert!(!home.socket().exists(), "it goes with the daemon");
}

#[tokio::test]
async fn a_socket_whose_place_is_taken_is_down_until_it_is_free() {
    let home = Home::new()
        .expect_log("socket file is gone")
        .expect_log("socket file was gone and is made again");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    fs::remove_file(home.socket()).unwrap();
    fs::write(home.socket(), "precious").unwrap();
    let socket = async || {
        let status = agent.must("memory_status", json!({})).await;
        let parts = status["parts"].as_array().unwrap().clone();
        parts.into_iter().find(|part| part["name"] == "socket").unwrap()
    };
    let part = eventually("the socket is down", async || {
        Some(socket().await).filter(|part| part["state"] == "down")
    })
    .await;
    assert!(part["because"].as_str().unwrap().contains("is no socket"), "{part}");
    assert_eq!(fs::read_to_string(home.socket()).unwrap(), "precious");
    fs::remove_file(home.socket()).unwrap();
    home.agent("b").await;
    assert_eq!(socket().await["state"], "ok");
}
