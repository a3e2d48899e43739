//! Lengths of time: two hours, half a day, 三个月.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Span, ZonedDateTime};

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl Unit {
    /// The unit of a quantity that [`crate::domain::grounding::values`] reads.
    pub(super) fn named(name: &str) -> Option<Self> {
        let unit = match name {
            "second" => Self::Second,
            "minute" => Self::Minute,
            "hour" => Self::Hour,
            "day" => Self::Day,
            "week" => Self::Week,
            "month" => Self::Month,
            "year" => Self::Year,
            _ => return None,
        };
        Some(unit)
    }
}

/// A length of time, by the clock and by the calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) seconds: i64,
    pub(super) days: i64,
    pub(super) months: i64,
}

impl Length {
    /// Half units of a length: 3 and an hour are one and a half hours.
    pub(super) fn halves(n: i64, unit: Unit) -> Option<Self> {
        let (seconds, days, months) = match unit {
            Unit::Minute => (n.checked_mul(30)?, 0, 0),
            Unit::Hour => (n.checked_mul(1_800)?, 0, 0),
            Unit::Day if n % 2 == 0 => (0, n / 2, 0),
            Unit::Day => (n.checked_mul(43_200)?, 0, 0),
            Unit::Week if n % 2 == 0 => (0, n.checked_mul(7)? / 2, 0),
            Unit::Month if n % 2 == 0 => (0, 0, n / 2),
            // Half a month is a fortnight and a day in both languages.
            Unit::Month => (0, 15, n / 2),
            Unit::Year => (0, 0, n.checked_mul(6)?),
            Unit::Second if n % 2 == 0 => (n / 2, 0, 0),
            Unit::Quarter if n % 2 == 0 => (0, 0, n.checked_mul(3)? / 2),
            Unit::Second | Unit::Week | Unit::Quarter => return None,
        };
        Some(Self { seconds, days, months })
    }

    /// So many units.
    pub(super) fn whole(n: u64, unit: Unit) -> Option<Self> {
        Self::halves(i64::try_from(n).ok()?.checked_mul(2)?, unit)
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            seconds: self.seconds.checked_add(other.seconds)?,
            days: self.days.checked_add(other.days)?,
            months: self.months.checked_add(other.months)?,
        })
    }

    /// Whether hours or less are counted: then it is a time on a stopwatch, else days of the calendar.
    pub(super) const fn is_short(self) -> bool {
        self.seconds != 0
    }

    /// The time on a stopwatch; a day is 24 hours. `None` if months are counted.
    pub(super) fn duration(self) -> Option<SignedDuration> {
        let seconds = self.days.checked_mul(86_400)?.checked_add(self.seconds)?;
        (self.months == 0).then(|| SignedDuration::from_secs(seconds))
    }

    /// The moment that lies this far ahead.
    pub(super) fn after(self, now: &ZonedDateTime) -> Option<ZonedDateTime> {
        let days = Span::new().try_months(self.months).ok()?.try_days(self.days).ok()?;
        now.checked_add(days).ok()?.checked_add(SignedDuration::from_secs(self.seconds)).ok()
    }

    /// The day that lies this far ahead.
    pub(super) fn days_after(self, now: DateTime) -> Option<DateTime> {
        let span = Span::new().try_months(self.months).ok()?.try_days(self.days).ok()?;
        now.checked_add(span).ok()
    }
}
