//! What a moment makes of a reminder.
//!
//! Nothing depends on how often or how regularly anybody looks: what became due since the last look
//! is told if it is recent, and goes by the reminder's own policy if it was missed. The number of
//! missed occurrences is arithmetic, so a year of standing still costs no more than a day.

use jiff::{SignedDuration, Timestamp};

use super::{OnMissed, Open, Reminder, Snooze, Status};
use crate::domain::limits::{REMINDER_LATE_TOLD_MAX, REMINDER_STEP_BACK_MAX};
use crate::domain::reminder::lead::Lead;
use crate::domain::reminder::rule::Occurrence;

/// What is the same for all reminders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Lateness from which an occurrence counts as missed.
    pub late_after: SignedDuration,
    /// Lateness up to which one that was missed is told.
    pub grace: SignedDuration,
    /// Time for which one that was told stays open.
    pub open_for: SignedDuration,
    /// Whether what is not acknowledged is told again.
    pub repeat: Option<Repeat>,
    /// Time after which what is not acknowledged is told to a second sink, if it ever is.
    pub escalate_after: Option<SignedDuration>,
}

/// Telling again what nobody acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Time between two tellings.
    pub every: SignedDuration,
    /// How often.
    pub times: u32,
}

/// What is to be done, in one transaction with the changed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Somebody is to be told.
    Tell(Telling),
    /// Occurrences are not told; the next digest says so.
    Skip {
        /// The first of them.
        first: Occurrence,
        /// The last of them.
        last: Occurrence,
        /// How many there are.
        n: u64,
        /// Why.
        why: Skipped,
    },
}

/// Something to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telling {
    /// What it is about.
    pub occurrence: Occurrence,
    /// Which telling of the occurrence it is.
    pub kind: Kind,
    /// When it should be told.
    pub due_at: Timestamp,
    /// Earlier occurrences that were missed and for which it stands.
    pub n_missed: u64,
    /// When it is of no use any more.
    pub expires_at: Timestamp,
}

/// Which telling of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The one that its rule asks for.
    First,
    /// After it was snoozed for the n-th time.
    Snoozed(u32),
    /// The n-th repetition, since nobody acknowledged it.
    Repeated(u32),
    /// To a second sink, since nobody acknowledged it.
    Escalated,
}

/// Why an occurrence is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Skipped {
    /// It was missed, and its reminder says `skip`.
    Missed,
    /// A later one stands for it.
    Superseded,
    /// It was missed and what it announces is over.
    Over,
    /// It was missed for longer than is told late.
    TooLate,
}

impl Skipped {
    /// The name that is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::Superseded => "superseded",
            Self::Over => "over",
            Self::TooLate => "too_late",
        }
    }

    /// Reads a name that was stored.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Missed, Self::Superseded, Self::Over, Self::TooLate];
        all.into_iter().find(|why| why.name() == name)
    }

    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::Superseded => "superseded by a later one",
            Self::Over => "missed, and over by now",
            Self::TooLate => "missed for too long",
        }
    }
}

impl Telling {
    /// How late it is, zero if it is not.
    pub fn lateness(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.due_at).max(SignedDuration::ZERO)
    }

    /// How long it is until what it announces; negative: since.
    pub fn until_event(&self, now: Timestamp) -> SignedDuration {
        self.occurrence.at.duration_since(now)
    }
}

/// The occurrences that are due and have not been dealt with.
#[derive(Clone, Copy)]
struct Due {
    first: Occurrence,
    last: Occurrence,
    n: u64,
}

impl Reminder {
    /// Goes on to `now`: what is due is told or skipped, what is open is repeated, escalated or
    /// closed, and a reminder without anything left is done. The effects are in the order in which
    /// they are to be told.
    #[must_use = "what is due is told by nobody else"]
    pub fn tick(&mut self, now: Timestamp, policy: &Policy) -> Vec<Effect> {
        if self.status == Status::Proposed && self.rule.next_after(now).is_none() {
            self.status = Status::Expired;
        }
        if self.status != Status::Active {
            return Vec::new();
        }
        self.begin_anew_if_the_clock_was_ahead(now);
        self.open = self.open.filter(|open| later(open.told_at, policy.open_for) > now);
        let mut effects = Vec::new();
        if let Some(due) = self.due(now) {
            self.deal_with(due, now, policy, &mut effects);
            self.done_through = Some(due.last.civil);
        }
        self.tell_snoozed(now, policy, &mut effects);
        let is_told = effects.iter().any(|effect| matches!(effect, Effect::Tell(_)));
        if !is_told {
            self.insist(now, policy, &mut effects);
        }
        self.end_if_over();
        effects
    }

