//! `DingTalk`, by a custom bot. Success is `errcode: 0` in the body
//! (<https://open.dingtalk.com/document/robots/custom-robot-access>).

use serde_json::{Value, json};

use super::judge::{Meaning, Rule, SENT, any_json, by_code, by_status, rule, unclear};
use super::sign;
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service = Service { request: |draft| Ok(request(draft)), judge };

/// Time and signature are part of the address.
fn request(draft: &Draft<'_>) -> Request {
    let mut url = draft.url.clone();
    if let Some(secret) = draft.secret {
        let at = draft.now.as_millisecond().to_string();
        url.query_pairs_mut()
            .append_pair("timestamp", &at)
            .append_pair("sign", &sign::dingtalk(draft.now, secret));
    }
    Request::post(url, &payload(draft))
}

/// Text; who is mentioned stands in `at`, and it is nobody.
fn payload(draft: &Draft<'_>) -> Value {
    let style = Style { escape: text::break_mentions, breaks_links: draft.breaks_links };
    json!({
        "msgtype": "text",
        "text": { "content": text::whole(draft.message, style, draft.abilities) },
        "at": { "atMobiles": [], "atUserIds": [], "isAtAll": false },
    })
}

const RULES: &[Rule<i64>] = &[
    rule(-1, Meaning::Later(0), "it is busy"),
    rule(130_101, Meaning::Later(600), "it got too many messages and takes none for ten minutes"),
    rule(410_100, Meaning::Later(600), "it got too many messages and takes none for ten minutes"),
    rule(90_030, Meaning::Later(3_600), "it got too many messages"),
    rule(300_001, Meaning::Fix, "the token is not valid"),
    rule(300_005, Meaning::Fix, "the token is not valid"),
    rule(40_014, Meaning::Fix, "the token is not valid"),
    rule(310_000, Meaning::Fix, "the bot wants a keyword, a signature or another address"),
    rule(400_013, Meaning::Fix, "the group is gone"),
    rule(400_101, Meaning::Fix, "the token is not valid"),
    rule(400_102, Meaning::Fix, "the bot is switched off"),
    rule(40_035, Meaning::Never, "it cannot read the message"),
    rule(400_105, Meaning::Never, "it does not take messages of this sort"),
    rule(430_101, Meaning::Never, "there is an unsafe link in the message"),
    rule(430_102, Meaning::Never, "there are words in the message that it does not take"),
    rule(430_103, Meaning::Never, "there are pictures in the message that it does not take"),
    rule(460_101, Meaning::Never, "the message is too long"),
];

fn judge(answer: &Answer) -> Outcome {
    let body = any_json(answer);
    let outcome = match (body.get("errcode").and_then(Value::as_i64), by_status(answer)) {
        (Some(0), Ok(())) => return SENT,
        (Some(code), Ok(())) => by_code(RULES, code)
            .unwrap_or_else(|| Outcome::Refused(format!("says {code}, which is a refusal"))),
        (None, Ok(())) => unclear(answer),
        (_, Err(outcome)) => return outcome,
    };
    // One code stands for several settings; the words tell which.
    let said = body.get("errmsg").and_then(Value::as_str).unwrap_or_default();
    let which = SETTINGS.iter().find(|(words, _)| said.contains(words));
    match which.filter(|_| body.get("errcode") == Some(&json!(310_000))) {
        Some((_, words)) => Outcome::Disabled(format!("says 310000: {words}")),
        None => outcome,
    }
}

/// What is wrong when a bot refuses for its security settings.
const SETTINGS: &[(&str, &str)] = &[
    ("keywords not in content", "the bot wants a keyword in each message: take it out there"),
    ("sign not match", "the signature is wrong: check secret_file"),
    ("invalid timestamp", "the clock is wrong by more than an hour"),
    ("whitelist", "the bot does not take messages from this address"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::SinkKind;
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_is_text_that_mentions_nobody() {
        let body = drafted(SinkKind::DingTalk, &message(), payload);
        assert_eq!(
            body,
            json!({
                "msgtype": "text",
                "text": {
                    "content": "Reminder: team meeting & <\u{200b}!channel>\n\
                                https:\u{200b}//example.org/a_b *bold* @\u{200b}here\nr7k2m9qx",
                },
                "at": { "atMobiles": [], "atUserIds": [], "isAtAll": false },
            })
        );
    }

    #[test]
    fn the_signature_is_encoded_for_the_address() {
        let query = drafted(SinkKind::DingTalk, &message(), |draft| {
            request(draft).url.query().unwrap().to_owned()
        });
        assert_eq!(
            query,
            "timestamp=1700000000000&sign=w3RMHXzixTMdzr8OHJUmVLS4IoPJVdu%2BUt1LE48MePE%3D"
        );
    }
}
