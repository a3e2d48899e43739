//! Google Chat, by a webhook of a space
//! (<https://developers.google.com/workspace/chat/quickstart/webhooks>).

use serde_json::{Value, json};

use super::judge::{any_json, name_of_error, named};
use super::text::{self, BREAK, Style};
use super::webhook::{Draft, Service, with_reason};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service =
    Service { request: |draft| Ok(Request::post(draft.url.clone(), &payload(draft))), judge };

/// Text whose few marks are broken, since there is no way to escape them.
fn payload(draft: &Draft<'_>) -> Value {
    let style = Style { escape, breaks_links: draft.breaks_links };
    json!({ "text": text::whole(draft.message, style, draft.abilities) })
}

fn escape(c: char, out: &mut String) {
    let is_mark = matches!(c, '*' | '_' | '~' | '`');
    if is_mark {
        out.push(BREAK);
    }
    text::break_mentions(c, out);
    if is_mark {
        out.push(BREAK);
    }
}

fn judge(answer: &Answer) -> Outcome {
    let outcome = match named(answer, "/name") {
        Ok(outcome) => return outcome,
        Err(outcome) => outcome,
    };
    let body = any_json(answer);
    let status = body.pointer("/error/status").and_then(Value::as_str);
    match status.and_then(name_of_error) {
        Some(status) => with_reason(outcome, |why| format!("{why} ({status})")),
        None => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::SinkKind;
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_is_text_without_markup_mention_or_preview() {
        assert_eq!(
            drafted(SinkKind::GoogleChat, &message(), payload),
            json!({
                "text": "Reminder: team meeting & <\u{200b}!channel>\n\
                         https:\u{200b}//example.org/a\u{200b}_\u{200b}b \u{200b}*\u{200b}bold\
                         \u{200b}*\u{200b} @\u{200b}here\nr7k2m9qx",
            })
        );
    }
}
