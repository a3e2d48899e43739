//! What the daemon takes at 100,000 memories of 300 characters with vectors: resident memory after
//! the start, after searches and after stores, and the disk.
//!
//! `cargo build --release && cargo run --release --example footprint`; `RECALLD_BENCH_DIR` keeps the
//! filled directory between runs, `RECALLD_MEMORIES` changes the count. The model is the seeded one,
//! whose vectors are as long as those of the bundled model; what the bundled model itself takes comes
//! on top, and is printed from a daemon that has no memories.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "shares the test code of tests/it, where a failure is a panic"
)]

#[path = "../tests/it/daemon.rs"]
mod daemon;
#[path = "../benches/filled/mod.rs"]
mod filled;
#[path = "../benches/filled/served.rs"]
mod served;

use std::fs;
use std::path::PathBuf;

use daemon::{Agent, Home, eventually};
use serde_json::json;
use served::{Served, files, number};

/// What is aimed at.
const RESIDENT_MAX: u64 = 400_000_000;
const N_SEARCHES: u64 = 300;
const N_STORES: u64 = 2_000;

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

async fn loaded(agent: &Agent) {
    eventually("everything is loaded", async || {
        let status = agent.must("memory_status", json!({})).await;
        (status["ok"] == true && status["n_pending_vectors"] == 0).then_some(())
    })
    .await;
}

fn tell(when: &str, daemon: &Served) {
    let (now, file) = (daemon.resident_bytes(), daemon.memory("RssFile:"));
    let (now, file) = (megabytes(now), megabytes(file));
    println!("  {when:<28} {now:>6.0} MB resident, {file:.0} MB of it pages of files");
}

#[tokio::main]
async fn main() {
    let n_memories = number("RECALLD_MEMORIES", 100_000);
    let (root, _temporary) = filled::root();
    let dir = root.join(format!("footprint-{n_memories}"));
    filled::fill_with(&dir, n_memories, filled::long_draft).await;
    println!("{n_memories} memories of 300 characters with vectors:");
    let daemon = Served::start(&dir);
    let agent = daemon.client(&dir).await;
    loaded(&agent).await;
    tell("everything loaded", &daemon);
    for n in 0..N_SEARCHES {
        agent.must("memory_search", json!({ "query": filled::question(n) })).await;
    }
    tell(&format!("after {N_SEARCHES} searches"), &daemon);
    for batch in 0..N_STORES / 100 {
        let first = (u64::from(std::process::id()) << 24) + batch * 100;
        let memories: Vec<String> =
            (first..first + 100).map(|n| filled::long_draft(n).content).collect();
        agent.must("memory_store", json!({ "memories": memories })).await;
    }
    loaded(&agent).await;
    tell(&format!("after {N_STORES} more stores"), &daemon);
    let peak = daemon.memory("VmHWM:");
    println!("  {:<28} {:>6.0} MB", "at most", megabytes(peak));
    daemon.stop();
    let state = dir.join("state");
    for (name, files) in
        [("store", vec![state.join("recalld.redb")]), ("text index", files(&state.join("index")))]
    {
        println!("  {name:<28} {:>6.0} MB on disk", megabytes(size(&files)));
    }

    let home = Home::new();
    let empty = home.serve().await;
    loaded(&home.owner().await).await;
    let own = megabytes(empty.resident_bytes());
    println!("no memories, the bundled model {own:>5.0} MB resident");
    assert!(peak < RESIDENT_MAX, "more than {:.0} MB", megabytes(RESIDENT_MAX));
}

fn size(files: &[PathBuf]) -> u64 {
    files.iter().map(|file| fs::metadata(file).unwrap().len()).sum()
}
