//! Tests of the first stage of ranking.

use super::*;
use crate::domain::namespace::Namespace;

const ENGLISH: &str = "tea";
const CHINESE: &str = "茶";

fn id(n: u128) -> MemoryId {
    MemoryId::from_u128(n)
}

fn attributes(example: &str) -> Attributes {
    Attributes {
        namespace: Namespace::user(),
        event_time: "2023-05-08T12:00:00Z".parse().unwrap(),
        scripts: ScriptShares::of(example),
    }
}

fn text(hits: &[(u128, f64, &str)]) -> TextCandidates {
    let hit = |(n, score, example): &(u128, f64, &str)| TextHit {
        id: id(*n),
        scores: vec![*score],
        coverage: vec![0.5],
        attributes: attributes(example),
    };
    TextCandidates {
        hits: hits.iter().map(hit).collect(),
        best: vec![hits.iter().map(|hit| hit.1).fold(0.0, f64::max)],
        n_matching: hits.len() as u64,
        n_documents: 100,
        incomplete: None,
    }
}

fn vectors(hits: &[(u128, f64, u32, &str)]) -> VectorCandidates {
    let hit = |(n, cosine, n_chunks, example): &(u128, f64, u32, &str)| VectorHit {
        id: id(*n),
        cosine: *cosine,
        chunk: n_chunks - 1,
        n_chunks: *n_chunks,
        attributes: attributes(example),
    };
    VectorCandidates {
        hits: hits.iter().map(hit).collect(),
        mean: 0.1,
        deviation: 0.1,
        n_pending: 0,
    }
}

fn fused(
    question: &str,
    text: &TextCandidates,
    vectors: Option<(&VectorCandidates, Scripts)>,
) -> Vec<Fused> {
    let arm = vectors.map(|(candidates, scripts)| VectorArm {
        candidates,
        reader: Reader { scripts, ..Reader::default() },
    });
    fuse(&Question::read(question), text, arm, &RankingPolicy::default(), &TimeZone::UTC)
}

fn order(fused: &[Fused]) -> Vec<u128> {
    fused.iter().map(|candidate| candidate.id.as_u128()).collect()
}

#[test]
fn the_sum_is_text_and_weighted_vector_and_date() {
    let vectors = vectors(&[(1, 0.3, 1, ENGLISH), (3, 0.9, 1, ENGLISH)]);
    let found = fused(
        "tea on 9 May 2023",
        &text(&[(1, 4.0, ENGLISH), (2, 3.0, ENGLISH)]),
        Some((&vectors, Scripts::LATIN)),
    );
    // Day off by one: 0.6 * 0.5. z of memory 1 is 2, of memory 3 is 8 and cut.
    for (n, sum) in [(1, 1.0 + 0.8 * 0.5 + 0.3), (3, 0.8 + 0.3), (2, 0.75 + 0.3)] {
        let candidate = found.iter().find(|candidate| candidate.id == id(n)).unwrap();
        assert!((candidate.sum - sum).abs() < 1e-9, "{n}: {}", candidate.sum);
        let terms: f64 = candidate.reasons.iter().map(Reason::points).sum();
        assert!((terms - candidate.sum).abs() < 1e-9);
    }
    assert_eq!(order(&found), [1, 3, 2]);
    assert_eq!(found[0].cosine, Some(0.3));
    assert_eq!(found[2].cosine, None);
}

#[test]
fn a_model_that_cannot_read_the_question_has_no_say() {
    let text = text(&[(1, 4.0, CHINESE), (2, 1.0, CHINESE)]);
    let nonsense = vectors(&[(2, 0.95, 1, CHINESE), (3, 0.9, 1, ENGLISH), (1, -0.5, 1, CHINESE)]);
    let question = "我喜欢喝什么茶？";
    let without = fused(question, &text, None);
    assert_eq!(fused(question, &text, Some((&nonsense, Scripts::LATIN))), without);
    assert_eq!(order(&without), [1, 2]);
    assert_eq!(order(&fused(question, &text, Some((&nonsense, Scripts::ALL))))[0], 2);
}

#[test]
fn a_memory_that_the_model_cannot_read_is_found_by_its_words_alone() {
    let text = text(&[(1, 4.0, CHINESE), (2, 1.0, ENGLISH)]);
    let vectors = vectors(&[(1, -0.9, 1, CHINESE), (2, 0.2, 1, ENGLISH)]);
    let found = fused("what tea is 乌龙 tea", &text, Some((&vectors, Scripts::LATIN)));
    assert_eq!(order(&found), [1, 2]);
    assert_eq!(found[0].reasons, [Reason::Text(1.0)]);
    assert_eq!((found[0].cosine, found[0].chunk), (None, None));
}

