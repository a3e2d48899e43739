//! Cold start at 50,000 memories: how long until a client that starts now is served.
//!
//! `cargo build --release && cargo run --release --example cold_start`; `RECALLD_BENCH_DIR` keeps
//! the filled directory between runs, `RECALLD_MEMORIES` and `RECALLD_ROUNDS` change the counts.
//! Each round drops the data from the page cache, starts the daemon and a bridge at the same moment
//! and measures from there.
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

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use daemon::{Bridge, eventually};
use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use serde_json::{Value, json};
use served::{Served, command, files, number};

#[tokio::main]
async fn main() {
    let n_memories = number("RECALLD_MEMORIES", 50_000);
    let (root, _temporary) = filled::root();
    let dir = root.join(format!("cold-{n_memories}"));
    filled::fill(&dir, n_memories).await;
    let mut rounds = Vec::new();
    for round in 0..number("RECALLD_ROUNDS", 5) {
        rounds.push(Round::run(&dir, n_memories, round).await);
    }
    report(&dir, &rounds);
}

/// Times from the start of the daemon and the bridge.
#[derive(Debug)]
struct Round {
    initialized: Duration,
    tools_listed: Duration,
    found_by_words: Duration,
    n_searches: u32,
    vectors_ready: Duration,
    resident_bytes: u64,
}

impl Round {
    async fn run(dir: &Path, n_memories: u64, round: u64) -> Self {
        forget_pages(&dir.join("state"));
        let clock = SystemClock::new();
        let daemon = Served::start(dir);
        let mut connect = command(dir, "connect");
        connect.args(["--no-start", "--agent", "bench"]);
        let mut bridge = Bridge::start(connect);
        bridge.initialize().await;
        let initialized = clock.monotonic();
        let tools = bridge.request("tools/list", json!({})).await;
        assert!(!tools["tools"].as_array().unwrap().is_empty());
        let tools_listed = clock.monotonic();
        let wanted = n_memories / 2 + round;
        let mut n_searches = 0;
        eventually("a hit", async || {
            n_searches += 1;
            let query = json!({ "query": filled::own_word(wanted) });
            let answer = bridge.tool("memory_search", query).await;
            let is_hit = |hit: &Value| hit["content"] == json!(filled::draft(wanted).content);
            answer["memories"].as_array().unwrap().iter().any(is_hit).then_some(())
        })
        .await;
        let found_by_words = clock.monotonic();
        eventually("vectors", async || {
            let status = bridge.tool("memory_status", json!({})).await;
            let part = status["parts"].as_array().unwrap().iter().find(|p| p["name"] == "vectors");
            (part.unwrap()["state"] == "ok").then_some(())
        })
        .await;
        let vectors_ready = clock.monotonic();
        let resident_bytes = daemon.resident_bytes();
        bridge.close().await;
        daemon.stop();
        let round = Self {
            initialized,
            tools_listed,
            found_by_words,
            n_searches,
            vectors_ready,
            resident_bytes,
        };
        println!("{round:.0?}");
        round
    }
}

/// Asks the kernel to drop the pages of every file below `dir`.
fn forget_pages(dir: &Path) {
    for path in files(dir) {
        let file = File::open(path).unwrap();
        // Only clean pages can be dropped.
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
}

type Time = fn(&Round) -> Duration;

fn report(dir: &Path, rounds: &[Round]) {
    let times: [(&str, Time); 4] = [
        ("initialize answered", |round| round.initialized),
        ("tools/list answered", |round| round.tools_listed),
        ("first hit by words", |round| round.found_by_words),
        ("vectors ready", |round| round.vectors_ready),
    ];
    println!("{} rounds, from the start of daemon and bridge:", rounds.len());
    for (name, time) in times {
        let mut times: Vec<Duration> = rounds.iter().map(time).collect();
        let p50 = filled::median(&mut times);
        let max = times.last().copied().unwrap_or_default();
        println!("  {name:<20} p50 {p50:>9.1?}  max {max:>9.1?}");
    }
    let n_searches = rounds.iter().map(|round| round.n_searches).max().unwrap_or_default();
    println!("  searches until that hit: at most {n_searches}");
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let resident = rounds.iter().map(|round| round.resident_bytes).max().unwrap_or_default();
    println!("  resident memory at most {:.0} MiB", mib(resident));
    let state = dir.join("state");
    for (name, files) in
        [("store", vec![state.join("recalld.redb")]), ("text index", files(&state.join("index")))]
    {
        let bytes = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
        println!("  {name} on disk {:.0} MiB", mib(bytes));
    }
}
