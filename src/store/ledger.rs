//! The state of the jobs, and their runs.
//!
//! The open run of a job stands in the state of the job: that is what keeps a second one from
//! beginning. Both are written in one transaction whenever a run begins or ends.

use futures::future::BoxFuture;
use jiff::Timestamp;
use redb::{ReadTransaction, ReadableTable as _, ReadableTableMetadata as _};

use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::job::{
    JobName, JobState, NewRun, NotUndone, Outcome, Run, RunChange, RunId, Running, Undone,
};
use crate::domain::limits::SCAN_PAGE;
use crate::ports::{Ledger, StoreError};

use super::RedbStore;
use super::batch::Batch;
use super::codec::{decode, encode};
use super::errors::Result;
use super::records::{Unknown, time};
use super::runs::{JobRecord, RunRecord};
use super::tables::{JOBS, META_RUN, RUN_CHANGES, RUNS, meta, open_newer};
use super::undo::undo;

impl Ledger for RedbStore {
    fn job_states(&self) -> BoxFuture<'_, Result<Vec<JobState>>> {
        Box::pin(async move { self.begin_read().await?.read(job_states).await })
    }

    fn save_job_state(&self, state: JobState) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.write(move |batch| save_job_state(batch, &state)))
    }

    fn begin_run(&self, new: NewRun) -> BoxFuture<'_, Result<std::result::Result<Run, Running>>> {
        Box::pin(self.writer.write(move |batch| begin_run(batch, &new)))
    }

    fn finish_run(
        &self,
        id: RunId,
        outcome: Outcome,
        n_changed: u64,
        report: String,
        at: Timestamp,
    ) -> BoxFuture<'_, Result<()>> {
        Box::pin(
            self.writer.write(move |batch| finish_run(batch, id, &outcome, n_changed, &report, at)),
        )
    }

    fn interrupt_open_runs(&self, at: Timestamp) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.write(move |batch| interrupt_open_runs(batch, at)))
    }

    fn runs(
        &self,
        job: Option<JobName>,
        before: Option<RunId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Run>>> {
        Box::pin(async move {
            let snapshot = self.begin_read().await?;
            snapshot.read(move |rows| runs(rows, job, before, limit)).await
        })
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<Run>>> {
        Box::pin(async move { self.begin_read().await?.read(move |rows| run(rows, id)).await })
    }

    fn run_changes(&self, id: RunId, limit: usize) -> BoxFuture<'_, Result<Vec<RunChange>>> {
        Box::pin(async move {
            let snapshot = self.begin_read().await?;
            snapshot.read(move |rows| run_changes(rows, id, limit)).await
        })
    }

    fn undo(
        &self,
        id: RunId,
        actor: Actor,
        at: Timestamp,
    ) -> BoxFuture<'_, Result<std::result::Result<Undone, NotUndone>>> {
        Box::pin(self.writer.write(move |batch| undo(batch, id, &actor, at)))
    }

    fn trim_runs(&self, keep: u64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.in_pages(move |batch| trim_runs(batch, keep)))
    }
}

/// The jobs that have a state.
pub(super) fn job_states(transaction: &ReadTransaction) -> Result<Vec<JobState>> {
    let Some(table) = open_newer(transaction, JOBS)? else { return Ok(Vec::new()) };
    let mut states = Vec::new();
    for row in table.range::<&str>(..)? {
        let (name, record) = row?;
        // A job of a later version of the program is none of ours.
        if let Some(job) = JobName::parse(name.value()) {
            states.push(decode::<JobRecord>(record.value())?.into_state(job)?);
        }
    }
    Ok(states)
}

/// Saves the state of a job, but for `running`.
pub(super) fn save_job_state(batch: &mut Batch<'_>, state: &JobState) -> Result<()> {
    let present = batch.job(state.job)?;
    let mut record = JobRecord::of(state, present.unknown);
    record.running = present.running;
    batch.put_job(state.job, &record)
}

