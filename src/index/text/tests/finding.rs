//! What is found by which words, in the tail, in the files, and after a restart.

use super::*;

/// Checks what each query finds, in every state the memories can be in.
#[track_caller]
fn check(texts: &[&str], cases: &[(&str, &[u64])]) {
    let mut world = World::new();
    for (n, text) in (1..).zip(texts) {
        world.put(n, text);
    }
    check_cases(&world, cases, "in the tail");
    world.index.flush();
    check_cases(&world, cases, "committed");
    world.reopen();
    check_cases(&world, cases, "opened again");
}

#[track_caller]
fn check_cases(world: &World, cases: &[(&str, &[u64])], state: &str) {
    for (query, expected) in cases {
        let mut found = world.find(query);
        found.sort_unstable();
        assert_eq!(found, *expected, "`{query}` {state}");
    }
}

#[test]
fn english_is_found_by_word_and_by_stem_in_any_case() {
    check(
        &["She prefers oolong tea", "The deployments run on Fridays", "Ångström is a unit"],
        &[
            ("oolong", &[1]),
            ("OOLONG Teas", &[1]),
            ("prefer", &[1]),
            ("deploying", &[2]),
            ("friday", &[2]),
            ("ångström", &[3]),
            ("coffee", &[]),
            ("tea friday", &[1, 2]),
        ],
    );
}

#[test]
fn identifiers_are_found_whole_and_by_part() {
    check(
        &[
            "Ticket INC-90312 is closed",
            "The router has 192.168.9.1",
            "call foo_bar::baz() first",
            "Write to ann@example.org",
            "see /etc/recalld/config.toml",
            "release v2.10.3-rc1",
        ],
        &[
            ("INC-90312", &[1]),
            ("90312", &[1]),
            ("192.168.9.1", &[2]),
            ("foo_bar", &[3]),
            ("baz", &[3]),
            ("ann@example.org", &[4]),
            ("example.org", &[4]),
            ("ann", &[4]),
            ("/etc/recalld/config.toml", &[5]),
            ("config.toml", &[5]),
            ("recalld", &[5]),
            ("v2.10.3-rc1", &[6]),
            ("90313", &[]),
        ],
    );
}

#[test]
fn unspaced_scripts_are_found_by_one_two_and_more_characters() {
    check(
        &[
            "我喜欢喝乌龙茶",
            "コーヒーが好きです",
            "저는 서울에 살아요",
            "京都に行った",
            "配置config.toml文件在服务器上",
        ],
        &[
            ("乌龙茶", &[1]),
            ("乌龙", &[1]),
            ("茶", &[1]),
            ("コーヒー", &[2]),
            ("好き", &[2]),
            ("京", &[4]),
            ("京都", &[4]),
            ("서울", &[3]),
            ("울", &[3]),
            ("config.toml", &[5]),
            ("文件", &[5]),
            ("服务器 コーヒー", &[2, 5]),
            ("咖啡", &[]),
        ],
    );
}

#[test]
fn a_text_without_words_is_held_and_never_found() {
    let mut world = World::new();
    let id = world.put(1, "!!! ???");
    assert!(world.find("anything").is_empty());
    assert!(world.find("").is_empty());
    world.index.flush();
    world.reopen();
    assert!(world.index.ids().unwrap().contains(&id));
}

#[test]
fn old_words_do_not_find_what_was_changed_or_removed() {
    for flushes in [[false, false], [true, false], [false, true], [true, true]] {
        let mut world = World::new();
        world.put(1, "the red house");
        world.put(2, "the red boat");
        if flushes[0] {
            world.index.flush();
        }
        world.put(1, "the blue house");
        world.remove(2);
        if flushes[1] {
            world.index.flush();
        }
        for state in ["running", "opened again"] {
            assert_eq!(world.find("red"), [0; 0], "{flushes:?} {state}");
            assert_eq!(world.find("blue"), [1], "{flushes:?} {state}");
            assert_eq!(world.find("house"), [1], "{flushes:?} {state}");
            assert_eq!(world.find("boat"), [0; 0], "{flushes:?} {state}");
            world.reopen();
        }
    }
}

#[test]
fn a_removed_memory_can_come_back() {
    let mut world = World::new();
    world.put(1, "red house");
    world.index.flush();
    world.remove(1);
    world.index.flush();
    world.put(1, "green house");
    assert_eq!(world.find("green"), [1]);
    world.index.flush();
    assert_eq!(world.find("green"), [1]);
    assert_eq!(world.find("red"), [0; 0]);
}

#[test]
fn a_memory_the_catalog_does_not_know_is_not_found() {
    let mut world = World::new();
    world.put(1, "red house");
    world.index.flush();
    world.put(2, "red boat");
    world.catalog.remove(id(1));
    world.catalog.remove(id(2));
    assert!(world.find("red").is_empty());
}

