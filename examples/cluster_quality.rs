//! How good the clusters are, whether both ways to find them agree, and what they cost.
//!
//! `RECALLD_EVALDATA=DIR cargo run --release --example cluster_quality` reads every
//! `DIR/NAME.memories.jsonl` that the bundled model can read, with the sessions of a conversation as
//! topics, and prints for several eps the clusters by density and then the summaries that are planned
//! of them: how many, their purity (share of memories whose session is the most frequent one of their
//! cluster; beside it that of groups of the same sizes dealt out by chance) and the share left as noise. Then it compares linfa's DBSCAN with the int8 form on 5,000
//! points, and prints what 50,000 generated points take. Without data only the generated part runs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a measuring program: it prints, and a failure is a panic"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cpu_time::ProcessTime;
use recalld::clock::SystemClock;
use recalld::domain::consolidation::{
    Density, Item, Maker, Policy, Said, centre, plan, suggest_eps,
};
use recalld::domain::embedding::ScriptShares;
use recalld::domain::embedding::{Vector, dot};
use recalld::domain::id::MemoryId;
use recalld::domain::measure::{adjusted_rand_index, purity};
use recalld::domain::memory::Kind;
use recalld::embed::{self, Choice, Queue, Surroundings};
use recalld::index::clusters::DensityClusterer;
use recalld::ports::{Clusterer as _, Embedder as _};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

