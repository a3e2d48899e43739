//! Rocket.Chat, by an incoming webhook. Success is `success: true` in the body
//! (<https://docs.rocket.chat/docs/integrations>; `parseUrls` is read in the server's
//! `processWebhookMessage`).

use serde_json::{Value, json};

use super::judge::{any_json, by_status, name_of_error, remote_id, unclear};
use super::text::{self, BREAK, Style};
use super::webhook::{Draft, Service, with_reason};
use crate::domain::limits::SINK_PAUSE;
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service =
    Service { request: |draft| Ok(Request::post(draft.url.clone(), &payload(draft))), judge };

/// Markdown without markup, of which no address is fetched.
fn payload(draft: &Draft<'_>) -> Value {
    let style = Style { escape, breaks_links: false };
    json!({
        "text": text::whole(draft.message, style, draft.abilities),
        "parseUrls": false,
    })
}

/// Its parser knows fewer escapes than Markdown; a link is broken between its two parts.
fn escape(c: char, out: &mut String) {
    if matches!(c, '*' | '_' | '~' | '`' | '#') {
        out.push('\\');
    }
    text::break_mentions(c, out);
    if c == ']' {
        out.push(BREAK);
    }
}

fn judge(answer: &Answer) -> Outcome {
    let body = any_json(answer);
    let error = body.get("error").and_then(Value::as_str).and_then(name_of_error);
    let is_busy = error.is_some_and(|error| error.contains("too-many-requests"));
    let outcome = match (by_status(answer), body.get("success").and_then(Value::as_bool)) {
        (Ok(()), Some(true)) => {
            return Outcome::Sent { remote_id: remote_id(body.pointer("/message/_id")) };
        }
        (Ok(()), None) => return unclear(answer),
        (Ok(()) | Err(Outcome::Refused(_)), _) if is_busy => {
            let after = jiff::SignedDuration::try_from(SINK_PAUSE).ok();
            Outcome::Retry { after, why: "got too many messages".to_owned() }
        }
        (Ok(()), Some(false)) => Outcome::Refused("says no".to_owned()),
        (Err(outcome), _) => outcome,
    };
    match error {
        Some(error) => with_reason(outcome, |why| format!("{why} ({error})")),
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
            drafted(SinkKind::RocketChat, &message(), payload),
            json!({
                "text": "Reminder: team meeting & <\u{200b}!channel>\n\
                         https://example.org/a\\_b \\*bold\\* @\u{200b}here\nr7k2m9qx",
                "parseUrls": false,
            })
        );
    }
}
