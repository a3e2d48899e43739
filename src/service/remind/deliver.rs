//! Bringing messages to one sink, one at a time.
//!
//! Rows are claimed, the call is noted before it is made, and what came of it is recorded after; each
//! step is durable before the next. Whatever ends in between is taken up from what the rows say.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::change::CONFLICTS_MAX;
use super::fault;
use super::outlets::Outlet;
use super::riders::Riders;
use super::set::usual_zone;
use crate::domain::reminder::wording::{self, Frame, Part};
use crate::domain::reminder::{
    BREAKER, DeliveryKey, DeliveryState, Enact, Enacted, Entry, Gate, Lease, NextStep, Outcome,
    Outgoing, ReminderSettings, RetryPolicy, Row, SinkState, Status, Terms, Waiting, left_behind,
    next_message,
};
use crate::domain::sink::Message;
use crate::service::{Service, ServiceError};

/// Time that a lease lasts beyond the longest call.
const LEASE_BEYOND: Duration = Duration::from_secs(15);
/// Time after which rows are looked at again that others change all the time.
const CONFLICT_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// A row with its reminder.
struct Ready {
    row: Row,
    entry: Entry,
}

/// A call to a sink.
struct Call {
    owner: u128,
    called_at: Timestamp,
    keys: Vec<DeliveryKey>,
}

impl Service {
    /// Brings what waits to every sink, as far as that can be done now, and tells when there is more
    /// to do.
    ///
    /// # Errors
    /// `Store`.
    pub async fn deliver_reminders(&self) -> Result<Option<Timestamp>, ServiceError> {
        let never = CancellationToken::new();
        let names = self.waiting_sinks().await?;
        let rounds = names.iter().map(|name| self.deliver_to(name, &never));
        let rounds = futures::future::try_join_all(rounds).await?;
        Ok(rounds.into_iter().flatten().min())
    }

    /// Names of the sinks for which messages wait.
    ///
    /// # Errors
    /// `Store`.
    pub async fn waiting_sinks(&self) -> Result<Vec<String>, ServiceError> {
        let counts = self.reminders.row_counts().await?;
        let waiting =
            counts.into_iter().filter(|(state, _, n)| *state == DeliveryState::Queued && *n > 0);
        Ok(waiting.map(|(_, name, _)| name).collect())
    }

    /// Brings what waits to one sink, until nothing can go now or `stop` is cancelled; tells when
    /// there is more to do. Only one call for a sink may be under way at a time.
    ///
    /// # Errors
    /// `Store`.
    pub async fn deliver_to(
        &self,
        name: &str,
        stop: &CancellationToken,
    ) -> Result<Option<Timestamp>, ServiceError> {
        let mut n_conflicts = 0;
        while !stop.is_cancelled() {
            let now = self.clock.now();
            let Some(outlet) = self.outlets.named(name) else {
                return self.give_up(name, now).await;
            };
            let settings = self.settings();
            let rows = self.all_rows(DeliveryState::Queued, Some(name)).await?;
            let Some(rows) = self.tidied(rows, &outlet, &settings.reminders, now).await? else {
                continue;
            };
            let expires_at = rows.iter().map(|row| row.delivery.expires_at).min();
            let state = self.sink_state(name).await?;
            match state.gate(&outlet.sink.abilities().pace, now) {
                Gate::Open => {}
                Gate::Wait(at) => return Ok(expires_at.map(|expires_at| expires_at.min(at))),
                Gate::Disabled(_) => return Ok(expires_at),
            }
            let ready = self.with_entries(rows).await?;
            let (held, ready): (Vec<Ready>, Vec<Ready>) =
                ready.into_iter().partition(Ready::is_paused);
            let apart = left_behind(held.iter().map(Ready::row), ready.iter().map(Ready::row));
            if !apart.is_empty() {
                self.keep_rows(apart, now).await?;
                continue;
            }
            let nagged = if ready.iter().any(|one| one.row.is_nag()) {
                self.nagged(name, &settings.reminders, now).await?
            } else {
                Vec::new()
            };
            let waiting: Vec<Waiting<'_>> = ready.iter().map(Ready::waiting).collect();
            let zone = outlet.zone.as_ref().unwrap_or_else(|| usual_zone(&settings));
            let terms = Terms {
                quiet: outlet.quiet.as_ref().map(|quiet| (quiet, zone)),
                nag: settings.reminders.nag,
                nagged: &nagged,
                avoids_half_hours: outlet.sink.abilities().avoids_half_hours,
            };
            let places = match next_message(&waiting, &terms, now) {
                Outgoing::Nothing => return Ok(None),
                Outgoing::Wait(at) => return Ok(Some(at)),
                Outgoing::Message(places) => places,
            };
            let parts = taken(ready, &places);
            if !self.send(&outlet, parts, state, &settings.reminders).await? {
                n_conflicts += 1;
                if n_conflicts >= CONFLICTS_MAX {
                    return Ok(now.checked_add(CONFLICT_PAUSE).ok());
                }
            }
        }
        Ok(None)
    }

