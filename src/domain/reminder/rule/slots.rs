//! The arithmetic of dates: which date stands in which slot of a rule, and back.
//!
//! A slot is one turn of the pattern: a day, a chosen weekday of a week, a month, a year, numbered
//! from 0 in the day, week, month or year of the start. Some slots are empty (a month without a
//! 31st); which ones repeats after a *cycle* of slots, since the Gregorian calendar repeats after
//! 400 years, which are 4,800 months and a whole number of weeks. So the number of dates before a
//! slot is a division and a count within one cycle, wherever the slot lies.

use jiff::civil::Date;

use super::{End, LeapDay, Nth, Pattern, Rule, RuleError, RuleParts, Short};

/// Years and months after which the calendar repeats.
const CYCLE_YEARS: i64 = 400;
/// See [`CYCLE_YEARS`].
const CYCLE_MONTHS: i64 = 12 * CYCLE_YEARS;

impl Rule {
    /// Finds the first and the last date of checked parts.
    pub(super) fn with_dates(parts: RuleParts) -> Result<Self, RuleError> {
        let never = || RuleError::Never("no month or year of it has such a day");
        let start = parts.start.date();
        let mut rule = Self { parts, first: 0, last: Date::MAX };
        let (_, first) = rule.date_from(start).ok_or_else(never)?;
        rule.parts.start = first.to_datetime(rule.parts.start.time());
        rule.first = rule.slot_from(first);
        match rule.parts.end {
            End::Never => {}
            End::Count(count) => {
                rule.last = rule.nth_date(u64::from(count) - 1).unwrap_or(Date::MAX);
            }
            End::Until(last) if last < first => {
                return Err(RuleError::Never("it ends before its first date"));
            }
            End::Until(last) => rule.last = last,
        }
        let mut except = std::mem::take(&mut rule.parts.except);
        except.retain(|date| rule.next_date(*date) == Some(*date));
        rule.parts.except = except;
        match rule.first() {
            Some(_) => Ok(rule),
            None => Err(RuleError::Never("all its dates are excepted")),
        }
    }

    /// The n-th date from 0, exceptions included; `None` after the end.
    pub fn nth_date(&self, n: u64) -> Option<Date> {
        let n = i64::try_from(n).ok()?;
        let slot = self.select(self.rank(self.first).checked_add(n)?)?;
        self.slot_date(slot).filter(|date| *date <= self.last)
    }

    /// The first date on or after `from`, exceptions included.
    pub(super) fn next_date(&self, from: Date) -> Option<Date> {
        let (_, date) = self.date_from(from.max(self.parts.start.date()))?;
        (date <= self.last).then_some(date)
    }

    /// The last date on or before `until`, exceptions included.
    pub(super) fn previous_date(&self, until: Date) -> Option<Date> {
        let until = until.min(self.last);
        let beyond = self.slot_from(until.tomorrow().unwrap_or(until));
        (self.first..=beyond)
            .rev()
            .take(usize::try_from(self.cycle()).ok()?.saturating_add(1))
            .find_map(|slot| self.slot_date(slot).filter(|date| *date <= until))
    }

    /// How many dates are on or after `from` and before `until`, exceptions included.
    pub(super) fn n_dates(&self, from: Date, until: Date) -> u64 {
        let end = self.last.tomorrow().unwrap_or(self.last).min(until);
        let rank = |date| self.rank(self.slot_from(date).max(self.first));
        u64::try_from(rank(end) - rank(from)).unwrap_or(0)
    }

    /// The first slot with a date on or after `from`, and that date.
    fn date_from(&self, from: Date) -> Option<(i64, Date)> {
        let slot = self.slot_from(from);
        let slots = slot..slot.checked_add(self.cycle())?;
        slots.into_iter().find_map(|slot| Some((slot, self.slot_date(slot)?)))
    }

    /// The first slot whose date is on or after `from`, or would be.
    fn slot_from(&self, from: Date) -> i64 {
        let RuleParts { start, pattern, .. } = &self.parts;
        let (start, every) = (start.date(), i64::from(self.parts.every));
        let slot = match pattern {
            Pattern::Once => i64::from(from > start),
            Pattern::Daily => {
                days_between(start, from).div_euclid(every)
                    + i64::from(days_between(start, from).rem_euclid(every) != 0)
            }
            Pattern::Weekly(days) => {
                let weeks = days_between(monday_of(start), monday_of(from)).div_euclid(7);
                let n_days = i64::try_from(days.len()).unwrap_or(7);
                let turn = weeks.div_euclid(every);
                if weeks.rem_euclid(every) == 0 {
                    turn * n_days + i64::try_from(days.n_before(from.weekday())).unwrap_or(0)
                } else {
                    (turn + 1) * n_days
                }
            }
            Pattern::MonthlyDay { .. } | Pattern::MonthlyNth { .. } | Pattern::LastDay => {
                ceiling(month_number(from) - month_number(start), every)
            }
            Pattern::Yearly { .. } => ceiling(i64::from(from.year() - start.year()), every),
        };
        let is_before = self.slot_date(slot).is_some_and(|date| date < from);
        (slot + i64::from(is_before)).max(0)
    }

