//! One list of tests, run once with scans alone and once with graphs under everything.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::graph::{Graph, GraphSearch, RowsCopy};
use super::rows::{Code, Rows};
use super::scan::Scan;
use super::search::{Query, Searcher};
use super::{Agreement, Candidate, Nearest, VectorIndex};
use crate::clock::ManualClock;
use crate::domain::embedding::{Embedded, SpaceId, Vector};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::memory::Memory;
use crate::index::catalog::Catalog;
use crate::index::fixtures::{Seeded, memory};

const SPACE: SpaceId = SpaceId(1);
const DIMENSION: usize = 48;
const SEED: u64 = 20_261_129;

fn id(number: u128) -> MemoryId {
    MemoryId::from_u128(number)
}

fn embedded(chunks: &[Vector]) -> Embedded {
    Embedded { space: SPACE, chunks: chunks.to_vec() }
}

/// An index with its catalog, and the truth beside it.
struct World {
    graph_from: usize,
    catalog: Catalog,
    index: Arc<VectorIndex>,
    clock: Arc<ManualClock>,
    truth: HashMap<MemoryId, (Memory, Vec<Vector>)>,
    centres: Vec<Vector>,
    random: Seeded,
}

impl World {
    fn new(graph_from: usize) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let index = VectorIndex::new(graph_from, clock.clone());
        let catalog = Catalog::default();
        index.begin(SPACE, &catalog);
        index.end_pass();
        println!("seed {SEED}");
        let mut random = Seeded(SEED);
        let centres = (0..40).map(|_| random.near(&[0.0; DIMENSION], 1.0)).collect();
        Self { graph_from, catalog, index, clock, truth: HashMap::new(), centres, random }
    }

    /// `n` memories in `namespace`, tagged `half` and `few` (1 in 20), every seventh long.
    fn filled(graph_from: usize, n: u128) -> Self {
        let mut world = Self::new(graph_from);
        world.fill("user", 0..n);
        world.build();
        world
    }

    fn fill(&mut self, namespace: &str, numbers: std::ops::Range<u128>) {
        for number in numbers {
            let mut memory = memory(id(number), namespace, "text");
            if number % 2 == 0 {
                memory.tags.push("half".to_owned());
            }
            if number % 20 == 0 {
                memory.tags.insert(0, "few".to_owned());
            }
            let n_chunks = if number % 7 == 0 { 3 } else { 1 };
            let chunks = (0..n_chunks).map(|_| self.vector()).collect();
            self.put(memory, chunks);
        }
    }

    fn vector(&mut self) -> Vector {
        let centre = self.random.below(self.centres.len());
        let centre = Arc::clone(&self.centres[centre]);
        self.random.near(&centre, 0.12)
    }

    /// Stores a memory with its vectors, as a commit does.
    fn put(&mut self, memory: Memory, chunks: Vec<Vector>) {
        let slot = self.catalog.put(&memory);
        let entry = self.catalog.entry(slot).unwrap();
        let embedded = Some(embedded(&chunks)).filter(|_| !chunks.is_empty());
        self.index.put(slot, entry, true, embedded.as_ref());
        self.truth.insert(memory.id, (memory, chunks));
    }

    fn remove(&mut self, id: MemoryId) {
        let (slot, entry) = self.catalog.remove(id).unwrap();
        self.index.remove(slot, &entry);
        self.truth.remove(&id);
    }

    fn build(&self) {
        if self.graph_from == 0 {
            self.index.build_graphs();
        }
    }

    fn nearest(&self, filter: &Filter, query: &[f32], wanted: usize) -> Nearest {
        let compiled = self.catalog.compile(filter);
        self.index.search(&self.catalog, &compiled, query, wanted, &[])
    }

    /// The answer after rescoring: 10 ids, from at least 30 candidates.
    fn top_10(&self, filter: &Filter, query: &[f32]) -> Vec<MemoryId> {
        let nearest = self.nearest(filter, query, 30);
        let ids = nearest.best.iter().map(|candidate| candidate.id);
        ranked(ids.map(|id| (id, self.exact_cosine(id, query).0)), 10)
    }

    fn exact_cosine(&self, id: MemoryId, query: &[f32]) -> (f32, u32) {
        let cosine = |v: &Vector| v.iter().zip(query).map(|(x, y)| x * y).sum::<f32>();
        let cosines = self.truth[&id].1.iter().map(cosine).zip(0_u32..);
        cosines.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
    }

    /// Everything under the filter by a plain f32 search.
    fn exact(&self, filter: &Filter, query: &[f32], k: usize) -> Vec<MemoryId> {
        let matching = self
            .truth
            .values()
            .filter(|(memory, chunks)| filter.matches(memory) && !chunks.is_empty());
        ranked(matching.map(|(memory, _)| (memory.id, self.exact_cosine(memory.id, query).0)), k)
    }

    /// Share of the true ten best that are found, over 40 questions; no answer may be foreign.
    #[track_caller]
    fn check_recall(&mut self, filter: &Filter) {
        let (mut n_found, mut n_true) = (0, 0);
        for _ in 0..40 {
            let query = self.vector();
            let truth: HashSet<MemoryId> = self.exact(filter, &query, 10).into_iter().collect();
            let found = self.top_10(filter, &query);
            assert_eq!(found.len(), truth.len(), "as many as there are");
            assert!(found.iter().all(|id| filter.matches(&self.truth[id].0)), "a foreign hit");
            n_found += found.iter().filter(|id| truth.contains(id)).count();
            n_true += truth.len();
        }
        let recall = n_found as f64 / n_true as f64;
        assert!(recall >= 0.99, "recall@10 {recall:.3}");
    }
}

