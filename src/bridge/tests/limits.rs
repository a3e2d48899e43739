//! Lines that are too long or no messages, too many calls, and the end of the conversation.

use super::*;
use crate::domain::limits::{
    CALLS_PER_CONNECTION_MAX, CALLS_WAITING_BYTES_MAX, CALLS_WAITING_MAX, LISTENS_MAX,
};

#[tokio::test]
async fn one_call_over_the_limit_waits_for_an_answer_and_a_cancellation_does_not() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    for id in 0..CALLS_PER_CONNECTION_MAX + 2 {
        client.call(id).await;
    }
    for id in 0..CALLS_PER_CONNECTION_MAX {
        assert_eq!(connection.receive().await["id"], id);
    }
    // A call that was not sent is cancelled here; one that was sent, by the daemon.
    for id in [CALLS_PER_CONNECTION_MAX, 7] {
        let params = json!({ "requestId": id });
        let method = "notifications/cancelled";
        client.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }
    let cancel = connection.receive().await;
    assert_eq!(cancel["params"]["requestId"], 7);
    let last = connection.receive().await;
    assert_eq!(last["id"], CALLS_PER_CONNECTION_MAX + 1);
    connection.answer(&last, json!({})).await;
    assert_eq!(client.receive().await["id"], last["id"]);
    client.is_silent(&mut connection).await;
}

/// A session without a daemon, and a function that gives it a request.
fn session() -> (Session, impl FnMut(&mut Session, &str, usize)) {
    let now = Instant::now();
    let mut id = 0;
    let request = move |session: &mut Session, method: &str, n_bytes: usize| {
        id += 1;
        let text = "x".repeat(n_bytes);
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "x": text } });
        session.client_line(line.to_string().as_bytes(), now);
    };
    (Session::new(message::line(b"hello"), Arc::new(KnownOffline), now), request)
}

#[test]
fn with_too_many_calls_waiting_nothing_more_is_read() {
    let (mut session, mut request) = session();
    for _ in 0..CALLS_WAITING_MAX {
        assert!(session.has_room());
        request(&mut session, "tools/call", 0);
    }
    assert!(!session.has_room());
    session.connected(Instant::now());
    assert!(session.has_room());
}

#[test]
fn with_too_many_bytes_waiting_nothing_more_is_read() {
    let (mut session, mut request) = session();
    for _ in 0..CALLS_WAITING_BYTES_MAX / LINE_BYTES_MAX {
        assert!(session.has_room());
        request(&mut session, "tools/call", LINE_BYTES_MAX);
    }
    assert!(!session.has_room());
}

#[test]
fn listeners_take_no_places_of_calls_but_have_a_limit() {
    let (mut session, mut request) = session();
    for _ in 0..LISTENS_MAX {
        request(&mut session, "subscriptions/listen", 0);
    }
    assert!(session.to_client.is_empty());
    request(&mut session, "subscriptions/listen", 0);
    assert!(!session.to_client.is_empty());
    assert!(!session.wants_daemon());
}

#[tokio::test]
async fn a_second_request_under_an_id_in_flight_is_refused() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    client.call(1).await;
    client.call(1).await;
    let refused = client.receive().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32_600)));
    let call = connection.receive().await;
    connection.answer(&call, json!({ "ok": true })).await;
    assert_eq!(client.receive().await["result"]["ok"], true);
    client.call(1).await;
    assert_eq!(connection.receive().await["id"], 1);
}

#[tokio::test]
async fn an_over_long_line_is_refused_under_its_id_and_the_session_goes_on() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    let line = |text: &str| {
        format!(
            r#"{{"method":"tools/call","params":{{"id":3,"x":"{text}"}},"jsonrpc":"2.0","id":8}}"#
        )
    };
    let longest = "x".repeat(CLIENT_LINE_BYTES_MAX - line("").len());
    client.send_text(&line(&format!("{longest}x"))).await;
    let refused = client.receive().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(8), &json!(-32_600)));
    client.send_text(&line(&longest)).await;
    let call = connection.receive().await;
    assert!(call.to_string().len() <= LINE_BYTES_MAX);
    // And the other way round.
    connection.answer(&call, json!("y".repeat(LINE_BYTES_MAX))).await;
    let failed = client.receive().await;
    assert_eq!((&failed["id"], &failed["result"]["isError"]), (&json!(8), &json!(true)));
    client.is_silent(&mut connection).await;
}

