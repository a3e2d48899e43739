//! One message to one sink.
//!
//! Rows are claimed, the call is noted before it is made, and what came of it is recorded after; each
//! step is durable before the next. Whatever ends in between is taken up from what the rows say.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::change::CONFLICTS_MAX;
use super::fault;
use super::outlets::Outlet;
use super::queue::{Ready, is_paused};
use super::riders::Riders;
use crate::domain::reminder::wording::{self, Frame, Part};
use crate::domain::reminder::{
    BREAKER, DeliveryKey, DeliveryState, Enact, Enacted, Lease, Outcome, ReminderSettings,
    RetryPolicy, Row, SinkChange, SinkState,
};
use crate::domain::sink::Message;
use crate::service::{Service, ServiceError};

/// Time that a lease lasts beyond the longest call.
const LEASE_BEYOND: Duration = Duration::from_secs(15);

/// A call to a sink.
struct Call {
    owner: u128,
    called_at: Timestamp,
    /// What [`Sink::mark`](crate::ports::Sink::mark) was before it.
    mark: Option<u64>,
}

impl Service {
    /// Sends rows as one message to a sink of which this is known; gives them as they are then. `None`:
    /// somebody has changed something of it, and nothing was sent.
    pub(super) async fn send(
        &self,
        outlet: &Outlet,
        mut parts: Vec<Ready>,
        state: SinkState,
        settings: &ReminderSettings,
    ) -> Result<Option<Vec<Ready>>, ServiceError> {
        let Some(first) = parts.first().map(|part| &part.row) else { return Ok(Some(parts)) };
        let key = first.message.unwrap_or(first.delivery.key);
        let is_new = first.message.is_none();
        let riders = self.riders(parts.len(), is_new, outlet.sink.name()).await?;
        let now = self.clock.now();
        let owner = self.ids.next_id(now).as_u128();
        let longest = outlet.timeout + LEASE_BEYOND;
        let lasts = SignedDuration::try_from(longest).unwrap_or(SignedDuration::MAX);
        let lease = Lease { owner, until: now.checked_add(lasts).unwrap_or(Timestamp::MAX) };
        if !self.claim(outlet, &mut parts, key, lease, state).await? {
            return Ok(None);
        }
        fault::point("reminder.claimed");
        let called_at = self.clock.now();
        if !self.note_call(&mut parts, owner, called_at).await? {
            self.let_go(&parts, owner).await?;
            return Ok(None);
        }
        fault::point("reminder.called");
        let message = worded(&parts, &riders, key, outlet, settings, called_at);
        let call = Call { owner, called_at, mark: outlet.sink.mark() };
        let outcome = within(longest, outlet, &message).await;
        fault::point("reminder.answered");
        self.settle_call(outlet, &call, &mut parts, &outcome, settings).await?;
        fault::point("reminder.settled");
        if matches!(outcome, Outcome::Sent { .. } | Outcome::Accepted) {
            let alone = parts.first().filter(|_| parts.len() == 1).map(|part| &part.entry);
            self.note_ridden(alone, &riders, called_at).await?;
        }
        Ok(Some(parts))
    }

    /// Takes the right to send the rows, and the room that the pace of the sink has for a message.
    async fn claim(
        &self,
        outlet: &Outlet,
        parts: &mut [Ready],
        key: DeliveryKey,
        lease: Lease,
        was: SinkState,
    ) -> Result<bool, ServiceError> {
        let now = self.clock.now();
        for Ready { row, .. } in &mut *parts {
            if row.delivery.claim(lease, now).is_err() {
                return Ok(false);
            }
            row.message = Some(key);
        }
        let mut is = was.clone();
        is.use_at(&outlet.sink.abilities().pace, now);
        let sinks = vec![SinkChange { name: outlet.sink.name().to_owned(), was, is }];
        let enact = Enact { rows: rows_of(parts), sinks, ..Enact::default() };
        let is_done = matches!(self.enact_reminders(enact, now).await?, Enacted::Done(_));
        if is_done {
            parts.iter_mut().for_each(Ready::was_kept);
        }
        Ok(is_done)
    }

    /// Notes that the sink is going to be called, and reads what is to be said of each: a reminder may
    /// say something else since it was looked at, or nothing while it is paused.
    async fn note_call(
        &self,
        parts: &mut [Ready],
        owner: u128,
        called_at: Timestamp,
    ) -> Result<bool, ServiceError> {
        for Ready { row, entry } in &mut *parts {
            let found = self.reminders.entry(entry.id).await?.filter(|entry| !is_paused(entry));
            let (Some(found), Ok(())) = (found, row.delivery.call(owner, called_at)) else {
                return Ok(false);
            };
            *entry = found;
        }
        let is_done = self.keep_rows(rows_of(parts), called_at).await?;
        if is_done {
            parts.iter_mut().for_each(Ready::was_kept);
        }
        Ok(is_done)
    }

    /// Gives the right to send back, of those rows that are there still: they wait for no lease to end.
    async fn let_go(&self, parts: &[Ready], owner: u128) -> Result<(), ServiceError> {
        let now = self.clock.now();
        for part in parts {
            let Some(mut row) = self.reminders.row(part.row.delivery.key).await? else { continue };
            if row.delivery.release(owner, now).is_ok() {
                self.keep_rows(vec![row], now).await?;
            }
        }
        Ok(())
    }

