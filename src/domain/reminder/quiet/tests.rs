//! Quiet hours around midnight, on single days, and on nights on which clocks change.

use super::*;
use crate::domain::reminder::zone_named;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// When the quiet ends that a moment in a zone lies in.
#[track_caller]
fn check(hours: &str, days: Weekdays, zone: &str, moment: &str, expected: Option<&str>) {
    let hours = hours.parse::<QuietHours>().unwrap().on(days);
    let zone = zone_named(zone).unwrap();
    let found = hours.ends_after(at(moment), &zone).map(|end| end.to_string());
    assert_eq!(found.as_deref(), expected, "{hours} at {moment}");
}

#[test]
fn quiet_hours_may_last_beyond_midnight() {
    let shanghai = |hours, moment, end| check(hours, Weekdays::ALL, "Asia/Shanghai", moment, end);
    let end = Some("2026-11-27T23:00:00Z");
    // 21:59, 22:00, 06:59 and 07:00 in Shanghai.
    shanghai("22:00-07:00", "2026-11-27T13:59:59Z", None);
    shanghai("22:00-07:00", "2026-11-27T14:00:00Z", end);
    shanghai("22:00-07:00", "2026-11-27T22:59:59Z", end);
    shanghai("22:00-07:00", "2026-11-27T23:00:00Z", None);
    let noon = Some("2026-11-27T06:00:00Z");
    shanghai("12:00-14:00", "2026-11-27T03:59:59Z", None);
    shanghai("12:00-14:00", "2026-11-27T04:00:00Z", noon);
    shanghai("12:00-14:00", "2026-11-27T06:00:00Z", None);
    shanghai("20:00-00:00", "2026-11-27T15:30:00Z", Some("2026-11-27T16:00:00Z"));
}

#[test]
fn quiet_hours_belong_to_the_day_on_which_they_begin() {
    let utc = |moment, end| check("22:00-07:00", Weekdays::WORKING, "UTC", moment, end);
    // The 27th is a Friday.
    utc("2026-11-27T23:00:00Z", Some("2026-11-28T07:00:00Z"));
    utc("2026-11-28T06:00:00Z", Some("2026-11-28T07:00:00Z"));
    utc("2026-11-28T23:00:00Z", None);
    utc("2026-11-30T06:00:00Z", None);
    utc("2026-11-30T22:00:00Z", Some("2026-12-01T07:00:00Z"));
}

#[test]
fn quiet_ends_when_the_wall_says_so_on_every_night() {
    let berlin = |hours, moment, end| check(hours, Weekdays::ALL, "Europe/Berlin", moment, end);
    berlin("22:00-07:00", "2027-03-27T22:00:00Z", Some("2027-03-28T05:00:00Z"));
    berlin("22:00-07:00", "2026-10-24T22:00:00Z", Some("2026-10-25T06:00:00Z"));
    // 02:30 is skipped: it is quiet until 03:30.
    berlin("22:00-02:30", "2027-03-28T00:30:00Z", Some("2027-03-28T01:30:00Z"));
    // 02:30 comes twice: between the two it is 02:10 again, and quiet again.
    berlin("22:00-02:30", "2026-10-25T00:10:00Z", Some("2026-10-25T00:30:00Z"));
    berlin("22:00-02:30", "2026-10-25T00:40:00Z", None);
    berlin("22:00-02:30", "2026-10-25T01:10:00Z", Some("2026-10-25T01:30:00Z"));
}

#[test]
fn what_is_urgent_or_meant_for_the_night_is_told_at_night() {
    let hours: QuietHours = "22:00-07:00".parse().unwrap();
    let quiet = Some((&hours, &TimeZone::UTC));
    let (evening, night) = (at("2026-11-27T21:00:00Z"), at("2026-11-28T01:30:00Z"));
    let morning = at("2026-11-28T07:00:00Z");
    for (quiet, priority, is_timed, due_at, expected) in [
        (quiet, Priority::Normal, true, night, night),
        (quiet, Priority::Normal, false, night, morning),
        // Due in the evening, and late.
        (quiet, Priority::Normal, true, evening, morning),
        (quiet, Priority::Urgent, false, evening, night),
        (None, Priority::Normal, false, evening, night),
    ] {
        assert_eq!(told_from(quiet, priority, is_timed, due_at, night), expected);
    }
    let noon = at("2026-11-28T12:00:00Z");
    assert_eq!(told_from(quiet, Priority::Normal, false, noon, noon), noon);
}

#[test]
fn quiet_hours_are_read_or_refused() {
    for (text, shown) in [("22:00-07:00", "22:00-07:00"), (" 9:05 - 12:00 ", "09:05-12:00")] {
        assert_eq!(text.parse::<QuietHours>().unwrap().to_string(), shown);
    }
    for text in [
        "",
        "25:99",
        "22:00",
        "22:00-24:00",
        "22-07",
        "22:60-07:00",
        "night",
        "22:00-07:00-09:00",
        "22:00-22:00",
        "00:00-00:00",
    ] {
        let error = text.parse::<QuietHours>().unwrap_err().to_string();
        assert!(error.contains("expected quiet hours like 22:00-07:00"), "{text}: {error}");
        assert!(error.contains("of two different times"), "{text}: {error}");
    }
}
