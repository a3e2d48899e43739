//! The words of a message: what is told of one reminder, or of several in a digest. Times are absolute,
//! with their zone; what came late says so.

use jiff::{SignedDuration, Timestamp};

use super::delivery::DeliveryKey;
use super::digest::fitting;
use super::entry::Entry;
use super::lifecycle::{Kind, Priority, Telling};
use super::rule::told;
use crate::domain::sink::{Message, TextUnit};

/// Characters that a line of a digest has for what one reminder says.
const LINE_CHARS_MAX: usize = 160;
/// Stands where a text was cut.
const ELLIPSIS: char = '\u{2026}';

/// One reminder in a message.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The reminder.
    pub entry: &'a Entry,
    /// What is told of it.
    pub telling: &'a Telling,
    /// Whether an earlier call may have got through.
    pub may_repeat: bool,
}

/// What a message is made of beside its parts.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What makes it one and the same.
    pub key: DeliveryKey,
    /// Reminders of which occurrences were skipped, said in a digest.
    pub skipped: &'a [Entry],
    /// Suggestions, said in a digest.
    pub proposals: &'a [Entry],
    /// Lateness from which it is told.
    pub late_after: SignedDuration,
    /// Longest text, in `unit`.
    pub text_max: usize,
    /// What that is counted in.
    pub unit: TextUnit,
    /// When it is told.
    pub now: Timestamp,
}

/// The message about these parts, at least one, in their order.
pub fn message(parts: &[Part<'_>], frame: &Frame<'_>) -> Message {
    let (title, text, footer) = match parts {
        [part] => alone(part, frame),
        parts => digest(parts, frame),
    };
    Message {
        key: frame.key,
        title,
        text,
        footer,
        is_urgent: parts.iter().any(|part| part.entry.reminder.priority == Priority::Urgent),
        may_repeat: parts.iter().any(|part| part.may_repeat),
        due_at: parts.iter().map(|part| part.telling.due_at).min().unwrap_or(frame.now),
        reminders: parts.iter().map(|part| part.entry.id.handle()).collect(),
    }
}

/// Title, text and footer of a message about one reminder.
fn alone(part: &Part<'_>, frame: &Frame<'_>) -> (String, String, String) {
    let (entry, rule) = (part.entry, &part.entry.reminder.rule);
    let (title, rest) = entry.text.split_once('\n').unwrap_or((&entry.text, ""));
    let mut lines: Vec<String> = Vec::new();
    lines.extend(Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()));
    lines.push(event(part, frame.now));
    lines.extend((!rule.is_once()).then(|| rule.describe()));
    lines.extend(remarks(part, frame));
    lines.extend(entry.skipped.is_some().then(|| skipped(entry)).flatten());
    let footer = format!("Acknowledge: recalld remind ack {}", entry.id.handle());
    (title.trim().to_owned(), lines.join("\n"), footer)
}

/// Title, text and footer of a message about several.
fn digest(parts: &[Part<'_>], frame: &Frame<'_>) -> (String, String, String) {
    let mut sorted: Vec<&Part<'_>> = parts.iter().collect();
    sorted.sort_by_key(|part| part.telling.occurrence.at);
    let lines: Vec<String> = sorted.iter().map(|part| line(part, frame)).collect();
    let skipped = frame.skipped.iter().filter_map(|entry| {
        Some(format!("- {} [{}]: {}", short(entry), entry.id.handle(), skipped(entry)?))
    });
    let riders: Vec<String> =
        skipped.chain(frame.proposals.iter().map(|entry| proposal(entry, frame.now))).collect();
    let title = format!("{} reminders", parts.len());
    let footer = "Acknowledge: recalld remind ack ID".to_owned();
    let riding = riders.join("\n");
    let taken: usize =
        [&title, &footer, &riding].iter().map(|text| frame.unit.length(text) + 1).sum();
    let room = frame.text_max.saturating_sub(taken);
    let mut text = fitting(&lines, room, |text| frame.unit.length(text));
    if !riding.is_empty() {
        text.push('\n');
        text.push_str(&riding);
    }
    (title, text, footer)
}

/// A reminder in a digest.
fn line(part: &Part<'_>, frame: &Frame<'_>) -> String {
    let remarks = remarks(part, frame);
    let remarks =
        if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
    let (entry, when) = (part.entry, event(part, frame.now));
    format!("- {}: {when}{remarks} [{}]", short(entry), entry.id.handle())
}

/// What a reminder says, in one line.
fn short(entry: &Entry) -> String {
    let line = entry.text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LINE_CHARS_MAX) {
        None => line,
        Some((at, _)) => {
            let kept = line.get(..at).unwrap_or_default();
            format!("{}{ELLIPSIS}", kept.trim_end())
        }
    }
}

