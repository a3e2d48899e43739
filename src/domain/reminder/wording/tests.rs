//! The words of messages.

use super::*;
use crate::domain::reminder::entry::tests::{entry, time};
use crate::domain::reminder::{ReminderSettings, Skipped, SkippedNote};

fn frame<'a>(now: Timestamp) -> Frame<'a> {
    Frame {
        key: DeliveryKey::from_bytes([7; 16]),
        skipped: &[],
        proposals: &[],
        late_after: SignedDuration::from_mins(2),
        text_max: 2_000,
        unit: TextUnit::Chars,
        now,
    }
}

/// What a reminder has to tell at a moment, carried on to it.
fn telling(entry: &mut Entry, now: Timestamp) -> Telling {
    let effects = entry.reminder.tick(now, &ReminderSettings::default().policy);
    let told = effects.into_iter().find_map(|effect| match effect {
        super::super::Effect::Tell(telling) => Some(telling),
        super::super::Effect::Skip { .. } => None,
    });
    told.unwrap()
}

#[track_caller]
fn alone_at(entry: &mut Entry, now: &str) -> Message {
    let now = time(now);
    let telling = telling(entry, now);
    message(&[Part { entry, telling: &telling, may_repeat: false }], &frame(now))
}

#[test]
fn a_message_says_what_when_and_how_to_answer() {
    let mut entry = entry("team meeting", "every Friday 15:00", "PT1H");
    let message = alone_at(&mut entry, "2026-12-04T14:00+01:00");
    assert_eq!(message.title, "team meeting");
    assert_eq!(
        message.text,
        "Fri 4 Dec 2026 15:00 +01:00 Europe/Berlin, in 1 h\n\
         every Friday at 15:00 Europe/Berlin"
    );
    let handle = entry.id.handle();
    assert_eq!(message.footer, format!("Acknowledge: recalld remind ack {handle}"));
    assert_eq!(message.reminders, [handle]);
    assert_eq!(message.due_at, time("2026-12-04T14:00+01:00"));
}

#[test]
fn what_is_late_says_when_it_was_due_and_how_many_were_missed() {
    let mut once = entry("tea\nin the kitchen", "2026-12-04T09:00", "PT0S");
    let message = alone_at(&mut once, "2026-12-04T11:42+01:00");
    assert_eq!(message.title, "tea");
    assert_eq!(
        message.text,
        "in the kitchen\nFri 4 Dec 2026 09:00 +01:00 Europe/Berlin, 2 h 42 min ago\n\
         was due Fri 4 Dec 2026 09:00 +01:00 Europe/Berlin, told 2 h 42 min late"
    );
    let mut daily = entry("pills", "every day at 08:00", "PT0S");
    let message = alone_at(&mut daily, "2026-12-04T08:00:30+01:00");
    assert!(message.text.contains("08:00 +01:00 Europe/Berlin, now\n"), "{}", message.text);
    assert!(message.text.ends_with("earlier ones were missed"), "{}", message.text);
}

#[test]
fn a_digest_has_a_line_each_in_order_of_time_and_says_what_did_not_fit() {
    let now = time("2026-12-01T09:00+01:00");
    let mut entries: Vec<Entry> = (0..5)
        .map(|n| entry(&format!("matter {n}"), &format!("2026-12-01T{:02}:00", 14 - n), "PT8H"))
        .collect();
    let tellings: Vec<Telling> = entries.iter_mut().map(|entry| telling(entry, now)).collect();
    let parts: Vec<Part<'_>> = entries
        .iter()
        .zip(&tellings)
        .map(|(entry, telling)| Part { entry, telling, may_repeat: false })
        .collect();
    let whole = message(&parts, &frame(now));
    assert_eq!(whole.title, "5 reminders");
    let lines: Vec<&str> = whole.text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[0].starts_with("- matter 4: Tue 1 Dec 2026 10:00 +01:00"), "{}", lines[0]);
    assert!(lines[0].ends_with(&format!("[{}]", entries[4].id.handle())), "{}", lines[0]);
    assert_eq!(whole.reminders.len(), 5);
    let mut skipped = entry("backup", "every day at 08:00", "PT0S");
    let last_due_at = time("2026-11-30T08:00+01:00");
    skipped.skipped = Some(SkippedNote { n: 2, last_due_at, why: Skipped::Missed, at: now });
    let suggested = entry("stand-up", "every Monday at 10", "PT0S");
    let (skipped, proposals) = ([skipped], [suggested]);
    let frame = Frame { text_max: 700, skipped: &skipped, proposals: &proposals, ..frame(now) };
    let short = message(&parts, &frame);
    let length = short.title.len() + short.text.len() + short.footer.len() + 2;
    assert!(length <= 700, "{length}");
    for part in ["+ ", " more\n", "2 were not told (missed)", "- Suggested: stand-up: every Monday"]
    {
        assert!(short.text.contains(part), "{part}: {}", short.text);
    }
}

#[test]
fn a_length_of_time_is_told_in_its_two_largest_units() {
    for (seconds, expected) in [
        (0, "0 s"),
        (40, "40 s"),
        (90, "1 min"),
        (3_600, "1 h"),
        (9_720, "2 h 42 min"),
        (86_400 * 3 + 3_600 * 4 + 59, "3 d 4 h"),
        (86_400 * 30 + 60, "30 d"),
    ] {
        assert_eq!(span(SignedDuration::from_secs(seconds)), expected);
        assert_eq!(span(SignedDuration::from_secs(-seconds)), expected);
    }
}
