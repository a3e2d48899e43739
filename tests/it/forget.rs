//! Forgetting is total: what is forgotten is gone from every tool, for good, however it is asked.

use std::fs;

use serde_json::{Value, json};

use crate::daemon::{Agent, Bridge, Home, WAIT};

/// The ids of the contents, stored one by one.
async fn store_all(agent: &Agent, contents: &[&str]) -> Vec<String> {
    let mut ids = Vec::new();
    for content in contents {
        ids.push(agent.store(content).await);
    }
    ids
}

/// Nothing that the daemon answers, to anybody, by any tool or resource, holds `word` or shows the
/// memory of this id.
pub async fn assert_gone(home: &Home, id: &str, word: &str) {
    for (who, agent) in [("agent", home.agent("a").await), ("owner", home.owner().await)] {
        let everything = json!({
            "query": word, "limit": 100, "include_superseded": true, "include_archived": true,
        });
        for (tool, arguments) in [
            ("memory_search", everything),
            ("memory_search", json!({ "query": id })),
            ("memory_list", json!({ "limit": 200 })),
            (
                "memory_list",
                json!({
                    "limit": 200, "status": ["active", "superseded", "invalidated", "archived"],
                }),
            ),
            ("memory_context", json!({ "query": word, "max_tokens": 8_000 })),
            ("memory_context", json!({ "max_tokens": 8_000 })),
            ("memory_get", json!({ "ids": [id], "history": true })),
            ("memory_update", json!({ "id": id, "tags": ["back"] })),
            ("memory_store", json!({ "content": "Its successor", "supersedes": id })),
            ("memory_forget", json!({ "ids": [id], "dry_run": true })),
            ("memory_forget", json!({ "query": word, "dry_run": true })),
            ("memory_status", json!({})),
        ] {
            let reply = agent.call(tool, arguments.clone()).await;
            let structured = reply.structured.unwrap_or_default();
            let answer = format!("{} {structured}", reply.text);
            assert!(!answer.contains(word), "{who}: {tool} {arguments}: {answer}");
            // Another memory may say what it replaced; the memory itself is not to be seen.
            let is_shown = answer.contains(&format!("\"id\":\"{id}\""));
            assert!(!is_shown, "{who}: {tool} {arguments}: {answer}");
            let must_fail = arguments.to_string().contains(id) && tool != "memory_search";
            assert_eq!(reply.is_error, must_fail, "{who}: {tool} {arguments}: {answer}");
        }
        let uri = json!({ "uri": format!("recalld://memory/{id}") });
        let read = agent.client.request("resources/read", uri, crate::daemon::WAIT).await;
        assert!(read.is_err(), "{who}: {read:?}");
    }
}

#[tokio::test]
async fn the_person_and_nobody_else_brings_back_what_an_agent_forgot() {
    let home = Home::full();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let id = agent.store("The umbrella is vermilion").await;
    agent.must("memory_forget", json!({ "ids": [id] })).await;
    let refused = agent.client.call_tool("memory_unforget", json!({ "id": id }), WAIT).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_gone(&home, &id, "vermilion").await;

    let restored = home.run(&["unforget", &id]);
    assert!(restored.status.success(), "{restored:?}");
    assert_eq!(agent.recall("vermilion").await, ["The umbrella is vermilion"]);
    assert!(!home.run(&["unforget", &id]).status.success(), "it is not forgotten any more");
}

#[tokio::test]
async fn what_an_agent_forgets_is_gone_everywhere_and_stays_gone() {
    let home = Home::full();
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let ids = store_all(&agent, &["The umbrella is vermilion", "The kettle is green"]).await;
    let patch = json!({ "id": ids[0], "content": "The parasol is vermilion" });
    agent.must("memory_update", patch).await;
    let receipt = agent.must("memory_forget", json!({ "ids": [ids[0]] })).await;
    assert_eq!(receipt["n_forgotten"], 1, "{receipt}");
    assert_eq!(receipt["forgotten"], json!([ids[0]]));
    for time in ["forgotten_at", "erase_by", "restorable_until"] {
        assert!(receipt[time].is_string(), "{time}: {receipt}");
    }
    assert_gone(&home, &ids[0], "vermilion").await;
    assert!(daemon.stop().await.success());

    let daemon = home.serve().await;
    assert_gone(&home, &ids[0], "vermilion").await;
    assert!(daemon.stop().await.success());

    fs::remove_dir_all(home.state().join("index")).unwrap();
    let daemon = home.serve().await;
    assert_gone(&home, &ids[0], "vermilion").await;
    let kept = home.agent("a").await.must("memory_get", json!({ "ids": [ids[1]] })).await;
    assert_eq!(kept["memories"][0]["content"], "The kettle is green");
    daemon.kill();

    let _daemon = home.serve().await;
    assert_gone(&home, &ids[0], "vermilion").await;
    // Saying it again is a new memory, with nothing of the old one.
    let again = home.agent("a").await.store("The umbrella is vermilion").await;
    assert_ne!(again, ids[0]);
    let read = json!({ "ids": [again], "history": true });
    let read = home.agent("a").await.must("memory_get", read).await;
    assert_eq!(read["memories"][0]["version"], 1, "{read}");
    assert_eq!(read["history"], Value::Null, "{read}");
}

