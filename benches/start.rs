//! Time from the start of the daemon at 10,000 and 100,000 memories, after an end in order and after
//! a SIGKILL: until it answers a client, until a search by words finds, until everything is loaded.
//!
//! `cargo bench --bench start`; `RECALLD_BENCH_DIR` keeps the filled directories between runs. Before
//! each kill a hundred memories are stored, so that the log has something to replay. The page cache
//! is warm; `cargo run --release --example cold_start` is the other case.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "a bench: a failure is a panic, and criterion's macros make undocumented items"
)]

#[path = "../tests/it/daemon.rs"]
mod daemon;
mod filled;
#[path = "filled/served.rs"]
mod served;

use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use daemon::{Agent, eventually};
use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use serde_json::json;
use served::Served;
use tokio::runtime::Runtime;

const SIZES: [u64; 2] = [10_000, 100_000];

/// What is waited for.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    Answers,
    Finds,
    IsLoaded,
}

async fn wait(until: Until, agent: &Agent) {
    match until {
        Until::Answers => {}
        Until::Finds => {
            let query = json!({ "query": filled::own_word(7) });
            eventually("a hit", async || {
                let found = agent.must("memory_search", query.clone()).await;
                (!found["memories"].as_array().unwrap().is_empty()).then_some(())
            })
            .await;
        }
        Until::IsLoaded => {
            eventually("everything is loaded", async || {
                let status = agent.must("memory_status", json!({})).await;
                (status["ok"] == true).then_some(())
            })
            .await;
        }
    }
}

/// Starts once, waits, and ends it again; gives the time waited.
async fn start(dir: &Path, until: Until, is_killed: bool, number: &mut u64) -> Duration {
    let clock = SystemClock::new();
    let daemon = Served::start(dir);
    let agent = daemon.client(dir).await;
    wait(until, &agent).await;
    let waited = clock.monotonic();
    wait(Until::IsLoaded, &agent).await;
    if is_killed {
        let memories: Vec<String> = (0..100)
            .map(|_| {
                *number += 1;
                filled::draft(*number).content
            })
            .collect();
        agent.must("memory_store", json!({ "memories": memories })).await;
        drop(daemon);
    } else {
        daemon.stop();
    }
    waited
}

fn starts(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let (root, _temporary) = filled::root();
    // Texts that no earlier run has stored.
    let mut number = u64::from(std::process::id()) << 24;
    for size in SIZES {
        let dir = root.join(format!("start-{size}"));
        runtime.block_on(filled::fill(&dir, size));
        let mut group = criterion.benchmark_group(format!("start at {size} memories"));
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        group.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_millis(1));
        for (end, is_killed) in [("clean", false), ("after a kill", true)] {
            // What this one finds is how the one before has ended.
            runtime.block_on(start(&dir, Until::IsLoaded, is_killed, &mut number));
            for (until, name) in [
                (Until::Answers, "answers"),
                (Until::Finds, "finds"),
                (Until::IsLoaded, "is loaded"),
            ] {
                group.bench_function(BenchmarkId::new(end, name), |bencher| {
                    bencher.iter_custom(|n_starts| {
                        let starts = async {
                            let mut waited = Duration::ZERO;
                            for _ in 0..n_starts {
                                waited += start(&dir, until, is_killed, &mut number).await;
                            }
                            waited
                        };
                        runtime.block_on(starts)
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, starts);
criterion_main!(benches);
