//! How like sentences are to each other and to all of them together.

use std::collections::{BTreeMap, HashMap};

use super::Sentence;
use crate::domain::embedding::Vector;
use crate::domain::text::query::is_stop_word;
use crate::domain::text::tokens::{TokenKind, tokens};

/// The cosine of every sentence with every other.
pub(super) struct Matrix {
    rows: Vec<Vec<f64>>,
    /// Cosine of each sentence with the centroid of all.
    relevance: Vec<f64>,
}

impl Matrix {
    /// From unit vectors.
    pub(super) fn of_vectors(vectors: &[Vector]) -> Self {
        Self::of(vectors, |left, right| {
            left.iter().zip(right.iter()).map(|(l, r)| f64::from(*l) * f64::from(*r)).sum()
        })
    }

    /// From the words the sentences share: term frequency times inverse document frequency.
    pub(super) fn of_words(sentences: &[Sentence<'_>]) -> Self {
        let counts: Vec<BTreeMap<String, f64>> =
            sentences.iter().map(|sentence| count(sentence.text)).collect();
        let mut n_with: HashMap<&str, f64> = HashMap::new();
        for word in counts.iter().flat_map(BTreeMap::keys) {
            *n_with.entry(word).or_default() += 1.0;
        }
        let n_all = counts.len() as f64;
        let vectors: Vec<BTreeMap<&str, f64>> = counts
            .iter()
            .map(|counts| {
                let weigh = |word: &str, n: f64| {
                    let n_with = n_with.get(word).copied().unwrap_or(0.0);
                    n * (((1.0 + n_all) / (1.0 + n_with)).ln() + 1.0)
                };
                let weights: BTreeMap<&str, f64> =
                    counts.iter().map(|(word, n)| (word.as_str(), weigh(word, *n))).collect();
                let length =
                    weights.values().map(|w| w * w).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
                weights.into_iter().map(|(word, weight)| (word, weight / length)).collect()
            })
            .collect();
        Self::of(&vectors, |left, right| {
            left.iter().filter_map(|(word, weight)| Some(weight * right.get(word)?)).sum()
        })
    }

    fn of<V>(vectors: &[V], dot: impl Fn(&V, &V) -> f64) -> Self {
        let rows: Vec<Vec<f64>> = vectors
            .iter()
            .map(|left| vectors.iter().map(|right| dot(left, right)).collect())
            .collect();
        let sums: Vec<f64> = rows.iter().map(|row: &Vec<f64>| row.iter().sum()).collect();
        // The square of the length of the sum of all vectors is the sum of all products.
        let length = sums.iter().sum::<f64>().max(0.0).sqrt().max(f64::MIN_POSITIVE);
        let relevance = sums.into_iter().map(|sum| sum / length).collect();
        Self { rows, relevance }
    }

    /// Lowers the relevance of each sentence by its weight.
    pub(super) fn weigh(&mut self, weights: impl Iterator<Item = f64>) {
        for (relevance, weight) in self.relevance.iter_mut().zip(weights) {
            *relevance *= weight;
        }
    }

    pub(super) fn likeness(&self, left: usize, right: usize) -> f64 {
        self.rows.get(left).and_then(|row| row.get(right)).copied().unwrap_or(0.0)
    }

    pub(super) fn relevance(&self, at: usize) -> f64 {
        self.relevance.get(at).copied().unwrap_or(0.0)
    }
}

/// How often each telling word, or pair of characters, stands in a sentence.
fn count(text: &str) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for token in tokens(text) {
        if token.kind != TokenKind::Character && !is_stop_word(&token) {
            *counts.entry(token.text).or_default() += 1.0;
        }
    }
    counts
}
