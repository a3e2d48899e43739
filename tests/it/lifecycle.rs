//! Starting, stopping, restarting, and refusing to.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::daemon::{Home, eventually, program};

#[tokio::test]
async fn what_one_agent_stores_another_recalls_before_and_after_a_restart() {
    let home = Home::new();
    let daemon = home.serve().await;
    let writer = home.agent("writer").await;
    writer.store("The staging database password rotates every second Friday").await;
    writer.store("我喜欢喝乌龙茶").await;
    writer.store("Ticket INC-90312 tracks the flaky login test").await;
    let reader = home.agent("reader").await;
    for query in ["staging database", "乌龙", "INC-90312"] {
        assert_eq!(reader.recall(query).await.len(), 1, "{query}");
    }
    assert!(daemon.stop().await.success());
    let daemon = home.serve().await;
    let reader = home.agent("reader").await;
    for query in ["staging database", "乌龙", "INC-90312"] {
        assert_eq!(reader.recall(query).await.len(), 1, "{query} after the restart");
    }
    assert!(daemon.stop().await.success());
    assert!(!home.socket().exists(), "the socket goes with the daemon");
}

#[tokio::test]
async fn everything_in_the_data_directory_is_its_owners_alone() {
    let home = Home::new();
    let daemon = home.serve().await;
    home.agent("a").await.store("The kettle is green").await;
    assert!(home.run(&["backup"]).status.success());
    assert!(daemon.stop().await.success());
    let mut dirs = vec![home.state()];
    let mut n_seen = 0;
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let (path, found) = entry.map(|entry| (entry.path(), entry.metadata())).unwrap();
            let found = found.unwrap();
            assert_eq!(found.permissions().mode() & 0o077, 0, "{}", path.display());
            n_seen += 1;
            if found.is_dir() {
                dirs.push(path);
            }
        }
    }
    assert!(home.state().join("index").is_dir() && n_seen > 5, "{n_seen}");
}

#[tokio::test]
async fn a_second_daemon_on_the_same_store_is_refused_with_the_reason() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let second = std::process::Command::new(program())
        .env_clear()
        .env("HOME", home.path(""))
        .args(["serve", "--state-dir"])
        .arg(home.state())
        .arg("--socket")
        .arg(home.path("other.sock"))
        .output()
        .unwrap();
    assert!(!second.status.success());
    let message = String::from_utf8_lossy(&second.stderr);
    assert!(message.contains(&*home.state().to_string_lossy()), "{message}");
}

#[tokio::test]
async fn a_daemon_waits_for_one_that_is_just_ending() {
    let home = Home::new();
    std::fs::create_dir_all(home.state()).unwrap();
    let lock = std::fs::File::create(home.state().join("recalld.lock")).unwrap();
    lock.lock().unwrap();
    let daemon = home.spawn();
    eventually("it waits", async || {
        home.log().contains("waiting for another daemon to end").then_some(())
    })
    .await;
    drop(lock);
    daemon.wait_until_it_answers().await;
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_bad_configuration_names_every_problem_and_exits_with_78() {
    let home = Home::with_config("[store]\ncache_mb = \"big\"\n[recal]\nlimit = 3\n");
    for command in ["serve", "check-config"] {
        let output = home.run(&[command]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{command}: {message}");
        for part in ["store.cache_mb", "recal", "recall"] {
            assert!(message.contains(part), "{command}: `{part}` in {message}");
        }
    }
}

#[tokio::test]
async fn a_second_signal_ends_a_stop_that_hangs() {
    let home = Home::new().expect_log("stopping at once").expect_log("still in flight");
    let mut daemon = home.serve().await;
    daemon.signal(Signal::TERM);
    daemon.signal(Signal::INT);
    let status = eventually("the daemon stops", async || daemon.exited()).await;
    assert_eq!(status.code(), Some(1));
    let again = home.serve().await;
    assert!(again.stop().await.success());
}

#[tokio::test]
async fn status_says_what_works_and_what_the_model_cannot_read() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let status = agent.must("memory_status", json!({})).await;
    assert!(status.to_string().contains("Latin script only"), "{status}");
    let owner = home.run(&["status"]);
    assert!(owner.status.success());
    assert!(String::from_utf8_lossy(&owner.stdout).contains("vectors"));
}

#[tokio::test]
async fn a_part_that_is_switched_off_on_purpose_is_off_and_not_degraded() {
    let home = Home::with_config("[embed]\nmodel = \"none\"\n");
    let _daemon = home.serve().await;
    let owner = home.owner().await;
    let status = eventually("the indexes are compared", async || {
        let status = owner.must("memory_status", json!({})).await;
        status["parity"].is_object().then_some(status)
    })
    .await;
    assert_eq!(status["ok"], true, "{status}");
    let state = |name: &str| {
        let parts = status["parts"].as_array().unwrap();
        parts.iter().find(|part| part["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!([state("vectors"), state("model")], ["off", "off"], "{status}");
    assert_eq!([state("store"), state("text")], ["ok", "ok"], "{status}");
    assert_eq!(status["parity"]["agrees"], true, "{status}");
}

#[test]
fn the_demo_shows_the_main_job_and_checks_each_step() {
    let home = Home::new();
    let output = home.run(&["demo"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let steps = ["by meaning", "by word", "by identifier", "SIGKILL", "forgot", "in order"];
    for step in steps.into_iter().chain(["arrived at the webhook", "| Water the plants"]) {
        assert!(printed.contains(step), "{step}: {printed}");
    }
    let output = home.run(&["--json", "demo"]);
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps = told["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 18, "{told}");
    let is_told = |step: &&Value| step["found"].is_string() && !step["reasons"][0].is_null();
    assert_eq!(steps.iter().filter(is_told).count(), 6, "{told}");
    assert!(steps.iter().all(|step| step["ms"].is_number()), "{told}");
}
