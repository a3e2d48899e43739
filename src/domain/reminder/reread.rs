//! What becomes of the reminders that were read in a text when the text is another: a memory that is
//! edited or superseded keeps one reminder, however often its wording changes. And what becomes of them
//! when the same text is said once more.

use jiff::Timestamp;

use super::entry::{Entry, Source};
use super::lifecycle::{Standing, Status};

/// Reminders that are to be written together with the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reread {
    /// Those that are new.
    pub new: Vec<Entry>,
    /// Those that are otherwise now, or over.
    pub changed: Vec<Entry>,
}

impl Source {
    /// Whether it was read in the text of a memory, and changes with it.
    pub const fn is_read(self) -> bool {
        match self {
            Self::Asked | Self::Found => true,
            Self::Stated | Self::Pattern => false,
        }
    }
}

/// Brings `there`, the reminders about the memory that changes, in line with `read`, what its text says
/// from `at` on: the same time stays what it is, another moves a reminder that is there, and what the
/// text says no more is called off. A time that somebody has said no to is not proposed again.
pub fn reread(there: Vec<Entry>, read: Vec<Entry>, at: Timestamp) -> Reread {
    let mut there: Vec<Entry> = there.into_iter().filter(|entry| entry.source.is_read()).collect();
    there.sort_by_key(|entry| entry.id);
    let mut out = Reread::default();
    let mut others = Vec::new();
    for read in read {
        let is_same = |entry: &Entry| entry.reminder.rule == read.reminder.rule;
        let Some(place) = there.iter().position(is_same) else {
            others.push(read);
            continue;
        };
        let mut same = there.remove(place);
        if is_over(&same) {
            continue;
        }
        let before = same.clone();
        takes_after(&mut same, read, at);
        if same != before {
            out.changed.push(touched(same, at));
        }
    }
    let mut left = there.into_iter().filter(|entry| !is_over(entry));
    for read in others {
        let Some(mut moved) = left.next() else {
            out.new.push(read);
            continue;
        };
        let (rule, lead) = (read.reminder.rule.clone(), read.reminder.lead);
        if moved.reminder.change(rule, lead, at).is_ok() {
            moved.reminder.is_timed = read.reminder.is_timed;
            takes_after(&mut moved, read, at);
        } else {
            out.new.push(read);
            called_off(&mut moved);
        }
        out.changed.push(touched(moved, at));
    }
    for mut surplus in left {
        called_off(&mut surplus);
        out.changed.push(touched(surplus, at));
    }
    out
}

/// Those of `read`, what a text says that is stored once more at `at`, that are new beside `there`, the
/// reminders about the memory that it is: what is still to be told stands for what is read now, as a
/// call that is sent twice says the same. What was told or is over does not, since "in two hours" is
/// another time each time; nor is what somebody said no to proposed again.
pub fn said_again(there: Vec<Entry>, read: Vec<Entry>, at: Timestamp) -> Vec<Entry> {
    let mut there: Vec<Entry> = there.into_iter().filter(|entry| entry.source.is_read()).collect();
    there.sort_by_key(|entry| entry.id);
    let is_no =
        |entry: &Entry| matches!(entry.reminder.status, Status::Declined | Status::Cancelled);
    let is_refused = there.iter().any(is_no);
    there.retain(|entry| is_to_come(entry, at));
    let is_there = |read: &Entry, entry: &Entry| entry.reminder.rule == read.reminder.rule;
    let (known, mut read): (Vec<Entry>, Vec<Entry>) = read
        .into_iter()
        .filter(|read| !is_refused || read.reminder.status == Status::Active)
        .partition(|read| there.iter().any(|entry| is_there(read, entry)));
    there.retain(|entry| !known.iter().any(|read| is_there(read, entry)));
    read.drain(..there.len().min(read.len()));
    read
}

