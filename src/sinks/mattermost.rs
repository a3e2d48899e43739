//! Mattermost, by an incoming webhook. Success is the body `ok`
//! (<https://developers.mattermost.com/integrate/webhooks/incoming/>).

use serde_json::{Value, json};

use super::judge::{SENT, any_json, by_status, name_of_error, unclear};
use super::text::{self, Style};
use super::webhook::{Draft, Service, with_reason};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service =
    Service { request: |draft| Ok(Request::post(draft.url.clone(), &payload(draft))), judge };

/// Markdown without markup; names after `@` would be mentions, and the server fetches previews.
fn payload(draft: &Draft<'_>) -> Value {
    let escape = if draft.breaks_links { text::escape_markdown } else { text::break_mentions };
    let style = Style { escape, breaks_links: draft.breaks_links };
    json!({ "text": text::whole(draft.message, style, draft.abilities) })
}

fn judge(answer: &Answer) -> Outcome {
    let outcome = match by_status(answer) {
        Ok(()) if answer.is_whole && answer.body.trim_ascii() == b"ok" => return SENT,
        Ok(()) => return unclear(answer),
        Err(outcome) => outcome,
    };
    let body = any_json(answer);
    let id = body.get("id").and_then(Value::as_str).and_then(name_of_error);
    match (outcome, id) {
        // Whoever took the webhook away gets this with the status of a bad message.
        (Outcome::Refused(_), Some(id)) if id.contains("invalid") || id.contains("channel") => {
            Outcome::Disabled(format!("says {id}"))
        }
        (outcome, Some(id)) => with_reason(outcome, |why| format!("{why} ({id})")),
        (outcome, None) => outcome,
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
            drafted(SinkKind::Mattermost, &message(), payload),
            json!({
                "text": "Reminder: team meeting & <\u{200b}\\!channel\\>\n\
                         https:\u{200b}//example.org/a\\_b \\*bold\\* @\u{200b}here\nr7k2m9qx",
            })
        );
    }
}
