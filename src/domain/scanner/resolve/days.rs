//! The day of a phrase.

use jiff::civil::{Date, Time, Weekday};
use jiff::{Span, ZonedDateTime};

use super::super::slots::Slots;
use crate::domain::grounding::values::{DateParts, Period};
use crate::domain::reminder::Nth;

/// Of a week or a month as a whole: its first day stands for it.
const WHOLE_SURENESS: f64 = 0.4;
/// Where two ways of naming a day disagree.
const MISMATCH_SURENESS: f64 = 0.5;
/// Of a weekday that is today's.
const SAME_WEEKDAY_SURENESS: f64 = 0.85;
/// Of a date without a year that has lately passed: it rather tells what was.
const LATELY_SURENESS: f64 = 0.5;
/// Of such a date that has passed long ago.
const PASSED_SURENESS: f64 = 0.85;
/// Of a day of the month that has passed in this one.
const NEXT_MONTH_SURENESS: f64 = 0.95;
/// Days after which a date has passed long ago; chosen.
const LATELY_DAYS: i32 = 60;
/// Most years until a day comes again: 29 February around a century.
const YEARS_MAX: i16 = 8;

/// A day and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Day {
    pub(super) date: Date,
    pub(super) sureness: f64,
}

const fn sure(date: Date) -> Day {
    Day { date, sureness: 1.0 }
}

/// The day that the slots name; `None` if they name none or no calendar has it.
pub(super) fn day(slots: &Slots, now: &ZonedDateTime, time: Option<Time>) -> Option<Day> {
    let today = now.date();
    let found = if let Some(length) = slots.elapsed {
        sure(length.days_after(today.at(0, 0, 0, 0))?.date())
    } else if let Some((nth, weekday)) = slots.nth {
        nth_day(slots, today, nth, weekday)?
    } else if slots.is_last_day {
        sure(month_of(slots, today)?.last_of_month())
    } else if let Some(day) = slots.month_day {
        month_day(slots, today, day)?
    } else if let Some(parts) = slots.date {
        let parts = match slots.shift {
            Some((_, years, _)) if parts.year.is_none() => {
                let year = today.year().checked_add(i16::try_from(years).ok()?)?;
                DateParts { year: Some(year), ..parts }
            }
            _ => parts,
        };
        agreeing(date(parts, today)?, slots)
    } else if let Some((period, by, is_counted)) = slots.shift {
        shifted(slots, today, period, by, is_counted)?
    } else if let Some((weekday, week)) = slots.weekday {
        weekday_of(now, weekday, week, time)?
    } else if let Some(week) = slots.weekend {
        weekend(today, week)?
    } else {
        return None;
    };
    let date = match slots.plus {
        Some(length) => length.days_after(found.date.at(0, 0, 0, 0))?.date(),
        None => found.date,
    };
    Some(Day { date, ..found })
}

/// A day that a weekday was said with.
fn agreeing(day: Day, slots: &Slots) -> Day {
    match slots.weekday {
        Some((weekday, _)) if weekday != day.date.weekday() => {
            Day { sureness: day.sureness * MISMATCH_SURENESS, ..day }
        }
        // The weekday confirms the year that was left out.
        Some(_) => sure(day.date),
        None => day,
    }
}

fn shifted(slots: &Slots, today: Date, period: Period, by: i32, is_counted: bool) -> Option<Day> {
    match (period, slots.weekday) {
        (Period::Day, _) => {
            Some(agreeing(sure(ahead(today, Span::new().try_days(by).ok()?)?), slots))
        }
        (Period::Week, Some((weekday, _))) if !is_counted => {
            Some(sure(in_week(today, weekday, by)?))
        }
        (Period::Week, _) if is_counted => {
            Some(sure(ahead(today, Span::new().try_weeks(by).ok()?)?))
        }
        (Period::Month, _) if is_counted => {
            Some(sure(ahead(today, Span::new().try_months(by).ok()?)?))
        }
        (Period::Year, _) if is_counted => {
            Some(sure(ahead(today, Span::new().try_years(by).ok()?)?))
        }
        (Period::Week, _) if by != 0 => {
            let date = in_week(today, Weekday::Monday, by)?;
            Some(Day { date, sureness: WHOLE_SURENESS })
        }
        (Period::Month, _) if by != 0 => {
            let date = ahead(today.first_of_month(), Span::new().try_months(by).ok()?)?;
            Some(Day { date, sureness: WHOLE_SURENESS })
        }
        // "this week" is no day.
        (Period::Week | Period::Month | Period::Year, _) => None,
    }
}

