//! Discord, by a webhook (<https://discord.com/developers/docs/resources/webhook#execute-webhook>).

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::judge::{Meaning, Rule, SENT, any_json, by_code, named, rule, seconds};
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service = Service { request: |draft| Ok(request(draft)), judge };

/// `wait` has it answer after the message is there, and with its id.
fn request(draft: &Draft<'_>) -> Request {
    let mut url = draft.url.clone();
    url.query_pairs_mut().append_pair("wait", "true");
    Request::post(url, &payload(draft))
}

/// Flag of a message whose addresses show no preview.
const SUPPRESS_EMBEDS: u32 = 1 << 2;

/// Markdown without markup, of which no mention is taken seriously.
fn payload(draft: &Draft<'_>) -> Value {
    let escape = if draft.breaks_links { text::escape_markdown } else { text::break_mentions };
    let style = Style { escape, breaks_links: false };
    json!({
        "content": text::whole(draft.message, style, draft.abilities),
        "allowed_mentions": { "parse": [] },
        "flags": SUPPRESS_EMBEDS,
    })
}

const RULES: &[Rule<i64>] = &[
    rule(10_003, Meaning::Fix, "the channel is gone"),
    rule(10_015, Meaning::Fix, "the webhook is gone"),
    rule(50_027, Meaning::Fix, "the address is not valid"),
    rule(50_006, Meaning::Never, "the message is empty"),
    rule(50_035, Meaning::Never, "it cannot read the message, or it is too long"),
    rule(200_000, Meaning::Never, "there are words in the message that the server does not take"),
    rule(240_000, Meaning::Never, "there is a link in the message that the server does not take"),
];

fn judge(answer: &Answer) -> Outcome {
    let body = any_json(answer);
    match named(answer, "/id") {
        // Without `wait` it answers 204 and nothing.
        _ if answer.status == 204 => SENT,
        Ok(outcome) => outcome,
        Err(Outcome::Retry { after, why }) => {
            // Exact to the millisecond here, rounded up in the header.
            let asked = seconds(body.get("retry_after"));
            let asked = asked.map(|wait| wait.saturating_add(SignedDuration::from_millis(100)));
            Outcome::Retry { after: asked.or(after), why }
        }
        Err(outcome) => {
            let code = body.get("code").and_then(Value::as_i64);
            code.and_then(|code| by_code(RULES, code)).unwrap_or(outcome)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::SinkKind;
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_is_text_that_mentions_nobody() {
        let body = drafted(SinkKind::Discord, &message(), payload);
        assert_eq!(
            body,
            json!({
                "content": "Reminder: team meeting & <\u{200b}\\!channel\\>\n\
                            https://example.org/a\\_b \\*bold\\* @\u{200b}here\nr7k2m9qx",
                "allowed_mentions": { "parse": [] },
                "flags": 4,
            })
        );
    }

    #[test]
    fn the_answer_is_waited_for() {
        let query = drafted(SinkKind::Discord, &message(), |draft| {
            request(draft).url.query().unwrap().to_owned()
        });
        assert_eq!(query, "wait=true");
    }
}