    /// The date of a slot; `None`: it is empty, or beyond the calendar.
    fn slot_date(&self, slot: i64) -> Option<Date> {
        let RuleParts { start, pattern, .. } = &self.parts;
        let (start, turn) = (start.date(), slot.checked_mul(i64::from(self.parts.every))?);
        match *pattern {
            Pattern::Once => (slot == 0).then_some(start),
            Pattern::Daily => days_after(start, turn),
            Pattern::Weekly(days) => {
                let n_days = i64::try_from(days.len()).ok()?;
                let weeks = slot.div_euclid(n_days) * i64::from(self.parts.every);
                let day = days.iter().nth(usize::try_from(slot.rem_euclid(n_days)).ok()?)?;
                let days = weeks.checked_mul(7)? + i64::from(day.to_monday_zero_offset());
                days_after(monday_of(start), days)
            }
            Pattern::MonthlyDay { day, short } => {
                let first = month(month_number(start).checked_add(turn)?)?;
                match short {
                    Short::Clamp => {
                        Date::new(first.year(), first.month(), day.min(first.days_in_month()))
                    }
                    Short::Skip => Date::new(first.year(), first.month(), day),
                }
                .ok()
            }
            Pattern::MonthlyNth { nth, weekday } => {
                let first = month(month_number(start).checked_add(turn)?)?;
                let nth = match nth {
                    Nth::From(nth) => nth,
                    Nth::Last => -1,
                };
                first.nth_weekday_of_month(nth, weekday).ok()
            }
            Pattern::LastDay => {
                Some(month(month_number(start).checked_add(turn)?)?.last_of_month())
            }
            Pattern::Yearly { month, day, leap } => {
                let year = i16::try_from(i64::from(start.year()).checked_add(turn)?).ok()?;
                match (Date::new(year, month, day), leap) {
                    (Ok(date), _) => Some(date),
                    (Err(_), LeapDay::Feb28) => Date::new(year, 2, 28).ok(),
                    (Err(_), LeapDay::Mar1) => Date::new(year, 3, 1).ok(),
                    (Err(_), LeapDay::Skip) => None,
                }
            }
        }
    }

    /// Slots after which the empty ones repeat; 1: none is empty.
    fn cycle(&self) -> i64 {
        let every = i64::from(self.parts.every);
        let cycle = |all: i64| all / gcd(all, every);
        match self.parts.pattern {
            Pattern::MonthlyDay { day: 29, short: Short::Skip }
            | Pattern::MonthlyNth { nth: Nth::From(5), .. } => cycle(CYCLE_MONTHS),
            Pattern::MonthlyDay { short: Short::Skip, .. } => cycle(12),
            Pattern::Yearly { leap: LeapDay::Skip, .. } => cycle(CYCLE_YEARS),
            Pattern::Once
            | Pattern::Daily
            | Pattern::Weekly(_)
            | Pattern::MonthlyDay { short: Short::Clamp, .. }
            | Pattern::MonthlyNth { nth: Nth::From(_) | Nth::Last, .. }
            | Pattern::LastDay
            | Pattern::Yearly { .. } => 1,
        }
    }

    /// How many of the slots from `from` on, `n` of them, have a date. The slots lie in the first
    /// cycle.
    fn n_filled(&self, n: i64) -> i64 {
        (0..n).map(|slot| i64::from(self.slot_date(slot).is_some())).sum()
    }

    /// How many slots before this one have a date.
    fn rank(&self, slot: i64) -> i64 {
        match self.cycle() {
            1 => slot,
            cycle => slot / cycle * self.n_filled(cycle) + self.n_filled(slot % cycle),
        }
    }

    /// The slot with this many dates before it.
    fn select(&self, rank: i64) -> Option<i64> {
        let cycle = self.cycle();
        if cycle == 1 {
            return Some(rank);
        }
        let per_cycle = self.n_filled(cycle);
        let within = usize::try_from(rank.checked_rem(per_cycle)?).ok()?;
        let slot = (0..cycle).filter(|slot| self.slot_date(*slot).is_some()).nth(within)?;
        rank.checked_div(per_cycle)?.checked_mul(cycle)?.checked_add(slot)
    }
}

/// Quotient, rounded up; the divisor is positive.
fn ceiling(dividend: i64, divisor: i64) -> i64 {
    dividend.div_euclid(divisor) + i64::from(dividend.rem_euclid(divisor) != 0)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn days_between(from: Date, to: Date) -> i64 {
    to.duration_since(from).as_hours() / 24
}

fn days_after(date: Date, days: i64) -> Option<Date> {
    let span = jiff::Span::new().try_days(days).ok()?;
    date.checked_add(span).ok()
}

fn monday_of(date: Date) -> Date {
    let back = date.weekday().to_monday_zero_offset();
    days_after(date, -i64::from(back)).unwrap_or(Date::MIN)
}

/// Months since the beginning of year 0.
fn month_number(date: Date) -> i64 {
    i64::from(date.year()) * 12 + i64::from(date.month()) - 1
}

/// The first of a month.
fn month(number: i64) -> Option<Date> {
    let year = i16::try_from(number.div_euclid(12)).ok()?;
    Date::new(year, i8::try_from(number.rem_euclid(12)).ok()? + 1, 1).ok()
}
