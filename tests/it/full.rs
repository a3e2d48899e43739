//! A full disk: an error and never an id; reading and forgetting go on; after space returns nothing
//! that was acknowledged is missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::daemon::{Agent, Home, eventually};
use crate::skip::skip;

/// Size of the disk, MiB. The ballast takes an eighth of it; twice that must be free to resume, and
/// a sixty-fourth is where it counts as full.
const DISK_MIB: u64 = 64;
const MIB: u64 = 1 << 20;

/// A small file system of its own over the data directory of a home.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts it; `None`, said loudly, where that is not allowed.
    fn mount(test: &str, home: &Home) -> Option<Self> {
        let path = home.state();
        fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={DISK_MIB}m,mode=0700"), "recalld-test"])
            .arg(&path)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self { path }),
            Ok(output) => {
                skip(test, String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                skip(test, &format!("mount cannot be run: {error}"));
                None
            }
        }
    }

    fn free_bytes(&self) -> u64 {
        let system = rustix::fs::statvfs(&self.path).unwrap();
        system.f_bavail * system.f_frsize
    }

    /// Takes all room but so many bytes.
    fn fill(&self, but: u64) {
        let bytes = self.free_bytes().saturating_sub(but);
        let file = fs::File::create(self.filler()).unwrap();
        let flags = rustix::fs::FallocateFlags::empty();
        rustix::fs::fallocate(file, flags, 0, bytes).unwrap();
    }

    fn empty(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.path.join("filler")
    }

    fn ballast_bytes(&self) -> Option<u64> {
        ballast_bytes(&self.path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A daemon of a failed test may still be ending.
        drop(Command::new("umount").arg("--lazy").arg(&self.path).status());
    }
}

fn ballast_bytes(state: &Path) -> Option<u64> {
    fs::metadata(state.join("recalld.ballast")).ok().map(|file| file.len())
}

/// Texts by id: what was acknowledged and not forgotten.
type Known = BTreeMap<String, String>;

async fn store_some(agent: &Agent, known: &mut Known, n: usize) {
    for _ in 0..n {
        let text = format!("Note {} about the harbour", known.len());
        known.insert(agent.store(&text).await, text);
    }
}

/// Forgets one; it must work.
async fn forget_one(agent: &Agent, known: &mut Known) -> String {
    let (id, _) = known.pop_first().unwrap();
    agent.must("memory_forget", json!({ "ids": [id] })).await;
    id
}

/// Everything is there with its text and found by its words; what was forgotten is not.
async fn check(agent: &Agent, known: &Known, forgotten: &[String]) {
    for (id, text) in known {
        let got = agent.must("memory_get", json!({ "ids": [id] })).await;
        assert_eq!(got["memories"][0]["content"], json!(text));
    }
    for id in forgotten {
        agent.refused("memory_get", json!({ "ids": [id] })).await;
    }
    let (_, text) = known.last_key_value().unwrap();
    assert_eq!(agent.recall(text).await.first(), Some(text));
}

/// What `status` says of the store.
async fn store_part(agent: &Agent) -> Value {
    let status = agent.must("memory_status", json!({})).await;
    let parts = status["parts"].as_array().unwrap();
    parts.iter().find(|part| part["name"] == "store").unwrap().clone()
}

/// Nothing that grows is taken, and the answer says what is needed where.
async fn assert_full(home: &Home, agent: &Agent, known: &Known) {
    let (id, _) = known.last_key_value().unwrap();
    for (tool, arguments) in [
        ("memory_store", json!({ "content": "One too many" })),
        ("memory_update", json!({ "id": id, "content": "Something else" })),
    ] {
        let message = agent.refused(tool, arguments).await;
        let place = home.state().display().to_string();
        assert!(message.contains("full") && message.contains(&place), "{tool}: {message}");
        assert!(message.contains("MiB"), "{tool}: {message}");
    }
    let part = store_part(agent).await;
    assert_eq!(part["state"], "degraded", "{part}");
    assert!(part["because"].as_str().unwrap().contains("MiB"), "{part}");
    assert!(part["since"].is_string(), "{part}");
}

fn home() -> Home {
    Home::with_config("[store]\nballast_mb = 64\n")
        .expect_log("disk full: nothing new is stored")
        .expect_log("tool failed")
        .expect_log("text index commit failed")
}

