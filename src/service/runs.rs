//! The runs of the daemon's jobs: what they did, and undoing it.

use super::{Service, ServiceError};
use crate::domain::identity::Caller;
use crate::domain::job::{NotUndone, Run, RunId, Undone};
use crate::domain::limits::{JOB_PAGE, RUN_CHANGES_COUNTED_MAX};

impl Service {
    /// The newest runs, newest first.
    ///
    /// # Errors
    /// `Invalid` for who is not the person, since a run goes over all namespaces; `Store`.
    pub async fn runs(&self, caller: &Caller, limit: usize) -> Result<Vec<Run>, ServiceError> {
        for_the_person(caller)?;
        Ok(self.ledger.runs(None, None, limit).await?)
    }

    /// One run.
    ///
    /// # Errors
    /// `Invalid` for who is not the person and for a run that is not known; `Store`.
    pub async fn run(&self, caller: &Caller, id: RunId) -> Result<Run, ServiceError> {
        for_the_person(caller)?;
        self.ledger.run(id).await?.ok_or(ServiceError::Run { run: id, why: NotUndone::Missing })
    }

    /// Undoes a run: what nobody changed since is as it was before. An agent may do that where it may
    /// write everything that the run changed.
    ///
    /// # Errors
    /// `Invalid` for a run that cannot be undone, with the reason; `NotWritable`, `Store`.
    pub async fn undo_run(&self, caller: &Caller, id: RunId) -> Result<Undone, ServiceError> {
        if !caller.is_owner() {
            self.check_writable(caller, id).await?;
        }
        match self.ledger.undo(id, caller.actor.clone(), self.clock.now()).await? {
            Ok(undone) => Ok(undone),
            Err(why) => Err(ServiceError::Run { run: id, why }),
        }
    }

    async fn check_writable(&self, caller: &Caller, id: RunId) -> Result<(), ServiceError> {
        let changes = self.ledger.run_changes(id, RUN_CHANGES_COUNTED_MAX).await?;
        let snapshot = self.store.snapshot().await?;
        for page in changes.chunks(JOB_PAGE) {
            let ids = page.iter().map(|change| change.id).collect();
            for memory in snapshot.memories(ids).await?.into_iter().flatten() {
                if !caller.access.may_write(&memory.namespace) {
                    let namespace = memory.namespace.to_string();
                    return Err(ServiceError::NotWritable { namespace });
                }
            }
        }
        Ok(())
    }
}

pub(super) fn for_the_person(caller: &Caller) -> Result<(), ServiceError> {
    if caller.is_owner() {
        return Ok(());
    }
    let expected = "the person whose memory it is";
    Err(ServiceError::invalid("caller", expected, &caller.actor))
}
