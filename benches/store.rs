//! Durable stores with 1, 8 and 64 writers: each stores one memory and waits until it is on the disk;
//! the time is that of all of them, the throughput in memories.
//!
//! `cargo bench --bench store`. The model is the seeded one, so that the figure is that of the store.
//! Writes of a file of the same directory that wait for the disk (`one write`) show what it allows.
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

mod filled;

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tokio::runtime::Runtime;

const WRITERS: [u64; 3] = [1, 8, 64];

fn stores(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let engine = filled::open(dir.path(), "seeded");
    runtime.block_on(engine.load()).unwrap();
    let mut group = criterion.benchmark_group("store");
    group.sample_size(20).warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(3));
    let mut number = 0;
    for n_writers in WRITERS {
        group.throughput(Throughput::Elements(n_writers));
        group.bench_function(BenchmarkId::new("writers", n_writers), |bencher| {
            bencher.iter(|| {
                let stores = (0..n_writers).map(|_| {
                    number += 1;
                    let drafts = vec![filled::draft(number)];
                    let service = Arc::clone(&engine.service);
                    runtime.spawn(async move {
                        service.remember(&filled::owner(), drafts, None).await.unwrap();
                    })
                });
                for store in stores.collect::<Vec<_>>() {
                    runtime.block_on(store).unwrap();
                }
            });
        });
    }
    let mut file = File::create(dir.path().join("probe")).unwrap();
    group.throughput(Throughput::Elements(1));
    group.bench_function("one write", |bencher| {
        bencher.iter(|| {
            file.write_all(&[7; 4_096]).unwrap();
            file.sync_data().unwrap();
        });
    });
    engine.close();
    group.finish();
}

criterion_group!(benches, stores);
criterion_main!(benches);
