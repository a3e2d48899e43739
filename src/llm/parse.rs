//! Finds the JSON object in what a model writes: behind thoughts, between fences, among words, with
//! raw line ends in its strings.

use serde_json::{Map, Value};

use crate::domain::limits::LLM_OBJECTS_MAX;

/// Ends a passage in which a model thinks aloud.
const THOUGHTS_END: [&str; 2] = ["</think>", "</thinking>"];
/// Begins one.
const THOUGHTS_START: [&str; 2] = ["<think>", "<thinking>"];

/// Whether a model thinks aloud in `content`.
pub(super) fn has_thoughts(content: &str) -> bool {
    THOUGHTS_START.iter().chain(&THOUGHTS_END).any(|mark| content.contains(mark))
}

/// `content` without thoughts: what follows the last end of them (their start may stand in the
/// prompt); nothing if they never end.
pub(super) fn spoken(content: &str) -> &str {
    let end = THOUGHTS_END.iter().filter_map(|mark| Some(content.rfind(mark)? + mark.len())).max();
    let rest = content.get(end.unwrap_or(0)..).unwrap_or("").trim();
    if THOUGHTS_START.iter().any(|mark| rest.starts_with(mark)) { "" } else { rest }
}

/// The first complete JSON object in `text` that has `key`.
pub(super) fn object(text: &str, key: &str) -> Option<Map<String, Value>> {
    text.match_indices('{')
        .take(LLM_OBJECTS_MAX)
        .filter_map(|(at, _)| {
            let repaired = balanced(text.get(at..)?)?;
            serde_json::from_str::<Map<String, Value>>(&repaired).ok()
        })
        .find(|fields| fields.contains_key(key))
}

/// The text from a first brace to the one that closes it, raw control characters in strings escaped
/// (serde reads JSON as it should be, models write line ends as they come). `None` if it never closes.
fn balanced(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let (mut depth, mut is_in_string, mut is_escaped) = (0_usize, false, false);
    for c in text.chars() {
        if is_in_string && c.is_control() {
            match c {
                '\n' => repaired.push_str("\\n"),
                '\t' => repaired.push_str("\\t"),
                _ => repaired.push(' '),
            }
            is_escaped = false;
            continue;
        }
        repaired.push(c);
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_in_string => is_escaped = true,
            '"' => is_in_string = !is_in_string,
            '{' if !is_in_string => depth += 1,
            '}' if !is_in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(repaired);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expected: Option<&str>) {
        let found = object(spoken(content), "summary");
        let found = found.as_ref().map(|fields| fields["summary"].as_str().unwrap());
        assert_eq!(found, expected, "{content}");
    }

    #[test]
    fn the_object_is_found_however_it_is_wrapped() {
        for content in [
            r#"{"summary":"ok"}"#,
            "```json\n{\"summary\": \"ok\"}\n```",
            "Sure! Here it is:\n```\n{\"summary\":\"ok\",\"sources\":[]}\n```\nAnything else?",
            "<think>Do they want {\"summary\":\"no\"}?</think>\n{\"summary\":\"ok\"}",
            "they want { \"summary\": 3 }</think>{\"summary\":\"ok\"}",
            "<thinking>\nhm\n</thinking> {\"summary\":\"ok\"}",
            "As {name} asked: {\"summary\":\"ok\"} and {\"summary\":\"no\"}",
            "{\"task\":{\"summary\":\"ok\"}}",
            "{\"id\":1} {\"summary\":\"ok\"}",
        ] {
            check(content, Some("ok"));
        }
        check("{\"summary\":\"one\ntwo\tthree\r\"}", Some("one\ntwo\tthree "));
        check(r#"{"summary":"a } brace and a \" quote {"}"#, Some("a } brace and a \" quote {"));
        check("{\"summary\":\"备份\n失败\"}", Some("备份\n失败"));
    }

    #[test]
    fn what_holds_no_whole_object_gives_none() {
        for content in [
            "",
            "The backups failed twice.",
            "{\"summary\":\"cut off he",
            "{\"summary\":\"no comma\" \"sources\":[]}",
            "<think>{\"summary\":\"only a thought\"}",
            "[\"summary\"]",
            "{{{{{{",
            "}",
        ] {
            check(content, None);
        }
        let many = format!("{}{{\"summary\":\"far\"}}", "{x} ".repeat(LLM_OBJECTS_MAX));
        check(&many, None);
    }

    #[test]
    fn thoughts_are_noticed() {
        for (content, expected) in [
            ("<think>a</think>b", true),
            ("a</think>b", true),
            ("<thinking>a", true),
            ("I think so", false),
        ] {
            assert_eq!(has_thoughts(content), expected, "{content}");
        }
    }
}