/// A weekday, ahead unless its week is said.
fn weekday_of(
    now: &ZonedDateTime,
    weekday: Weekday,
    week: Option<i8>,
    time: Option<Time>,
) -> Option<Day> {
    let today = now.date();
    if let Some(week) = week {
        return in_week(today, weekday, i32::from(week)).map(sure);
    }
    let n_days = i64::from(today.weekday().until(weekday));
    if n_days > 0 {
        return ahead(today, Span::new().try_days(n_days).ok()?).map(sure);
    }
    let is_ahead = time.is_some_and(|time| today.to_datetime(time) > now.datetime());
    let date = if is_ahead { today } else { ahead(today, Span::new().weeks(1))? };
    Some(Day { date, sureness: SAME_WEEKDAY_SURENESS })
}

/// The Saturday of a week; on a Sunday "the weekend" is the next one.
fn weekend(today: Date, week: i8) -> Option<Day> {
    let saturday = in_week(today, Weekday::Saturday, i32::from(week))?;
    let is_over = week == 0 && today.weekday() == Weekday::Sunday;
    if is_over { ahead(saturday, Span::new().weeks(1)).map(sure) } else { Some(sure(saturday)) }
}

/// A weekday of the week that lies `week` weeks ahead of today's; weeks begin on Monday.
fn in_week(today: Date, day: Weekday, week: i32) -> Option<Date> {
    let n_days = i64::from(day.to_monday_zero_offset())
        - i64::from(today.weekday().to_monday_zero_offset())
        + 7 * i64::from(week);
    ahead(today, Span::new().try_days(n_days).ok()?)
}

/// A date; without a year the next one.
fn date(parts: DateParts, today: Date) -> Option<Day> {
    let (month, day) = (parts.month?, parts.day?);
    if let Some(year) = parts.year {
        return Date::new(year, month, day).ok().map(sure);
    }
    let next = (0..=YEARS_MAX)
        .filter_map(|years| Date::new(today.year().checked_add(years)?, month, day).ok())
        .find(|date| *date >= today)?;
    let passed = Date::new(today.year(), month, day).ok().filter(|date| *date < today);
    let n_days = passed.and_then(|date| date.until(today).ok()).map(|span| span.get_days());
    let sureness = match n_days {
        None => 1.0,
        Some(n_days) if n_days <= LATELY_DAYS => LATELY_SURENESS,
        Some(_) => PASSED_SURENESS,
    };
    Some(Day { date: next, sureness })
}

/// The first day of the month that the slots name, else of this one.
fn month_of(slots: &Slots, today: Date) -> Option<Date> {
    if let Some((Period::Month, by, _)) = slots.shift {
        return ahead(today.first_of_month(), Span::new().try_months(by).ok()?);
    }
    let Some(DateParts { year, month: Some(month), .. }) = slots.date else {
        return Some(today.first_of_month());
    };
    let year = match year {
        Some(year) => year,
        None if month >= today.month() => today.year(),
        None => today.year().checked_add(1)?,
    };
    Date::new(year, month, 1).ok()
}

const fn names_month(slots: &Slots) -> bool {
    matches!(slots.shift, Some((Period::Month, ..))) || slots.date.is_some()
}

/// A day of the month that is said, else of the next month that still has it ahead.
fn month_day(slots: &Slots, today: Date, day: i8) -> Option<Day> {
    if names_month(slots) {
        let first = month_of(slots, today)?;
        return Date::new(first.year(), first.month(), day).ok().map(sure);
    }
    let date = months_from(today).find_map(|first| {
        Date::new(first.year(), first.month(), day).ok().filter(|date| *date >= today)
    })?;
    let is_this_month = date.month() == today.month();
    Some(Day { date, sureness: if is_this_month { 1.0 } else { NEXT_MONTH_SURENESS } })
}

/// The n-th weekday of the month that is said, else of the next month that still has it ahead.
fn nth_day(slots: &Slots, today: Date, nth: Nth, weekday: Weekday) -> Option<Day> {
    let of = |first: Date| {
        let nth = match nth {
            Nth::From(n) => n,
            Nth::Last => -1,
        };
        first.nth_weekday_of_month(nth, weekday).ok()
    };
    if names_month(slots) {
        return of(month_of(slots, today)?).map(sure);
    }
    months_from(today).filter_map(of).find(|date| *date >= today).map(sure)
}

/// The first days of this month and of the year's worth after it.
fn months_from(today: Date) -> impl Iterator<Item = Date> {
    (0..=12).filter_map(move |n| ahead(today.first_of_month(), Span::new().months(n)))
}

fn ahead(date: Date, span: Span) -> Option<Date> {
    date.checked_add(span).ok()
}
