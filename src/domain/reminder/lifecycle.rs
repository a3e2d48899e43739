//! The life of a reminder: what is stored of it, and what people and agents do to it.
//!
//! A reminder is not told again because somebody looked twice: it keeps up to which occurrence it has
//! dealt with, as the time on the wall that names the occurrence, so that neither a clock that is set
//! back nor new data about its zone brings one again. What was told stays *open* until it is
//! acknowledged; snoozing it makes one more telling and leaves the rule alone.

mod tick;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::lead::Lead;
use super::rule::{Occurrence, Rule, instant};
use crate::domain::limits::{REMINDER_SNOOZED_MAX, SNOOZE_DAYS_MAX};
use crate::domain::memory::named_values;

pub(super) use tick::later;
pub use tick::{Effect, Kind, Policy, Repeat, Skipped, Telling};

named_values! {
    /// Where a reminder is in its life.
    Status {
        /// Found in a text or a pattern; nobody has asked for it.
        Proposed = "proposed",
        /// It is told when it is due.
        Active = "active",
        /// Nothing is told of it until it is resumed.
        Paused = "paused",
        /// It has nothing more to tell, or was said to be done.
        Done = "done",
        /// It was called off.
        Cancelled = "cancelled",
        /// The proposal was not wanted.
        Declined = "declined",
        /// The proposal was not taken before its time had passed.
        Expired = "expired",
    }
}

named_values! {
    /// What becomes of what was missed while nothing ran.
    OnMissed {
        /// Each is told late, as long as it may be.
        Late = "late",
        /// It is not told, and noted.
        Skip = "skip",
        /// The latest is told for all of them.
        Coalesce = "coalesce",
    }
}

named_values! {
    /// How much a reminder matters.
    Priority {
        /// It may wait for the end of quiet hours and be told together with others.
        Normal = "normal",
        /// It is told at once, by itself, at any hour.
        Urgent = "urgent",
    }
}

named_values! {
    /// What there is to say of a reminder now; the heads of a listing.
    Standing {
        /// Told and not acknowledged.
        Due = "due",
        /// It will be told.
        Upcoming = "upcoming",
        /// Told, and to be told once more later.
        Snoozed = "snoozed",
        /// Somebody has to accept it first.
        Proposed = "proposed",
        /// It stands still.
        Paused = "paused",
        /// It is over.
        Past = "past",
    }
}

/// A reminder. Who set it, what it says and where it is told are not its business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reminder {
    /// When what it is about takes place.
    pub rule: Rule,
    /// How long before that it is told.
    pub lead: Lead,
    /// How much it matters.
    pub priority: Priority,
    /// What becomes of missed occurrences.
    pub on_missed: OnMissed,
    /// Whether a person named the time of day; then it is told in quiet hours that it lies in.
    pub is_timed: bool,
    /// Where it is in its life.
    pub status: Status,
    /// What took place at or before this moment is never told.
    pub counts_from: Timestamp,
    /// The occurrence up to which all have been told or skipped.
    pub done_through: Option<DateTime>,
    /// What was told last and is not acknowledged.
    pub open: Option<Open>,
    /// What is to be told once more, at most [`REMINDER_SNOOZED_MAX`].
    pub snoozed: Vec<Snooze>,
    /// Times that it had to begin anew because the clock had been far ahead: part of the identity of
    /// a telling, since those occurrences come again.
    pub generation: u32,
}

/// An occurrence that was told and is not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Which.
    pub occurrence: Occurrence,
    /// When it was told first.
    pub told_at: Timestamp,
    /// When it was told last.
    pub last_told_at: Timestamp,
    /// How often it was repeated.
    pub n_repeats: u32,
    /// Whether another sink was told.
    pub is_escalated: bool,
    /// How often it has been snoozed.
    pub n_snoozes: u32,
}

/// An occurrence that is to be told once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snooze {
    /// Which.
    pub occurrence: Occurrence,
    /// When.
    pub until: Timestamp,
    /// The how many-th time that it is snoozed, from 1.
    pub n: u32,
}