/// Whether something of it is still to be told or to be decided.
fn is_to_come(entry: &Entry, at: Timestamp) -> bool {
    let reminder = &entry.reminder;
    let has_next = || reminder.rule.next_after(at).is_some();
    match reminder.standing() {
        Standing::Upcoming | Standing::Snoozed => true,
        Standing::Due | Standing::Proposed | Standing::Paused => has_next(),
        Standing::Past => false,
    }
}

fn is_over(entry: &Entry) -> bool {
    entry.reminder.standing() == Standing::Past
}

/// Gives a reminder what is read now, but for its time. What somebody made of it stays.
fn takes_after(entry: &mut Entry, read: Entry, at: Timestamp) {
    let is_asked = read.reminder.status == Status::Active;
    if is_asked && entry.reminder.accept(at).is_ok() {
        entry.source = Source::Asked;
    }
    entry.text = read.text;
    entry.memory = read.memory;
}

fn called_off(entry: &mut Entry) {
    // What is over stays what it was.
    entry.reminder.cancel().ok();
}

/// The engine looks at it next, and says when it has something to do for it.
fn touched(mut entry: Entry, at: Timestamp) -> Entry {
    entry.updated_at = at;
    entry.wakes_at = (!is_over(&entry)).then_some(at);
    entry
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::domain::id::MemoryId;
    use crate::domain::reminder::{Lead, Reminder, Rule};

    const NOW: &str = "2026-03-02T08:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    /// A reminder about the memory `memory` that says when it is.
    fn entry(id: u128, memory: u128, when: &str, status: Status) -> Entry {
        let rule = Rule::once(when.parse().unwrap(), TimeZone::get("Europe/Berlin").unwrap());
        Entry {
            id: MemoryId::from_u128(id),
            version: 1,
            namespace: "user".parse().unwrap(),
            text: format!("at {when}"),
            source: if status == Status::Active { Source::Asked } else { Source::Found },
            memory: Some(MemoryId::from_u128(memory)),
            evidence: Vec::new(),
            topic: None,
            sinks: Vec::new(),
            actor: "owner".to_owned(),
            created_at: now(),
            updated_at: now(),
            proposed_at: None,
            skipped: None,
            wakes_at: None,
            reminder: Reminder::new(rule.unwrap(), Lead::NONE, status, now()).unwrap(),
        }
    }

    fn told(entries: &[Entry]) -> Vec<(u128, &str, Status)> {
        entries
            .iter()
            .map(|entry| (entry.id.as_u128(), entry.text.as_str(), entry.reminder.status))
            .collect()
    }

    #[test]
    fn what_is_read_for_the_first_time_is_new() {
        let read = vec![entry(9, 1, "2026-03-04T15:00", Status::Proposed)];
        let out = reread(Vec::new(), read.clone(), now());
        assert_eq!(out, Reread { new: read, changed: Vec::new() });
    }

    #[test]
    fn the_same_time_stays_as_it_is_and_another_moves_it() {
        let there = vec![entry(1, 1, "2026-03-04T15:00", Status::Active)];
        let same = entry(9, 1, "2026-03-04T15:00", Status::Proposed);
        assert_eq!(reread(there.clone(), vec![same], now()), Reread::default());
        let later = entry(9, 1, "2026-03-04T16:00", Status::Proposed);
        let out = reread(there, vec![later], now());
        assert!(out.new.is_empty());
        assert_eq!(told(&out.changed), [(1, "at 2026-03-04T16:00", Status::Active)]);
        assert_eq!(out.changed[0].wakes_at, Some(now()));
    }

    #[test]
    fn a_text_that_asks_takes_up_what_was_proposed() {
        let there = vec![entry(1, 1, "2026-03-04T15:00", Status::Proposed)];
        let out = reread(there, vec![entry(9, 1, "2026-03-04T15:00", Status::Active)], now());
        assert_eq!(told(&out.changed), [(1, "at 2026-03-04T15:00", Status::Active)]);
        assert_eq!(out.changed[0].source, Source::Asked);
    }

    #[test]
    fn what_the_text_says_no_more_is_called_off_and_what_is_stated_stays() {
        let mut stated = entry(3, 1, "2026-03-06T15:00", Status::Active);
        stated.source = Source::Stated;
        let there = vec![
            entry(1, 1, "2026-03-04T15:00", Status::Active),
            entry(2, 1, "2026-03-05T15:00", Status::Proposed),
            stated,
        ];
        let out = reread(there, vec![entry(9, 1, "2026-03-05T15:00", Status::Proposed)], now());
        assert_eq!(told(&out.changed), [(1, "at 2026-03-04T15:00", Status::Cancelled)]);
        assert_eq!((out.new.len(), out.changed[0].wakes_at), (0, None));
    }

    #[test]
    fn a_no_is_kept() {
        let mut declined = entry(1, 1, "2026-03-04T15:00", Status::Proposed);
        declined.reminder.decline().unwrap();
        let again = vec![entry(9, 2, "2026-03-04T15:00", Status::Proposed)];
        assert_eq!(reread(vec![declined.clone()], again, now()), Reread::default());
        let other = vec![entry(9, 2, "2026-03-05T15:00", Status::Proposed)];
        assert_eq!(reread(vec![declined], other.clone(), now()).new, other);
    }

    #[test]
    fn a_successor_takes_over_what_its_predecessor_had() {
        let there = vec![entry(1, 1, "2026-03-04T15:00", Status::Active)];
        for when in ["2026-03-04T15:00", "2026-03-04T17:00"] {
            let out = reread(there.clone(), vec![entry(9, 2, when, Status::Proposed)], now());
            assert!(out.new.is_empty());
            let taken = &out.changed[0];
            assert_eq!((taken.id.as_u128(), taken.memory), (1, Some(MemoryId::from_u128(2))));
            assert_eq!(taken.reminder.status, Status::Active);
        }
    }

    #[test]
    fn what_is_said_again_is_new_once_the_first_was_told() {
        let mut there = entry(1, 1, "2026-03-04T15:00", Status::Active);
        let later = vec![entry(9, 1, "2026-03-05T15:00", Status::Active)];
        assert_eq!(said_again(vec![there.clone()], later.clone(), now()), []);
        let told_at = "2026-03-04T14:00:00Z".parse().unwrap();
        let policy = crate::domain::reminder::ReminderSettings::default().policy;
        assert_eq!(there.reminder.tick(told_at, &policy).len(), 1);
        assert_eq!(there.reminder.standing(), Standing::Due);
        assert_eq!(said_again(vec![there.clone()], later.clone(), told_at), later);
        there.reminder.acknowledge().unwrap();
        assert_eq!(said_again(vec![there], later.clone(), told_at), later);
    }

    #[test]
    fn each_that_is_to_come_stands_for_one_that_is_said_again() {
        let friday = entry(1, 1, "2026-03-06T15:00", Status::Active);
        let read = [
            entry(8, 1, "2026-03-09T15:00", Status::Active),
            entry(9, 1, "2026-03-06T15:00", Status::Active),
        ];
        assert_eq!(said_again(vec![friday], read.to_vec(), now()), [read[0].clone()]);
    }

    #[test]
    fn a_no_stands_against_a_proposal_and_not_against_what_is_asked_for() {
        let mut declined = entry(1, 1, "2026-03-04T15:00", Status::Proposed);
        declined.reminder.decline().unwrap();
        let proposed = vec![entry(9, 1, "2026-03-05T15:00", Status::Proposed)];
        assert_eq!(said_again(vec![declined.clone()], proposed.clone(), now()), []);
        let asked = vec![entry(9, 1, "2026-03-05T15:00", Status::Active)];
        assert_eq!(said_again(vec![declined], asked.clone(), now()), asked);
        assert_eq!(said_again(Vec::new(), proposed.clone(), now()), proposed);
    }
}
