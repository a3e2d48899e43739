//! Whether what happened again and again happened by a rule: a meeting remembered on four Fridays.
//!
//! The events of one topic are folded onto a period on the clock on the wall of a zone, so that a change
//! of clocks smears nothing. They follow it if they come at one place of it, if few of its turns are
//! missing, and if the last is not long ago. What is found is only ever suggested, with its evidence.
//!
//! The measure of "at one place" is the mean resultant length of circular statistics (Mardia and Jupp,
//! Directional Statistics, 2000, section 2.3): 1.0 when all come at the same place, near 0 when anywhere.

mod fold;
mod months;

use std::collections::BTreeSet;
use std::ops::Range;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};

use super::reminder::{End, Pattern, Rule, RuleParts, Weekdays};
use fold::Fold;

/// Fewest events that show a rule.
pub const EVENTS_MIN: usize = 4;
/// Fewest different turns of the period among them.
pub const TURNS_MIN: usize = 3;
/// Least concentration of the events at one place of the period, 0.0..=1.0.
pub const CONCENTRATION_MIN: f64 = 0.85;
/// Least share of the turns since the first event that have one.
pub const COVERAGE_MIN: f64 = 0.7;
/// Most turns since the last event.
pub const SILENCE_MAX: f64 = 1.5;
/// Events that were stored within this time of more than [`IMPORT_MIN`] others came in one import: the
/// time of storing says nothing about them.
pub const IMPORT_WINDOW: SignedDuration = SignedDuration::from_secs(60);
/// See [`IMPORT_WINDOW`].
pub const IMPORT_MIN: usize = 5;

/// Days from which a daily rule is told from one of working days.
const DAILY_SPAN_DAYS: i64 = 7;
/// Minutes to which the time of a rule is rounded.
const ROUND_MINUTES: i64 = 5;
/// Seconds of a day on the wall.
const DAY_SECONDS: i64 = 86_400;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// Whether only the day is known; the time of `at` then says nothing.
    pub is_day: bool,
}

/// A rule that events follow, and what speaks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Habit {
    /// The rule, from the next time on.
    pub rule: Rule,
    /// Whether it has a time of day; if not, the rule has the one that was given for such days.
    pub has_time: bool,
    /// Circular standard deviation of the times of day; zero without a time.
    pub spread: SignedDuration,
    /// Concentration of the events at one place of the period, 0.0..=1.0.
    pub concentration: f64,
    /// Turns that have an event.
    pub n_hits: usize,
    /// Turns since the first event.
    pub n_turns: usize,
    /// The events that follow the rule, as places in what was given.
    pub evidence: Vec<usize>,
}

/// The rule that the events of one topic follow, if there is one: weekly, every two weeks, daily or on
/// working days, monthly by day or by weekday, in this order. A rule of days without a time is at
/// `all_day_at`.
pub fn habit(events: &[Event], zone: &TimeZone, now: Timestamp, all_day_at: Time) -> Option<Habit> {
    let now = zone.to_datetime(now);
    let mut seen: Vec<Seen> = events
        .iter()
        .enumerate()
        .map(|(at, event)| Seen { at, civil: zone.to_datetime(event.at), is_day: event.is_day })
        .filter(|seen| seen.civil <= now)
        .collect();
    seen.sort_by_key(|seen| seen.civil);
    if seen.len() < EVENTS_MIN {
        return None;
    }
    let found = weekly(&seen, now, 1)
        .or_else(|| weekly(&seen, now, 2))
        .or_else(|| daily(&seen, now))
        .or_else(|| months::monthly(&seen, now))?;
    found.told(zone, now, all_day_at)
}

