//! Comparing memories whose store could not wait for it.
//!
//! What waits is held in memory. That nothing is missed after a crash is seen to by a mark: up to which
//! change of the log every memory has been compared. What came later is compared once more after a
//! start; what was linked then is not linked twice.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::super::Service;
use super::near::{Bearing, Newcomer, holds_from};
use super::{change_set, ids, replacing};
use crate::domain::change::{Change, ChangeSet, Operation, Patch};
use crate::domain::decay::Use;
use crate::domain::extraction::said_at;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::limits::{
    CHANGES_SHOWN_MAX, COMPARED_NOTED_EVERY, COMPARED_PER_STEP, SCAN_PAGE, UNCOMPARED_MAX,
};
use crate::domain::memory::{Memory, Origin, Status};
use crate::ports::{Snapshot, StoreError};

/// Who links memories in the background, in the log.
const CONTRADICT_JOB: Actor = Actor::Job("contradict");
/// Mark: up to which change of the log everything is compared, a number of eight bytes, big endian.
const COMPARED_MARK: &str = "contradict/compared";

/// Memories that wait to be compared, and whether one that says the same is reinforced by them then.
#[derive(Debug, Default)]
pub(crate) struct Uncompared {
    waiting: Mutex<BTreeMap<MemoryId, bool>>,
    grew: tokio::sync::Notify,
    progress: Mutex<Progress>,
}

/// Up to which change of the log everything is compared.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// What the mark says.
    noted: u64,
    /// The last change when this was last looked at, and when that was, by the monotonic clock.
    seen: u64,
    seen_at: Duration,
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

    fn is_empty(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells who compares that there is something to look at.
    pub(crate) fn wake(&self) {
        self.grew.notify_one();
    }
}

impl Service {
    /// Notes that a memory is to be compared later.
    pub(crate) fn compare_later(&self, id: MemoryId, reinforces: bool) {
        self.uncompared.add(id, reinforces);
    }

    /// Waits until there is a memory to compare.
    pub async fn uncompared_grew(&self) {
        self.uncompared.grew.notified().await;
    }

    /// Takes up what may have waited to be compared when the daemon ended; to be called once, before
    /// [`Service::compare_late`].
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn resume_comparing(&self) -> Result<(), StoreError> {
        let snapshot = self.store.snapshot().await?;
        let mark = snapshot.mark(COMPARED_MARK).await?;
        let noted = mark.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?)));
        let Some(noted) = noted else { return self.note_progress(snapshot.sequence()).await };
        *self.uncompared.progress() = Progress { noted, seen: noted, ..Progress::default() };
        let mut after = noted;
        loop {
            let page = snapshot.log(after, SCAN_PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.sequence;
            let is_new = |operation: &str| operation == Operation::Store.as_str();
            let new = page.iter().filter(|entry| is_new(&entry.operation));
            let new = snapshot.memories(new.map(|entry| entry.id).collect()).await?;
            for memory in new.iter().flatten().filter(|memory| is_compared(memory)) {
                self.compare_later(memory.id, false);
            }
        }
        self.uncompared.wake();
        Ok(())
    }

    /// Notes, now and then, up to which change everything is compared; to be called when nothing more
    /// could be compared. A change counts from the second look on: whoever stored something has said
    /// by then whether it waits.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn note_compared(&self) -> Result<(), StoreError> {
        let now = self.clock.monotonic();
        let before = *self.uncompared.progress();
        if now.saturating_sub(before.seen_at) < COMPARED_NOTED_EVERY {
            return Ok(());
        }
        let sequence = self.store.snapshot().await?.sequence();
        *self.uncompared.progress() = Progress { seen: sequence, seen_at: now, ..before };
        if before.seen == before.noted || !self.uncompared.is_empty() {
            return Ok(());
        }
        self.note_progress(before.seen).await
    }

    async fn note_progress(&self, sequence: u64) -> Result<(), StoreError> {
        let marks = vec![(COMPARED_MARK.to_owned(), sequence.to_be_bytes().to_vec())];
        let set = change_set(Vec::new(), CONTRADICT_JOB, self.clock.now());
        self.store.apply(ChangeSet { marks, ..set }).await?;
        self.uncompared.progress().noted = sequence;
        Ok(())
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
            event_time: holds_from(&memory),
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
        let place = |memory: &Memory| (said_at(memory), memory.created_at, memory.id);
        let is_older = |old: &Memory| place(old) < place(&memory);
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
        leave_judged(snapshot.as_ref(), &memory, &mut bearing).await?;
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

/// Whether a memory that is there after a start is one that is compared when it is stored.
fn is_compared(memory: &Memory) -> bool {
    memory.status == Status::Active
        && matches!(memory.origin, Origin::Stated | Origin::Extracted)
        && memory.derived_from.is_empty()
}

/// Leaves those out of what a memory corrects that somebody has changed since it came, knowing both:
/// whoever takes a verdict back does not want it again.
async fn leave_judged(
    snapshot: &dyn Snapshot,
    memory: &Memory,
    bearing: &mut Bearing,
) -> Result<(), StoreError> {
    let mut left = Vec::new();
    for old in bearing.corrects.iter().filter(|old| old.updated_at > memory.created_at) {
        let changes = snapshot.log_of(old.id, CHANGES_SHOWN_MAX).await?;
        if changes.iter().any(|one| one.at > memory.created_at && !one.is_by_job()) {
            left.push(old.id);
        }
    }
    bearing.corrects.retain(|old| !left.contains(&old.id));
    Ok(())
}