    /// Takes up what ended without an outcome, gives up what came too late, and lets nothing wait for
    /// a time that a clock was ahead of. `None`: something of
    /// that was done, and everything is to be read again.
    async fn tidied(
        &self,
        rows: Vec<Row>,
        outlet: &Outlet,
        settings: &ReminderSettings,
        now: Timestamp,
    ) -> Result<Option<Vec<Row>>, ServiceError> {
        let policy = retry_policy(outlet, settings);
        let random = self.random(now);
        let mut changed = Vec::new();
        for row in &rows {
            let mut row = row.clone();
            let stepped = match row.delivery.next_step(now) {
                NextStep::Recover => row.delivery.recover(&policy, random, now),
                NextStep::Expire => row.delivery.expire(now),
                NextStep::Wait(_) if row.delivery.hasten(&policy, now) => Ok(()),
                NextStep::Claim | NextStep::Wait(_) | NextStep::Nothing => continue,
            };
            if stepped.is_ok() {
                tell_ended(&row);
                changed.push(row);
            }
        }
        if changed.is_empty() {
            return Ok(Some(rows));
        }
        self.keep_rows(changed, now).await?;
        Ok(None)
    }

    /// Gives up what waits for a sink that the configuration does not have any more.
    async fn give_up(&self, name: &str, now: Timestamp) -> Result<Option<Timestamp>, ServiceError> {
        let rows = self.all_rows(DeliveryState::Queued, Some(name)).await?;
        let why = format!("the configuration has no sink {name} any more");
        let (mut given_up, mut next) = (Vec::new(), None);
        for mut row in rows {
            match row.delivery.give_up(&why, now) {
                Ok(()) => {
                    tell_ended(&row);
                    given_up.push(row);
                }
                // Somebody may be sending it still.
                Err(_) => next = next.max(row.delivery.lease.map(|lease| lease.until)),
            }
        }
        if !given_up.is_empty() {
            self.keep_rows(given_up, now).await?;
        }
        Ok(next)
    }

    async fn keep_rows(&self, rows: Vec<Row>, now: Timestamp) -> Result<bool, ServiceError> {
        let enact = Enact { rows, ..Enact::default() };
        let enacted = self.enact_reminders(enact, now).await?;
        Ok(matches!(enacted, Enacted::Done(_)))
    }

    /// What is known of a sink.
    pub(super) async fn sink_state(&self, name: &str) -> Result<SinkState, ServiceError> {
        let states = self.reminders.sink_states().await?;
        let found = states.into_iter().find(|(known, _)| known == name);
        Ok(found.map(|(_, state)| state).unwrap_or_default())
    }

    async fn with_entries(&self, rows: Vec<Row>) -> Result<Vec<Ready>, ServiceError> {
        let mut ready = Vec::with_capacity(rows.len());
        for row in rows {
            // A reminder that is gone takes its rows along.
            if let Some(entry) = self.reminders.entry(row.reminder).await? {
                ready.push(Ready { row, entry });
            }
        }
        Ok(ready)
    }

    /// When this sink was told what nobody asked for, in order, over the last day.
    async fn nagged(
        &self,
        name: &str,
        settings: &ReminderSettings,
        now: Timestamp,
    ) -> Result<Vec<Timestamp>, ServiceError> {
        // What was sent within a day was due within that and the time after which it expires.
        let day = SignedDuration::from_hours(24);
        let back = day.saturating_add(settings.policy.grace).saturating_mul(2);
        let from = now.checked_sub(back).unwrap_or(Timestamp::MIN);
        let mut sent = Vec::new();
        for state in [DeliveryState::Sent, DeliveryState::Accepted] {
            let rows = self.rows_from(state, Some(name), Some(from)).await?;
            let nags = rows.iter().filter(|row| row.is_nag());
            sent.extend(nags.filter_map(|row| row.delivery.sent_at));
        }
        sent.retain(|at| now.duration_since(*at) < day);
        sent.sort_unstable();
        Ok(sent)
    }

