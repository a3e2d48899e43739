//! What a person acknowledges where the message was shown.

use jiff::Timestamp;

use super::change::CONFLICTS_MAX;
use crate::domain::reminder::{DeliveryKey, DeliveryState, Row};
use crate::service::{Service, ServiceError};

impl Service {
    /// The key of the next message that a person acknowledges where it was shown. A future that is
    /// dropped loses none.
    pub async fn acknowledged(&self) -> DeliveryKey {
        let outlets = self.outlets.all();
        let with_ack = outlets.iter().filter(|outlet| outlet.sink.abilities().has_ack);
        let all: Vec<_> = with_ack.map(|outlet| outlet.sink.acknowledged()).collect();
        if all.is_empty() {
            return std::future::pending().await;
        }
        futures::future::select_all(all).await.0
    }

    /// Acknowledges every reminder that a message told of, unless it was told of something else since.
    ///
    /// # Errors
    /// `Store`.
    pub async fn acknowledge_message(&self, key: DeliveryKey) -> Result<usize, ServiceError> {
        let now = self.clock.now();
        let mut n_acknowledged = 0;
        for row in self.parts_of(key).await? {
            n_acknowledged += usize::from(self.acknowledge_row(&row, now).await?);
        }
        self.outlets.tell();
        Ok(n_acknowledged)
    }

    /// The rows that became parts of a message, whose first it is named after.
    async fn parts_of(&self, key: DeliveryKey) -> Result<Vec<Row>, ServiceError> {
        let Some(first) = self.reminders.row(key).await? else { return Ok(Vec::new()) };
        let mut parts = Vec::new();
        // Who is quick answers before the outcome of the call is recorded.
        for state in [
            DeliveryState::Queued,
            DeliveryState::Sent,
            DeliveryState::Accepted,
            DeliveryState::Uncertain,
        ] {
            parts.extend(self.all_rows(state, Some(&first.delivery.sink)).await?);
        }
        parts.retain(|row| row.message == Some(key));
        Ok(parts)
    }

    async fn acknowledge_row(&self, row: &Row, now: Timestamp) -> Result<bool, ServiceError> {
        let settings = self.settings();
        for _ in 0..CONFLICTS_MAX {
            let Some(mut entry) = self.reminders.entry(row.reminder).await? else {
                return Ok(false);
            };
            let reminder = &mut entry.reminder;
            let told = reminder.open.map(|open| open.occurrence.civil);
            let is_meant = told == Some(row.telling.occurrence.civil);
            if !is_meant || reminder.acknowledge().is_err() {
                return Ok(false);
            }
            if self.keep_changed(&mut entry, true, &settings, now).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
