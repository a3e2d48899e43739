//! The index against a plain scan of every memory, on generated texts, through changes, removals,
//! commits, restarts and rebuilds.

use std::collections::HashMap;

use super::*;
use crate::domain::text::tokens::tokens;

const WORDS: &[&str] = &[
    "tea",
    "house",
    "router",
    "deploy",
    "deployed",
    "prefers",
    "meeting",
    "kitchen",
    "Berlin",
    "password",
    "INC-90312",
    "foo_bar::baz",
    "config.toml",
    "192.168.9.1",
    "ann@example.org",
    "42",
    "the",
    "of",
    "and",
    "乌龙茶",
    "喜欢",
    "会议",
    "上海",
    "服务器",
    "我",
    "的",
    "コーヒー",
    "서울",
];
const NAMESPACES: &[&str] = &["user", "agent/a", "shared/b"];
const QUERIES: &[&str] = &[
    "tea",
    "deploying the router",
    "乌龙",
    "茶",
    "上海的会议在哪里？",
    "INC-90312",
    "baz",
    "Where is the meeting? Who prefers 乌龙茶?",
    "config.toml 192.168.9.1",
    "nothing like it",
    "the",
    "コーヒー 서울 Berlin",
];

fn text(random: &mut Random) -> String {
    // Mostly short texts, as memories are; some far above the length floor.
    let n_words = if random.below(8) == 0 { 40 + random.below(200) } else { 1 + random.below(30) };
    let words: Vec<&str> = (0..n_words).map(|_| random.pick(WORDS)).collect();
    words.join(random.pick(&[" ", ", ", ""]))
}

/// A memory with its tokens counted and its floored length.
type Counted<'a> = (&'a Memory, HashMap<String, f64>, f64);

fn counted(memory: &Memory) -> Counted<'_> {
    let mut counts = HashMap::new();
    let mut length = 0.0;
    for token in tokens(&memory.content) {
        length += if token.counts() { 1.0 } else { 0.0 };
        *counts.entry(token.text).or_insert(0.0) += 1.0;
    }
    (memory, counts, f64::max(length, 32.0))
}

/// What a scan of everything answers, written down from the definition.
fn expected(
    world: &World,
    all: &[Counted<'_>],
    query: &TextQuery,
    filter: &Filter,
) -> TextCandidates {
    let searched: Vec<&Counted<'_>> =
        all.iter().filter(|(memory, ..)| filter.namespaces.contains(&memory.namespace)).collect();
    let n = searched.len() as f64;
    let average = searched.iter().map(|(_, _, length)| length).sum::<f64>() / n;
    // The idf for the score, and against a background of 1,000 more for the coverage.
    let idfs_of = |token: &str| {
        let df = searched.iter().filter(|(_, counts, _)| counts.contains_key(token)).count() as f64;
        [n, n + 1_000.0].map(|n| (1.0 + (n - df + 0.5) / (df + 0.5)).ln())
    };
    let idfs: HashMap<&str, [f64; 2]> = query
        .clauses
        .iter()
        .flatten()
        .map(|term| (term.token.as_str(), idfs_of(&term.token)))
        .collect();
    let mut answer = TextCandidates {
        best: vec![0.0; query.clauses.len()],
        n_documents: searched.len() as u64,
        ..TextCandidates::default()
    };
    for (memory, counts, length) in &searched {
        let (mut scores, mut coverage) = (Vec::new(), Vec::new());
        for clause in &query.clauses {
            let (mut score, mut covered, mut whole) = (0.0, 0.0, 0.0);
            for term in clause {
                let [weight, told] = idfs[term.token.as_str()].map(|idf| idf * term.weight);
                whole += told;
                if let Some(tf) = counts.get(&term.token) {
                    score += weight * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average));
                    covered += told;
                }
            }
            scores.push(score);
            coverage.push(if whole > 0.0 { covered / whole } else { 0.0 });
        }
        if filter.matches(memory) && scores.iter().any(|score| *score > 0.0) {
            for (best, score) in answer.best.iter_mut().zip(&scores) {
                *best = f64::max(*best, *score);
            }
            let entry = world.catalog.get(memory.id).unwrap();
            let attributes = world.catalog.attributes(entry).unwrap();
            answer.hits.push(crate::domain::search::TextHit {
                id: memory.id,
                scores,
                coverage,
                attributes,
            });
        }
    }
    answer.n_matching = answer.hits.len() as u64;
    answer.hits.sort_by(|a, b| b.scores[0].total_cmp(&a.scores[0]).then(a.id.cmp(&b.id)));
    answer
}

