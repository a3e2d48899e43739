//! Microsoft Teams, by a workflow that posts to a channel when a webhook request is received. The
//! workflow answers before it has posted, and nobody tells whether it did
//! (<https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook>).

use serde_json::{Value, json};

use super::judge::by_status;
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service =
    Service { request: |draft| Ok(Request::post(draft.url.clone(), &payload(draft))), judge };

/// Most paragraphs of a card; what follows stands in the last one.
const PARAGRAPHS_MAX: usize = 40;

/// An adaptive card of runs of text, in which no markup is read; a `TextBlock` would read it.
fn payload(draft: &Draft<'_>) -> Value {
    let text = text::whole(draft.message, Style::PLAIN, draft.abilities);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let (single, rest) = lines.split_at(lines.len().min(PARAGRAPHS_MAX - 1));
    let mut paragraphs: Vec<Value> = single.iter().map(|line| paragraph(line)).collect();
    paragraphs.extend((!rest.is_empty()).then(|| paragraph(&rest.join(" "))));
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": paragraphs,
                "msteams": { "width": "full" },
            },
        }],
    })
}

fn paragraph(text: &str) -> Value {
    json!({ "type": "RichTextBlock", "inlines": [{ "type": "TextRun", "text": text }] })
}

fn judge(answer: &Answer) -> Outcome {
    by_status(answer).err().unwrap_or(Outcome::Accepted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::{Message, SinkKind};
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_is_a_card_of_plain_text() {
        let body = drafted(SinkKind::Teams, &message(), payload);
        assert_eq!(body["type"], "message");
        let card = &body["attachments"][0];
        assert_eq!(card["contentType"], "application/vnd.microsoft.card.adaptive");
        assert_eq!(card["content"]["version"], "1.4");
        let lines: Vec<&str> = card["content"]["body"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| {
                assert_eq!(block["type"], "RichTextBlock");
                block["inlines"][0]["text"].as_str().unwrap()
            })
            .collect();
        assert_eq!(
            lines,
            [
                "Reminder: team meeting & <!channel>",
                "https://example.org/a_b *bold* @here",
                "r7k2m9qx"
            ]
        );
    }

    #[test]
    fn the_largest_message_fits_into_a_request() {
        for text in ["\"\n".repeat(9_000), "\"".repeat(9_000), "\u{4f1a}".repeat(9_000)] {
            let body = drafted(SinkKind::Teams, &Message { text, ..message() }, payload);
            assert!(body.to_string().len() < 28_000, "{}", body.to_string().len());
            let blocks = body["attachments"][0]["content"]["body"].as_array().unwrap().len();
            assert!(blocks <= PARAGRAPHS_MAX, "{blocks}");
        }
    }
}
