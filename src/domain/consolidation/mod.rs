//! Which memories belong into one summary: planning over vectors, density labels and the summaries
//! that are there already. It decides and writes nothing.
//!
//! Density (DBSCAN, Ester et al. 1996) finds where memories lie close together, but it chains: three
//! topics that one mixed note touches come out as one cluster. So a cluster is taken apart again
//! until no two of its memories are farther from each other than the diameter (complete linkage),
//! and only then cut to the size of a summary. What is summarised already is not clustered anew: new
//! evidence joins the summary that it fits.
//!
//! Distances are cosine distances, `1 - cosine`, 0.0..=2.0.

mod draft;
mod knee;
mod linkage;
mod plan;
mod sizes;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;

use super::embedding::{Vector, dot};
use super::grounding::clauses::is_negative;
use super::grounding::values::{Value, read};
use super::id::MemoryId;
use super::likeness::Spread;
use super::memory::{Kind, Memory};
use super::namespace::Namespace;
pub use knee::suggest_eps;
pub use plan::plan;
pub use words::{WORD_DIMENSION, WORD_SPREAD, word_vector};

/// Metadata field of a summary that holds its [`Summary::fingerprint`], a JSON string.
pub const FINGERPRINT_KEY: &str = "fingerprint";
/// Metadata field of a summary that holds its [`Summary::made_by`], a JSON string.
pub const MAKER_KEY: &str = "made_by";

/// Metadata field of a summary that somebody asked for: it is nobody's to extend.
pub const REQUESTED_KEY: &str = "requested";

/// How memories are grouped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Distance up to which two memories are neighbours.
    pub eps: f64,
    /// Neighbours, itself included, that make a memory the core of a cluster.
    pub min_points: usize,
    /// Fewest memories that a summary is made of.
    pub size_min: usize,
    /// Most statements that a summary is made of; at least `2 * size_min - 1`, so that what is too
    /// large can be divided. Memories that only say again what another one says do not count.
    pub size_max: usize,
    /// Largest distance of two memories in one summary.
    pub diameter: f64,
    /// Distance up to which two memories of the same numbers and dates are one statement.
    pub restated: f64,
}

impl Default for Policy {
    /// Chosen on the scale of the bundled model; `examples/cluster_quality.rs` prints what other eps make
    /// of labelled dialogues.
    fn default() -> Self {
        Self { eps: 0.45, min_points: 4, size_min: 5, size_max: 10, diameter: 0.7, restated: 0.35 }
    }
}

impl Policy {
    /// The policy for vectors of a model whose cosines are spread like this: distances are given on
    /// the scale of [`Spread::REFERENCE`].
    #[must_use]
    pub fn for_model(self, spread: Spread) -> Self {
        let own = |distance: f64| 1.0 - spread.off_reference(1.0 - distance);
        Self {
            eps: own(self.eps),
            diameter: own(self.diameter),
            restated: own(self.restated),
            ..self
        }
    }

    /// What the search for clusters needs of it.
    pub fn density(&self) -> Density {
        Density { eps: self.eps, min_points: self.min_points }
    }
}

/// The two numbers of DBSCAN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Density {
    /// Distance below which two points are neighbours, on the scale of the vectors.
    pub eps: f64,
    /// Neighbours, itself included, that make a point a core.
    pub min_points: usize,
}

/// Whether memories of this kind are summarised. Summaries and profiles are made of others; a
/// standing order is to be obeyed to the letter.
pub const fn is_source(kind: Kind) -> bool {
    match kind {
        Kind::Fact
        | Kind::Preference
        | Kind::Event
        | Kind::Procedure
        | Kind::Task
        | Kind::Reflection => true,
        Kind::Instruction | Kind::Summary | Kind::Profile => false,
    }
}

/// A memory as planning sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Which.
    pub id: MemoryId,
    /// The version looked at: what is decided about it holds for that one.
    pub version: u64,
    /// Where it lives; only memories of one namespace are put together.
    pub namespace: Namespace,
    /// Its kind; only memories of one kind are put together.
    pub kind: Kind,
    /// When it happened.
    pub event_time: Timestamp,
    /// Changes when what it says does, but not when it is marked, tagged or weighed otherwise (which
    /// grows its version): a summary is made again for the first alone.
    pub said: Said,
    /// A unit vector. Those of different dimensions are infinitely far from each other.
    pub vector: Vector,
}

impl Item {
    /// A memory with the one vector that stands for it.
    pub fn of(memory: &Memory, vector: Vector) -> Self {
        Self {
            id: memory.id,
            version: memory.version,
            namespace: memory.namespace.clone(),
            kind: memory.kind,
            event_time: memory.event_time(),
            said: Said::of(&memory.content, memory.event_time()),
            vector,
        }
    }

    fn distance(&self, other: &Self) -> f64 {
        distance(&self.vector, &other.vector)
    }

    /// Whether both may be one statement in different words.
    fn restates(&self, other: &Self, policy: &Policy) -> bool {
        self.said.values == other.said.values && self.distance(other) <= policy.restated
    }
}

/// What a memory says, as far as planning compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Hash of text and event time.
    pub digest: [u8; 16],
    /// Hash of the numbers, dates and identifiers in the text and of whether it denies: where these
    /// differ, near vectors prove nothing.
    pub values: u64,
}

