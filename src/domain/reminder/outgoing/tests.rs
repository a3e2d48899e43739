//! What goes next.

use super::*;
use crate::domain::reminder::entry::tests::{entry, time};
use crate::domain::reminder::{Audience, Lease, ReminderSettings, rows};

const NAG: NagBudget = NagBudget { per_day: 2, apart: SignedDuration::from_mins(2) };

fn terms<'a>() -> Terms<'a> {
    Terms { quiet: None, nag: NAG, nagged: &[], avoids_half_hours: false }
}

/// Rows of reminders that were due at these times of a day.
fn due(times: &[&str]) -> Vec<Row> {
    let sinks = ["team".to_owned()];
    times
        .iter()
        .flat_map(|at| {
            let mut entry = entry("tea", &format!("2026-12-01T{at}"), "PT0S");
            let now = time(&format!("2026-12-01T{at}+01:00"));
            let effects = entry.reminder.tick(now, &ReminderSettings::default().policy);
            let audience = Audience { sinks: &sinks, escalate_to: None, hook: None };
            rows(&entry, &effects, &audience, now)
        })
        .collect()
}

fn waiting(rows: &[Row]) -> Vec<Waiting<'_>> {
    let waiting = |row| Waiting { row, priority: Priority::Normal, is_timed: false };
    rows.iter().map(waiting).collect()
}

#[test]
fn three_that_are_ready_go_together_however_long_ago_each_was_due() {
    let rows = due(&["08:00", "09:00", "10:00"]);
    let now = time("2026-12-01T10:00+01:00");
    let all = waiting(&rows);
    assert_eq!(next_message(&all, &terms(), now), Outgoing::Message(vec![0, 1, 2]));
    assert_eq!(next_message(&all[1..], &terms(), now), Outgoing::Message(vec![0]));
    // What is urgent goes first, alone.
    let mut urgent = all.clone();
    urgent[2].priority = Priority::Urgent;
    assert_eq!(next_message(&urgent, &terms(), now), Outgoing::Message(vec![2]));
    assert_eq!(next_message(&[], &terms(), now), Outgoing::Nothing);
}

#[test]
fn a_message_that_is_sent_again_has_the_parts_that_it_had() {
    let mut rows = due(&["08:00", "09:00", "10:00", "11:00"]);
    let key = rows[0].delivery.key;
    for place in [0, 2] {
        rows[place].message = Some(key);
    }
    let now = time("2026-12-01T11:00+01:00");
    assert_eq!(next_message(&waiting(&rows), &terms(), now), Outgoing::Message(vec![0, 2]));
    // It waits for the last of them, and others do not wait for it.
    let later = time("2026-12-01T11:05+01:00");
    rows[2].delivery.not_before = later;
    let all = waiting(&rows);
    assert_eq!(next_message(&all, &terms(), now), Outgoing::Message(vec![1]));
    assert_eq!(next_message(&[all[0], all[2]], &terms(), now), Outgoing::Wait(later));
    assert_eq!(next_message(&[all[0], all[2]], &terms(), later), Outgoing::Message(vec![0, 1]));
}

#[test]
fn quiet_hours_hold_back_what_nobody_meant_for_them() {
    let rows = due(&["22:30", "23:00", "23:30"]);
    let (quiet, zone) = ("22:00-07:00".parse().unwrap(), TimeZone::get("Europe/Berlin").unwrap());
    let quiet = Terms { quiet: Some((&quiet, &zone)), ..terms() };
    let now = time("2026-12-01T23:30+01:00");
    let end = time("2026-12-02T07:00+01:00");
    let mut all = waiting(&rows);
    assert_eq!(next_message(&all, &quiet, now), Outgoing::Wait(end));
    assert_eq!(next_message(&all, &quiet, end), Outgoing::Message(vec![0, 1, 2]));
    all[1].is_timed = true;
    assert_eq!(next_message(&all, &quiet, now), Outgoing::Message(vec![1]));
}

#[test]
fn what_is_told_unasked_has_a_budget_and_rides_in_a_digest_beyond_it() {
    let mut rows = due(&["08:00", "09:00", "10:00", "11:00", "12:00"]);
    for place in [0, 1] {
        rows[place].telling.kind = Kind::Repeated(1);
    }
    let now = time("2026-12-01T12:00+01:00");
    let all = waiting(&rows);
    // One of the two may go, and makes three with the others.
    assert_eq!(next_message(&all, &terms(), now), Outgoing::Message(vec![0, 2, 3, 4, 1]));
    assert_eq!(next_message(&all[..2], &terms(), now), Outgoing::Message(vec![0]));
    let told = [now.checked_sub(SignedDuration::from_secs(30)).unwrap()];
    let spent = Terms { nagged: &told, ..terms() };
    let allowed = time("2026-12-01T12:01:30+01:00");
    assert_eq!(next_message(&all[..2], &spent, now), Outgoing::Wait(allowed));
    assert_eq!(next_message(&all, &spent, now), Outgoing::Message(vec![2, 3, 4, 0, 1]));
    let told = ["2026-12-01T08:00+01:00", "2026-12-01T09:00+01:00"].map(time);
    let spent = Terms { nagged: &told, ..terms() };
    // Of those of a day the first has to be a day old, but by then it has expired.
    assert_eq!(
        next_message(&all[..1], &spent, now),
        Outgoing::Wait(rows[0].delivery.expires_at.min(time("2026-12-02T08:00+01:00")))
    );
}

#[test]
fn full_and_half_hours_are_avoided_by_a_few_seconds_always_the_same() {
    let rows = due(&["09:00", "09:30", "10:17"]);
    let asked = Terms { avoids_half_hours: true, ..terms() };
    for (place, at) in [(0, "09:00"), (1, "09:30")] {
        let now = time(&format!("2026-12-01T{at}+01:00"));
        let all = waiting(&rows[place..=place]);
        let Outgoing::Wait(aside) = next_message(&all, &asked, now) else { panic!("{at}") };
        let seconds = aside.duration_since(now).as_secs();
        assert!((5..=50).contains(&seconds), "{seconds}");
        assert_eq!(next_message(&all, &asked, aside), Outgoing::Message(vec![0]));
        let mut urgent = all.clone();
        urgent[0].priority = Priority::Urgent;
        assert_eq!(next_message(&urgent, &asked, now), Outgoing::Message(vec![0]));
    }
    let now = time("2026-12-01T10:17+01:00");
    assert_eq!(next_message(&waiting(&rows[2..]), &asked, now), Outgoing::Message(vec![0]));
}

#[test]
fn what_waits_for_its_time_or_is_being_sent_is_left() {
    let mut rows = due(&["09:00", "10:00"]);
    let now = time("2026-12-01T10:00+01:00");
    let until = time("2026-12-01T10:01+01:00");
    rows[0].delivery.claim(Lease { owner: 1, until }, now).unwrap();
    rows[1].delivery.not_before = time("2026-12-01T10:05+01:00");
    assert_eq!(next_message(&waiting(&rows), &terms(), now), Outgoing::Wait(until));
}
