//! The port of the jobs: their state, their runs, and undoing one.

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::StoreError;
use crate::domain::identity::Actor;
use crate::domain::job::{
    JobName, JobState, NewRun, NotUndone, Outcome, Run, RunChange, RunId, Running, Undone,
};

/// The state of the jobs, and their runs with what each changed.
pub trait Ledger: Send + Sync {
    /// The jobs that have a state, in the order of their names.
    fn job_states(&self) -> BoxFuture<'_, Result<Vec<JobState>, StoreError>>;

    /// Saves the state of a job, but for `running`, which follows its runs.
    fn save_job_state(&self, state: JobState) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Begins a run and notes it in the state of its job, durable at the answer, unless one of the
    /// same job is open. One that is open under another lease is ended as interrupted first.
    fn begin_run(&self, new: NewRun) -> BoxFuture<'_, Result<Result<Run, Running>, StoreError>>;

    /// Ends a run and notes it in the state of its job ([`JobState::end`]); nothing if it has
    /// ended already.
    fn finish_run(
        &self,
        id: RunId,
        outcome: Outcome,
        n_changed: u64,
        report: String,
        at: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Ends every open run as interrupted: for the start of the process. Returns how many.
    fn interrupt_open_runs(&self, at: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// The newest runs (of one job) before `before`, newest first.
    fn runs(
        &self,
        job: Option<JobName>,
        before: Option<RunId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Run>, StoreError>>;

    /// A run, if it is known (any more).
    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<Run>, StoreError>>;

    /// The first `limit` changes that a run made, in order.
    fn run_changes(
        &self,
        id: RunId,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<RunChange>, StoreError>>;

    /// Undoes a run in one transaction, durable at the answer. A memory that the run changed and
    /// nobody since has its earlier record again, but for its version and its usage; one that the
    /// run made and nobody changed since is withdrawn for good, with everything made of it. What
    /// another summary spoke for before is spoken for by that again.
    fn undo(
        &self,
        id: RunId,
        actor: Actor,
        at: Timestamp,
    ) -> BoxFuture<'_, Result<Result<Undone, NotUndone>, StoreError>>;

    /// Drops all but the newest `keep` runs, open ones excepted, with what they changed: they
    /// cannot be undone any more. Returns how many rows that were.
    fn trim_runs(&self, keep: u64) -> BoxFuture<'_, Result<u64, StoreError>>;
}