/// Why something cannot be done to a reminder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// Not in this part of its life.
    #[error("cannot {action} a reminder that is {status}")]
    Status {
        /// What was asked for.
        action: &'static str,
        /// What it is.
        status: Status,
    },
    /// Nothing was told that could be acknowledged or snoozed.
    #[error("cannot {0}: no occurrence has been told and is open; its next is told when it is due")]
    NothingOpen(&'static str),
    /// A moment that is no later one.
    #[error("cannot snooze until {0}: expected a moment after now, within {SNOOZE_DAYS_MAX} days")]
    Until(Timestamp),
    /// Too much is snoozed.
    #[error("cannot snooze: {REMINDER_SNOOZED_MAX} occurrences of it are snoozed already")]
    Snoozed,
    /// A rule without an occurrence that is still to come.
    #[error("the time has passed: its last occurrence was before now")]
    Passed,
}

impl Reminder {
    /// A reminder from `now` on, [`Status::Active`] or [`Status::Proposed`]. One occurrence that is
    /// missed is told late, of many the latest is told.
    ///
    /// # Errors
    /// [`ActionError::Passed`]: all occurrences are over.
    pub fn new(
        rule: Rule,
        lead: Lead,
        status: Status,
        now: Timestamp,
    ) -> Result<Self, ActionError> {
        rule.next_after(now).ok_or(ActionError::Passed)?;
        let on_missed = if rule.is_once() { OnMissed::Late } else { OnMissed::Coalesce };
        Ok(Self {
            rule,
            lead,
            priority: Priority::Normal,
            on_missed,
            is_timed: true,
            status,
            counts_from: now,
            done_through: None,
            open: None,
            snoozed: Vec::new(),
            generation: 0,
        })
    }

    /// What there is to say of it.
    pub fn standing(&self) -> Standing {
        match self.status {
            Status::Proposed => Standing::Proposed,
            Status::Paused => Standing::Paused,
            Status::Active if self.open.is_some() => Standing::Due,
            Status::Active if !self.snoozed.is_empty() => Standing::Snoozed,
            Status::Active => Standing::Upcoming,
            Status::Done | Status::Cancelled | Status::Declined | Status::Expired => Standing::Past,
        }
    }

    /// The next `n` moments at which it is told by its rule, with what they are about.
    pub fn upcoming(&self, n: usize) -> Vec<(Timestamp, Occurrence)> {
        std::iter::successors(self.pending(), |last| self.rule.next_after(last.at))
            .take(n)
            .map(|occurrence| (self.due_at(occurrence), occurrence))
            .collect()
    }

    /// The first occurrence that has not been dealt with.
    pub(super) fn pending(&self) -> Option<Occurrence> {
        let by_clock = self.rule.next_after(self.counts_from)?;
        let Some(done) = self.done_through.filter(|done| *done >= by_clock.civil) else {
            return Some(by_clock);
        };
        self.rule.next_after_civil(done)
    }

    /// When an occurrence is to be told: its lead before it, but not before the reminder counts.
    pub(super) fn due_at(&self, occurrence: Occurrence) -> Timestamp {
        self.lead.moment(occurrence, self.rule.zone()).max(self.counts_from)
    }

    /// Takes up a proposal.
    ///
    /// # Errors
    /// [`ActionError::Status`], [`ActionError::Passed`].
    pub fn accept(&mut self, now: Timestamp) -> Result<(), ActionError> {
        self.check("accept", &[Status::Proposed])?;
        self.rule.next_after(now).ok_or(ActionError::Passed)?;
        self.status = Status::Active;
        self.counts_from = now;
        Ok(())
    }

    /// Turns down a proposal.
    ///
    /// # Errors
    /// [`ActionError::Status`].
    pub fn decline(&mut self) -> Result<(), ActionError> {
        self.check("decline", &[Status::Proposed])?;
        self.end(Status::Declined);
        Ok(())
    }

    /// Tells nothing more until it is resumed.
    ///
    /// # Errors
    /// [`ActionError::Status`].
    pub fn pause(&mut self) -> Result<(), ActionError> {
        self.check("pause", &[Status::Active])?;
        self.status = Status::Paused;
        Ok(())
    }

    /// Goes on with what takes place after `now`; what was snoozed until a moment before is told late.
    ///
    /// # Errors
    /// [`ActionError::Status`], [`ActionError::Passed`]: nothing of it is left to tell.
    pub fn resume(&mut self, now: Timestamp) -> Result<(), ActionError> {
        self.check("resume", &[Status::Paused])?;
        if self.told().is_none() {
            self.rule.next_after(now).ok_or(ActionError::Passed)?;
        }
        self.status = Status::Active;
        self.counts_from = now;
        Ok(())
    }

