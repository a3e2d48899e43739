//! The envelope of an answer, read with suspicion: servers agree on little of it.

use serde_json::Value;

use super::parse::has_thoughts;

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// What the model wrote; empty if it wrote nothing.
    pub(super) content: String,
    /// Whether it was stopped before its end.
    pub(super) is_cut: bool,
    /// Whether it will not answer.
    pub(super) is_declined: bool,
    /// Whether it thinks before it answers.
    pub(super) thinks: bool,
    /// Tokens that it read, as the server says; `None` if it does not or says 0.
    pub(super) prompt_tokens: Option<u64>,
    /// Tokens read and written, as the server says.
    pub(super) total_tokens: Option<u64>,
}

/// Reads the body of an answer with status 200.
///
/// # Errors
/// What is wrong with it, without quoting it.
pub(super) fn read(body: &[u8]) -> Result<Reply, String> {
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("its answer is no JSON (line {line}, column {column})")
    })?;
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Err(match code(error) {
            Some(code) => format!("it answers with an error ({code})"),
            None => "it answers with an error".to_owned(),
        });
    }
    let choice = value.pointer("/choices/0").ok_or("its answer holds no choices")?;
    let message = choice.get("message").ok_or("its answer holds no message")?;
    let text = |name: &str| message.get(name).map(text_of).unwrap_or_default();
    let content = text("content");
    let thoughts = text("reasoning_content") + &text("reasoning");
    let finish = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
    let tokens = |name: &str| value.pointer(name).and_then(Value::as_u64).filter(|n| *n > 0);
    Ok(Reply {
        is_cut: matches!(finish, "length" | "max_tokens"),
        is_declined: finish == "content_filter" || !text("refusal").trim().is_empty(),
        thinks: !thoughts.trim().is_empty() || has_thoughts(&content),
        prompt_tokens: tokens("/usage/prompt_tokens"),
        total_tokens: tokens("/usage/total_tokens"),
        content,
    })
}

/// A text, or the texts of a list of parts.
fn text_of(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    let parts = value.as_array().into_iter().flatten();
    parts.filter_map(|part| part.get("text")?.as_str()).collect()
}

/// The name of an error. Its words may quote what was sent; its name does not.
fn code(error: &Value) -> Option<String> {
    const CHARS_MAX: usize = 48;
    let is_name = |text: &str| {
        let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        !text.is_empty() && text.len() <= CHARS_MAX && text.chars().all(is_fit)
    };
    ["code", "type"].into_iter().find_map(|name| {
        let value = error.get(name)?;
        let number = value.as_i64().map(|number| number.to_string());
        number.or_else(|| value.as_str().filter(|text| is_name(text)).map(str::to_owned))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_differ_in_is_read() {
        let usual = r#"{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",
            "content":"{}"}}],"usage":{"prompt_tokens":31,"completion_tokens":4,"total_tokens":35}}"#;
        let reply = Reply {
            content: "{}".to_owned(),
            prompt_tokens: Some(31),
            total_tokens: Some(35),
            ..Reply::default()
        };
        assert_eq!(read(usual.as_bytes()), Ok(reply));
        let of = |choice: &str| read(format!("\n\n{{\"choices\":[{choice}]}}").as_bytes()).unwrap();
        let empty = Reply::default();
        assert_eq!(of(r#"{"message":{"content":null}}"#), empty);
        assert_eq!(of(r#"{"message":{},"finish_reason":null}"#), empty);
        let parts =
            r#"{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#;
        assert_eq!(of(parts), Reply { content: "ab".to_owned(), ..empty.clone() });
        let cut = of(r#"{"message":{"content":"a"},"finish_reason":"length"}"#);
        assert_eq!(cut, Reply { content: "a".to_owned(), is_cut: true, ..empty.clone() });
        let declined = of(r#"{"message":{"content":null,"refusal":"I cannot"}}"#);
        assert_eq!(declined, Reply { is_declined: true, ..empty.clone() });
        assert!(of(r#"{"message":{"content":""},"finish_reason":"content_filter"}"#).is_declined);
        let thought = of(r#"{"message":{"content":"","reasoning_content":"Well"}}"#);
        assert_eq!(thought, Reply { thinks: true, ..empty });
        assert!(of(r#"{"message":{"content":"<think>"}}"#).thinks);
    }

    #[test]
    fn an_error_under_status_200_is_one_and_is_not_quoted() {
        for (body, expected) in [
            (r#"{"error":{"message":"secret","type":"server_error","code":null}}"#, "server_error"),
            (r#"{"error":{"message":"secret","code":503}}"#, "(503)"),
            (r#"{"error":"secret"}"#, "an error"),
            (r#"{"error":{"code":"the text was: secret"}}"#, "an error"),
            ("<html>secret</html>", "no JSON (line 1, column 1)"),
            ("", "no JSON"),
            ("{}", "no choices"),
            (r#"{"choices":[]}"#, "no choices"),
            (r#"{"choices":[{"text":"secret"}]}"#, "no message"),
            (r#"{"error":null,"choices":[]}"#, "no choices"),
        ] {
            let refusal = read(body.as_bytes()).unwrap_err();
            assert!(refusal.contains(expected) && !refusal.contains("secret"), "{body}: {refusal}");
        }
    }
}
