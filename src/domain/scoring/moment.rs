//! When a statement happened or is due, by what it says and when it was said.

use jiff::Span;
use jiff::civil::{Date, DateTime, Time, Weekday};

use crate::domain::grounding::values::{ClockTime, DateParts, Reading, Value, resolve};
use crate::domain::memory::Kind;

/// The moment that a statement names: its first day and its first time of day. A day without a time is the
/// start of it, a time without a day is on the day of saying it. "3 o'clock" is taken as the one between
/// seven in the morning and seven in the evening.
pub(super) fn named(reading: &Reading, kind: Kind, now: DateTime) -> Option<DateTime> {
    let values = || reading.values.iter().map(|found| &found.value);
    let day = values().find_map(|value| day(value, kind, now.date()));
    let time =
        values().find_map(|value| if let Value::Time(time) = value { of_day(*time) } else { None });
    match (day, time) {
        (Some(day), time) => Some(day.to_datetime(time.unwrap_or(Time::midnight()))),
        (None, Some(time)) => Some(now.date().to_datetime(time)),
        (None, None) => None,
    }
}

/// The day a value means: what is due lies ahead, what happened behind, anything else where it is nearest.
fn day(value: &Value, kind: Kind, today: Date) -> Option<Date> {
    if let Value::Weekday { day, week: Some(week) } = value {
        return in_week(today, *day, *week);
    }
    let days: Vec<Date> = resolve(value, Some(today)).into_iter().filter_map(first_day).collect();
    let ahead = days.iter().copied().filter(|day| *day >= today).min();
    let behind = days.iter().copied().filter(|day| *day <= today).max();
    let nearest = || {
        days.iter()
            .copied()
            .min_by_key(|day| today.until(*day).map_or(i32::MAX, |span| span.get_days().abs()))
    };
    match kind {
        Kind::Task | Kind::Instruction => ahead.or_else(nearest),
        Kind::Event => behind.or_else(nearest),
        Kind::Fact
        | Kind::Preference
        | Kind::Procedure
        | Kind::Reflection
        | Kind::Summary
        | Kind::Profile => nearest(),
    }
}

/// A weekday of the week that lies `week` weeks ahead of today's; weeks begin on Monday.
fn in_week(today: Date, day: Weekday, week: i8) -> Option<Date> {
    let n_days = i64::from(day.to_monday_zero_offset())
        - i64::from(today.weekday().to_monday_zero_offset())
        + 7 * i64::from(week);
    today.checked_add(Span::new().try_days(n_days).ok()?).ok()
}

/// The first day of a date whose month and year are known.
fn first_day(parts: DateParts) -> Option<Date> {
    Date::new(parts.year?, parts.month?, parts.day.unwrap_or(1)).ok()
}

fn of_day(time: ClockTime) -> Option<Time> {
    let hour = if time.is_vague && time.hour < 7 { time.hour + 12 } else { time.hour };
    let part = |number: u8| i8::try_from(number).ok();
    Time::new(part(hour)?, part(time.minute)?, part(time.second.unwrap_or(0))?, 0).ok()
}
