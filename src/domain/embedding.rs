//! Embedding spaces, and the vectors of a memory.

use std::sync::Arc;

use jiff::Timestamp;

use super::likeness::Likeness;
pub use super::text::scripts::{Script, ScriptShares, Scripts};

/// How a space is called inside one store. Vectors of two spaces are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

/// Everything that makes vectors comparable: two models are the same space only if all of it is
/// equal. Equal dimensions prove nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelIdentity {
    /// Name of the model.
    pub name: String,
    /// Coordinates of a vector.
    pub dimension: usize,
    /// Longest input, tokens.
    pub tokens_max: usize,
    /// How token vectors become one (and whether it is normalised), in the model's own words.
    pub pooling: String,
    /// Whether vectors have length 1.
    pub normalised: bool,
    /// Put before a query.
    pub query_prefix: String,
    /// Put before a document.
    pub document_prefix: String,
    /// Hash of the weights.
    pub weights_hash: String,
    /// Hash of the tokenizer.
    pub tokenizer_hash: String,
    /// Version of our layout of the embedded text and of its chunks.
    pub text_template: String,
    /// What the model reads; the other scripts are left to the text arm.
    pub scripts: Scripts,
}

/// Whether an installed model can be called so: 1 to 64 of a-z, 0-9, `.`, `_` and `-`, not a point at
/// either end, and none of the words that mean something else.
pub fn is_model_name(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let is_word = matches!(name, "bundled" | "seeded" | "none" | "endpoint");
    let has_edges = name.starts_with(['.', '-']) || name.ends_with('.');
    (1..=64).contains(&name.len()) && name.chars().all(is_fit) && !is_word && !has_edges
}

/// A vector of `dimension` floats of length 1.
pub type Vector = Arc<[f32]>;

/// The vectors of one memory in one space, one a chunk, made from one version of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// The space the vectors belong to.
    pub space: SpaceId,
    /// One vector a chunk, at least one.
    pub chunks: Vec<Vector>,
}

/// Texts whose vectors are kept with a space: a model that makes something else of them is another
/// one, whatever it is called.
pub const PROBES: [&str; 3] = [
    "The harbour master closed the north gate before the storm.",
    "Ticket 4711: the nightly backup of the billing database failed twice.",
    "她每天早上六点半去公园跑步。",
];
/// Least cosine of two vectors that the same model makes of the same text (kernels, threads and
/// runtimes differ in the seventh digit).
pub const PROBE_COSINE_MIN: f64 = 0.999;

/// Whether both may be what one model makes of the same texts.
pub fn probes_agree<V: AsRef<[f32]>, W: AsRef<[f32]>>(left: &[V], right: &[W]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| cosine(left.as_ref(), right.as_ref()) >= PROBE_COSINE_MIN)
}

/// The cosine of two vectors, whatever their lengths; 0.0 if they cannot be compared.
pub fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let dot = |left: &[f32], right: &[f32]| -> f64 {
        left.iter().zip(right).map(|(l, r)| f64::from(*l) * f64::from(*r)).sum()
    };
    let lengths = (dot(left, left) * dot(right, right)).sqrt();
    if left.len() == right.len() && lengths > 0.0 { dot(left, right) / lengths } else { 0.0 }
}

/// The product of two vectors: the cosine of two unit vectors. Coordinates that only one has count
/// nothing.
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    let n = left.len().min(right.len());
    let (left, right) = (left.get(..n).unwrap_or_default(), right.get(..n).unwrap_or_default());
    let ((left, rest_left), (right, rest_right)) = (left.as_chunks::<8>(), right.as_chunks::<8>());
    // Eight sums side by side, which the compiler keeps in vector registers.
    let mut sums = [0.0_f32; 8];
    for (left, right) in left.iter().zip(right) {
        for ((sum, x), y) in sums.iter_mut().zip(left).zip(right) {
            *sum += x * y;
        }
    }
    let rest: f32 = rest_left.iter().zip(rest_right).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

/// What a store knows of one space.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// How it is called.
    pub id: SpaceId,
    /// The model.
    pub model: ModelIdentity,
    /// When it was made.
    pub created_at: Timestamp,
    /// When every memory had vectors in it for the first time; until then it serves no search.
    pub completed_at: Option<Timestamp>,
    /// What was measured of the model, if it was.
    pub likeness: Option<Likeness>,
    /// Whether it is being removed.
    pub is_dropped: bool,
    /// Memories with vectors in it.
    pub n_embedded: u64,
    /// Memories that wait for some.
    pub n_pending: u64,
}

/// What is noted about a space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpaceNote {
    /// How near its model puts texts.
    Likeness(Likeness),
    /// Every memory has vectors in it.
    Completed(Timestamp),
}
