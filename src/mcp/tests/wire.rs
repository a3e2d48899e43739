//! Lines that are no message, and messages that are no request: nothing hangs, nothing is lost.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::client::{Daemon, text};
use crate::domain::limits::LINE_BYTES_MAX;

#[tokio::test]
async fn what_is_no_request_is_answered_and_the_connection_lives_on() {
    let mut client = Daemon::new().legacy("x").await;
    for (line, code, id) in [
        ("garbage", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",", -32700, Value::Null),
        ("{\"id\":1,\"method\":\"\u{0}\"}", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        ("5", -32600, Value::Null),
        (r#"{"id":7,"method":"ping"}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, json!("a")),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[]}"#, -32600, json!(8)),
        (r#"{"jsonrpc":"2.0","id":9,"method":5}"#, -32600, json!(9)),
        (r#"{"jsonrpc":"2.0","id":10,"method":"no/such"}"#, -32601, json!(10)),
        (r#"{"jsonrpc":"2.0","id":11,"method":"resources/read","params":{}}"#, -32602, json!(11)),
        (
            r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":5}}"#,
            -32602,
            json!(12),
        ),
    ] {
        client.write(line).await;
        let answer = client.read().await.unwrap();
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer.get("id").cloned().unwrap_or_default(), id, "{line}: {answer}");
    }
    let answer = client.request("ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
}

#[tokio::test]
async fn what_asks_for_no_answer_gets_none() {
    let mut client = Daemon::new().dial();
    for line in [
        "",
        "  ",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":5}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}"#,
        r#"{"error":5}"#,
    ] {
        client.write(line).await;
    }
    let answer = client.initialize("x", "2025-06-18").await;
    assert!(answer.get("result").is_some(), "{answer}");
}

#[tokio::test]
async fn a_line_over_the_cap_is_answered_with_its_id_and_the_next_one_works() {
    let mut client = Daemon::new().legacy("x").await;
    let filler = "x".repeat(LINE_BYTES_MAX);
    // The id first, and last, where some clients write it.
    let first = format!(
        r#"{{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{{"text":"{filler}"}}}}"#
    );
    let last = format!(
        r#"{{"method":"tools/call","params":{{"text":"{filler}","id":1}},"jsonrpc":"2.0","id":"b"}}"#
    );
    for (line, id) in [(first, json!(41)), (last, json!("b"))] {
        client.write(&line).await;
        let answer = client.read().await.unwrap();
        assert_eq!(answer["error"]["code"], -32600);
        assert_eq!(answer["id"], id);
    }
    let long = "x".repeat(LINE_BYTES_MAX - 1_000);
    let refusal = client.refused("memory_store", json!({"content": long})).await;
    assert!(refusal.contains("32768"), "a long line under the cap is read: {refusal}");
}

#[tokio::test]
async fn the_last_line_counts_without_its_end() {
    let mut client = Daemon::new().legacy("x").await;
    client.writer.write_all(br#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#).await.unwrap();
    client.writer.shutdown().await.unwrap();
    assert_eq!(client.read().await.unwrap()["id"], 5);
    assert_eq!(client.read().await, None);
}

#[tokio::test]
async fn who_hangs_up_after_nothing_but_nonsense_is_told_why() {
    let filler = "x".repeat(LINE_BYTES_MAX + 1);
    for (line, code) in [("nonsense", -32_700), ("[]", -32_600), (&filler, -32_600)] {
        for _ in 0..10 {
            let mut client = Daemon::new().dial();
            client.write(line).await;
            client.writer.shutdown().await.unwrap();
            assert_eq!(client.read().await.unwrap()["error"]["code"], code);
            assert_eq!(client.read().await, None);
        }
    }
}

#[tokio::test]
async fn a_byte_order_mark_and_carriage_returns_are_ignored() {
    let mut client = Daemon::new().dial();
    client.write("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r").await;
    assert_eq!(client.read().await.unwrap()["id"], 5);
}

#[tokio::test]
async fn calls_whose_arguments_are_no_object_are_carried_out_all_the_same() {
    let daemon = Daemon::new();
    for mut client in [daemon.legacy("x").await, daemon.dial().modern("x")] {
        let arguments = json!("{\"content\":\"Anna drinks oolong tea\"}");
        let stored = client.ok("memory_store", arguments).await;
        assert_eq!(stored["memories"].as_array().unwrap().len(), 1);
        for arguments in [json!(""), json!([]), json!("{}"), json!(null)] {
            client.ok("memory_list", arguments).await;
        }
        let answer = client.request("tools/call", json!({"name": "memory_list"})).await;
        assert_eq!(answer["result"]["isError"], false);
        for arguments in [json!("words"), json!([1]), json!(5)] {
            let refusal = client.refused("memory_list", arguments).await;
            assert!(refusal.starts_with("`arguments`: expected a JSON object"), "{refusal}");
        }
    }
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_that_names_the_known_ones() {
    let mut client = Daemon::new().legacy("x").await;
    for arguments in [json!({}), json!("{}")] {
        let answer = client.call("memory_delete", arguments).await;
        assert_eq!(answer["code"], -32602);
        assert!(answer["message"].as_str().unwrap().contains("memory_forget"), "{answer}");
    }
}

#[tokio::test]
async fn a_request_key_makes_a_second_sending_harmless() {
    let daemon = Daemon::new();
    let mut client = daemon.legacy("x").await;
    let call = json!({
        "name": "memory_store",
        "arguments": {"memories": ["one", "two"]},
        "_meta": {"recalld/requestKey": "k-1"},
    });
    let first = client.request("tools/call", call.clone()).await;
    let again = daemon.legacy("x").await.request("tools/call", call.clone()).await;
    assert_eq!(
        first["result"]["structuredContent"]["memories"],
        again["result"]["structuredContent"]["memories"]
    );
    let mut bad = call;
    bad["_meta"]["recalld/requestKey"] = json!("k".repeat(129));
    let answer = client.request("tools/call", bad).await;
    assert!(text(&answer["result"]).contains("recalld/requestKey"), "{answer}");
}
