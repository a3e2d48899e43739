//! The decay job over 100,000 memories: its processor time and memory, and what it does to stores and
//! searches beside it.
//!
//! `cargo bench --bench decay`; `RECALLD_BENCH_DIR` keeps the filled directory between runs. The model
//! is the seeded one, so that the figures are ours.
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
    reason = "a bench: a failure is a panic, and what it shares with others is not all used here"
)]

mod filled;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cpu_time::ProcessTime;
use recalld::app::Engine;
use recalld::clock::SystemClock;
use recalld::domain::job::RunId;
use recalld::jobs::{Decay, Job as _, RunContext, RunReport};
use recalld::ports::Clock as _;
use recalld::service::recall::RecallRequest;
use tokio_util::sync::CancellationToken;

const N_MEMORIES: u64 = 100_000;
/// Searches of one measurement; stores are made beside them, one after another.
const N_SEARCHES: u64 = 1_000;
const N_RUNS: usize = 3;

fn main() {
    let (root, _kept) = filled::root();
    let dir = root.join(format!("decay-{N_MEMORIES}"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        filled::fill(&dir, N_MEMORIES).await;
        let engine = filled::open(&dir, "seeded");
        engine.load().await.unwrap();
        let clock = SystemClock::new();
        for run in 1..=N_RUNS {
            let (cpu, started) = (ProcessTime::now(), clock.monotonic());
            let before = resident_bytes();
            let report = decay(&engine).await;
            println!(
                "run {run}: {} memories, {:.2} s of CPU, {:.2} s, {:.1} MiB more resident",
                report.report["n_memories"],
                cpu.elapsed().as_secs_f64(),
                clock.monotonic().saturating_sub(started).as_secs_f64(),
                resident_bytes().saturating_sub(before) as f64 / f64::from(1 << 20),
            );
        }
        told("alone", measured(&engine, &clock, 0).await);
        let (stop, running) = (Arc::new(AtomicBool::new(false)), Arc::clone(&engine));
        let stopped = Arc::clone(&stop);
        let beside = tokio::spawn(async move {
            let mut n_runs = 0;
            while !stopped.load(Ordering::Relaxed) {
                decay(&running).await;
                n_runs += 1;
            }
            n_runs
        });
        let times = measured(&engine, &clock, 1).await;
        stop.store(true, Ordering::Relaxed);
        let n_runs = beside.await.unwrap();
        told(&format!("beside the job, {n_runs} runs without a pause"), times);
        tokio::task::spawn_blocking(move || engine.close()).await.unwrap();
    });
}

async fn decay(engine: &Engine) -> RunReport {
    let context = RunContext {
        run: RunId(1),
        now: engine.clock.now(),
        is_dry_run: false,
        stop: CancellationToken::new(),
        deadline: Duration::MAX,
    };
    Decay::new(Arc::clone(&engine.service)).run(context).await.unwrap()
}

/// Times of searches, and of stores meanwhile.
async fn measured(
    engine: &Arc<Engine>,
    clock: &SystemClock,
    round: u64,
) -> (Vec<Duration>, Vec<Duration>) {
    let is_over = Arc::new(AtomicBool::new(false));
    let (storing, over) = (Arc::clone(engine), Arc::clone(&is_over));
    let stores = tokio::spawn(async move {
        let clock = SystemClock::new();
        let mut times = Vec::new();
        let mut number = N_MEMORIES * 10 + round * 1_000_000;
        while !over.load(Ordering::Relaxed) {
            number += 1;
            let started = clock.monotonic();
            let drafts = vec![filled::draft(number)];
            storing.service.remember(&filled::owner(), drafts, None).await.unwrap();
            times.push(clock.monotonic().saturating_sub(started));
        }
        times
    });
    let mut searches = Vec::new();
    for number in 0..N_SEARCHES {
        let query = filled::question(number);
        let request = RecallRequest { query, ..RecallRequest::default() };
        let started = clock.monotonic();
        engine.service.recall(&filled::owner(), request).await.unwrap();
        searches.push(clock.monotonic().saturating_sub(started));
    }
    is_over.store(true, Ordering::Relaxed);
    (searches, stores.await.unwrap())
}

fn told(what: &str, (mut searches, mut stores): (Vec<Duration>, Vec<Duration>)) {
    let shown = |name: &str, times: &mut Vec<Duration>| {
        times.sort_unstable();
        let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
        println!("{what}: {name} {}: p50 {:.2} ms, p99 {:.2} ms", times.len(), at(50), at(99));
    };
    shown("searches", &mut searches);
    shown("stores", &mut stores);
}

/// Resident memory of this process, bytes.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
