//! Bringing back what was forgotten while its grace lasts: for the person alone.

use super::{Service, ServiceError};
use crate::domain::id::IdReference;
use crate::domain::identity::Caller;
use crate::domain::memory::Memory;

impl Service {
    /// Brings a forgotten memory back; durable at the answer. Its vectors follow.
    ///
    /// # Errors
    /// `Invalid` for anything but a whole id, since handles name only what can be read; `NotFound`
    /// if it is not forgotten, its grace is over, or the caller is not the person; `Store`.
    pub async fn restore(&self, caller: &Caller, reference: &str) -> Result<Memory, ServiceError> {
        let not_found = || ServiceError::NotFound { reference: reference.to_owned() };
        let Ok(IdReference::Whole(id)) = reference.parse() else {
            return Err(ServiceError::invalid(
                "id",
                "the whole id of a forgotten memory, as its receipt names it",
                format!("`{reference}`"),
            ));
        };
        let is_restored = caller.is_owner()
            && self.store.restore(id, caller.actor.clone(), self.clock.now()).await?;
        if !is_restored {
            return Err(not_found());
        }
        self.backlog.notify_one();
        let snapshot = self.store.snapshot().await?;
        snapshot.memories(vec![id]).await?.into_iter().flatten().next().ok_or_else(not_found)
    }
}
