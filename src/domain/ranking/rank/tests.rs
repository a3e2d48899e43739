//! Tests of the second stage of ranking.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::domain::embedding::{ScriptShares, Scripts, Vector};
use crate::domain::id::MemoryId;
use crate::domain::likeness::Likeness;
use crate::domain::memory::{Anchor, Usage};
use crate::domain::ranking::{RankingPolicy, VectorArm, fuse};
use crate::domain::search::{Attributes, TextCandidates, TextHit, VectorCandidates, VectorHit};

const NOW: i64 = 1_700_000_000;
const DAY: i64 = 86_400;
const ENGLISH: Reader = Reader { scripts: Scripts::LATIN, likeness: Likeness::REFERENCE };

/// A memory as a test needs it.
#[derive(Clone, Debug)]
struct Made {
    n: u128,
    content: &'static str,
    /// BM25 and coverage; 0.0: not found by words.
    text: (f64, f64),
    /// -2.0: no vector.
    cosine: f64,
    age_days: i64,
    anchor: f64,
    namespace: &'static str,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            n: 1,
            content: "",
            text: (0.0, 0.0),
            cosine: -2.0,
            age_days: 0,
            anchor: 0.5,
            namespace: "user",
        }
    }
}

impl Made {
    fn memory(&self) -> Memory {
        let at = Timestamp::from_second(NOW - self.age_days * DAY).unwrap();
        let now = Timestamp::from_second(NOW).unwrap();
        let anchor = Anchor { value: self.anchor, at: now };
        let plain = Memory::plain(MemoryId::from_u128(self.n), self.content, at);
        Memory {
            namespace: self.namespace.parse().unwrap(),
            occurred_at: Some(at),
            usage: Usage { anchor, ..plain.usage },
            ..plain
        }
    }

    /// All these have the same vector: what the model makes of them is nearly equal.
    fn vectors(&self) -> Vec<Vector> {
        if self.cosine < -1.0 { Vec::new() } else { vec![Arc::from([0.6_f32, 0.8])] }
    }

    fn attributes(&self) -> Attributes {
        Attributes {
            namespace: self.namespace.parse().unwrap(),
            event_time: self.memory().event_time(),
            scripts: ScriptShares::of(self.content),
        }
    }
}

/// Runs both stages; the texts stand for BM25 as given.
fn ranked_with(question: &str, made: &[Made], policy: &RankingPolicy) -> Ranking {
    let question = Question::read(question);
    let hit = |made: &Made| TextHit {
        id: MemoryId::from_u128(made.n),
        scores: vec![made.text.0],
        coverage: vec![made.text.1],
        attributes: made.attributes(),
    };
    let text = TextCandidates {
        hits: made.iter().filter(|made| made.text.0 > 0.0).map(hit).collect(),
        best: vec![made.iter().map(|made| made.text.0).fold(0.0, f64::max)],
        n_matching: 0,
        n_documents: 100,
        incomplete: None,
    };
    let near = |made: &Made| VectorHit {
        id: MemoryId::from_u128(made.n),
        cosine: made.cosine,
        chunk: 0,
        n_chunks: 1,
        attributes: made.attributes(),
    };
    let vectors = VectorCandidates {
        hits: made.iter().filter(|made| made.cosine >= -1.0).map(near).collect(),
        mean: 0.1,
        deviation: 0.12,
        n_pending: 0,
    };
    let arm = VectorArm { candidates: &vectors, reader: ENGLISH };
    let fused = fuse(&question, &text, Some(arm), policy, &TimeZone::UTC);
    let records: Vec<(Memory, Vec<Vector>)> = fused
        .iter()
        .map(|fused| made.iter().find(|made| made.n == fused.id.as_u128()).unwrap())
        .map(|made| (made.memory(), made.vectors()))
        .collect();
    let candidates: Vec<Candidate<'_>> = fused
        .iter()
        .zip(&records)
        .map(|(fused, (memory, vectors))| Candidate { fused, memory, vectors })
        .collect();
    let view = View {
        now: Timestamp::from_second(NOW).unwrap(),
        weights: &[("shared/team".parse().unwrap(), 0.7)],
        reader: ENGLISH,
        ranking: policy,
        decay: &DecayPolicy::default(),
    };
    rank(&question, &candidates, &view)
}

