//! What is stored is read back.

use jiff::SignedDuration;

use super::*;
use crate::domain::reminder::{DeliveryKey, Kind, Lead, Pattern, Policy, zone_named};

/// A reminder with something in every field.
fn reminder() -> Reminder {
    let zone = zone_named("Europe/Berlin").unwrap();
    let rule = Rule::every("2026-11-26T09:00".parse().unwrap(), zone, Pattern::Daily).unwrap();
    let mut now: Timestamp = "2026-11-25T12:00:00.000001Z".parse().unwrap();
    let mut reminder = Reminder::new(rule, Lead::minutes(90), Status::Active, now).unwrap();
    let day = SignedDuration::from_hours(24);
    let policy =
        Policy { late_after: day, grace: day, open_for: day, repeat: None, escalate_after: None };
    for _ in 0..2 {
        now += day;
        assert_eq!(reminder.tick(now, &policy).len(), 1);
        if reminder.snoozed.is_empty() {
            reminder.snooze(now + 3 * day, now).unwrap();
        }
    }
    reminder.generation = 2;
    reminder
}

fn delivery() -> Delivery {
    let now: Timestamp = "2026-11-25T12:00:00.000001Z".parse().unwrap();
    let civil = "2026-11-26T09:00".parse().unwrap();
    let key = DeliveryKey::new(b"id", 2, civil, Kind::First, "desk");
    let mut delivery = Delivery::new(key, "desk".to_owned(), now, now, now, now);
    delivery.lease = Some(Lease { owner: u128::MAX, until: now });
    delivery.called_at = Some(now);
    delivery.why = Some("busy".to_owned());
    delivery.sent_at = Some(now);
    delivery.remote_id = Some("42".to_owned());
    delivery.may_repeat = true;
    delivery
}

#[test]
fn everything_is_read_back_from_json() {
    let reminder = reminder();
    assert!(reminder.open.is_some() && !reminder.snoozed.is_empty());
    let text = serde_json::to_string(&ReminderForm::from(&reminder)).unwrap();
    let form: ReminderForm = serde_json::from_str(&text).unwrap();
    assert_eq!(Reminder::try_from(form), Ok(reminder));
    let text = serde_json::to_string(&DeliveryForm::from(&delivery())).unwrap();
    let form: DeliveryForm = serde_json::from_str(&text).unwrap();
    assert_eq!(Delivery::try_from(form), Ok(delivery()));
    let now = Some(delivery().due_at);
    let sink = SinkState {
        n_failures: 3,
        paused_until: now,
        disabled: Some("gone".to_owned()),
        disabled_at: now,
        full_at: now,
    };
    let text = serde_json::to_string(&SinkForm::from(&sink)).unwrap();
    assert_eq!(SinkState::try_from(serde_json::from_str::<SinkForm>(&text).unwrap()), Ok(sink));
    assert_eq!(SinkState::try_from(SinkForm::default()), Ok(SinkState::default()));
}

#[test]
fn the_form_of_a_reminder_is_kept() {
    // What one release stored, the next reads: this text changes only by fields that are added.
    let stored = r#"{"rule":"DTSTART;TZID=Asia/Shanghai:20261127T150000\nRRULE:FREQ=WEEKLY;BYDAY=FR",
        "lead":"PT1H","priority":"urgent","on_missed":"coalesce","is_timed":false,"status":"paused",
        "counts_from":1795000000000000,"done_through":"2026-12-04T15:00:00"}"#;
    let form: ReminderForm = serde_json::from_str(stored).unwrap();
    let reminder = Reminder::try_from(form).unwrap();
    assert_eq!(reminder.rule.describe(), "every Friday at 15:00 Asia/Shanghai");
    assert_eq!(reminder.priority, Priority::Urgent);
    let (_, next) = reminder.upcoming(1)[0];
    assert_eq!(next.civil.to_string(), "2026-12-11T15:00:00");
}

#[test]
fn what_means_nothing_is_named() {
    let bad = |change: fn(&mut ReminderForm)| {
        let mut form = ReminderForm::from(&reminder());
        change(&mut form);
        Reminder::try_from(form).unwrap_err().to_string()
    };
    assert_eq!(bad(|form| form.status = "asleep".to_owned()), "status `asleep` is not one");
    assert_eq!(bad(|form| form.rule = "never".to_owned()), "rule `never` is not one");
    assert_eq!(bad(|form| form.lead = "soon".to_owned()), "lead `soon` is not one");
    let end = i64::MAX;
    assert_eq!(bad(|form| form.counts_from = i64::MAX), format!("time `{end}` is not one"));
    let done = bad(|form| form.done_through = Some("noon".to_owned()));
    assert_eq!(done, "occurrence `noon` is not one");
    let mut form = DeliveryForm::from(&delivery());
    form.key = "abc".to_owned();
    assert_eq!(Delivery::try_from(form).unwrap_err().field, "key");
}
