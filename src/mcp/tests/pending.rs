//! The pending reminders as a resource, followed in both eras, and what a store says of reminders.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Daemon, text};

const PENDING: &str = "recalld://reminders/pending";
const HOUR: Duration = Duration::from_hours(1);

async fn pending(client: &mut Client) -> Value {
    let answer = client.request("resources/read", json!({"uri": PENDING})).await;
    serde_json::from_str(answer["result"]["contents"][0]["text"].as_str().unwrap()).unwrap()
}

fn texts(pending: &Value, part: &str) -> Vec<String> {
    let all = pending[part].as_array().unwrap().iter();
    all.map(|one| one["text"].as_str().unwrap().to_owned()).collect()
}

/// The clock of these tests stands at 2026-03-01T12:00:00Z, a Sunday.
#[tokio::test]
async fn a_store_says_which_reminders_it_read() {
    let daemon = Daemon::new();
    let mut client = daemon.legacy("x").await;
    let result = client
        .call(
            "memory_store",
            json!({"memories": ["Remind me to call Bob tomorrow at 3pm",
                                "Weekly team meeting every Friday at 15:00",
                                "The router is in the hall"]}),
        )
        .await;
    let stored = &result["structuredContent"]["memories"];
    let armed = &stored[0]["reminders"][0];
    assert_eq!((&armed["state"], &armed["text"]), (&json!("upcoming"), &json!("call Bob")));
    assert_eq!(armed["next"][0]["told_at"], "2026-03-02T15:00:00Z", "{armed}");
    let proposed = &stored[1]["reminders"][0];
    assert_eq!(proposed["state"], "proposed", "{proposed}");
    assert_eq!(proposed["next"][0]["told_at"], "2026-03-06T14:00:00Z");
    assert_eq!(proposed["next"].as_array().unwrap().len(), 3);
    assert!(stored[2].get("reminders").is_none(), "{stored}");
    let shown = text(&result);
    for fact in ["call Bob", "2026-03-02T15:00:00Z", "proposes", "accept or decline"] {
        assert!(shown.contains(fact), "{fact} is missing in: {shown}");
    }
    let id = &stored[1]["id"];
    let arguments = json!({"id": id, "content": "Weekly team meeting every Friday at 16:00"});
    let updated = client.ok("memory_update", arguments).await;
    let read = updated["reminders_read"].as_array().unwrap();
    assert_eq!((read.len(), &read[0]["handle"]), (1, &proposed["handle"]));
    assert_eq!(read[0]["next"][0]["told_at"], "2026-03-06T15:00:00Z");
    let told = client.ok("memory_context", json!({"parts": ["reminders"]})).await;
    assert_eq!(told["reminders"].as_array().unwrap().len(), 1, "only what is near: {told}");
    assert_eq!(told["reminders"][0]["state"], "proposed");
}

#[tokio::test]
async fn what_is_pending_can_be_followed_in_both_eras() {
    let daemon = Daemon::new();
    let mut writer = daemon.legacy("x").await;
    let mut legacy = daemon.legacy("x").await;
    let mut modern = daemon.dial().modern("x");
    let mut other = daemon.legacy("other").await;
    let capabilities = legacy.initialize("x", "2025-11-25").await;
    assert_eq!(capabilities["result"]["capabilities"]["resources"]["subscribe"], true);
    for client in [&mut legacy, &mut other] {
        let answer = client.request("resources/subscribe", json!({"uri": PENDING})).await;
        assert!(answer.get("result").is_some(), "{answer}");
    }
    let refused = legacy.request("resources/subscribe", json!({"uri": "recalld://status"})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let wanted = json!({"notifications": {
        "resourceSubscriptions": [PENDING, "recalld://status"], "toolsListChanged": true,
    }});
    modern.send("subscriptions/listen", wanted).await;
    let acknowledged = modern.read().await.unwrap();
    let accepted = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(accepted, &json!([PENDING]), "{acknowledged}");

    // What the other may not read, it is not told of.
    let text = "Remind me to water the plants today at 2pm";
    let arguments = json!({"content": text, "namespace": "agent/x"});
    writer.ok("memory_store", arguments).await;
    for client in [&mut legacy, &mut modern] {
        let update = client.read().await.unwrap();
        assert_eq!(update["method"], "notifications/resources/updated");
        assert_eq!(update["params"]["uri"], PENDING);
    }
    assert_eq!(texts(&pending(&mut writer).await, "upcoming"), ["water the plants"]);
    daemon.pass(3 * HOUR).await;
    for client in [&mut legacy, &mut modern] {
        assert_eq!(client.read().await.unwrap()["method"], "notifications/resources/updated");
    }
    let now = pending(&mut writer).await;
    assert_eq!(texts(&now, "due"), ["water the plants"]);
    assert!(now["due"][0]["told_at"].is_string(), "{now}");
    // The next line of the other is its answer, and no update before it.
    assert_eq!(texts(&pending(&mut other).await, "due"), Vec::<String>::new());

    let answer = legacy.request("resources/unsubscribe", json!({"uri": PENDING})).await;
    assert!(answer.get("result").is_some(), "{answer}");
    let id = &now["due"][0]["id"];
    writer.ok("reminder_update", json!({"id": id, "action": "ack"})).await;
    assert_eq!(modern.read().await.unwrap()["method"], "notifications/resources/updated");
    assert_eq!(texts(&pending(&mut legacy).await, "due"), Vec::<String>::new());
}
