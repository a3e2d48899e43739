//! What was true and what is true, through the tools and the commands of the real daemon.

use serde_json::{Value, json};

use crate::daemon::{Home, WAIT, eventually};

/// Names of which more are compared than at once.
const TEAMS: [&str; 40] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "indigo", "juniper",
    "kestrel", "lagoon", "maple", "nectar", "onyx", "poplar", "quartz", "raven", "saffron",
    "tundra", "umber", "velvet", "willow", "xenon", "yarrow", "zephyr", "alder", "basil", "cobalt",
    "dune", "elm", "falcon", "garnet", "hazel", "iris", "jasmine", "krill", "lotus", "meadow",
    "nutmeg",
];

/// The contents of a search's hits.
fn contents(answer: &Value) -> Vec<String> {
    let hits = answer["memories"].as_array().cloned().unwrap_or_default();
    hits.iter().filter_map(|hit| hit["content"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_correction_supersedes_and_as_of_shows_what_was_true() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    for (first, second, query) in [
        ("The router is 192.168.7.1", "The router is 192.168.9.1", "Which address has the router?"),
        ("I am vegetarian", "I eat meat again", "Does the user eat meat or vegetarian food?"),
        ("打印机是192.168.7.5", "打印机是192.168.9.5", "打印机的地址"),
        ("我吃素", "我又开始吃肉了", "吃肉还是吃素"),
    ] {
        let old = json!({ "content": first, "kind": "preference", "occurred_at": "2026-01-10" });
        let old = agent.must("memory_store", old).await["memories"][0]["id"].clone();
        let new = json!({ "content": second, "kind": "preference", "occurred_at": "2026-06-10" });
        let new = agent.must("memory_store", new).await["memories"][0].clone();
        // On a busy machine the comparison may come after the answer.
        if new["comparison"] != "pending" {
            assert_eq!(new["superseded"], json!([old]), "{new}");
        }
        eventually("the old one is superseded", async || {
            let got = agent.must("memory_get", json!({ "ids": [old] })).await;
            (got["memories"][0]["superseded_by"] == new["id"]).then_some(())
        })
        .await;
        let now = agent.must("memory_search", json!({ "query": query })).await;
        assert_eq!(contents(&now).first().map(String::as_str), Some(second), "{now}");
        assert!(!contents(&now).contains(&first.to_owned()), "{now}");
        let then = json!({ "query": query, "as_of": "2026-03-15" });
        let then = agent.must("memory_search", then).await;
        assert_eq!(contents(&then).first().map(String::as_str), Some(first), "{then}");
        assert!(!contents(&then).contains(&second.to_owned()), "{then}");
        let printed = home.run(&["recall", query, "--as-of", "2026-03-15"]);
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        assert!(printed.contains(first) && !printed.contains(second), "{printed}");
        let got = agent.must("memory_get", json!({ "ids": [new["id"]] })).await;
        assert_eq!(got["memories"][0]["chain"][0]["content"], first, "{got}");
    }
    let refused = agent.call("memory_search", json!({ "query": "x", "as_of": "once" })).await;
    assert!(refused.is_error && refused.text.contains("as_of"), "{}", refused.text);
}

#[tokio::test]
async fn what_a_kill_left_uncompared_is_compared_after_the_next_start() {
    let home = Home::with_config("[embed]\nmodel = \"none\"\n[mcp]\ntoolset = \"full\"\n");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let stored = async |said: &dyn Fn(&str) -> String| {
        let texts: Vec<String> = TEAMS.iter().map(|team| said(team)).collect();
        agent.must("memory_store", json!({ "memories": texts })).await;
    };
    stored(&|team| format!("The standup of team {team} is at 10:00")).await;
    stored(&|team| format!("The standup of team {team} was moved to 11:00")).await;
    daemon.kill();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    eventually("every correction is found", async || {
        let listed = json!({ "status": ["superseded"], "limit": 200 });
        let listed = agent.must("memory_list", listed).await;
        (listed["n_listed"] == json!(TEAMS.len())).then_some(())
    })
    .await;
    let current = agent.must("memory_list", json!({ "limit": 200 })).await;
    assert!(contents(&current).iter().all(|text| text.contains("11:00")), "{current}");
}

#[tokio::test]
async fn a_superseded_memory_is_made_current_again_by_the_person() {
    let home = Home::with_config("[mcp]\ntoolset = \"full\"\n");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let store = async |content: &str, day: &str| {
        let draft = json!({ "content": content, "occurred_at": day });
        agent.must("memory_store", draft).await["memories"][0].clone()
    };
    let old = store("The team has 20 people", "2026-01-10").await;
    let new = store("The team has 25 people", "2026-06-10").await;
    let id = old["id"].as_str().unwrap();
    eventually("the old one is superseded", async || {
        let got = agent.must("memory_get", json!({ "ids": [id] })).await;
        (got["memories"][0]["superseded_by"] == new["id"]).then_some(())
    })
    .await;
    let updated = home.run(&["update", id, "--status", "active"]);
    let printed = String::from_utf8_lossy(&updated.stdout).into_owned();
    assert!(updated.status.success() && printed.contains("status"), "{printed}");
    let found = agent.must("memory_search", json!({ "query": "team people" })).await;
    assert_eq!(contents(&found).len(), 2, "{found}");
    let untouched = agent.must("memory_restore", json!({ "ids": [id] })).await;
    assert_eq!(untouched["n_untouched"], 1, "{untouched}");
    assert!(home.run(&["unarchive", id]).status.success());
    let nothing = agent.client.call_tool("memory_restore", json!({ "ids": ["none"] }), WAIT).await;
    assert!(nothing.is_ok_and(|reply| reply.is_error));
}

/// What a hit says of a memory beside it.
fn beside<'a>(answer: &'a Value, id: &Value, field: &str) -> &'a Value {
    let hits = answer["memories"].as_array().unwrap();
    let hit = hits.iter().find(|hit| hit["id"] == *id).unwrap_or_else(|| panic!("{answer}"));
    &hit[field][0]
}

