//! One message to one sink, from queued to sent: a row of the outbox.
//!
//! A row is claimed under a lease, the call is noted before it is made, and the outcome is recorded
//! after. Whatever ends in between leaves a row that says how far it came: without a noted call
//! nothing was sent; with one nobody knows, and the sink may have taken it. Such a row is sent again
//! where the sink knows it by its key, else once more and marked as a possible repetition, or left
//! as *uncertain*.

mod key;

use jiff::{SignedDuration, Timestamp};

use super::lifecycle::later;
use super::pacing::{Backoff, retry_after};
use crate::domain::limits::RETRY_AFTER_MAX;
use crate::domain::memory::named_values;

pub use key::{DeliveryKey, InvalidDeliveryKey};

named_values! {
    /// How far a delivery came.
    DeliveryState {
        /// It is to be sent.
        Queued = "queued",
        /// The sink took it.
        Sent = "sent",
        /// The sink took it and may still fail without telling.
        Accepted = "accepted",
        /// Whether the sink took it is not known, and it is not sent again.
        Uncertain = "uncertain",
        /// It was given up.
        Dead = "dead",
        /// A person dropped it.
        Dropped = "dropped",
    }
}

/// A delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What makes it one and the same for us and for a sink that knows keys.
    pub key: DeliveryKey,
    /// Name of the sink.
    pub sink: String,
    /// How far it came.
    pub state: DeliveryState,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When what it tells was due.
    pub due_at: Timestamp,
    /// It is not sent before.
    pub not_before: Timestamp,
    /// It is not sent from then on.
    pub expires_at: Timestamp,
    /// Calls that were made.
    pub n_attempts: u32,
    /// Who is sending it.
    pub lease: Option<Lease>,
    /// When the call that is under way, or was last made, began.
    pub called_at: Option<Timestamp>,
    /// Whether an earlier call may have got through.
    pub may_repeat: bool,
    /// What was wrong last, without secrets.
    pub why: Option<String>,
    /// When it was sent.
    pub sent_at: Option<Timestamp>,
    /// What the sink calls it.
    pub remote_id: Option<String>,
}

/// The right to send a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// A number that nobody else has.
    pub owner: u128,
    /// It ends by itself then.
    pub until: Timestamp,
}

/// How deliveries are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Waits between attempts.
    pub backoff: Backoff,
    /// Attempts after which it is given up.
    pub attempts_max: u32,
    /// Whether the sink tells by the key that it has a message already.
    pub sink_knows_keys: bool,
    /// Whether an uncertain one is sent once more to a sink that does not.
    pub repeats_uncertain: bool,
}

/// What came of a call. No reason quotes a message or holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The sink took it.
    Sent {
        /// What the sink calls it.
        remote_id: Option<String>,
    },
    /// The sink took it and may still fail without telling.
    Accepted,
    /// The sink did not take it, and may later.
    Retry {
        /// How long it asked to be left alone, by every message.
        after: Option<SignedDuration>,
        /// What was wrong.
        why: String,
    },
    /// The sink will never take it; it may take others.
    Refused(String),
    /// The sink takes nothing from us until somebody sees to it (`SinkState::disable`): it waits.
    Disabled(String),
    /// There was no answer that can be believed: it may have been taken.
    Unknown(String),
}

/// What there is to do about a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// It can be claimed.
    Claim,
    /// Nothing before this moment.
    Wait(Timestamp),
    /// Its lease has ended: [`Delivery::recover`].
    Recover,
    /// Its time is over: [`Delivery::expire`].
    Expire,
    /// Nothing any more.
    Nothing,
}

/// Why a step is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// Not now, or not in this state.
    #[error("cannot {step} a delivery that is {state}")]
    State {
        /// What was asked for.
        step: &'static str,
        /// How far it is.
        state: DeliveryState,
    },
    /// Somebody else may be sending it by now.
    #[error("the lease of the delivery is over")]
    LeaseLost,
}

