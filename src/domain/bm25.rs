//! BM25 with a length floor (Robertson and Zaragoza 2009, section 3; idf as in Lucene, never negative).
//!
//! It stands beside the BM25 of the index library because that one cannot do what the ranking needs:
//! a floor under document lengths, in the average too; a factor on the idf of single terms; one score
//! a clause; statistics of exactly the memories in the namespaces searched; and the same score for a
//! memory that is not in the index yet.

/// Saturation of the term frequency (the usual value; flat on the dialogue sets).
const K1: f64 = 1.2;
/// Share of the length normalisation, 0.0..=1.0 (the usual value; flat on the dialogue sets).
const B: f64 = 0.75;
/// Documents shorter than this count as this long, tokens: else a short "Thanks, Ann!" wins every
/// question that names Ann. Chosen on dialogues with `recalld eval`.
pub const LENGTH_FLOOR: u32 = 32;

/// Documents assumed behind those searched (measured on memdaily-zh, 32 memories a namespace: with
/// the same share of questions wrongly given up, a third more of those about nothing stored are).
const BACKGROUND: u64 = 1_000;

/// The length that counts, at least [`LENGTH_FLOOR`]; averages are taken of this.
pub const fn floored(length: u32) -> u32 {
    if length < LENGTH_FLOOR { LENGTH_FLOOR } else { length }
}

/// Inverse document frequency of a term that `n_containing` of `n_documents` contain, above 0.
pub fn idf(n_documents: u64, n_containing: u64) -> f64 {
    let total = n_documents as f64;
    let containing = n_containing.min(n_documents) as f64;
    ((total - containing + 0.5) / (containing + 0.5)).ln_1p()
}

/// How much a term tells about what is asked, for [`crate::domain::search::TextHit::coverage`]: its
/// idf, had `BACKGROUND` more documents without it been searched. In a store of three memories
/// every word that one of them holds would seem common, and every unknown word rare beyond measure.
pub fn telling(n_documents: u64, n_containing: u64) -> f64 {
    idf(n_documents.saturating_add(BACKGROUND), n_containing.min(n_documents))
}

/// What a term adds to the score of a document that contains it `frequency` times.
///
/// `length` in tokens; `average` is the mean of [`floored`] lengths, so at least [`LENGTH_FLOOR`];
/// `idf` may carry a factor for terms that say little. 0.0..`idf * (K1 + 1)`.
pub fn bm25(frequency: u32, length: u32, average: f64, idf: f64) -> f64 {
    let frequency = f64::from(frequency);
    let relative = f64::from(floored(length)) / average.max(f64::from(LENGTH_FLOOR));
    idf * frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * relative))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn scores_are_those_worked_out_by_hand() {
        check(idf(3, 1), (1.0_f64 + 2.5 / 1.5).ln());
        check(idf(0, 0), 2.0_f64.ln());
        // At the average length one occurrence is worth exactly the idf.
        check(bm25(1, 40, 40.0, 1.7), 1.7);
        // 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 2))
        check(bm25(2, 80, 40.0, 1.0), 4.4 / 4.1);
    }

    #[test]
    fn lengths_below_the_floor_do_not_matter() {
        check(bm25(1, 1, 32.0, 1.0), bm25(1, LENGTH_FLOOR, 32.0, 1.0));
        assert!(bm25(1, LENGTH_FLOOR + 1, 32.0, 1.0) < bm25(1, LENGTH_FLOOR, 32.0, 1.0));
    }

    proptest! {
        #[test]
        fn a_score_grows_with_frequency_falls_with_length_and_stays_in_range(
            frequency in 1_u32..10_000, length in 0_u32..100_000, average in 32.0_f64..20_000.0,
            n_documents in 1_u64..10_000_000, n_containing in 0_u64..20_000_000,
        ) {
            let idf = idf(n_documents, n_containing);
            prop_assert!(idf > 0.0 && idf.is_finite());
            let score = bm25(frequency, length, average, idf);
            prop_assert!(score > 0.0 && score < idf * (K1 + 1.0));
            prop_assert!(bm25(frequency + 1, length, average, idf) > score);
            prop_assert!(bm25(frequency, length + 1, average, idf) <= score);
        }
    }
}
