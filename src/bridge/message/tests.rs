//! Tests of reading and rewriting protocol lines.

use super::*;

fn keyed(line: &str) -> String {
    let Ok(Message::Request { params: Some(params), .. }) = parse(line.as_bytes()) else {
        panic!("not a request with parameters: {line}")
    };
    String::from_utf8(with_request_key(line.as_bytes(), params, "k")).unwrap()
}

#[test]
fn the_request_key_changes_nothing_else_of_the_line() {
    let line = |params: &str| {
        format!(r#"{{ "jsonrpc":"2.0","id":1, "method":"tools/call", "params": {params} }}"#)
    };
    for (params, expected) in [
        ("{}", r#"{"_meta":{"recalld/requestKey":"k"}}"#),
        ("{  }", r#"{"_meta":{"recalld/requestKey":"k"}  }"#),
        (r#"{ "a":1.0}"#, r#"{"_meta":{"recalld/requestKey":"k"}, "a":1.0}"#),
        (r#"{"_meta":{}}"#, r#"{"_meta":{"recalld/requestKey":"k"}}"#),
        (
            r#"{"a":"}","_meta": {"x":[]}}"#,
            r#"{"a":"}","_meta": {"recalld/requestKey":"k","x":[]}}"#,
        ),
        (r#"{"a":{"_meta":{}}}"#, r#"{"_meta":{"recalld/requestKey":"k"},"a":{"_meta":{}}}"#),
        // The client's own key stays.
        (r#"{"_meta":{"recalld/requestKey":"own"}}"#, r#"{"_meta":{"recalld/requestKey":"own"}}"#),
        (r#"{"_meta":null,"a":1}"#, r#"{"_meta":{"recalld/requestKey":"k"},"a":1}"#),
    ] {
        assert_eq!(keyed(&line(params)), line(expected), "{params}");
    }
}

#[test]
fn an_integer_in_any_spelling_is_one_id() {
    for (text, expected) in [
        ("1", Some(1)),
        ("1.0", Some(1)),
        ("1e2", Some(100)),
        ("-7", Some(-7)),
        ("9223372036854775807", Some(i64::MAX)),
        ("9223372036854775808", None),
        ("1.5", None),
    ] {
        let id = Id::from_value(&serde_json::from_str(text).unwrap());
        assert_eq!(id, expected.map(Id::Number), "{text}");
    }
}

#[test]
fn what_the_daemon_would_drop_without_an_answer_is_refused() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let id = Id::Number(1);
    for (text, is_fine) in [
        (nested(100), true),
        (nested(200), false),
        (r#""\ud83d\ude00""#.to_owned(), true),
        (r#""\ud83d""#.to_owned(), false),
        ("1e999".to_owned(), false),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{text}}}}}"#);
        assert!(parse(line.as_bytes()).is_ok(), "{text}");
        let refused = check_whole(line.as_bytes(), &id).err();
        assert_eq!(refused.is_none(), is_fine, "{text}");
        assert!(refused.is_none_or(|refused| refused.id == Some(Id::Number(1))));
    }
}
