//! Moving faded memories out of the way, and bringing them back.
//!
//! An archived memory keeps its text, its words in the index and its links; its vectors leave RAM and
//! stay in the store. Searches reach it by an exact phrase or identifier, when nothing else answers, or
//! when it is asked for; being used makes it current again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Service, ServiceError};
use crate::domain::archive::{ArchivePolicy, Stays};
use crate::domain::change::{Change, ChangeSet, LogEntry, Operation, Patch};
use crate::domain::decay::Use;
use crate::domain::id::MemoryId;
use crate::domain::identity::{Actor, Caller};
use crate::domain::job::RunId;
use crate::domain::limits::{GET_IDS_MAX, JOB_PAGE};
use crate::domain::memory::{Memory, Status};
use crate::ports::{Snapshot, StoreError};

/// Who archives, in the log.
const ARCHIVE_JOB: Actor = Actor::Job("archive");
/// Newest log entries of a memory among which one that somebody made is looked for. What jobs mark more
/// often than that in the time belongs to what is being talked about.
const ENTRIES_LOOKED_AT: usize = 64;

/// What was done with one page of weak memories.
#[derive(Clone, Debug, PartialEq)]
pub struct ArchivePage {
    /// The last memory looked at, after which the next page begins.
    pub last: MemoryId,
    /// Those that were archived (or would be), with their strength.
    pub archived: Vec<(MemoryId, f64)>,
    /// Why others stay, and how many.
    pub stays: BTreeMap<Stays, u64>,
    /// Those that somebody changed meanwhile; they are looked at by the next run.
    pub n_changed_meanwhile: u64,
}

/// What came of bringing memories back.
#[derive(Clone, Debug, PartialEq)]
pub struct UnarchiveAnswer {
    /// They are current again.
    pub restored: Vec<Memory>,
    /// They were not archived, and are as they were.
    pub untouched: Vec<Memory>,
    /// References that mean nothing the caller may read.
    pub missing: Vec<String>,
}

impl Service {
    /// Archives what is due among the next weak memories after `after`, under `run`; with no run it
    /// only tells what it would do. `None`: there are no more. `gone` holds what this run has taken
    /// so far.
    ///
    /// # Errors
    /// Whatever the store says; what was archived before stands.
    pub async fn archive_page(
        &self,
        run: Option<RunId>,
        after: Option<MemoryId>,
        gone: &mut BTreeSet<MemoryId>,
        now: Timestamp,
    ) -> Result<Option<ArchivePage>, ServiceError> {
        let policy = self.settings().archive;
        let snapshot = self.store.snapshot().await?;
        let weak = snapshot.weaker_than(policy.strength_below, after, JOB_PAGE).await?;
        let Some((_, last)) = weak.last().copied() else { return Ok(None) };
        let ids = weak.into_iter().map(|(_, id)| id).collect();
        let mut page = ArchivePage {
            last,
            archived: Vec::new(),
            stays: BTreeMap::new(),
            n_changed_meanwhile: 0,
        };
        let mut changes = Vec::new();
        for memory in snapshot.memories(ids).await?.into_iter().flatten() {
            // What was noted finds candidates; what is true now decides.
            let memory = self.with_notes(memory);
            let strength = self.strength(&memory, now);
            let stays = match policy.stays(&memory, strength, now) {
                None => stays_for_others(&snapshot, &memory, gone, &policy, now).await?,
                some => some,
            };
            if let Some(why) = stays {
                *page.stays.entry(why).or_default() += 1;
                continue;
            }
            gone.insert(memory.id);
            page.archived.push((memory.id, strength));
            let patch = Patch { status: Some(Status::Archived), ..Patch::default() };
            changes.push(Change { id: memory.id, version: memory.version, patch });
        }
        if run.is_some() && !changes.is_empty() {
            let conflicts = self.apply_all(changes, run, ARCHIVE_JOB, now).await?;
            page.n_changed_meanwhile = conflicts.len() as u64;
            page.archived.retain(|(id, _)| !conflicts.contains(id));
        }
        Ok(Some(page))
    }

    /// Carries out changes that do not depend on each other, but for those whose memory has changed
    /// since they were decided; returns these.
    async fn apply_all(
        &self,
        mut changes: Vec<Change>,
        run: Option<RunId>,
        actor: Actor,
        at: Timestamp,
    ) -> Result<Vec<MemoryId>, StoreError> {
        let mut left = Vec::new();
        // Each round has fewer changes than the one before.
        while !changes.is_empty() {
            let set = ChangeSet {
                run,
                new: Vec::new(),
                changes: changes.clone(),
                marks: Vec::new(),
                actor: actor.clone(),
                at,
            };
            let conflicts = self.store.apply(set).await?.conflicts;
            if conflicts.is_empty() {
                break;
            }
            changes.retain(|change| !conflicts.contains(&change.id));
            left.extend(conflicts);
        }
        Ok(left)
    }

