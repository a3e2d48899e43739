//! What a new memory is to those that are near to it: the same again, a correction, or a
//! contradiction that nobody has settled.
//!
//! Candidates come from one bounded search by words and by meaning in the namespace of the new memory;
//! the verdict is that of `domain::contradiction`. A store waits for it no longer than for its
//! vectors: what was not known by then is looked at later, in the background, by the same functions. A
//! wrong verdict would hide what is true, so what is pinned, of importance 1.0 or a standing order is
//! never replaced by itself, and nothing ever leaves its namespace. Nothing is overwritten: what was
//! replaced keeps its text and its links, and `memory_update` makes it current again.

mod later;
mod near;

use jiff::Timestamp;
use tokio::time::Instant;

use super::Service;
use crate::domain::change::{
    Change, ChangeSet, NewMemory, Patch, Remember, Remembered, StoreStatus,
};
use crate::domain::contradiction::Policy;
use crate::domain::decay::Use;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::limits::COMPARED_AT_STORE_MAX;
use crate::domain::memory::{Memory, Status};
use crate::ports::StoreError;
use near::{Bearing, Newcomer};

pub(super) use later::Uncompared;

/// How contradictions are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContradictionSettings {
    /// Whether they are looked for at all.
    pub is_automatic: bool,
    /// How near memories must be.
    pub policy: Policy,
}

impl Default for ContradictionSettings {
    fn default() -> Self {
        Self { is_automatic: true, policy: Policy::default() }
    }
}

/// What the answer to a store says of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Memories that say the same; they are the stronger for it.
    pub reinforced: Vec<MemoryId>,
    /// Memories that it replaced.
    pub superseded: Vec<MemoryId>,
    /// Memories that say otherwise, without it being clear which is right.
    pub contradicts: Vec<MemoryId>,
    /// Whether some are only looked at later, since there was no time.
    pub is_pending: bool,
}

impl Service {
    /// Stores memories with the links to those that they correct or contradict, as far as these are
    /// known by `ready_by`; the rest follows.
    pub(super) async fn store_compared(
        &self,
        mut request: Remember,
        ready_by: Instant,
    ) -> Result<(Vec<Remembered>, Vec<Compared>), StoreError> {
        if !self.settings().contradiction.is_automatic {
            let remembered = self.store.remember(request).await?;
            let compared = vec![Compared::default(); remembered.len()];
            return Ok((remembered, compared));
        }
        let plain = request.clone();
        let (actor, now) = (request.actor.clone(), request.at);
        let mut found = Vec::with_capacity(request.memories.len());
        let are_few = request.memories.len() <= COMPARED_AT_STORE_MAX;
        for memory in &mut request.memories {
            let newcomer = Newcomer::new(memory, now);
            let bearing = if are_few { self.bearing(&newcomer, now, ready_by).await } else { None };
            found.push(bearing.map(|mut bearing| {
                let others = enter(memory, &mut bearing);
                (bearing, others)
            }));
        }
        let own: Vec<(MemoryId, Timestamp)> = request
            .memories
            .iter()
            .map(|memory| (memory.id, memory.occurred_at.unwrap_or(now)))
            .collect();
        let remembered = match self.store.remember(request).await {
            // One of those that it was linked with is gone by now: nobody asked for the links.
            Err(StoreError::SupersedesMissing(_) | StoreError::BadLink(_)) => {
                found = vec![None; found.len()];
                self.store.remember(plain).await?
            }
            other => other?,
        };
        let mut compared = Vec::with_capacity(remembered.len());
        for ((one, own), found) in remembered.iter().zip(own).zip(found) {
            compared.push(if one.id == own.0 {
                self.after_store(one, own.1, found, &actor, now).await
            } else {
                self.told_before(one).await?
            });
        }
        if remembered.len() > 1 && are_few {
            // Those that were stored together have not been compared with each other.
            for one in &remembered {
                self.compare_later(one.id, false);
            }
        }
        self.uncompared.wake();
        Ok((remembered, compared))
    }

