//! Time to embed with the bundled model: a question, a memory, and a full batch of memories.
//!
//! `cargo bench --bench embed`. Texts are English sentences of two lengths; none comes twice, so that
//! no cache answers.
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

use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recalld::clock::SystemClock;
use recalld::domain::limits::EMBED_BATCH_MAX;
use recalld::embed::{self, Choice, Surroundings};
use recalld::ports::Embedder as _;
use tokio::runtime::Runtime;

const SENTENCES: [&str; 4] = [
    "The ferry leaves the harbour a little earlier than the timetable on the pier says",
    "Mara repairs the crane at the north quay and keeps the spare parts under the stairs",
    "The lighthouse keeper drinks oolong in the evening and orders lamp oil in autumn",
    "A storm tore the awning of the fish market and nobody has found the other half",
];

/// A text of `n_sentences` that was not given before.
fn text(number: &mut usize, n_sentences: usize) -> Arc<str> {
    *number += 1;
    let sentences = (0..n_sentences).map(|n| SENTENCES[(*number + n) % SENTENCES.len()]);
    format!("{number}: {}", sentences.collect::<Vec<_>>().join(". ")).into()
}

fn embedding(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let surroundings = Surroundings::bare(1, Arc::new(SystemClock::new()));
    let model = embed::start(Choice::Bundled, surroundings);
    let mut number = 0;
    // It has loaded when it answers.
    runtime.block_on(model.embed_query(text(&mut number, 1))).unwrap();
    let mut group = criterion.benchmark_group("bundled model");
    group.sample_size(20).warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(3));
    group.bench_function("a question of 15 words", |bencher| {
        bencher.iter(|| runtime.block_on(model.embed_query(text(&mut number, 1))).unwrap());
    });
    group.bench_function("a memory of 300 characters", |bencher| {
        bencher.iter(|| {
            let texts = vec![text(&mut number, 4)];
            runtime.block_on(model.embed_documents(texts)).unwrap()
        });
    });
    group.throughput(Throughput::Elements(EMBED_BATCH_MAX as u64));
    group.bench_function(format!("{EMBED_BATCH_MAX} memories of 300 characters"), |bencher| {
        bencher.iter(|| {
            let texts = (0..EMBED_BATCH_MAX).map(|_| text(&mut number, 4)).collect();
            runtime.block_on(model.embed_documents(texts)).unwrap()
        });
    });
    model.close();
    group.finish();
}

criterion_group!(benches, embedding);
criterion_main!(benches);
