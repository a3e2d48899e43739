//! Comparing memories whose store could not wait for it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use tokio::time::Instant;

use super::super::Service;
use super::near::{Bearing, Newcomer};
use super::{change_set, ids, replacing};
use crate::domain::change::{Change, Patch};
use crate::domain::decay::Use;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::limits::{COMPARED_PER_STEP, UNCOMPARED_MAX};
use crate::domain::memory::{Memory, Status};
use crate::ports::StoreError;

/// Who links memories in the background, in the log.
const CONTRADICT_JOB: Actor = Actor::Job("contradict");

/// Memories that wait to be compared, and whether one that says the same is reinforced by them then.
#[derive(Debug, Default)]
pub(crate) struct Uncompared {
    waiting: Mutex<BTreeMap<MemoryId, bool>>,
    grew: tokio::sync::Notify,
}

impl Uncompared {
    fn add(&self, id: MemoryId, reinforces: bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(id, reinforces);
        if waiting.len() > UNCOMPARED_MAX {
            waiting.pop_first();
        }
    }

    /// The first of them, after `after`.
    fn take(&self, after: Option<MemoryId>) -> Option<(MemoryId, bool)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let range = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let id = *waiting.range(range).next()?.0;
        waiting.remove_entry(&id)
    }

    /// Tells who compares that there is something to look at.
    pub(in super::super) fn wake(&self) {
        self.grew.notify_one();
    }
}

impl Service {
    /// Notes that a memory is to be compared later.
    pub(in super::super) fn compare_later(&self, id: MemoryId, reinforces: bool) {
        self.uncompared.add(id, reinforces);
    }

    /// Waits until there is a memory to compare.
    pub async fn uncompared_grew(&self) {
        self.uncompared.grew.notified().await;
    }

    /// Compares the next [`COMPARED_PER_STEP`] memories after `after` whose store could not wait for
    /// it; gives how many were linked with others, and the last one (`None`: there are no more). One
    /// whose vectors are still missing is compared by its words, and again with them.
    ///
    /// # Errors
    /// Whatever the store says; what is not compared yet is looked at the next time.
    pub async fn compare_late(
        &self,
        after: Option<MemoryId>,
    ) -> Result<(usize, Option<MemoryId>), StoreError> {
        let mut n_linked = 0;
        let mut place = after;
        for _ in 0..COMPARED_PER_STEP {
            let Some((id, reinforces)) = self.uncompared.take(place) else {
                return Ok((n_linked, None));
            };
            place = Some(id);
            match self.compare(id, reinforces).await {
                Ok(is_linked) => n_linked += usize::from(is_linked),
                Err(error) => {
                    self.compare_later(id, reinforces);
                    return Err(error);
                }
            }
        }
        Ok((n_linked, place))
    }

    /// Compares one memory with those that were there before it; whether it was linked.
    async fn compare(&self, id: MemoryId, reinforces: bool) -> Result<bool, StoreError> {
        let settings = self.settings();
        let now = self.clock.now();
        let snapshot = self.store.snapshot().await?;
        let memory = snapshot.memories(vec![id]).await?.into_iter().flatten().next();
        let Some(memory) = memory.filter(|memory| memory.status == Status::Active) else {
            return Ok(false);
        };
        let space = self.meaning.open().filter(|space| space.is_complete());
        let chunks = match &space {
            Some(space) => snapshot.vectors(space.id, vec![id]).await?.pop().unwrap_or_default(),
            None => Vec::new(),
        };
        if !reinforces && chunks.is_empty() && self.embedder.is_some() {
            // By its words it was compared before.
            self.compare_later(id, false);
            return Ok(false);
        }
        let newcomer = Newcomer {
            id,
            content: &memory.content,
            kind: memory.kind,
            tags: &memory.tags,
            metadata: &memory.metadata,
            namespace: &memory.namespace,
            event_time: memory.event_time(),
            vector: chunks.first(),
        };
        let ready_by = Instant::now() + settings.recall_deadline;
        let Some(mut bearing) = self.bearing(&newcomer, now, ready_by).await else {
            self.compare_later(id, reinforces);
            return Ok(false);
        };
        if !bearing.is_whole && chunks.is_empty() {
            // It comes back with its vectors.
            self.compare_later(id, false);
        }
        bearing.unclear.retain(|other| !memory.contradicts.contains(&other.id));
        let is_older = |old: &Memory| (old.created_at, old.id) < (memory.created_at, id);
        if reinforces {
            for old in bearing.same.iter().filter(|old| is_older(old)) {
                self.reinforce(old, Use::Read, 1, now);
            }
        }
        // What came after it is the one to be compared: when it came, this one had no vector yet.
        for newer in bearing.corrects.iter().chain(&bearing.unclear).filter(|old| !is_older(old)) {
            self.compare_later(newer.id, false);
        }
        bearing.corrects.retain(is_older);
        bearing.unclear.retain(is_older);
        self.link(&memory, &bearing, now).await
    }

    /// Links a stored memory with those that it corrects or contradicts; whether there was any.
    async fn link(
        &self,
        memory: &Memory,
        bearing: &Bearing,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        if bearing.corrects.is_empty() && bearing.unclear.is_empty() {
            return Ok(false);
        }
        let mut patch = Patch::default();
        if let (None, Some(first)) = (memory.supersedes, bearing.corrects.first()) {
            patch.supersedes = Some(Some(first.id));
        }
        if !bearing.unclear.is_empty() {
            let known = memory.contradicts.iter().copied();
            patch.contradicts = Some(known.chain(ids(&bearing.unclear)).collect());
        }
        let mut changes = replacing(&bearing.corrects, memory.id, memory.event_time());
        changes.push(Change { id: memory.id, version: memory.version, patch });
        let applied = self.store.apply(change_set(changes, CONTRADICT_JOB, now)).await?;
        if !applied.conflicts.is_empty() {
            self.compare_later(memory.id, false);
        }
        Ok(applied.conflicts.is_empty())
    }
}