impl Delivery {
    /// A delivery that nobody has tried.
    pub const fn new(
        key: DeliveryKey,
        sink: String,
        due_at: Timestamp,
        not_before: Timestamp,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Self {
        Self {
            key,
            sink,
            state: DeliveryState::Queued,
            created_at: now,
            due_at,
            not_before,
            expires_at,
            n_attempts: 0,
            lease: None,
            called_at: None,
            may_repeat: false,
            why: None,
            sent_at: None,
            remote_id: None,
        }
    }

    /// What there is to do about it.
    pub fn next_step(&self, now: Timestamp) -> NextStep {
        match (self.state, self.lease) {
            (DeliveryState::Queued, Some(lease)) if lease.until > now => {
                NextStep::Wait(lease.until)
            }
            (DeliveryState::Queued, Some(_)) => NextStep::Recover,
            (DeliveryState::Queued, None) if self.expires_at <= now => NextStep::Expire,
            (DeliveryState::Queued, None) if self.not_before > now => {
                NextStep::Wait(self.not_before.min(self.expires_at))
            }
            (DeliveryState::Queued, None) => NextStep::Claim,
            (
                DeliveryState::Sent
                | DeliveryState::Accepted
                | DeliveryState::Uncertain
                | DeliveryState::Dead
                | DeliveryState::Dropped,
                _,
            ) => NextStep::Nothing,
        }
    }

    /// Takes the right to send it.
    ///
    /// # Errors
    /// [`StepError::State`]: [`Delivery::next_step`] is something else.
    pub fn claim(&mut self, lease: Lease, now: Timestamp) -> Result<(), StepError> {
        if self.next_step(now) != NextStep::Claim {
            return Err(self.cannot("claim"));
        }
        self.lease = Some(lease);
        self.called_at = None;
        Ok(())
    }

    /// Notes that the sink is going to be called; this is stored before the call.
    ///
    /// # Errors
    /// [`StepError::LeaseLost`].
    pub fn call(&mut self, owner: u128, now: Timestamp) -> Result<(), StepError> {
        let is_ours = self.lease.is_some_and(|lease| lease.owner == owner && lease.until > now);
        if !is_ours || self.called_at.is_some() {
            return Err(StepError::LeaseLost);
        }
        self.called_at = Some(now);
        self.n_attempts = self.n_attempts.saturating_add(1);
        Ok(())
    }

    /// Gives the right back without a call, and is not tried before `until`.
    ///
    /// # Errors
    /// [`StepError::LeaseLost`].
    pub fn release(&mut self, owner: u128, until: Timestamp) -> Result<(), StepError> {
        if self.lease.is_none_or(|lease| lease.owner != owner) || self.called_at.is_some() {
            return Err(StepError::LeaseLost);
        }
        self.lease = None;
        self.not_before = self.not_before.max(until);
        Ok(())
    }

    /// Records what came of the call that began at `called_at`. That it was sent is recorded even
    /// after the lease has ended, as long as nobody has called again.
    ///
    /// # Errors
    /// [`StepError::LeaseLost`].
    pub fn settle(
        &mut self,
        owner: u128,
        called_at: Timestamp,
        outcome: Outcome,
        policy: &RetryPolicy,
        random: f64,
        now: Timestamp,
    ) -> Result<(), StepError> {
        let is_ours = self.lease.is_some_and(|lease| lease.owner == owner);
        let is_taken = matches!(outcome, Outcome::Sent { .. } | Outcome::Accepted);
        let is_open = matches!(self.state, DeliveryState::Queued | DeliveryState::Uncertain);
        let is_last = self.lease.is_none() && is_open && is_taken;
        if self.called_at != Some(called_at) || !(is_ours || is_last) {
            return Err(StepError::LeaseLost);
        }
        self.lease = None;
        match outcome {
            Outcome::Sent { remote_id } => {
                self.remote_id = remote_id;
                self.end(DeliveryState::Sent, None);
                self.sent_at = Some(now);
            }
            Outcome::Accepted => {
                self.end(DeliveryState::Accepted, None);
                self.sent_at = Some(now);
            }
            Outcome::Refused(why) => self.end(DeliveryState::Dead, Some(why)),
            Outcome::Retry { after, why } => self.try_again(after, why, policy, random, now),
            Outcome::Disabled(why) => self.try_again(None, why, policy, random, now),
            Outcome::Unknown(why) => self.doubt(why, policy, random, now),
        }
        Ok(())
    }

    /// Takes up a delivery whose lease ended without an outcome: whoever held it is gone.
    ///
    /// # Errors
    /// [`StepError::State`]: there is no lease, or it has not ended.
    pub fn recover(
        &mut self,
        policy: &RetryPolicy,
        random: f64,
        now: Timestamp,
    ) -> Result<(), StepError> {
        if self.next_step(now) != NextStep::Recover {
            return Err(self.cannot("recover"));
        }
        self.take_over(policy, random, now)
    }

    /// The same before the lease has ended, by who knows that whoever held it is gone.
    ///
    /// # Errors
    /// [`StepError::State`]: there is no lease.
    pub fn take_over(
        &mut self,
        policy: &RetryPolicy,
        random: f64,
        now: Timestamp,
    ) -> Result<(), StepError> {
        if self.state != DeliveryState::Queued || self.lease.is_none() {
            return Err(self.cannot("take over"));
        }
        self.lease = None;
        if self.called_at.is_some() {
            self.doubt("it ended before the answer".to_owned(), policy, random, now);
        }
        Ok(())
    }

    /// Waits no longer if it would wait longer than any attempt does: that was asked for by a clock
    /// that has been set back since. Whether that is so.
    pub fn hasten(&mut self, policy: &RetryPolicy, now: Timestamp) -> bool {
        let latest = later(now, policy.backoff.max.max(RETRY_AFTER_MAX));
        let is_waiting = self.state == DeliveryState::Queued && self.lease.is_none();
        let is_ahead = is_waiting && self.not_before > latest;
        if is_ahead {
            self.not_before = now;
        }
        is_ahead
    }

    /// Gives up what came too late.
    ///
    /// # Errors
    /// [`StepError::State`]: it has not.
    pub fn expire(&mut self, now: Timestamp) -> Result<(), StepError> {
        if self.next_step(now) != NextStep::Expire {
            return Err(self.cannot("expire"));
        }
        let why = self.why.take().map_or_else(
            || "expired before it could be sent".to_owned(),
            |why| format!("expired: {why}"),
        );
        self.end(DeliveryState::Dead, Some(why));
        Ok(())
    }

    /// Gives it up for a reason that no attempt would change.
    ///
    /// # Errors
    /// [`StepError::State`]: it is over, or somebody is sending it.
    pub fn give_up(&mut self, why: &str, now: Timestamp) -> Result<(), StepError> {
        let is_held = self.lease.is_some_and(|lease| lease.until > now);
        if self.state != DeliveryState::Queued || is_held {
            return Err(self.cannot("give up"));
        }
        self.end(DeliveryState::Dead, Some(why.to_owned()));
        Ok(())
    }

    /// Sends what was given up or is uncertain once more, from the beginning.
    ///
    /// # Errors
    /// [`StepError::State`].
    pub fn retry(&mut self, expires_at: Timestamp, now: Timestamp) -> Result<(), StepError> {
        if !matches!(self.state, DeliveryState::Dead | DeliveryState::Uncertain) {
            return Err(self.cannot("retry"));
        }
        self.may_repeat |= self.state == DeliveryState::Uncertain;
        self.state = DeliveryState::Queued;
        self.n_attempts = 0;
        self.called_at = None;
        self.not_before = now;
        self.expires_at = expires_at;
        Ok(())
    }

    /// Drops what was not sent.
    ///
    /// # Errors
    /// [`StepError::State`]: it was, or somebody is sending it.
    pub fn drop_it(&mut self) -> Result<(), StepError> {
        let is_open = matches!(
            self.state,
            DeliveryState::Queued | DeliveryState::Dead | DeliveryState::Uncertain
        );
        if !is_open || self.lease.is_some() {
            return Err(self.cannot("drop"));
        }
        self.state = DeliveryState::Dropped;
        Ok(())
    }

    fn cannot(&self, step: &'static str) -> StepError {
        StepError::State { step, state: self.state }
    }

    fn end(&mut self, state: DeliveryState, why: Option<String>) {
        self.state = state;
        self.lease = None;
        self.why = why;
    }

    /// It may have been taken.
    fn doubt(&mut self, why: String, policy: &RetryPolicy, random: f64, now: Timestamp) {
        if policy.sink_knows_keys {
            self.try_again(None, why, policy, random, now);
        } else if policy.repeats_uncertain && !self.may_repeat {
            self.may_repeat = true;
            self.try_again(None, why, policy, random, now);
        } else {
            self.end(DeliveryState::Uncertain, Some(why));
        }
    }

    /// Waits for the next attempt, if there is one in its time.
    fn try_again(
        &mut self,
        after: Option<SignedDuration>,
        why: String,
        policy: &RetryPolicy,
        random: f64,
        now: Timestamp,
    ) {
        let wait = after.map_or_else(|| policy.backoff.wait(self.n_attempts, random), retry_after);
        let next = later(now, wait);
        if self.n_attempts >= policy.attempts_max {
            let why = format!("given up after {} attempts: {why}", self.n_attempts);
            self.end(DeliveryState::Dead, Some(why));
        } else if next >= self.expires_at {
            self.end(DeliveryState::Dead, Some(format!("expires before the next attempt: {why}")));
        } else {
            self.not_before = next;
            self.why = Some(why);
        }
    }
}

#[cfg(test)]
mod tests;
