//! A crontab line in a time zone.
//!
//! croner reads the line and does the calendar. It is generic over the type of time, so it is given
//! ours (jiff), and both the line and the nights on which clocks change are decided in one place.
//! What stands beside it: a line that never comes due ("31 February") is refused here, since a parser
//! takes it and a scheduler then drops the job without a word; and a line has five or six fields,
//! not the seventh for a year, after which a job would end.
//!
//! Nights on which the clock is changed, as crontab(5) of Debian has them: a fixed time that is
//! skipped comes due at the end of the gap, one that comes twice counts once, the first time; a line
//! that steps (`*/30`) goes by the clock on the wall, so it has nothing in the gap and twice as much
//! in the hour that comes twice.

use std::cmp::Ordering;
use std::fmt;

use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use croner::{CivilDateTime, Cron, CronDateTime, Resolution, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ZonedDateTime, civil};

use crate::domain::limits::SCHEDULE_BYTES_MAX;

/// Day from which a line is tried out, and the years within which it must come due: they hold two
/// 29ths of February.
const TRIED_FROM: civil::DateTime = civil::datetime(2024, 1, 1, 0, 0, 0, 0);
/// See [`TRIED_FROM`].
const TRIED_YEARS: i64 = 8;

/// The names that stand for lines.
const NAMES: [&str; 6] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@hourly"];

/// When a job is due.
#[derive(Clone)]
pub struct Schedule {
    line: String,
    cron: Cron,
    zone: TimeZone,
}

/// Text that is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It is not written as one.
    #[error("{0}")]
    Line(String),
    /// It names no day that exists.
    #[error("it never comes due: no day fits")]
    Never,
}

impl Schedule {
    /// Reads five fields (minute, hour, day of the month, month, day of the week), six (a second
    /// before them) or a name like `@daily`. If both kinds of day are given, either may fit, as in
    /// every crontab.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn parse(line: &str, zone: &TimeZone) -> Result<Self, ScheduleError> {
        let line = line.trim();
        if line.len() > SCHEDULE_BYTES_MAX {
            return Err(ScheduleError::Line(format!("more than {SCHEDULE_BYTES_MAX} bytes")));
        }
        let n_fields = line.split_whitespace().count();
        let is_name = NAMES.iter().any(|name| line.eq_ignore_ascii_case(name));
        if line.starts_with('@') && !is_name {
            return Err(ScheduleError::Line(format!("of names there are {}", NAMES.join(", "))));
        }
        if !is_name && !(5..=6).contains(&n_fields) {
            return Err(ScheduleError::Line(format!("it needs 5 or 6 fields, not {n_fields}")));
        }
        let parser =
            CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let cron = parser.parse(line).map_err(|error| {
            let place = field_at_fault(parser, line).unwrap_or_default();
            ScheduleError::Line(format!("{place}{}", reason(&error)))
        })?;
        let schedule = Self { line: line.to_owned(), cron, zone: zone.clone() };
        if schedule.comes_due() { Ok(schedule) } else { Err(ScheduleError::Never) }
    }

    /// The line.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The zone.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The first moment after `after` at which it is due; `None` only beyond the years that croner
    /// and jiff know.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = Moment(after.to_zoned_datetime(self.zone.clone()));
        let next = self.cron.find_next_occurrence(&after, false).ok()?;
        Some(next.0.timestamp())
    }

    /// The next `n` moments after `after`, with their zone.
    pub fn upcoming(&self, after: Timestamp, n: usize) -> Vec<ZonedDateTime> {
        let next = |at: &Timestamp| self.next_after(*at);
        std::iter::successors(self.next_after(after), next)
            .take(n)
            .map(|at| at.to_zoned_datetime(self.zone.clone()))
            .collect()
    }

    /// Whether there is a day on which it is due. The zone has no part in that.
    fn comes_due(&self) -> bool {
        let Ok(until) = TRIED_FROM.checked_add(jiff::Span::new().years(TRIED_YEARS)) else {
            return false;
        };
        let next = self.cron.find_next_occurrence(&WallClock(TRIED_FROM), true);
        next.is_ok_and(|next| next.0 < until)
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.line == other.line && self.zone == other.zone
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({:?} in {:?})", self.line, self.zone)
    }
}

