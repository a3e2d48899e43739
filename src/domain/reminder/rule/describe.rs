//! A rule in words, and an instant as people are told it.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;

use super::super::weekdays::Weekdays;
use super::{End, LeapDay, Nth, Pattern, Rule, RuleParts, Short};

/// An absolute time in its zone: `Fri 4 Dec 2026 15:00 +08:00 Asia/Shanghai`.
pub fn told(at: Timestamp, zone: &TimeZone) -> String {
    let zoned = at.to_zoned_datetime(zone.clone());
    let seconds = if zoned.second() == 0 { "" } else { ":%S" };
    zoned.strftime(&format!("%a %-d %b %Y %H:%M{seconds} %:z %Q")).to_string()
}

impl fmt::Display for Rule {
    /// `every 2 weeks on Monday and Friday at 15:00 Europe/Berlin until 31 December 2026`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleParts { start, zone, pattern, every, end, except } = self.parts();
        match pattern {
            Pattern::Once => write!(f, "once on {}", day(start.date()))?,
            Pattern::Daily => f.write_str(&turns(*every, "day"))?,
            Pattern::Weekly(days) => weekly(f, *every, *days)?,
            Pattern::MonthlyDay { day, short } => {
                write!(f, "{} on the {}", turns(*every, "month"), ordinal(*day))?;
                match short {
                    Short::Clamp if *day > 28 => {
                        f.write_str(" (the last day of a shorter month)")?
                    }
                    Short::Skip => f.write_str(" (not in a shorter month)")?,
                    Short::Clamp => {}
                }
            }
            Pattern::MonthlyNth { nth, weekday } => {
                let nth = match nth {
                    Nth::From(nth) => ordinal(*nth),
                    Nth::Last => "last".to_owned(),
                };
                let turns = turns(*every, "month");
                write!(f, "{turns} on the {nth} {}", weekday_name(*weekday))?;
            }
            Pattern::LastDay => write!(f, "{} on the last day", turns(*every, "month"))?,
            Pattern::Yearly { month, day, leap } => {
                let turns = turns(*every, "year");
                write!(f, "{turns} on {day} {}", month_name(*month))?;
                if (*month, *day) == (2, 29) {
                    f.write_str(match leap {
                        LeapDay::Feb28 => " (28 February in other years)",
                        LeapDay::Mar1 => " (1 March in other years)",
                        LeapDay::Skip => " (not in other years)",
                    })?;
                }
            }
        }
        let seconds = if start.second() == 0 { "" } else { ":%S" };
        let time = start.strftime(&format!("%H:%M{seconds}")).to_string();
        write!(f, " at {time} {}", zone.iana_name().unwrap_or_default())?;
        match end {
            End::Never => {}
            End::Count(1) => f.write_str(", one time")?,
            End::Count(count) => write!(f, ", {count} times")?,
            End::Until(last) => write!(f, " until {}", day(*last))?,
        }
        if !except.is_empty() {
            let days: Vec<String> = except.iter().map(|date| day(*date)).collect();
            write!(f, ", except {}", listed(&days))?;
        }
        Ok(())
    }
}

fn weekly(f: &mut fmt::Formatter<'_>, every: u32, days: Weekdays) -> fmt::Result {
    let names: Vec<String> = days.iter().map(|day| weekday_name(day).to_owned()).collect();
    match (every, days) {
        (1, Weekdays::ALL) => f.write_str("every day"),
        (1, Weekdays::WORKING) => f.write_str("every weekday (Monday to Friday)"),
        (1, _) => write!(f, "every {}", listed(&names)),
        _ => write!(f, "{} on {}", turns(every, "week"), listed(&names)),
    }
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