fn ranked(scored: impl Iterator<Item = (MemoryId, f32)>, k: usize) -> Vec<MemoryId> {
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.into_iter().map(|(id, _)| id).take(k).collect()
}

fn within(namespaces: &[&str]) -> Filter {
    let namespaces = namespaces.iter().map(|name| name.parse().unwrap()).collect();
    Filter { namespaces, ..Filter::default() }
}

fn tagged(tag: &str) -> Filter {
    Filter { tags: vec![tag.to_owned()], ..within(&["user"]) }
}

fn the_best_ten_are_those_of_an_exact_search(graph_from: usize) {
    let mut world = World::filled(graph_from, 900);
    assert_eq!(world.index.n_graphs(), usize::from(graph_from == 0));
    world.check_recall(&within(&["user"]));
}

fn filters_are_kept_whatever_they_let_through(graph_from: usize) {
    let mut world = World::filled(graph_from, 900);
    for tag in ["half", "few"] {
        world.check_recall(&tagged(tag));
    }
    assert!(world.top_10(&tagged("none"), &[0.5; DIMENSION]).is_empty());
    assert!(world.nearest(&Filter::default(), &[0.5; DIMENSION], 10).best.is_empty());
}

fn a_memory_is_found_by_its_best_chunk(graph_from: usize) {
    let world = World::filled(graph_from, 700);
    let mut n_later = 0;
    for number in (0..700).step_by(7) {
        for chunk in 0..3_u32 {
            let query = Arc::clone(&world.truth[&id(number)].1[chunk as usize]);
            let best = world.nearest(&within(&["user"]), &query, 30).best;
            let found: Vec<_> = best.iter().filter(|c| c.id == id(number)).collect();
            assert_eq!(found.len(), 1, "one hit a memory, though three chunks may match");
            assert_eq!(found[0].chunk, world.exact_cosine(id(number), &query).1);
            n_later += u32::from(found[0].chunk > 0);
        }
    }
    assert_eq!(n_later, 200);
}

fn namespaces_are_searched_together_and_never_mixed(graph_from: usize) {
    let mut world = World::filled(graph_from, 400);
    world.fill("shared/team", 1_000..1_400);
    world.fill("agent/other", 2_000..2_400);
    world.build();
    world.check_recall(&within(&["user", "shared/team"]));
    world.check_recall(&within(&["agent/other"]));
    let all: Vec<MemoryId> = world.truth.keys().copied().collect();
    let compiled = world.catalog.compile(&within(&["agent/other"]));
    let query = world.vector();
    let also = world.index.search(&world.catalog, &compiled, &query, 10, &all).also;
    assert_eq!(also.len(), 400);
    assert!(also.iter().all(|candidate| candidate.id >= id(2_000)));
}

