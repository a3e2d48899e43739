//! The rule of a phrase that recurs.

use std::collections::BTreeSet;

use jiff::Span;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use super::super::length::Unit;
use super::super::slots::Slots;
use super::super::{Precision, When};
use super::{Meaning, Said, days, hours};
use crate::domain::reminder::{End, LeapDay, Nth, Pattern, Rule, RuleParts, Short, Weekdays};

/// Of what names no day: once a week from now on.
const NO_DAY_SURENESS: f64 = 0.5;

/// The rule of a phrase; `None` if it comes more often than daily, or never.
pub(super) fn meaning(slots: &Slots, said: Said<'_>, zone: TimeZone) -> Option<Meaning> {
    let (time, precision, hour_sureness) = match hours::hour(slots) {
        hours::Hour::None => (said.all_day_at, Precision::Day, 1.0),
        hours::Hour::Part(time) => (time, Precision::Part, 1.0),
        hours::Hour::Exact { time, .. } => (time, Precision::Minute, 1.0),
        hours::Hour::Vague { time, sureness, .. } => (time, Precision::Minute, sureness),
    };
    let from = in_quarter(slots, start(slots, said, time)?)?;
    let (pattern, every, day_sureness) = pattern(slots, from)?;
    let start = if every > 1 { first(slots, pattern, from, time, &zone)? } else { from };
    let end = end(slots, said, start)?;
    let start = start.to_datetime(time);
    let parts = RuleParts { start, zone, pattern, every, end, except: BTreeSet::new() };
    let rule = Rule::new(parts).ok()?;
    let sureness = slots.doubt * hour_sureness * day_sureness;
    let (is_next, is_guess) = (false, hours::hour(slots).is_guess());
    Some(Meaning { when: When::Every(Box::new(rule)), precision, sureness, is_next, is_guess })
}

/// The first day that may have an occurrence: what is said, else today or, if its time has passed,
/// tomorrow.
fn start(slots: &Slots, said: Said<'_>, time: Time) -> Option<Date> {
    if let Some(start) = &slots.start {
        return Some(days::day(start, said.now, None)?.date);
    }
    let today = said.now.date();
    let is_past = today.to_datetime(time) <= said.now.datetime();
    if is_past { today.tomorrow().ok() } else { Some(today) }
}

/// The first month that counts of what comes every quarter: what is the last of it is in its last month,
/// anything else that is named in its first.
fn in_quarter(slots: &Slots, from: Date) -> Option<Date> {
    if !is_of_quarter(slots) {
        return Some(from);
    }
    let is_last = slots.is_last_day || matches!(slots.nth, Some((Nth::Last, _)));
    let n_months = (i32::from(!is_last) - i32::from(from.month())).rem_euclid(3);
    if n_months == 0 {
        return Some(from);
    }
    from.first_of_month().checked_add(Span::new().try_months(n_months).ok()?).ok()
}

/// Whether a day of every quarter is named.
fn is_of_quarter(slots: &Slots) -> bool {
    let is_named = slots.is_last_day || slots.nth.is_some() || slots.month_day.is_some();
    is_named && matches!(slots.cycle, Some((_, Unit::Quarter)))
}

/// The pattern, every how many of its unit, and how sure the day is.
fn pattern(slots: &Slots, from: Date) -> Option<(Pattern, u32, f64)> {
    let (n, unit) = slots.cycle.unwrap_or((1, Unit::Week));
    let is_daily_of_week = unit == Unit::Day && !slots.days.is_empty();
    let (pattern, every, sureness) = match unit {
        Unit::Second | Unit::Minute | Unit::Hour => return None,
        Unit::Day if !is_daily_of_week && slots.except.is_empty() => (Pattern::Daily, n, 1.0),
        Unit::Day | Unit::Week => {
            let n = if unit == Unit::Day { 1 } else { n };
            match slots.weekday {
                _ if !slots.days.is_empty() || !slots.except.is_empty() => {
                    (Pattern::Weekly(slots.weekdays().without(slots.except)), n, 1.0)
                }
                Some((weekday, _)) => (Pattern::Weekly(Weekdays::one(weekday)), n, 1.0),
                None => {
                    let days = Weekdays::one(from.weekday());
                    (Pattern::Weekly(days), n, NO_DAY_SURENESS)
                }
            }
        }
        Unit::Month | Unit::Quarter => {
            let n = if unit == Unit::Quarter { n.checked_mul(3)? } else { n };
            let (pattern, sureness) = monthly(slots, from);
            (pattern, n, sureness)
        }
        Unit::Year => {
            let (month, day, sureness) = match slots.date {
                Some(parts) => (parts.month?, parts.day?, 1.0),
                None => (from.month(), from.day(), NO_DAY_SURENESS),
            };
            (Pattern::Yearly { month, day, leap: LeapDay::Feb28 }, n, sureness)
        }
    };
    Some((pattern, every, sureness))
}

fn monthly(slots: &Slots, from: Date) -> (Pattern, f64) {
    match (slots.nth, slots.month_day) {
        (Some((nth, weekday)), _) => (Pattern::MonthlyNth { nth, weekday }, 1.0),
        (None, _) if slots.is_last_day => (Pattern::LastDay, 1.0),
        (None, Some(day)) => (Pattern::MonthlyDay { day, short: Short::Clamp }, 1.0),
        (None, None) => {
            let pattern = Pattern::MonthlyDay { day: from.day(), short: Short::Clamp };
            (pattern, NO_DAY_SURENESS)
        }
    }
}

/// The first day of the pattern: "every two weeks" counts from there. The months of quarters are fixed.
fn first(slots: &Slots, pattern: Pattern, from: Date, time: Time, zone: &TimeZone) -> Option<Date> {
    let every = if is_of_quarter(slots) { 3 } else { 1 };
    let (start, zone, end) = (from.to_datetime(time), zone.clone(), End::Never);
    let parts = RuleParts { start, zone, pattern, every, end, except: BTreeSet::new() };
    Some(Rule::new(parts).ok()?.first()?.civil.date())
}

fn end(slots: &Slots, said: Said<'_>, start: Date) -> Option<End> {
    if let Some(until) = &slots.until {
        let last = days::day(until, said.now, None)?.date;
        return Some(End::Until(last));
    }
    match slots.lasting {
        Some(length) => {
            let last = length.days_after(start.at(0, 0, 0, 0))?.date().yesterday().ok()?;
            Some(End::Until(last))
        }
        None => Some(End::Never),
    }
}
