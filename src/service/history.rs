//! The life of one memory, from the change log: who did what to it, when, in which run.

use super::{Service, ServiceError};
use crate::domain::change::LogEntry;
use crate::domain::id::{IdReference, MemoryId};
use crate::domain::identity::Caller;
use crate::domain::limits::HISTORY_ENTRIES_MAX;

/// What the log tells of a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryAnswer {
    /// Which.
    pub id: MemoryId,
    /// Whether it is there; else it was forgotten or withdrawn.
    pub is_there: bool,
    /// Its log entries, oldest first.
    pub changes: Vec<LogEntry>,
    /// Whether there are older ones, which are not shown.
    pub has_older: bool,
}

impl Service {
    /// The newest log entries of a memory. The person is told of one that is gone too, by its whole
    /// id: the log holds no content.
    ///
    /// # Errors
    /// `Invalid`, `Ambiguous`, `NotFound`, `Store`.
    pub async fn history(
        &self,
        caller: &Caller,
        reference: &str,
    ) -> Result<HistoryAnswer, ServiceError> {
        let snapshot = self.store.snapshot().await?;
        let (id, is_there) = match self.find(caller, &snapshot, "id", reference).await {
            Ok(memory) => (memory.id, true),
            Err(ServiceError::NotFound { reference }) => match reference.parse() {
                Ok(IdReference::Whole(id)) if caller.is_owner() => (id, false),
                _ => return Err(ServiceError::NotFound { reference }),
            },
            Err(other) => return Err(other),
        };
        let mut changes = snapshot.log_of(id, HISTORY_ENTRIES_MAX + 1).await?;
        if !is_there && changes.is_empty() {
            return Err(ServiceError::NotFound { reference: reference.to_owned() });
        }
        let n_older = changes.len().saturating_sub(HISTORY_ENTRIES_MAX);
        changes.drain(..n_older);
        Ok(HistoryAnswer { id, is_there, changes, has_older: n_older > 0 })
    }
}