fn changes_take_effect_at_once(graph_from: usize) {
    let mut world = World::filled(graph_from, 1_000);
    for number in (0..1_000).step_by(9) {
        world.remove(id(number));
    }
    for number in (0..1_000).step_by(8).filter(|number| number % 9 != 0) {
        let chunks = vec![world.vector(), world.vector()];
        world.put(memory(id(number), "user", "new text"), chunks);
    }
    world.fill("user", 5_000..5_150);
    // Checked before any rebuild: with dead points and fresh rows about.
    world.check_recall(&within(&["user"]));
    world.check_recall(&tagged("half"));
    world.build();
    world.check_recall(&within(&["user"]));
}

fn the_last_memories_can_be_removed(graph_from: usize) {
    let mut world = World::filled(graph_from, 50);
    for number in 0..50 {
        world.remove(id(number));
    }
    assert!(world.nearest(&within(&["user"]), &[0.5; DIMENSION], 10).best.is_empty());
    world.build();
    world.fill("user", 0..60);
    world.build();
    world.check_recall(&within(&["user"]));
}

fn a_new_text_without_vectors_has_no_old_ones(graph_from: usize) {
    let mut world = World::filled(graph_from, 100);
    world.put(memory(id(3), "user", "new text"), Vec::new());
    let query = world.vector();
    let nearest = world.nearest(&within(&["user"]), &query, 200);
    assert_eq!((nearest.best.len(), nearest.n_pending), (99, 1));
    assert!(nearest.best.iter().all(|candidate| candidate.id != id(3)));
    // Another attribute alone leaves the rows in place.
    let mut changed = world.truth[&id(5)].0.clone();
    changed.tags = vec!["new".to_owned()];
    let slot = world.catalog.put(&changed);
    world.index.put(slot, world.catalog.entry(slot).unwrap(), false, None);
    assert_eq!(world.nearest(&tagged("new"), &query, 10).best.len(), 1);
}

fn pending_memories_are_counted_under_the_filter(graph_from: usize) {
    let mut world = World::filled(graph_from, 100);
    for number in 200..210 {
        let namespace = if number < 206 { "user" } else { "shared/team" };
        let mut memory = memory(id(number), namespace, "text");
        memory.tags = if number == 200 { vec!["half".to_owned()] } else { Vec::new() };
        world.put(memory, Vec::new());
    }
    let n_pending =
        |world: &World, filter: &Filter| world.nearest(filter, &[0.5; DIMENSION], 10).n_pending;
    assert_eq!(n_pending(&world, &within(&["user"])), 6);
    assert_eq!(n_pending(&world, &tagged("half")), 1);
    assert_eq!(world.index.n_pending(), 10);
    let vector = world.vector();
    let (slot, entry) = world.catalog.find(id(200)).unwrap();
    world.index.put(slot, entry, false, Some(&embedded(&[vector])));
    world.remove(id(201));
    assert_eq!(n_pending(&world, &within(&["user"])), 4);
}

fn mean_and_deviation_are_those_of_the_whole_namespace(graph_from: usize) {
    let mut world = World::filled(graph_from, 1_000);
    world.fill("shared/team", 1_000..1_300);
    world.build();
    let query = world.vector();
    let cosines: Vec<f64> =
        world.truth.keys().map(|id| f64::from(world.exact_cosine(*id, &query).0)).collect();
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    let square = cosines.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / cosines.len() as f64;
    let filter = Filter { tags: vec!["few".to_owned()], ..within(&["user", "shared/team"]) };
    let moments = world.nearest(&filter, &query, 10).moments;
    assert!((moments.mean() - mean).abs() < 0.003, "{} {mean}", moments.mean());
    assert!((moments.deviation() - square.sqrt()).abs() < 0.003, "{moments:?} {square}");
}

fn ties_are_broken_by_id(graph_from: usize) {
    let mut world = World::new(graph_from);
    world.fill("user", 100..300);
    let vector = world.vector();
    for number in (0..12).rev() {
        world.put(memory(id(number), "user", "text"), vec![Arc::clone(&vector)]);
    }
    world.build();
    let found = world.nearest(&within(&["user"]), &vector, 12).best;
    assert_eq!(found.iter().map(|c| c.id).collect::<Vec<_>>(), (0..12).map(id).collect::<Vec<_>>());
}

