//! How long before an occurrence its reminder is due.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};

use super::rule::{Occurrence, instant};
use crate::domain::limits::LEAD_DAYS_MAX;

/// Time between the reminder and what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lead {
    /// So much time on a stopwatch before it: `PT1H`. Zero: with it.
    Elapsed(SignedDuration),
    /// On a day before it, by the clock on the wall: `P1D@18:00`.
    Civil {
        /// Days before the day of the occurrence, 0..=[`LEAD_DAYS_MAX`].
        days: u16,
        /// The time of that day; `None`: the time of the occurrence.
        at: Option<Time>,
    },
}

/// Text that is no lead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected how long before, never negative: a time (PT1H, PT90M), a day and a time of it (P1D, P1D@18:00) or words like \"the day before at 18:00\", at most {LEAD_DAYS_MAX} days, got `{0}`"
)]
pub struct InvalidLead(String);

impl Lead {
    /// With the occurrence.
    pub const NONE: Self = Self::Elapsed(SignedDuration::ZERO);

    /// An hour before: that of a meeting that recurs, unless somebody says otherwise.
    pub const MEETING: Self = Self::minutes(60);

    /// So many minutes before.
    pub const fn minutes(minutes: u32) -> Self {
        Self::Elapsed(SignedDuration::from_mins(minutes as i64))
    }

    /// Whether the reminder comes before what it is about.
    pub fn is_ahead(self) -> bool {
        match self {
            Self::Elapsed(time) => time.is_positive(),
            Self::Civil { days, at } => days > 0 || at.is_some(),
        }
    }

    /// When the reminder of an occurrence is due; never after the occurrence.
    pub fn moment(self, occurrence: Occurrence, zone: &TimeZone) -> Timestamp {
        let moment = match self {
            Self::Elapsed(time) => occurrence.at.checked_sub(time).ok(),
            Self::Civil { days, at } => {
                let day: Option<Date> =
                    occurrence.civil.date().checked_sub(Span::new().days(days)).ok();
                let time = at.unwrap_or_else(|| occurrence.civil.time());
                day.and_then(|day| instant(day.to_datetime(time), zone))
            }
        };
        moment.map_or(occurrence.at, |moment| moment.min(occurrence.at))
    }
}

impl fmt::Display for Lead {
    /// As it is read: `PT1H`, `P1D@18:00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elapsed(time) => write!(f, "{time}"),
            Self::Civil { days, at: None } => write!(f, "P{days}D"),
            Self::Civil { days, at: Some(at) } => write!(f, "P{days}D@{}", at.strftime("%H:%M")),
        }
    }
}

impl FromStr for Lead {
    type Err = InvalidLead;

    /// Reads `PT90M` (also `1h 30m`, as jiff reads durations) as time, and `P1D`, `P2W` and
    /// `P1D@18:00` as days.
    fn from_str(text: &str) -> Result<Self, InvalidLead> {
        let invalid = || InvalidLead(text.chars().take(64).collect());
        let trimmed = text.trim();
        let (period, at) = match trimmed.split_once('@') {
            Some((period, at)) => (period, Some(at.trim().parse().map_err(|_| invalid())?)),
            None => (trimmed, None),
        };
        let span: Span = period.trim().parse().map_err(|_| invalid())?;
        if span.is_negative() || span.get_months() != 0 || span.get_years() != 0 {
            return Err(invalid());
        }
        let days = i64::from(span.get_days()) + 7 * i64::from(span.get_weeks());
        let time = SignedDuration::try_from(span.days(0).weeks(0)).map_err(|_| invalid())?;
        if days == 0 && at.is_none() {
            let is_short = time.as_hours() <= 24 * i64::from(LEAD_DAYS_MAX);
            return if is_short && time.subsec_nanos() == 0 {
                Ok(Self::Elapsed(time))
            } else {
                Err(invalid())
            };
        }
        let days = u16::try_from(days).ok().filter(|days| *days <= LEAD_DAYS_MAX);
        match days {
            Some(days) if time.is_zero() => Ok(Self::Civil { days, at }),
            _ => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests;
