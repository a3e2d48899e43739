//! The state of each job: as the store has it, in line with the clock and the timetables.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::scheduler::{Inner, JobsSettings};
use crate::domain::job::{JobName, JobState, Outcome, Run};
use crate::domain::limits::{CLOCK_STEP_MIN, JOB_RUNS_TOLD};
use crate::domain::schedule::{
    Look, Schedule, View, catch_up_delay, disabled, due_again, due_at_start,
    failed_by_end_of_process, look, skipped,
};
use crate::ports::StoreError;

/// Everything that is known of the jobs.
#[derive(Default)]
pub(super) struct Board {
    /// Whether the states have been read.
    pub(super) is_open: bool,
    /// Why the store could not be asked the last time.
    pub(super) trouble: Option<(Timestamp, String)>,
    /// Wall clock and monotonic time of the last look.
    pub(super) seen: Option<(Timestamp, Duration)>,
    pub(super) entries: BTreeMap<JobName, Entry>,
}

/// One job.
pub(super) struct Entry {
    pub(super) state: JobState,
    pub(super) active: Option<Active>,
    /// The schedule that `state.next_due_at` follows.
    pub(super) planned: Option<Schedule>,
    /// Not before then, since the store refused to begin a run.
    pub(super) not_before: Option<Timestamp>,
}

/// What a job is doing.
pub(super) enum Active {
    /// It begins when another job has ended.
    Waiting(Timestamp),
    /// It runs.
    Running(Run),
}

impl Inner {
    pub(super) fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn settings(&self) -> Arc<JobsSettings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Wakes the loop.
    pub(super) fn wake(&self) {
        self.woken.notify_one();
    }

    /// Waits until the loop is to look.
    pub(super) async fn woken(&self) {
        self.woken.notified().await;
    }

    pub(super) fn note_trouble(&self, now: Timestamp, error: &StoreError) {
        let reason = error.to_string();
        let mut board = self.board();
        if board.trouble.as_ref().is_none_or(|(_, known)| *known != reason) {
            tracing::warn!(error = reason, "jobs wait for the store");
            board.trouble = Some((now, reason));
        }
    }

    /// Reads the states if that has not been done, and brings them in line with the clock and the
    /// timetables.
    pub(super) async fn keep_up(&self, now: Timestamp) -> Result<(), StoreError> {
        let is_open = self.board().is_open;
        if !is_open {
            self.read(now).await?;
        }
        let has_stepped = self.has_stepped(now);
        let settings = self.settings();
        let mut is_changed = !is_open;
        for name in self.jobs.iter().map(|job| job.name()) {
            let schedule = settings.timetables.get(&name).and_then(|own| own.schedule.as_ref());
            let replanned = {
                let mut board = self.board();
                let Some(entry) = board.entries.get_mut(&name) else { continue };
                let is_new = entry.planned.as_ref() != schedule;
                let old = entry.state.clone();
                entry.state = match schedule {
                    None => disabled(old.clone()),
                    Some(schedule) if !is_open || has_stepped => {
                        due_at_start(schedule, old.clone(), now)
                    }
                    Some(schedule) if is_new => {
                        JobState { next_due_at: due_again(schedule, &old, now), ..old.clone() }
                    }
                    Some(_) => old.clone(),
                };
                entry.planned = schedule.cloned();
                let result = (entry.state != old).then(|| entry.state.clone());
                drop(board);
                result
            };
            if let Some(state) = replanned {
                self.ledger.save_job_state(state).await?;
                is_changed = true;
            }
        }
        if !is_open {
            self.board().is_open = true;
        }
        if is_changed {
            self.board().trouble = None;
            self.tell_timetable(now);
        }
        Ok(())
    }

    /// Reads the states. Runs that are open were left so by a process that is gone.
    async fn read(&self, now: Timestamp) -> Result<(), StoreError> {
        let left: Vec<JobState> = self.ledger.job_states().await?;
        let n_items = self.ledger.interrupt_open_runs(now).await?;
        if n_items > 0 {
            tracing::warn!(n_items, "runs were cut off by the end of the daemon");
        }
        for mut state in self.ledger.job_states().await? {
            let was_running = left.iter().any(|old| old.job == state.job && old.running.is_some());
            if was_running && state.last_outcome == Some(Outcome::Interrupted) {
                state = failed_by_end_of_process(state, now);
                self.ledger.save_job_state(state.clone()).await?;
            }
            let mut board = self.board();
            if let Some(entry) = board.entries.get_mut(&state.job) {
                entry.state = state;
            }
        }
        Ok(())
    }

    /// Whether the wall clock went another way than time since the last look.
    fn has_stepped(&self, now: Timestamp) -> bool {
        let passed = self.clock.monotonic();
        let Some((then, passed_then)) = self.board().seen.replace((now, passed)) else {
            return false;
        };
        let on_clock = now.duration_since(then);
        let elapsed = SignedDuration::try_from(passed.saturating_sub(passed_then));
        let step = on_clock.saturating_sub(elapsed.unwrap_or_default());
        let has_stepped = step.unsigned_abs() >= CLOCK_STEP_MIN;
        if has_stepped {
            // A machine that slept looks the same: the monotonic clock stands still meanwhile.
            tracing::info!(seconds = step.as_secs_f64(), "the clock was set, or the machine slept");
        }
        has_stepped
    }

    fn tell_timetable(&self, now: Timestamp) {
        for (job, timetable) in &self.settings().timetables {
            let Some(schedule) = &timetable.schedule else { continue };
            let runs: Vec<String> =
                schedule.upcoming(now, JOB_RUNS_TOLD).iter().map(ToString::to_string).collect();
            tracing::info!(%job, schedule = schedule.line(), next = runs.join(", "), "job scheduled");
        }
    }

    pub(super) fn decide(&self, name: JobName, now: Timestamp) -> Look {
        let delay = catch_up_delay(self.settings().catch_up_after, self.seed, name);
        let catch_up_at = self.started_at.checked_add(delay).unwrap_or(self.started_at);
        let view = View { now, started_at: self.started_at, catch_up_at };
        let board = self.board();
        let Some(entry) = board.entries.get(&name) else { return Look::Idle };
        // What comes due while it waits for its turn is served by the run that it waits for.
        if matches!(entry.active, Some(Active::Waiting(_))) {
            return Look::Idle;
        }
        let looked = match entry.not_before.filter(|at| *at > now) {
            Some(at) => Look::Wait(at),
            None => look(&entry.state, view),
        };
        drop(board);
        looked
    }

    /// Passes over what is due now, and says why.
    pub(super) async fn skip(&self, name: JobName, why: String, now: Timestamp) {
        tracing::info!(job = %name, reason = why, "job skipped");
        self.change(name, |state, schedule| match schedule {
            Some(schedule) => skipped(schedule, state, why, now),
            None => state,
        })
        .await;
    }

    /// Changes the state of a job here and in the store.
    pub(super) async fn change(
        &self,
        name: JobName,
        change: impl FnOnce(JobState, Option<&Schedule>) -> JobState,
    ) {
        let changed = {
            let mut board = self.board();
            let Some(entry) = board.entries.get_mut(&name) else { return };
            let state = change(entry.state.clone(), entry.planned.as_ref());
            let is_same = entry.state == state;
            entry.state = state.clone();
            drop(board);
            (!is_same).then_some(state)
        };
        if let Some(state) = changed
            && let Err(error) = self.ledger.save_job_state(state).await
        {
            self.note_trouble(self.clock.now(), &error);
        }
    }
}
