//! Strengths of all memories at one moment, and where they are noted.

use jiff::Timestamp;

use super::{Service, ServiceError};
use crate::domain::decay::Distribution;
use crate::domain::id::MemoryId;
use crate::domain::limits::JOB_PAGE;

/// More than any strength.
const ABOVE_ALL: f64 = 2.0;

impl Service {
    /// The strengths at `now` of the next memories after `after`, in the order of their ids; none: it
    /// was the last page.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn strengths(
        &self,
        after: Option<MemoryId>,
        now: Timestamp,
    ) -> Result<Vec<(MemoryId, f64)>, ServiceError> {
        let snapshot = self.store.snapshot().await?;
        let page = snapshot.scan(after, JOB_PAGE).await?;
        Ok(page.iter().map(|memory| (memory.id, self.strength(memory, now))).collect())
    }

    /// Notes strengths where weak memories are looked for; changes no memory.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn note_strengths(
        &self,
        strengths: Vec<(MemoryId, f64)>,
    ) -> Result<(), ServiceError> {
        Ok(self.store.note_strengths(strengths).await?)
    }

    /// The strengths that are noted.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn noted_strengths(&self) -> Result<Distribution, ServiceError> {
        let snapshot = self.store.snapshot().await?;
        let mut distribution = Distribution::default();
        let mut after = None;
        loop {
            let page = snapshot.weaker_than(ABOVE_ALL, after, JOB_PAGE).await?;
            let Some((_, last)) = page.last() else { return Ok(distribution) };
            after = Some(*last);
            for (strength, _) in &page {
                distribution.add(*strength);
            }
        }
    }
}
