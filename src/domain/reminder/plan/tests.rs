//! What becomes of effects.

use super::*;
use crate::domain::reminder::entry::tests::{entry, time};
use crate::domain::reminder::{OnMissed, Policy, ReminderSettings, Repeat};
use jiff::SignedDuration;

fn policy() -> Policy {
    let repeat = Some(Repeat { every: SignedDuration::from_mins(30), times: 1 });
    let escalate_after = Some(SignedDuration::from_mins(10));
    Policy { repeat, escalate_after, ..ReminderSettings::default().policy }
}

fn audience<'a>(sinks: &'a [String], hook: Option<&'a str>) -> Audience<'a> {
    Audience { sinks, escalate_to: Some("phone"), hook }
}

fn told(rows: &[Row]) -> Vec<(String, Kind)> {
    rows.iter().map(|row| (row.delivery.sink.clone(), row.kind())).collect()
}

#[test]
fn every_sink_gets_a_row_of_its_own_once_and_the_second_one_what_nobody_acknowledged() {
    let mut entry = entry("team meeting", "every Friday 15:00", "PT1H");
    let sinks = ["team".to_owned(), "mail".to_owned()];
    let due = time("2026-12-04T14:00+01:00");
    let effects = entry.reminder.tick(due, &policy());
    let first = rows(&entry, &effects, &audience(&sinks, Some("hook")), due);
    let expected = ["team", "mail", "hook"].map(|sink| (sink.to_owned(), Kind::First));
    assert_eq!(told(&first), expected);
    assert!(first.iter().all(|row| row.delivery.due_at == due && row.message.is_none()));
    let mut keys: Vec<_> = first.iter().map(|row| row.delivery.key).collect();
    keys.dedup();
    assert_eq!(keys.len(), 3);
    // Whoever looks again comes to the same keys.
    let again = rows(&entry, &effects, &audience(&sinks, Some("hook")), due);
    assert_eq!(first, again);
    let later = time("2026-12-04T14:10+01:00");
    let effects = entry.reminder.tick(later, &policy());
    let second = rows(&entry, &effects, &audience(&sinks, None), later);
    assert_eq!(told(&second), [("phone".to_owned(), Kind::Escalated)]);
}

#[test]
fn skipped_occurrences_are_noted_until_somebody_was_told_unless_a_telling_stands_for_them() {
    let late = time("2026-12-25T18:00+01:00");
    for (on_missed, n_noted) in
        [(OnMissed::Skip, Some(4)), (OnMissed::Coalesce, Some(4)), (OnMissed::Late, Some(3))]
    {
        let mut entry = entry("team meeting", "every Friday 15:00", "PT1H");
        entry.reminder.on_missed = on_missed;
        let effects = entry.reminder.tick(late, &policy());
        let note = note_skipped(&entry, &effects, late);
        assert_eq!(note.as_ref().map(|note| note.n), n_noted, "{on_missed}");
        entry.skipped = note;
        let more = time("2027-01-01T18:00+01:00");
        let effects = entry.reminder.tick(more, &policy());
        let both = note_skipped(&entry, &effects, more).unwrap().n;
        assert_eq!(both, n_noted.unwrap() + u64::from(on_missed != OnMissed::Late), "{on_missed}");
    }
    let mut entry = entry("pills", "every day at 08:00", "PT0S");
    let effects = entry.reminder.tick(time("2026-12-25T09:00+01:00"), &policy());
    assert!(effects.len() > 1);
    assert_eq!(note_skipped(&entry, &effects, late), None, "the telling says how many were missed");
}
