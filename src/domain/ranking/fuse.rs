//! Stage 1: one sum for each candidate, from what the indexes know.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use super::policy::RankingPolicy;
use super::question::Question;
use super::reason::Reason;
use crate::domain::dates;
use crate::domain::embedding::{ScriptShares, Scripts};
use crate::domain::id::MemoryId;
use crate::domain::likeness::{Likeness, Spread};
use crate::domain::search::{Attributes, TextCandidates, TextHit, VectorCandidates, VectorHit};

/// Least standard deviation of cosines: in a namespace of two or three memories the measured one
/// says nothing, and a tiny one would make every cosine extreme. Chosen (the development sets have
/// 0.11 to 0.15).
const DEVIATION_MIN: f64 = 0.05;

/// What ranking must know of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reader {
    /// What it reads.
    pub scripts: Scripts,
    /// How near it puts texts: all cosines are brought to one scale by it.
    pub likeness: Likeness,
}

impl Default for Reader {
    /// One that reads everything and whose cosines are taken as they are.
    fn default() -> Self {
        Self { scripts: Scripts::ALL, likeness: Likeness::REFERENCE }
    }
}

/// The answer of the vector arm, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct VectorArm<'a> {
    /// The answer.
    pub candidates: &'a VectorCandidates,
    /// The model.
    pub reader: Reader,
}

/// A candidate with what both arms say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    /// Which.
    pub id: MemoryId,
    /// Its attributes.
    pub attributes: Attributes,
    /// The terms of its sum.
    pub reasons: Vec<Reason>,
    /// The sum, which is the order of stage 1.
    pub sum: f64,
    /// Share of the question's terms it contains, of the whole or of its best clause, 0.0..=1.0.
    pub coverage: f64,
    /// How well its day fits the dates in the question, 0.0..=1.0.
    pub date_fit: f64,
    /// Cosine with the question on the scale of [`Likeness::REFERENCE`], if the model can read both,
    /// less what the best of many chunks has by chance.
    pub cosine: Option<f64>,
    /// Its best chunk, under the same condition.
    pub chunk: Option<u32>,
}

/// What each arm found for one memory.
#[derive(Default)]
struct Found<'a> {
    text: Option<&'a TextHit>,
    vector: Option<&'a VectorHit>,
}

/// Adds up text, vector and date for every candidate; best first, ties by id.
///
/// `B + 0.8 D + 0.5 date`: `B` is BM25 as a share of the best hit (half of it from the best clause
/// if there are several), `D` the cosine standardised over the namespace, cut to -1.0..=1.0.
/// A model has no say about a question or a memory in a script that it does not read.
pub fn fuse(
    question: &Question,
    text: &TextCandidates,
    vector: Option<VectorArm<'_>>,
    policy: &RankingPolicy,
    zone: &TimeZone,
) -> Vec<Fused> {
    let mut found: BTreeMap<MemoryId, Found<'_>> = BTreeMap::new();
    for hit in &text.hits {
        found.entry(hit.id).or_default().text = Some(hit);
    }
    let vector =
        vector.filter(|arm| arm.reader.reads(&question.scripts, policy.question_readable_min));
    for hit in vector.iter().flat_map(|arm| &arm.candidates.hits) {
        found.entry(hit.id).or_default().vector = Some(hit);
    }
    let text_weight = if vector.is_some() { text_weight(text, policy) } else { 1.0 };
    let mut fused: Vec<Fused> = found
        .into_iter()
        .filter_map(|(id, found)| {
            let attributes = match (found.text, found.vector) {
                (Some(hit), _) => &hit.attributes,
                (None, Some(hit)) => &hit.attributes,
                (None, None) => return None,
            };
            let seen = found.vector.zip(vector).filter(|(_, arm)| {
                arm.reader.reads(&attributes.scripts, policy.memory_readable_min)
            });
            let mut reasons = Vec::new();
            if let Some(hit) = found.text {
                reasons.push(Reason::Text(text_weight * text_points(hit, &text.best, policy)));
            }
            if let Some((hit, arm)) = seen {
                reasons.push(Reason::Vector(vector_points(question, hit, arm, policy)));
            }
            let date = dates::fit(&question.dates, attributes.event_time, zone);
            if let Some((asked, fit)) = date {
                reasons.push(Reason::Date { asked, points: policy.date_weight * fit });
            }
            Some(Fused {
                id,
                attributes: attributes.clone(),
                sum: reasons.iter().map(Reason::points).sum(),
                reasons,
                coverage: found
                    .text
                    .map_or(0.0, |hit| hit.coverage.iter().copied().fold(0.0, f64::max)),
                date_fit: date.map_or(0.0, |(_, fit)| fit),
                cosine: seen.map(|(hit, arm)| fair_cosine(question, hit, arm.reader, policy)),
                chunk: seen.map(|(hit, _)| hit.chunk),
            })
        })
        .collect();
    fused.sort_by(|left, right| right.sum.total_cmp(&left.sum).then(left.id.cmp(&right.id)));
    fused
}

impl Reader {
    /// Whether the model can read at least this share of a text.
    pub fn reads(self, text: &ScriptShares, least: f32) -> bool {
        text.readable(self.scripts) >= least
    }

    fn spread(self, question: &Question, hit: &VectorHit) -> Spread {
        self.likeness.between(question.scripts.latin(), hit.attributes.scripts.latin())
    }
}

/// What the words weigh beside the meaning, 0.0..=1.0. Where even the best match has next to nothing
/// of the question (a name, in a question of another language), the best is no measure.
fn text_weight(text: &TextCandidates, policy: &RankingPolicy) -> f64 {
    let best = text.hits.iter().flat_map(|hit| &hit.coverage).copied().fold(0.0, f64::max);
    (best / policy.text_coverage_full.max(f64::EPSILON)).min(1.0)
}

/// BM25 of a hit as a share of the best, 0.0..=1.0.
fn text_points(hit: &TextHit, best: &[f64], policy: &RankingPolicy) -> f64 {
    let mut shares = hit
        .scores
        .iter()
        .zip(best)
        .map(|(score, best)| if *best > 0.0 { (score / best).clamp(0.0, 1.0) } else { 0.0 });
    let whole = shares.next().unwrap_or(0.0);
    match shares.reduce(f64::max) {
        Some(clause) => (1.0 - policy.clause_share) * whole + policy.clause_share * clause,
        None => whole,
    }
}

/// The cosine of the best chunk, on the common scale, less what the best of so many has by chance.
fn fair_cosine(
    question: &Question,
    hit: &VectorHit,
    reader: Reader,
    policy: &RankingPolicy,
) -> f64 {
    reader.spread(question, hit).on_reference(hit.cosine)
        - policy.chunk_penalty * f64::from(hit.n_chunks.max(1)).ln()
}

/// `weight * clip(z / deviations, -1, 1)`.
fn vector_points(
    question: &Question,
    hit: &VectorHit,
    arm: VectorArm<'_>,
    policy: &RankingPolicy,
) -> f64 {
    let VectorArm { candidates, reader } = arm;
    let spread = reader.spread(question, hit);
    let mean = spread.on_reference(candidates.mean);
    let deviation = spread.stretched(candidates.deviation).max(DEVIATION_MIN);
    let z = (fair_cosine(question, hit, reader, policy) - mean) / deviation;
    policy.vector_weight * (z / policy.vector_deviations).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests;