    /// Calls it off.
    ///
    /// # Errors
    /// [`ActionError::Status`].
    pub fn cancel(&mut self) -> Result<(), ActionError> {
        self.check("cancel", &[Status::Proposed, Status::Active, Status::Paused])?;
        self.end(Status::Cancelled);
        Ok(())
    }

    /// What it is about is done, with all that was to come.
    ///
    /// # Errors
    /// [`ActionError::Status`].
    pub fn finish(&mut self) -> Result<(), ActionError> {
        self.check("finish", &[Status::Active, Status::Paused])?;
        self.end(Status::Done);
        Ok(())
    }

    /// Acknowledges what is open or snoozed: it is not told again. The rule goes on.
    ///
    /// # Errors
    /// [`ActionError::Status`], [`ActionError::NothingOpen`].
    pub fn acknowledge(&mut self) -> Result<(), ActionError> {
        self.check("acknowledge", &[Status::Active, Status::Paused])?;
        let Some(occurrence) = self.told() else {
            return Err(ActionError::NothingOpen("acknowledge"));
        };
        self.open = None;
        self.snoozed.retain(|snooze| snooze.occurrence != occurrence);
        self.end_if_over();
        Ok(())
    }

    /// Tells what is open or snoozed once more at `until`, and not before.
    ///
    /// # Errors
    /// [`ActionError::Status`], [`ActionError::NothingOpen`], [`ActionError::Until`],
    /// [`ActionError::Snoozed`].
    pub fn snooze(&mut self, until: Timestamp, now: Timestamp) -> Result<(), ActionError> {
        self.check("snooze", &[Status::Active, Status::Paused])?;
        let Some(occurrence) = self.told() else { return Err(ActionError::NothingOpen("snooze")) };
        let longest = SignedDuration::from_hours(24 * SNOOZE_DAYS_MAX);
        if until <= now || until.duration_since(now) > longest {
            return Err(ActionError::Until(until));
        }
        let before = self.snoozed.iter().position(|snooze| snooze.occurrence == occurrence);
        if before.is_none() && self.snoozed.len() >= REMINDER_SNOOZED_MAX {
            return Err(ActionError::Snoozed);
        }
        let replaced = before.map(|place| self.snoozed.remove(place).n);
        let n_snoozes =
            self.open.filter(|open| open.occurrence == occurrence).map(|open| open.n_snoozes);
        let n = replaced.unwrap_or(0).max(n_snoozes.unwrap_or(0)).saturating_add(1);
        self.snoozed.push(Snooze { occurrence, until, n });
        self.open = None;
        Ok(())
    }

    /// Gives it another rule or lead. An occurrence that was told and is one still is not told again.
    ///
    /// # Errors
    /// [`ActionError::Status`], [`ActionError::Passed`].
    pub fn change(&mut self, rule: Rule, lead: Lead, now: Timestamp) -> Result<(), ActionError> {
        self.check("change", &[Status::Proposed, Status::Active, Status::Paused])?;
        let next = rule.next_after(now).ok_or(ActionError::Passed)?;
        let is_told = rule.zone() == self.rule.zone()
            && self.done_through.is_some_and(|done| done >= next.civil && rule.has(done));
        if !is_told {
            self.done_through = None;
            self.open = None;
        }
        self.rule = rule;
        self.lead = lead;
        self.counts_from = now;
        Ok(())
    }

    fn check(&self, action: &'static str, allowed: &[Status]) -> Result<(), ActionError> {
        let status = self.status;
        if allowed.contains(&status) { Ok(()) } else { Err(ActionError::Status { action, status }) }
    }

    /// What was told last: what is open, else what was snoozed last.
    fn told(&self) -> Option<Occurrence> {
        let snoozed = || self.snoozed.last().map(|snooze| snooze.occurrence);
        self.open.map(|open| open.occurrence).or_else(snoozed)
    }

    fn end(&mut self, status: Status) {
        self.status = status;
        self.open = None;
        self.snoozed.clear();
    }

    /// Ends it when it has nothing more to tell.
    fn end_if_over(&mut self) {
        let is_over = self.open.is_none() && self.snoozed.is_empty() && self.pending().is_none();
        if is_over && self.status == Status::Active {
            self.status = Status::Done;
        }
    }

    /// The moment at which an occurrence that is known by its time on the wall was due.
    fn was_due(&self, civil: DateTime) -> Option<Timestamp> {
        let at = instant(civil, self.rule.zone())?;
        Some(self.lead.moment(Occurrence { civil, at }, self.rule.zone()))
    }
}

#[cfg(test)]
mod tests;
