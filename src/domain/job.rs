//! The jobs of the daemon's own maintenance: their state, their runs, and what a run changed.
//!
//! A run is one activation of a job. Every change it makes is recorded under its id, so that it can
//! be told what it did and be undone: what it changed gets its earlier record back, what it made is
//! withdrawn, and what has changed since is left and listed.

use std::fmt;

use jiff::Timestamp;

use super::id::MemoryId;
use super::memory::named_values;

named_values! {
    /// What is done by itself.
    JobName {
        /// Materialises strengths.
        Decay = "decay",
        /// Summarises memories that belong together.
        Consolidate = "consolidate",
        /// Proposes reminders for what memories show to happen again and again.
        Suggest = "suggest",
        /// Moves faded memories out of the way.
        Archive = "archive",
        /// Takes memories out of sessions.
        Extract = "extract",
        /// Erases by an explicit rule of retention.
        Purge = "purge",
    }
}

named_values! {
    /// Who or what asked for a run.
    Trigger {
        /// Its time had come.
        Timer = "timer",
        /// Its time had passed while nothing ran.
        CatchUp = "catch_up",
        /// A signal to the process.
        Signal = "signal",
        /// The person.
        Owner = "owner",
        /// An agent.
        Agent = "agent",
    }
}

/// Number of a run: grows by one, never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did everything.
    Done,
    /// It did part of it, and why not the rest; what it did stands.
    Partial(String),
    /// It failed, and why; what it did before stands.
    Failed(String),
    /// Its process ended before it did.
    Interrupted,
    /// There was nothing that could be done, and why.
    Skipped(String),
}

impl Outcome {
    /// The name that is stored and shown.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial(_) => "partial",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
            Self::Skipped(_) => "skipped",
        }
    }

    /// The reason, if the name does not say everything.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Partial(why) | Self::Failed(why) | Self::Skipped(why) => Some(why),
            Self::Done | Self::Interrupted => None,
        }
    }

    /// The outcome with this name and reason; `None`: there is none of that name.
    pub fn named(name: &str, why: String) -> Option<Self> {
        [
            Self::Done,
            Self::Interrupted,
            Self::Partial(why.clone()),
            Self::Failed(why.clone()),
            Self::Skipped(why),
        ]
        .into_iter()
        .find(|outcome| outcome.as_str() == name)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why() {
            Some(why) => write!(f, "{}: {why}", self.as_str()),
            None => f.write_str(self.as_str()),
        }
    }
}

/// What is remembered of a job between its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    /// Which.
    pub job: JobName,
    /// The scheduled time that was served last, by a run or by being skipped.
    pub last_scheduled_at: Option<Timestamp>,
    /// When its last run began.
    pub last_started_at: Option<Timestamp>,
    /// When its last run ended.
    pub last_finished_at: Option<Timestamp>,
    /// How it ended.
    pub last_outcome: Option<Outcome>,
    /// When a run last did everything.
    pub last_success_at: Option<Timestamp>,
    /// When it is due next.
    pub next_due_at: Option<Timestamp>,
    /// The run that is open.
    pub running: Option<RunId>,
    /// Runs that failed since the last that did not.
    pub n_failures: u32,
    /// It is left alone until then.
    pub paused_until: Option<Timestamp>,
    /// Scheduled times that were skipped so far.
    pub n_skipped: u64,
    /// When and why one was skipped last.
    pub last_skip: Option<(Timestamp, String)>,
}

impl JobState {
    /// A job that has never run.
    pub const fn new(job: JobName) -> Self {
        Self {
            job,
            last_scheduled_at: None,
            last_started_at: None,
            last_finished_at: None,
            last_outcome: None,
            last_success_at: None,
            next_due_at: None,
            running: None,
            n_failures: 0,
            paused_until: None,
            n_skipped: 0,
            last_skip: None,
        }
    }

    /// Notes that a run begins. One that is only tried says nothing of the job.
    pub const fn begin(&mut self, run: RunId, is_dry_run: bool, at: Timestamp) {
        self.running = Some(run);
        if !is_dry_run {
            self.last_started_at = Some(at);
        }
    }

    /// Notes that the open run has ended.
    pub fn end(&mut self, outcome: &Outcome, is_dry_run: bool, at: Timestamp) {
        self.running = None;
        if is_dry_run {
            return;
        }
        self.last_finished_at = Some(at);
        match outcome {
            Outcome::Done => {
                self.last_success_at = Some(at);
                self.n_failures = 0;
            }
            Outcome::Partial(_) | Outcome::Skipped(_) => self.n_failures = 0,
            Outcome::Failed(_) => self.n_failures = self.n_failures.saturating_add(1),
            Outcome::Interrupted => {}
        }
        self.last_outcome = Some(outcome.clone());
    }
}

