//! Habits that go by the month: a day of it, or a weekday of it.

use jiff::Span;
use jiff::civil::{Date, DateTime, Weekday};

use super::{CONCENTRATION_MIN, EVENTS_MIN, Found, Seen, TURNS_MIN, covers, most};
use crate::domain::reminder::{Nth, Pattern, Short};

/// Every month on a day, on the n-th of a weekday, or on the last of one.
pub(super) fn monthly(seen: &[Seen], now: DateTime) -> Option<Found> {
    at_place(seen, now, |date| Some(MonthPlace::Day(date.day())))
        .or_else(|| at_place(seen, now, |date| Some(MonthPlace::Nth(nth(date), date.weekday()))))
        .or_else(|| at_place(seen, now, last_weekday))
}

/// Where in its month a day is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MonthPlace {
    Day(i8),
    Nth(i8, Weekday),
    Last(Weekday),
}

impl MonthPlace {
    /// Whether a day is at this place of its month; the last day stands for those that a month lacks.
    fn holds(self, date: Date) -> bool {
        match self {
            Self::Day(day) => date.day() == day.min(date.days_in_month()),
            Self::Nth(n, weekday) => date.weekday() == weekday && nth(date) == n,
            Self::Last(weekday) => last_weekday(date) == Some(Self::Last(weekday)),
        }
    }

    const fn pattern(self) -> Pattern {
        match self {
            Self::Day(day) => Pattern::MonthlyDay { day, short: Short::Clamp },
            Self::Nth(n, weekday) => Pattern::MonthlyNth { nth: Nth::From(n), weekday },
            Self::Last(weekday) => Pattern::MonthlyNth { nth: Nth::Last, weekday },
        }
    }
}

/// Which of its weekday in the month a day is, from 1.
fn nth(date: Date) -> i8 {
    (date.day() - 1) / 7 + 1
}

fn last_weekday(date: Date) -> Option<MonthPlace> {
    (date.day() + 7 > date.days_in_month()).then(|| MonthPlace::Last(date.weekday()))
}

/// Every month at the place where most events are.
fn at_place(
    seen: &[Seen],
    now: DateTime,
    place: impl Fn(Date) -> Option<MonthPlace>,
) -> Option<Found> {
    let place = most(seen.iter().filter_map(|seen| place(seen.civil.date())))?;
    let hits: Vec<Seen> =
        seen.iter().copied().filter(|seen| place.holds(seen.civil.date())).collect();
    let concentration = hits.len() as f64 / seen.len() as f64;
    let month = |date: Date| i64::from(date.year()) * 12 + i64::from(date.month());
    let mut months: Vec<i64> = hits.iter().map(|hit| month(hit.civil.date())).collect();
    months.dedup();
    let (first, last) = (*months.first()?, *months.last()?);
    // This month counts once its day has come.
    let is_due = now
        .date()
        .first_of_month()
        .series(Span::new().days(1))
        .take_while(|day| *day <= now.date())
        .any(|day| place.holds(day));
    let this = month(now.date()) - i64::from(!is_due);
    let n_turns = usize::try_from(this - first + 1).ok()?;
    let fits = hits.len() >= EVENTS_MIN
        && months.len() >= TURNS_MIN
        && concentration >= CONCENTRATION_MIN
        && this - last <= 1
        && covers(months.len(), n_turns);
    fits.then(|| Found {
        pattern: place.pattern(),
        every: 1,
        concentration,
        n_hits: months.len(),
        n_turns,
        hits,
    })
}