/// Begins a run, unless one of the same job is open under the same lease.
pub(super) fn begin_run(
    batch: &mut Batch<'_>,
    new: &NewRun,
) -> Result<std::result::Result<Run, Running>> {
    if let Some(id) = batch.job(new.job)?.running.map(RunId)
        && let Some(open) = batch.load_run(id)?
    {
        if open.lease == new.lease {
            return Ok(Err(Running { run: id, started_at: time(open.started_at)? }));
        }
        batch.end_run(id, open, &Outcome::Interrupted, new.now)?;
    }
    let record = RunRecord::begun(new);
    let id = batch.add_run(&record)?;
    batch.change_job(new.job, |state| state.begin(id, new.is_dry_run, new.now))?;
    Ok(Ok(record.into_run(id)?))
}

/// Ends a run, if it is open.
pub(super) fn finish_run(
    batch: &mut Batch<'_>,
    id: RunId,
    outcome: &Outcome,
    n_changed: u64,
    report: &str,
    at: Timestamp,
) -> Result<()> {
    match batch.load_run(id)? {
        Some(open) if open.finished_at.is_none() => {
            let record = RunRecord { n_changed, report: report.to_owned(), ..open };
            batch.end_run(id, record, outcome, at)
        }
        Some(_) | None => Ok(()),
    }
}

/// Ends every open run as interrupted; returns how many.
pub(super) fn interrupt_open_runs(batch: &mut Batch<'_>, at: Timestamp) -> Result<u64> {
    let mut n_ended = 0;
    for job in JobName::ALL {
        let Some(id) = batch.job(*job)?.running.map(RunId) else { continue };
        if let Some(open) = batch.load_run(id)? {
            batch.end_run(id, open, &Outcome::Interrupted, at)?;
            n_ended += 1;
        }
    }
    Ok(n_ended)
}

/// The newest runs before `before`, newest first.
pub(super) fn runs(
    transaction: &ReadTransaction,
    job: Option<JobName>,
    before: Option<RunId>,
    limit: usize,
) -> Result<Vec<Run>> {
    let Some(table) = open_newer(transaction, RUNS)? else { return Ok(Vec::new()) };
    let mut runs = Vec::new();
    for row in table.range(..before.map_or(u64::MAX, |run| run.0))?.rev() {
        if runs.len() >= limit {
            break;
        }
        let (id, record) = row?;
        let record: RunRecord = decode(record.value())?;
        let name = JobName::parse(&record.job);
        if name.is_some() && (job.is_none() || job == name) {
            runs.push(record.into_run(RunId(id.value()))?);
        }
    }
    Ok(runs)
}

/// A run, if it is known.
pub(super) fn run(transaction: &ReadTransaction, id: RunId) -> Result<Option<Run>> {
    let Some(table) = open_newer(transaction, RUNS)? else { return Ok(None) };
    table.get(id.0)?.map(|row| decode::<RunRecord>(row.value())?.into_run(id)).transpose()
}

/// The first changes of a run, in order.
pub(super) fn run_changes(
    transaction: &ReadTransaction,
    id: RunId,
    limit: usize,
) -> Result<Vec<RunChange>> {
    let Some(table) = open_newer(transaction, RUN_CHANGES)? else { return Ok(Vec::new()) };
    let rows = table.range((id.0, 0)..=(id.0, u64::MAX))?.take(limit);
    rows.map(|row| Ok(change(row?.1.value()))).collect()
}

