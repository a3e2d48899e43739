//! A topic of ntfy (<https://docs.ntfy.sh/publish/#publish-as-json>).

use reqwest::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::judge::named;
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::limits::SINK_TITLE_CHARS_MAX;
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service = Service { request: |draft| Ok(request(draft)), judge };

fn request(draft: &Draft<'_>) -> Request {
    let request = Request::post(draft.url.clone(), &payload(draft));
    if draft.token.is_empty() {
        return request;
    }
    request.with(AUTHORIZATION, format!("Bearer {}", draft.token))
}

/// Text, since Markdown is not asked for. What is urgent has the highest of its priorities.
fn payload(draft: &Draft<'_>) -> Value {
    json!({
        "topic": draft.to,
        "title": text::title(draft.message, Style::PLAIN, SINK_TITLE_CHARS_MAX),
        "message": text::body(draft.message, Style::PLAIN, draft.abilities),
        "priority": if draft.message.is_urgent { 5 } else { 3 },
        "tags": ["alarm_clock"],
    })
}

fn judge(answer: &Answer) -> Outcome {
    named(answer, "/id").unwrap_or_else(|outcome| outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::{Message, SinkKind};
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_has_title_text_and_priority() {
        let body = drafted(SinkKind::Ntfy, &message(), payload);
        assert_eq!(
            body,
            json!({
                "topic": "-100123",
                "title": "Reminder: team meeting & <!channel>",
                "message": "https://example.org/a_b *bold* @here\nr7k2m9qx",
                "priority": 3,
                "tags": ["alarm_clock"],
            })
        );
        let urgent = Message { is_urgent: true, ..message() };
        assert_eq!(drafted(SinkKind::Ntfy, &urgent, payload)["priority"], 5);
    }

    #[test]
    fn the_token_is_in_a_header_and_not_in_the_address() {
        let (url, headers) = drafted(SinkKind::Ntfy, &message(), |draft| {
            let request = request(draft);
            (request.url.to_string(), request.headers)
        });
        assert_eq!(url, "https://example.org/");
        assert_eq!(headers, [(AUTHORIZATION, "Bearer 123456:s3cr3t-tok3n".to_owned())]);
    }
}
