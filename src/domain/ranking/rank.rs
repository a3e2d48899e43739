//! Stage 2: the records of the best candidates, weighed, collapsed and cut.

use jiff::Timestamp;

use super::exact::exactness;
use super::fuse::{Fused, reads};
use super::policy::RankingPolicy;
use super::question::Question;
use super::reason::{Reason, score_of};
use super::twins::{Facts, cosine};
use crate::domain::decay::{DecayPolicy, days_between};
use crate::domain::embedding::{Languages, Vector};
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
    /// What the model of the vectors reads.
    pub languages: Languages,
    /// Weights and thresholds.
    pub ranking: &'a RankingPolicy,
    /// The forgetting curve.
    pub decay: &'a DecayPolicy,
}

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
    let mut ranking = Ranking::default();
    for (index, candidate) in candidates.iter().enumerate() {
        let hit = weigh(question, index, candidate, view);
        if hit.relevance >= view.ranking.threshold {
            ranking.hits.push(hit);
        } else {
            ranking.n_below_threshold += 1;
        }
    }
    ranking
        .hits
        .sort_by(|left, right| right.score.total_cmp(&left.score).then(left.id.cmp(&right.id)));
    ranking.hits = collapse(ranking.hits, candidates, view);
    ranking
}

/// The score of one candidate, with its reasons.
fn weigh(question: &Question, index: usize, candidate: &Candidate<'_>, view: &View<'_>) -> Hit {
    let Candidate { fused, memory, .. } = candidate;
    let policy = view.ranking;
    let mut reasons = fused.reasons.clone();
    let exact = exactness(question, &normalise(&memory.content));
    let is_exact = exact.is_some();
    if let Some((what, share)) = exact {
        reasons.push(Reason::Exact { what, points: policy.exact_weight * share });
    }
    let weight = view.weights.iter().find(|(namespace, _)| *namespace == memory.namespace);
    if let Some((_, weight)) = weight {
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
    let days = days_between(memory.event_time(), view.now);
    let recency = (-policy.recency_rate * days.max(0.0)).exp();
    let factor = 1.0 + policy.recency_weight * (2.0 * recency - 1.0);
    reasons.push(Reason::Age { days, factor });
    Hit {
        index,
        id: fused.id,
        score: score_of(&reasons),
        relevance: if is_exact { 1.0 } else { relevance(fused, policy) },
        reasons,
    }
}

/// How well a candidate answers in itself.
fn relevance(fused: &Fused, policy: &RankingPolicy) -> f64 {
    let width = (policy.cosine_full - policy.cosine_floor).max(f64::EPSILON);
    let meaning =
        fused.cosine.map_or(0.0, |cosine| ((cosine - policy.cosine_floor) / width).clamp(0.0, 1.0));
    1.0 - (1.0 - fused.coverage) * (1.0 - meaning)
}

/// Keeps one hit of those that say the same: an exact one, then the newest, the strongest, the
/// first by id. `hits` are best first, and stay so.
fn collapse(hits: Vec<Hit>, candidates: &[Candidate<'_>], view: &View<'_>) -> Vec<Hit> {
    let mut kept: Vec<(Hit, &Candidate<'_>, Facts, usize)> = Vec::new();
    for hit in hits {
        let Some(candidate) = candidates.get(hit.index) else { continue };
        let facts = Facts::of(&candidate.memory.content);
        let twin = kept.iter_mut().find(|(_, other, other_facts, _)| {
            are_twins((candidate, &facts), (other, other_facts), view)
        });
        match twin {
            Some(twin) => {
                twin.3 += 1;
                if precedence(&hit, candidate) > precedence(&twin.0, twin.1) {
                    (twin.0, twin.1, twin.2) = (hit, candidate, facts);
                }
            }
            None => kept.push((hit, candidate, facts, 0)),
        }
    }
    let mut hits: Vec<Hit> = kept
        .into_iter()
        .map(|(mut hit, _, _, n_twins)| {
            if n_twins > 0 {
                hit.reasons.push(Reason::Twins(n_twins));
            }
            hit
        })
        .collect();
    hits.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.id.cmp(&right.id)));
    hits
}

fn precedence(hit: &Hit, candidate: &Candidate<'_>) -> (bool, Timestamp, i64) {
    let is_exact = hit.reasons.iter().any(|reason| matches!(reason, Reason::Exact { .. }));
    (is_exact, candidate.memory.event_time(), 0)
}

fn are_twins(
    (left, left_facts): (&Candidate<'_>, &Facts),
    (right, right_facts): (&Candidate<'_>, &Facts),
    view: &View<'_>,
) -> bool {
    if left_facts.same_text(right_facts) {
        return true;
    }
    let readable = |candidate: &Candidate<'_>| {
        reads(view.languages, candidate.fused.attributes.latin_share, view.ranking.memory_latin_min)
    };
    left_facts.agree(right_facts)
        && readable(left)
        && readable(right)
        && cosine(left.vectors, right.vectors).is_some_and(|c| c >= view.ranking.twin_cosine)
}