fn odd_vectors_do_no_harm(graph_from: usize) {
    let mut world = World::filled(graph_from, 100);
    let odd: [Vector; 2] = [Arc::from([0.0; DIMENSION]), Arc::from([f32::NAN; DIMENSION])];
    for (number, vector) in (200..).zip(&odd) {
        world.put(memory(id(number), "user", "text"), vec![Arc::clone(vector)]);
    }
    // Of another dimension: refused, and so without rows.
    let (slot, entry) = world.catalog.find(id(7)).unwrap();
    world.index.put(slot, entry, true, Some(&embedded(&[Arc::from([1.0; 3])])));
    world.build();
    for query in odd {
        let nearest = world.nearest(&within(&["user"]), &query, 200);
        assert_eq!((nearest.best.len(), nearest.n_pending), (101, 1));
        assert!(nearest.best.iter().all(|candidate| candidate.cosine.abs() < 1e-6));
    }
}

macro_rules! both_ways {
    ($($name:ident,)+) => {
        mod by_scan { $(#[test] fn $name() { super::$name(usize::MAX); })+ }
        mod by_graph { $(#[test] fn $name() { super::$name(0); })+ }
    };
}

both_ways! {
    the_best_ten_are_those_of_an_exact_search,
    filters_are_kept_whatever_they_let_through,
    a_memory_is_found_by_its_best_chunk,
    namespaces_are_searched_together_and_never_mixed,
    changes_take_effect_at_once,
    the_last_memories_can_be_removed,
    a_new_text_without_vectors_has_no_old_ones,
    pending_memories_are_counted_under_the_filter,
    mean_and_deviation_are_those_of_the_whole_namespace,
    ties_are_broken_by_id,
    odd_vectors_do_no_harm,
}

#[test]
fn the_graph_itself_answers_and_not_the_scan_behind_it() {
    let mut random = Seeded(SEED);
    let mut rows = Rows::default();
    let centres: Vec<Vector> = (0..20).map(|_| random.near(&[0.0; DIMENSION], 1.0)).collect();
    let mut vector = move || {
        let centre = random.below(20);
        random.near(&centres[centre], 0.12)
    };
    for number in 0..600 {
        assert!(rows.put(id(number.into()), number, &[vector()]));
    }
    let graph = Graph::build(RowsCopy::of(&rows), &|| true).unwrap();
    let (mut n_same, mut n_even) = (0, 0);
    for _ in 0..30 {
        let query = Query { code: Code::of(&vector()), wanted: 10, accepts: &|slot| slot % 2 == 0 };
        let scanned = Scan(&rows).search(&query).best;
        let found = GraphSearch { rows: &rows, graph: &graph }.search(&query).best;
        assert_eq!(found.len(), 10);
        n_even += found.iter().filter(|c| c.slot % 2 == 0).count();
        let same = |c: &&Candidate| scanned.iter().any(|s| s.id == c.id);
        n_same += found.iter().filter(same).count();
    }
    assert_eq!(n_even, 300);
    assert!(n_same >= 297, "{n_same} of 300");
}

#[test]
fn what_changes_during_a_build_is_in_effect_after_it() {
    let mut world = World::filled(0, 300);
    for number in 0..100 {
        world.remove(id(number));
    }
    let namespace = world.index.due().expect("a third of the points are dead");
    let replacement = world.vector();
    let index = Arc::clone(&world.index);
    let step = std::cell::Cell::new(0);
    let (removed_slot, removed) = world.catalog.remove(id(150)).unwrap();
    let (changed_slot, changed) = world.catalog.find(id(151)).unwrap();
    let changes = || {
        step.set(step.get() + 1);
        if step.get() == 50 {
            index.remove(removed_slot, &removed);
            index.put(changed_slot, changed, true, Some(&embedded(&[Arc::clone(&replacement)])));
        }
        true
    };
    assert!(world.index.build(namespace, &changes));
    world.truth.remove(&id(150));
    world.truth.get_mut(&id(151)).unwrap().1 = vec![Arc::clone(&replacement)];
    assert_eq!(world.top_10(&within(&["user"]), &replacement)[0], id(151));
    world.check_recall(&within(&["user"]));
}

#[test]
fn a_graph_is_rebuilt_when_a_fifth_is_dead_or_fresh_and_dropped_when_small() {
    let mut world = World::new(100);
    world.fill("user", 1..100);
    // Every seventh memory has three chunks: 99 memories, 127 rows.
    world.index.build_graphs();
    assert_eq!(world.index.n_graphs(), 1);
    world.fill("user", 101..120);
    assert_eq!(world.index.due(), None, "19 of 118 are fresh");
    world.fill("user", 120..130);
    assert!(world.index.due().is_some(), "29 of 128 are fresh");
    world.index.build_graphs();
    for number in 1..60 {
        world.remove(id(number));
    }
    assert!(world.index.due().is_some());
    world.index.build_graphs();
    assert_eq!((world.index.n_graphs(), world.index.due()), (0, None));
}

#[test]
fn a_stopped_build_leaves_no_graph() {
    let mut world = World::new(0);
    world.fill("user", 0..50);
    let namespace = world.index.due().unwrap();
    assert!(!world.index.build(namespace, &|| false));
    assert_eq!(world.index.n_graphs(), 0);
    world.check_recall(&within(&["user"]));
}

#[test]
fn the_daemon_is_idle_only_after_a_quiet_while() {
    let world = World::new(usize::MAX);
    let second = Duration::from_secs(1);
    world.clock.advance(second * 5);
    assert!(world.index.is_idle_for(second));
    world.nearest(&within(&["user"]), &[0.5; DIMENSION], 10);
    assert!(!world.index.is_idle_for(second));
    world.clock.advance(second);
    assert!(world.index.is_idle_for(second));
    world.index.close();
}

#[test]
fn what_a_commit_touches_is_not_overwritten_by_the_scan() {
    let mut world = World::new(usize::MAX);
    let (old, new) = (world.vector(), world.vector());
    for number in 0..3 {
        world.catalog.put(&memory(id(number), "user", "text"));
    }
    world.index.begin(SPACE, &world.catalog);
    assert_eq!(world.index.n_pending(), 3);
    // While the store is scanned: one memory gets a new text, one is forgotten.
    let (slot, entry) = world.catalog.find(id(0)).unwrap();
    world.index.put(slot, entry, true, Some(&embedded(&[Arc::clone(&new)])));
    let (slot, entry) = world.catalog.remove(id(1)).unwrap();
    world.index.remove(slot, &entry);
    let stored = embedded(&[old]);
    let page: Vec<_> = (0..3).map(|number| (id(number), stored.clone())).collect();
    world.index.load(&world.catalog, &page);
    world.index.end_pass();
    assert_eq!(world.index.ids(), [id(0), id(2)].into());
    assert_eq!(world.index.n_pending(), 0);
    let entry = world.catalog.get(id(0)).unwrap();
    assert_eq!(world.index.compare(entry, Some(&embedded(&[new]))), Agreement::Same);
    assert_eq!(world.index.compare(entry, Some(&stored)), Agreement::Different);
}

proptest! {
    /// Rows are what was put last and not removed, in whatever order that happened.
    #[test]
    fn rows_agree_with_a_map(
        steps in prop::collection::vec((0_u128..12, 0_usize..4, any::<u64>()), 1..120),
    ) {
        let mut rows = Rows::default();
        let mut map: HashMap<MemoryId, Vec<Vector>> = HashMap::new();
        for (number, n_chunks, seed) in steps {
            let mut random = Seeded(seed);
            let chunks: Vec<Vector> =
                (0..n_chunks).map(|_| random.near(&[0.0; 5], 1.0)).collect();
            if chunks.is_empty() {
                prop_assert_eq!(rows.remove(id(number)), map.remove(&id(number)).is_some());
            } else {
                prop_assert!(rows.put(id(number), 0, &chunks));
                map.insert(id(number), chunks);
            }
            prop_assert_eq!(rows.len(), map.values().map(Vec::len).sum::<usize>());
            prop_assert_eq!(rows.members().len(), map.len());
            for (id, chunks) in &map {
                prop_assert!(rows.agrees_with(*id, chunks));
            }
        }
    }

    /// The cosine of two int8 rows is that of the vectors, nearly.
    #[test]
    fn quantising_changes_a_cosine_by_less_than_a_hundredth(seed in any::<u64>()) {
        let mut random = Seeded(seed);
        let (a, b) = (random.near(&[0.0; 384], 1.0), random.near(&[0.0; 384], 1.0));
        let exact: f32 = a.iter().zip(b.iter()).map(|(x, y)| x * y).sum();
        let (a, b) = (Code::of(&a), Code::of(&b));
        let coded = super::rows::cosine(&a, &b.values, b.scale);
        prop_assert!((coded - exact).abs() < 0.01, "{} {}", coded, exact);
    }
}
