//! Time of a search and of a store through the use cases, at 10,000 and 50,000 memories.
//!
//! `cargo bench --bench recall`; `RECALLD_BENCH_DIR` keeps the filled directories between runs. The
//! model is the seeded one: its vectors cost nothing to make, so what is measured is ours.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "a bench: a failure is a panic, and criterion's macros make undocumented items"
)]

mod filled;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use recalld::app::Engine;
use recalld::service::recall::RecallRequest;
use recalld::service::scope::Scope;
use tokio::runtime::Runtime;

const SIZES: [u64; 2] = [10_000, 50_000];
const N_QUESTIONS: u64 = 100;
/// Stores in flight of the bench of group commit.
const N_STORES: u64 = 64;

/// The directories that are filled.
fn root() -> (PathBuf, Option<tempfile::TempDir>) {
    if let Some(dir) = std::env::var_os("RECALLD_BENCH_DIR") {
        return (dir.into(), None);
    }
    let dir = tempfile::tempdir().unwrap();
    (dir.path().to_owned(), Some(dir))
}

fn searches(
    group: &mut BenchmarkGroup<'_, WallTime>,
    runtime: &Runtime,
    engine: &Engine,
    name: &str,
    scope: &Scope,
) {
    let mut number = 0;
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            number = (number + 1) % N_QUESTIONS;
            let query = filled::question(number);
            let request = RecallRequest { query, scope: scope.clone(), ..Default::default() };
            runtime.block_on(engine.service.recall(&filled::owner(), request)).unwrap()
        });
    });
}

fn stores(group: &mut BenchmarkGroup<'_, WallTime>, runtime: &Runtime, engine: &Engine) {
    // Texts that no earlier run has stored.
    let mut number = u64::from(std::process::id()) << 24;
    group.bench_function("one store", |bencher| {
        bencher.iter(|| {
            number += 1;
            let drafts = vec![filled::draft(number)];
            runtime.block_on(engine.service.remember(&filled::owner(), drafts, None)).unwrap()
        });
    });
    group.bench_function(format!("{N_STORES} stores at once"), |bencher| {
        bencher.iter(|| {
            let stores = (0..N_STORES).map(|_| {
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

fn recall(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let (root, _temporary) = root();
    for size in SIZES {
        let dir = root.join(format!("recall-{size}"));
        runtime.block_on(filled::fill(&dir, size));
        let mut group = criterion.benchmark_group(format!("{size} memories"));
        group.sample_size(30).warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(3));
        let everything = Scope::default();
        let tagged = Scope { tags: vec![filled::TAG.to_owned()], ..Scope::default() };

        let engine = filled::open(&dir, "none");
        runtime.block_on(engine.load()).unwrap();
        searches(&mut group, &runtime, &engine, "words only", &everything);
        engine.close();

        let engine = filled::open(&dir, "seeded");
        runtime.block_on(engine.load()).unwrap();
        searches(&mut group, &runtime, &engine, "words and vectors", &everything);
        searches(&mut group, &runtime, &engine, "words and vectors, 5 % kept", &tagged);
        // The smaller directory grows by what is stored, so the larger figure is left to another.
        if size == SIZES[0] {
            stores(&mut group, &runtime, &engine);
        }
        engine.close();
        group.finish();
    }
}

criterion_group!(benches, recall);
criterion_main!(benches);