    /// When the next [`Reminder::tick`] has something to do, if it ever has.
    pub fn wakes_at(&self, policy: &Policy) -> Option<Timestamp> {
        match self.status {
            Status::Proposed => self.rule.last().map(|last| last.at),
            Status::Active => {
                let pending = self.pending().map(|occurrence| self.due_at(occurrence));
                let snoozed = self.snoozed.iter().map(|snooze| snooze.until).min();
                let open = self.open.into_iter().flat_map(|open| {
                    let closes = Some(later(open.told_at, policy.open_for));
                    [closes, repeats_at(&open, policy), escalates_at(&open, policy)]
                });
                [pending, snoozed].into_iter().chain(open).flatten().min()
            }
            Status::Paused
            | Status::Done
            | Status::Cancelled
            | Status::Declined
            | Status::Expired => None,
        }
    }

    /// A clock that is set back a little brings nothing again. One that was far ahead has dealt with
    /// what is still to come: that counts from now on, as another generation.
    fn begin_anew_if_the_clock_was_ahead(&mut self, now: Timestamp) {
        let latest = later(now, REMINDER_STEP_BACK_MAX);
        let done = self.done_through.and_then(|civil| self.was_due(civil));
        if self.counts_from > latest || done.is_some_and(|done| done > latest) {
            self.counts_from = now;
            self.done_through = None;
            self.open = None;
            self.generation = self.generation.saturating_add(1);
        }
    }

    fn due(&self, now: Timestamp) -> Option<Due> {
        let first = self.pending().filter(|first| self.due_at(*first) <= now)?;
        let ahead = match self.lead {
            Lead::Elapsed(time) => time,
            Lead::Civil { days, .. } => SignedDuration::from_hours(24 * (i64::from(days) + 2)),
        };
        let moment = |occurrence| self.lead.moment(occurrence, self.rule.zone());
        let mut last = self.rule.last_until(later(now, ahead))?;
        while moment(last) > now {
            last = self.before(last)?;
        }
        let n = 1 + self.rule.n_between(first.civil, last.civil);
        Some(Due { first, last, n })
    }

    fn before(&self, occurrence: Occurrence) -> Option<Occurrence> {
        self.rule.last_until(occurrence.at.checked_sub(SignedDuration::from_nanos(1)).ok()?)
    }

    fn deal_with(&mut self, due: Due, now: Timestamp, policy: &Policy, effects: &mut Vec<Effect>) {
        let Due { first, last, n } = due;
        let lateness = now.duration_since(self.due_at(last));
        let is_missed = lateness > policy.late_after;
        let why = match self.on_missed {
            OnMissed::Late => return self.tell_late(due, now, policy, effects),
            OnMissed::Skip if is_missed => Skipped::Missed,
            OnMissed::Coalesce if is_missed && self.lead.is_ahead() => {
                let is_over = now.duration_since(last.at) > policy.late_after;
                if is_over { Skipped::Over } else { Skipped::Superseded }
            }
            OnMissed::Coalesce if lateness > policy.grace => Skipped::TooLate,
            OnMissed::Skip => Skipped::Missed,
            OnMissed::Coalesce => Skipped::Superseded,
        };
        let is_last_told = !is_missed || why == Skipped::Superseded;
        if !is_last_told {
            effects.push(Effect::Skip { first, last, n, why });
            return;
        }
        if let Some(before) = self.before(last).filter(|_| n > 1) {
            effects.push(Effect::Skip { first, last: before, n: n - 1, why });
        }
        let n_missed = if self.on_missed == OnMissed::Coalesce { n - 1 } else { 0 };
        let telling = self.by_rule(last, n_missed, expiry(last, now, policy));
        self.tell(telling, now, effects);
    }

