//! Asking for the daemon's jobs, and how they are.

use futures::future::BoxFuture;
use jiff::ZonedDateTime;

use super::StoreError;
use crate::domain::job::{JobName, JobState, Run, Trigger};

/// The jobs, as whoever asks for them sees them. However a run is asked for (timer, signal, person,
/// agent), it goes through the same locks.
pub trait Maintenance: Send + Sync {
    /// Every job there is, in the order in which they run when all are asked for.
    fn jobs(&self) -> Vec<JobReport>;

    /// Asks for a run, and waits for its end, at most
    /// [`JOB_ANSWER_WAIT`](crate::domain::limits::JOB_ANSWER_WAIT); the run goes on after that.
    fn run(
        &self,
        job: JobName,
        trigger: Trigger,
        is_dry_run: bool,
    ) -> BoxFuture<'_, Result<Asked, NotRun>>;
}

/// What became of a run that was asked for, as far as it was waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It has ended.
    Ended(Run),
    /// It is going on.
    Begun(Run),
    /// It begins when another job has ended.
    Waits,
}

/// Why a run was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// There is no such job.
    #[error("there is no job `{0}` here")]
    Unknown(JobName),
    /// One at a time.
    #[error("{job} is {how} already; ask again when it has ended")]
    Active {
        /// The job.
        job: JobName,
        /// `run 7, going on since ...` or the like.
        how: String,
    },
    /// Their state has not been read yet, and why.
    #[error("the jobs are not ready yet ({0}); try again shortly")]
    NotReady(String),
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Stopping,
    /// It could not be noted, so it was not begun.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a job is.
#[derive(Clone, Debug, PartialEq)]
pub struct JobReport {
    /// What is remembered of it.
    pub state: JobState,
    /// Its timetable; `None`: it runs only when it is asked for.
    pub schedule: Option<String>,
    /// When it runs next by that, with the zone.
    pub upcoming: Vec<ZonedDateTime>,
    /// What it is doing, if anything: `going on since ...`.
    pub activity: Option<String>,
}
