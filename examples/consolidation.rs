//! What it takes a daemon to consolidate 50,000 memories: processor time and memory at most, of a
//! first run that summarises nearly all of them, of one without news, and of one with a few new ones.
//!
//! `cargo build --release && cargo run --release --example consolidation`; `RECALLD_BENCH_DIR` keeps the
//! filled directory between runs (after a run it is consolidated), `RECALLD_MEMORIES` changes the count.
//! The model is the seeded one, whose vectors are as long as those of the bundled model, and no
//! language model is configured: summaries quote their sources.
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
use std::time::Duration;

use daemon::{Agent, eventually};
use filled::median;
use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use recalld::service::remember::Draft;
use serde_json::{Value, json};
use served::{Served, number};

/// Memories of one topic.
const OF_TOPIC: u64 = 8;
/// From one memory of a topic to the next.
const STRIDE: u64 = 1_000;
/// One in so many topics is none: each of its memories is about something else.
const ALONE: u64 = 10;
/// Words that the memories of a topic share, and words that each has beside them.
const N_SHARED: u64 = 12;
const N_OWN: u64 = 6;
/// Memories that are new to the last run, in hundredths of the others, each of a topic of its own.
const NEWS_PERCENT: u64 = 1;
/// Memory at most, bytes: `MemoryHigh` of the units.
const RESIDENT_MAX: u64 = 768 << 20;
/// Time between two searches meanwhile.
const PAUSE: Duration = Duration::from_millis(200);

#[tokio::main]
async fn main() {
    let n_memories = number("RECALLD_MEMORIES", 50_000);
    let (root, _temporary) = filled::root();
    let dir = root.join(format!("consolidation-{n_memories}"));
    filled::fill_with(&dir, n_memories, draft).await;
    // Jobs run when they are asked for; what is stored later is not compared with what was there.
    let config = "[embed]\nmodel = \"seeded\"\n[contradiction]\nautomatic = false\n\
                  [jobs.consolidate]\nenabled = false\nmax_runtime_s = 36000\n";
    fs::write(dir.join("seeded.toml"), config).unwrap();
    let daemon = Served::start(&dir);
    let agent = daemon.client(&dir).await;
    loaded(&agent).await;
    println!("{n_memories} memories: {} MB resident when loaded", megabytes(&daemon, "VmRSS:"));
    run("everything is new", &daemon, &agent, &daemon.client(&dir).await).await;
    run("nothing is new", &daemon, &agent, &daemon.client(&dir).await).await;
    let n_new = n_memories * NEWS_PERCENT / 100;
    for first in (n_memories..n_memories + n_new).step_by(100) {
        let last = (first + 100).min(n_memories + n_new);
        let news = (first..last).map(|n| of_topic(n - n_memories, n).content);
        let memories: Vec<String> = news.collect();
        agent.must("memory_store", json!({ "memories": memories })).await;
    }
    loaded(&agent).await;
    run(&format!("{n_new} are new"), &daemon, &agent, &daemon.client(&dir).await).await;
    let peak = daemon.memory("VmHWM:");
    daemon.stop();
    assert!(peak < RESIDENT_MAX, "more than {} MiB", RESIDENT_MAX >> 20);
}

/// The memory of this number, in an order that mixes the topics.
fn draft(number: u64) -> Draft {
    of_topic(number / (OF_TOPIC * STRIDE) * STRIDE + number % STRIDE, number)
}

/// A memory that shares most of its words with the others of its topic, unless that is one of those that
/// hold memories without a topic.
fn of_topic(topic: u64, number: u64) -> Draft {
    let seed = if topic.is_multiple_of(ALONE) { (1 << 40) + number } else { topic };
    let shared = (0..N_SHARED).map(|n| filled::own_word(seed * N_SHARED + n));
    let own = (0..N_OWN).map(|n| filled::own_word((1 << 50) + number * N_OWN + n));
    let words: Vec<String> = shared.chain(own).collect();
    Draft { content: format!("{}.", words.join(" ")), ..Draft::default() }
}

async fn loaded(agent: &Agent) {
    eventually("everything is loaded", async || {
        let status = agent.must("memory_status", json!({})).await;
        (status["ok"] == true && status["n_pending_vectors"] == 0).then_some(())
    })
    .await;
}

/// Runs the job to its end, searching all the while, and prints what it took.
async fn run(what: &str, daemon: &Served, agent: &Agent, other: &Agent) {
    let before = daemon.cpu();
    let mut run = agent.must("maintenance_run", json!({ "job": "consolidate" })).await;
    let (mut times, mut n) = (Vec::new(), 0);
    while run["outcome"] == "running" {
        times.push(search(other, n).await);
        n += 1;
        tokio::time::sleep(PAUSE).await;
        run = agent.must("maintenance_report", json!({ "run": run["run"] })).await;
    }
    assert_eq!(run["outcome"], "done", "{run}");
    let report = &run["report"];
    let longest = times.iter().max().copied().unwrap_or_default();
    println!(
        "{what}: {} clusters, {} summaries written, {} noise; {:.0} s of CPU in {:.0} s; at most {} MB \
         resident; {} searches meanwhile, median {:.0} ms, longest {:.0} ms",
        report["n_clusters"],
        written(&report["written_by"]),
        report["noise_share"],
        daemon.cpu().saturating_sub(before).as_secs_f64(),
        run["seconds"].as_f64().unwrap(),
        megabytes(daemon, "VmHWM:"),
        times.len(),
        median(&mut times).as_secs_f64() * 1e3,
        longest.as_secs_f64() * 1e3,
    );
}

fn written(by: &Value) -> u64 {
    by.as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
}

async fn search(agent: &Agent, n: u64) -> Duration {
    let clock = SystemClock::new();
    agent.must("memory_search", json!({ "query": draft(n * 101).content })).await;
    clock.monotonic()
}

fn megabytes(daemon: &Served, field: &str) -> u64 {
    daemon.memory(field) / 1_000_000
}
