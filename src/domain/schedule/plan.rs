//! What is to be done about a job at a moment, and what becomes of its state.
//!
//! A job's state says when it is next due as an instant, so that nothing depends on how often or how
//! regularly anybody looks: what was missed while the daemon was down or the machine slept comes due
//! once, late. Nothing here reads a clock or writes anything.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::Schedule;
use crate::domain::job::{JobName, JobState, Outcome, Trigger};
use crate::domain::limits::{
    JOB_FAILURES_MAX, JOB_LATE_AFTER, JOB_PAUSE_MAX, JOB_PAUSE_MIN, JOB_STEP_BACK_MAX,
};

/// The moment at which somebody looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Now.
    pub now: Timestamp,
    /// When the daemon started.
    pub started_at: Timestamp,
    /// From when on the job may run for what was missed before that, see [`catch_up_delay`].
    pub catch_up_at: Timestamp,
}

/// What is to be done about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing is on its timetable.
    Idle,
    /// Nothing before this moment.
    Wait(Timestamp),
    /// It is to run.
    Run {
        /// Why.
        trigger: Trigger,
        /// When it was due.
        scheduled_at: Timestamp,
    },
    /// It is due and does not run.
    Skip(String),
}

/// Looks at a job. A run that its process did not live to end counts as missed.
pub fn look(state: &JobState, view: View) -> Look {
    let View { now, started_at, catch_up_at } = view;
    if let Some(until) = state.paused_until.filter(|until| *until > now) {
        return match state.next_due_at {
            Some(due) if due <= now => Look::Skip(format!(
                "paused until {until} after {} failures in a row",
                state.n_failures
            )),
            Some(due) => Look::Wait(due.min(until)),
            None => Look::Wait(until),
        };
    }
    let interrupted = was_interrupted(state);
    let Some(due) = interrupted.or(state.next_due_at) else { return Look::Idle };
    if due > now {
        return Look::Wait(due);
    }
    let is_missed = interrupted.is_some() || due < started_at;
    if is_missed && now < catch_up_at {
        return Look::Wait(catch_up_at);
    }
    let is_late = now.duration_since(due) > signed(JOB_LATE_AFTER);
    let trigger = if is_missed || is_late { Trigger::CatchUp } else { Trigger::Timer };
    Look::Run { trigger, scheduled_at: due }
}

/// When the last run was due, if it was interrupted and has not been made again.
fn was_interrupted(state: &JobState) -> Option<Timestamp> {
    let is_open = state.last_outcome == Some(Outcome::Interrupted) && state.running.is_none();
    is_open.then(|| state.last_scheduled_at.or(state.last_started_at)).flatten()
}

/// When a job is due after what has been dealt with. A clock that was set back a little does not
/// bring a run again; one that was far ahead when the last run was made has said nothing.
pub fn due_again(schedule: &Schedule, state: &JobState, now: Timestamp) -> Option<Timestamp> {
    let latest = now.checked_add(signed(JOB_STEP_BACK_MAX)).unwrap_or(now);
    let dealt_with = state.last_scheduled_at.filter(|at| *at <= latest);
    schedule.next_after(dealt_with.map_or(now, |at| at.max(now)))
}

/// The state at the start of the daemon, or after the clock was set: what was missed stays due, for
/// everything else the schedule of today counts.
#[must_use]
pub fn due_at_start(schedule: &Schedule, mut state: JobState, now: Timestamp) -> JobState {
    let missed = state.next_due_at.filter(|due| *due <= now);
    state.next_due_at = missed.or_else(|| due_again(schedule, &state, now));
    state
}

/// The state of a job that is switched off: nothing is due, and nothing will have been missed.
#[must_use]
pub fn disabled(mut state: JobState) -> JobState {
    state.next_due_at = None;
    if state.last_outcome == Some(Outcome::Interrupted) {
        state.last_scheduled_at = None;
        state.last_started_at = None;
    }
    state
}

/// The state once the run that was due at `scheduled_at` is under way: however many occurrences have
/// passed meanwhile, the next one is in the future.
#[must_use]
pub fn launched(
    schedule: &Schedule,
    mut state: JobState,
    scheduled_at: Timestamp,
    now: Timestamp,
) -> JobState {
    state.last_scheduled_at = Some(scheduled_at);
    state.next_due_at = due_again(schedule, &state, now);
    state
}

/// The state after an occurrence that does not run, and why.
#[must_use]
pub fn skipped(schedule: &Schedule, mut state: JobState, why: String, now: Timestamp) -> JobState {
    state.last_scheduled_at = state.next_due_at.filter(|due| *due <= now);
    state.next_due_at = due_again(schedule, &state, now);
    state.n_skipped += 1;
    state.last_skip = Some((now, why));
    state
}

/// The state after a run that ended at `at`. After [`JOB_FAILURES_MAX`] failures in a row a job is
/// left alone for a while, longer each time.
#[must_use]
pub fn paused(mut state: JobState, at: Timestamp) -> JobState {
    state.paused_until = state.n_failures.checked_sub(JOB_FAILURES_MAX).and_then(|n_more| {
        let pause = JOB_PAUSE_MIN.saturating_mul(1 << n_more.min(16)).min(JOB_PAUSE_MAX);
        at.checked_add(signed(pause)).ok()
    });
    state
}

/// The state of a job whose run did not end when its process did, found at `at`. It may have been
/// the job that ended the process, so it counts as a failure too.
#[must_use]
pub fn failed_by_end_of_process(mut state: JobState, at: Timestamp) -> JobState {
    state.n_failures = state.n_failures.saturating_add(1);
    paused(state, at)
}

/// How long after the start of the daemon a job may run for what was missed: `delay` and up to as
/// much again, always the same for one job of one store, so that jobs and machines do not start at
/// once and a run can still be explained.
pub fn catch_up_delay(delay: Duration, seed: u64, job: JobName) -> Duration {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_be_bytes());
    hasher.update(job.as_str().as_bytes());
    let mut first = [0; 4];
    hasher.finalize_xof().fill(&mut first);
    delay.mul_f64(1.0 + f64::from(u32::from_be_bytes(first)) / f64::from(u32::MAX))
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests;
