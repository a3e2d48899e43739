//! When something recurs: a pattern of dates, a time of day and a zone.
//!
//! A rule has one time of day, and its dates are civil dates; each is resolved in the zone by itself,
//! so that an occurrence stays at its time on the wall on both sides of a change of clocks. A time
//! that is skipped that night moves forward by the gap, one that comes twice is the first. The n-th
//! date is arithmetic from the start: nothing is ever stepped through from there.

mod describe;
mod occurrences;
mod slots;
mod text;
mod zone;

use std::collections::BTreeSet;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;

use super::weekdays::Weekdays;
use crate::domain::limits::{RULE_COUNT_MAX, RULE_EVERY_MAX, RULE_EXCEPTIONS_MAX};

pub use describe::told;
pub use occurrences::{Occurrence, instant};
pub use text::Given;
pub use zone::zone_named;

/// Which days. Months and years without such a day have no occurrence, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// The day of the start alone.
    Once,
    /// Days.
    Daily,
    /// Days of the week; weeks begin on Monday.
    Weekly(Weekdays),
    /// A day of the month.
    MonthlyDay {
        /// 1..=31.
        day: i8,
        /// What a shorter month has instead; of no effect up to the 28th.
        short: Short,
    },
    /// The n-th of a weekday in the month.
    MonthlyNth {
        /// Which of them.
        nth: Nth,
        /// The weekday.
        weekday: Weekday,
    },
    /// The last day of the month.
    LastDay,
    /// A day of the year.
    Yearly {
        /// 1..=12.
        month: i8,
        /// A day that the month has, 29 February being one.
        day: i8,
        /// What other years have instead of 29 February; of no effect on any other day.
        leap: LeapDay,
    },
}

/// What a month has that is too short for the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Short {
    /// Its last day.
    Clamp,
    /// No occurrence.
    Skip,
}

/// What a year without 29 February has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeapDay {
    /// 28 February.
    Feb28,
    /// 1 March.
    Mar1,
    /// No occurrence.
    Skip,
}

/// Which of the same weekdays of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nth {
    /// From the beginning, 1..=5; not every month has a fifth.
    From(i8),
    /// The last.
    Last,
}

/// When it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// It does not.
    Never,
    /// After so many dates, 1..=[`RULE_COUNT_MAX`]; the exceptions count (RFC 5545, 3.8.5.1).
    Count(u32),
    /// On this day, which is the last that may have an occurrence.
    Until(Date),
}

/// What a rule is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleParts {
    /// No occurrence is before it; its time is the time of day, and what "every n" counts from is
    /// its day, week, month or year. A rule has its first date here.
    pub start: DateTime,
    /// A named zone.
    pub zone: TimeZone,
    /// Which days.
    pub pattern: Pattern,
    /// Every so many days, weeks, months or years, 1..=[`RULE_EVERY_MAX`].
    pub every: u32,
    /// When it ends.
    pub end: End,
    /// Dates without an occurrence, at most [`RULE_EXCEPTIONS_MAX`].
    pub except: BTreeSet<Date>,
}

/// A rule that has at least one occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    parts: RuleParts,
    /// The slot of the first date, see `slots`.
    first: i64,
    /// The last day that may have an occurrence.
    last: Date,
}

/// Why something is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// No such zone.
    #[error("zone `{name}` is not known: expected an IANA name{nearest}")]
    Zone {
        /// What was given.
        name: String,
        /// `, like ...`, where one is near.
        nearest: String,
    },
    /// The zone has no name, only an offset.
    #[error("a rule needs a named zone like Europe/Berlin, not an offset from UTC")]
    Offset,
    /// An interval out of range.
    #[error("every {0}: expected 1 to {RULE_EVERY_MAX}")]
    Every(u32),
    /// A count out of range.
    #[error("{0} times: expected 1 to {RULE_COUNT_MAX}")]
    Count(u64),
    /// More exceptions than there may be.
    #[error("{0} exceptions: expected at most {RULE_EXCEPTIONS_MAX}")]
    Exceptions(usize),
    /// Seconds are the finest part of a time here.
    #[error("a time has no fraction of a second")]
    Fraction,
    /// A day that no calendar has.
    #[error("{0}")]
    NoSuchDay(String),
    /// No date is left.
    #[error("it never comes due: {0}")]
    Never(&'static str),
    /// Text that is not read as a rule.
    #[error("{0}")]
    Text(String),
}

