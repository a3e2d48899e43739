//! One run, from its turn to its end.
//!
//! Whatever the job does, the run has an end that is noted: it returns, it is told to stop at its
//! deadline or with the daemon, it does not hear that and is cut off, or it panics.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::scheduler::Inner;
use super::states::Active;
use super::{Job, JobError, RunContext, RunReport};
use crate::domain::job::{JobName, NewRun, Outcome, Run, Trigger};
use crate::domain::limits::{
    JOB_DEADLINE_WAIT, JOB_RETRY, JOB_STOP_WAIT, RUN_CHANGES_COUNTED_MAX, RUNS_KEPT,
};
use crate::domain::schedule::{launched, paused};
use crate::ports::{Asked, NotRun};

/// A run that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// By whom or what.
    pub(super) trigger: Trigger,
    /// Whether it only tells what it would do.
    pub(super) is_dry_run: bool,
    /// The scheduled time that it serves.
    pub(super) scheduled_at: Option<Timestamp>,
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is not its turn.
    Waits,
    /// It runs.
    Begun(Run),
    /// It has ended.
    Ended(Run),
    /// It did not begin.
    Refused(NotRun),
}

impl Progress {
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Refused(_))
    }

    pub(super) fn answer(self) -> Result<Asked, NotRun> {
        match self {
            Self::Waits => Ok(Asked::Waits),
            Self::Begun(run) => Ok(Asked::Begun(run)),
            Self::Ended(run) => Ok(Asked::Ended(run)),
            Self::Refused(why) => Err(why),
        }
    }
}

/// Why a run was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// It was not.
    Nothing,
    /// Its time was over.
    Deadline(Duration),
    /// The daemon stops.
    Stop,
}

/// How a run ended.
struct End {
    outcome: Outcome,
    n_changed: u64,
    report: String,
}

impl Inner {
    /// Waits for its turn, runs the job, and notes everything.
    pub(super) async fn carry_out(
        self: Arc<Self>,
        job: Arc<dyn Job>,
        ask: Ask,
        progress: watch::Sender<Progress>,
    ) {
        let name = job.name();
        let turn = tokio::select! {
            turn = self.turn.acquire() => turn.ok(),
            () = self.stop.cancelled() => None,
        };
        let end = match &turn {
            Some(_) => self.run(&job, ask, &progress).await,
            None => Progress::Refused(NotRun::Stopping),
        };
        if matches!(end, Progress::Refused(_))
            && let Some(entry) = self.board().entries.get_mut(&name)
        {
            entry.active = None;
        }
        progress.send_replace(end);
        self.wake();
        if let Err(error) = self.ledger.trim_runs(RUNS_KEPT).await {
            tracing::debug!(%error, "old runs not dropped yet");
        }
        drop(turn);
    }

    async fn run(
        self: &Arc<Self>,
        job: &Arc<dyn Job>,
        ask: Ask,
        progress: &watch::Sender<Progress>,
    ) -> Progress {
        let name = job.name();
        let run = match self.begin_run(name, ask).await {
            Ok(run) => run,
            Err(why) => return Progress::Refused(why),
        };
        progress.send_replace(Progress::Begun(run.clone()));
        tracing::debug!(job = %name, run_id = run.id.0, trigger = %run.trigger, "job started");
        let started = self.clock.monotonic();
        let end = self.guarded(job, &run).await;
        let elapsed = self.clock.monotonic().saturating_sub(started);
        let at = self.clock.now();
        if !self.finish(&run, &end, at).await {
            return Progress::Refused(NotRun::Stopping);
        }
        tell(&run, &end, elapsed);
        let until = self.board().entries.get(&name).and_then(|entry| entry.state.paused_until);
        if let (Outcome::Failed(_), Some(until)) = (&end.outcome, until) {
            tracing::error!(job = %name, until = %until, "job paused");
        }
        let End { outcome, n_changed, report } = end;
        Progress::Ended(Run {
            finished_at: Some(at),
            outcome: Some(outcome),
            n_changed,
            report,
            ..run
        })
    }

    /// Notes durably that a run begins, and when the job is due after it.
    async fn begin_run(&self, name: JobName, ask: Ask) -> Result<Run, NotRun> {
        let now = self.clock.now();
        let new = NewRun {
            job: name,
            trigger: ask.trigger,
            is_dry_run: ask.is_dry_run,
            scheduled_at: ask.scheduled_at,
            now,
            lease: self.lease.clone(),
        };
        let run = match self.ledger.begin_run(new).await {
            Ok(Ok(run)) => {
                self.board().trouble = None;
                run
            }
            Ok(Err(running)) => {
                self.postpone(name, now);
                let how = running.to_string();
                return Err(NotRun::Active { job: name, how });
            }
            Err(error) => {
                self.note_trouble(now, &error);
                self.postpone(name, now);
                return Err(error.into());
            }
        };
        if let Some(entry) = self.board().entries.get_mut(&name) {
            entry.active = Some(Active::Running(run.clone()));
            entry.state.begin(run.id, run.is_dry_run, now);
        }
        if let Some(scheduled_at) = ask.scheduled_at {
            self.change(name, |state, schedule| match schedule {
                Some(schedule) => launched(schedule, state, scheduled_at, now),
                None => state,
            })
            .await;
        }
        Ok(run)
    }

    /// Lets the timer alone for a while; in the store the run is still due, for the next start.
    fn postpone(&self, name: JobName, now: Timestamp) {
        if let Some(entry) = self.board().entries.get_mut(&name) {
            entry.not_before = now.checked_add(JOB_RETRY).ok();
        }
    }

