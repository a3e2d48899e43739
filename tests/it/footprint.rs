//! Much is stored, half of it forgotten and stored again, the daemon restarted again and again, and
//! its index broken and deleted: the disk stays in proportion, and recall is the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::daemon::{Agent, Home, eventually};
use crate::random::Random;

const N_MEMORIES: usize = 20_000;
/// How many of them are forgotten and stored again.
const N_AGAIN: usize = 10_000;
const BATCH: usize = 100;
const N_RESTARTS: usize = 5;
/// Coordinates of the seeded model, four bytes each.
const VECTOR_BYTES: u64 = 384 * 4;
/// Disk that store and index may take, in payloads (text and vectors).
const DISK_MAX: u64 = 3;
const WORDS: [&str; 24] = [
    "harbour",
    "crane",
    "quay",
    "lamp",
    "tide",
    "ferry",
    "storm",
    "awning",
    "market",
    "keeper",
    "oolong",
    "timetable",
    "pier",
    "rope",
    "anchor",
    "signal",
    "ledger",
    "winter",
    "window",
    "copper",
    "garden",
    "bridge",
    "letter",
    "engine",
];

/// The text of a memory: some common words, one of its own.
fn text(number: usize) -> String {
    let mut random = Random::new(number as u64);
    let mut words: Vec<&str> = Vec::new();
    for _ in 0..18 {
        let at = usize::try_from(random.below(WORDS.len() as u64)).unwrap();
        words.push(WORDS[at]);
    }
    format!("note{number} {} of week {}", words.join(" "), number % 53)
}

async fn store(agent: &Agent, numbers: std::ops::Range<usize>) {
    for first in numbers.clone().step_by(BATCH) {
        let memories: Vec<String> = (first..(first + BATCH).min(numbers.end))
            .map(|number| {
                let tags = [format!("part{}", number / (N_AGAIN / 2))];
                json!({ "content": text(number), "tags": tags }).to_string()
            })
            .collect();
        agent.must("memory_store", json!({ "memories": memories })).await;
    }
}

/// Forgets what bears a tag, as a person confirms it.
async fn forget(owner: &Agent, tag: &str) {
    let arguments = json!({ "tags": [tag], "namespace": "user" });
    let preview = owner.must("memory_forget", arguments.clone()).await;
    let mut confirmed = arguments;
    confirmed["confirm"] = preview["confirm"].clone();
    owner.must("memory_forget", confirmed).await;
}

/// Waits until everything is loaded and embedded; gives the status.
async fn settled(owner: &Agent) -> Value {
    eventually("everything is loaded and embedded", async || {
        let status = owner.must("memory_status", json!({})).await;
        let is_done = status["ok"] == true && status["n_pending_vectors"] == 0;
        is_done.then_some(status)
    })
    .await
}

/// The ids that each question finds, best first.
async fn answers(owner: &Agent) -> BTreeMap<String, Vec<Value>> {
    let own = (0..N_MEMORIES).step_by(1_357).map(|number| format!("note{number}"));
    let common = WORDS.chunks(3).map(|words| words.join(" "));
    let mut answers = BTreeMap::new();
    for question in own.chain(common) {
        let found = owner.must("memory_search", json!({ "query": question, "limit": 10 })).await;
        assert_eq!(found["degraded"], Value::Null, "{question}: {found}");
        let hits = found["memories"].as_array().unwrap();
        assert!(!hits.is_empty(), "{question}");
        answers.insert(question, hits.iter().map(|hit| hit["id"].clone()).collect());
    }
    answers
}

fn disk_bytes(directory: &Path) -> u64 {
    files(directory).iter().map(|path| fs::metadata(path).unwrap().len()).sum()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn twenty_thousand_memories_keep_the_disk_in_proportion_and_outlive_their_index() {
    let home = Home::with_config("[embed]\nmodel = \"seeded\"\n[backup]\nevery_hours = 0\n")
        .expect_log("text index is to be rebuilt")
        .expect_log("is for tests: nothing is found by its meaning");
    let mut daemon = home.serve().await;
    let owner = home.owner().await;
    store(&owner, 0..N_MEMORIES).await;
    for part in ["part0", "part1"] {
        forget(&owner, part).await;
    }
    store(&owner, 0..N_AGAIN).await;
    let status = settled(&owner).await;
    assert_eq!(status["store"]["n_memories"], json!(N_MEMORIES));
    let before = answers(&owner).await;

    for restart in 0..N_RESTARTS {
        assert!(daemon.stop().await.success());
        daemon = home.serve().await;
        let status = settled(&home.owner().await).await;
        assert_eq!(status["text"]["n_rebuilds"], 0, "restart {restart}: {status}");
    }
    assert_eq!(answers(&home.owner().await).await, before);
    let texts: u64 = (0..N_MEMORIES).map(|number| text(number).len() as u64).sum();
    let payload = texts + N_MEMORIES as u64 * VECTOR_BYTES;
    let (store, index) = (
        fs::metadata(home.state().join("recalld.redb")).unwrap().len(),
        disk_bytes(&home.state().join("index")),
    );
    let share = |bytes: u64| bytes as f64 / payload as f64;
    eprintln!(
        "payload {payload} bytes; store {:.2} and index {:.2} payloads",
        share(store),
        share(index)
    );
    assert!(disk_bytes(&home.state()) < DISK_MAX * payload, "{store} + {index} of {payload}");

    for damage in ["flipped", "deleted"] {
        assert!(daemon.stop().await.success());
        let directory = home.state().join("index");
        if damage == "flipped" {
            let is_postings = |path: &&PathBuf| path.extension().is_some_and(|kind| kind == "idx");
            let path = files(&directory).iter().find(is_postings).unwrap().clone();
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).unwrap();
        } else {
            fs::remove_dir_all(&directory).unwrap();
        }
        daemon = home.serve().await;
        let owner = home.owner().await;
        // What is answered while it is built anew is whole, or says that it may not be.
        let found = owner.must("memory_search", json!({ "query": "note18998" })).await;
        let finds = found["memories"][0]["id"] == before["note18998"][0];
        assert!(finds || !found["degraded"].is_null(), "{damage}: {found}");
        let status = settled(&owner).await;
        assert_eq!(status["text"]["n_rebuilds"], 1, "{damage}: {status}");
        assert!(!status["text"]["last_rebuild"].is_null(), "{damage}: {status}");
        assert_eq!(answers(&owner).await, before, "{damage}");
    }
    assert!(daemon.stop().await.success());
}
