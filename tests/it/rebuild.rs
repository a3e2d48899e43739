//! The indexes are derived: whatever happens to their files, the daemon starts and recalls the same.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::daemon::{Agent, Home, eventually};
use crate::random::Random;

const QUESTIONS: &[&str] = &[
    "harbour",
    "who repairs the crane",
    "note 17",
    "tide tables of week 3",
    "ferry",
    "乌龙茶",
    "INC-4242",
    "which lighthouse keeper drinks tea",
    "the storm of the second week",
    "timetable",
    "lamp oil",
    "a boat that leaves early",
];

async fn fill(agent: &Agent) {
    let topics = [
        "The ferry leaves the harbour before the timetable says",
        "Mara repairs the crane at the north quay",
        "The tide tables hang beside the door",
        "The lighthouse keeper drinks oolong and orders lamp oil",
        "A storm tore the awning of the fish market",
    ];
    for week in 0..6 {
        let memories: Vec<String> = topics
            .iter()
            .enumerate()
            .map(|(n, topic)| format!("Note {} of week {week}: {topic}", week * 5 + n))
            .collect();
        agent.must("memory_store", json!({ "memories": memories })).await;
    }
    for text in ["我喜欢喝乌龙茶", "Ticket INC-4242 is about the crane"] {
        agent.store(text).await;
    }
    // An index that was built once and never changed would be too easy.
    let id = agent.store("This note about the harbour will be changed").await;
    let patch = json!({ "id": id, "content": "This note is about the crossing" });
    agent.must("memory_update", patch).await;
    let id = agent.store("This note about the harbour will be forgotten").await;
    agent.must("memory_forget", json!({ "ids": [id] })).await;
}

/// The ids that each question finds, in order, once every index is loaded.
async fn answers(home: &Home) -> Vec<Vec<Value>> {
    let agent = home.agent("asker").await;
    eventually("the indexes are loaded", async || {
        let status = agent.must("memory_status", json!({})).await;
        let is_done = status["ok"] == true && status["n_pending_vectors"] == 0;
        is_done.then_some(())
    })
    .await;
    let mut answers = Vec::new();
    for question in QUESTIONS {
        let found = agent.must("memory_search", json!({ "query": question, "limit": 10 })).await;
        // The bundled model reads no Chinese, and says so.
        let is_whole = found["degraded"] == Value::Null || !question.is_ascii();
        assert!(is_whole, "{question}: {found}");
        let hits = found["memories"].as_array().unwrap();
        assert!(!hits.iter().any(|hit| hit.to_string().contains("will be")), "{question}: {found}");
        answers.push(hits.iter().map(|hit| hit["id"].clone()).collect());
    }
    answers
}

fn index_files(home: &Home) -> Vec<PathBuf> {
    fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&home.state().join("index"), &mut found);
    found.sort();
    found
}

type Damage = fn(&Path, &mut Random);

/// What may become of a file, by name.
const DAMAGE: [(&str, Damage); 6] = [
    ("removed", remove),
    ("truncated", truncate),
    ("overwritten", overwrite),
    ("flipped", flip),
    ("a directory", become_directory),
    ("a link", become_link),
];

fn remove(path: &Path, _: &mut Random) {
    fs::remove_file(path).unwrap();
}

fn become_directory(path: &Path, _: &mut Random) {
    fs::remove_file(path).unwrap();
    fs::create_dir_all(path.join("below")).unwrap();
}

fn become_link(path: &Path, _: &mut Random) {
    fs::remove_file(path).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", path).unwrap();
}

fn overwrite(path: &Path, random: &mut Random) {
    let length = fs::metadata(path).unwrap().len();
    let bytes: Vec<u8> = (0..length).map(|_| random.next().to_le_bytes()[0]).collect();
    fs::write(path, bytes).unwrap();
}

fn flip(path: &Path, random: &mut Random) {
    let mut bytes = fs::read(path).unwrap();
    if bytes.is_empty() {
        return;
    }
    for _ in 0..8 {
        let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
        bytes[at] ^= 1 << random.below(8);
    }
    fs::write(path, bytes).unwrap();
}

fn truncate(path: &Path, random: &mut Random) {
    let file = File::options().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(random.below(length)).unwrap();
}

#[tokio::test]
async fn recall_is_unchanged_when_the_index_directory_is_gone() {
    let home = Home::with_config("[embed]\nstore_wait_ms = 10000\n");
    let daemon = home.serve().await;
    fill(&home.agent("filler").await).await;
    let before = answers(&home).await;
    assert!(before.iter().filter(|ids| !ids.is_empty()).count() >= 10, "{before:?}");
    assert!(daemon.stop().await.success());
    let n_built = home.log().matches("text index is to be built").count();
    fs::remove_dir_all(home.state().join("index")).unwrap();
    let daemon = home.serve().await;
    assert_eq!(answers(&home).await, before);
    let built = home.log().matches("text index is to be built").count();
    assert_eq!(built, n_built + 1, "the log says that it is built anew: {}", home.log());
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn recall_is_unchanged_when_index_files_are_damaged() {
    let mut random = Random::from_environment("index damage");
    let home = Home::with_config("[embed]\nstore_wait_ms = 10000\n")
        .expect_log("text index is to be rebuilt")
        // The library has its own words for a file it cannot read.
        .expect_log(" tantivy::")
        .expect_log("text index damaged")
        .expect_log("text index commit failed")
        .expect_log("text index merge failed");
    let daemon = home.serve().await;
    fill(&home.agent("filler").await).await;
    let before = answers(&home).await;
    assert!(daemon.stop().await.success());

    for round in 0..12 {
        let files = index_files(&home);
        let (kind, damage) = DAMAGE[round % DAMAGE.len()];
        // One file, or all of them.
        let chosen = if round % 5 == 4 {
            files
        } else {
            let at = usize::try_from(random.below(files.len() as u64)).unwrap();
            vec![files[at].clone()]
        };
        for path in &chosen {
            damage(path, &mut random);
        }
        let names: Vec<_> = chosen.iter().map(|path| path.file_name().unwrap()).collect();
        let daemon = home.serve().await;
        assert_eq!(answers(&home).await, before, "round {round}: {kind} {names:?}");
        assert!(daemon.stop().await.success(), "round {round}: {kind} {names:?}");
    }
    assert!(home.log().contains("to be rebuilt"), "the log says so: {}", home.log());
}

#[tokio::test]
async fn the_index_of_another_store_is_built_anew_and_the_status_says_why() {
    let (home, other) = (Home::new(), Home::new());
    for (home, content) in [(&home, "The kettle is copper"), (&other, "The kettle is tin")] {
        let daemon = home.serve().await;
        home.owner().await.store(content).await;
        assert!(daemon.stop().await.success());
    }
    let theirs = home.state().join("index");
    fs::remove_dir_all(&theirs).unwrap();
    fs::rename(other.state().join("index"), &theirs).unwrap();
    let _daemon = home.serve().await;
    let owner = home.owner().await;
    assert_eq!(owner.recall("kettle").await, ["The kettle is copper"]);
    let found = owner.must("memory_search", json!({ "query": "tin" })).await;
    assert_eq!(found["memories"], json!([]), "{found}");
    let status = owner.must("memory_status", json!({})).await;
    assert_eq!(status["text"]["n_rebuilds"], 1, "{status}");
    let reason = status["text"]["last_rebuild"].as_str().unwrap();
    assert!(reason.ends_with("its files belong to another store"), "{reason}");
}