#[tokio::test]
async fn lines_that_are_no_messages_are_refused_and_the_session_goes_on() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    for (line, id, code) in [
        ("hello", json!(null), -32_700),
        (r#"{"jsonrpc":"2.0","id":4,"method":"#, json!(4), -32_700),
        (r#"{"jsonrpc":"2.0","id":4,"method":"x","params":{"a":"\ud83d"}}"#, json!(4), -32_700),
        (r#"[{"jsonrpc":"2.0","id":4,"method":"x"}]"#, json!(null), -32_600),
        (r#"{"id":4,"method":"x"}"#, json!(4), -32_600),
        (r#"{"jsonrpc":"2.0","id":4,"method":7}"#, json!(4), -32_600),
        (r#"{"jsonrpc":"2.0","id":4,"method":"x","params":[]}"#, json!(4), -32_600),
        (r#"{"jsonrpc":"2.0","id":4,"method":"x","params":{"_meta":[]}}"#, json!(4), -32_600),
        (r#"{"jsonrpc":"2.0","id":4}"#, json!(4), -32_600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, json!(null), -32_600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, json!(null), -32_600),
    ] {
        client.send_text(line).await;
        client.send_text(" \r").await;
        let refused = client.receive().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&id, &json!(code)), "{line}");
    }
    client.is_silent(&mut connection).await;
}

#[tokio::test]
async fn lines_pass_unchanged_in_both_directions() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    let odd = r#"{ "id":1.0 ,"params":{"b":1e2,"a":"\u00e9"}, "method":"x/y","jsonrpc":"2.0"}"#;
    client.send_text(odd).await;
    assert_eq!(soon(connection.read.next_line()).await.unwrap().unwrap(), odd);
    let request = r#"{"jsonrpc":"2.0", "id":1,"method":"ping"}"#;
    for line in [request, r#"{"jsonrpc":"2.0","id":1 ,"result":{"b":1,"a":1.50}}"#] {
        soon(connection.write.write_all(format!("{line}\n").as_bytes())).await.unwrap();
        assert_eq!(soon(client.stdout.next_line()).await.unwrap().unwrap(), line);
    }
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    client.send(answer.clone()).await;
    assert_eq!(connection.receive().await, answer);
}

#[tokio::test]
async fn at_the_end_of_input_calls_are_answered_and_listeners_are_left() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    client.request(1, "subscriptions/listen", modern(json!({ "notifications": {} }))).await;
    connection.receive().await;
    client.call(2).await;
    let call = connection.receive().await;
    let closing = tokio::spawn(client.close());
    connection.answer(&call, json!({})).await;
    let (rest, ending) = soon(closing).await.unwrap();
    assert_eq!(ending, Ending::InputClosed);
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["id"], 2);
}

#[tokio::test]
async fn a_call_that_is_not_answered_in_time_after_the_end_fails() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut client = place.client();
    let mut connection = daemon.accept().await;
    client.call(1).await;
    connection.receive().await;
    tokio::time::pause();
    let closed_at = Instant::now();
    let (rest, ending) = client.close().await;
    assert_eq!(ending, Ending::InputClosed);
    assert!(closed_at.elapsed() >= BRIDGE_DRAIN_WAIT);
    assert_eq!((&rest[0]["id"], &rest[0]["result"]["isError"]), (&json!(1), &json!(true)));
    drop(connection);
}

#[tokio::test]
async fn a_client_that_no_longer_reads_ends_the_bridge() {
    let place = Place::new();
    let daemon = place.daemon();
    let Client { mut stdin, stdout, bridge } = place.client();
    let _connection = daemon.accept().await;
    drop(stdout);
    stdin.as_mut().unwrap().write_all(b"garbage\n").await.unwrap();
    assert_eq!(soon(bridge).await.unwrap(), Ending::OutputClosed);
}
