//! The statistics are those of the namespaces searched, and of nothing else.

use super::*;

fn scores(found: &TextCandidates) -> Vec<(u64, Vec<f64>, Vec<f64>)> {
    let of = |hit: &crate::domain::search::TextHit| {
        (number(hit.id), hit.scores.clone(), hit.coverage.clone())
    };
    found.hits.iter().map(of).collect()
}

#[test]
fn what_lies_in_another_namespace_changes_no_score() {
    let mut world = World::new();
    for (n, text) in (1..).zip(["red house", "a house by the sea", "green tea"]) {
        world.put_in("agent/a", n, text);
    }
    let filter = in_namespaces(&["agent/a"]);
    let alone = world.search("red house", &filter, 9);
    assert_eq!(alone.n_documents, 3);
    for n in 100..200 {
        world.put_in("agent/b", n, &"red house ".repeat(50));
    }
    for _ in 0..2 {
        assert_eq!(world.search("red house", &filter, 9), alone);
        let both = world.search("red house", &in_namespaces(&["agent/a", "agent/b"]), 9);
        assert_eq!((both.n_documents, both.n_matching), (103, 102));
        assert_ne!(scores(&both), scores(&alone));
        world.index.flush();
    }
    for n in 100..200 {
        world.remove(n);
    }
    let both = in_namespaces(&["agent/a", "agent/b"]);
    assert_eq!(scores(&world.search("red house", &both, 9)), scores(&alone));
    world.index.flush();
    world.reopen();
    assert_eq!(scores(&world.search("red house", &both, 9)), scores(&alone));
}

#[test]
fn a_filter_changes_which_memories_are_found_and_no_score() {
    let mut world = World::new();
    for n in 1..=20 {
        let mut memory = memory("user", n, if n % 2 == 0 { "red house" } else { "red boat" });
        memory.kind = if n % 5 == 0 { Kind::Task } else { Kind::Fact };
        world.put_memory(memory);
    }
    let all = scores(&world.search("red boat", &in_namespaces(&["user"]), 99));
    let tasks = Filter { kinds: vec![Kind::Task], ..in_namespaces(&["user"]) };
    for found in scores(&world.search("red boat", &tasks, 99)) {
        assert!(all.contains(&found), "{found:?}");
    }
}

#[test]
fn coverage_is_the_share_of_what_the_terms_tell() {
    let mut world = World::new();
    world.put(1, "red house");
    world.put(2, "green house");
    world.put(3, "green tea");
    // 4 memories; red in 1, house in 2, unicorn in none.
    world.put(4, "nothing of it");
    let found = world.search("red house unicorn", &in_namespaces(&["user"]), 9);
    let told = |n: f64| (1.0 + (1_004.0 - n + 0.5) / (n + 0.5)).ln();
    let whole = told(1.0) + told(2.0) + told(0.0);
    for (hit, part) in found.hits.iter().zip([told(1.0) + told(2.0), told(2.0)]) {
        let coverage = hit.coverage[0];
        assert!((coverage - part / whole).abs() < 1e-12, "{coverage}");
    }
    assert_eq!(found.hits.len(), 2);
    let whole = world.search("red house", &in_namespaces(&["user"]), 1);
    assert!((whole.hits[0].coverage[0] - 1.0).abs() < 1e-12);
}

#[test]
fn each_clause_has_its_scores_and_its_best() {
    let mut world = World::new();
    world.put(1, "the router stands in the kitchen");
    world.put(2, "the password of the wireless network");
    let query = "Where is the kitchen router? What is the wireless password?";
    let found = world.search(query, &in_namespaces(&["user"]), 9);
    assert_eq!(found.best.len(), 3);
    for hit in &found.hits {
        let own = usize::try_from(number(hit.id)).unwrap();
        assert!(hit.scores[own] > 0.0 && (hit.coverage[own] - 1.0).abs() < 1e-12);
        assert!(hit.scores[3 - own].abs() < 1e-12 && hit.coverage[3 - own].abs() < 1e-12);
        assert!((hit.scores[own] - found.best[own]).abs() < 1e-12);
        // The clauses share no term here.
        assert!((hit.scores[0] - hit.scores[own]).abs() < 1e-12);
    }
}

#[test]
fn a_memory_that_matches_only_another_clause_counts() {
    let mut world = World::new();
    world.put(1, "red house");
    world.put(2, "green tea");
    let [red, tea] = ["red", "tea"].map(|word| read(word).clauses.remove(0));
    let query = TextQuery { clauses: vec![red, tea] };
    let found = world.try_search(&query, &in_namespaces(&["user"]), 9).unwrap();
    assert_eq!(found.hits.iter().map(|hit| number(hit.id)).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(found.n_matching, 2);
}
