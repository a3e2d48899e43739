//! The readers, value by value.

use serde_json::json;

use super::*;

fn with(value: Value) -> Arguments {
    Arguments::new(JsonObject::from_iter([("x".to_owned(), value)]))
}

#[test]
fn whole_numbers_are_read_from_what_models_send() {
    for (value, expected) in [
        (json!(5), Some(5)),
        (json!(5.0), Some(5)),
        (json!("5"), Some(5)),
        (json!(" 5 "), Some(5)),
        (json!("5.0"), Some(5)),
        (json!([5]), Some(5)),
        (json!(5000), Some(100)),
        (json!(null), None),
        (json!(""), None),
        (json!("null"), None),
        (json!("undefined"), None),
    ] {
        assert_eq!(with(value.clone()).integer(&["x"], 1, 100), Ok(expected), "{value}");
    }
    for value in [json!(0), json!(-1), json!(1.5), json!("many"), json!("inf"), json!({})] {
        let error = with(value.clone()).integer(&["x"], 1, 100).unwrap_err().to_string();
        assert!(error.starts_with("`x`: expected a whole number"), "{value}: {error}");
    }
    let mut arguments = with(json!("5000"));
    assert_eq!(arguments.integer(&["x"], 1, 100), Ok(Some(100)));
    assert_eq!(arguments.finish(), [r#"`x` "5000" was cut to 100"#]);
}

#[test]
fn numbers_keep_to_their_range() {
    assert_eq!(with(json!("0.5")).number(&["x"], 0.0, 1.0), Ok(Some(0.5)));
    assert_eq!(with(json!(1)).number(&["x"], 0.0, 1.0), Ok(Some(1.0)));
    let error = with(json!(7)).number(&["x"], 0.0, 1.0).unwrap_err();
    assert_eq!(error.to_string(), "`x`: expected a number 0 to 1, got 7");
}

#[test]
fn lists_are_read_from_what_models_send() {
    for (value, expected) in [
        (json!(["a", "b"]), Some(vec!["a", "b"])),
        (json!(r#"["a", "b"]"#), Some(vec!["a", "b"])),
        (json!("a, b"), Some(vec!["a", "b"])),
        (json!("a"), Some(vec!["a"])),
        (json!([1, true, null, " "]), Some(vec!["1", "true"])),
        (json!(7), Some(vec!["7"])),
        (json!("[a"), Some(vec!["[a"])),
        (json!([]), Some(vec![])),
        (json!("[]"), Some(vec![])),
        (json!(""), None),
        (json!("null"), None),
        (json!(null), None),
    ] {
        let expected = expected.map(|items| items.into_iter().map(str::to_owned).collect());
        assert_eq!(with(value.clone()).list(&["x"]), Ok(expected), "{value}");
    }
    for value in [json!({}), json!([["a"]]), json!([{}])] {
        assert!(with(value.clone()).list(&["x"]).is_err(), "{value}");
    }
}

#[test]
fn texts_are_kept_as_they_came_and_words_trimmed() {
    for (value, text, word) in [
        (json!(" a "), Some(" a "), Some("a")),
        (json!(5), Some("5"), Some("5")),
        (json!(true), Some("true"), Some("true")),
        (json!(["a"]), Some("a"), Some("a")),
        (json!(""), Some(""), None),
        (json!("null"), Some("null"), None),
        (json!(null), None, None),
    ] {
        assert_eq!(with(value.clone()).text(&["x"]), Ok(text.map(str::to_owned)), "{value}");
        assert_eq!(with(value.clone()).word(&["x"]), Ok(word.map(str::to_owned)), "{value}");
    }
    assert!(with(json!({"a": 1})).text(&["x"]).is_err());
    assert!(with(json!(["a", "b"])).text(&["x"]).is_err());
}

#[test]
fn switches_are_read_in_words_and_numbers() {
    for (value, expected) in [
        (json!(true), Some(true)),
        (json!("True"), Some(true)),
        (json!(1), Some(true)),
        (json!("no"), Some(false)),
        (json!(0), Some(false)),
        (json!("undefined"), None),
        (json!(""), None),
    ] {
        assert_eq!(with(value.clone()).flag(&["x"]), Ok(expected), "{value}");
    }
    for value in [json!("maybe"), json!(2), json!({})] {
        assert!(with(value.clone()).flag(&["x"]).is_err(), "{value}");
    }
}

#[test]
fn metadata_is_an_object_or_its_text() {
    let expected: Metadata =
        [("a".to_owned(), "1".to_owned()), ("b".to_owned(), r#"{"c":["d"]}"#.to_owned())].into();
    for value in [json!({"a": 1, "b": {"c": ["d"]}}), json!(r#"{"a":1,"b":{"c":["d"]}}"#)] {
        assert_eq!(with(value).metadata(&["x"]), Ok(Some(expected.clone())));
    }
    assert_eq!(with(json!("")).metadata(&["x"]), Ok(None));
    for value in [json!("text"), json!([1]), json!("[1]"), json!(3)] {
        assert!(with(value.clone()).metadata(&["x"]).is_err(), "{value}");
    }
}

#[test]
fn times_can_be_taken_away_by_name() {
    let zone = TimeZone::UTC;
    assert_eq!(with(json!("None")).time_or_none(&["x"], &zone), Ok(Some(None)));
    assert_eq!(with(json!(null)).time_or_none(&["x"], &zone), Ok(None));
    assert_eq!(
        with(json!("1970-01-01")).time_or_none(&["x"], &zone),
        Ok(Some(Some(Timestamp::UNIX_EPOCH)))
    );
    let error = with(json!("soon")).time(&["x"], &zone).unwrap_err().to_string();
    assert!(error.contains("`x`") && error.contains("ISO 8601") && error.contains("soon"));
}

#[test]
fn whole_arguments_arrive_in_odd_shapes_too() {
    for value in [json!(null), json!(""), json!([]), json!({}), json!("{}")] {
        assert!(Arguments::from_value(Some(&value)).unwrap().values.is_empty(), "{value}");
    }
    let mut arguments = Arguments::from_value(Some(&json!(r#"{"x":"5"}"#))).unwrap();
    assert_eq!(arguments.integer(&["x"], 1, 9), Ok(Some(5)));
    for value in [json!("text"), json!([1]), json!(1), json!(true), json!("[1]")] {
        let error = Arguments::from_value(Some(&value)).unwrap_err().to_string();
        assert!(error.starts_with("`arguments`: expected a JSON object"), "{error}");
    }
}

#[test]
fn what_nothing_reads_is_named_once_and_shortened() {
    let mut arguments = Arguments::new(JsonObject::from_iter([
        ("a".to_owned(), json!(1)),
        ("b".to_owned(), json!(2)),
        ("gone".to_owned(), json!(null)),
        ("z".repeat(90), json!(3)),
    ]));
    assert_eq!(arguments.integer(&["b", "a"], 1, 9), Ok(Some(2)));
    let warning = format!("ignored unknown arguments: `a`, `{}`", "z".repeat(40));
    assert_eq!(arguments.finish(), [warning]);
}
