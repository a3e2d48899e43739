//! Time of a search at 1,000, 10,000 and 100,000 memories: the arms alone, and the use case with both
//! arms, ranking and records; unfiltered and under filters that keep 50 %, 5 % and 0.5 %.
//!
//! `cargo bench --bench recall`; `RECALLD_BENCH_DIR` keeps the filled directories between runs. The
//! model is the seeded one: its vectors cost nothing to make, so what is measured is ours.
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

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use recalld::clock::SystemClock;
use recalld::domain::embedding::{SpaceId, Vector};
use recalld::domain::filter::Filter;
use recalld::domain::limits::{TEXT_CANDIDATES_MAX, VECTOR_CANDIDATES_MAX};
use recalld::domain::text::query::read;
use recalld::embed::{self, Choice, Surroundings};
use recalld::index::{EmbeddedIndex, IndexSettings};
use recalld::ports::{Candidates as _, Clock as _, Embedder as _, Snapshot, Store};
use recalld::service::recall::RecallRequest;
use recalld::service::scope::Scope;
use recalld::store::{RedbStore, StoreSettings};
use tokio::runtime::Runtime;

const SIZES: [u64; 3] = [1_000, 10_000, 100_000];
const N_QUESTIONS: u64 = 100;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// The tag asked for, if any, and what it keeps.
fn filters() -> impl Iterator<Item = (Option<&'static str>, &'static str)> {
    let tagged = filled::TAGS.iter().map(|(tag, _, kept)| (Some(*tag), *kept));
    [(None, "all")].into_iter().chain(tagged)
}

/// Store and index without the use cases above them.
struct Arms {
    store: Arc<RedbStore>,
    index: Arc<EmbeddedIndex>,
    snapshot: Arc<dyn Snapshot>,
    space: SpaceId,
    questions: Vec<(String, Vector)>,
}

impl Arms {
    async fn open(dir: &Path) -> Self {
        let engine = filled::open(dir, "seeded");
        let space = engine.load().await.unwrap().unwrap();
        engine.close();
        drop(engine);
        let clock = Arc::new(SystemClock::new());
        let state = dir.join("state");
        let settings = StoreSettings { cache_bytes: 64 << 20 };
        let store = Arc::new(RedbStore::open(&state, settings, clock.now()).unwrap());
        let settings = IndexSettings::default();
        let index = EmbeddedIndex::open(&state.join("index"), settings, clock.clone());
        store.subscribe(index.clone());
        index.load(store.clone(), Some(space)).await.unwrap();
        let snapshot = store.snapshot().await.unwrap();
        let surroundings = Surroundings::bare(1, clock.clone());
        let model = embed::start(Choice::Seeded, surroundings);
        let mut questions = Vec::new();
        for number in 0..N_QUESTIONS {
            let question = filled::question(number);
            let vector = model.embed_query(Arc::from(question.as_str())).await.unwrap();
            questions.push((question, vector));
        }
        Self { store, index, snapshot, space, questions }
    }

    fn bench(&self, group: &mut Group<'_>, runtime: &Runtime) {
        for (tag, kept) in filters() {
            let filter = Filter {
                namespaces: vec!["user".parse().unwrap()],
                tags: tag.map(str::to_owned).into_iter().collect(),
                ..Filter::default()
            };
            let mut questions = self.questions.iter().cycle();
            group.bench_function(BenchmarkId::new("words", kept), |bencher| {
                bencher.iter(|| {
                    let query = read(&questions.next().unwrap().0);
                    let (snapshot, k) = (&self.snapshot, TEXT_CANDIDATES_MAX);
                    runtime.block_on(self.index.by_text(snapshot, query, &filter, k)).unwrap()
                });
            });
            let mut questions = self.questions.iter().cycle();
            group.bench_function(BenchmarkId::new("vectors", kept), |bencher| {
                bencher.iter(|| {
                    let vector = Arc::clone(&questions.next().unwrap().1);
                    let (snapshot, space, k) = (&self.snapshot, self.space, VECTOR_CANDIDATES_MAX);
                    let found =
                        self.index.by_vector(snapshot, space, vector, &filter, k, Vec::new());
                    runtime.block_on(found).unwrap()
                });
            });
        }
    }

    fn close(self) {
        let Self { store, index, snapshot, .. } = self;
        drop(snapshot);
        index.close();
        store.close();
    }
}

fn whole(group: &mut Group<'_>, runtime: &Runtime, dir: &Path) {
    let engine = filled::open(dir, "seeded");
    runtime.block_on(engine.load()).unwrap();
    for (tag, kept) in filters() {
        let tags = tag.map(str::to_owned).into_iter().collect();
        let scope = Scope { tags, ..Scope::default() };
        let mut number = 0;
        group.bench_function(BenchmarkId::new("in all", kept), |bencher| {
            bencher.iter(|| {
                number = (number + 1) % N_QUESTIONS;
                let query = filled::question(number);
                let request = RecallRequest { query, scope: scope.clone(), ..Default::default() };
                runtime.block_on(engine.service.recall(&filled::owner(), request)).unwrap()
            });
        });
    }
    engine.close();
}

fn recall(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let (root, _temporary) = filled::root();
    for size in SIZES {
        let dir = root.join(format!("recall-{size}"));
        runtime.block_on(filled::fill(&dir, size));
        let mut group = criterion.benchmark_group(format!("{size} memories"));
        group.sample_size(20).warm_up_time(Duration::from_millis(300));
        group.measurement_time(Duration::from_secs(1));
        let arms = runtime.block_on(Arms::open(&dir));
        arms.bench(&mut group, &runtime);
        arms.close();
        whole(&mut group, &runtime, &dir);
        group.finish();
    }
}

criterion_group!(benches, recall);
criterion_main!(benches);
