//! Undoing a run: what it changed gets its earlier record back, what it made is withdrawn.
//!
//! Only what is still as the run left it is touched, but for links that would lead to what is gone:
//! those are cut in every memory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use redb::ReadableTable as _;
use serde_json::json;

use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::job::{Left, NotUndone, Outcome, RunId, Trigger, Undone};

use super::batch::{Batch, By, StoredMemory};
use super::codec::decode;
use super::errors::{Result, damaged};
use super::ledger::change;
use super::records::{MemoryRecord, Unknown};
use super::runs::RunRecord;
use super::staging::Staging;
use super::withdraw::{made_of, unlink, withdraw};

/// Undoes a run.
pub(super) fn undo(
    batch: &mut Batch<'_>,
    id: RunId,
    actor: &Actor,
    at: Timestamp,
) -> Result<std::result::Result<Undone, NotUndone>> {
    let Some(record) = batch.load_run(id)? else { return Ok(Err(NotUndone::Missing)) };
    if record.finished_at.is_none() {
        return Ok(Err(NotUndone::Open));
    }
    if record.is_dry_run {
        return Ok(Err(NotUndone::IsDryRun));
    }
    if record.undoes.is_some() {
        return Ok(Err(NotUndone::IsUndo));
    }
    if let Some(before) = record.undone_by {
        return Ok(Err(NotUndone::Before(RunId(before))));
    }
    batch.may_tidy()?;
    let undo = batch.add_run(&undoing(&record, id, actor, at))?;
    let by = By { actor, at, run: Some(undo) };
    let plan = plan(batch, id)?;

    let mut gone = Vec::new();
    let made = plan.made.iter().copied().chain(made_of(batch, plan.made.iter().copied())?);
    let withdrawn = withdraw(batch, &made.collect(), by, &mut gone)?;
    let mut staging = Staging::default();
    let mut restored = Vec::new();
    for (memory, version) in plan.changed {
        if batch.is_there(memory)? {
            let earlier = batch.earlier(memory, version)?;
            staging.bring_back(batch, memory, earlier)?;
            restored.push(memory);
        }
    }
    unlink(batch, &mut staging, &gone)?;
    staging.write(batch, by, None)?;

    let is_withdrawn: BTreeSet<MemoryId> = withdrawn.iter().copied().collect();
    let left = plan.left.into_iter().filter(|(id, _)| !is_withdrawn.contains(id)).collect();
    let undone = Undone { run: undo, restored, withdrawn, left };
    let n_changed = (undone.restored.len() + undone.withdrawn.len()) as u64;
    let outcome =
        RunRecord { n_changed, report: report(id, &undone), ..undoing(&record, id, actor, at) };
    batch.put_run(undo, &outcome.ended(&Outcome::Done, at))?;
    batch.put_run(id, &RunRecord { undone_by: Some(undo.0), ..record })?;
    Ok(Ok(undone))
}

/// What an undo means to do.
#[derive(Default)]
struct Plan {
    /// Memories that the run made.
    made: BTreeSet<MemoryId>,
    /// Memories that it changed, and the version before that.
    changed: Vec<(MemoryId, u64)>,
    /// Memories that are left.
    left: Vec<(MemoryId, Left)>,
}

fn plan(batch: &Batch<'_>, id: RunId) -> Result<Plan> {
    // The versions that the run left of each memory, and whether the first of them made it.
    let mut versions: BTreeMap<MemoryId, (BTreeSet<u64>, bool)> = BTreeMap::new();
    for row in batch.tables().run_changes.range((id.0, 0)..=(id.0, u64::MAX))? {
        let change = change(row?.1.value());
        let entry = versions.entry(change.id).or_default();
        entry.0.insert(change.version);
        entry.1 |= change.is_new;
    }
    let mut plan = Plan::default();
    for (memory, (of_run, is_new)) in versions {
        let Some(present) = batch.load(memory)? else {
            plan.left.push((memory, Left::Forgotten));
            continue;
        };
        // The run may have changed it several times, and others in between.
        let mut before = present.record.version;
        while let Some(version) = batch.as_left(&present, before, &of_run)? {
            before = version - 1;
        }
        let is_changed = before < present.record.version;
        if !is_changed || of_run.range(..=before).next().is_some() {
            plan.left.push((memory, Left::Changed));
        }
        if before == 0 && is_new {
            plan.made.insert(memory);
        } else if is_changed {
            plan.changed.push((memory, before));
        }
    }
    Ok(plan)
}

impl Batch<'_> {
    /// The last version of a memory up to `version`, of those that a run left, whose record it has at
    /// `version`: what was done since has been undone.
    fn as_left(
        &self,
        present: &StoredMemory,
        version: u64,
        of_run: &BTreeSet<u64>,
    ) -> Result<Option<u64>> {
        let record = |version| {
            if version == present.record.version {
                return Ok(present.record.clone());
            }
            self.earlier(present.id, version)
        };
        for left in of_run.range(..=version).rev() {
            if *left == version || record(*left)?.says_the_same(&record(version)?) {
                return Ok(Some(*left));
            }
        }
        Ok(None)
    }

    fn earlier(&self, id: MemoryId, version: u64) -> Result<MemoryRecord> {
        let row = self.tables().versions.get((id.as_u128(), version))?;
        let row = row.ok_or_else(|| damaged(format!("version {version} of {id} is gone")))?;
        decode(row.value())
    }
}

/// The undo as a run of the same job.
fn undoing(record: &RunRecord, id: RunId, actor: &Actor, at: Timestamp) -> RunRecord {
    let trigger = match actor {
        Actor::Owner | Actor::Job(_) => Trigger::Owner,
        Actor::Agent(_) => Trigger::Agent,
    };
    RunRecord {
        job: record.job.clone(),
        trigger: trigger.to_string(),
        is_dry_run: false,
        scheduled_at: None,
        now: at.as_microsecond(),
        started_at: at.as_microsecond(),
        finished_at: None,
        outcome: None,
        n_changed: 0,
        report: String::new(),
        lease: String::new(),
        undoes: Some(id.0),
        undone_by: None,
        unknown: Unknown::new(),
    }
}

fn report(id: RunId, undone: &Undone) -> String {
    let texts = |ids: &[MemoryId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let left: Vec<_> = undone
        .left
        .iter()
        .map(|(id, why)| json!({ "id": id.to_string(), "why": why.as_str() }))
        .collect();
    json!({
        "undoes": id.0,
        "restored": texts(&undone.restored),
        "withdrawn": texts(&undone.withdrawn),
        "left": left,
    })
    .to_string()
}
