//! A Matrix room without encryption. The key of the message is the id of the transaction, by which a
//! server tells that it has it already
//! (<https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid>).

use jiff::SignedDuration;
use reqwest::Method;
use reqwest::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::judge::{any_json, name_of_error, named};
use super::text::{self, Style};
use super::webhook::{Draft, Service, with_reason};
use crate::domain::reminder::Outcome;
use crate::http::{Answer, Request};

pub(super) const SERVICE: Service = Service { request, judge };

fn request(draft: &Draft<'_>) -> Result<Request, String> {
    let key = draft.message.key.to_string();
    let steps = ["_matrix", "client", "v3", "rooms", draft.to, "send", "m.room.message"];
    let steps: Vec<&str> = steps.into_iter().chain([key.as_str()]).collect();
    let request = Request::post(draft.below(&steps)?, &payload(draft));
    let request = Request { method: Method::PUT, ..request };
    Ok(request.with(AUTHORIZATION, format!("Bearer {}", draft.token)))
}

/// Text: a notice, which bots send else, makes no sound by the default rules. `m.mentions` says that
/// nobody is mentioned, whatever the text looks like.
fn payload(draft: &Draft<'_>) -> Value {
    let style = Style { escape: text::break_mentions, breaks_links: draft.breaks_links };
    json!({
        "msgtype": "m.text",
        "body": text::whole(draft.message, style, draft.abilities),
        "m.mentions": {},
    })
}

fn judge(answer: &Answer) -> Outcome {
    let outcome = match named(answer, "/event_id") {
        Ok(outcome) => return outcome,
        Err(outcome) => outcome,
    };
    let body = any_json(answer);
    let code = body.get("errcode").and_then(Value::as_str).and_then(name_of_error);
    let asked = body.get("retry_after_ms").and_then(Value::as_i64).map(SignedDuration::from_millis);
    let outcome = match (outcome, code) {
        (Outcome::Retry { after, why }, _) => Outcome::Retry { after: asked.or(after), why },
        (_, Some("M_LIMIT_EXCEEDED")) => {
            Outcome::Retry { after: asked, why: "got too many messages".to_owned() }
        }
        (outcome, _) => outcome,
    };
    match code {
        Some(code) => with_reason(outcome, |why| format!("{why} ({code})")),
        None => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sink::SinkKind;
    use crate::sinks::tests::{drafted, message};

    #[test]
    fn the_request_puts_text_under_the_key_of_the_message() {
        let request = drafted(SinkKind::Matrix, &message(), |draft| request(draft).unwrap());
        assert_eq!(request.method, Method::PUT);
        assert_eq!(
            request.url.as_str(),
            "https://example.org/_matrix/client/v3/rooms/-100123/send/m.room.message/0123456789abcdef0123456789abcdef"
        );
        assert_eq!(
            serde_json::from_slice::<Value>(&request.body).unwrap(),
            json!({
                "msgtype": "m.text",
                "body": "Reminder: team meeting & <\u{200b}!channel>\n\
                         https:\u{200b}//example.org/a_b *bold* @\u{200b}here\nr7k2m9qx",
                "m.mentions": {},
            })
        );
    }
}
