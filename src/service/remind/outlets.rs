//! The sinks that there are now.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::{Notify, watch};

use super::doubts::Doubts;
use crate::domain::reminder::{Enact, Enacted, QuietHours};
use crate::ports::{Sink, StoreError};
use crate::service::Service;

/// The name of the program that is started for everything that is due: that of its key, which no sink
/// can have.
pub const HOOK: &str = "reminders.on_due";

/// A sink, and what the configuration says of its use.
#[derive(Clone)]
pub struct Outlet {
    /// It.
    pub sink: Arc<dyn Sink>,
    /// Hours in which nobody wants to be disturbed there.
    pub quiet: Option<QuietHours>,
    /// The zone of those hours; `None`: the usual one.
    pub zone: Option<TimeZone>,
    /// Time that one message may take.
    pub timeout: Duration,
}

/// What reminders need beside the ports.
#[derive(Default)]
pub(crate) struct Outlets {
    all: RwLock<Arc<Vec<Outlet>>>,
    changed: Notify,
    /// What is known of those that took nothing.
    pub(super) doubts: Doubts,
    /// Grows with each change of a reminder.
    n_changes: watch::Sender<u64>,
}

impl Outlets {
    /// The sinks in force. A call reads them once.
    pub(super) fn all(&self) -> Arc<Vec<Outlet>> {
        Arc::clone(&self.all.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The sink of this name.
    pub(super) fn named(&self, name: &str) -> Option<Outlet> {
        self.all().iter().find(|outlet| outlet.sink.name() == name).cloned()
    }

    /// The names of the sinks that the configuration has.
    pub(super) fn names(&self) -> Vec<String> {
        let all = self.all();
        let names = all.iter().map(|outlet| outlet.sink.name());
        names.filter(|name| *name != HOOK).map(str::to_owned).collect()
    }

    /// How often a reminder has changed.
    pub(super) fn n_changes(&self) -> u64 {
        *self.n_changes.borrow()
    }

    /// Says that something may be due earlier.
    pub(in crate::service) fn tell(&self) {
        self.changed.notify_one();
    }
}

impl Service {
    /// Puts other sinks in force. A message that is under way ends where it began.
    pub fn use_sinks(&self, outlets: Vec<Outlet>) {
        *self.outlets.all.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(outlets);
        self.outlets.tell();
    }

    /// Carries out changes, and tells those who follow the reminders.
    pub(in crate::service) async fn enact_reminders(
        &self,
        request: Enact,
        at: Timestamp,
    ) -> Result<Enacted, StoreError> {
        let is_seen =
            !(request.new.is_empty() && request.changed.is_empty() && request.removed.is_empty());
        let enacted = self.reminders.enact(request, at).await?;
        if is_seen && matches!(enacted, Enacted::Done(_)) {
            self.outlets.n_changes.send_modify(|n| *n = n.wrapping_add(1));
        }
        Ok(enacted)
    }

    /// Says that reminders came, changed or went together with memories.
    pub(in crate::service) fn reminders_are_other(&self) {
        self.outlets.n_changes.send_modify(|n| *n = n.wrapping_add(1));
        self.outlets.tell();
    }

    /// Changes whenever a reminder does, so that who follows them knows when to look.
    pub fn reminder_changes(&self) -> watch::Receiver<u64> {
        self.outlets.n_changes.subscribe()
    }

    /// Waits until a reminder or the sinks have changed, so that something may be due earlier.
    pub async fn reminders_changed(&self) {
        self.outlets.changed.notified().await;
    }
}
