//! What is due now, for whoever asks for something else.

use std::time::Duration;

use super::list::PAGE;
use super::view::ReminderView;
use crate::domain::identity::Caller;
use crate::domain::reminder::{EntryQuery, Priority, Standing};
use crate::service::{Service, ServiceError};

impl Service {
    /// What was told, is not acknowledged, and may be read by the caller: urgent ones first, then the
    /// earliest. Without messages: this is asked with every call of a tool.
    ///
    /// # Errors
    /// `Store`.
    pub async fn due_reminders(&self, caller: &Caller) -> Result<Vec<ReminderView>, ServiceError> {
        let standings = vec![Standing::Due];
        let query = EntryQuery { standings, limit: PAGE, ..EntryQuery::default() };
        let mut due = self.reminders.entries(query).await?;
        due.retain(|entry| caller.access.weight(&entry.namespace).is_some());
        due.sort_by_key(|entry| {
            let reminder = &entry.reminder;
            let told_at = reminder.open.map(|open| open.told_at);
            (reminder.priority != Priority::Urgent, told_at, entry.id)
        });
        Ok(due.into_iter().map(|entry| ReminderView::new(entry, Vec::new())).collect())
    }

    /// Least time between two mentions of one reminder to one agent.
    pub fn agent_gap(&self) -> Duration {
        self.settings().reminders.agent_gap.unsigned_abs()
    }
}