#[test]
fn a_place_in_the_catalog_that_is_used_again_names_nobody_else() {
    let mut world = World::new();
    world.put(1, "red house");
    world.put(2, "red boat");
    world.index.flush();
    assert_eq!(world.find("red"), [1, 2]);
    let place = world.catalog.slot(id(1));
    world.catalog.remove(id(1));
    world.put(3, "green tea");
    assert_eq!(world.catalog.slot(id(3)), place);
    assert_eq!(world.find("red"), [2]);
    assert_eq!(world.find("green"), [3]);
}

#[test]
fn a_memory_that_moved_is_found_where_it_is() {
    let mut world = World::new();
    world.put_in("user", 1, "red house");
    world.put_in("shared/a", 2, "red boat");
    world.index.flush();
    world.put_in("shared/a", 1, "red house");
    for _ in 0..2 {
        assert_eq!(world.find("red"), [0; 0]);
        assert_eq!(world.search("house", &in_namespaces(&["shared/a"]), 9).hits.len(), 1);
        assert_eq!(world.search("house", &in_namespaces(&["shared/a", "user"]), 9).hits.len(), 1);
        world.index.flush();
    }
}

#[test]
fn the_filter_never_costs_a_hit_that_exists() {
    let mut world = World::new();
    for n in 1..=300 {
        let mut memory = memory("user", n, "tea tea tea and more tea");
        if n == 207 {
            memory.content = format!("{} tea", "something else entirely ".repeat(30)).into();
            memory.kind = Kind::Task;
            memory.tags = vec!["rare".to_owned()];
        }
        world.put_memory(memory);
    }
    for _ in 0..2 {
        for filter in [
            Filter { kinds: vec![Kind::Task], ..in_namespaces(&["user"]) },
            Filter { tags: vec!["rare".to_owned()], ..in_namespaces(&["user"]) },
        ] {
            let found = world.search("tea", &filter, 1);
            assert_eq!(found.hits.iter().map(|hit| number(hit.id)).collect::<Vec<_>>(), [207]);
            assert_eq!((found.n_matching, found.n_documents), (1, 300));
        }
        world.index.flush();
    }
}

#[test]
fn equals_are_ordered_by_id_and_cut_at_k() {
    let mut world = World::new();
    for n in [5, 3, 9, 1, 7, 2] {
        world.put(n, "red tea");
        if n % 3 == 0 {
            world.index.flush();
        }
    }
    world.put(4, "red red red tea");
    assert_eq!(world.find("red"), [4, 1, 2, 3, 5, 7, 9]);
    let three = world.search("red", &in_namespaces(&["user"]), 3);
    assert_eq!(three.hits.iter().map(|hit| number(hit.id)).collect::<Vec<_>>(), [4, 1, 2]);
    assert_eq!(three.n_matching, 7);
    let none = world.search("red", &in_namespaces(&["user"]), 0);
    assert!(none.hits.is_empty());
    assert!(none.best[0] > 0.0);
}

#[test]
fn no_namespace_or_an_unknown_one_finds_nothing() {
    let mut world = World::new();
    world.put(1, "red house");
    for names in [&[][..], &["shared/unknown"]] {
        let found = world.search("red", &in_namespaces(names), 9);
        let empty = TextCandidates { best: vec![0.0], ..TextCandidates::default() };
        assert_eq!(found, empty);
    }
}

#[test]
fn a_memory_is_found_at_once_while_commits_run() {
    let home = tempfile::tempdir().unwrap();
    let index = open(home.path());
    index.start_rebuild(IDENTITY);
    index.finish_rebuild(0);
    let mut catalog = Catalog::default();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                index.flush();
            }
        });
        let filter = in_namespaces(&["user"]);
        let query = read("latest");
        for n in 1..=300 {
            // The memory before loses the word.
            for (n, text) in [(n - 1, "earlier"), (n, "latest")] {
                let memory = memory("user", n, text);
                catalog.put(&memory);
                index.put(&memory, n);
            }
            let compiled = catalog.compile(&filter);
            let found = index.search(&catalog, &query, &compiled, &filter.namespaces, 9).unwrap();
            let numbers: Vec<u64> =
                found.candidates.hits.iter().map(|hit| number(hit.id)).collect();
            assert_eq!(numbers, [n]);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    // What came while a commit ran is neither lost nor overwritten by it.
    index.flush();
    assert_eq!((index.report().ready, index.watermark()), (true, 300));
    let filter = in_namespaces(&["user"]);
    let compiled = catalog.compile(&filter);
    for (word, n_found) in [("latest", 1), ("earlier", 300)] {
        let found = index.search(&catalog, &read(word), &compiled, &filter.namespaces, 999);
        assert_eq!(found.unwrap().candidates.n_matching, n_found, "{word}");
    }
}