fn ranked(question: &str, made: &[Made]) -> Ranking {
    ranked_with(question, made, &RankingPolicy::default())
}

fn order(ranking: &Ranking) -> Vec<u128> {
    ranking.hits.iter().map(|hit| hit.id.as_u128()).collect()
}

fn reasons(hit: &Hit) -> String {
    hit.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[test]
fn what_is_exact_comes_before_all_that_is_similar() {
    let similar = Made {
        n: 1,
        content: "Ticket INC-90313 about the printer",
        text: (9.0, 0.8),
        cosine: 0.9,
        anchor: 1.0,
        ..Made::default()
    };
    for (question, content) in [
        ("INC-90312", "See INC-90312."),
        ("what about INC-90312 and the printer", "inc-90312: done"),
        ("who wrote \"out of toner\"", "Note: out  of toner"),
        ("out of toner", "They are out of toner again"),
    ] {
        let exact = Made {
            n: 2,
            content,
            text: (1.0, 0.3),
            age_days: 900,
            anchor: 0.0,
            namespace: "shared/team",
            ..Made::default()
        };
        let ranking = ranked(question, &[similar.clone(), exact]);
        assert_eq!(order(&ranking), [2, 1], "{question}");
        assert!((ranking.hits[0].relevance - 1.0).abs() < 1e-12);
        assert!(reasons(&ranking.hits[0]).contains("exact \""), "{}", reasons(&ranking.hits[0]));
    }
}

#[test]
fn a_question_about_nothing_stored_gets_an_empty_answer() {
    let unrelated = |n, cosine, text| Made {
        n,
        content: "We had pizza on the beach",
        cosine,
        text,
        ..Made::default()
    };
    let nothing =
        ranked("aubergines", &[unrelated(1, 0.25, (0.0, 0.0)), unrelated(2, 0.1, (0.0, 0.0))]);
    assert_eq!((nothing.hits.len(), nothing.n_below_threshold), (0, 2));
    // The best match of all is still no answer: one common word of five.
    let common =
        ranked("aubergines moussaka béchamel oven we had", &[unrelated(1, 0.2, (3.0, 0.12))]);
    assert_eq!((common.hits.len(), common.n_below_threshold), (0, 1));
    assert_eq!(ranked("aubergines", &[]), Ranking::default());
}

#[test]
fn a_short_question_that_matches_by_words_is_not_cut_off_by_its_vector() {
    for cosine in [-2.0, -0.3, 0.0, 0.2] {
        let made = Made {
            content: "The wifi password hangs in the kitchen",
            text: (0.4, 1.0),
            cosine,
            ..Made::default()
        };
        assert_eq!(order(&ranked("wifi password", &[made])), [1], "{cosine}");
    }
}

#[test]
fn a_chinese_question_needs_fewer_of_its_pairs() {
    let made =
        Made { content: "我的上司在银行做柜员", text: (4.0, 0.2), ..Made::default() };
    assert_eq!(order(&ranked("上司是做什么工作的呢", std::slice::from_ref(&made))), [1]);
    let far = Made { text: (4.0, 0.08), ..made };
    assert!(ranked("上司是做什么工作的呢", &[far]).hits.is_empty());
}

#[test]
fn what_has_next_to_nothing_to_do_with_it_does_not_fill_up_an_answer() {
    let good = Made { n: 1, content: "I like oolong tea", text: (5.0, 1.0), ..Made::default() };
    let weak = Made { n: 2, content: "I like trains", text: (1.0, 0.2), ..Made::default() };
    let junk = Made { n: 3, content: "The door is red", cosine: 0.15, ..Made::default() };
    let ranking = ranked("like oolong tea", &[good, weak, junk]);
    assert_eq!(order(&ranking), [1, 2]);
    assert_eq!(ranking.n_below_threshold, 1);
}

#[test]
fn a_memory_of_the_day_asked_for_is_relevant_by_its_day() {
    let day = Made { content: "Went rowing", cosine: 0.2, age_days: 3, ..Made::default() };
    assert_eq!(
        order(&ranked("What happened on 11 November 2023?", std::slice::from_ref(&day))),
        [1]
    );
    assert!(ranked("What happened on 11 March 2023?", &[day]).hits.is_empty());
}

#[test]
fn twins_collapse_into_the_newest() {
    let twin = |n, content, age_days| Made {
        n,
        content,
        text: (5.0, 1.0),
        cosine: 0.6,
        age_days,
        ..Made::default()
    };
    for (old, new) in [
        ("User prefers dark mode", "user  prefers DARK mode"),
        ("User prefers dark mode", "The user prefers dark mode."),
        ("Ann does not like tea", "Ann doesn't like tea"),
        ("我喜欢喝茶", "我喜欢喝茶"),
    ] {
        let ranking = ranked("mode tea 茶", &[twin(1, old, 9), twin(2, new, 1)]);
        assert_eq!(order(&ranking), [2], "{old} / {new}");
        assert!(reasons(&ranking.hits[0]).ends_with("1 more says the same"));
        assert_eq!(ranking.n_below_threshold, 0);
    }
    let same_age = [twin(1, "dark mode", 1), Made { anchor: 0.9, ..twin(2, "dark mode", 1) }];
    assert_eq!(order(&ranked("mode", &same_age)), [2]);
    let equal = [twin(2, "dark mode", 1), twin(1, "dark mode", 1), twin(3, "dark mode", 1)];
    let ranking = ranked("mode", &equal);
    assert_eq!(order(&ranking), [1]);
    assert!(reasons(&ranking.hits[0]).ends_with("2 more say the same"));
}

#[test]
fn similar_is_not_the_same() {
    for (left, right) in [
        ("The router is 192.168.7.1", "The router is 192.168.9.1"),
        ("Ann likes tea", "Ann does not like tea"),
        ("Ann likes tea", "Ann likes no tea"),
        ("Ann likes tea", "Bob likes tea"),
        ("The meeting is on 8 May", "The meeting is on 9 May"),
        ("The meeting is on Monday", "The meeting is on Tuesday"),
        ("the meeting is on monday", "the meeting is on tuesday"),
        ("Two cats", "Three cats"),
        ("release v1.2.3 is out", "release v1.2.4 is out"),
        ("call foo_bar first", "call foo_baz first"),
        ("The flat costs 900 a month", "The flat costs 950 a month"),
        ("我喜欢喝茶", "我不喜欢喝茶"),
        ("我喜欢喝茶", "我喜欢喝咖啡"),
    ] {
        let made =
            |n, content| Made { n, content, text: (5.0, 1.0), cosine: 0.6, ..Made::default() };
        let ranking = ranked("router tea meeting 茶", &[made(1, left), made(2, right)]);
        assert_eq!(order(&ranking), [1, 2], "{left} / {right}");
    }
}

#[test]
fn namespace_strength_and_age_weigh_but_little() {
    let made = |n| Made { n, content: "tea", text: (5.0, 1.0), ..Made::default() };
    let distinct = |n, content| Made { content, ..made(n) };
    let ranking = ranked(
        "tea",
        &[
            Made { namespace: "shared/team", ..distinct(1, "tea, shared") },
            Made { age_days: 400, ..distinct(2, "old tea") },
            Made { anchor: 0.1, ..distinct(3, "weak tea") },
            distinct(4, "tea"),
        ],
    );
    assert_eq!(order(&ranking)[0], 4);
    assert_eq!(order(&ranking)[3], 1);
    assert_eq!(reasons(&ranking.hits[3]), "text 1.00, namespace x0.70, strength 0.50, age 0 d");
}

/// A random memory, from few values so that ties and twins occur.
fn some_memory() -> impl Strategy<Value = Made> {
    let contents = proptest::sample::select(vec![
        "I like oolong tea",
        "I like Oolong tea!",
        "I do not like oolong tea",
        "The router is 192.168.7.1",
        "The router is 192.168.9.1",
        "我喜欢喝乌龙茶",
        "Ticket INC-90312 is closed",
    ]);
    let namespaces = proptest::sample::select(vec!["user", "shared/team"]);
    (contents, 0_u8..4, 0_u8..5, 0_i64..3, 0_u8..3, namespaces).prop_map(
        |(content, text, cosine, age, anchor, namespace)| Made {
            n: 0,
            content,
            text: (f64::from(text), f64::from(text) / 3.0),
            cosine: f64::from(cosine) / 4.0 - 0.25,
            age_days: age * 40,
            anchor: f64::from(anchor) / 2.0,
            namespace,
        },
    )
}

fn some_memories() -> impl Strategy<Value = (Vec<Made>, Vec<Made>)> {
    proptest::collection::vec(some_memory(), 0..12)
        .prop_map(|mut made| {
            for (n, made) in (1..).zip(&mut made) {
                made.n = n;
            }
            made
        })
        .prop_flat_map(|made| (Just(made.clone()), Just(made).prop_shuffle()))
}

fn some_question() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "which tea do I like",
        "oolong tea",
        "router 192.168.7.1",
        "乌龙茶",
        "what of INC-90312 on 14 November 2023?",
    ])
}

