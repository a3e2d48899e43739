//! Reads a rule from lines of iCalendar.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use super::super::{End, Pattern, Rule, RuleError, RuleParts, instant, zone_named};
use super::fields::{Fields, refuse};
use crate::domain::limits::RULE_BYTES_MAX;

/// What the text of a rule may leave to who reads it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given<'a> {
    /// The start, where there is no `DTSTART`.
    pub start: Option<DateTime>,
    /// The zone, where none is named.
    pub zone: Option<&'a TimeZone>,
}

impl Rule {
    /// Reads `DTSTART`, `RRULE` and `EXDATE`, a line each, or what stands behind `RRULE:` alone.
    /// Without an `RRULE` there is one occurrence. A bare date is its midnight.
    ///
    /// # Errors
    /// [`RuleError`]: what is not read, not supported, or never comes due.
    pub fn from_ical(text: &str, given: Given<'_>) -> Result<Self, RuleError> {
        if text.len() > RULE_BYTES_MAX {
            return refuse(format!("a rule has at most {RULE_BYTES_MAX} bytes"));
        }
        let lines = Lines::read(text)?;
        let start = match (&lines.start, given.start) {
            (Some(written), _) => written.clone(),
            (None, Some(civil)) => Written { civil, is_date: false, zone: None },
            (None, None) => {
                return refuse("expected a start: DTSTART;TZID=Europe/Berlin:20261127T150000");
            }
        };
        let Some(zone) = start.zone.clone().or_else(|| given.zone.cloned()) else {
            return refuse("expected a zone: DTSTART;TZID=Europe/Berlin:...");
        };
        let mut parts = RuleParts {
            start: start.civil,
            zone,
            pattern: Pattern::Once,
            every: 1,
            end: End::Never,
            except: BTreeSet::new(),
        };
        if let Some(rule) = lines.rule {
            recur(&mut parts, Fields::read(rule)?)?;
        }
        parts.except = lines.except.iter().map(|written| written.date_in(&parts.zone)).collect();
        Self::new(parts)
    }
}

/// Fills in what an `RRULE` says.
fn recur(parts: &mut RuleParts, mut fields: Fields) -> Result<(), RuleError> {
    parts.every = fields.number("INTERVAL")?.unwrap_or(1);
    if parts.every == 0 {
        return Err(RuleError::Every(0));
    }
    let (start, every) = (parts.start, parts.every);
    fields.set_pattern(parts)?;
    let time = time_of_day(start, &mut fields)?;
    let mut date = parts.start.date();
    // No occurrence is before the start.
    if time < start.time() && date == start.date() {
        if every > 1 {
            return refuse("the time of BYHOUR is before that of DTSTART: set DTSTART to it");
        }
        date = date.tomorrow().unwrap_or(date);
    }
    parts.start = date.to_datetime(time);
    let count = fields.number("COUNT")?;
    parts.end = match (count, fields.take("UNTIL")) {
        (Some(_), Some(_)) => return refuse("COUNT and UNTIL exclude each other"),
        (Some(count), None) => End::Count(count),
        (None, Some(until)) => End::Until(last_day(&until, parts)?),
        (None, None) => End::Never,
    };
    fields.finish()
}

/// The time of the start, or what `BYHOUR`, `BYMINUTE` and `BYSECOND` make of it.
fn time_of_day(start: DateTime, fields: &mut Fields) -> Result<Time, RuleError> {
    let mut part = |name: &str, otherwise: i8| match fields.number(name)? {
        None => Ok(otherwise),
        Some(number) => {
            i8::try_from(number).map_err(|_| RuleError::Text(format!("{name}={number}")))
        }
    };
    let (hour, minute) = (part("BYHOUR", start.hour())?, part("BYMINUTE", start.minute())?);
    let second = part("BYSECOND", start.second())?;
    Time::new(hour, minute, second, 0)
        .map_err(|_| RuleError::Text(format!("there is no time {hour}:{minute}:{second}")))
}

/// The last day that `UNTIL` leaves: a date, or an instant at or after the occurrence of that day.
fn last_day(until: &str, parts: &RuleParts) -> Result<Date, RuleError> {
    let until = Written::read(until, None)?;
    let day = until.date_in(&parts.zone);
    if until.is_date {
        return Ok(day);
    }
    let end = until.at_in(&parts.zone);
    let is_left = |day: &Date| instant(day.to_datetime(parts.start.time()), &parts.zone) <= end;
    let days = [day.tomorrow().ok(), Some(day), day.yesterday().ok()];
    Ok(days.into_iter().flatten().find(is_left).unwrap_or(day))
}

