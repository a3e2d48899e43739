//! A rule as text: lines of iCalendar (RFC 5545, RFC 7529), which is how it is stored, exported and
//! imported.
//!
//! What is written is read back as the same rule, and other programs read it as the same dates: what
//! RFC 5545 has no words for (the last day of a shorter month) is written with the parts that mean
//! it there. What is read is the part of the standard that our rules can say. Anything else, and
//! whatever could come due more than once a day, is refused with the reason.

mod fields;
mod reader;

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;

use super::{End, LeapDay, Nth, Pattern, Rule, RuleError, RuleParts, Short, instant};

pub use reader::Given;

impl fmt::Display for Rule {
    /// Lines of iCalendar without a break after the last: `DTSTART;TZID=Europe/Berlin:20261127T150000`,
    /// `RRULE:FREQ=WEEKLY;BYDAY=FR`, `EXDATE;TZID=Europe/Berlin:20261225T150000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleParts { start, zone, pattern, every, end, except } = self.parts();
        let name = zone.iana_name().unwrap_or_default();
        let (parameter, suffix) = match name {
            "UTC" => (String::new(), "Z"),
            _ => (format!(";TZID={name}"), ""),
        };
        write!(f, "DTSTART{parameter}:{}{suffix}", compact(*start))?;
        if let Some((unit, parts)) = recurrence(*pattern) {
            write!(f, "\nRRULE:FREQ={unit}")?;
            if *every > 1 {
                write!(f, ";INTERVAL={every}")?;
            }
            f.write_str(&parts)?;
            match end {
                End::Never => {}
                End::Count(count) => write!(f, ";COUNT={count}")?,
                End::Until(last) => write!(f, ";UNTIL={}", until(*last, *start, zone))?,
            }
        }
        if !except.is_empty() {
            let days: Vec<String> = except
                .iter()
                .map(|date| compact(date.to_datetime(start.time())) + suffix)
                .collect();
            write!(f, "\nEXDATE{parameter}:{}", days.join(","))?;
        }
        Ok(())
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    /// Reads a rule whose text names its start and its zone.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        Self::from_ical(text, Given::default())
    }
}

/// `FREQ` of a pattern and the parts that say which days; `None`: it does not recur.
fn recurrence(pattern: Pattern) -> Option<(&'static str, String)> {
    Some(match pattern {
        Pattern::Once => return None,
        Pattern::Daily => ("DAILY", String::new()),
        Pattern::Weekly(days) => {
            let days: Vec<&str> = days.iter().map(abbreviation).collect();
            ("WEEKLY", format!(";BYDAY={}", days.join(",")))
        }
        Pattern::MonthlyDay { day, short: Short::Clamp } if day > 28 => {
            let days: Vec<String> = (28..=day).map(|day| day.to_string()).collect();
            ("MONTHLY", format!(";BYMONTHDAY={};BYSETPOS=-1", days.join(",")))
        }
        Pattern::MonthlyDay { day, .. } => ("MONTHLY", format!(";BYMONTHDAY={day}")),
        Pattern::MonthlyNth { nth, weekday } => {
            let nth = match nth {
                Nth::From(nth) => nth,
                Nth::Last => -1,
            };
            ("MONTHLY", format!(";BYDAY={nth}{}", abbreviation(weekday)))
        }
        Pattern::LastDay => ("MONTHLY", ";BYMONTHDAY=-1".to_owned()),
        Pattern::Yearly { month: 2, day: 29, leap: LeapDay::Feb28 } => {
            ("YEARLY", ";BYMONTH=2;BYMONTHDAY=28,29;BYSETPOS=-1".to_owned())
        }
        // The 60th day is 29 February in a leap year and 1 March in any other.
        Pattern::Yearly { month: 2, day: 29, leap: LeapDay::Mar1 } => {
            ("YEARLY", ";BYYEARDAY=60".to_owned())
        }
        Pattern::Yearly { month, day, .. } => {
            ("YEARLY", format!(";BYMONTH={month};BYMONTHDAY={day}"))
        }
    })
}

/// `UNTIL` is an instant in UTC (RFC 5545, 3.3.10): that of the occurrence which that day may have.
fn until(last: Date, start: DateTime, zone: &TimeZone) -> String {
    let civil = last.to_datetime(start.time());
    let in_utc = instant(civil, zone).map_or(civil, |at| TimeZone::UTC.to_datetime(at));
    compact(in_utc) + "Z"
}

fn compact(time: DateTime) -> String {
    time.strftime("%Y%m%dT%H%M%S").to_string()
}

const fn abbreviation(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}

#[cfg(test)]
mod tests;