impl Said {
    /// Of a text about something that happened then.
    pub fn of(text: &str, event_time: Timestamp) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&event_time.as_microsecond().to_be_bytes());
        hasher.update(text.as_bytes());
        Self { digest: half(&hasher), values: values(text) }
    }
}

fn values(text: &str) -> u64 {
    let hash = |value: &Value| {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    };
    let reading = read(text);
    let stated: BTreeSet<u64> = reading
        .values
        .iter()
        .filter(|found| !matches!(found.value, Value::Name(_)))
        .map(|found| hash(&found.value))
        .collect();
    let mut hasher = DefaultHasher::new();
    (stated, is_negative(text)).hash(&mut hasher);
    hasher.finish()
}

/// A live summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Which.
    pub id: MemoryId,
    /// Where it lives.
    pub namespace: Namespace,
    /// Kind of its sources.
    pub kind: Kind,
    /// Its sources that are still there and active.
    pub sources: Vec<Item>,
    /// The [`fingerprint`] of the sources it was made of, if that is known.
    pub fingerprint: Option<String>,
    /// The [`Maker::name`] that was asked for it and answered, be it with nothing of use. What an
    /// extract stands in for until its maker is back names the extract.
    pub made_by: Option<String>,
}

/// Who would write the summaries of this plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maker<'a> {
    /// Prompt version and model, or that of the extract.
    pub name: &'a str,
    /// Whether it is a model that can be reached: then what another maker wrote is written anew.
    /// An extract replaces nothing for its own sake.
    pub is_model: bool,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Summaries to be written, in order of namespace, kind and time.
    pub tasks: Vec<Task>,
    /// Live summaries without any source that still holds.
    pub withdrawn: Vec<MemoryId>,
    /// Memories that belong to nothing, in order of ids; they are asked about again next time.
    pub noise: Vec<MemoryId>,
    /// The [`fingerprint`] of those, by which the next run knows that there is nothing new.
    pub left: String,
    /// What was counted.
    pub counts: Counts,
}

/// What was counted while planning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Memories that had no summary.
    pub n_items: usize,
    /// Clusters among them, by density alone.
    pub n_clusters: usize,
    /// Memories that joined a summary that was there.
    pub n_joined: usize,
    /// Live summaries with which nothing is to be done.
    pub n_settled: usize,
}

/// One summary to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Where it will live.
    pub namespace: Namespace,
    /// Kind of its sources.
    pub kind: Kind,
    /// Why it is to be written.
    pub why: Why,
    /// Live summaries that it takes the place of, in order of ids: the first may be revised, the
    /// others are superseded.
    pub replaces: Vec<MemoryId>,
    /// What it is made of, oldest first. Each is one statement: the memory that says it last, then
    /// those that said it earlier. The first of each is enough to write from; all are its sources.
    pub statements: Vec<Vec<MemoryId>>,
    /// Sources that none of `replaces` has, in order of ids.
    pub new_sources: Vec<MemoryId>,
    /// What [`Summary::fingerprint`] will be.
    pub fingerprint: String,
}

impl Task {
    /// All sources, in order of ids.
    pub fn sources(&self) -> Vec<MemoryId> {
        let mut sources: Vec<MemoryId> = self.statements.iter().flatten().copied().collect();
        sources.sort_unstable();
        sources
    }
}

/// Why a summary is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// There was none.
    New,
    /// New evidence joins one.
    Extended,
    /// Several are about the same.
    Merged,
    /// A source was changed, or does not hold any more.
    Changed,
    /// It was written by another maker.
    Redone,
}

impl Why {
    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Extended => "extended",
            Self::Merged => "merged",
            Self::Changed => "changed",
            Self::Redone => "redone",
        }
    }
}

/// The same for the same sources saying the same, whatever their order: 32 hexadecimal digits.
pub fn fingerprint<'a>(sources: impl IntoIterator<Item = &'a Item>) -> String {
    let mut parts: Vec<(MemoryId, [u8; 16])> =
        sources.into_iter().map(|item| (item.id, item.said.digest)).collect();
    parts.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for (id, digest) in parts {
        hasher.update(&id.as_u128().to_be_bytes());
        hasher.update(&digest);
    }
    half(&hasher).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn half(hasher: &blake3::Hasher) -> [u8; 16] {
    let mut half = [0; 16];
    hasher.finalize_xof().fill(&mut half);
    half
}

/// The one vector that stands for a memory of several chunks: their mean, of length 1. `None` if there
/// is none or they cancel out.
pub fn centre(chunks: &[Vector]) -> Option<Vector> {
    let first = chunks.first()?;
    let mut sum = vec![0.0; first.len()];
    for chunk in chunks {
        for (sum, x) in sum.iter_mut().zip(chunk.iter()) {
            *sum += x;
        }
    }
    let length = dot(&sum, &sum).sqrt();
    (length.is_finite() && length > f32::EPSILON).then(|| sum.iter().map(|x| x / length).collect())
}

/// Cosine distance of two unit vectors, at least 0.0.
pub fn distance(left: &[f32], right: &[f32]) -> f64 {
    if left.len() == right.len() {
        (1.0 - f64::from(dot(left, right))).max(0.0)
    } else {
        f64::INFINITY
    }
}
