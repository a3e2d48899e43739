//! Forgetting by rules of retention, which somebody has set: there are none by themselves.
//!
//! It is the forgetting that everybody uses, with the grace of an agent's, so that the person can have
//! back what a rule took by mistake. New rules are shown before they are carried out: the first run that
//! sees them only tells what they would take.

use jiff::Timestamp;

use super::{Service, ServiceError};
use crate::domain::change::ChangeSet;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::limits::JOB_PAGE;
use crate::domain::memory::Memory;
use crate::domain::retention::fingerprint;

/// Who forgets, in the log.
const PURGE_JOB: Actor = Actor::Job("purge");
/// Under which name the rules that were shown are noted.
const SHOWN_MARK: &str = "purge.shown";

impl Service {
    /// How many rules of retention there are.
    pub fn n_retention_rules(&self) -> usize {
        self.settings().retention.len()
    }

    /// Whether a run has told what the rules in force take.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn is_retention_shown(&self) -> Result<bool, ServiceError> {
        let shown = self.store.snapshot().await?.mark(SHOWN_MARK).await?;
        Ok(shown.is_some_and(|shown| shown == fingerprint(&self.settings().retention)))
    }

    /// Notes that a run has told what the rules in force take.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn note_retention_shown(&self, now: Timestamp) -> Result<(), ServiceError> {
        let mark = fingerprint(&self.settings().retention).to_vec();
        let set = ChangeSet {
            run: None,
            new: Vec::new(),
            changes: Vec::new(),
            marks: vec![(SHOWN_MARK.to_owned(), mark)],
            actor: PURGE_JOB,
            at: now,
        };
        self.store.apply(set).await?;
        Ok(())
    }

    /// The memories that the rules take at `now` among the next ones after `after`, and the last one
    /// looked at; `None`: there are no more.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn due_for_purge(
        &self,
        after: Option<MemoryId>,
        now: Timestamp,
    ) -> Result<Option<(Vec<MemoryId>, MemoryId)>, ServiceError> {
        let settings = self.settings();
        let snapshot = self.store.snapshot().await?;
        let page = snapshot.scan(after, JOB_PAGE).await?;
        let Some(last) = page.last().map(|memory| memory.id) else { return Ok(None) };
        let is_due =
            |memory: &&Memory| settings.retention.iter().any(|rule| rule.takes(memory, now));
        Ok(Some((page.iter().filter(is_due).map(|memory| memory.id).collect(), last)))
    }

    /// Forgets memories by the rules; returns what is gone with them: summaries of them.
    ///
    /// # Errors
    /// Whatever the store says; nothing of these is forgotten then.
    pub async fn purge(
        &self,
        ids: Vec<MemoryId>,
        now: Timestamp,
    ) -> Result<Vec<MemoryId>, ServiceError> {
        Ok(self.forget_at(ids, PURGE_JOB, None, now).await?.withdrawn)
    }
}
