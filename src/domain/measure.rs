//! Measures of a ranking against known answers and of clusters against known topics, and percentiles
//! of times.
//!
//! The usual definitions of information retrieval (Manning, Raghavan and Schuetze 2008, chapter 8;
//! nDCG after Jaervelin and Kekaelaeinen 2002 with binary gains). For clusterings: purity (the same,
//! chapter 16) and the adjusted Rand index (Hubert and Arabie 1985).

use std::collections::BTreeMap;

/// Category whose questions ask about the wrong person or about nothing stored: measured, but in no
/// mean.
pub const ADVERSARIAL: &str = "adversarial";

/// Share of the relevant items among the first `k`, 0.0..=1.0.
pub fn recall_at<T: PartialEq>(ranked: &[T], relevant: &[T], k: usize) -> f64 {
    if relevant.is_empty() {
        return 0.0;
    }
    let n_found =
        relevant.iter().filter(|item| ranked.iter().take(k).any(|hit| hit == *item)).count();
    n_found as f64 / relevant.len() as f64
}

/// 1.0 if any relevant item is among the first `k`, else 0.0.
pub fn hit_at<T: PartialEq>(ranked: &[T], relevant: &[T], k: usize) -> f64 {
    if ranked.iter().take(k).any(|hit| relevant.contains(hit)) { 1.0 } else { 0.0 }
}

/// 1 / place of the first relevant item, 0.0 if there is none.
pub fn reciprocal_rank<T: PartialEq>(ranked: &[T], relevant: &[T]) -> f64 {
    ranked.iter().position(|hit| relevant.contains(hit)).map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

/// Discounted gain of the first `k` as a share of the best possible, 0.0..=1.0.
pub fn ndcg_at<T: PartialEq>(ranked: &[T], relevant: &[T], k: usize) -> f64 {
    let discount = |at: usize| 1.0 / ((at + 2) as f64).log2();
    let gain: f64 = ranked
        .iter()
        .take(k)
        .enumerate()
        .filter(|(_, hit)| relevant.contains(hit))
        .map(|(at, _)| discount(at))
        .sum();
    let ideal: f64 = (0..relevant.len().min(k)).map(discount).sum();
    if ideal > 0.0 { gain / ideal } else { 0.0 }
}

/// The measures of one question, or their means over several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// Recall among the first 5, 10 and 20.
    pub recall: [f64; 3],
    /// Whether anything relevant is among the first 5, 10 and 20.
    pub hit: [f64; 3],
    /// Reciprocal rank (the mean is the MRR).
    pub reciprocal_rank: f64,
    /// nDCG of the first 10.
    pub ndcg_10: f64,
}

impl Measures {
    /// The depths of `recall` and `hit`.
    pub const DEPTHS: [usize; 3] = [5, 10, 20];

    /// Measures one ranking; `relevant` holds no item twice.
    pub fn of<T: PartialEq>(ranked: &[T], relevant: &[T]) -> Self {
        Self {
            recall: Self::DEPTHS.map(|k| recall_at(ranked, relevant, k)),
            hit: Self::DEPTHS.map(|k| hit_at(ranked, relevant, k)),
            reciprocal_rank: reciprocal_rank(ranked, relevant),
            ndcg_10: ndcg_at(ranked, relevant, 10),
        }
    }

    fn values(&mut self) -> impl Iterator<Item = &mut f64> {
        self.recall
            .iter_mut()
            .chain(&mut self.hit)
            .chain([&mut self.reciprocal_rank, &mut self.ndcg_10])
    }
}

/// Means over a number of questions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    /// How many questions.
    pub n_questions: usize,
    /// The means; zeros if there is none.
    pub means: Measures,
}

/// The means of measured questions.
pub fn means<'a>(measured: impl IntoIterator<Item = &'a Measures>) -> Means {
    let mut total = Means::default();
    for measures in measured {
        total.n_questions += 1;
        let mut measures = *measures;
        for (sum, value) in total.means.values().zip(measures.values()) {
            *sum += *value;
        }
    }
    let n = total.n_questions.max(1) as f64;
    for sum in total.means.values() {
        *sum /= n;
    }
    total
}

/// Means of all questions but the adversarial ones, and of each category (those included).
pub fn means_by_category(measured: &[(String, Measures)]) -> (Means, BTreeMap<String, Means>) {
    let mut categories: BTreeMap<String, Vec<&Measures>> = BTreeMap::new();
    for (category, measures) in measured {
        categories.entry(category.clone()).or_default().push(measures);
    }
    let counted = measured.iter().filter(|(category, _)| category != ADVERSARIAL);
    (
        means(counted.map(|(_, measures)| measures)),
        categories.into_iter().map(|(name, list)| (name, means(list))).collect(),
    )
}

