//! Feishu and Lark, by a custom bot. Success is `code: 0` in the body, and refusals come with any
//! status (<https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot>).

use serde_json::{Value, json};

use super::judge::{Meaning, Rule, SENT, any_json, by_code, by_status, rule, unclear};
use super::sign;
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service =
    Service { request: |draft| Ok(Request::post(draft.url.clone(), &payload(draft))), judge };

/// Text, in which only `<at ...>` would mean something.
fn payload(draft: &Draft<'_>) -> Value {
    let style = Style { escape: text::break_mentions, breaks_links: draft.breaks_links };
    let mut body = json!({
        "msg_type": "text",
        "content": { "text": text::whole(draft.message, style, draft.abilities) },
    });
    if let (Some(secret), Some(fields)) = (draft.secret, body.as_object_mut()) {
        fields.insert("timestamp".to_owned(), draft.now.as_second().to_string().into());
        fields.insert("sign".to_owned(), sign::feishu(draft.now, secret).into());
    }
    body
}

const RULES: &[Rule<i64>] = &[
    rule(9499, Meaning::Never, "it cannot read the message"),
    rule(19001, Meaning::Fix, "it knows no such bot"),
    rule(19002, Meaning::Never, "it cannot read the message"),
    rule(19021, Meaning::Fix, "the signature is wrong: check secret_file and the clock"),
    rule(19022, Meaning::Fix, "the bot does not take messages from this address"),
    rule(19024, Meaning::Fix, "the bot wants a keyword in each message: take it out there"),
    rule(11232, Meaning::Later(60), "it got too many messages"),
    rule(11233, Meaning::Later(60), "it got too many messages"),
    rule(11247, Meaning::Later(60), "it got too many messages"),
];

fn judge(answer: &Answer) -> Outcome {
    let body = any_json(answer);
    // Older bots answer with `StatusCode`.
    let code = body.get("code").or_else(|| body.get("StatusCode")).and_then(Value::as_i64);
    match (code, by_status(answer)) {
        (Some(0), Ok(())) => SENT,
        (Some(code), Ok(())) => by_code(RULES, code)
            .unwrap_or_else(|| Outcome::Refused(format!("says {code}, which is a refusal"))),
        (Some(code), Err(outcome)) => by_code(RULES, code).unwrap_or(outcome),
        (None, Ok(())) => unclear(answer),
        (None, Err(outcome)) => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::SinkKind;
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_is_signed_text() {
        let body = drafted(SinkKind::Feishu, &message(), payload);
        assert_eq!(
            body,
            json!({
                "msg_type": "text",
                "content": {
                    "text": "Reminder: team meeting & <\u{200b}!channel>\n\
                             https:\u{200b}//example.org/a_b *bold* @\u{200b}here\nr7k2m9qx",
                },
                "timestamp": "1700000000",
                "sign": "eHRRCyLH7Z4IJQSJlfwertHZThRUYVu2hTUH02xPXYU=",
            })
        );
    }
}
