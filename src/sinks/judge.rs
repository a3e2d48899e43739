//! What an answer means: by its status and, where a service says yes with the status of a no, by its
//! body. What a service says in words is never passed on, since it may quote the message or the
//! address; codes are, and the tables of the kinds say what they mean.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::Value;

use crate::domain::limits::SINK_PAUSE;
use crate::domain::reminder::Outcome;
use crate::http::Answer;

/// Longest name of an error that is passed on, characters.
const NAME_CHARS_MAX: usize = 60;

/// What a code of a service means for the message and the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It may be taken later, after so many seconds (0: it does not say).
    Later(i64),
    /// This message is never taken.
    Never,
    /// No message is taken until somebody sees to it.
    Fix,
}

/// One line of a table of codes.
pub(super) struct Rule<C> {
    /// The code.
    pub(super) code: C,
    /// What it means for us.
    pub(super) meaning: Meaning,
    /// What it means in words.
    pub(super) words: &'static str,
}

/// Short for the lines of a table.
pub(super) const fn rule<C>(code: C, meaning: Meaning, words: &'static str) -> Rule<C>
where
    C: Copy,
{
    Rule { code, meaning, words }
}

impl<C: std::fmt::Display + Copy> Rule<C> {
    fn outcome(&self) -> Outcome {
        let why = format!("says {}: {}", self.code, self.words);
        match self.meaning {
            Meaning::Later(seconds) => {
                let after = Some(seconds).filter(|seconds| *seconds > 0);
                Outcome::Retry { after: after.map(SignedDuration::from_secs), why }
            }
            Meaning::Never => Outcome::Refused(why),
            Meaning::Fix => Outcome::Disabled(why),
        }
    }
}

/// What the table says about a code.
pub(super) fn by_code<C>(rules: &[Rule<C>], code: C) -> Option<Outcome>
where
    C: std::fmt::Display + Copy + PartialEq,
{
    rules.iter().find(|rule| rule.code == code).map(Rule::outcome)
}

/// It was taken, and has no name that we know.
pub(super) const SENT: Outcome = Outcome::Sent { remote_id: None };

/// Nothing, if the status is a success.
///
/// # Errors
/// What another status means by itself.
pub(super) fn by_status(answer: &Answer) -> Result<(), Outcome> {
    if (200..300).contains(&answer.status) { Ok(()) } else { Err(failed(answer)) }
}

fn failed(answer: &Answer) -> Outcome {
    let status = answer.status;
    let after = answer.retry_after.and_then(|wait| SignedDuration::try_from(wait).ok());
    match status {
        300..=399 => {
            let to = answer.redirected_to.as_deref().unwrap_or("another place");
            let why = format!("answers {status}: it redirects to {to}, which is not followed");
            let is_for_good = matches!(status, 301 | 308);
            if is_for_good { Outcome::Disabled(why) } else { Outcome::Retry { after, why } }
        }
        401 | 403 => Outcome::Disabled(format!("answers {status}: it refuses what we log in with")),
        404 | 410 => Outcome::Disabled(format!("answers {status}: the address is not valid there")),
        501 => Outcome::Disabled("answers 501: it is switched off there".to_owned()),
        429 => {
            let after = after.or(SignedDuration::try_from(SINK_PAUSE).ok());
            Outcome::Retry { after, why: "answers 429: it got too many messages".to_owned() }
        }
        // What stood before it gave up waiting for it.
        504 | 520 | 524 => Outcome::Unknown(format!("answers {status}: nobody knows if it came")),
        408 | 425 | 500..=599 => Outcome::Retry { after, why: format!("answers {status}") },
        400..=499 => Outcome::Refused(format!("answers {status}: it does not take this message")),
        _ => Outcome::Unknown(format!("answers {status}")),
    }
}

/// It was taken, if the status is a success and the body names what became of it.
///
/// # Errors
/// What it means otherwise.
pub(super) fn named(answer: &Answer, pointer: &str) -> Result<Outcome, Outcome> {
    by_status(answer)?;
    let id = remote_id(any_json(answer).pointer(pointer));
    id.map(|id| Outcome::Sent { remote_id: Some(id) }).ok_or_else(|| unclear(answer))
}

/// A success whose body is not the one that a success has.
pub(super) fn unclear(answer: &Answer) -> Outcome {
    let status = answer.status;
    Outcome::Unknown(if answer.is_whole {
        format!("answers {status} with a body that is none of its own")
    } else {
        format!("answers {status}, and the rest of it did not come")
    })
}

/// The JSON in a body, whatever the status; nothing if there is none.
pub(super) fn any_json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// A text of an answer that is the name of an error and no sentence: letters, digits and `_.-:`, with
/// one of these between.
pub(super) fn name_of_error(text: &str) -> Option<&str> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "_.-:".contains(c);
    let is_name = text.len() <= NAME_CHARS_MAX
        && text.chars().all(is_fit)
        && text.contains(['_', '.', '-', ':'])
        && text.starts_with(|c: char| c.is_ascii_alphabetic());
    is_name.then_some(text)
}