    /// Brings archived memories back, which counts as using them.
    ///
    /// # Errors
    /// `Invalid`, `Ambiguous`, `NotWritable`, `Store`; `NotFound` only if not a single one was found.
    pub async fn unarchive(
        &self,
        caller: &Caller,
        references: Vec<String>,
    ) -> Result<UnarchiveAnswer, ServiceError> {
        let n_asked = references.len();
        if n_asked == 0 || n_asked > GET_IDS_MAX {
            return Err(ServiceError::invalid("ids", format!("1 to {GET_IDS_MAX} ids"), n_asked));
        }
        let now = self.clock.now();
        let snapshot = self.store.snapshot().await?;
        let mut answer =
            UnarchiveAnswer { restored: Vec::new(), untouched: Vec::new(), missing: Vec::new() };
        for reference in references {
            match self.find_writable(caller, &snapshot, "ids", &reference).await {
                Ok(memory) if memory.status == Status::Archived => {
                    self.reinforce(&memory, Use::Read, 1, now);
                    let memory = self.brought_back(memory, caller.actor.clone(), now).await?;
                    answer.restored.push(memory);
                }
                Ok(memory) => answer.untouched.push(memory),
                Err(ServiceError::NotFound { reference }) => answer.missing.push(reference),
                Err(other) => return Err(other),
            }
        }
        match answer.missing.first() {
            Some(reference) if answer.restored.is_empty() && answer.untouched.is_empty() => {
                Err(ServiceError::NotFound { reference: reference.clone() })
            }
            _ => Ok(answer),
        }
    }

    /// An archived memory that is being used: current again. Any other one, and one that cannot be
    /// changed now, is given back as it is: a read does not fail for that.
    pub(super) async fn used(&self, memory: Memory, actor: &Actor, now: Timestamp) -> Memory {
        if memory.status != Status::Archived {
            return memory;
        }
        match self.brought_back(memory.clone(), actor.clone(), now).await {
            Ok(current) => current,
            Err(error) => {
                tracing::debug!(%error, "used memory stays archived");
                memory
            }
        }
    }

    /// The memory, active; as somebody else has left it if they were quicker.
    async fn brought_back(
        &self,
        memory: Memory,
        actor: Actor,
        now: Timestamp,
    ) -> Result<Memory, StoreError> {
        let patch = Patch { status: Some(Status::Active), ..Patch::default() };
        let change = Change { id: memory.id, version: memory.version, patch };
        self.apply_all(vec![change], None, actor, now).await?;
        let snapshot = self.store.snapshot().await?;
        let present = snapshot.memories(vec![memory.id]).await?.into_iter().flatten().next();
        Ok(present.unwrap_or(memory))
    }
}

/// Why a memory stays that might go by itself: a current summary stands on it alone, the person has
/// brought it back lately, by undoing a run, or somebody has changed it lately. That a job has marked it,
/// as one of the sources of a summary, is no wish to have it at hand.
async fn stays_for_others(
    snapshot: &Arc<dyn Snapshot>,
    memory: &Memory,
    gone: &BTreeSet<MemoryId>,
    policy: &ArchivePolicy,
    now: Timestamp,
) -> Result<Option<Stays>, StoreError> {
    let products = snapshot.products(memory.id).await?;
    for product in snapshot.memories(products).await?.into_iter().flatten() {
        let is_source = product.derived_from.contains(&memory.id);
        if product.status != Status::Active || !is_source {
            continue;
        }
        let others: Vec<MemoryId> = product
            .derived_from
            .iter()
            .copied()
            .filter(|source| *source != memory.id && !gone.contains(source))
            .collect();
        let others = snapshot.memories(others).await?;
        if !others.iter().flatten().any(|other| other.status == Status::Active) {
            return Ok(Some(Stays::OnlySource));
        }
    }
    let days = SignedDuration::from_secs_f64(policy.unused_days * 86_400.0);
    let since = now.checked_sub(days).unwrap_or(Timestamp::MIN);
    let mut entries = snapshot.log_of(memory.id, ENTRIES_LOOKED_AT).await?;
    entries.retain(|entry| entry.at > since);
    if entries.iter().any(|entry| entry.operation == Operation::Undo.as_str()) {
        return Ok(Some(Stays::BroughtBack));
    }
    // When it was stored its own time says: the log of an imported one tells of the import.
    let no_change = [Operation::Embed.as_str(), Operation::Store.as_str()];
    let is_change = |entry: &LogEntry| !no_change.contains(&&*entry.operation);
    let is_changed = entries.iter().any(|entry| is_change(entry) && !entry.is_by_job())
        || entries.len() >= ENTRIES_LOOKED_AT;
    Ok(is_changed.then_some(Stays::Used))
}