    /// Runs the job in a task of its own until it ends, or until it has been told to and had its time
    /// for that.
    async fn guarded(&self, job: &Arc<dyn Job>, run: &Run) -> End {
        let max_runtime = self.settings().timetables.get(&run.job).map(|own| own.max_runtime);
        let max_runtime = max_runtime.unwrap_or(Duration::MAX);
        let stop = CancellationToken::new();
        let context = RunContext {
            run: run.id,
            now: run.now,
            is_dry_run: run.is_dry_run,
            stop: stop.clone(),
            deadline: self.clock.monotonic().saturating_add(max_runtime),
        };
        let task = Arc::clone(job);
        let mut task = self.tasks.spawn(async move { task.run(context).await });
        let (told, wait) = tokio::select! {
            ended = &mut task => return self.judge(run, ended, Told::Nothing).await,
            () = tokio::time::sleep(max_runtime) => (Told::Deadline(max_runtime), JOB_DEADLINE_WAIT),
            () = self.stop.cancelled() => (Told::Stop, JOB_STOP_WAIT),
        };
        stop.cancel();
        let in_time = tokio::select! {
            ended = &mut task => Some(ended),
            () = tokio::time::sleep(wait) => None,
            // The daemon does not wait for a job that is over its time.
            () = self.stop.cancelled(), if told != Told::Stop => None,
        };
        if let Some(ended) = in_time {
            return self.judge(run, ended, told).await;
        }
        task.abort();
        let ended = task.await;
        match &ended {
            Ok(_) => self.judge(run, ended, told).await,
            Err(_) if told == Told::Stop => self.cut_off(run, Outcome::Interrupted).await,
            Err(_) => {
                let why =
                    format!("it did not end when its time of {} s was over", max_runtime.as_secs());
                self.cut_off(run, Outcome::Failed(why)).await
            }
        }
    }

    async fn judge(
        &self,
        run: &Run,
        ended: Result<Result<RunReport, JobError>, JoinError>,
        told: Told,
    ) -> End {
        let report = match ended {
            Ok(Ok(report)) => report,
            Ok(Err(_)) if told == Told::Stop => {
                return self.cut_off(run, Outcome::Interrupted).await;
            }
            Ok(Err(error)) => return self.cut_off(run, Outcome::Failed(error.to_string())).await,
            // The text of a panic may quote a memory; its place stands in the log.
            Err(_) => {
                let why = "a defect: it panicked, the log tells where".to_owned();
                return self.cut_off(run, Outcome::Failed(why)).await;
            }
        };
        let RunReport { n_changed, report, outcome } = report;
        let outcome = match (outcome, told) {
            (Outcome::Partial(_), Told::Stop) => Outcome::Interrupted,
            (Outcome::Partial(_), Told::Deadline(time)) => {
                Outcome::Partial(format!("its time of {} s was over", time.as_secs()))
            }
            (outcome, _) => outcome,
        };
        End { outcome, n_changed, report: report.to_string() }
    }

    /// The end of a run that tells nothing itself: what it changed is known all the same.
    async fn cut_off(&self, run: &Run, outcome: Outcome) -> End {
        let changes = self.ledger.run_changes(run.id, RUN_CHANGES_COUNTED_MAX).await;
        let n_changed = changes.map_or(0, |changes| changes.len() as u64);
        End { outcome, n_changed, report: json!({}).to_string() }
    }

    /// Notes the end of a run, again and again if the store cannot; `false`: the daemon stopped
    /// first, and its next start finds the run cut off. A job that failed again and again is left
    /// alone for a while.
    async fn finish(&self, run: &Run, end: &End, at: Timestamp) -> bool {
        loop {
            let (outcome, report) = (end.outcome.clone(), end.report.clone());
            match self.ledger.finish_run(run.id, outcome, end.n_changed, report, at).await {
                Ok(()) => break,
                Err(error) => self.note_trouble(at, &error),
            }
            tokio::select! {
                () = self.stop.cancelled() => return false,
                () = tokio::time::sleep(JOB_RETRY) => {}
            }
        }
        {
            let mut board = self.board();
            board.trouble = None;
            if let Some(entry) = board.entries.get_mut(&run.job) {
                entry.state.end(&end.outcome, run.is_dry_run, at);
            }
        }
        let counts = !run.is_dry_run && end.outcome != Outcome::Interrupted;
        if counts {
            self.change(run.job, |state, _| paused(state, at)).await;
        }
        if let Some(entry) = self.board().entries.get_mut(&run.job) {
            entry.active = None;
        }
        true
    }
}

fn tell(run: &Run, end: &End, elapsed: Duration) {
    let (job, run_id, trigger) = (run.job, run.id.0, run.trigger);
    let (outcome, n_items) = (&end.outcome, end.n_changed);
    let elapsed_ms = elapsed.as_secs_f64() * 1e3;
    let late_s = run.scheduled_at.map(|due| run.started_at.duration_since(due).as_secs());
    if let Outcome::Failed(_) = outcome {
        tracing::warn!(%job, run_id, %trigger, %outcome, n_items, elapsed_ms, late_s, "job failed");
    } else {
        let dry_run = run.is_dry_run;
        tracing::info!(%job, run_id, %trigger, %outcome, dry_run, n_items, elapsed_ms, late_s, "job finished");
    }
}