/// Removes a page of what is kept of the oldest of more than `keep` runs, open ones excepted;
/// returns how many rows that were.
pub(super) fn trim_runs(batch: &mut Batch<'_>, keep: u64) -> Result<u64> {
    batch.may_tidy()?;
    let mut n_surplus = batch.tables().runs.len()?.saturating_sub(keep);
    let mut n_removed = 0;
    let mut after = 0;
    while n_surplus > 0 && n_removed < SCAN_PAGE as u64 {
        let Some((id, is_open)) = batch.run_from(after)? else { break };
        after = id.0.saturating_add(1);
        n_surplus -= 1;
        if is_open {
            continue;
        }
        let n_left = SCAN_PAGE.saturating_sub(usize::try_from(n_removed).unwrap_or(SCAN_PAGE));
        let tables = batch.change();
        let range = || (id.0, 0)..=(id.0, u64::MAX);
        let rows: Vec<(u64, u64)> = tables
            .run_changes
            .range(range())?
            .take(n_left)
            .map(|row| row.map(|(key, _)| key.value()))
            .collect::<std::result::Result<_, _>>()?;
        for row in &rows {
            tables.run_changes.remove(*row)?;
        }
        n_removed += rows.len() as u64;
        if rows.len() < n_left {
            tables.runs.remove(id.0)?;
            n_removed += 1;
        }
    }
    Ok(n_removed)
}

/// A row of `run_changes`.
pub(super) const fn change((id, version, is_new): (u128, u64, bool)) -> RunChange {
    RunChange { id: MemoryId::from_u128(id), version, is_new }
}

impl Batch<'_> {
    /// Refuses changes under the id of a run that is not open, or a dry one.
    pub(super) fn takes_changes(&self, id: RunId) -> Result<()> {
        match self.load_run(id)? {
            Some(run) if run.finished_at.is_none() && !run.is_dry_run => Ok(()),
            Some(_) | None => Err(StoreError::RunClosed(id)),
        }
    }

    /// What is known of a run.
    pub(super) fn load_run(&self, id: RunId) -> Result<Option<RunRecord>> {
        self.tables().runs.get(id.0)?.map(|row| decode(row.value())).transpose()
    }

    /// Writes what is known of a run.
    pub(super) fn put_run(&mut self, id: RunId, record: &RunRecord) -> Result<()> {
        let bytes = encode(record)?;
        self.change().runs.insert(id.0, bytes.as_slice())?;
        Ok(())
    }

    /// Adds a run under the next number.
    pub(super) fn add_run(&mut self, record: &RunRecord) -> Result<RunId> {
        let id = RunId(meta(&self.tables().meta, META_RUN)?.saturating_add(1));
        self.change().meta.insert(META_RUN, id.0)?;
        self.put_run(id, record)?;
        Ok(id)
    }

    fn end_run(
        &mut self,
        id: RunId,
        record: RunRecord,
        outcome: &Outcome,
        at: Timestamp,
    ) -> Result<()> {
        let record = record.ended(outcome, at);
        self.put_run(id, &record)?;
        match JobName::parse(&record.job) {
            Some(job) => self.change_job(job, |state| state.end(outcome, record.is_dry_run, at)),
            None => Ok(()),
        }
    }

    /// The first run from `first` on, and whether it is open.
    fn run_from(&self, first: u64) -> Result<Option<(RunId, bool)>> {
        let row = self.tables().runs.range(first..)?.next().transpose()?;
        row.map(|(id, record)| {
            let is_open = decode::<RunRecord>(record.value())?.finished_at.is_none();
            Ok((RunId(id.value()), is_open))
        })
        .transpose()
    }

    fn job(&self, job: JobName) -> Result<JobRecord> {
        let row = self.tables().jobs.get(job.as_str())?;
        row.map_or_else(
            || Ok(JobRecord::of(&JobState::new(job), Unknown::new())),
            |row| decode(row.value()),
        )
    }

    fn put_job(&mut self, job: JobName, record: &JobRecord) -> Result<()> {
        let bytes = encode(record)?;
        self.change().jobs.insert(job.as_str(), bytes.as_slice())?;
        Ok(())
    }

    fn change_job(&mut self, job: JobName, change: impl FnOnce(&mut JobState)) -> Result<()> {
        let present = self.job(job)?;
        let unknown = present.unknown.clone();
        let mut state = present.into_state(job)?;
        change(&mut state);
        self.put_job(job, &JobRecord::of(&state, unknown))
    }
}
