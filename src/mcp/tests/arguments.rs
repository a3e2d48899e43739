//! Arguments as models write them, through every tool.

use serde_json::{Value, json};

use super::client::Daemon;
use crate::mcp::{Toolset, tools};

/// A value of each kind of property, in all the forms clients send it.
fn forms(name: &str, kind: &str) -> Vec<Value> {
    let mut forms = match kind {
        "integer" if name == "max_tokens" => vec![json!(500), json!(500.0), json!(" 500 ")],
        "integer" => vec![json!(5), json!(5.0), json!("5"), json!(" 5 "), json!([5])],
        "number" => vec![json!(0.5), json!("0.5"), json!(1), json!("1"), json!(0)],
        "boolean" => vec![json!(false), json!("false"), json!("False"), json!(0), json!("no")],
        "array" => {
            let word = match name {
                "kinds" => "fact",
                "status" => "active",
                "parts" => "profile",
                "namespace" => "user",
                _ => "tea",
            };
            vec![json!([word]), json!(format!("[\"{word}\"]")), json!(word), json!([])]
        }
        _ => vec![json!(word(name)), json!([word(name)])],
    };
    forms.extend([json!(null), json!("null"), json!("undefined"), json!("")]);
    forms
}

fn word(name: &str) -> &'static str {
    match name {
        "after" => "2020-01-01",
        "before" => "2030-01-01T00:00:00Z",
        "as_of" | "occurred_at" | "valid_to" | "at" => "2026-01-01",
        "to_come" => "2026-04-01T09:00:00Z",
        "role" => "Assistant",
        "kind" => "FACT",
        "status" => "Active",
        "layer" => "semantic",
        "order" => "oldest",
        "tag_match" => "ALL",
        "zone" => "Europe/Berlin",
        "rule" => "every Friday 15:00",
        "lead" => "PT1H",
        "priority" => "Urgent",
        "on_missed" => "SKIP",
        "until" => "2027-01-01",
        "view" => "Due",
        "namespace" => "user",
        "metadata" => r#"{"project":"x"}"#,
        _ => "tea",
    }
}

/// What makes a call of the tool complete.
fn base(tool: &str, id: &str) -> Value {
    match tool {
        "memory_search" => json!({"query": "tea"}),
        "memory_store" | "memory_ingest" => json!({"content": "Anna drinks tea"}),
        "memory_get" | "memory_restore" => json!({"ids": [id]}),
        "memory_update" => json!({"id": id, "tags": ["tea"], "importance": 0.5}),
        "memory_forget" => json!({"query": "tea", "namespace": "user", "dry_run": true}),
        "memory_feedback" => json!({"ids": [id], "verdict": " Useful "}),
        "maintenance_run" => json!({"job": "DECAY"}),
        "session_append" => json!({"session": "tea", "content": "Anna drinks tea"}),
        "session_get" => json!({"session": "tea"}),
        "reminder_set" => json!({"text": "tea", "rule": "every Friday at 9:00"}),
        "reminder_update" => json!({"id": id, "action": "change", "text": "tea"}),
        _ => json!({}),
    }
}

/// Names something that is there, or is tried on its own below.
const SKIPPED: &[&str] = &[
    "id",
    "ids",
    "cursor",
    "supersedes",
    "confirm",
    "correction",
    "memories",
    "turns",
    "dry_run",
    "verdict",
    "job",
    "run",
    "memory",
    "sinks",
    "action",
];

#[tokio::test]
async fn every_argument_of_every_tool_is_read_in_every_form() {
    let mut client = Daemon::new().legacy("x").await;
    let memory = client.store("Anna drinks tea").await;
    let set = json!({"text": "tea", "rule": "every Friday at 9:00"});
    let set = client.ok("reminder_set", set).await;
    let reminder = set["reminder"]["id"].as_str().unwrap();
    for tool in tools::listed(Toolset::Full) {
        let id = if tool.name == "reminder_update" { reminder } else { &memory };
        let properties = tool.input_schema["properties"].as_object().unwrap();
        for (name, schema) in properties {
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            // A snooze has one, and nothing is due here.
            if tool.name == "reminder_update" && name == "for" {
                continue;
            }
            let is_to_come = tool.name.starts_with("reminder_") && name == "at";
            let sort = if is_to_come { "to_come" } else { name };
            for form in forms(sort, schema["type"].as_str().unwrap()) {
                let mut arguments = base(&tool.name, id);
                if ["content", "query", "text"].contains(&name.as_str())
                    && (form.is_null() || form == "")
                {
                    continue;
                }
                let is_absent = ["", "null", "undefined"].map(Value::from).contains(&form);
                // It is what names a time.
                if name == "rule" && tool.name == "reminder_set" && (is_absent || form.is_null()) {
                    continue;
                }
                // Without one it is that of the connection, and this has none.
                if tool.name.starts_with("session_")
                    && name == "session"
                    && (is_absent || form.is_null())
                {
                    continue;
                }
                arguments[name] = form;
                let result = client.ok(&tool.name, arguments.clone()).await;
                assert!(result.get("warnings").is_none(), "{} {arguments}: {result}", tool.name);
            }
        }
    }
}

