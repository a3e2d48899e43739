//! Tests of the socket client against a stand-in.

use tokio::io::Lines;
use tokio::net::UnixListener;

use super::*;

const WAIT: Duration = Duration::from_mins(1);

/// A client and the daemon's end of its connection, hello read.
async fn connected() -> (Client, Lines<BufReader<OwnedReadHalf>>, OwnedWriteHalf, Value) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let client = Client::connect(&path, &Hello::owner()).await.unwrap();
    let (read, write) = listener.accept().await.unwrap().0.into_split();
    let mut lines = BufReader::new(read).lines();
    let hello = receive(&mut lines).await;
    (client, lines, write, hello)
}

async fn receive(lines: &mut Lines<BufReader<OwnedReadHalf>>) -> Value {
    let line = timeout(WAIT, lines.next_line()).await.expect("nothing came").unwrap();
    serde_json::from_str(&line.expect("the connection is open")).unwrap()
}

async fn send(write: &mut OwnedWriteHalf, message: Value) {
    write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
}

#[tokio::test]
async fn the_owner_says_hello_and_shakes_hands() {
    let (client, mut lines, mut write, hello) = connected().await;
    assert_eq!(hello["method"], "recalld/hello");
    assert_eq!(hello["params"]["role"], "owner");
    assert!(hello["params"].get("agent").is_none());
    let (result, ()) = tokio::join!(client.initialize(WAIT), async {
        let request = receive(&mut lines).await;
        assert_eq!(request["method"], "initialize");
        let result = json!({ "serverInfo": { "name": "recalld" } });
        send(&mut write, json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
        assert_eq!(receive(&mut lines).await["method"], "notifications/initialized");
    });
    assert_eq!(result.unwrap()["serverInfo"]["name"], "recalld");
}

#[tokio::test]
async fn calls_in_flight_get_their_own_answers() {
    let (client, mut lines, mut write, _) = connected().await;
    let other = client.clone();
    let (first, second, third, ()) = tokio::join!(
        client.call_tool("a", json!({}), WAIT),
        other.call_tool("b", json!({ "x": 1 }), WAIT),
        client.request("c", json!({}), WAIT),
        async {
            let mut requests = Vec::new();
            for _ in 0..3 {
                requests.push(receive(&mut lines).await);
            }
            send(&mut write, json!({ "jsonrpc": "2.0", "method": "notifications/x" })).await;
            send(&mut write, json!({ "jsonrpc": "2.0", "id": 99, "result": {} })).await;
            for request in requests.iter().rev() {
                let body = match request["params"]["name"].as_str() {
                    Some("a") => json!({ "result": {
                        "content": [{ "type": "text", "text": "one" }, { "type": "image" },
                                    { "type": "text", "text": "two" }],
                        "structuredContent": { "n": 2 },
                    } }),
                    Some(_) => json!({ "result": {
                        "content": [{ "type": "text", "text": "no" }], "isError": true,
                    } }),
                    None => json!({ "error": { "code": -32601, "message": "what?" } }),
                };
                let mut message = json!({ "jsonrpc": "2.0", "id": request["id"] });
                for (key, value) in body.as_object().unwrap() {
                    message[key] = value.clone();
                }
                send(&mut write, message).await;
            }
        }
    );
    let expected = |is_error, text: &str, structured| ToolReply {
        is_error,
        fault: None,
        text: text.to_owned(),
        structured,
    };
    assert_eq!(first.unwrap(), expected(false, "one\ntwo", Some(json!({ "n": 2 }))));
    assert_eq!(second.unwrap(), expected(true, "no", None));
    assert_eq!(third.unwrap_err().to_string(), "what? (error -32601)");
}

#[tokio::test]
async fn a_call_without_an_answer_ends_in_time_and_is_cancelled() {
    let (client, mut lines, _write, _) = connected().await;
    let error = client.request("slow", json!({}), Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { .. }), "{error}");
    let mut message = receive(&mut lines).await;
    if message["method"] == "slow" {
        message = receive(&mut lines).await;
    }
    assert_eq!(message["method"], "notifications/cancelled");
}

#[tokio::test]
async fn a_lost_connection_ends_every_call_now_and_later() {
    let (client, mut lines, write, _) = connected().await;
    let (result, ()) = tokio::join!(client.request("x", json!({}), WAIT), async {
        receive(&mut lines).await;
        drop((lines, write));
    });
    assert!(matches!(result, Err(ClientError::Closed)));
    let later = client.request("x", json!({}), WAIT).await;
    assert!(matches!(later, Err(ClientError::Closed)));
}

#[tokio::test]
async fn a_request_over_the_limit_is_not_sent() {
    let (client, _lines, _write, _) = connected().await;
    let text = "x".repeat(LINE_BYTES_MAX);
    let result = client.request("x", json!({ "text": text }), WAIT).await;
    assert!(matches!(result, Err(ClientError::TooLong)));
}

#[tokio::test]
async fn an_absent_daemon_is_named_by_its_socket() {
    let path = Path::new("/nonexistent/recalld.sock");
    let error = Client::connect(path, &Hello::agent("codex")).await.err().unwrap();
    assert!(error.to_string().contains("/nonexistent/recalld.sock"), "{error}");
}
