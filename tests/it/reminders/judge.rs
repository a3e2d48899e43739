//! Compares what was told with what the oracle says, and what became of each message with what may.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use recalld::domain::reminder::{DeliveryKey, DeliveryState, Kind, Outcome, Row};
use recalld::ports::{Reminders as _, Sink as _};

use super::oracle::{GRACE, LATE_AFTER, Look, Reminder, Told};
use super::place::{Call, PACE, Place};
use super::world::Process;

/// Longest time for which a place that failed is left alone, or a message that was not taken waits: an
/// hour at most, and another one where the clock was set back meanwhile.
const LEFT_ALONE: Duration = Duration::from_mins(125);

/// What came of a year.
pub struct Judge<'a> {
    looks: &'a [Look],
    reminders: &'a [Reminder],
    places: BTreeMap<String, Seen<'a>>,
    rows: Vec<Vec<Row>>,
    faults: Vec<String>,
    counts: BTreeMap<&'static str, usize>,
}

/// What a place saw.
struct Seen<'a> {
    place: &'a Place,
    calls: Vec<Call>,
    /// The calls of each message.
    of: BTreeMap<DeliveryKey, Vec<usize>>,
}

impl<'a> Judge<'a> {
    /// Reads everything that there is.
    pub async fn over(
        process: &Process,
        places: &'a [Arc<Place>],
        reminders: &'a [Reminder],
        looks: &'a [Look],
    ) -> Self {
        let mut rows = Vec::new();
        for reminder in reminders {
            rows.push(process.store.rows_of(reminder.id).await.unwrap());
        }
        let seen = |place: &'a Arc<Place>| {
            let calls = place.calls.lock().unwrap().clone();
            let mut of: BTreeMap<DeliveryKey, Vec<usize>> = BTreeMap::new();
            for (number, call) in calls.iter().enumerate() {
                of.entry(call.message.key).or_default().push(number);
            }
            (place.name().to_owned(), Seen { place, calls, of })
        };
        let places = places.iter().map(seen).collect();
        let (faults, counts) = (Vec::new(), BTreeMap::new());
        Self { looks, reminders, places, rows, faults, counts }
    }

    /// Fails with everything that is wrong.
    pub fn passes(mut self) {
        for (number, reminder) in self.reminders.iter().enumerate() {
            let (told, n_skipped) = reminder.told(self.looks);
            *self.counts.entry("occurrences told").or_default() += told.len();
            *self.counts.entry("occurrences not told").or_default() += n_skipped;
            let rows = std::mem::take(&mut self.rows[number]);
            for sink in &reminder.sinks {
                let of: Vec<&Row> = rows.iter().filter(|row| row.delivery.sink == *sink).collect();
                self.compare(reminder, sink, &told, &of);
            }
            let n_expected = told.len() * reminder.sinks.len();
            self.check(rows.len() == n_expected, || format!("{} rows: {reminder:?}", rows.len()));
        }
        self.messages();
        eprintln!("{} looks: {:?}", self.looks.len(), self.counts);
        let n = self.faults.len();
        self.faults.truncate(12);
        assert!(n == 0, "{n} faults, the first of them:\n{}", self.faults.join("\n\n"));
    }

    fn check(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right {
            self.faults.push(what());
        }
    }

    /// The rows of a reminder at a place, and what should have been told there.
    fn compare(&mut self, reminder: &Reminder, sink: &str, told: &[Told], rows: &[&Row]) {
        let mut rows = rows.to_vec();
        let is_snoozed = |kind| kind != Kind::First;
        rows.sort_by_key(|row| {
            let telling = row.telling;
            (row.delivery.created_at, telling.occurrence.civil, is_snoozed(telling.kind))
        });
        let mut expected: Vec<&Told> = told.iter().collect();
        expected.sort_by_key(|one| (one.wall, one.civil, is_snoozed(one.kind)));
        let of_row = |row: &&Row| {
            let telling = row.telling;
            let at = (telling.occurrence.civil, telling.due_at, telling.n_missed);
            (at, row.delivery.created_at, telling.kind, telling.expires_at)
        };
        let of_told = |one: &&Told| {
            let at = reminder.occasions.iter().find(|known| known.civil == one.civil).unwrap().at;
            let expires_at = at.max(one.wall) + GRACE;
            ((one.civil, one.due, one.n_missed), one.wall, one.kind, expires_at)
        };
        let found: Vec<_> = rows.iter().map(of_row).collect();
        let should: Vec<_> = expected.iter().map(of_told).collect();
        if found != should {
            let first = found.iter().zip(&should).position(|(a, b)| a != b);
            let first = first.unwrap_or(found.len().min(should.len()));
            self.faults.push(format!(
                "{} told instead of {} at {sink}; the first that differs is {:?} instead of {:?}: {:?}",
                found.len(),
                should.len(),
                found.get(first),
                should.get(first),
                reminder.plan
            ));
            return;
        }
        for (row, told) in rows.iter().zip(expected) {
            self.row(reminder, row, told);
        }
    }

    /// What became of one row.
    fn row(&mut self, reminder: &Reminder, row: &Row, told: &Told) {
        let delivery = &row.delivery;
        *self.counts.entry(delivery.state.as_str()).or_default() += 1;
        let seen = &self.places[&delivery.sink];
        let none = Vec::new();
        let numbers = row.message.and_then(|key| seen.of.get(&key)).unwrap_or(&none);
        let calls: Vec<&Call> = numbers.iter().map(|number| &seen.calls[*number]).collect();
        let last = calls.last();
        let why = delivery.why.clone().unwrap_or_default();
        // A call that was noted and cut off before it was made counts as one that may have got through.
        let is_made = calls.iter().any(|call| Some(call.wall) == delivery.called_at);
        let is_right = match delivery.state {
            DeliveryState::Sent => last.is_some_and(|call| call.is_taken),
            DeliveryState::Uncertain => {
                let is_known = seen.place.abilities().knows_keys;
                let is_unknown = !is_made || last.is_some_and(|call| self.is_unknown(call));
                !is_known && delivery.may_repeat && is_unknown
            }
            DeliveryState::Dead if why.starts_with("expire") => true,
            DeliveryState::Dead => {
                last.is_some_and(|call| matches!(call.outcome, Outcome::Refused(_)))
                    || delivery.n_attempts >= 12
            }
            DeliveryState::Queued => true,
            DeliveryState::Accepted | DeliveryState::Dropped => false,
        };
        let handle = reminder.id.handle();
        let has_part = calls.iter().all(|call| call.message.reminders.contains(&handle));
        let late = self.late(reminder, row, told, &calls);
        let what = || format!("{row:?} after {calls:?}: {:?}", reminder.plan);
        let (is_right, is_whole) = (is_right, has_part || why.starts_with("expire"));
        let early = calls.iter().find(|call| {
            let is_meant = seen.place.is_quiet_at(told.due) || reminder.is_urgent;
            seen.place.is_quiet_at(call.wall) && !is_meant
        });
        let mut faults = Vec::new();
        if !is_right || !is_whole {
            faults.push(format!("wrong end: {}", what()));
        }
        if let Some(call) = early {
            faults.push(format!("told in quiet hours, {}: {}", call.wall, what()));
        }
        if let Some(look) = late {
            faults.push(format!("not told at {look:?}: {}", what()));
        }
        self.faults.extend(faults);
    }

    /// Whether nobody knows what came of a call.
    fn is_unknown(&self, call: &Call) -> bool {
        matches!(call.outcome, Outcome::Unknown(_)) || self.looks[call.look].is_killed
    }

    /// The first look at which a row could have been tried and was not.
    fn late(&self, reminder: &Reminder, row: &Row, told: &Told, calls: &[&Call]) -> Option<&Look> {
        let is_left = row.delivery.state == DeliveryState::Queued
            || row.delivery.why.as_deref().is_some_and(|why| why.starts_with("expired"));
        let last = calls.last().filter(|_| !is_left);
        let ends = last.map_or(usize::MAX, |call| call.look);
        let seen = &self.places[&row.delivery.sink];
        let numbered = self.looks.iter().enumerate().skip(told.look);
        for (number, look) in numbered.take_while(|(number, _)| *number < ends) {
            if !look.is_killed && look.wall >= row.delivery.expires_at {
                return None;
            }
            let is_tried = calls.iter().any(|call| call.look == number);
            let is_quiet = |at| seen.place.is_quiet_at(at);
            let is_meant = reminder.is_urgent || is_quiet(told.due);
            let minute = SignedDuration::from_mins(2);
            let is_kept = !is_meant && (is_quiet(look.wall) || is_quiet(look.wall + minute));
            if !(look.is_killed || is_tried || is_kept || self.is_left_alone(seen, number)) {
                return Some(look);
            }
        }
        None
    }

    /// Whether a place may be left alone at a look: it failed a while ago, the daemon was killed, or it
    /// got as much as it takes.
    fn is_left_alone(&self, seen: &Seen<'_>, number: usize) -> bool {
        let now = self.looks[number].passed;
        let from = now.saturating_sub(LEFT_ALONE);
        let before = |time: &Duration| *time >= from && *time <= now;
        let first = seen.calls.partition_point(|call| call.passed < from);
        let calls = seen.calls[first..].iter().take_while(|call| call.passed <= now);
        let is_failed = |call: &&Call| !matches!(call.outcome, Outcome::Sent { .. });
        let looks = self.looks[..=number].iter().rev();
        let mut recent = looks.take_while(|look| before(&look.passed));
        let n_recent =
            calls.clone().filter(|call| call.passed + Duration::from_secs(10) > now).count();
        calls.clone().any(|call| is_failed(&call))
            || recent.any(|look| look.is_killed)
            || n_recent >= PACE.burst as usize
    }

    /// What the places saw of each message.
    fn messages(&mut self) {
        let mut faults = Vec::new();
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for seen in self.places.values() {
            for numbers in seen.of.values() {
                let calls: Vec<&Call> = numbers.iter().map(|number| &seen.calls[*number]).collect();
                *counts.entry("messages").or_default() += 1;
                *counts.entry("calls").or_default() += calls.len();
                let n_parts = calls[0].message.reminders.len();
                *counts.entry("digests").or_default() += usize::from(n_parts > 1);
                let taken: Vec<&&Call> = calls.iter().filter(|call| call.is_taken).collect();
                let n_shown = taken.iter().filter(|call| call.is_shown).count();
                *counts.entry("shown").or_default() += n_shown;
                *counts.entry("shown twice").or_default() += usize::from(n_shown > 1);
                let n_most = if seen.place.abilities().knows_keys { 1 } else { 2 };
                let is_marked = taken.iter().skip(1).all(|call| call.message.may_repeat);
                let recorded = calls.iter().position(|call| {
                    let is_sent = matches!(call.outcome, Outcome::Sent { .. });
                    is_sent && !self.looks[call.look].is_killed
                });
                let is_last = recorded.is_none_or(|at| at + 1 == calls.len());
                if n_shown > n_most || !(is_marked || n_most == 1) || !is_last {
                    faults.push(format!("at {}: {calls:?}", seen.place.name()));
                }
            }
            for call in &seen.calls {
                faults.extend(unsaid(call).map(|what| format!("{what}: {call:?}")));
            }
        }
        self.faults.extend(faults);
        self.counts.extend(counts);
    }
}

/// What a message about one reminder should have said.
fn unsaid(call: &Call) -> Option<&'static str> {
    let message = &call.message;
    if message.reminders.len() > 1 {
        return None;
    }
    let beyond = call.wall.duration_since(message.due_at) - LATE_AFTER;
    // Time passes between the words and the call.
    let is_clear = beyond.abs() > SignedDuration::from_secs(30);
    let is_said = message.text.contains(" late");
    (is_clear && is_said != beyond.is_positive()).then_some("lateness is not stated, or wrongly")
}