/// What a service calls a message, if that is an identifier.
pub(super) fn remote_id(value: Option<&Value>) -> Option<String> {
    let id = match value? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let is_fit = |c: char| c.is_ascii_graphic();
    (!id.is_empty() && id.len() <= 128 && id.chars().all(is_fit)).then_some(id)
}

/// A number of seconds, also a broken one, after which to come back.
pub(super) fn seconds(value: Option<&Value>) -> Option<SignedDuration> {
    let wait = Duration::try_from_secs_f64(value?.as_f64()?).ok()?;
    SignedDuration::try_from(wait).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(outcome: &Outcome) -> &'static str {
        match outcome {
            Outcome::Sent { .. } => "sent",
            Outcome::Accepted => "accepted",
            Outcome::Retry { .. } => "retry",
            Outcome::Refused(_) => "refused",
            Outcome::Disabled(_) => "disabled",
            Outcome::Unknown(_) => "unknown",
        }
    }

    #[test]
    fn a_status_means_what_the_protocol_says() {
        for (status, expected) in [
            (200, "sent"),
            (204, "sent"),
            (301, "disabled"),
            (302, "retry"),
            (308, "disabled"),
            (400, "refused"),
            (401, "disabled"),
            (403, "disabled"),
            (404, "disabled"),
            (408, "retry"),
            (410, "disabled"),
            (413, "refused"),
            (422, "refused"),
            (425, "retry"),
            (429, "retry"),
            (500, "retry"),
            (501, "disabled"),
            (502, "retry"),
            (503, "retry"),
            (504, "unknown"),
            (524, "unknown"),
            (600, "unknown"),
        ] {
            let answer = Answer { status, is_whole: true, ..Answer::default() };
            let outcome = by_status(&answer).err();
            assert_eq!(outcome.as_ref().map_or("sent", class), expected, "{status}");
        }
    }

    #[test]
    fn too_many_messages_without_a_time_are_given_one() {
        let answer = |retry_after| Answer { status: 429, retry_after, ..Answer::default() };
        let after = |answer| match by_status(&answer) {
            Err(Outcome::Retry { after, .. }) => after,
            other => panic!("{other:?}"),
        };
        assert_eq!(after(answer(None)), Some(SignedDuration::from_mins(1)));
        let wait = Some(Duration::from_secs(7));
        assert_eq!(after(answer(wait)), Some(SignedDuration::from_secs(7)));
    }

    #[test]
    fn names_of_errors_are_told_from_sentences_and_tokens() {
        for (text, expected) in [
            ("invalid_payload", true),
            ("error-room-not-found", true),
            ("web.incoming_webhook.invalid.app_error", true),
            ("M_FORBIDDEN", true),
            ("Bad Request: no", false),
            ("abcdefghijklmnopqrstuvwx", false),
            ("12345:token", false),
            ("", false),
        ] {
            assert_eq!(name_of_error(text).is_some(), expected, "{text}");
        }
    }
}