#[tokio::test]
async fn wrong_values_are_errors_that_name_the_argument_and_store_nothing() {
    let daemon = Daemon::new();
    let mut client = daemon.legacy("x").await;
    let id = client.store("Anna drinks tea").await;
    for (tool, name, value, expected) in [
        ("memory_store", "content", json!(""), "`content`: expected text"),
        ("memory_store", "content", json!(" \n"), "`content`: expected text"),
        ("memory_store", "content", json!({"a": 1}), "`content`: expected text, got {\"a\":1}"),
        ("memory_store", "kind", json!("opinion"), "`kind`: expected one of fact"),
        ("memory_store", "kind", json!("profile"), "a profile is made by the daemon"),
        ("memory_store", "importance", json!(7), "`importance`: expected a number 0 to 1, got 7"),
        ("memory_store", "occurred_at", json!("yesterday"), "`occurred_at`: expected an ISO 8601"),
        ("memory_store", "metadata", json!("text"), "`metadata`: expected a JSON object"),
        ("memory_store", "tags", json!({"a": 1}), "`tags`: expected a list of texts"),
        ("memory_store", "namespace", json!("User Space"), "`namespace`: expected a namespace"),
        ("memory_store", "namespace", json!("agent/other"), "not writable"),
        ("memory_store", "pinned", json!("perhaps"), "`pinned`: expected true or false"),
        ("memory_store", "supersedes", json!("zzzzzzzz"), "`zzzzzzzz` not found"),
        ("memory_store", "memories", json!(["a"]), "`content`: expected either `content` or"),
        ("memory_search", "query", json!(""), "`query`: expected"),
        ("memory_search", "limit", json!("many"), "`limit`: expected a whole number"),
        ("memory_search", "limit", json!(0), "`limit`: expected a whole number 1 to 100, got 0"),
        ("memory_search", "max_tokens", json!(1), "`max_tokens`: expected a whole number 50"),
        ("memory_search", "cursor", json!("abc"), "`cursor`: expected"),
        ("memory_search", "layer", json!("deep"), "`layer`: expected episodic or semantic"),
        (
            "memory_search",
            "zone",
            json!("Mars/Olympus"),
            "`zone`: expected the name of a time zone",
        ),
        ("memory_search", "after", json!([1, 2]), "`after`: expected"),
        ("memory_context", "parts", json!(["all"]), "`parts`: expected one of orders, reminders"),
        ("memory_list", "order", json!("random"), "`order`: expected newest or oldest"),
        ("memory_list", "kinds", json!(["fact", "opinion"]), "`kinds`: expected one of"),
        ("memory_list", "status", json!("lost"), "`status`: expected one of active"),
        ("memory_get", "ids", json!([]), "`ids`: expected 1 to 50 ids"),
        ("memory_update", "id", json!(null), "`id`: expected one memory id or handle"),
        ("memory_update", "valid_to", json!("later"), "`valid_to`: expected an ISO 8601"),
        ("memory_forget", "ids", json!([id]), "`ids`: expected either `ids` or a filter"),
        ("memory_forget", "confirm", json!("abc"), "`confirm`: expected"),
        ("memory_forget", "tags", json!([""]), "`tags`: expected a list without empty items"),
        ("memory_forget", "kinds", json!("[\"fact\", \" \"]"), "`kinds`: expected a list without"),
    ] {
        let mut arguments = base(tool, &id);
        if tool == "memory_forget" {
            arguments = json!({"query": "tea"});
        }
        arguments[name] = value;
        let refusal = client.refused(tool, arguments.clone()).await;
        assert!(refusal.contains(expected), "{tool} {arguments}: {refusal}");
    }
    let listed = client.ok("memory_list", json!({})).await;
    assert_eq!(listed["n_listed"], 1, "{listed}");
    assert_eq!(listed["memories"][0]["content"], "Anna drinks tea");
}

