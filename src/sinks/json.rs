//! Any program that takes JSON, in the form and with the signature of Standard Webhooks 1.0.0
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>).

use reqwest::header::{AUTHORIZATION, HeaderName};
use serde_json::{Value, json};

use super::judge::{SENT, by_status};
use super::sign;
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::limits::SINK_TITLE_CHARS_MAX;
use crate::domain::reminder::Outcome;
use crate::domain::sink::{Abilities, Message};
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service = Service { request, judge };

/// The id is the same in every attempt, so that who has had it can tell; the time is that of the
/// attempt.
fn request(draft: &Draft<'_>) -> Result<Request, String> {
    let key = draft.message.key.to_string();
    let mut request = Request::post(draft.url.clone(), &payload(draft.message, draft.abilities))
        .with(HeaderName::from_static("webhook-id"), &key)
        .with(HeaderName::from_static("webhook-timestamp"), draft.now.as_second().to_string())
        .with(HeaderName::from_static("idempotency-key"), &key);
    if let Some(secret) = draft.secret {
        let signature = sign::standard(&key, draft.now, &request.body, secret)?;
        request = request.with(HeaderName::from_static("webhook-signature"), signature);
    }
    if !draft.token.is_empty() {
        request = request.with(AUTHORIZATION, format!("Bearer {}", draft.token));
    }
    Ok(request)
}

/// The receiver is the user's own, so that the status says it all.
fn judge(answer: &Answer) -> Outcome {
    by_status(answer).err().unwrap_or(SENT)
}

/// A message for a program.
pub(super) fn payload(message: &Message, abilities: &Abilities) -> Value {
    let (most, unit) = (abilities.text_max, abilities.text_unit);
    json!({
        "type": "reminder.due",
        "timestamp": message.due_at.to_string(),
        "data": {
            "id": message.key.to_string(),
            "title": text::title(message, Style::PLAIN, SINK_TITLE_CHARS_MAX),
            "text": text::fit(&message.text, Style::PLAIN, most, unit),
            "footer": text::clean(&message.footer),
            "due_at": message.due_at.to_string(),
            "priority": if message.is_urgent { "urgent" } else { "normal" },
            "may_repeat": message.may_repeat,
            "reminders": message.reminders,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::SinkKind;
    use crate::sinks::tests::{drafted_with, message};

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn the_request_says_everything_and_is_signed() {
        let request = drafted_with(SinkKind::Json, &message(), SECRET, request);
        let request = request.unwrap();
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(
            body,
            json!({
                "type": "reminder.due",
                "timestamp": "2023-11-14T22:13:20Z",
                "data": {
                    "id": "0123456789abcdef0123456789abcdef",
                    "title": "Reminder: team meeting & <!channel>",
                    "text": "https://example.org/a_b *bold* @here",
                    "footer": "r7k2m9qx",
                    "due_at": "2023-11-14T22:13:20Z",
                    "priority": "normal",
                    "may_repeat": false,
                    "reminders": ["r7k2m9qx"],
                },
            })
        );
        let header = |name: &str| {
            let found = request.headers.iter().find(|(header, _)| header.as_str() == name);
            found.map(|(_, value)| value.clone()).unwrap()
        };
        assert_eq!(header("webhook-id"), "0123456789abcdef0123456789abcdef");
        assert_eq!(header("idempotency-key"), "0123456789abcdef0123456789abcdef");
        assert_eq!(header("webhook-timestamp"), "1700000000");
        assert_eq!(header("authorization"), "Bearer 123456:s3cr3t-tok3n");
        let at = jiff::Timestamp::from_second(1_700_000_000).unwrap();
        let signature =
            sign::standard("0123456789abcdef0123456789abcdef", at, &request.body, SECRET).unwrap();
        assert_eq!(header("webhook-signature"), signature);
    }

    #[test]
    fn a_secret_that_is_none_is_told_without_it() {
        let request = drafted_with(SinkKind::Json, &message(), "whsec_s3cr3t!", request);
        let why = request.err().unwrap();
        assert!(why.contains("base64") && !why.contains("s3cr3t"), "{why}");
    }
}