/// Said again it is the stronger; what nothing settles stays, and each is shown with the other.
#[tokio::test]
async fn what_is_said_again_is_reinforced_and_what_is_unclear_is_shown_as_a_pair() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let at = |content: &str, day: &str| json!({ "content": content, "occurred_at": day });
    for (said, again, day) in [
        ("The standup is at 3pm", "Standup is at 15:00", "2026-05-01"),
        ("团队有二十人", "团队有20人", "2026-05-02"),
    ] {
        let old = agent.must("memory_store", at(said, day)).await["memories"][0]["id"].clone();
        let before = agent.must("memory_search", json!({ "query": said })).await;
        let new = agent.must("memory_store", at(again, day)).await["memories"][0].clone();
        if new["comparison"] != "pending" {
            assert_eq!(new["reinforced"], json!([old]), "{new}");
        }
        assert_eq!(new["status"], "stored", "restatements merge later, not at the door: {new}");
        let after = agent.must("memory_search", json!({ "query": said })).await;
        assert_eq!(contents(&before).len() + 1, contents(&after).len(), "{after}");
    }
    for (said, otherwise, query) in [
        ("I like coffee", "I don't like coffee", "coffee"),
        ("我对花生过敏", "我对花生不过敏", "花生过敏"),
    ] {
        // On one day: nothing tells which came later.
        let old = agent.must("memory_store", at(said, "2026-05-03")).await["memories"][0].clone();
        let new = at(otherwise, "2026-05-03");
        let new = agent.must("memory_store", new).await["memories"][0].clone();
        let found = eventually("both are linked", async || {
            let found = agent.must("memory_search", json!({ "query": query })).await;
            let is_linked = found["memories"].to_string().contains("contradicting");
            is_linked.then_some(found)
        })
        .await;
        assert_eq!(beside(&found, &old["id"], "contradicting")["content"], otherwise, "{found}");
        assert_eq!(beside(&found, &new["id"], "contradicting")["content"], said, "{found}");
        let got = agent.must("memory_get", json!({ "ids": [old["id"]] })).await;
        assert_eq!(beside(&got, &old["id"], "contradicting")["id"], new["id"], "{got}");
        let printed = home.run(&["recall", query]);
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        assert!(printed.contains("contradicted"), "{printed}");

        // Calling one of them wrong settles it.
        let judged = json!({ "ids": [new["id"]], "verdict": "wrong" });
        let judged = agent.must("memory_feedback", judged).await;
        assert_eq!(judged["memories"][0]["superseded_by"], old["id"], "{judged}");
        let found = agent.must("memory_search", json!({ "query": query })).await;
        assert!(contents(&found).contains(&said.to_owned()), "{found}");
        assert!(!found.to_string().contains(otherwise), "{found}");
    }
}

