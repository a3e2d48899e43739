//! A rule in words, and an instant as people are told it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;

use super::super::weekdays::Weekdays;
use super::{End, LeapDay, Nth, Pattern, Rule, RuleParts, Short};

/// Exceptions that a description names.
const EXCEPTIONS_TOLD_MAX: usize = 4;

/// An absolute time in its zone: `Fri 4 Dec 2026 15:00 +08:00 Asia/Shanghai`.
pub fn told(at: Timestamp, zone: &TimeZone) -> String {
    let zoned = at.to_zoned_datetime(zone.clone());
    let seconds = if zoned.second() == 0 { "" } else { ":%S" };
    zoned.strftime(&format!("%a %-d %b %Y %H:%M{seconds} %:z %Q")).to_string()
}

impl Rule {
    /// In words: `every 2 weeks on Monday and Friday at 15:00 Europe/Berlin until 31 December 2026`.
    pub fn describe(&self) -> String {
        let RuleParts { start, zone, end, except, .. } = self.parts();
        let seconds = if start.second() == 0 { "" } else { ":%S" };
        let time = start.strftime(&format!("%H:%M{seconds}")).to_string();
        let end = match end {
            End::Never => String::new(),
            End::Count(1) => ", one time".to_owned(),
            End::Count(count) => format!(", {count} times"),
            End::Until(last) => format!(" until {}", day(*last)),
        };
        let except = if except.is_empty() { String::new() } else { excepted(except) };
        let zone = zone.iana_name().unwrap_or_default();
        format!("{} at {time} {zone}{end}{except}", self.days_in_words())
    }

    fn days_in_words(&self) -> String {
        let RuleParts { start, pattern, every, .. } = self.parts();
        // Every 12 months is every year, in the month of the start.
        let (months, of) = match every {
            every if every % 12 == 0 => {
                (turns(every / 12, "year"), format!(" of {}", month_name(start.month())))
            }
            _ => (turns(*every, "month"), String::new()),
        };
        match *pattern {
            Pattern::Once => format!("once on {}", day(start.date())),
            Pattern::Daily => turns(*every, "day"),
            Pattern::Weekly(days) => weekly(*every, days),
            Pattern::MonthlyDay { day, short } => {
                let otherwise = match short {
                    Short::Clamp if day > 28 => " (the last day of a shorter month)",
                    Short::Skip => " (not in a shorter month)",
                    Short::Clamp => "",
                };
                format!("{months} on the {}{of}{otherwise}", ordinal(day))
            }
            Pattern::MonthlyNth { nth, weekday } => {
                let nth = match nth {
                    Nth::From(nth) => ordinal(nth),
                    Nth::Last => "last".to_owned(),
                };
                format!("{months} on the {nth} {}{of}", weekday_name(weekday))
            }
            Pattern::LastDay => format!("{months} on the last day{of}"),
            Pattern::Yearly { month, day, leap } => {
                let otherwise = match leap {
                    _ if (month, day) != (2, 29) => "",
                    LeapDay::Feb28 => " (28 February in other years)",
                    LeapDay::Mar1 => " (1 March in other years)",
                    LeapDay::Skip => " (not in other years)",
                };
                format!("{} on {day} {}{otherwise}", turns(*every, "year"), month_name(month))
            }
        }
    }
}

fn weekly(every: u32, days: Weekdays) -> String {
    let names: Vec<String> = days.iter().map(|day| weekday_name(day).to_owned()).collect();
    match (every, days) {
        (1, Weekdays::ALL) => "every day".to_owned(),
        (1, Weekdays::WORKING) => "every weekday (Monday to Friday)".to_owned(),
        (1, _) => format!("every {}", listed(&names)),
        _ => format!("{} on {}", turns(every, "week"), listed(&names)),
    }
}

/// `, except 24 December 2026 and 2 more`.
fn excepted(dates: &BTreeSet<Date>) -> String {
    let mut days: Vec<String> =
        dates.iter().take(EXCEPTIONS_TOLD_MAX).map(|date| day(*date)).collect();
    match dates.len().saturating_sub(EXCEPTIONS_TOLD_MAX) {
        0 => {}
        more => days.push(format!("{more} more")),
    }
    format!(", except {}", listed(&days))
}

/// `every month`, `every 2 months`.
fn turns(every: u32, unit: &str) -> String {
    if every == 1 { format!("every {unit}") } else { format!("every {every} {unit}s") }
}

/// `Monday, Tuesday and Friday`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn ordinal(n: i8) -> String {
    let ending = match (n % 10, n / 10) {
        (1, tens) if tens != 1 => "st",
        (2, tens) if tens != 1 => "nd",
        (3, tens) if tens != 1 => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

fn day(date: Date) -> String {
    date.strftime("%-d %B %Y").to_string()
}

fn month_name(month: i8) -> String {
    Date::new(2000, month, 1).map_or_else(|_| String::new(), |date| date.strftime("%B").to_string())
}

const fn weekday_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}