proptest! {
    #[test]
    fn the_order_does_not_depend_on_the_order_of_the_candidates(
        (made, shuffled) in some_memories(),
        question in some_question(),
    ) {
        let strip = |ranking: &Ranking| -> Vec<(u128, f64, String)> {
            ranking
                .hits
                .iter()
                .map(|hit| (hit.id.as_u128(), hit.score, reasons(hit)))
                .collect()
        };
        prop_assert_eq!(strip(&ranked(question, &made)), strip(&ranked(question, &shuffled)));
    }

    #[test]
    fn every_score_is_what_its_reasons_add_up_to(
        (made, _) in some_memories(),
        question in some_question(),
    ) {
        let ranking = ranked(question, &made);
        for pair in ranking.hits.windows(2) {
            prop_assert!(pair[0].score >= pair[1].score - 1.0 / TIE_STEPS);
        }
        for hit in &ranking.hits {
            prop_assert!((score_of(&hit.reasons) - hit.score).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&hit.relevance));
        }
    }

    #[test]
    fn strength_and_recency_move_a_score_by_their_weight_at_most(
        anchor in 0.0_f64..=1.0,
        age_days in -1_000_i64..10_000,
    ) {
        let made = |anchor, age_days| Made {
            content: "I like oolong tea", text: (5.0, 1.0), anchor, age_days, ..Made::default()
        };
        let policy = RankingPolicy::default();
        let score = ranked("oolong tea drinker", &[made(anchor, age_days)]).hits[0].score;
        let most = (1.0 + policy.strength_weight) * (1.0 + policy.recency_weight);
        let least = (1.0 - policy.strength_weight) * (1.0 - policy.recency_weight);
        prop_assert!(score <= most + 1e-9 && score >= least - 1e-9, "{}", score);
    }

    #[test]
    fn every_candidate_is_shown_or_counted(
        (made, _) in some_memories(),
        question in some_question(),
    ) {
        let ranking = ranked(question, &made);
        let n_twins: usize = ranking
            .hits
            .iter()
            .flat_map(|hit| &hit.reasons)
            .map(|reason| if let Reason::Twins(n) = reason { *n } else { 0 })
            .sum();
        let reads = !question.contains('乌');
        let n_candidates =
            made.iter().filter(|made| made.text.0 > 0.0 || reads && made.cosine >= -1.0).count();
        prop_assert_eq!(ranking.hits.len() + n_twins + ranking.n_below_threshold, n_candidates);
    }
}
