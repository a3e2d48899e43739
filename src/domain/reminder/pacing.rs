//! How often a sink is used, how long it is left alone after a failure, and how much a person is
//! told unasked.

use jiff::{SignedDuration, Timestamp};

use super::lifecycle::later;
use crate::domain::limits::{RETRY_AFTER_MAX, RETRY_AFTER_MIN};

/// Waits between the attempts at one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Bound of the first wait.
    pub base: SignedDuration,
    /// Bound of any wait.
    pub max: SignedDuration,
}

impl Backoff {
    /// The wait after the n-th attempt, from 1: `random` (0.0..1.0) of a bound that doubles each
    /// time (Brooker 2015, "Exponential Backoff and Jitter", full jitter), in whole microseconds: times
    /// are kept so, and what was kept is compared with what is at hand.
    pub fn wait(&self, n_attempts: u32, random: f64) -> SignedDuration {
        let doublings = n_attempts.saturating_sub(1).min(20);
        let bound = self.base.saturating_mul(1 << doublings).min(self.max);
        let wait = SignedDuration::try_from_secs_f64(bound.as_secs_f64() * random.clamp(0.0, 1.0))
            .unwrap_or(bound);
        i64::try_from(wait.as_micros()).map_or(wait, SignedDuration::from_micros)
    }
}

/// What a sink asks for when it says how long to leave it alone, within reason.
pub fn retry_after(asked: SignedDuration) -> SignedDuration {
    asked.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX)
}

/// How often a sink takes a message: one in `every` on average, `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Time between two messages.
    pub every: SignedDuration,
    /// Messages at once, from 1.
    pub burst: u32,
}

impl Pace {
    /// When the next message may go. `full_at` is when all of the burst is free again (the
    /// theoretical arrival time of the generic cell rate algorithm, ITU-T I.371).
    pub fn next_at(&self, full_at: Timestamp) -> Timestamp {
        let ahead =
            self.every.saturating_mul(i32::try_from(self.burst.saturating_sub(1)).unwrap_or(0));
        full_at.checked_sub(ahead).unwrap_or(full_at)
    }

    /// `full_at` after a message at `now`.
    #[must_use]
    pub fn used(&self, full_at: Timestamp, now: Timestamp) -> Timestamp {
        later(full_at.max(now), self.every)
    }
}

/// When a sink that fails is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row from which it is.
    pub n_failures: u32,
    /// For how long at first; the time doubles with each failure after that.
    pub pause: SignedDuration,
    /// For how long at most.
    pub pause_max: SignedDuration,
}

/// What is known of a sink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkState {
    /// Failures since the last success.
    pub n_failures: u32,
    /// It is left alone until then.
    pub paused_until: Option<Timestamp>,
    /// Why it takes nothing until somebody sees to it.
    pub disabled: Option<String>,
    /// Since when.
    pub disabled_at: Option<Timestamp>,
    /// See [`Pace::next_at`].
    pub full_at: Option<Timestamp>,
}

/// Whether a sink can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate<'a> {
    /// Now.
    Open,
    /// Not before this moment.
    Wait(Timestamp),
    /// Not until somebody sees to it, and why.
    Disabled(&'a str),
}

impl SinkState {
    /// Whether it can be used at `now`. After a pause one message tries it.
    pub fn gate(&self, pace: &Pace, now: Timestamp) -> Gate<'_> {
        if let Some(why) = &self.disabled {
            return Gate::Disabled(why);
        }
        // No pause is longer: the clock was ahead when it began.
        let paused = self.paused_until.filter(|until| *until <= later(now, RETRY_AFTER_MAX));
        let paced = self.full_at(pace, now).map(|full_at| pace.next_at(full_at));
        match paused.max(paced).filter(|at| *at > now) {
            Some(at) => Gate::Wait(at),
            None => Gate::Open,
        }
    }

    /// A message goes to it.
    pub fn use_at(&mut self, pace: &Pace, now: Timestamp) {
        self.full_at = Some(pace.used(self.full_at(pace, now).unwrap_or(now), now));
    }

    /// When all of the burst is free again, unless the clock was ahead when that was noted.
    fn full_at(&self, pace: &Pace, now: Timestamp) -> Option<Timestamp> {
        let all = pace.every.saturating_mul(i32::try_from(pace.burst).unwrap_or(i32::MAX));
        self.full_at.filter(|full_at| *full_at <= later(now, all))
    }

    /// It took a message.
    pub fn succeed(&mut self) {
        self.n_failures = 0;
        self.paused_until = None;
    }

    /// It did not answer, or said that it cannot now; `asked` is for how long it asked to be left
    /// alone, which holds for all messages to it.
    pub fn fail(&mut self, breaker: &Breaker, asked: Option<SignedDuration>, now: Timestamp) {
        self.n_failures = self.n_failures.saturating_add(1);
        let beyond = self.n_failures.checked_sub(breaker.n_failures.max(1));
        let pause = beyond
            .map(|beyond| breaker.pause.saturating_mul(1 << beyond.min(20)).min(breaker.pause_max));
        let wait = asked.map(retry_after).max(pause);
        let before = self.paused_until.filter(|until| *until <= later(now, RETRY_AFTER_MAX));
        self.paused_until = before.max(wait.map(|wait| later(now, wait)));
    }

    /// It is gone, or takes nothing from us.
    pub fn disable(&mut self, why: String, now: Timestamp) {
        self.disabled_at = self.disabled_at.filter(|_| self.disabled.is_some()).or(Some(now));
        self.disabled = Some(why);
    }

    /// Somebody has seen to it.
    pub fn enable(&mut self) {
        self.disabled = None;
        self.disabled_at = None;
    }
}

/// How many messages that nobody asked for a person gets from a sink: repetitions and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NagBudget {
    /// In a day.
    pub per_day: usize,
    /// Time between two.
    pub apart: SignedDuration,
}

impl NagBudget {
    /// Whether one more may go at `now`, after those that went at `told`, in order. What may not
    /// waits for the next digest.
    pub fn allows(&self, told: &[Timestamp], now: Timestamp) -> bool {
        self.allowed_from(told, now) <= now
    }

    /// From when on one more may go; in the past: it may go now. What was told after `now`, by a clock
    /// that was ahead, does not count.
    pub fn allowed_from(&self, told: &[Timestamp], now: Timestamp) -> Timestamp {
        let day = SignedDuration::from_hours(24);
        let told = told.get(..told.partition_point(|at| *at <= now)).unwrap_or(told);
        if self.per_day == 0 {
            return Timestamp::MAX;
        }
        let apart = told.last().map(|last| later(*last, self.apart));
        // The one that has to be a day old for another one to be among so many a day.
        let oldest = told.len().checked_sub(self.per_day).and_then(|at| told.get(at));
        let fewer = oldest.map(|oldest| later(*oldest, day));
        apart.into_iter().chain(fewer).max().unwrap_or(now)
    }
}

#[cfg(test)]
mod tests;