#[tokio::test]
async fn wrong_values_about_reminders_name_the_argument_and_set_nothing() {
    let mut client = Daemon::new().legacy("x").await;
    for (tool, name, value, expected) in [
        ("reminder_set", "at", json!("whenever"), "`at`:"),
        ("reminder_set", "rule", json!("sometimes"), "`rule`:"),
        ("reminder_set", "lead", json!("early"), "`lead`:"),
        ("reminder_set", "zone", json!("Mars/Olympus"), "`zone`:"),
        ("reminder_set", "sinks", json!("pigeon"), "`sinks`: expected"),
        ("reminder_set", "priority", json!("top"), "`priority`: expected normal or urgent"),
        ("reminder_set", "on_missed", json!("cry"), "`on_missed`: expected late, skip or coalesce"),
        ("reminder_set", "count", json!(0), "`count`: expected a whole number 1"),
        ("reminder_set", "memory", json!("zzzzzzzz"), "zzzzzzzz"),
        ("reminder_set", "namespace", json!("agent/other"), "not writable"),
        ("reminder_list", "view", json!("old"), "`view`: expected one of due, upcoming"),
        ("reminder_list", "limit", json!(0), "`limit`: expected a whole number 1 to 200"),
        ("reminder_update", "id", json!(null), "`id`: expected the id or handle of a reminder"),
        ("reminder_update", "action", json!("eat"), "`action`: expected one of ack, snooze"),
        ("reminder_update", "action", json!(null), "`action`: expected one of ack, snooze"),
    ] {
        let mut arguments = base(tool, "00000000");
        if name == "at" {
            arguments = json!({"text": "tea"});
        }
        arguments[name] = value;
        let refusal = client.refused(tool, arguments.clone()).await;
        assert!(refusal.contains(expected), "{tool} {arguments}: {refusal}");
    }
    let listed = client.ok("reminder_list", json!({"view": "all"})).await;
    assert_eq!(listed["reminders"], json!([]), "{listed}");
}

#[tokio::test]
async fn arguments_nobody_knows_are_ignored_and_named() {
    let mut client = Daemon::new().legacy("x").await;
    let id = client.store("Anna drinks tea").await;
    for tool in tools::listed(Toolset::Full) {
        // Nothing has been run that could be undone, or set that could be changed.
        if ["maintenance_undo", "reminder_update"].contains(&tool.name.as_ref()) {
            continue;
        }
        let mut arguments = base(&tool.name, &id);
        arguments["verbosity"] = json!("high");
        arguments["nothing"] = json!(null);
        let result = client.call(&tool.name, arguments).await;
        let warning = "ignored unknown arguments: `verbosity`";
        assert_eq!(result["structuredContent"]["warnings"], json!([warning]), "{}", tool.name);
        assert!(super::client::text(&result).contains(warning), "{}", tool.name);
    }
}

#[tokio::test]
async fn other_names_for_an_argument_are_read() {
    let mut client = Daemon::new().legacy("x").await;
    client.ok("memory_store", json!({"text": "Anna drinks tea"})).await;
    client.ok("memory_store", json!({"text": "Bert drinks tea"})).await;
    let found = client.ok("memory_search", json!({"query": "tea", "top_k": "1"})).await;
    assert_eq!(found["n_found"], 1);
    let id = &found["memories"][0]["id"];
    assert_eq!(client.ok("memory_get", json!({"id": id})).await["memories"][0]["id"], *id);
}

#[tokio::test]
async fn memories_may_be_texts_objects_or_the_json_of_either() {
    let daemon = Daemon::new();
    for (memories, contents) in [
        (json!(["one, with a comma", "two"]), vec!["one, with a comma", "two"]),
        (json!(r#"["one", "two"]"#), vec!["one", "two"]),
        (json!("just one, really"), vec!["just one, really"]),
        (
            json!([r#"{"content":"one","kind":"task"}"#, {"text": "two", "kind": "task"}]),
            vec!["one", "two"],
        ),
        (json!([r#"{"a":1}"#, "{not json", 5]), vec![r#"{"a":1}"#, "{not json", "5"]),
        (json!({"content": "one"}), vec!["one"]),
    ] {
        let mut client = daemon.legacy("x").await;
        let stored = client
            .ok("memory_store", json!({"memories": memories, "content": "", "tags": "a"}))
            .await;
        let stored = stored["memories"].as_array().unwrap().clone();
        assert_eq!(stored.len(), contents.len(), "{memories}");
        for (one, content) in stored.iter().zip(contents) {
            let got = client.ok("memory_get", json!({"ids": [one["id"]]})).await;
            assert_eq!(got["memories"][0]["content"], content);
            assert_eq!(got["memories"][0]["tags"], json!(["a"]), "common fields hold for each");
        }
    }
    let mut client = daemon.legacy("x").await;
    for (memories, expected) in [
        (json!([{"kind": "fact"}]), "`memories[0].content`"),
        (json!(["fine", {"content": "x", "kind": "opinion"}]), "`memories[1].kind`"),
        (json!([["nested"]]), "`memories[0].content`"),
        (json!([null]), "`memories[0].content`"),
        (json!([]), "`content`: expected either"),
        (json!(vec!["x"; 101]), "`memories`: expected 1 to 100"),
    ] {
        let refusal = client.refused("memory_store", json!({"memories": memories})).await;
        assert!(refusal.contains(expected), "{memories}: {refusal}");
    }
    let refusal = client
        .refused("memory_store", json!({"memories": ["a", "b"], "supersedes": "zzzzzzzz"}))
        .await;
    assert!(refusal.contains("`supersedes`"), "{refusal}");
}