/// One activation of a job, or the undoing of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its number.
    pub id: RunId,
    /// Which job.
    pub job: JobName,
    /// Who or what asked for it.
    pub trigger: Trigger,
    /// Whether it only tells what it would do.
    pub is_dry_run: bool,
    /// The scheduled time that it serves; `None` if it was asked for.
    pub scheduled_at: Option<Timestamp>,
    /// The time that it computes with.
    pub now: Timestamp,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; `None`: it is open.
    pub finished_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Memories that it made or changed.
    pub n_changed: u64,
    /// A JSON object: counts, ids and reasons, never content.
    pub report: String,
    /// The run that this one undid.
    pub undoes: Option<RunId>,
    /// The run that undid this one.
    pub undone_by: Option<RunId>,
}

/// A run that is to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// Which job.
    pub job: JobName,
    /// Who or what asks for it.
    pub trigger: Trigger,
    /// Whether it only tells what it would do: then nothing can be changed under its id.
    pub is_dry_run: bool,
    /// The scheduled time that it serves; `None` if it was asked for.
    pub scheduled_at: Option<Timestamp>,
    /// The time that it computes with, and at which it begins.
    pub now: Timestamp,
    /// Names the process: an open run under another lease is that of a process that is gone.
    pub lease: String,
}

/// Why a run cannot begin: the same job runs already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("run {run} of this job has been going on since {started_at}")]
pub struct Running {
    /// Its run.
    pub run: RunId,
    /// When it began.
    pub started_at: Timestamp,
}

/// A memory that a run made or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunChange {
    /// Which.
    pub id: MemoryId,
    /// Its version after that.
    pub version: u64,
    /// Whether the run made it.
    pub is_new: bool,
}

named_values! {
    /// Why an undo left a memory as it is.
    Left {
        /// Somebody or another run has changed it since.
        Changed = "changed since",
        /// It was forgotten since, and stays so.
        Forgotten = "forgotten since",
    }
}

/// What the undoing of a run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The run that the undo itself is.
    pub run: RunId,
    /// Memories that got their earlier record back.
    pub restored: Vec<MemoryId>,
    /// Memories that are gone: what the run made, and what was made of that.
    pub withdrawn: Vec<MemoryId>,
    /// Memories that were left, and why.
    pub left: Vec<(MemoryId, Left)>,
}

/// Why a run cannot be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotUndone {
    /// There is none of this number (any more).
    #[error("there is no such run, or it is too long ago")]
    Missing,
    /// It has not ended.
    #[error("it is still going on")]
    Open,
    /// It was a dry run.
    #[error("it was a dry run, which changed nothing")]
    IsDryRun,
    /// It is one that undid another.
    #[error("it is an undo itself, and what was withdrawn is gone")]
    IsUndo,
    /// It was undone before.
    #[error("it was undone before, by run {0}")]
    Before(RunId),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    #[test]
    fn outcomes_read_back_by_name_and_reason() {
        for outcome in [
            Outcome::Done,
            Outcome::Partial("a".to_owned()),
            Outcome::Failed("b".to_owned()),
            Outcome::Interrupted,
            Outcome::Skipped("c".to_owned()),
        ] {
            let why = outcome.why().unwrap_or_default().to_owned();
            assert_eq!(Outcome::named(outcome.as_str(), why), Some(outcome));
        }
        assert_eq!(Outcome::named("perhaps", String::new()), None);
    }

    #[test]
    fn failures_are_counted_until_a_run_does_not_fail() {
        let failed = Outcome::Failed("x".to_owned());
        let mut state = JobState::new(JobName::Decay);
        for (outcome, n_failures, last_success) in [
            (failed.clone(), 1, None),
            (failed.clone(), 2, None),
            (Outcome::Interrupted, 2, None),
            (Outcome::Partial("late".to_owned()), 0, None),
            (failed, 1, None),
            (Outcome::Done, 0, Some(at(9))),
        ] {
            state.begin(RunId(1), false, at(8));
            assert_eq!((state.running, state.last_started_at), (Some(RunId(1)), Some(at(8))));
            state.end(&outcome, false, at(9));
            assert_eq!((state.running, state.last_finished_at), (None, Some(at(9))));
            assert_eq!((state.n_failures, state.last_success_at), (n_failures, last_success));
            assert_eq!(state.last_outcome, Some(outcome));
        }
    }

    #[test]
    fn a_dry_run_leaves_no_trace_in_the_state_of_its_job() {
        let mut state = JobState::new(JobName::Decay);
        state.begin(RunId(1), true, at(1));
        state.end(&Outcome::Failed("x".to_owned()), true, at(2));
        assert_eq!(state, JobState::new(JobName::Decay));
    }
}
