//! Beginning: at the start of the daemon, and when the configuration has changed.

use jiff::Timestamp;

use super::advance::Advanced;
use super::send::retry_policy;
use crate::domain::limits::SCAN_PAGE;
use crate::domain::reminder::{DeliveryState, Enact};
use crate::service::{Service, ServiceError};

impl Service {
    /// Takes up what the last process left: rows that it was sending, and sinks that took nothing.
    /// Call it once, before anything is delivered.
    ///
    /// # Errors
    /// `Store`.
    pub async fn take_over_reminders(&self, now: Timestamp) -> Result<Advanced, ServiceError> {
        let settings = self.settings();
        // One for all, so that the parts of a message wait for the same time.
        let (random, mut rows) = (self.random(now), Vec::new());
        for mut row in self.all_rows(DeliveryState::Queued, None).await? {
            let Some(outlet) = self.outlets.named(&row.delivery.sink) else { continue };
            let policy = retry_policy(&outlet, &settings.reminders);
            if row.delivery.take_over(&policy, random, now).is_ok() {
                rows.push(row);
            }
        }
        for page in rows.chunks(SCAN_PAGE) {
            let enact = Enact { rows: page.to_vec(), ..Enact::default() };
            self.enact_reminders(enact, now).await?;
        }
        self.see_to_reminders(now).await
    }

    /// Begins anew with the configuration in force: sinks that took nothing are tried again, and what
    /// reminders wait for is computed anew.
    ///
    /// # Errors
    /// Those of [`Service::advance_reminders`].
    pub async fn see_to_reminders(&self, now: Timestamp) -> Result<Advanced, ServiceError> {
        for (name, state) in self.reminders.sink_states().await? {
            if state.disabled.is_some() {
                self.try_anew(&name).await?;
            }
        }
        self.review_reminders(now).await
    }

    /// Removes what is over and was kept long enough; returns how much.
    ///
    /// # Errors
    /// `Store`.
    pub async fn trim_reminders(&self) -> Result<u64, ServiceError> {
        let keep = self.settings().reminders.keep;
        let Ok(before) = self.clock.now().checked_sub(keep) else { return Ok(0) };
        let mut n_all = 0;
        loop {
            let n = self.reminders.trim_reminders(before).await?;
            n_all += n;
            if n < SCAN_PAGE as u64 {
                return Ok(n_all);
            }
        }
    }
}
