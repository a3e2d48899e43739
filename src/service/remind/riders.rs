//! What rides in a digest beside what is due: suggestions, and what was skipped.

use jiff::Timestamp;

use super::advance::sinks_of;
use super::change::CONFLICTS_MAX;
use crate::domain::id::MemoryId;
use crate::domain::limits::DIGEST_MIN;
use crate::domain::reminder::{Enact, Enacted, Entry, EntryQuery, Standing};
use crate::service::{Service, ServiceError};

/// Most of each in one digest.
const RIDERS_MAX: usize = 3;
/// Reminders that are looked through for them.
const LOOKED_AT_MAX: usize = 500;

/// What rides along.
#[derive(Clone, Debug, Default)]
pub(super) struct Riders {
    /// Reminders of which occurrences were skipped, and nobody has said so.
    pub(super) skipped: Vec<Entry>,
    /// Suggestions that nobody was told of.
    pub(super) proposals: Vec<Entry>,
}

impl Service {
    /// What rides along with these parts to their sink: in a digest that goes for the first time.
    pub(super) async fn riders(
        &self,
        n_parts: usize,
        is_new: bool,
        sink: &str,
    ) -> Result<Riders, ServiceError> {
        if n_parts < DIGEST_MIN || !is_new {
            return Ok(Riders::default());
        }
        let told = [Standing::Due, Standing::Upcoming, Standing::Snoozed, Standing::Past];
        let skipped = self.those(told.to_vec(), sink, |entry| entry.skipped.is_some()).await?;
        let proposed = vec![Standing::Proposed];
        let proposals = self.those(proposed, sink, |entry| entry.proposed_at.is_none()).await?;
        Ok(Riders { skipped, proposals })
    }

    /// The newest reminders of this sink that are meant.
    async fn those(
        &self,
        standings: Vec<Standing>,
        sink: &str,
        is_meant: impl Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>, ServiceError> {
        let query = EntryQuery { standings, limit: LOOKED_AT_MAX, ..EntryQuery::default() };
        let (settings, outlets) = (self.settings(), self.outlets.all());
        let mut found = self.reminders.entries(query).await?;
        found.retain(|entry| {
            let sinks = || sinks_of(entry, &settings.reminders, &outlets);
            is_meant(entry) && sinks().iter().any(|name| name == sink)
        });
        found.truncate(RIDERS_MAX);
        Ok(found)
    }

    /// Notes that a message has said what rode along, and what was skipped of the only reminder in it.
    pub(super) async fn note_ridden(
        &self,
        alone: Option<&Entry>,
        riders: &Riders,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        for told in riders.skipped.iter().chain(alone).filter(|entry| entry.skipped.is_some()) {
            self.note_reminder(told.id, now, |entry| {
                // What was skipped meanwhile is still to be said.
                entry.skipped =
                    entry.skipped.take().filter(|note| Some(note) != told.skipped.as_ref());
            })
            .await?;
        }
        for told in &riders.proposals {
            self.note_reminder(told.id, now, |entry| {
                entry.proposed_at = entry.proposed_at.or(Some(now));
            })
            .await?;
        }
        Ok(())
    }

    /// Changes what is known of a reminder, if it is there still.
    pub(super) async fn note_reminder(
        &self,
        id: MemoryId,
        now: Timestamp,
        change: impl Fn(&mut Entry),
    ) -> Result<(), ServiceError> {
        for _ in 0..CONFLICTS_MAX {
            let Some(mut entry) = self.reminders.entry(id).await? else { return Ok(()) };
            change(&mut entry);
            let enact = Enact { changed: vec![entry], ..Enact::default() };
            if !matches!(self.enact_reminders(enact, now).await?, Enacted::Conflict(_)) {
                break;
            }
        }
        Ok(())
    }
}
