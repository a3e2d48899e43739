//! `WeCom`, by a bot of a group. Success is `errcode: 0` in the body
//! (<https://developer.work.weixin.qq.com/document/path/91770>).

use serde_json::{Value, json};

use super::judge::{Meaning, Rule, SENT, any_json, by_code, by_status, rule, unclear};
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service =
    Service { request: |draft| Ok(Request::post(draft.url.clone(), &payload(draft))), judge };

/// Text; its Markdown would have more room, and mentions in it.
fn payload(draft: &Draft<'_>) -> Value {
    let style = Style { escape: text::break_mentions, breaks_links: draft.breaks_links };
    json!({
        "msgtype": "text",
        "text": {
            "content": text::whole(draft.message, style, draft.abilities),
            "mentioned_list": [],
            "mentioned_mobile_list": [],
        },
    })
}

const RULES: &[Rule<i64>] = &[
    rule(-1, Meaning::Later(0), "it is busy"),
    rule(45_009, Meaning::Later(60), "it got too many messages"),
    rule(45_033, Meaning::Later(60), "it got too many messages at once"),
    rule(93_000, Meaning::Fix, "the key is not valid"),
    rule(93_008, Meaning::Fix, "the group is gone, or the bot is not in it"),
    rule(40_056, Meaning::Fix, "the key is not valid"),
    rule(40_008, Meaning::Never, "it does not take messages of this sort"),
    rule(40_058, Meaning::Never, "the message is too long"),
    rule(44_004, Meaning::Never, "the message is empty"),
    rule(45_002, Meaning::Never, "the message is too long"),
];

fn judge(answer: &Answer) -> Outcome {
    match (any_json(answer).get("errcode").and_then(Value::as_i64), by_status(answer)) {
        (Some(0), Ok(())) => SENT,
        (Some(code), Ok(())) => by_code(RULES, code)
            .unwrap_or_else(|| Outcome::Refused(format!("says {code}, which is a refusal"))),
        (None, Ok(())) => unclear(answer),
        (_, Err(outcome)) => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::{Message, SinkKind};
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_is_text_that_mentions_nobody() {
        let body = drafted(SinkKind::WeCom, &message(), payload);
        assert_eq!(
            body,
            json!({
                "msgtype": "text",
                "text": {
                    "content": "Reminder: team meeting & <\u{200b}!channel>\n\
                                https:\u{200b}//example.org/a_b *bold* @\u{200b}here\nr7k2m9qx",
                    "mentioned_list": [],
                    "mentioned_mobile_list": [],
                },
            })
        );
    }

    #[test]
    fn chinese_text_is_cut_by_its_bytes() {
        let message = Message { text: "\u{4f1a}\u{8bae}".repeat(1_000), ..message() };
        let body = drafted(SinkKind::WeCom, &message, payload);
        let content = body["text"]["content"].as_str().unwrap();
        assert!(content.len() <= 1_843 && content.len() > 1_800, "{}", content.len());
        assert!(content.ends_with("\u{2026}\nr7k2m9qx"), "{content}");
    }
}