/// The fields of a line of six.
const FIELDS: [&str; 6] = ["second", "minute", "hour", "day", "month", "day of the week"];

/// The field that cannot be read, since croner does not always say which: `hour 24: `.
fn field_at_fault(parser: CronParser, line: &str) -> Option<String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let names = FIELDS.get(FIELDS.len().checked_sub(fields.len())?..)?;
    let is_wrong = |at: usize, field: &str| {
        let mut alone = vec!["*"; fields.len()];
        if let Some(place) = alone.get_mut(at) {
            *place = field;
        }
        parser.parse(&alone.join(" ")).is_err()
    };
    let (at, field) = fields.iter().enumerate().find(|(at, field)| is_wrong(*at, field))?;
    Some(format!("{} {field}: ", names.get(at)?))
}

/// What croner has to say, without the names of its types.
fn reason(error: &CronError) -> String {
    match error {
        CronError::InvalidPattern(why)
        | CronError::IllegalCharacters(why)
        | CronError::ComponentError(why) => why.trim_start_matches("CronPattern ").to_owned(),
        CronError::EmptyPattern => "it is empty".to_owned(),
        CronError::InvalidDate | CronError::InvalidTime | CronError::TimeSearchLimitExceeded => {
            error.to_string()
        }
    }
}

/// An instant with its zone, as croner wants to see it.
#[derive(Clone)]
struct Moment(ZonedDateTime);

impl CronDateTime for Moment {
    fn to_civil(&self) -> CivilDateTime {
        to_croner(self.0.datetime())
    }

    fn civil_weekday(&self) -> Weekday {
        weekday(self.0.datetime())
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let ambiguous = self.0.time_zone().to_ambiguous_zoned_datetime(from_croner(civil)?);
        let moment = |resolved: Result<ZonedDateTime, jiff::Error>| {
            resolved.map(Self).map_err(|_| CronError::InvalidTime)
        };
        Ok(match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => {
                Resolution::Single(moment(ambiguous.unambiguous())?)
            }
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
            AmbiguousOffset::Fold { .. } => {
                let earlier = moment(ambiguous.clone().earlier())?;
                Resolution::Ambiguous(earlier, moment(ambiguous.later())?)
            }
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0.checked_add(SignedDuration::from_secs(seconds)).ok().map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

/// A clock on the wall, without a zone.
#[derive(Clone)]
struct WallClock(civil::DateTime);

impl CronDateTime for WallClock {
    fn to_civil(&self) -> CivilDateTime {
        to_croner(self.0)
    }

    fn civil_weekday(&self) -> Weekday {
        weekday(self.0)
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        Ok(Resolution::Single(Self(from_croner(civil)?)))
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0.checked_add(SignedDuration::from_secs(seconds)).ok().map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

fn weekday(time: civil::DateTime) -> Weekday {
    let days = time.weekday().to_sunday_zero_offset();
    Weekday::from_days_from_sunday(u32::from(days.unsigned_abs()))
}

fn to_croner(time: civil::DateTime) -> CivilDateTime {
    let part = |part: i8| u32::from(part.unsigned_abs());
    let date = croner::CivilDate::from_parts_unchecked(
        i32::from(time.year()),
        part(time.month()),
        part(time.day()),
    );
    let time = croner::CivilTime::from_parts_unchecked(
        part(time.hour()),
        part(time.minute()),
        part(time.second()),
    );
    CivilDateTime::new(date, time)
}

fn from_croner(time: CivilDateTime) -> Result<civil::DateTime, CronError> {
    let part = |part: u32| i8::try_from(part).map_err(|_| CronError::InvalidDate);
    civil::DateTime::new(
        i16::try_from(time.year()).map_err(|_| CronError::InvalidDate)?,
        part(time.month())?,
        part(time.day())?,
        part(time.hour())?,
        part(time.minute())?,
        part(time.second())?,
        0,
    )
    .map_err(|_| CronError::InvalidDate)
}

#[cfg(test)]
mod tests;
