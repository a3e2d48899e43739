//! Stage 2: the records of the best candidates, weighed, collapsed and cut.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::exact::exactness;
use super::fuse::{Fused, Reader};
use super::policy::RankingPolicy;
use super::question::Question;
use super::reason::{Reason, score_of};
use super::twins::collapse;
use crate::domain::decay::{DecayPolicy, days_between};
use crate::domain::embedding::Vector;
use crate::domain::id::MemoryId;
use crate::domain::memory::Memory;
use crate::domain::namespace::Namespace;
use crate::domain::text::normalise;

/// A candidate of stage 1 with its record.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// What stage 1 says.
    pub fused: &'a Fused,
    /// The record.
    pub memory: &'a Memory,
    /// The vectors of its chunks, as the store keeps them; none if it has none (yet).
    pub vectors: &'a [Vector],
}

/// From where the memories are looked at.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// When.
    pub now: Timestamp,
    /// Weights of namespaces, 0.0..=1.0; one that is not listed has 1.0.
    pub weights: &'a [(Namespace, f64)],
    /// The model of the vectors.
    pub reader: Reader,
    /// Weights and thresholds.
    pub ranking: &'a RankingPolicy,
    /// The forgetting curve.
    pub decay: &'a DecayPolicy,
}

/// Steps of a score that count as different: what differs by less than a ten-thousandth is a tie.
const TIE_STEPS: f64 = 1e4;

/// A memory of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Place of its candidate in the list that was given.
    pub index: usize,
    /// Which.
    pub id: MemoryId,
    /// The order of the answer. Only to be compared within one answer.
    pub score: f64,
    /// How well it answers the question, whatever else is stored, 0.0..=1.0.
    pub relevance: f64,
    /// The terms of `score`, see [`score_of`].
    pub reasons: Vec<Reason>,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// Best first, ties by id.
    pub hits: Vec<Hit>,
    /// Candidates left out because they are not relevant in themselves.
    pub n_below_threshold: usize,
}

/// Ranks the candidates of stage 1.
///
/// What is exact comes before all that is merely similar; namespace, strength and recency multiply;
/// of memories that say the same the newest stays; what is below the threshold of relevance is left
/// out and counted.
pub fn rank(question: &Question, candidates: &[Candidate<'_>], view: &View<'_>) -> Ranking {
    let normals: Vec<String> =
        candidates.iter().map(|candidate| normalise(&candidate.memory.content)).collect();
    let weighed = candidates
        .iter()
        .zip(&normals)
        .enumerate()
        .map(|(index, (candidate, normal))| weigh(question, (index, candidate), normal, view))
        .collect();
    let mut hits = relevant(weighed, view.ranking);
    let n_below_threshold = candidates.len() - hits.len();
    hits.sort_by(by_score);
    let mut hits = collapse(hits, candidates, &normals, view);
    hits.sort_by(by_score);
    Ranking { hits, n_below_threshold }
}

/// Best first, ties by id.
fn by_score(left: &Hit, right: &Hit) -> Ordering {
    // Memories stored seconds apart, or years ago, differ in strength and recency by next to
    // nothing: that is a tie.
    let rounded = |score: f64| (score * TIE_STEPS).round();
    rounded(right.score).total_cmp(&rounded(left.score)).then(left.id.cmp(&right.id))
}

/// The hits that are relevant: none at all if not a single one answers the question, else all but
/// those that have next to nothing to do with it.
fn relevant(hits: Vec<Hit>, policy: &RankingPolicy) -> Vec<Hit> {
    if hits.iter().all(|hit| hit.relevance < policy.threshold) {
        return Vec::new();
    }
    hits.into_iter().filter(|hit| hit.relevance >= policy.hit_threshold).collect()
}

/// The score of one candidate, with its reasons.
fn weigh(
    question: &Question,
    (index, candidate): (usize, &Candidate<'_>),
    normal: &str,
    view: &View<'_>,
) -> Hit {
    let Candidate { fused, memory, .. } = candidate;
    let policy = view.ranking;
    let mut reasons = fused.reasons.clone();
    let mut relevance = relevance(question, fused, policy);
    if let Some((what, share)) = exactness(question, normal) {
        reasons.push(Reason::Exact { what, points: policy.exact_weight * share });
        relevance = relevance.max(share);
    }
    let weight = view.weights.iter().find(|(namespace, _)| *namespace == memory.namespace);
    if let Some((_, weight)) = weight.filter(|(_, weight)| (weight - 1.0).abs() > f64::EPSILON) {
        reasons.push(Reason::Namespace(*weight));
    }
    let strength = view.decay.strength(
        memory.usage.anchor,
        memory.kind,
        memory.importance,
        memory.pinned,
        view.now,
    );
    let factor = 1.0 + policy.strength_weight * (2.0 * strength - 1.0);
    reasons.push(Reason::Strength { strength, factor });
    let days = days_between(memory.event_time(), view.now).max(0.0);
    let recency = (-policy.recency_rate * days).exp();
    let factor = 1.0 + policy.recency_weight * (2.0 * recency - 1.0);
    reasons.push(Reason::Age { days, factor });
    if memory.consolidated_into.is_some() {
        reasons.push(Reason::Consolidated(policy.consolidated_factor));
    }
    Hit { index, id: fused.id, score: score_of(&reasons), relevance, reasons }
}

/// How well a candidate answers in itself, 0.0..=1.0: the words it shares with the question, its
/// nearness in meaning and its day, each as a share of what would be enough alone, combined as
/// independent signs: `1 - (1 - words) (1 - meaning) (1 - day)`.
fn relevance(question: &Question, fused: &Fused, policy: &RankingPolicy) -> f64 {
    // Half the pairs of an unspaced question lie across words and are found nowhere.
    let enough = 1.0 - question.unspaced_share * (1.0 - policy.unspaced_coverage_full);
    let words = (fused.coverage / enough).clamp(0.0, 1.0);
    let width = (policy.cosine_full - policy.cosine_floor).max(f64::EPSILON);
    let meaning = fused.cosine.map_or(0.0, |cosine| (cosine - policy.cosine_floor) / width);
    let day = policy.date_relevance * fused.date_fit;
    1.0 - (1.0 - words) * (1.0 - meaning.clamp(0.0, 1.0)) * (1.0 - day)
}

#[cfg(test)]
mod tests;
