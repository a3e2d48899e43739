//! The occurrences of a rule: its dates without the exceptions, as instants.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::{End, Rule};

/// One occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Occurrence {
    /// The time on the wall that the rule names: which occurrence it is, whatever becomes of the
    /// zone. That night the wall may never show it.
    pub civil: DateTime,
    /// When that is.
    pub at: Timestamp,
}

/// When the clock on the wall shows this time: the first time that it does, and if it never does,
/// as much later as it is moved forward. `None` beyond the years of the calendar.
pub fn instant(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    zone.to_ambiguous_timestamp(civil).compatible().ok()
}

/// Widest step of a zone, in days, both ways: whole days have been skipped and repeated at the date
/// line, and a civil time is not far from its instant otherwise.
const STEP_DAYS: i32 = 2;

impl Rule {
    /// The first occurrence after `after`.
    pub fn next_after(&self, after: Timestamp) -> Option<Occurrence> {
        let near = self.zone().to_datetime(after).date();
        let from = near.saturating_sub(Span::new().days(STEP_DAYS));
        self.occurrences_from(from).find(|occurrence| occurrence.at > after)
    }

    /// The first occurrence whose time on the wall is after `after`.
    pub fn next_after_civil(&self, after: DateTime) -> Option<Occurrence> {
        self.occurrences_from(after.date()).find(|occurrence| occurrence.civil > after)
    }

    /// The first of all.
    pub fn first(&self) -> Option<Occurrence> {
        self.occurrences_from(self.parts().start.date()).next()
    }

    /// The last of all, if it ends.
    pub fn last(&self) -> Option<Occurrence> {
        let ends = self.is_once() || self.parts().end != End::Never;
        ends.then(|| self.last_until(Timestamp::MAX)).flatten()
    }

    /// Whether it has an occurrence at this time on the wall.
    pub fn has(&self, civil: DateTime) -> bool {
        let is_date = self.next_date(civil.date()) == Some(civil.date());
        is_date
            && civil.time() == self.parts().start.time()
            && !self.parts().except.contains(&civil.date())
    }

    /// The last occurrence at or before `until`.
    pub fn last_until(&self, until: Timestamp) -> Option<Occurrence> {
        let near = self.zone().to_datetime(until).date();
        let mut date = near.saturating_add(Span::new().days(STEP_DAYS));
        loop {
            let previous = self.previous_date(date)?;
            if let Some(occurrence) = self.on(previous).filter(|found| found.at <= until) {
                return Some(occurrence);
            }
            date = previous.yesterday().ok()?;
        }
    }

    /// How many occurrences have a time on the wall after `after` and up to `until`.
    pub fn n_between(&self, after: DateTime, until: DateTime) -> u64 {
        let time = self.parts().start.time();
        // The first date whose time is later than the bound.
        let later = |bound: DateTime| {
            let is_past = time <= bound.time();
            if is_past { bound.date().tomorrow().unwrap_or(Date::MAX) } else { bound.date() }
        };
        let (from, end) = (later(after), later(until));
        if from >= end {
            return 0;
        }
        let n_excepted = self.parts().except.range(from..end).count();
        self.n_dates(from, end).saturating_sub(n_excepted as u64)
    }

    /// The next `n` occurrences after `after`.
    pub fn upcoming(&self, after: Timestamp, n: usize) -> Vec<Occurrence> {
        std::iter::successors(self.next_after(after), |last| self.next_after(last.at))
            .take(n)
            .collect()
    }

    /// Occurrences from a day on.
    fn occurrences_from(&self, from: Date) -> impl Iterator<Item = Occurrence> {
        let after = |date: &Date| self.next_date(date.tomorrow().ok()?);
        std::iter::successors(self.next_date(from), after).filter_map(|date| self.on(date))
    }

    /// The occurrence of one of its dates, unless that is excepted.
    fn on(&self, date: Date) -> Option<Occurrence> {
        let civil = date.to_datetime(self.parts().start.time());
        let is_excepted = self.parts().except.contains(&date);
        let at = instant(civil, self.zone())?;
        (!is_excepted).then_some(Occurrence { civil, at })
    }
}
