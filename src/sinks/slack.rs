//! Slack, by an incoming webhook. Success is the body `ok`, not the status
//! (<https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks>).

use serde_json::{Value, json};

use super::judge::{Meaning, Rule, SENT, by_code, by_status, name_of_error, rule, unclear};
use super::text::{self, Style};
use super::webhook::{Draft, Service};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service =
    Service { request: |draft| Ok(Request::post(draft.url.clone(), &payload(draft))), judge };

/// Plain text: no markup is read, names are not made mentions, and nothing is fetched for a preview.
fn payload(draft: &Draft<'_>) -> Value {
    let style = Style { escape, breaks_links: false };
    json!({
        "text": text::whole(draft.message, style, draft.abilities),
        "mrkdwn": false,
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
    })
}

/// The three characters that Slack takes for control characters, `<!channel>` among them.
fn escape(c: char, out: &mut String) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        _ => text::break_mentions(c, out),
    }
}

const RULES: &[Rule<&str>] = &[
    rule("invalid_payload", Meaning::Never, "it cannot read the message"),
    rule("no_text", Meaning::Never, "the message is empty"),
    rule("too_many_attachments", Meaning::Never, "the message is too large"),
    rule("msg_too_long", Meaning::Never, "the message is too long"),
    rule("rate_limited", Meaning::Later(60), "it got too many messages"),
    rule("rollup_error", Meaning::Later(0), "something failed there"),
    rule("service_unavailable", Meaning::Later(0), "it is away"),
    rule("action_prohibited", Meaning::Fix, "an admin forbids it"),
    rule("posting_to_general_channel_denied", Meaning::Fix, "an admin forbids it"),
    rule("channel_is_archived", Meaning::Fix, "the channel is archived"),
    rule("channel_not_found", Meaning::Fix, "the channel is gone"),
    rule("user_not_found", Meaning::Fix, "the user is gone"),
    rule("no_service", Meaning::Fix, "the webhook is gone or switched off"),
    rule("no_service_id", Meaning::Fix, "the address is not complete"),
    rule("no_team", Meaning::Fix, "the workspace is gone"),
    rule("team_disabled", Meaning::Fix, "the workspace is switched off"),
    rule("invalid_token", Meaning::Fix, "the address is not valid"),
    rule("no_active_hooks", Meaning::Fix, "the webhook is switched off"),
];

fn judge(answer: &Answer) -> Outcome {
    let body = String::from_utf8_lossy(&answer.body);
    let said = body.trim();
    let outcome = match by_status(answer) {
        Ok(()) if said == "ok" && answer.is_whole => return SENT,
        Ok(()) => unclear(answer),
        Err(outcome @ Outcome::Retry { .. }) => return outcome,
        Err(outcome) => outcome,
    };
    let known = name_of_error(said).and_then(|name| by_code(RULES, name));
    known.unwrap_or(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::SinkKind;
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_is_text_without_meaning() {
        let body = drafted(SinkKind::Slack, &message(), payload);
        assert_eq!(
            body,
            json!({
                "text": "Reminder: team meeting &amp; &lt;!channel&gt;\nhttps://example.org/a_b *bold* \
                         @\u{200b}here\nr7k2m9qx",
                "mrkdwn": false,
                "link_names": false,
                "unfurl_links": false,
                "unfurl_media": false,
            })
        );
    }
}