/// A hypothesis is no fact any more once it is corrected, by the store or by feedback; it stays as
/// history.
#[tokio::test]
async fn a_corrected_hypothesis_is_history_by_whatever_way_it_was_corrected() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    for (wrong, right, query) in [
        ("Hypothesis: the crash comes from the cache", "It crashes in the resolver", "crash"),
        ("假设：崩溃来自缓存", "崩溃来自解析器", "崩溃来自"),
    ] {
        for by_feedback in [false, true] {
            let namespace = format!("shared/{}", if by_feedback { "told" } else { "stored" });
            let place = |mut fields: Value| {
                fields["namespace"] = json!(namespace);
                fields
            };
            let old = agent.must("memory_store", place(json!({ "content": wrong }))).await;
            let old = old["memories"][0]["id"].clone();
            if by_feedback {
                let told = json!({ "ids": [old], "verdict": "wrong", "correction": right });
                agent.must("memory_feedback", told).await;
            } else {
                let draft = place(json!({ "content": right, "supersedes": old }));
                agent.must("memory_store", draft).await;
            }
            let search = async |more: bool| {
                let request = json!({ "query": query, "include_superseded": more });
                agent.must("memory_search", place(request)).await
            };
            assert_eq!(contents(&search(false).await), [right], "{by_feedback}");
            let mut all = contents(&search(true).await);
            all.sort_unstable();
            let mut both = [wrong, right];
            both.sort_unstable();
            assert_eq!(all, both, "history on request");
            let got = agent.must("memory_get", json!({ "ids": [old] })).await;
            assert_eq!(beside(&got, &old, "chain")["content"], right, "{got}");
        }
    }
}

/// Without the comparison a correction that differs by a digit is not swallowed; with it, the answer
/// says what it replaced.
#[tokio::test]
async fn a_correction_by_one_digit_is_found_and_the_answer_says_which_it_replaced() {
    let home = Home::with_config("[contradiction]\nautomatic = false\n");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let store = async |content: &str| {
        let stored = agent.must("memory_store", json!({ "content": content })).await;
        assert_ne!(stored["memories"][0]["status"], "deduplicated", "{stored}");
        stored["memories"][0].clone()
    };
    let cases = [
        (["The router is 192.168.7.1", "The router is 192.168.9.1"], "router address"),
        (["打印机是192.168.7.5", "打印机是192.168.9.5"], "打印机"),
    ];
    for (contents_of, query) in cases {
        for content in contents_of {
            store(content).await;
        }
        let found = contents(&agent.must("memory_search", json!({ "query": query })).await);
        assert!(contents_of.iter().all(|one| found.contains(&(*one).to_owned())), "{found:?}");
    }
    home.rewrite("");
    assert!(home.run(&["reload"]).status.success());
    for (before, content, query) in [
        (cases[0].0[1], "The router is 192.168.9.254", "router address"),
        (cases[1].0[1], "打印机是192.168.9.55", "打印机"),
    ] {
        let new = store(content).await;
        let found = eventually("the one before it is replaced", async || {
            let found = contents(&agent.must("memory_search", json!({ "query": query })).await);
            (!found.contains(&before.to_owned())).then_some(found)
        })
        .await;
        assert_eq!(found[0], content);
        if new["comparison"] != "pending" {
            assert_eq!(new["superseded"].as_array().map(Vec::len), Some(2), "{new}");
        }
    }
}
