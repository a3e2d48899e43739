//! What becomes of effects: rows of the outbox, and notes for the next digest.

use jiff::Timestamp;

use super::delivery::{Delivery, DeliveryKey};
use super::entry::{Entry, Row, SkippedNote};
use super::lifecycle::{Effect, Kind, OnMissed, Telling};

/// Who is told.
#[derive(Clone, Copy, Debug)]
pub struct Audience<'a> {
    /// The sinks, by name.
    pub sinks: &'a [String],
    /// The one that is told of what nobody acknowledged.
    pub escalate_to: Option<&'a str>,
    /// The program that is started for everything.
    pub hook: Option<&'a str>,
}

/// The rows of what is to be told of a reminder.
pub fn rows(
    entry: &Entry,
    effects: &[Effect],
    audience: &Audience<'_>,
    now: Timestamp,
) -> Vec<Row> {
    let tellings = effects.iter().filter_map(|effect| match effect {
        Effect::Tell(telling) => Some(telling),
        Effect::Skip { .. } => None,
    });
    tellings
        .flat_map(|telling| {
            let mut sinks: Vec<&str> = match telling.kind {
                Kind::Escalated => audience.escalate_to.into_iter().collect(),
                Kind::First | Kind::Snoozed(_) | Kind::Repeated(_) => {
                    audience.sinks.iter().map(String::as_str).collect()
                }
            };
            sinks.extend(audience.hook);
            sinks.into_iter().map(|sink| row(entry, telling, sink, now)).collect::<Vec<_>>()
        })
        .collect()
}

fn row(entry: &Entry, telling: &Telling, sink: &str, now: Timestamp) -> Row {
    let Telling { occurrence, kind, due_at, expires_at, .. } = *telling;
    let id = entry.id.as_u128().to_be_bytes();
    let key = DeliveryKey::new(&id, entry.reminder.generation, occurrence.civil, kind, sink);
    let delivery = Delivery::new(key, sink.to_owned(), due_at, due_at.min(now), expires_at, now);
    Row { version: 1, delivery, reminder: entry.id, telling: *telling, message: None }
}

/// What is still to be said of occurrences that were skipped: what was not said before, and what these
/// effects add. A telling that stands for earlier ones says so itself.
pub fn note_skipped(entry: &Entry, effects: &[Effect], now: Timestamp) -> Option<SkippedNote> {
    let is_told = effects.iter().any(|effect| matches!(effect, Effect::Tell(_)));
    let says_itself = is_told && entry.reminder.on_missed == OnMissed::Coalesce;
    effects.iter().fold(entry.skipped.clone(), |note, effect| match effect {
        Effect::Skip { last, n, why, .. } if !says_itself => {
            let before = note.map_or(0, |note| note.n);
            let last_due_at = entry.reminder.lead.moment(*last, entry.reminder.rule.zone());
            Some(SkippedNote { n: before.saturating_add(*n), last_due_at, why: *why, at: now })
        }
        Effect::Skip { .. } | Effect::Tell(_) => note,
    })
}

#[cfg(test)]
mod tests;
