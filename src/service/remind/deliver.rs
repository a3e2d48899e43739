//! Bringing messages to one sink, one at a time, as far as it takes them now.
//!
//! What waits is read once for a round; whoever changes a row in between is noticed when it is claimed,
//! and then everything is read again.

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::change::CONFLICTS_MAX;
use super::outlets::Outlet;
use super::queue::Queue;
use super::send::{retry_policy, tell_ended};
use crate::domain::reminder::{
    DeliveryState, Enact, Enacted, Gate, NextStep, Outgoing, ReminderSettings, Row,
};
use crate::service::{Service, ServiceError};

/// Time after which rows are looked at again that others change all the time.
const CONFLICT_PAUSE: SignedDuration = SignedDuration::from_secs(1);

impl Service {
    /// Brings what waits to every sink, as far as that can be done now, and tells when there is more
    /// to do.
    ///
    /// # Errors
    /// `Store`.
    pub async fn deliver_reminders(&self) -> Result<Option<Timestamp>, ServiceError> {
        let never = CancellationToken::new();
        self.reopen_sinks().await?;
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
        let (mut n_conflicts, mut read) = (0, None);
        while !stop.is_cancelled() {
            let now = self.clock.now();
            let Some(outlet) = self.outlets.named(name) else {
                return self.give_up(name, now).await;
            };
            let settings = self.settings();
            let current = read.take().filter(|queue| self.is_current(queue));
            let mut queue = match current {
                Some(queue) => queue,
                None => self.queue_of(name, &settings.reminders, now).await?,
            };
            if self.tidied(&queue, &outlet, &settings.reminders, now).await? {
                continue;
            }
            let state = self.sink_state(name).await?;
            match state.gate(&outlet.sink.abilities().pace, now) {
                Gate::Open => {}
                Gate::Wait(at) => {
                    return Ok(queue.expires_at().map(|expires_at| expires_at.min(at)));
                }
                Gate::Disabled(_) => return Ok(queue.expires_at()),
            }
            let apart = queue.left_behind();
            if !apart.is_empty() {
                self.keep_rows(apart, now).await?;
                continue;
            }
            let places = match queue.next(&outlet, &settings, now) {
                Outgoing::Nothing => return Ok(None),
                Outgoing::Wait(at) => return Ok(Some(at)),
                Outgoing::Message(places) => places,
            };
            let parts = queue.take(&places);
            if let Some(parts) = self.send(&outlet, parts, state, &settings.reminders).await? {
                queue.put_back(parts);
                read = Some(queue);
                continue;
            }
            n_conflicts += 1;
            if n_conflicts >= CONFLICTS_MAX {
                return Ok(now.checked_add(CONFLICT_PAUSE).ok());
            }
        }
        Ok(None)
    }

    /// Takes up what ended without an outcome, gives up what came too late, and lets nothing wait for
    /// a time that a clock was ahead of. Whether something of that was done, so that everything is to
    /// be read again.
    async fn tidied(
        &self,
        queue: &Queue,
        outlet: &Outlet,
        settings: &ReminderSettings,
        now: Timestamp,
    ) -> Result<bool, ServiceError> {
        let policy = retry_policy(outlet, settings);
        let random = self.random(now);
        let mut changed = Vec::new();
        for row in queue.rows() {
            let step = row.delivery.next_step(now);
            if matches!(step, NextStep::Claim | NextStep::Nothing) {
                continue;
            }
            let mut row = row.clone();
            let stepped = match step {
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
            return Ok(false);
        }
        self.keep_rows(changed, now).await?;
        Ok(true)
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

    /// Keeps rows as they are now; `false`: somebody has changed one of them, and nothing is kept.
    pub(super) async fn keep_rows(
        &self,
        rows: Vec<Row>,
        now: Timestamp,
    ) -> Result<bool, ServiceError> {
        let enact = Enact { rows, ..Enact::default() };
        let enacted = self.enact_reminders(enact, now).await?;
        Ok(matches!(enacted, Enacted::Done(_)))
    }
}