    /// What follows from what a memory is to others, once it is stored.
    async fn after_store(
        &self,
        one: &Remembered,
        event_time: Timestamp,
        found: Option<(Bearing, Vec<Memory>)>,
        actor: &Actor,
        now: Timestamp,
    ) -> Compared {
        let superseded = one.supersedes.into_iter();
        let Some((bearing, others)) = found else {
            self.compare_later(one.id, true);
            let superseded = superseded.collect();
            return Compared { superseded, is_pending: true, ..Compared::default() };
        };
        for old in &bearing.same {
            self.reinforce(old, Use::Read, 1, now);
        }
        if !bearing.is_whole {
            self.compare_later(one.id, false);
        }
        let by = (one.id, event_time);
        let others = self.replace_others(&others, by, actor.clone(), now).await;
        Compared {
            reinforced: ids(&bearing.same),
            superseded: superseded.chain(others).collect(),
            contradicts: ids(&bearing.unclear),
            is_pending: !bearing.is_whole,
        }
    }

    /// What a memory is to others that was there already, or was stored by an earlier call with the
    /// same request key.
    async fn told_before(&self, one: &Remembered) -> Result<Compared, StoreError> {
        let snapshot = self.store.snapshot().await?;
        let memory = snapshot.memories(vec![one.id]).await?.into_iter().flatten().next();
        let Some(memory) = memory else { return Ok(Compared::default()) };
        let is_successor = one.status == StoreStatus::Superseded;
        Ok(Compared {
            superseded: memory.supersedes.filter(|_| is_successor).into_iter().collect(),
            contradicts: memory.contradicts,
            ..Compared::default()
        })
    }

    /// Replaces the memories that a stored one corrects beyond the first, which it replaced when it
    /// was stored. If one of them has changed meanwhile, they are looked at again later.
    async fn replace_others(
        &self,
        others: &[Memory],
        (id, event_time): (MemoryId, Timestamp),
        actor: Actor,
        now: Timestamp,
    ) -> Vec<MemoryId> {
        if others.is_empty() {
            return Vec::new();
        }
        let changes = replacing(others, id, event_time);
        match self.store.apply(change_set(changes, actor, now)).await {
            Ok(applied) if applied.conflicts.is_empty() => ids(others),
            // The memory itself is stored: only this waits.
            Ok(_) | Err(_) => {
                self.compare_later(id, false);
                Vec::new()
            }
        }
    }
}

/// Enters into a memory what it corrects and contradicts. Returns the memories that it replaces
/// beyond the one it names.
fn enter(memory: &mut NewMemory, bearing: &mut Bearing) -> Vec<Memory> {
    let named = memory.supersedes;
    bearing.same.retain(|old| Some(old.id) != named);
    bearing.corrects.retain(|old| Some(old.id) != named);
    bearing.unclear.retain(|old| Some(old.id) != named);
    memory.contradicts = ids(&bearing.unclear);
    let mut corrects = bearing.corrects.clone().into_iter();
    if named.is_none() {
        memory.supersedes = corrects.next().map(|first| first.id);
    }
    corrects.collect()
}

fn ids(memories: &[Memory]) -> Vec<MemoryId> {
    memories.iter().map(|memory| memory.id).collect()
}

/// The changes that replace memories by another.
pub(super) fn replacing(old: &[Memory], by: MemoryId, event_time: Timestamp) -> Vec<Change> {
    old.iter()
        .map(|old| Change {
            id: old.id,
            version: old.version,
            patch: Patch {
                status: Some(Status::Superseded),
                superseded_by: Some(Some(by)),
                valid_to: Some(Some(event_time)),
                ..Patch::default()
            },
        })
        .collect()
}

pub(super) fn change_set(changes: Vec<Change>, actor: Actor, at: Timestamp) -> ChangeSet {
    ChangeSet { run: None, new: Vec::new(), changes, marks: Vec::new(), actor, at }
}