/// Share of the clustered items whose topic is the most frequent one of their cluster, 0.0..=1.0, each
/// item given as (cluster, topic). 1.0 of nothing.
pub fn purity<C: Ord + Copy, T: Ord + Copy>(items: &[(C, T)]) -> f64 {
    let mut clusters: BTreeMap<C, BTreeMap<T, usize>> = BTreeMap::new();
    for (cluster, topic) in items {
        *clusters.entry(*cluster).or_default().entry(*topic).or_default() += 1;
    }
    let n_pure: usize = clusters.values().filter_map(|topics| topics.values().max()).sum();
    if items.is_empty() { 1.0 } else { n_pure as f64 / items.len() as f64 }
}

/// How far two clusterings of the same items agree about pairs, beyond chance: 1.0 the same, about
/// 0.0 unrelated. Noise (`None`) is a cluster of its own.
pub fn adjusted_rand_index<L: Ord + Copy>(left: &[L], right: &[L]) -> f64 {
    fn n_pairs<K>(counts: &BTreeMap<K, usize>) -> f64 {
        counts.values().map(|n| *n as f64).map(|n| n * (n - 1.0) / 2.0).sum()
    }
    let (mut lefts, mut rights, mut boths) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut n_items = 0.0;
    for (left, right) in left.iter().zip(right) {
        *lefts.entry(*left).or_default() += 1;
        *rights.entry(*right).or_default() += 1;
        *boths.entry((*left, *right)).or_default() += 1;
        n_items += 1.0;
    }
    let (in_left, in_right, in_both) = (n_pairs(&lefts), n_pairs(&rights), n_pairs(&boths));
    let all: f64 = n_items * (n_items - 1.0) / 2.0;
    let expected = if all > 0.0 { in_left * in_right / all } else { 0.0 };
    let best = f64::midpoint(in_left, in_right);
    // Both all in one, or both all apart: there is nothing to disagree about.
    if (best - expected).abs() < f64::EPSILON {
        1.0
    } else {
        (in_both - expected) / (best - expected)
    }
}

/// The `share` percentile (0.0..=1.0) of `values` by nearest rank: the least value that at least
/// that share does not exceed. `None` of nothing.
pub fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of values"
    )]
    let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn measures_follow_their_definitions() {
        let (ranked, relevant) = (["a", "b", "c", "d", "e", "f"], ["b", "f", "x"]);
        check(recall_at(&ranked, &relevant, 5), 1.0 / 3.0);
        check(recall_at(&ranked, &relevant, 6), 2.0 / 3.0);
        check(hit_at(&ranked, &relevant, 1), 0.0);
        check(hit_at(&ranked, &relevant, 2), 1.0);
        check(reciprocal_rank(&ranked, &relevant), 0.5);
        let ideal = 1.0 + 1.0 / 3_f64.log2() + 1.0 / 4_f64.log2();
        check(ndcg_at(&ranked, &relevant, 10), (1.0 / 3_f64.log2() + 1.0 / 7_f64.log2()) / ideal);
        check(ndcg_at(&["b", "f", "x"], &relevant, 10), 1.0);
    }

    #[test]
    fn nothing_found_or_nothing_relevant_is_zero() {
        for (ranked, relevant) in [(vec![], vec!["a"]), (vec!["a"], vec![]), (vec!["b"], vec!["a"])]
        {
            assert_eq!(Measures::of(&ranked, &relevant), Measures::default());
        }
    }

    #[test]
    fn adversarial_questions_are_in_no_mean_but_their_own() {
        let good = Measures::of(&["a"], &["a"]);
        let bad = Measures::default();
        let measured = [
            ("temporal".to_owned(), good),
            ("temporal".to_owned(), bad),
            (ADVERSARIAL.to_owned(), bad),
        ];
        let (all, categories) = means_by_category(&measured);
        assert_eq!(all.n_questions, 2);
        check(all.means.recall[0], 0.5);
        check(all.means.reciprocal_rank, 0.5);
        assert_eq!(categories[ADVERSARIAL].n_questions, 1);
        assert_eq!(means([]), Means::default());
    }

    #[test]
    fn purity_counts_the_majority_of_each_cluster() {
        check(purity(&[(0, 'a'), (0, 'a'), (0, 'b'), (1, 'b')]), 0.75);
        check(purity::<u8, u8>(&[]), 1.0);
    }

    #[test]
    fn the_rand_index_ignores_names_and_chance() {
        // The example of Hubert and Arabie's index in scikit-learn's documentation.
        check(adjusted_rand_index(&[0, 0, 1, 1], &[0, 0, 1, 2]), 4.0 / 7.0);
        check(adjusted_rand_index(&[0, 0, 1, 1], &[1, 1, 0, 0]), 1.0);
        check(adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1]), -0.5);
        check(adjusted_rand_index(&[0, 0, 0], &[1, 1, 1]), 1.0);
        check(adjusted_rand_index::<u8>(&[], &[]), 1.0);
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values = [5.0, 1.0, 3.0, 2.0, 4.0];
        for (share, expected) in [(0.0, 1.0), (0.5, 3.0), (0.9, 5.0), (0.99, 5.0), (1.0, 5.0)] {
            check(percentile(&values, share).unwrap(), expected);
        }
        assert_eq!(percentile(&[], 0.5), None);
    }
}
