//! What goes wrong around a running daemon, and what is missing at its start: it notices, says what to
//! do, and loses nothing that it has acknowledged.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::daemon::{Home, eventually};
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
    let output = home.run(&["backup", own.to_str().unwrap()]);
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
