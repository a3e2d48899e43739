//! A world of items whose plans are carried out, and what must hold of every plan.

mod labelled;
mod laws;
mod life;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::*;

const MODEL: Maker<'_> = Maker { name: "prompt 1, model a", is_model: true };
const EXTRACT: Maker<'_> = Maker { name: "extract 1", is_model: false };
const DAY: i64 = 86_400;

fn id(number: u32) -> MemoryId {
    MemoryId::from_u128(number.into())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn unit(vector: &[f32]) -> Vector {
    let length = dot(vector, vector).sqrt().max(f32::MIN_POSITIVE);
    vector.iter().map(|x| x / length).collect()
}

/// An event that says nothing but its number.
fn event(number: u32, second: i64, vector: &[f32]) -> Item {
    Item {
        id: id(number),
        version: 1,
        namespace: Namespace::user(),
        kind: Kind::Event,
        event_time: at(second),
        said: Said { digest: Said::of(&number.to_string(), at(second)).digest, values: 0 },
        vector: unit(vector),
    }
}

/// Items and live summaries; a plan that is carried out moves items into summaries.
#[derive(Clone)]
struct World {
    policy: Policy,
    items: Vec<Item>,
    summaries: Vec<Summary>,
    n_made: u32,
    /// What the last plan has left.
    left: String,
}

impl World {
    fn new(policy: Policy, items: Vec<Item>) -> Self {
        Self { policy, items, summaries: Vec::new(), n_made: 0, left: String::new() }
    }

    fn with(items: Vec<Item>) -> Self {
        Self::new(Policy::default(), items)
    }

    /// Items without a summary.
    fn loose(&self) -> Vec<Item> {
        let summarised: BTreeSet<MemoryId> = self
            .summaries
            .iter()
            .flat_map(|summary| &summary.sources)
            .map(|item| item.id)
            .collect();
        self.items.iter().filter(|item| !summarised.contains(&item.id)).cloned().collect()
    }

    fn plan(&self, maker: Maker<'_>) -> Plan {
        let loose = self.loose();
        let has_news = fingerprint(&loose) != self.left;
        let labels = if has_news { labels(&loose, &self.policy) } else { Vec::new() };
        plan(&loose, &labels, &self.summaries, &self.policy, maker)
    }

    /// Plans, checks what holds of every plan, and carries it out.
    fn run(&mut self, maker: Maker<'_>) -> Plan {
        let plan = self.plan(maker);
        self.check(&plan);
        let gone: BTreeSet<MemoryId> = plan
            .tasks
            .iter()
            .flat_map(|task| &task.replaces)
            .chain(&plan.withdrawn)
            .copied()
            .collect();
        let known: BTreeMap<MemoryId, Item> =
            self.items.iter().map(|item| (item.id, item.clone())).collect();
        self.summaries.retain(|summary| !gone.contains(&summary.id));
        self.left.clone_from(&plan.left);
        for task in &plan.tasks {
            self.n_made += 1;
            self.summaries.push(Summary {
                id: id(1_000_000 + self.n_made),
                namespace: task.namespace.clone(),
                kind: task.kind,
                sources: task.sources().iter().map(|source| known[source].clone()).collect(),
                fingerprint: Some(task.fingerprint.clone()),
                made_by: Some(maker.name.to_owned()),
            });
        }
        plan
    }

    #[track_caller]
    fn check(&self, plan: &Plan) {
        let known: BTreeMap<MemoryId, &Item> =
            self.items.iter().map(|item| (item.id, item)).collect();
        let (mut sources, mut replaced) = (BTreeSet::new(), BTreeSet::new());
        for task in &plan.tasks {
            for summary in &task.replaces {
                assert!(replaced.insert(*summary), "{summary} is replaced twice");
            }
            let items: Vec<&Item> = task.sources().iter().map(|source| known[source]).collect();
            for item in &items {
                assert!(sources.insert(item.id), "{} has two summaries", item.id);
                assert_eq!((&item.namespace, item.kind), (&task.namespace, task.kind));
                for other in &items {
                    let distance = item.distance(other);
                    assert!(
                        distance <= self.policy.diameter,
                        "{} {} {distance}",
                        item.id,
                        other.id
                    );
                }
            }
            assert_eq!(task.fingerprint, fingerprint(items.iter().copied()));
            if task.why == Why::New {
                assert!(items.len() >= self.policy.size_min, "{task:?}");
                assert!(task.statements.len() <= self.policy.size_max, "{task:?}");
                assert_eq!(task.new_sources, task.sources());
            }
        }
        assert!(plan.noise.iter().all(|id| !sources.contains(id)));
        assert!(replaced.is_disjoint(&plan.withdrawn.iter().copied().collect()));
    }

    /// The sources of each live summary, as numbers.
    fn sources(&self) -> Vec<Vec<u32>> {
        let number = |item: &Item| u32::try_from(item.id.as_u128()).unwrap();
        let mut all: Vec<Vec<u32>> = self
            .summaries
            .iter()
            .map(|summary| summary.sources.iter().map(number).collect())
            .collect();
        all.sort();
        all
    }
}

/// DBSCAN as it is defined, in order of ids, namespace by namespace and kind by kind.
fn labels(items: &[Item], policy: &Policy) -> Vec<Option<usize>> {
    let near = |left: usize, right: usize| {
        let (left, right) = (&items[left], &items[right]);
        left.kind == right.kind
            && left.namespace == right.namespace
            && left.distance(right) < policy.eps
    };
    let of = |item: usize| (0..items.len()).filter(move |other| near(item, *other));
    let mut labels: Vec<Option<usize>> = vec![None; items.len()];
    let mut n_clusters = 0;
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|item| items[*item].id);
    for start in order {
        if labels[start].is_some() || of(start).count() < policy.min_points {
            continue;
        }
        let mut open = vec![start];
        while let Some(item) = open.pop() {
            if labels[item].is_none() {
                labels[item] = Some(n_clusters);
                if of(item).count() >= policy.min_points {
                    open.extend(of(item));
                }
            }
        }
        n_clusters += 1;
    }
    labels
}

/// Numbers that follow from a seed (`SplitMix64`, Steele et al. 2014).
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A vector near one of the axes of a space of `dimension`.
    fn near_axis(&mut self, axis: usize, dimension: usize, noise: f32) -> Vector {
        let mut vector: Vec<f32> = (0..dimension)
            .map(|_| noise * ((self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0))
            .collect();
        vector[axis] += 1.0;
        unit(&vector)
    }
}

/// `n` items numbered from `first` near an axis, an hour apart.
fn topic(random: &mut Seeded, first: u32, n: u32, axis: usize, noise: f32) -> Vec<Item> {
    (first..first + n)
        .map(|number| {
            let vector = random.near_axis(axis, 16, noise);
            Item {
                vector: Arc::clone(&vector),
                ..event(number, i64::from(number) * 3_600, &vector)
            }
        })
        .collect()
}