/// The lines that a rule has.
#[derive(Default)]
struct Lines<'a> {
    start: Option<Written>,
    rule: Option<&'a str>,
    except: Vec<Written>,
}

impl<'a> Lines<'a> {
    fn read(text: &'a str) -> Result<Self, RuleError> {
        let mut lines = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (head, value) = match line.split_once(':') {
                Some(parts) => parts,
                None if is_named(line, "FREQ=") => ("RRULE", line),
                None => {
                    return refuse(format!(
                        "expected DTSTART, RRULE or EXDATE, got `{}`",
                        cut(line)
                    ));
                }
            };
            let (name, parameters) = head.split_once(';').unwrap_or((head, ""));
            let is_repeated = match name.to_ascii_uppercase().as_str() {
                "DTSTART" => {
                    lines.start.replace(Written::read(value, zone_of(parameters)?)?).is_some()
                }
                "RRULE" => lines.rule.replace(value).is_some(),
                "EXDATE" => {
                    let zone = zone_of(parameters)?;
                    for date in value.split(',') {
                        lines.except.push(Written::read(date, zone.clone())?);
                    }
                    false
                }
                "RDATE" | "EXRULE" => {
                    return refuse(format!("{name} is not supported: one rule has one pattern"));
                }
                _ => {
                    return refuse(format!(
                        "expected DTSTART, RRULE or EXDATE, got `{}`",
                        cut(line)
                    ));
                }
            };
            if is_repeated {
                return refuse(format!("{name} is there twice: a rule has one"));
            }
        }
        Ok(lines)
    }
}

fn is_named(line: &str, name: &str) -> bool {
    line.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name))
}

fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The zone of `TZID`, if that is among the parameters of a line.
fn zone_of(parameters: &str) -> Result<Option<TimeZone>, RuleError> {
    let mut zone = None;
    for parameter in parameters.split(';').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=') {
            Some((name, value)) if name.eq_ignore_ascii_case("TZID") => {
                zone = Some(zone_named(value.trim_matches('"').trim_start_matches('/'))?);
            }
            Some((name, _)) if name.eq_ignore_ascii_case("VALUE") => {}
            _ => return refuse(format!("`{}` is not supported", cut(parameter))),
        }
    }
    Ok(zone)
}

/// A time as it is written.
#[derive(Clone)]
struct Written {
    civil: DateTime,
    is_date: bool,
    /// The zone that it names, UTC for `Z`.
    zone: Option<TimeZone>,
}

impl Written {
    /// Reads `20261127T150000`, with `Z` in UTC, or `20261127`.
    fn read(text: &str, zone: Option<TimeZone>) -> Result<Self, RuleError> {
        let text = text.trim();
        let local = text.strip_suffix(['Z', 'z']);
        let digits = local.unwrap_or(text);
        let date = || Date::strptime("%Y%m%d", digits).map(|date| (date.into(), true));
        let time = || DateTime::strptime("%Y%m%dT%H%M%S", digits).map(|time| (time, false));
        let read = if digits.len() == 8 { date() } else { time() };
        let (civil, is_date) = read.map_err(|_| {
            RuleError::Text(format!("expected a time like 20261127T150000, got `{}`", cut(text)))
        })?;
        match (local, zone) {
            (Some(_), Some(_)) => refuse(format!("`{}` is in UTC and has a TZID", cut(text))),
            (Some(_), None) => Ok(Self { civil, is_date, zone: Some(TimeZone::UTC) }),
            (None, zone) => Ok(Self { civil, is_date, zone }),
        }
    }

    /// Its instant, read in `zone` if it names none.
    fn at_in(&self, zone: &TimeZone) -> Option<Timestamp> {
        instant(self.civil, self.zone.as_ref().unwrap_or(zone))
    }

    /// Its day in `zone`.
    fn date_in(&self, zone: &TimeZone) -> Date {
        match (&self.zone, self.at_in(zone)) {
            (Some(_), Some(at)) if !self.is_date => zone.to_datetime(at).date(),
            _ => self.civil.date(),
        }
    }
}
