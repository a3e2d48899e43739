//! Scan against graph: from how many rows, and for which filters, is the graph worth building?
//!
//! `cargo bench --bench vectors` prints recall@10 after f32 rescoring, the CPU time of a build, and
//! then the CPU time of a search for each size, filter and number of candidates (30 serve a caller
//! who wants 10 hits; 400 is what the ranking of a search takes). CPU time, because it hardly
//! depends on what else the machine does. Vectors are seeded, 384 dimensions with a decaying
//! spectrum like that of embeddings, in 1,000 clusters round 50 topics.
#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "criterion's macros make undocumented items; a bench prints, and panics on a wrong index"
)]

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ThreadTime;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use recalld::domain::embedding::Vector;
use recalld::domain::id::MemoryId;
use recalld::domain::limits::{RESCORED_MIN, VECTOR_CANDIDATES_MAX};
use recalld::index::vectors::graph::{Graph, GraphSearch, RowsCopy};
use recalld::index::vectors::rows::{Code, Rows};
use recalld::index::vectors::scan::Scan;
use recalld::index::vectors::search::{Query, Searcher};

const DIMENSION: usize = 384;
const SEED: u64 = 20_261_129;
const SIZES: [u32; 3] = [10_000, 30_000, 50_000];
/// What a filter keeps, in percent.
const KEPT: [u32; 3] = [100, 50, 5];
const N_QUERIES: usize = 50;

/// Numbers that follow from a seed (`SplitMix64`, Steele et al. 2014).
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn pick<'a>(&mut self, vectors: &'a [Vector]) -> &'a Vector {
        let n = u64::try_from(vectors.len()).unwrap_or(1);
        &vectors[usize::try_from(self.next() % n).unwrap_or(0)]
    }

    /// A vector of length 1 near `centre`; the later coordinates vary less.
    fn near(&mut self, centre: &[f32], noise: f32) -> Vector {
        let mut normal =
            || (0..6).map(|_| (self.next() >> 40) as f32 / (1 << 24) as f32).sum::<f32>() - 3.0;
        let spread = |coordinate: u16| noise / (1.0 + f32::from(coordinate) / 16.0);
        let moved: Vec<f32> = (0..).zip(centre).map(|(at, x)| x + spread(at) * normal()).collect();
        let length = moved.iter().map(|x| x * x).sum::<f32>().sqrt();
        moved.iter().map(|x| x / length).collect()
    }
}

struct World {
    vectors: Vec<Vector>,
    queries: Vec<Vector>,
    rows: Rows,
    graph: Graph,
}

impl World {
    fn new(size: u32) -> Self {
        let mut random = Seeded(SEED);
        let topics: Vec<Vector> = (0..50).map(|_| random.near(&[0.0; DIMENSION], 1.0)).collect();
        let centres: Vec<Vector> = (0..1_000)
            .map(|_| {
                let topic = Arc::clone(random.pick(&topics));
                random.near(&topic, 0.15)
            })
            .collect();
        let mut vector = || {
            let centre = Arc::clone(random.pick(&centres));
            random.near(&centre, 0.12)
        };
        let queries = (0..N_QUERIES).map(|_| vector()).collect();
        let vectors: Vec<Vector> = (0..size).map(|_| vector()).collect();
        let mut rows = Rows::default();
        for (slot, vector) in (0..size).zip(&vectors) {
            rows.put(id(slot), slot, std::slice::from_ref(vector));
        }
        let start = ThreadTime::now();
        let graph = Graph::build(RowsCopy::of(&rows), &|| true)
            .unwrap_or_else(|| unreachable!("nothing stops it"));
        println!("{size} rows: graph built in {:.1} s", start.elapsed().as_secs_f64());
        Self { vectors, queries, rows, graph }
    }

    fn searchers(&self) -> [(&'static str, Box<dyn Searcher + '_>); 2] {
        let graph = GraphSearch { rows: &self.rows, graph: &self.graph };
        [("scan", Box::new(Scan(&self.rows))), ("graph", Box::new(graph))]
    }

    /// Share of the true ten best among the ten best after rescoring.
    fn recall_at_10(&self, searcher: &dyn Searcher, kept: u32, wanted: usize) -> f64 {
        let mut n_found = 0;
        for query in &self.queries {
            let all = 0..u32::try_from(self.vectors.len()).unwrap_or(0);
            let truth = self.best_10(all.filter(|slot| keeps(kept, *slot)), query);
            let found = searcher.search(&question(query, wanted, &|slot| keeps(kept, slot)));
            let found = self.best_10(found.best.iter().map(|candidate| candidate.slot), query);
            n_found += found.intersection(&truth).count();
        }
        n_found as f64 / (10 * self.queries.len()) as f64
    }

    fn best_10(&self, slots: impl Iterator<Item = u32>, query: &Vector) -> HashSet<u32> {
        let cosine =
            |slot: u32| self.vectors[slot as usize].iter().zip(&**query).map(|(x, y)| x * y).sum();
        let mut scored: Vec<(f32, u32)> = slots.map(|slot| (cosine(slot), slot)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.into_iter().take(10).map(|(_, slot)| slot).collect()
    }
}

fn id(slot: u32) -> MemoryId {
    MemoryId::from_u128(slot.into())
}

fn keeps(percent: u32, slot: u32) -> bool {
    slot.wrapping_mul(2_654_435_761) % 100 < percent
}

fn question<'a>(
    vector: &Vector,
    wanted: usize,
    accepts: &'a (dyn Fn(u32) -> bool + Sync),
) -> Query<'a> {
    Query { code: Code::of(vector), wanted, accepts }
}

fn scan_against_graph(criterion: &mut Criterion) {
    for size in SIZES {
        let world = World::new(size);
        for wanted in [RESCORED_MIN, VECTOR_CANDIDATES_MAX] {
            let mut group = criterion.benchmark_group(format!("{size} rows, {wanted} candidates"));
            group.sample_size(20).warm_up_time(Duration::from_millis(300));
            group.measurement_time(Duration::from_secs(1));
            for (name, searcher) in world.searchers() {
                for kept in KEPT {
                    let recall = world.recall_at_10(&*searcher, kept, wanted);
                    println!("{name}, {kept} % kept: recall@10 {recall:.3}");
                    let mut queries = world.queries.iter().cycle();
                    let accepts = |slot| keeps(kept, slot);
                    group.bench_function(BenchmarkId::new(name, kept), |bencher| {
                        bencher.iter_custom(|n_searches| {
                            let start = ThreadTime::now();
                            for query in queries.by_ref().take(n_searches as usize) {
                                black_box(searcher.search(&question(query, wanted, &accepts)));
                            }
                            start.elapsed()
                        });
                    });
                }
            }
            group.finish();
        }
    }
}

criterion_group!(benches, scan_against_graph);
criterion_main!(benches);