#[test]
fn the_best_of_many_chunks_must_be_better_than_one_alone() {
    let vectors = vectors(&[(1, 0.42, 12, ENGLISH), (2, 0.35, 1, ENGLISH)]);
    let found = fused("tea", &TextCandidates::default(), Some((&vectors, Scripts::LATIN)));
    assert_eq!(order(&found), [2, 1]);
    assert_eq!(found[1].chunk, Some(11));
}

#[test]
fn a_clause_that_matches_well_lifts_its_memory() {
    let mut text = text(&[(1, 4.0, ENGLISH), (2, 3.0, ENGLISH)]);
    text.best = vec![4.0, 4.0, 3.0];
    text.hits[0].scores = vec![4.0, 2.0, 2.0];
    text.hits[1].scores = vec![3.0, 0.0, 3.0];
    text.hits[1].coverage = vec![0.5, 0.0, 1.0];
    let found = fused("tea", &text, None);
    assert_eq!(order(&found), [2, 1]);
    assert!((found[0].sum - (0.5 * 0.75 + 0.5)).abs() < 1e-9);
    assert!((found[0].coverage - 1.0).abs() < 1e-12);
}

#[test]
fn ties_are_broken_by_id_and_nothing_found_is_nothing() {
    let text = text(&[(3, 1.0, ENGLISH), (1, 1.0, ENGLISH), (2, 1.0, ENGLISH)]);
    assert_eq!(order(&fused("tea", &text, None)), [1, 2, 3]);
    assert!(fused("tea", &TextCandidates::default(), None).is_empty());
    let flat = VectorCandidates { deviation: 0.0, ..vectors(&[(1, 0.1, 1, ENGLISH)]) };
    let found = fused("tea", &TextCandidates::default(), Some((&flat, Scripts::ALL)));
    assert!(found[0].sum.abs() < 1e-9);
}

#[test]
fn words_weigh_little_where_even_the_best_match_has_next_to_none_of_the_question() {
    let mut text = text(&[(1, 4.0, ENGLISH), (2, 3.0, ENGLISH)]);
    for hit in &mut text.hits {
        hit.coverage = vec![0.015];
    }
    let vectors = vectors(&[(3, 0.3, 1, ENGLISH), (1, 0.1, 1, ENGLISH)]);
    let question = "Caroline什么时候去参加支持小组的？";
    assert_eq!(order(&fused(question, &text, Some((&vectors, Scripts::ALL)))), [3, 1, 2]);
    // Without a vector arm nothing else is there to go by.
    assert!((fused(question, &text, None)[0].sum - 1.0).abs() < 1e-12);
    // Full weight from a share that a match in the same language has.
    text.hits[1].coverage = vec![0.15];
    assert_eq!(order(&fused(question, &text, Some((&vectors, Scripts::ALL)))), [1, 2, 3]);
}

#[test]
fn cosines_of_a_model_that_presses_them_together_count_as_those_of_another() {
    use crate::domain::likeness::{Likeness, Spread};
    let narrow = Spread { unrelated: 0.7, related: 0.8 };
    let reader = Reader {
        scripts: Scripts::ALL,
        likeness: Likeness { latin: narrow, ..Likeness::REFERENCE },
    };
    let mut pressed = vectors(&[(1, 0.8, 1, ENGLISH), (2, 0.75, 1, ENGLISH)]);
    (pressed.mean, pressed.deviation) = (0.7, 0.02);
    let arm = Some(VectorArm { candidates: &pressed, reader });
    let question = Question::read("tea");
    let text = TextCandidates::default();
    let found = fuse(&question, &text, arm, &RankingPolicy::default(), &TimeZone::UTC);
    assert!((found[0].cosine.unwrap() - Spread::REFERENCE.related).abs() < 1e-9);
    // Five deviations above the mean: a full score. Two and a half: five eighths of it.
    let sums: Vec<f64> = found.iter().map(|candidate| candidate.sum).collect();
    assert!((sums[0] - 0.8).abs() < 1e-9 && (sums[1] - 0.5).abs() < 1e-9, "{sums:?}");
}
