//! The records of jobs and runs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::job::{JobName, JobState, NewRun, Outcome, Run, RunId, Trigger};

use super::codec::Stored;
use super::errors::Result;
use super::records::{Unknown, named, time, times};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OutcomeRecord {
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    why: String,
}

impl OutcomeRecord {
    fn of(outcome: &Outcome) -> Self {
        let why = outcome.why().unwrap_or_default().to_owned();
        Self { name: outcome.as_str().to_owned(), why }
    }

    fn into_outcome(self) -> Result<Outcome> {
        let Self { name, why } = self;
        named(Outcome::named(&name, why), &name)
    }
}

/// What is remembered of a job between its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JobRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_scheduled_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_started_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_finished_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_outcome: Option<OutcomeRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_success_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_due_at: Option<i64>,
    /// The open run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) running: Option<u64>,
    n_failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paused_until: Option<i64>,
    n_skipped: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_skip_at: Option<i64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    last_skip_why: String,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl Stored for JobRecord {
    const WHAT: &'static str = "state of a job";
}

impl JobRecord {
    /// The record of a state, with the fields of a later version.
    pub(super) fn of(state: &JobState, unknown: Unknown) -> Self {
        let microseconds = |time: Option<Timestamp>| time.map(Timestamp::as_microsecond);
        let (last_skip_at, last_skip_why) = state.last_skip.clone().unzip();
        Self {
            last_scheduled_at: microseconds(state.last_scheduled_at),
            last_started_at: microseconds(state.last_started_at),
            last_finished_at: microseconds(state.last_finished_at),
            last_outcome: state.last_outcome.as_ref().map(OutcomeRecord::of),
            last_success_at: microseconds(state.last_success_at),
            next_due_at: microseconds(state.next_due_at),
            running: state.running.map(|run| run.0),
            n_failures: state.n_failures,
            paused_until: microseconds(state.paused_until),
            n_skipped: state.n_skipped,
            last_skip_at: microseconds(last_skip_at),
            last_skip_why: last_skip_why.unwrap_or_default(),
            unknown,
        }
    }

    /// The state it stands for.
    pub(super) fn into_state(self, job: JobName) -> Result<JobState> {
        Ok(JobState {
            job,
            last_scheduled_at: times(self.last_scheduled_at)?,
            last_started_at: times(self.last_started_at)?,
            last_finished_at: times(self.last_finished_at)?,
            last_outcome: self.last_outcome.map(OutcomeRecord::into_outcome).transpose()?,
            last_success_at: times(self.last_success_at)?,
            next_due_at: times(self.next_due_at)?,
            running: self.running.map(RunId),
            n_failures: self.n_failures,
            paused_until: times(self.paused_until)?,
            n_skipped: self.n_skipped,
            last_skip: times(self.last_skip_at)?.map(|at| (at, self.last_skip_why)),
        })
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunRecord {
    pub(super) job: String,
    pub(super) trigger: String,
    pub(super) is_dry_run: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scheduled_at: Option<i64>,
    pub(super) now: i64,
    pub(super) started_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) finished_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<OutcomeRecord>,
    pub(super) n_changed: u64,
    pub(super) report: String,
    /// The process that it runs in.
    pub(super) lease: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) undoes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) undone_by: Option<u64>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl Stored for RunRecord {
    const WHAT: &'static str = "run of a job";
}

impl RunRecord {
    /// A run that begins.
    pub(super) fn begun(new: &NewRun) -> Self {
        Self {
            job: new.job.to_string(),
            trigger: new.trigger.to_string(),
            is_dry_run: new.is_dry_run,
            scheduled_at: new.scheduled_at.map(Timestamp::as_microsecond),
            now: new.now.as_microsecond(),
            started_at: new.now.as_microsecond(),
            finished_at: None,
            outcome: None,
            n_changed: 0,
            // Of one that never ends nothing is told.
            report: "{}".to_owned(),
            lease: new.lease.clone(),
            undoes: None,
            undone_by: None,
            unknown: Unknown::new(),
        }
    }

    /// The same run, ended.
    pub(super) fn ended(self, outcome: &Outcome, at: Timestamp) -> Self {
        Self {
            finished_at: Some(at.as_microsecond()),
            outcome: Some(OutcomeRecord::of(outcome)),
            ..self
        }
    }

    /// The run it stands for.
    pub(super) fn into_run(self, id: RunId) -> Result<Run> {
        Ok(Run {
            id,
            job: named(JobName::parse(&self.job), &self.job)?,
            trigger: named(Trigger::parse(&self.trigger), &self.trigger)?,
            is_dry_run: self.is_dry_run,
            scheduled_at: times(self.scheduled_at)?,
            now: time(self.now)?,
            started_at: time(self.started_at)?,
            finished_at: times(self.finished_at)?,
            outcome: self.outcome.map(OutcomeRecord::into_outcome).transpose()?,
            n_changed: self.n_changed,
            report: self.report,
            undoes: self.undoes.map(RunId),
            undone_by: self.undone_by.map(RunId),
        })
    }
}