    /// Sends rows as one message; `false`: somebody has changed them, and nothing was sent.
    async fn send(
        &self,
        outlet: &Outlet,
        parts: Vec<Ready>,
        mut state: SinkState,
        settings: &ReminderSettings,
    ) -> Result<bool, ServiceError> {
        let Some(first) = parts.first().map(|part| &part.row) else { return Ok(true) };
        let key = first.message.unwrap_or(first.delivery.key);
        let is_new = first.message.is_none();
        let riders = self.riders(parts.len(), is_new, outlet.sink.name()).await?;
        let now = self.clock.now();
        let owner = self.ids.next_id(now).as_u128();
        let longest = outlet.timeout + LEASE_BEYOND;
        let lasts = SignedDuration::try_from(longest).unwrap_or(SignedDuration::MAX);
        let lease = Lease { owner, until: now.checked_add(lasts).unwrap_or(Timestamp::MAX) };
        let mut rows: Vec<Row> = parts.iter().map(|part| part.row.clone()).collect();
        for row in &mut rows {
            if row.delivery.claim(lease, now).is_err() {
                return Ok(false);
            }
            row.message = Some(key);
        }
        if !self.keep_rows(rows.clone(), now).await? {
            return Ok(false);
        }
        fault::point("reminder.claimed");
        let called_at = self.clock.now();
        for row in &mut rows {
            row.version = row.version.saturating_add(1);
            if row.delivery.call(owner, called_at).is_err() {
                return Ok(false);
            }
        }
        state.use_at(&outlet.sink.abilities().pace, called_at);
        let sinks = vec![(outlet.sink.name().to_owned(), state)];
        let enact = Enact { rows: rows.clone(), sinks, ..Enact::default() };
        if !matches!(self.enact_reminders(enact, called_at).await?, Enacted::Done(_)) {
            return Ok(false);
        }
        fault::point("reminder.called");
        let message = worded(&parts, &riders, key, outlet, settings, called_at);
        let outcome = within(longest, outlet, &message).await;
        fault::point("reminder.answered");
        let keys = rows.iter().map(|row| row.delivery.key).collect();
        self.settle_call(outlet, &Call { owner, called_at, keys }, outcome.clone(), settings)
            .await?;
        fault::point("reminder.settled");
        if matches!(outcome, Outcome::Sent { .. } | Outcome::Accepted) {
            let alone = parts.first().filter(|_| parts.len() == 1).map(|part| &part.entry);
            self.note_ridden(alone, &riders, called_at).await?;
        }
        Ok(true)
    }

    /// Records what came of a call, in what is there still of its rows.
    async fn settle_call(
        &self,
        outlet: &Outlet,
        call: &Call,
        outcome: Outcome,
        settings: &ReminderSettings,
    ) -> Result<(), ServiceError> {
        let (name, policy) = (outlet.sink.name(), retry_policy(outlet, settings));
        tell_outcome(name, call.keys.len(), &outcome);
        let random = self.random(call.called_at);
        for _ in 0..CONFLICTS_MAX {
            let now = self.clock.now();
            let mut rows = Vec::new();
            for key in &call.keys {
                let Some(mut row) = self.reminders.row(*key).await? else { continue };
                let (owner, called_at, outcome) = (call.owner, call.called_at, outcome.clone());
                let settled = row.delivery.settle(owner, called_at, outcome, &policy, random, now);
                if settled.is_ok() {
                    rows.push(row);
                }
            }
            let mut state = self.sink_state(name).await?;
            let was_disabled = state.disabled.is_some();
            learn(&mut state, &outcome, now);
            let ended: Vec<Row> = rows.clone();
            let sinks = vec![(name.to_owned(), state)];
            let enact = Enact { rows, sinks, ..Enact::default() };
            if matches!(self.enact_reminders(enact, now).await?, Enacted::Done(_)) {
                ended.iter().for_each(tell_ended);
                if let (Outcome::Disabled(why), false) = (&outcome, was_disabled) {
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
    const fn row(&self) -> &Row {
        &self.row
    }

    /// Whether nothing is told of it until its reminder is resumed.
    fn is_paused(&self) -> bool {
        self.entry.reminder.status == Status::Paused
    }

    fn waiting(&self) -> Waiting<'_> {
        let reminder = &self.entry.reminder;
        Waiting { row: &self.row, priority: reminder.priority, is_timed: reminder.is_timed }
    }
}

/// Those at these places, in this order.
fn taken(ready: Vec<Ready>, places: &[usize]) -> Vec<Ready> {
    let mut ready: Vec<Option<Ready>> = ready.into_iter().map(Some).collect();
    places.iter().filter_map(|place| ready.get_mut(*place)?.take()).collect()
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
fn tell_ended(row: &Row) {
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