/// When it is that a reminder is about, and how long until then.
fn event(part: &Part<'_>, now: Timestamp) -> String {
    let at = part.telling.occurrence.at;
    let absolute = told(at, part.entry.reminder.rule.zone());
    let until = part.telling.until_event(now);
    match until.unsigned_abs().as_secs() {
        0..60 => format!("{absolute}, now"),
        _ if until.is_positive() => format!("{absolute}, in {}", span(until)),
        _ => format!("{absolute}, {} ago", span(until)),
    }
}

/// What is unusual about a telling.
fn remarks(part: &Part<'_>, frame: &Frame<'_>) -> Vec<String> {
    let telling = part.telling;
    let mut remarks = Vec::new();
    match telling.kind {
        Kind::First => {}
        Kind::Snoozed(_) => remarks.push("snoozed until now".to_owned()),
        Kind::Repeated(_) => remarks.push("told again, since nobody acknowledged it".to_owned()),
        Kind::Escalated => remarks.push("told here, since nobody acknowledged it".to_owned()),
    }
    let lateness = telling.lateness(frame.now);
    if lateness > frame.late_after {
        let due = told(telling.due_at, part.entry.reminder.rule.zone());
        remarks.push(format!("was due {due}, told {} late", span(lateness)));
    }
    match telling.n_missed {
        0 => {}
        1 => remarks.push("1 earlier one was missed".to_owned()),
        n => remarks.push(format!("{n} earlier ones were missed")),
    }
    remarks
}

/// What is said of occurrences that were not told.
fn skipped(entry: &Entry) -> Option<String> {
    let note = entry.skipped.as_ref()?;
    let due = told(note.last_due_at, entry.reminder.rule.zone());
    let why = note.why.as_str();
    Some(match note.n {
        1 => format!("1 was not told ({why}): it was due {due}"),
        n => format!("{n} were not told ({why}): the last was due {due}"),
    })
}

/// What is said of a suggestion.
fn proposal(entry: &Entry, now: Timestamp) -> String {
    let (handle, rule) = (entry.id.handle(), &entry.reminder.rule);
    let next = rule.next_after(now).map(|next| told(next.at, rule.zone())).unwrap_or_default();
    let when = if rule.is_once() { next } else { format!("{}, next {next}", rule.describe()) };
    format!(
        "- Suggested: {}: {when}. Take it up: recalld remind accept {handle}; if not: recalld remind decline {handle}",
        short(entry)
    )
}

/// A length of time in its two largest units: `3 d 4 h`, `2 h 42 min`, `25 min`, `40 s`.
pub fn span(length: SignedDuration) -> String {
    let seconds = length.unsigned_abs().as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let Some(largest) = units.iter().position(|(unit, _)| seconds >= *unit) else {
        return "0 s".to_owned();
    };
    // Nobody wants to know the seconds of a minute.
    let n = if largest + 2 < units.len() { 2 } else { 1 };
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (unit, name) in units.iter().skip(largest).take(n) {
        if rest >= *unit {
            parts.push(format!("{} {name}", rest / unit));
        }
        rest %= unit;
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests;
