//! Round trip of a call over the socket: one `memory_get` on 1, 16 and 256 connections at once, and
//! one through a bridge. The time is that of all of them, the throughput in calls.
//!
//! `cargo bench --bench socket`. The daemon is the real one, with a hundred memories.
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

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use daemon::{Agent, Bridge};
use serde_json::{Value, json};
use served::{Served, command};
use tokio::runtime::Runtime;

const CONNECTIONS: [u64; 3] = [1, 16, 256];

fn round_trips(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    runtime.block_on(filled::fill(dir.path(), 100));
    let daemon = Served::start(dir.path());
    let first = runtime.block_on(daemon.client(dir.path()));
    let listed = runtime.block_on(first.must("memory_list", json!({ "limit": 1 })));
    let arguments = json!({ "ids": [listed["memories"][0]["id"]] });
    let mut group = criterion.benchmark_group("round trip");
    group.sample_size(20).warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(3));
    for n_connections in CONNECTIONS {
        let agents: Vec<Agent> =
            (0..n_connections).map(|_| runtime.block_on(daemon.client(dir.path()))).collect();
        group.throughput(Throughput::Elements(n_connections));
        group.bench_function(BenchmarkId::new("connections", n_connections), |bencher| {
            bencher.iter(|| {
                let calls = agents.iter().map(|agent| agent.must("memory_get", arguments.clone()));
                runtime.block_on(futures::future::join_all(calls))
            });
        });
    }
    let mut bridge = runtime.block_on(async {
        let mut connect = command(dir.path(), "connect");
        connect.args(["--no-start", "--agent", "bench"]);
        let mut bridge = Bridge::start(connect);
        bridge.initialize().await;
        bridge
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("through a bridge", |bencher| {
        bencher
            .iter(|| -> Value { runtime.block_on(bridge.tool("memory_get", arguments.clone())) });
    });
    runtime.block_on(bridge.close());
    daemon.stop();
    group.finish();
}

criterion_group!(benches, round_trips);
criterion_main!(benches);
