//! How the jobs are, for lists and for `status`.

use std::fmt;

use super::Scheduler;
use super::scheduler::Inner;
use super::states::Active;
use crate::domain::job::Outcome;
use crate::domain::limits::JOB_RUNS_TOLD;
use crate::ports::JobReport;
use crate::service::status::{PartState, PartStatus};

impl fmt::Display for Active {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting(since) => write!(f, "waiting for its turn since {since}"),
            Self::Running(run) => write!(f, "going on since {} as run {}", run.started_at, run.id),
        }
    }
}

impl Inner {
    pub(super) fn reports(&self) -> Vec<JobReport> {
        let (now, settings) = (self.clock.now(), self.settings());
        let board = self.board();
        let report = |name| {
            let entry = board.entries.get(&name)?;
            let timetable = settings.timetables.get(&name);
            let schedule = timetable.and_then(|timetable| timetable.schedule.as_ref());
            Some(JobReport {
                state: entry.state.clone(),
                schedule: schedule.map(|schedule| schedule.line().to_owned()),
                upcoming: schedule
                    .map(|schedule| schedule.upcoming(now, JOB_RUNS_TOLD))
                    .unwrap_or_default(),
                activity: entry.active.as_ref().map(ToString::to_string),
            })
        };
        self.jobs.iter().filter_map(|job| report(job.name())).collect()
    }
}

impl Scheduler {
    /// The part `jobs`: unwell while the store cannot be asked, or the last run of a job failed.
    pub fn part(&self) -> PartStatus {
        let board = self.0.board();
        let failed = board.entries.iter().find_map(|(name, entry)| {
            let Some(Outcome::Failed(why)) = &entry.state.last_outcome else { return None };
            let since = entry.state.last_finished_at?;
            let pause = entry.state.paused_until.map(|until| format!("; paused until {until}"));
            Some((since, format!("{name} failed: {why}{}", pause.unwrap_or_default())))
        });
        let trouble = board.trouble.clone().or(failed);
        drop(board);
        let is_off = self.0.settings().timetables.values().all(|own| own.schedule.is_none());
        let state = match trouble {
            Some((since, because)) => PartState::Degraded { since, because },
            None if is_off => {
                PartState::Off { because: "no job runs by itself: `jobs.*.enabled`".to_owned() }
            }
            None => PartState::Ok,
        };
        PartStatus { name: "jobs", state }
    }
}
