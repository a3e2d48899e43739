//! Telegram, by a bot. The token is in the address; success is `ok: true` in the body
//! (<https://core.telegram.org/bots/api#making-requests>).

use serde_json::{Value, json};

use super::judge::{any_json, by_status, remote_id, seconds, unclear};
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service = Service { request, judge };

fn request(draft: &Draft<'_>) -> Result<Request, String> {
    let bot = format!("bot{}", draft.token);
    Ok(Request::post(draft.below(&[&bot, "sendMessage"])?, &payload(draft)))
}

/// Without a `parse_mode` the text is text; names after `@` would be mentions all the same.
fn payload(draft: &Draft<'_>) -> Value {
    let style = Style { escape: text::break_mentions, breaks_links: false };
    let chat = draft.to.parse::<i64>().map_or_else(|_| json!(draft.to), |id| json!(id));
    json!({
        "chat_id": chat,
        "text": text::whole(draft.message, style, draft.abilities),
        "link_preview_options": { "is_disabled": true },
    })
}

fn judge(answer: &Answer) -> Outcome {
    let body = any_json(answer);
    match body.get("ok").and_then(Value::as_bool) {
        Some(true) if by_status(answer).is_ok() => {
            return Outcome::Sent { remote_id: remote_id(body.pointer("/result/message_id")) };
        }
        Some(false) => {}
        Some(true) | None => return by_status(answer).err().unwrap_or_else(|| unclear(answer)),
    }
    let code = body.get("error_code").and_then(Value::as_u64);
    let code = code.and_then(|code| u16::try_from(code).ok()).unwrap_or(answer.status);
    let parameters = body.get("parameters").unwrap_or(&Value::Null);
    if let Some(chat) = parameters.get("migrate_to_chat_id").and_then(Value::as_i64) {
        return Outcome::Disabled(format!("says that the group has a new id, {chat}: set `to`"));
    }
    let description = body.get("description").and_then(Value::as_str).unwrap_or_default();
    if code == 400 {
        let gone = WORDS.iter().find(|(words, _)| description.contains(words));
        if let Some((_, meaning)) = gone {
            return Outcome::Disabled(format!("says {code}: {meaning}"));
        }
    }
    let after = seconds(parameters.get("retry_after"));
    match by_status(&Answer { status: code, ..answer.clone() }) {
        Err(Outcome::Retry { after: other, why }) => Outcome::Retry { after: after.or(other), why },
        // It says no, so nothing came through.
        Ok(()) | Err(Outcome::Unknown(_)) => Outcome::Retry { after, why: format!("says {code}") },
        Err(outcome) => outcome,
    }
}

/// Refusals with the code of a bad message that concern the chat.
const WORDS: &[(&str, &str)] = &[
    ("chat not found", "it knows no such chat, or the bot is not in it"),
    ("chat_id is empty", "it knows no such chat"),
    ("PEER_ID_INVALID", "it knows no such chat"),
    ("not enough rights", "the bot may not write there"),
    ("need administrator rights", "the bot may not write there"),
    ("TOPIC_CLOSED", "the topic is closed"),
    ("CHAT_WRITE_FORBIDDEN", "the bot may not write there"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::SinkKind;
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_is_text_without_preview() {
        let body = drafted(SinkKind::Telegram, &message(), payload);
        assert_eq!(
            body,
            json!({
                "chat_id": -100_123,
                "text": "Reminder: team meeting & <\u{200b}!channel>\nhttps://example.org/a_b *bold* \
                         @\u{200b}here\nr7k2m9qx",
                "link_preview_options": { "is_disabled": true },
            })
        );
    }

    #[test]
    fn the_token_is_one_step_of_the_path() {
        let url = drafted(SinkKind::Telegram, &message(), |draft| {
            request(draft).unwrap().url.to_string()
        });
        assert_eq!(url, "https://example.org/bot123456:s3cr3t-tok3n/sendMessage");
    }
}