#[tokio::test]
async fn what_the_person_forgets_is_not_restorable() {
    let home = Home::full();
    let _daemon = home.serve().await;
    let id = home.agent("a").await.store("The umbrella is vermilion").await;
    let receipt = home.owner().await.must("memory_forget", json!({ "ids": [id] })).await;
    assert_eq!(receipt["n_forgotten"], 1, "{receipt}");
    assert_eq!(receipt["restorable_until"], Value::Null, "{receipt}");
    assert_gone(&home, &id, "vermilion").await;
    home.owner().await.refused("memory_forget", json!({ "ids": [id] })).await;
}

#[tokio::test]
async fn the_person_may_cut_short_the_grace_of_what_an_agent_forgot() {
    let home = Home::full();
    let _daemon = home.serve().await;
    let (agent, owner) = (home.agent("a").await, home.owner().await);
    let id = agent.store("The umbrella is vermilion").await;
    agent.must("memory_forget", json!({ "ids": [id] })).await;
    agent.refused("memory_forget", json!({ "ids": [id] })).await;
    let receipt = owner.must("memory_forget", json!({ "ids": [id] })).await;
    assert_eq!(receipt["n_forgotten"], 1, "{receipt}");
    assert_eq!(receipt["restorable_until"], Value::Null, "{receipt}");
    owner.refused("memory_forget", json!({ "ids": [id] })).await;
    assert_gone(&home, &id, "vermilion").await;
}

#[tokio::test]
async fn a_filter_forgets_only_with_the_token_of_exactly_its_set() {
    let home = Home::full();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let count = async || agent.must("memory_list", json!({})).await["n_listed"].clone();
    for n in 0..3 {
        let memory = json!({ "content": format!("Draft {n} of the leaflet"), "tags": ["draft"] });
        agent.must("memory_store", memory).await;
    }
    agent.store("The leaflet is printed").await;
    let filter = json!({ "tags": ["draft"], "query": "leaflet" });
    let with = |more: Value| {
        let mut arguments = filter.clone();
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        arguments
    };

    for dry in [json!({}), json!({ "dry_run": true })] {
        let preview = agent.must("memory_forget", with(dry)).await;
        assert_eq!(preview["n_matching"], 3, "{preview}");
        assert_eq!(preview["sample"].as_array().unwrap().len(), 3, "{preview}");
        assert_eq!(preview["dry_run"], true, "{preview}");
    }
    let preview = agent.must("memory_forget", filter.clone()).await;
    let token = preview["confirm"].clone();
    assert!(token.is_string(), "{preview}");
    for wrong in [json!("0000000000000000"), json!("yes"), json!("*")] {
        let message = agent.refused("memory_forget", with(json!({ "confirm": wrong }))).await;
        assert!(message.contains("confirm"), "{message}");
    }
    // A token with a dry run is a dry run.
    let dry = with(json!({ "confirm": token, "dry_run": true }));
    assert_eq!(agent.must("memory_forget", dry).await["n_matching"], 3);
    // Somebody else's token is worth nothing.
    let other = home.agent("b").await;
    other.refused("memory_forget", with(json!({ "confirm": token }))).await;
    // Neither is one for another filter.
    let wider = json!({ "query": "leaflet", "confirm": token });
    agent.refused("memory_forget", wider).await;
    assert_eq!(count().await, 4);

    let late = json!({ "content": "Draft 3 of the leaflet", "tags": ["draft"] });
    agent.must("memory_store", late).await;
    let message = agent.refused("memory_forget", with(json!({ "confirm": token }))).await;
    assert!(message.contains("4 memories"), "{message}");
    assert_eq!(count().await, 5);

    let preview = agent.must("memory_forget", filter.clone()).await;
    let changed = json!({ "id": preview["sample"][0]["id"], "importance": 0.9 });
    agent.must("memory_update", changed).await;
    agent.refused("memory_forget", with(json!({ "confirm": preview["confirm"] }))).await;

    let preview = agent.must("memory_forget", filter.clone()).await;
    let confirmed = with(json!({ "confirm": preview["confirm"] }));
    let receipt = agent.must("memory_forget", confirmed.clone()).await;
    assert_eq!(receipt["n_forgotten"], 4, "{receipt}");
    agent.refused("memory_forget", confirmed).await;
    let left = agent.must("memory_list", json!({})).await;
    assert_eq!(left["n_listed"], 1, "{left}");
    assert_eq!(left["memories"][0]["content"], "The leaflet is printed");
}

