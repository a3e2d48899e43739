//! What every client reads first: tools, resources, prompts.

use serde_json::{Value, json};

use super::client::{Daemon, MODERN};
use crate::domain::budget::tokens_estimate;
use crate::mcp::{Toolset, info, offline_answer, tools};

fn definitions() -> Vec<Value> {
    tools::listed(Toolset::Full).iter().map(|tool| serde_json::to_value(tool).unwrap()).collect()
}

/// Every key of every object in a value.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                found.push(key.clone());
                keys(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn schemas_hold_nothing_that_breaks_a_client() {
    for tool in definitions() {
        let name = tool["name"].as_str().unwrap();
        assert!(name.len() <= 24 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
        let schema = tool["inputSchema"].as_object().unwrap();
        assert_eq!(schema.keys().collect::<Vec<_>>(), ["type", "properties"], "{name}");
        assert_eq!(schema["type"], "object");
        for (property, value) in schema["properties"].as_object().unwrap() {
            assert!(property.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{property}");
            let kind = value["type"].as_str().unwrap_or_else(|| panic!("{name}.{property}"));
            assert!(["string", "integer", "number", "boolean", "array"].contains(&kind));
            let items = value.get("items");
            assert_eq!(items, (kind == "array").then_some(&json!({"type": "string"})));
            let mut found = Vec::new();
            keys(value, &mut found);
            for key in found {
                assert!(
                    ["type", "description", "items", "enum"].contains(&key.as_str()),
                    "{name}.{property}: {key}"
                );
            }
        }
        let annotations = tool["annotations"].as_object().unwrap();
        for hint in ["readOnlyHint", "openWorldHint"] {
            assert!(annotations[hint].is_boolean(), "{name}: {hint}");
        }
        // Of a tool that only reads these say nothing.
        for hint in ["destructiveHint", "idempotentHint"] {
            let is_said = annotations.get(hint).is_some_and(Value::is_boolean);
            assert_eq!(is_said, annotations["readOnlyHint"] == false, "{name}: {hint}");
        }
        assert!(tool.get("outputSchema").is_none());
    }
}

#[test]
fn all_definitions_together_cost_less_than_3000_tokens() {
    let total = tokens_estimate(&serde_json::to_string(&info::tools(Toolset::Full)).unwrap());
    assert!(total < 3_000, "{total}");
}

#[test]
fn two_to_five_tools_are_always_loaded() {
    let is_loaded = |tool: &&Value| tool["_meta"]["anthropic/alwaysLoad"] == true;
    let n_loaded = definitions().iter().filter(is_loaded).count();
    assert!((2..=5).contains(&n_loaded), "{n_loaded}");
}

#[tokio::test]
async fn the_bridge_alone_answers_as_the_daemon_does() {
    let daemon = Daemon::new();
    let methods = [
        "server/discover",
        "ping",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ];
    let versions =
        ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN, "2099-01-01", "nonsense"];
    for version in versions {
        let mut legacy = daemon.dial();
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        });
        let live = legacy.initialize("x", version).await;
        assert_eq!(
            live.get("result").cloned(),
            offline_answer("initialize", Some(&params), Toolset::Full)
        );
        for method in methods {
            let live = legacy.request(method, json!({})).await;
            let offline = offline_answer(method, Some(&json!({})), Toolset::Full);
            assert_eq!(live.get("result").cloned(), offline, "{version} {method}");
        }
    }
    let mut modern = daemon.dial().modern("x");
    for method in methods {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let live = modern.request(method, json!({})).await;
        let offline = offline_answer(method, Some(&json!({"_meta": meta})), Toolset::Full);
        assert_eq!(live.get("result").cloned(), offline, "{method}");
    }
    for toolset in [Toolset::Small, Toolset::Full] {
        let params = json!({"name": "memory_status"});
        assert_eq!(offline_answer("tools/call", Some(&params), toolset), None);
        assert_eq!(offline_answer("initialize", None, toolset), None);
    }
}

#[test]
fn the_small_set_is_the_beginning_of_the_full_one() {
    let [small, full] = [Toolset::Small, Toolset::Full].map(tools::listed);
    assert!((8..full.len()).contains(&small.len()), "{} of {}", small.len(), full.len());
    assert_eq!(small, &full[..small.len()]);
    assert!(small.iter().all(|tool| !tool.name.starts_with("maintenance_")));
}

#[tokio::test]
async fn the_prompt_teaches_and_others_are_unknown() {
    let mut client = Daemon::new().legacy("x").await;
    let answer = client.request("prompts/get", json!({"name": "use_memory"})).await;
    let text = answer["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("memory_search") && text.contains("memory_store"));
    let answer = client.request("prompts/get", json!({"name": "other"})).await;
    assert_eq!(answer["error"]["code"], -32602);
}