    /// Tells each that is not too late, the latest [`REMINDER_LATE_TOLD_MAX`] of them.
    fn tell_late(&mut self, due: Due, now: Timestamp, policy: &Policy, effects: &mut Vec<Effect>) {
        let is_told = |occurrence: &Occurrence| {
            let lateness = now.duration_since(self.due_at(*occurrence));
            lateness <= policy.grace || occurrence.at > now
        };
        let mut told: Vec<Occurrence> =
            std::iter::successors(Some(due.last), |occurrence| self.before(*occurrence))
                .take_while(|occurrence| occurrence.civil >= due.first.civil && is_told(occurrence))
                .take(REMINDER_LATE_TOLD_MAX)
                .collect();
        told.reverse();
        let last = told.first().map_or(Some(due.last), |first| self.before(*first));
        let n = due.n.saturating_sub(told.len() as u64);
        if let Some(last) = last.filter(|_| n > 0) {
            effects.push(Effect::Skip { first: due.first, last, n, why: Skipped::TooLate });
        }
        for occurrence in told {
            let telling = self.by_rule(occurrence, 0, expiry(occurrence, now, policy));
            self.tell(telling, now, effects);
        }
    }

    fn tell_snoozed(&mut self, now: Timestamp, policy: &Policy, effects: &mut Vec<Effect>) {
        let (mut due, waiting): (Vec<Snooze>, Vec<Snooze>) =
            self.snoozed.drain(..).partition(|snooze| snooze.until <= now);
        self.snoozed = waiting;
        due.sort_by_key(|snooze| snooze.until);
        for Snooze { occurrence, until: due_at, n } in due {
            let (kind, expires_at) = (Kind::Snoozed(n), expiry(occurrence, now, policy));
            self.tell(Telling { occurrence, kind, due_at, n_missed: 0, expires_at }, now, effects);
        }
    }

    /// Tells again what nobody acknowledged.
    fn insist(&mut self, now: Timestamp, policy: &Policy, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else { return };
        let occurrence = open.occurrence;
        let mut again = |kind, due_at| {
            let expires_at = expiry(occurrence, now, policy);
            effects.push(Effect::Tell(Telling {
                occurrence,
                kind,
                due_at,
                n_missed: 0,
                expires_at,
            }));
        };
        if let Some(due_at) = repeats_at(open, policy).filter(|at| *at <= now) {
            open.n_repeats += 1;
            open.last_told_at = now;
            again(Kind::Repeated(open.n_repeats), due_at);
        }
        if let Some(due_at) = escalates_at(open, policy).filter(|at| *at <= now) {
            open.is_escalated = true;
            again(Kind::Escalated, due_at);
        }
    }

    fn tell(&mut self, telling: Telling, now: Timestamp, effects: &mut Vec<Effect>) {
        effects.push(Effect::Tell(telling));
        self.open = Some(Open {
            occurrence: telling.occurrence,
            told_at: now,
            last_told_at: now,
            n_repeats: 0,
            is_escalated: false,
            n_snoozes: if let Kind::Snoozed(n) = telling.kind { n } else { 0 },
        });
    }

    /// The telling that the rule asks for.
    fn by_rule(&self, occurrence: Occurrence, n_missed: u64, expires_at: Timestamp) -> Telling {
        let due_at = self.due_at(occurrence);
        Telling { occurrence, kind: Kind::First, due_at, n_missed, expires_at }
    }
}

/// When what is told is of no use any more, if it takes so long to get through.
fn expiry(occurrence: Occurrence, now: Timestamp, policy: &Policy) -> Timestamp {
    later(occurrence.at.max(now), policy.grace)
}

fn repeats_at(open: &Open, policy: &Policy) -> Option<Timestamp> {
    let repeat = policy.repeat.filter(|repeat| open.n_repeats < repeat.times)?;
    Some(later(open.last_told_at, repeat.every))
}

fn escalates_at(open: &Open, policy: &Policy) -> Option<Timestamp> {
    let after = policy.escalate_after.filter(|_| !open.is_escalated)?;
    Some(later(open.told_at, after))
}

/// A moment so much later, at the end of time at the latest.
pub(in crate::domain::reminder) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}