#[tokio::test]
async fn an_agent_may_name_twenty_ids_and_no_more() {
    let home = Home::full();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let memories: Vec<String> = (0..21).map(|n| format!("Leaflet number {n}")).collect();
    let stored = agent.must("memory_store", json!({ "memories": memories })).await;
    let ids: Vec<Value> =
        stored["memories"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    let message = agent.refused("memory_forget", json!({ "ids": ids })).await;
    assert!(message.contains("20"), "{message}");
    let listed = agent.must("memory_list", json!({ "limit": 50 })).await;
    assert_eq!(listed["n_listed"], 21, "nothing was forgotten");
    let receipt = agent.must("memory_forget", json!({ "ids": ids[..20] })).await;
    assert_eq!(receipt["n_forgotten"], 20);
    let rest = json!({ "ids": [ids[20], ids[0]] });
    let receipt = agent.must("memory_forget", rest).await;
    assert_eq!(receipt["n_forgotten"], 1, "{receipt}");
    assert_eq!(receipt["missing"], json!([ids[0]]), "{receipt}");
}

/// Calls a tool under a request key; gives the whole result.
async fn keyed(bridge: &mut Bridge, tool: &str, arguments: Value, key: &str) -> Value {
    let params = json!({
        "name": tool, "arguments": arguments, "_meta": { "recalld/requestKey": key },
    });
    bridge.request("tools/call", params).await
}

#[tokio::test]
async fn a_replayed_call_brings_nothing_back_and_repeats_its_receipt() {
    let home = Home::full();
    let daemon = home.serve().await;
    let mut bridge = home.bridge("a");
    bridge.initialize().await;
    let memory = json!({ "content": "The umbrella is vermilion" });
    let first = keyed(&mut bridge, "memory_store", memory.clone(), "store").await;
    let id = first["structuredContent"]["memories"][0]["id"].clone();
    let again = keyed(&mut bridge, "memory_store", memory.clone(), "store").await;
    assert_eq!(again["structuredContent"]["memories"][0]["id"], id, "{again}");
    assert_eq!(again["structuredContent"]["memories"][0]["status"], "stored", "{again}");

    let forget = json!({ "ids": [id] });
    let receipt = keyed(&mut bridge, "memory_forget", forget.clone(), "forget").await;
    assert_eq!(receipt["structuredContent"]["n_forgotten"], 1, "{receipt}");
    let repeated = keyed(&mut bridge, "memory_forget", forget.clone(), "forget").await;
    assert_eq!(repeated["structuredContent"]["forgotten"], json!([id]), "{repeated}");
    let times = ["forgotten_at", "erase_by", "restorable_until"];
    for time in times {
        let (first, second) = (&receipt["structuredContent"], &repeated["structuredContent"]);
        assert_eq!(first[time], second[time], "{time}");
    }
    assert!(daemon.stop().await.success());

    let _daemon = home.serve().await;
    for _ in 0..2 {
        let replay = keyed(&mut bridge, "memory_store", memory.clone(), "store").await;
        let answer = &replay["structuredContent"]["memories"][0];
        assert_eq!(answer["status"], "forgotten", "{replay}");
        assert_eq!(answer["id"], id, "{replay}");
        let update = json!({ "id": id, "content": "The umbrella is vermilion" });
        let update = keyed(&mut bridge, "memory_update", update, "update").await;
        assert_eq!(update["isError"], true, "{update}");
    }
    assert_gone(&home, id.as_str().unwrap(), "vermilion").await;
    // The keys of others are their own.
    let mut other = home.bridge("b");
    other.initialize().await;
    let stored = keyed(&mut other, "memory_store", json!({ "content": "Mine" }), "store").await;
    assert_eq!(stored["structuredContent"]["memories"][0]["status"], "stored", "{stored}");
}

#[tokio::test]
async fn a_replayed_forget_by_filter_repeats_its_receipt() {
    let home = Home::full();
    let _daemon = home.serve().await;
    let mut bridge = home.bridge("a");
    bridge.initialize().await;
    for n in 0..2 {
        bridge.tool("memory_store", json!({ "content": format!("Leaflet number {n}") })).await;
    }
    let preview = bridge.tool("memory_forget", json!({ "query": "leaflet" })).await;
    let confirmed = json!({ "query": "leaflet", "confirm": preview["confirm"] });
    let receipt = keyed(&mut bridge, "memory_forget", confirmed.clone(), "filter").await;
    assert_eq!(receipt["structuredContent"]["n_forgotten"], 2, "{receipt}");
    let repeated = keyed(&mut bridge, "memory_forget", confirmed.clone(), "filter").await;
    assert_eq!(repeated["structuredContent"], receipt["structuredContent"], "{repeated}");
    let late = keyed(&mut bridge, "memory_forget", confirmed, "another").await;
    assert_eq!(late["isError"], true, "{late}");
}

#[tokio::test]
async fn superseded_memories_are_hidden_shown_on_request_and_kept_as_versions() {
    let home = Home::full();
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let old = agent.store("The office is in Lindenstrasse").await;
    let middle = json!({ "content": "The office is in Ahornweg", "supersedes": old });
    let middle = agent.must("memory_store", middle).await;
    assert_eq!(middle["memories"][0]["status"], "superseded", "{middle}");
    let middle = middle["memories"][0]["id"].as_str().unwrap().to_owned();
    let newest = json!({ "content": "The office is in Buchenallee", "supersedes": middle });
    let newest = agent.must("memory_store", newest).await["memories"][0]["id"].clone();

    let ids = async |arguments: Value| -> Vec<Value> {
        let agent = home.agent("a").await;
        let found = agent.must("memory_search", arguments).await;
        let mut ids: Vec<Value> =
            found["memories"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect();
        ids.sort_by_key(ToString::to_string);
        ids
    };
    let all = json!({ "query": "where is the office", "include_superseded": true });
    let newest_alone = ids(json!({ "query": "where is the office" })).await;
    assert_eq!(json!(newest_alone), json!([newest]));
    assert_eq!(ids(all.clone()).await, [json!(old), json!(middle), newest.clone()]);
    let read = agent.must("memory_get", json!({ "ids": [middle], "history": true })).await;
    assert_eq!(read["memories"][0]["status"], "superseded", "{read}");
    assert_eq!(read["memories"][0]["superseded_by"], newest, "{read}");
    assert_eq!(read["memories"][0]["supersedes"], json!(old), "{read}");

    // Forgetting the middle of the chain, and then its end, brings no earlier one back.
    agent.must("memory_forget", json!({ "ids": [middle] })).await;
    assert_gone(&home, &middle, "Ahornweg").await;
    let newest_still = ids(json!({ "query": "where is the office" })).await;
    assert_eq!(json!(newest_still), json!([newest]));
    agent.must("memory_forget", json!({ "ids": [newest] })).await;
    assert!(ids(json!({ "query": "Lindenstrasse office" })).await.is_empty());
    assert!(daemon.stop().await.success());
    let _daemon = home.serve().await;
    assert!(ids(json!({ "query": "Lindenstrasse office" })).await.is_empty());
    assert_eq!(ids(all).await, [json!(old)]);
}

#[tokio::test]
async fn every_earlier_version_is_shown_on_request_and_gone_with_the_memory() {
    let home = Home::full();
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let id = agent.store("The meeting room is upstairs").await;
    for room in ["downstairs", "in the annexe"] {
        let patch = json!({ "id": id, "content": format!("The meeting room is {room}") });
        agent.must("memory_update", patch).await;
    }
    assert!(daemon.stop().await.success());
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let plain = agent.must("memory_get", json!({ "ids": [id] })).await;
    assert_eq!(plain["history"], Value::Null, "{plain}");
    let read = agent.must("memory_get", json!({ "ids": [id], "history": true })).await;
    assert_eq!(read["memories"][0]["content"], "The meeting room is in the annexe");
    assert_eq!(read["memories"][0]["version"], 3, "{read}");
    let versions: Vec<(u64, &str)> = read["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["version"].as_u64().unwrap(), one["content"].as_str().unwrap()))
        .collect();
    let expected = [(1, "The meeting room is upstairs"), (2, "The meeting room is downstairs")];
    assert_eq!(versions, expected);
    agent.must("memory_forget", json!({ "ids": [id] })).await;
    assert_gone(&home, &id, "meeting room").await;
}
