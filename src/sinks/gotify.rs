//! An application of Gotify (<https://gotify.net/docs/pushmsg>).

use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::judge::named;
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::limits::SINK_TITLE_CHARS_MAX;
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service = Service { request, judge };

fn request(draft: &Draft<'_>) -> Result<Request, String> {
    let request = Request::post(draft.below(&["message"])?, &payload(draft));
    Ok(request.with(HeaderName::from_static("x-gotify-key"), draft.token))
}

/// Text; its Markdown has to be asked for. From 8 on its apps make a sound.
fn payload(draft: &Draft<'_>) -> Value {
    json!({
        "title": text::title(draft.message, Style::PLAIN, SINK_TITLE_CHARS_MAX),
        "message": text::body(draft.message, Style::PLAIN, draft.abilities),
        "priority": if draft.message.is_urgent { 8 } else { 5 },
        "extras": { "client::display": { "contentType": "text/plain" } },
    })
}

fn judge(answer: &Answer) -> Outcome {
    named(answer, "/id").unwrap_or_else(|outcome| outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::SinkKind;
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_is_text_with_the_token_in_a_header() {
        let request = drafted(SinkKind::Gotify, &message(), |draft| request(draft).unwrap());
        assert_eq!(request.url.as_str(), "https://example.org/message");
        let header = HeaderName::from_static("x-gotify-key");
        assert_eq!(request.headers, [(header, "123456:s3cr3t-tok3n".to_owned())]);
        assert_eq!(
            serde_json::from_slice::<Value>(&request.body).unwrap(),
            json!({
                "title": "Reminder: team meeting & <!channel>",
                "message": "https://example.org/a_b *bold* @here\nr7k2m9qx",
                "priority": 5,
                "extras": { "client::display": { "contentType": "text/plain" } },
            })
        );
    }
}