#[track_caller]
fn check_close(found: &[f64], expected: &[f64], context: &str) {
    assert_eq!(found.len(), expected.len(), "{context}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}: {context}");
    }
}

/// Compares every query in several namespaces and filters with the scan.
#[track_caller]
fn check(world: &World, context: &str) {
    let filters = [
        in_namespaces(&["user"]),
        in_namespaces(NAMESPACES),
        Filter { kinds: vec![Kind::Task], ..in_namespaces(&["user", "shared/b"]) },
    ];
    assert_eq!(world.index.rebuild_reason(), None, "{context}");
    let all: Vec<Counted<'_>> = world.memories.values().map(counted).collect();
    for query in QUERIES {
        let question = read(query);
        for filter in &filters {
            let context = format!("{context}, `{query}` under {filter:?}");
            let wanted = expected(world, &all, &question, filter);
            let found = world.try_search(&question, filter, 10_000).unwrap();
            assert_eq!(found.n_matching, wanted.n_matching, "{context}");
            assert_eq!(found.n_documents, wanted.n_documents, "{context}");
            check_close(&found.best, &wanted.best, &context);
            let mut wanted: HashMap<MemoryId, _> =
                wanted.hits.into_iter().map(|hit| (hit.id, hit)).collect();
            for hit in &found.hits {
                let Some(wanted) = wanted.remove(&hit.id) else {
                    panic!("{hit:?} is no hit: {context}")
                };
                check_close(&hit.scores, &wanted.scores, &context);
                check_close(&hit.coverage, &wanted.coverage, &context);
                assert_eq!(hit.attributes, wanted.attributes, "{context}");
            }
            assert!(wanted.is_empty(), "{wanted:?} not found: {context}");
            let top = world.try_search(&question, filter, 7).unwrap();
            assert_eq!(top.hits[..], found.hits[..found.hits.len().min(7)], "{context}");
        }
    }
    assert_eq!(world.index.ids().unwrap(), world.memories.keys().copied().collect(), "{context}");
    let n_memories = usize::try_from(world.index.report().n_memories).unwrap();
    assert_eq!(n_memories, world.memories.len(), "{context}");
}

fn change(world: &mut World, random: &mut Random) {
    let n = 1 + random.below(250) as u64;
    if random.below(5) == 0 {
        world.remove(n);
        return;
    }
    // A memory stays in its namespace.
    let namespace = NAMESPACES[usize::try_from(n).unwrap() % NAMESPACES.len()];
    let mut memory = memory(namespace, n, &text(random));
    memory.kind = random.pick(&[&Kind::Fact, &Kind::Task]).to_owned();
    world.put_memory(memory);
}

#[test]
fn the_index_answers_as_a_scan_of_every_memory_does() {
    for seed in 1..=3 {
        let mut random = Random(seed);
        let mut world = World::new();
        for round in 0..8 {
            for _ in 0..60 {
                change(&mut world, &mut random);
            }
            let context = format!("seed {seed}, round {round}");
            check(&world, &format!("{context}, in the tail"));
            match random.below(4) {
                0 => {}
                1 => world.index.flush(),
                2 => world.reopen(),
                _ => world.rebuild(),
            }
            check(&world, &format!("{context}, later"));
        }
        world.index.flush();
        check(&world, &format!("seed {seed}, committed"));
        world.reopen();
        check(&world, &format!("seed {seed}, opened again"));
        assert_eq!(world.index.watermark(), world.sequence, "seed {seed}");
    }
}

#[test]
fn a_score_is_the_same_in_the_tail_committed_and_opened_again() {
    let mut random = Random(11);
    let mut world = World::new();
    for _ in 0..200 {
        change(&mut world, &mut random);
    }
    let answers = |world: &World| -> Vec<TextCandidates> {
        let filter = in_namespaces(NAMESPACES);
        QUERIES.iter().map(|query| world.search(query, &filter, 1_000)).collect()
    };
    let in_tail = answers(&world);
    world.index.flush();
    assert!(in_tail == answers(&world), "committed");
    world.reopen();
    assert!(in_tail == answers(&world), "opened again");
    world.rebuild();
    assert!(in_tail == answers(&world), "rebuilt");
}