    /// Records what came of a call, in what is there still of its rows.
    async fn settle_call(
        &self,
        outlet: &Outlet,
        call: &Call,
        parts: &mut [Ready],
        outcome: &Outcome,
        settings: &ReminderSettings,
    ) -> Result<(), ServiceError> {
        let (name, policy) = (outlet.sink.name(), retry_policy(outlet, settings));
        tell_outcome(name, parts.len(), outcome);
        let random = self.random(call.called_at);
        for _ in 0..CONFLICTS_MAX {
            let now = self.clock.now();
            let mut rows = Vec::new();
            for Ready { row, .. } in &mut *parts {
                let Some(found) = self.reminders.row(row.delivery.key).await? else { continue };
                *row = found;
                let (owner, called_at, outcome) = (call.owner, call.called_at, outcome.clone());
                let settled = row.delivery.settle(owner, called_at, outcome, &policy, random, now);
                if settled.is_ok() {
                    rows.push(row.clone());
                    row.version = row.version.saturating_add(1);
                }
            }
            let was = self.sink_state(name).await?;
            let was_disabled = was.disabled.is_some();
            let mut is = was.clone();
            learn(&mut is, outcome, now);
            let ended: Vec<Row> = rows.clone();
            let sinks = vec![SinkChange { name: name.to_owned(), was, is }];
            let enact = Enact { rows, sinks, ..Enact::default() };
            if matches!(self.enact_reminders(enact, now).await?, Enacted::Done(_)) {
                ended.iter().for_each(tell_ended);
                self.outlets.doubts.learn(name, outcome, call.mark);
                if let (Outcome::Disabled(why), false) = (outcome, was_disabled) {
                    self.tell_disabled(name, why, now).await?;
                }
                return Ok(());
            }
        }
        tracing::warn!(sink = name, "outcome of a message not recorded");
        Ok(())
    }

    /// A number 0.0..1.0 that nobody can foresee, unless the ids can be.
    pub(super) fn random(&self, now: Timestamp) -> f64 {
        let bits = self.ids.next_id(now).tail() & 0xffff_ffff;
        bits as f64 / f64::from(u32::MAX)
    }
}

impl Ready {
    /// Its row has the version that the store gave it.
    fn was_kept(&mut self) {
        self.row.version = self.row.version.saturating_add(1);
    }
}

fn rows_of(parts: &[Ready]) -> Vec<Row> {
    parts.iter().map(|part| part.row.clone()).collect()
}

fn worded(
    parts: &[Ready],
    riders: &Riders,
    key: DeliveryKey,
    outlet: &Outlet,
    settings: &ReminderSettings,
    now: Timestamp,
) -> Message {
    let abilities = outlet.sink.abilities();
    let frame = Frame {
        key,
        skipped: &riders.skipped,
        proposals: &riders.proposals,
        late_after: settings.policy.late_after,
        text_max: abilities.text_max,
        unit: abilities.text_unit,
        now,
    };
    let parts: Vec<Part<'_>> = parts
        .iter()
        .map(|part| Part {
            entry: &part.entry,
            telling: &part.row.telling,
            may_repeat: part.row.delivery.may_repeat,
        })
        .collect();
    wording::message(&parts, &frame)
}

/// What the sink answers, within the time of the lease.
pub(super) async fn within(longest: Duration, outlet: &Outlet, message: &Message) -> Outcome {
    // The sink keeps its own time; this is for one that does not.
    let answered = tokio::time::timeout(longest, outlet.sink.deliver(message)).await;
    answered.unwrap_or_else(|_| Outcome::Unknown("the sink did not answer".to_owned()))
}

/// What a call teaches about the sink.
fn learn(state: &mut SinkState, outcome: &Outcome, now: Timestamp) {
    match outcome {
        Outcome::Sent { .. } | Outcome::Accepted | Outcome::Refused(_) => state.succeed(),
        Outcome::Retry { after, .. } => state.fail(&BREAKER, *after, now),
        Outcome::Unknown(_) => state.fail(&BREAKER, None, now),
        Outcome::Disabled(why) => state.disable(why.clone(), now),
    }
}

/// How messages to a sink are tried.
pub(super) fn retry_policy(outlet: &Outlet, settings: &ReminderSettings) -> RetryPolicy {
    RetryPolicy {
        backoff: settings.backoff,
        attempts_max: settings.attempts_max,
        sink_knows_keys: outlet.sink.abilities().knows_keys,
        repeats_uncertain: settings.repeats_uncertain,
    }
}

fn tell_outcome(sink: &str, n_items: usize, outcome: &Outcome) {
    match outcome {
        Outcome::Sent { .. } | Outcome::Accepted => {
            tracing::info!(sink, n_items, "reminders told");
        }
        Outcome::Retry { why, .. } | Outcome::Unknown(why) => {
            tracing::debug!(sink, why, "message not taken");
        }
        Outcome::Refused(why) => tracing::debug!(sink, why, "message refused"),
        Outcome::Disabled(why) => tracing::error!(sink, why, "sink takes nothing from us"),
    }
}

/// Tells of a row that is given up or uncertain.
pub(super) fn tell_ended(row: &Row) {
    let delivery = &row.delivery;
    let why = delivery.why.as_deref().unwrap_or_default();
    if matches!(delivery.state, DeliveryState::Dead | DeliveryState::Uncertain) {
        tracing::warn!(
            sink = delivery.sink,
            key = %delivery.key,
            state = %delivery.state,
            why,
            "reminder not told"
        );
    }
}
