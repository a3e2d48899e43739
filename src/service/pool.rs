//! The candidates of a search with their records: the current ones, and the archived beside them.

use std::sync::Arc;

use super::ServiceError;
use super::scope::Scope;
use crate::domain::filter::Filter;
use crate::domain::memory::{Memory, Status};
use crate::domain::ranking::{Fused, Question};
use crate::ports::Snapshot;

/// The filter of the archived memories that are looked at beside the others; `None`: they are among
/// them, or not meant.
pub(super) fn archived_filter(scope: &Scope, filter: &Filter) -> Option<Filter> {
    let is_default = scope.statuses.is_empty() && !scope.include_archived;
    is_default.then(|| Filter { statuses: vec![Status::Archived], ..filter.clone() })
}

/// Candidates with their records.
#[derive(Default)]
pub(super) struct Pool {
    pub(super) fused: Vec<Fused>,
    pub(super) memories: Vec<Memory>,
}

impl Pool {
    /// Moves what holds the question letter by letter to `other`.
    pub(super) fn give_exact(&mut self, question: &Question, other: &mut Self) {
        let all = std::mem::take(self);
        for (fused, memory) in all.fused.into_iter().zip(all.memories) {
            let pool = if question.is_held_by(&memory.content) { &mut *other } else { &mut *self };
            pool.fused.push(fused);
            pool.memories.push(memory);
        }
    }

    pub(super) fn take(&mut self, other: Self) {
        self.fused.extend(other.fused);
        self.memories.extend(other.memories);
    }
}

/// The records of the candidates, without those that are gone or no longer match the filter.
pub(super) async fn load(
    snapshot: &Arc<dyn Snapshot>,
    fused: Vec<Fused>,
    filter: &Filter,
) -> Result<Pool, ServiceError> {
    let ids = fused.iter().map(|candidate| candidate.id).collect();
    let records = snapshot.memories(ids).await?;
    let (fused, memories) = fused
        .into_iter()
        .zip(records)
        .filter_map(|(fused, record)| Some((fused, record?)))
        .filter(|(_, memory)| filter.matches(memory))
        .unzip();
    Ok(Pool { fused, memories })
}