const EPS: [f64; 6] = [0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
const DIAMETERS: [f64; 4] = [0.5, 0.55, 0.6, 0.65];
const N_COMPARED: usize = 5_000;
const N_LARGE: usize = 50_000;
const SEED: u64 = 20_261_130;
const INT8: DensityClusterer = DensityClusterer { exact_max: 0 };
const LINFA: DensityClusterer = DensityClusterer { exact_max: usize::MAX };

#[derive(Deserialize)]
struct Line {
    conv: String,
    id: String,
    time: String,
    text: String,
}

impl Line {
    /// The session, by the first part of the id where there is one, else the day.
    fn topic(&self) -> String {
        let session =
            self.id.split_once(':').map_or(self.time.get(..10).unwrap(), |(first, _)| first);
        format!("{} {session}", self.conv)
    }
}

/// A memory with its session.
struct Labelled {
    item: Item,
    topic: String,
}

#[tokio::main]
async fn main() {
    let surroundings = Surroundings::bare(1, Arc::new(SystemClock::new()));
    let model = embed::start(Choice::Bundled, surroundings);
    let mut real: Vec<(MemoryId, Vector)> = Vec::new();
    for file in sets() {
        let Some(set) = read(&file, &model).await else { continue };
        println!("{} ({} memories)", file.file_stem().unwrap().to_string_lossy(), set.len());
        quality(&set).await;
        real.extend(set.iter().map(|one| (one.item.id, Arc::clone(&one.item.vector))));
    }
    real.truncate(N_COMPARED);
    if real.len() == N_COMPARED {
        compare("real", &real, Policy::default().density()).await;
    }
    let density = Density { eps: 0.3, min_points: 4 };
    compare("generated", &generated(N_COMPARED), density).await;
    large(density).await;
}

fn sets() -> Vec<PathBuf> {
    let Some(dir) = std::env::var_os("RECALLD_EVALDATA") else { return Vec::new() };
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut sets: Vec<PathBuf> =
        files.filter(|path| path.to_string_lossy().ends_with(".memories.jsonl")).collect();
    sets.sort();
    sets
}

/// The memories of a set with vectors; `None` if the model cannot read them.
async fn read(file: &Path, model: &Queue) -> Option<Vec<Labelled>> {
    let text = fs::read_to_string(file).unwrap();
    let lines: Vec<Line> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let latin: f32 = lines.iter().map(|line| ScriptShares::of(&line.text).latin()).sum();
    if latin < 0.5 * lines.len() as f32 {
        return None;
    }
    let mut set = Vec::new();
    for batch in lines.chunks(256) {
        let texts = batch.iter().map(|line| Arc::from(line.text.as_str())).collect();
        let vectors = model.embed_documents(texts).await.unwrap();
        for (line, chunks) in batch.iter().zip(vectors) {
            let time = line.time.parse().unwrap();
            let item = Item {
                id: MemoryId::from_u128(set.len() as u128),
                version: 1,
                namespace: format!("eval/{}", line.conv.to_lowercase()).parse().unwrap(),
                kind: Kind::Event,
                event_time: time,
                said: Said::of(&line.text, time),
                vector: centre(&chunks).unwrap(),
            };
            set.push(Labelled { item, topic: line.topic() });
        }
    }
    Some(set)
}

/// A line for each eps, and for each diameter with the usual eps.
async fn quality(set: &[Labelled]) {
    let mut conversations: BTreeMap<&str, Vec<&Labelled>> = BTreeMap::new();
    for one in set {
        conversations.entry(one.item.namespace.as_str()).or_default().push(one);
    }
    println!(
        "  eps  diameter | clusters  purity  by chance  noise | summaries  purity  by chance  noise  memories in one"
    );
    let usual = Policy::default();
    let by_eps = EPS.map(|eps| Policy { eps, ..usual });
    let by_diameter = DIAMETERS.map(|diameter| Policy { diameter, ..usual });
    for policy in by_eps.into_iter().chain(by_diameter) {
        let (density, planned) = grouped(&conversations, policy).await;
        println!(
            "{:>5} {:>9} | {} | {}  {:>15.1}",
            policy.eps,
            policy.diameter,
            density.told(set.len()),
            planned.told(set.len()),
            planned.members.len() as f64 / planned.n.max(1) as f64,
        );
    }
    let knees: Vec<String> = conversations
        .values()
        .filter_map(|items| {
            let all: Vec<Item> = items.iter().map(|one| one.item.clone()).collect();
            suggest_eps(&all, Policy::default().min_points)
        })
        .map(|eps| format!("{eps:.2}"))
        .collect();
    println!("  eps suggested for each conversation: {}", knees.join(" "));
}

/// Groups of memories.
#[derive(Default)]
struct Groups<'a> {
    n: usize,
    /// The group and the topic of each memory that is in one.
    members: Vec<(usize, &'a str)>,
    /// The same, with the topics of each conversation dealt out anew.
    dealt: Vec<(usize, &'a str)>,
}

impl<'a> Groups<'a> {
    /// Adds the groups of a conversation.
    fn add(&mut self, members: &[(usize, &'a str)], n: usize, random: &mut Seeded) {
        let mut topics: Vec<&str> = members.iter().map(|(_, topic)| *topic).collect();
        for at in (1..topics.len()).rev() {
            topics.swap(at, (random.next() % (at as u64 + 1)) as usize);
        }
        let numbered = |group: usize| group + self.n;
        self.dealt.extend(members.iter().zip(topics).map(|((group, _), t)| (numbered(*group), t)));
        self.members.extend(members.iter().map(|(group, topic)| (numbered(*group), *topic)));
        self.n += n;
    }

    fn told(&self, n_memories: usize) -> String {
        format!(
            "{:>8}  {:>6.3}  {:>9.3}  {:>5.3}",
            self.n,
            purity(&self.members),
            purity(&self.dealt),
            1.0 - self.members.len() as f64 / n_memories as f64
        )
    }
}

/// The clusters by density, and the memories of each planned summary.
async fn grouped<'a>(
    conversations: &BTreeMap<&str, Vec<&'a Labelled>>,
    policy: Policy,
) -> (Groups<'a>, Groups<'a>) {
    let (mut density, mut planned) = (Groups::default(), Groups::default());
    let mut random = Seeded(SEED);
    for items in conversations.values() {
        let all: Vec<Item> = items.iter().map(|one| one.item.clone()).collect();
        let topics: BTreeMap<MemoryId, &str> =
            items.iter().map(|one| (one.item.id, one.topic.as_str())).collect();
        let labels = label(INT8, &points(&all), policy.density()).await;
        let clustered = all.iter().zip(&labels).filter_map(|(item, label)| Some((item, (*label)?)));
        let members: Vec<(usize, &str)> =
            clustered.map(|(item, label)| (label, topics[&item.id])).collect();
        let n_clusters = labels.iter().flatten().max().map_or(0, |last| last + 1);
        density.add(&members, n_clusters, &mut random);
        let maker = Maker { name: "none", is_model: false };
        let tasks = plan(&all, &labels, &[], &policy, maker).tasks;
        let mut members: Vec<(usize, &str)> = Vec::new();
        for (at, task) in tasks.iter().enumerate() {
            members.extend(task.sources().iter().map(|id| (at, topics[id])));
        }
        planned.add(&members, tasks.len(), &mut random);
    }
    (density, planned)
}

fn points(items: &[Item]) -> Vec<(MemoryId, Vector)> {
    items.iter().map(|item| (item.id, Arc::clone(&item.vector))).collect()
}

async fn label(
    clusterer: DensityClusterer,
    points: &[(MemoryId, Vector)],
    density: Density,
) -> Vec<Option<usize>> {
    clusterer.cluster(points.to_vec(), density, CancellationToken::new()).await.unwrap()
}

async fn compare(name: &str, points: &[(MemoryId, Vector)], density: Density) {
    let start = ProcessTime::now();
    let exact = label(LINFA, points, density).await;
    let linfa = start.elapsed();
    let start = ProcessTime::now();
    let coded = label(INT8, points, density).await;
    let int8 = start.elapsed();
    println!(
        "{} {name} points, eps {}: {} clusters, {} noise; adjusted Rand index of linfa and int8 {:.4}; CPU {:.2} s and {:.2} s",
        points.len(),
        density.eps,
        exact.iter().flatten().max().map_or(0, |last| last + 1),
        exact.iter().filter(|label| label.is_none()).count(),
        adjusted_rand_index(&exact, &coded),
        linfa.as_secs_f64(),
        int8.as_secs_f64(),
    );
}

async fn large(density: Density) {
    let points = generated(N_LARGE);
    let before = resident("VmRSS:");
    let start = ProcessTime::now();
    let labels = label(INT8, &points, density).await;
    let clustering = start.elapsed();
    let items: Vec<Item> = points
        .iter()
        .zip(0..)
        .map(|((id, vector), second)| {
            let event_time = jiff::Timestamp::from_second(1_700_000_000 + 600 * second).unwrap();
            Item {
                id: *id,
                version: 1,
                namespace: "user".parse().unwrap(),
                kind: Kind::Event,
                event_time,
                said: Said::of("", event_time),
                vector: Arc::clone(vector),
            }
        })
        .collect();
    let start = ProcessTime::now();
    let policy = Policy { eps: density.eps, ..Policy::default() };
    let planned = plan(&items, &labels, &[], &policy, Maker { name: "none", is_model: false });
    println!(
        "{N_LARGE} generated points: {} clusters, {} noise, {} summaries planned; CPU {:.1} s for the clusters and {:.1} s for the plan; resident {:.0} MB with the vectors, at most {:.0} MB",
        labels.iter().flatten().max().map_or(0, |last| last + 1),
        planned.noise.len(),
        planned.tasks.len(),
        clustering.as_secs_f64(),
        start.elapsed().as_secs_f64(),
        before,
        resident("VmHWM:"),
    );
}

/// A field of `/proc/self/status`, MB.
fn resident(field: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1_000.0
}

/// Vectors of 384 dimensions with a decaying spectrum like that of embeddings, in clusters of about
/// twenty round 50 topics, a tenth of them anywhere.
fn generated(n: usize) -> Vec<(MemoryId, Vector)> {
    let mut random = Seeded(SEED);
    let topics: Vec<Vector> = (0..50).map(|_| random.near(&[0.0; 384], 1.0)).collect();
    let centres: Vec<Vector> =
        (0..n / 20).map(|at| random.near(&Arc::clone(&topics[at % topics.len()]), 0.15)).collect();
    (0..n)
        .map(|at| {
            let centre = &centres[(random.next() % centres.len() as u64) as usize];
            let noise = if at % 10 == 0 { 1.0 } else { 0.1 };
            (MemoryId::from_u128(at as u128), random.near(&Arc::clone(centre), noise))
        })
        .collect()
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

    /// A vector of length 1 near `centre`; the later coordinates vary less.
    fn near(&mut self, centre: &[f32], noise: f32) -> Vector {
        let mut normal =
            || (0..6).map(|_| (self.next() >> 40) as f32 / (1 << 24) as f32).sum::<f32>() - 3.0;
        let spread = |at: usize| noise / (1.0 + at as f32 / 16.0);
        let moved: Vec<f32> =
            centre.iter().enumerate().map(|(at, x)| x + spread(at) * normal()).collect();
        let length = dot(&moved, &moved).sqrt();
        moved.iter().map(|x| x / length).collect()
    }
}