#[tokio::test]
async fn on_a_full_disk_reading_and_forgetting_go_on_and_storing_resumes_by_itself() {
    let home = home();
    let Some(disk) = SmallDisk::mount("on_a_full_disk_reading_and_forgetting_go_on", &home) else {
        return;
    };
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let (mut known, mut forgotten) = (Known::new(), Vec::new());
    store_some(&agent, &mut known, 30).await;
    assert_eq!(store_part(&agent).await["state"], "ok");
    assert_eq!(disk.ballast_bytes(), Some(DISK_MIB / 8 * MIB));

    // A little is left: the text index writes meanwhile.
    disk.fill(MIB / 4);
    assert_full(&home, &agent, &known).await;
    assert_eq!(disk.ballast_bytes(), None, "the ballast was not given up");
    forgotten.push(forget_one(&agent, &mut known).await);
    check(&agent, &known, &forgotten).await;

    // A restart finds the same disk, and nothing makes it fail.
    assert!(daemon.stop().await.success());
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    assert_full(&home, &agent, &known).await;
    forgotten.push(forget_one(&agent, &mut known).await);
    check(&agent, &known, &forgotten).await;

    disk.empty();
    store_some(&agent, &mut known, 3).await;
    assert_eq!(store_part(&agent).await["state"], "ok");
    assert_eq!(disk.ballast_bytes(), Some(DISK_MIB / 8 * MIB));
    check(&agent, &known, &forgotten).await;
    assert!(daemon.stop().await.success());
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    check(&agent, &known, &forgotten).await;
    eventually("every part is well again", async || {
        let status = agent.must("memory_status", json!({})).await;
        (status["ok"] == true && status["n_pending_vectors"] == 0).then_some(())
    })
    .await;
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_write_that_meets_the_end_of_the_disk_is_an_error_and_the_next_start_goes_on() {
    let home = home().expect_log("the store failed").expect_log("usage notes lost");
    let Some(disk) = SmallDisk::mount("a_write_that_meets_the_end_of_the_disk", &home) else {
        return;
    };
    let mut daemon = home.serve().await;
    let agent = home.agent("a").await;
    let (mut known, mut forgotten) = (Known::new(), Vec::new());
    store_some(&agent, &mut known, 10).await;

    // Just more than what counts as full, and less than what is stored now.
    disk.fill(DISK_MIB / 64 * MIB + MIB / 4);
    let long: Vec<String> = (0..60).map(|n| format!("{n} {}", "lamp oil ".repeat(3_500))).collect();
    let message = agent.refused("memory_store", json!({ "memories": long })).await;
    assert!(message.contains("full"), "{message}");
    let status = eventually("the daemon ends", async || daemon.exited()).await;
    assert_eq!(status.code(), Some(1), "{}", home.log());
    assert_eq!(disk.ballast_bytes(), None, "the ballast was not given up");
    drop(daemon);

    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    assert_full(&home, &agent, &known).await;
    assert_eq!(agent.recall("lamp oil").await, Vec::<String>::new(), "half of a call was stored");
    forgotten.push(forget_one(&agent, &mut known).await);
    check(&agent, &known, &forgotten).await;

    disk.empty();
    store_some(&agent, &mut known, 3).await;
    let long: Vec<String> = long.into_iter().take(3).collect();
    agent.must("memory_store", json!({ "memories": long })).await;
    check(&agent, &known, &forgotten).await;
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_limit_on_the_size_of_files_is_a_full_disk_too() {
    let home = Home::new()
        .expect_log("disk full: nothing new is stored")
        .expect_log("tool failed")
        .expect_log("text index commit failed");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let (mut known, mut forgotten) = (Known::new(), Vec::new());
    store_some(&agent, &mut known, 10).await;
    assert_eq!(ballast_bytes(&home.state()), Some(MIB));

    let mut bridge = home.bridge("b");
    bridge.initialize().await;
    let keyed = json!({
        "name": "memory_store",
        "arguments": { "content": "Sent twice because the answer was lost" },
        "_meta": { "recalld/requestKey": "k" },
    });
    let first = bridge.request("tools/call", keyed.clone()).await;

    let store = fs::metadata(home.state().join("recalld.redb")).unwrap().len();
    daemon.limit_file_size(Some(store + store / 2));
    assert_full(&home, &agent, &known).await;
    // What was stored before was stored, and is told again.
    let again = bridge.request("tools/call", keyed).await;
    assert_eq!(again["structuredContent"]["memories"], first["structuredContent"]["memories"]);
    bridge.close().await;
    forgotten.push(forget_one(&agent, &mut known).await);
    check(&agent, &known, &forgotten).await;

    daemon.limit_file_size(None);
    store_some(&agent, &mut known, 3).await;
    assert_eq!(store_part(&agent).await["state"], "ok");
    check(&agent, &known, &forgotten).await;
    assert!(daemon.stop().await.success());
}
