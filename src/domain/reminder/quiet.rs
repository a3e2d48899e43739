//! Hours in which nobody wants to be disturbed.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;

use super::lifecycle::Priority;
use super::weekdays::Weekdays;

/// Quiet hours of a day, `22:00-07:00`; they may last beyond midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuietHours {
    from: Time,
    until: Time,
    days: Weekdays,
}

/// Text that is no quiet hours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected quiet hours like 22:00-07:00, from 00:00 to 23:59, of two different times, got `{0}`"
)]
pub struct InvalidQuietHours(String);

impl QuietHours {
    /// These hours on some days alone: the days on which they begin.
    #[must_use]
    pub const fn on(self, days: Weekdays) -> Self {
        Self { days, ..self }
    }

    /// When the quiet that `at` lies in ends; `None`: there is none.
    pub fn ends_after(&self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let wall = zone.to_datetime(at);
        let end = self.end_on_the_wall(wall)?;
        let ambiguous = zone.to_ambiguous_timestamp(end);
        // Where the end comes twice, the first has passed if the wall shows its hour again.
        let first = ambiguous.compatible().ok()?;
        if first > at { Some(first) } else { ambiguous.later().ok().filter(|later| *later > at) }
    }

    fn end_on_the_wall(&self, wall: DateTime) -> Option<DateTime> {
        let (date, time) = (wall.date(), wall.time());
        if self.from <= self.until {
            let is_quiet = self.from <= time && time < self.until;
            return (is_quiet && self.days.contains(date.weekday()))
                .then(|| date.to_datetime(self.until));
        }
        if time < self.until && self.days.contains(date.yesterday().ok()?.weekday()) {
            return Some(date.to_datetime(self.until));
        }
        let is_quiet = self.from <= time && self.days.contains(date.weekday());
        is_quiet.then(|| Some(date.tomorrow().ok()?.to_datetime(self.until))).flatten()
    }
}

/// When something that was due at `due_at` may be told, at `now` or later. What is urgent passes, and
/// so does what a person set for a time within the quiet hours.
pub fn told_from(
    quiet: Option<(&QuietHours, &TimeZone)>,
    priority: Priority,
    is_timed: bool,
    due_at: Timestamp,
    now: Timestamp,
) -> Timestamp {
    let Some((hours, zone)) = quiet.filter(|_| priority != Priority::Urgent) else { return now };
    let is_meant = is_timed && hours.ends_after(due_at, zone).is_some();
    if is_meant { now } else { hours.ends_after(now, zone).unwrap_or(now) }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from.strftime("%H:%M"), self.until.strftime("%H:%M"))
    }
}

impl FromStr for QuietHours {
    type Err = InvalidQuietHours;

    /// Reads `22:00-07:00`, for every day. The same time twice is refused: it could mean never or all
    /// day.
    fn from_str(text: &str) -> Result<Self, InvalidQuietHours> {
        let time = |text: &str| {
            let text = text.trim();
            Time::strptime("%H:%M", text).ok().filter(|_| text.is_ascii())
        };
        text.split_once(['-', '\u{2013}'])
            .and_then(|(from, until)| Some((time(from)?, time(until)?)))
            .filter(|(from, until)| from != until)
            .map(|(from, until)| Self { from, until, days: Weekdays::ALL })
            .ok_or_else(|| InvalidQuietHours(text.chars().take(64).collect()))
    }
}

#[cfg(test)]
mod tests;
