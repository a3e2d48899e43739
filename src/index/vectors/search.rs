//! What is asked of the rows of one namespace, and the list of the best.

use super::rows::Code;
use crate::domain::id::MemoryId;
use crate::index::catalog::Slot;

/// A question to the rows of one namespace.
pub struct Query<'a> {
    /// The vector.
    pub code: Code,
    /// Memories wanted, at least 1.
    pub wanted: usize,
    /// Whether the memory in a slot passes the filter.
    pub accepts: &'a (dyn Fn(Slot) -> bool + Sync),
}

/// A memory with the cosine of its best chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Which.
    pub id: MemoryId,
    /// Its place in the catalog.
    pub slot: Slot,
    /// Cosine, up to the error of int8 (below 0.01).
    pub cosine: f32,
    /// The chunk.
    pub chunk: u32,
    /// Chunks of the memory.
    pub n_chunks: u32,
}

/// What a searcher found.
#[derive(Debug, Default)]
pub struct Found {
    /// The best memories, best first, ties by id.
    pub best: Vec<Candidate>,
    /// Mean and deviation of the cosines of the namespace.
    pub moments: Moments,
}

/// A way to search the rows of one namespace.
pub trait Searcher {
    /// The best `query.wanted` memories that pass the filter, and the moments of all of them.
    fn search(&self, query: &Query<'_>) -> Found;
}

/// Sums from which mean and standard deviation follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    /// Counts one value.
    pub(super) fn add(&mut self, value: f32) {
        let value = f64::from(value);
        self.n += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    /// Counts the values of another namespace too.
    pub(super) fn merge(&mut self, other: Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The same mean and deviation, with the weight of `n` values.
    pub(super) fn weighted(self, n: usize) -> Self {
        let factor = if self.n > 0.0 { n as f64 / self.n } else { 0.0 };
        Self { n: self.n * factor, sum: self.sum * factor, squares: self.squares * factor }
    }

    /// The mean, 0.0 of nothing.
    pub fn mean(&self) -> f64 {
        if self.n > 0.0 { self.sum / self.n } else { 0.0 }
    }

    /// The standard deviation, 0.0 of nothing.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        if self.n > 0.0 { (self.squares / self.n - mean * mean).max(0.0).sqrt() } else { 0.0 }
    }
}

/// The best few of many candidates.
pub(super) struct Best {
    wanted: usize,
    kept: Vec<Candidate>,
    /// Nothing below it can be among the best any more.
    bar: f32,
}

impl Best {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, kept: Vec::with_capacity(wanted.saturating_mul(2)), bar: f32::NEG_INFINITY }
    }

    /// Whether a candidate of this cosine may be among the best. Asked before the filter, which
    /// costs more.
    pub(super) fn admits(&self, cosine: f32) -> bool {
        cosine >= self.bar
    }

    /// Takes a candidate.
    pub(super) fn push(&mut self, candidate: Candidate) {
        self.kept.push(candidate);
        if self.kept.len() >= self.wanted.saturating_mul(2) {
            self.cut();
        }
    }

    /// The best, in order.
    pub(super) fn into_sorted(mut self) -> Vec<Candidate> {
        self.kept.sort_unstable_by(by_rank);
        self.kept.truncate(self.wanted);
        self.kept
    }

    fn cut(&mut self) {
        if let Some(last) = self.wanted.checked_sub(1).filter(|last| *last < self.kept.len()) {
            let (_, worst, _) = self.kept.select_nth_unstable_by(last, by_rank);
            self.bar = worst.cosine;
        }
        self.kept.truncate(self.wanted);
    }
}

/// Best first, ties by id.
pub(super) fn by_rank(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.cosine.total_cmp(&a.cosine).then(a.id.cmp(&b.id))
}
