//! What waits for one sink: read once for a round, and kept in step with what is sent of it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::outlets::Outlet;
use super::set::usual_zone;
use crate::domain::reminder::{
    DeliveryKey, DeliveryState, Entry, Outgoing, ReminderSettings, Row, Status, Terms, Waiting,
    left_behind, next_message,
};
use crate::service::{Service, ServiceError, Settings};

/// A row with its reminder.
pub(super) struct Ready {
    /// The row.
    pub(super) row: Row,
    /// Its reminder.
    pub(super) entry: Entry,
}

/// What waits for a sink.
pub(super) struct Queue {
    /// In the order in which it was due.
    ready: BTreeMap<(Timestamp, DeliveryKey), Ready>,
    /// What waits until its reminder is resumed.
    held: Vec<Row>,
    /// When the sink was told what nobody asked for, in order, over the last day.
    nagged: Vec<Timestamp>,
    /// How often reminders had changed when it was read.
    n_changes: u64,
}

impl Queue {
    /// The rows: those that may go in the order in which they were due, then those that are held.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.going().chain(&self.held)
    }

    /// What is held of messages that others go on with, as messages of their own.
    pub(super) fn left_behind(&self) -> Vec<Row> {
        left_behind(self.held.iter(), self.going())
    }

    fn going(&self) -> impl Iterator<Item = &Row> {
        self.ready.values().map(|one| &one.row)
    }

    /// When the first of them is given up.
    pub(super) fn expires_at(&self) -> Option<Timestamp> {
        self.rows().map(|row| row.delivery.expires_at).min()
    }

    /// What goes next to the sink.
    pub(super) fn next(&self, outlet: &Outlet, settings: &Settings, now: Timestamp) -> Outgoing {
        let waiting: Vec<Waiting<'_>> = self.ready.values().map(Ready::waiting).collect();
        let zone = outlet.zone.as_ref().unwrap_or_else(|| usual_zone(settings));
        let terms = Terms {
            quiet: outlet.quiet.as_ref().map(|quiet| (quiet, zone)),
            nag: settings.reminders.nag,
            nagged: &self.nagged,
            avoids_half_hours: outlet.sink.abilities().avoids_half_hours,
        };
        next_message(&waiting, &terms, now)
    }

    /// Takes those at these places out, in this order.
    pub(super) fn take(&mut self, places: &[usize]) -> Vec<Ready> {
        let keys: Vec<(Timestamp, DeliveryKey)> = self.ready.keys().copied().collect();
        let taken = places.iter().filter_map(|place| self.ready.remove(keys.get(*place)?));
        taken.collect()
    }

    /// Takes in what became of parts that were sent: some may have to wait again.
    pub(super) fn put_back(&mut self, parts: Vec<Ready>) {
        for part in parts {
            let delivery = &part.row.delivery;
            if delivery.state == DeliveryState::Queued {
                self.ready.insert((delivery.due_at, delivery.key), part);
            } else if part.row.is_nag() {
                self.nagged.extend(delivery.sent_at);
            }
        }
        self.nagged.sort_unstable();
    }
}

impl Ready {
    fn waiting(&self) -> Waiting<'_> {
        let reminder = &self.entry.reminder;
        Waiting { row: &self.row, priority: reminder.priority, is_timed: reminder.is_timed }
    }
}

/// Whether nothing is told of it until it is resumed.
pub(super) fn is_paused(entry: &Entry) -> bool {
    entry.reminder.status == Status::Paused
}

impl Service {
    /// Reads what waits for a sink.
    pub(super) async fn queue_of(
        &self,
        name: &str,
        settings: &ReminderSettings,
        now: Timestamp,
    ) -> Result<Queue, ServiceError> {
        // Before anything is read, so that no change is missed.
        let n_changes = self.outlets.n_changes();
        let (mut ready, mut held) = (BTreeMap::new(), Vec::new());
        for row in self.all_rows(DeliveryState::Queued, Some(name)).await? {
            // A reminder that is gone takes its rows along.
            let Some(entry) = self.reminders.entry(row.reminder).await? else { continue };
            if is_paused(&entry) {
                held.push(row);
            } else {
                ready.insert((row.delivery.due_at, row.delivery.key), Ready { row, entry });
            }
        }
        let has_nags = ready.values().any(|one| one.row.is_nag());
        let nagged = if has_nags { self.nagged(name, settings, now).await? } else { Vec::new() };
        Ok(Queue { ready, held, nagged, n_changes })
    }

    /// Whether no reminder has changed since a queue was read, so that nothing can have come to it.
    pub(super) fn is_current(&self, queue: &Queue) -> bool {
        queue.n_changes == self.outlets.n_changes()
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
}