/// Which events did not come in one import, by the times at which they were stored.
pub fn stored_apart(stored: &[Timestamp]) -> Vec<bool> {
    let mut order: Vec<(Timestamp, usize)> =
        stored.iter().copied().enumerate().map(|(at, time)| (time, at)).collect();
    order.sort_unstable();
    let mut apart = vec![true; stored.len()];
    let mut window: Range<usize> = 0..0;
    for (time, at) in &order {
        let far = |other: usize| {
            order
                .get(other)
                .is_some_and(|(other, _)| time.duration_since(*other).abs() > IMPORT_WINDOW)
        };
        while far(window.start) {
            window.start += 1;
        }
        while window.end < order.len() && (window.end <= window.start || !far(window.end)) {
            window.end += 1;
        }
        if let Some(apart) = apart.get_mut(*at) {
            *apart = window.len() <= IMPORT_MIN + 1;
        }
    }
    apart
}

/// An event on the wall.
#[derive(Clone, Copy)]
struct Seen {
    /// Its place in what was given.
    at: usize,
    civil: DateTime,
    is_day: bool,
}

/// A pattern that events follow.
struct Found {
    pattern: Pattern,
    every: u32,
    concentration: f64,
    n_hits: usize,
    n_turns: usize,
    /// The events that follow it.
    hits: Vec<Seen>,
}

impl Found {
    /// It with its time and its next day.
    fn told(self, zone: &TimeZone, now: DateTime, all_day_at: Time) -> Option<Habit> {
        let seconds: Vec<i64> = self
            .hits
            .iter()
            .filter(|hit| !hit.is_day)
            .map(|hit| seconds_of(hit.civil.time()))
            .collect();
        let clock = Fold::of(&seconds, DAY_SECONDS);
        let has_time = seconds.len() * 2 > self.hits.len()
            && clock.is_some_and(|clock| clock.concentration >= CONCENTRATION_MIN);
        let (time, spread) = match clock.filter(|_| has_time) {
            Some(clock) => (rounded(clock.place)?, SignedDuration::from_secs(clock.spread)),
            None => (all_day_at, SignedDuration::ZERO),
        };
        let start = self.start(now, time)?;
        let rule = Rule::new(RuleParts {
            start: start.to_datetime(time),
            zone: zone.clone(),
            pattern: self.pattern,
            every: self.every,
            end: End::Never,
            except: BTreeSet::new(),
        })
        .ok()?;
        let mut evidence: Vec<usize> = self.hits.iter().map(|hit| hit.at).collect();
        evidence.sort_unstable();
        Some(Habit {
            rule,
            has_time,
            spread,
            concentration: self.concentration,
            n_hits: self.n_hits,
            n_turns: self.n_turns,
            evidence,
        })
    }

    /// The first day that may have the next occurrence.
    fn start(&self, now: DateTime, time: Time) -> Option<Date> {
        let is_past = now.time() >= time;
        let next = if is_past { now.date().tomorrow().ok()? } else { now.date() };
        if self.every == 1 {
            return Some(next);
        }
        // Every two weeks counts from the last that was.
        let last = self.hits.last()?.civil.date();
        let weeks = i64::from(self.every);
        let mut day = last;
        while day < next {
            day = day.checked_add(Span::new().try_weeks(weeks).ok()?).ok()?;
        }
        Some(day)
    }
}

/// Every week or every two.
fn weekly(seen: &[Seen], now: DateTime, weeks: i64) -> Option<Found> {
    let period = weeks * 7 * DAY_SECONDS;
    let seconds: Vec<i64> = seen.iter().map(|seen| since_monday(seen.civil)).collect();
    let fold = Fold::of(&seconds, period)?;
    let (n_hits, n_turns) = turns(&seconds, since_monday(now), period, &fold)?;
    if fold.concentration < CONCENTRATION_MIN {
        return None;
    }
    let weekday = most(seen.iter().map(|seen| seen.civil.date().weekday()))?;
    let hits: Vec<Seen> =
        seen.iter().copied().filter(|seen| seen.civil.date().weekday() == weekday).collect();
    if hits.len() < EVENTS_MIN {
        return None;
    }
    Some(Found {
        pattern: Pattern::Weekly(Weekdays::one(weekday)),
        every: u32::try_from(weeks).ok()?,
        concentration: fold.concentration,
        n_hits,
        n_turns,
        hits,
    })
}