impl Rule {
    /// Checks the parts. What has no effect gets one value, so that equal rules compare equal.
    ///
    /// # Errors
    /// [`RuleError`]: a part out of range, or a rule that never comes due.
    pub fn new(mut parts: RuleParts) -> Result<Self, RuleError> {
        if parts.zone.iana_name().is_none() {
            return Err(RuleError::Offset);
        }
        if !(1..=RULE_EVERY_MAX).contains(&parts.every) {
            return Err(RuleError::Every(parts.every));
        }
        if parts.except.len() > RULE_EXCEPTIONS_MAX {
            return Err(RuleError::Exceptions(parts.except.len()));
        }
        if parts.start.subsec_nanosecond() != 0 {
            return Err(RuleError::Fraction);
        }
        if let End::Count(count) = parts.end
            && !(1..=RULE_COUNT_MAX).contains(&count)
        {
            return Err(RuleError::Count(count.into()));
        }
        check_days(parts.pattern)?;
        normalise(&mut parts);
        Self::with_dates(parts)
    }

    /// One occurrence.
    ///
    /// # Errors
    /// [`RuleError::Offset`], [`RuleError::Fraction`].
    pub fn once(at: DateTime, zone: TimeZone) -> Result<Self, RuleError> {
        Self::every(at, zone, Pattern::Once)
    }

    /// Every day, week, month or year of the pattern, without an end.
    ///
    /// # Errors
    /// [`RuleError`], see [`Rule::new`].
    pub fn every(start: DateTime, zone: TimeZone, pattern: Pattern) -> Result<Self, RuleError> {
        let (every, end, except) = (1, End::Never, BTreeSet::new());
        Self::new(RuleParts { start, zone, pattern, every, end, except })
    }

    /// What it is made of.
    pub const fn parts(&self) -> &RuleParts {
        &self.parts
    }

    /// The zone.
    pub const fn zone(&self) -> &TimeZone {
        &self.parts.zone
    }

    /// Whether it has one date only.
    pub const fn is_once(&self) -> bool {
        matches!(self.parts.pattern, Pattern::Once)
    }
}

fn check_days(pattern: Pattern) -> Result<(), RuleError> {
    match pattern {
        Pattern::Weekly(days) if days.is_empty() => {
            Err(RuleError::NoSuchDay("expected at least one day of the week".to_owned()))
        }
        Pattern::MonthlyDay { day, .. } if !(1..=31).contains(&day) => {
            Err(RuleError::NoSuchDay(format!("day {day} of a month: expected 1 to 31")))
        }
        Pattern::MonthlyNth { nth: Nth::From(nth), .. } if !(1..=5).contains(&nth) => {
            Err(RuleError::NoSuchDay(format!("weekday {nth} of a month: expected 1 to 5, or last")))
        }
        // 2000 is a leap year.
        Pattern::Yearly { month, day, .. } if Date::new(2000, month, day).is_err() => {
            Err(RuleError::NoSuchDay(format!("no year has a day {day} in month {month}")))
        }
        Pattern::Once
        | Pattern::Daily
        | Pattern::Weekly(_)
        | Pattern::MonthlyDay { .. }
        | Pattern::MonthlyNth { .. }
        | Pattern::LastDay
        | Pattern::Yearly { .. } => Ok(()),
    }
}

fn normalise(parts: &mut RuleParts) {
    match &mut parts.pattern {
        Pattern::Once => {
            parts.every = 1;
            parts.end = End::Never;
        }
        Pattern::MonthlyDay { day: ..=28, short } => *short = Short::Clamp,
        Pattern::Yearly { month, day, leap } if (*month, *day) != (2, 29) => {
            *leap = LeapDay::Feb28;
        }
        Pattern::Daily
        | Pattern::Weekly(_)
        | Pattern::MonthlyDay { .. }
        | Pattern::MonthlyNth { .. }
        | Pattern::LastDay
        | Pattern::Yearly { .. } => {}
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(super) use tests::any_rule;