/// Every day, or every working day.
fn daily(seen: &[Seen], now: DateTime) -> Option<Found> {
    let timed: Vec<i64> =
        seen.iter().filter(|seen| !seen.is_day).map(|seen| seconds_of(seen.civil.time())).collect();
    let concentration =
        if timed.is_empty() { 1.0 } else { Fold::of(&timed, DAY_SECONDS)?.concentration };
    let (first, last) = (seen.first()?.civil.date(), seen.last()?.civil.date());
    let span = i64::from(first.until(last).ok()?.get_days());
    if concentration < CONCENTRATION_MIN || span < DAILY_SPAN_DAYS {
        return None;
    }
    let is_working = |date: Date| Weekdays::WORKING.contains(date.weekday());
    let is_of_work = seen.iter().all(|seen| is_working(seen.civil.date()));
    let mut days: Vec<Date> = seen.iter().map(|seen| seen.civil.date()).collect();
    days.dedup();
    let until_now = first.series(Span::new().days(1)).take_while(|day| *day <= now.date());
    let n_turns = until_now.filter(|day| !is_of_work || is_working(*day)).count();
    // A weekend may lie between the last and now.
    let silence = last.until(now.date()).ok()?.get_days();
    let is_silent = silence > if is_of_work { 3 } else { 1 };
    if days.len() < TURNS_MIN || is_silent || !covers(days.len(), n_turns) {
        return None;
    }
    let pattern = if is_of_work { Pattern::Weekly(Weekdays::WORKING) } else { Pattern::Daily };
    let hits = seen.to_vec();
    Some(Found { pattern, every: 1, concentration, n_hits: days.len(), n_turns, hits })
}

/// How many turns of a period have an event and how many there were since the first, if they are enough.
fn turns(seconds: &[i64], now: i64, period: i64, fold: &Fold) -> Option<(usize, usize)> {
    let turn = |second: i64| (second - fold.place + period / 2).div_euclid(period);
    let mut hits: Vec<i64> = seconds.iter().map(|second| turn(*second)).collect();
    hits.sort_unstable();
    hits.dedup();
    let (first, last) = (*hits.first()?, *hits.last()?);
    // The turn that is still ahead is not missing yet.
    let this = (now - fold.place).div_euclid(period).max(last);
    let n_turns = usize::try_from(this - first + 1).ok()?;
    let since_last = (now - *seconds.last()?) as f64 / period as f64;
    let fits = hits.len() >= TURNS_MIN && since_last <= SILENCE_MAX && covers(hits.len(), n_turns);
    fits.then_some((hits.len(), n_turns))
}

fn covers(n_hits: usize, n_turns: usize) -> bool {
    n_hits as f64 >= COVERAGE_MIN * n_turns as f64
}

/// The most frequent, the first of several.
fn most<T: Copy + PartialEq>(values: impl Iterator<Item = T>) -> Option<T> {
    let values: Vec<T> = values.collect();
    let count = |value: &T| values.iter().filter(|other| *other == value).count();
    let best = values.iter().map(count).max()?;
    values.iter().find(|value| count(value) == best).copied()
}

/// Seconds on the wall since a Monday.
fn since_monday(civil: DateTime) -> i64 {
    let days = Date::constant(1970, 1, 5).until(civil.date()).map_or(0, |span| span.get_days());
    i64::from(days) * DAY_SECONDS + seconds_of(civil.time())
}

fn seconds_of(time: Time) -> i64 {
    i64::from(time.hour()) * 3_600 + i64::from(time.minute()) * 60 + i64::from(time.second())
}

/// A time of day to the nearest five minutes.
fn rounded(second: i64) -> Option<Time> {
    let step = ROUND_MINUTES * 60;
    let minutes = ((second + step / 2) / step * ROUND_MINUTES).rem_euclid(24 * 60);
    Time::new(i8::try_from(minutes / 60).ok()?, i8::try_from(minutes % 60).ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests;
