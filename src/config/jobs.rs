//! `[jobs]`: what the daemon does by itself, and when.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::reader::Reader;
use crate::domain::job::JobName;
use crate::domain::limits::JOB_RUNS_TOLD;
use crate::domain::schedule::Schedule;

/// Jobs and their timetables.
#[derive(Clone, Debug, PartialEq)]
pub struct JobsConfig {
    /// The zone of all schedules.
    pub zone: TimeZone,
    /// Least time from the start of the daemon to a run that was missed.
    pub catch_up_after: Duration,
    /// Each job.
    pub jobs: Vec<JobConfig>,
}

impl JobsConfig {
    /// Each job that runs by itself, and its next runs after `now`, with their zone.
    pub fn upcoming(&self, now: Timestamp) -> Vec<(JobName, Vec<String>)> {
        let enabled = self.jobs.iter().filter(|job| job.is_enabled);
        enabled
            .filter_map(|job| Some((job.name, job.schedule.as_ref()?)))
            .map(|(name, schedule)| {
                let runs = schedule.upcoming(now, JOB_RUNS_TOLD);
                (name, runs.iter().map(ToString::to_string).collect())
            })
            .collect()
    }
}

/// One job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobConfig {
    /// Which.
    pub name: JobName,
    /// Whether it runs by itself.
    pub is_enabled: bool,
    /// When; there unless the configuration was refused.
    pub schedule: Option<Schedule>,
    /// Time after which a run ends with what it has done.
    pub max_runtime: Duration,
}

const ZONE: &str = "the name of a time zone like \"Europe/Berlin\" or \"Asia/Shanghai\" (the tz \
                    database has no zone for every city), or \"\" for the one of the system";

pub(super) fn read(reader: &mut Reader<'_, '_>) -> JobsConfig {
    let zone = reader.read("jobs.zone", ZONE, |value| match value.as_str()?.trim() {
        "" => Some(TimeZone::system()),
        name => TimeZone::get(name).ok(),
    });
    let zone = zone.unwrap_or(TimeZone::UTC);
    // The jobs that there are have a section in the example.
    let has_section = |name: &&JobName| !reader.given(&key(**name, "schedule")).is_empty();
    let names: Vec<JobName> = JobName::ALL.iter().filter(has_section).copied().collect();
    JobsConfig {
        catch_up_after: reader.duration("jobs.catch_up_after_s", SECOND, &(0..=86_400)),
        jobs: names.into_iter().map(|name| job(reader, name, &zone)).collect(),
        zone,
    }
}

fn key(name: JobName, field: &str) -> String {
    format!("jobs.{name}.{field}")
}

const SECOND: Duration = Duration::from_secs(1);

const SCHEDULE: &str = "a crontab line: minute, hour, day of the month, month, day of the week \
                        (\"30 3 * * *\"), a second before them if you like, or @daily";

fn job(reader: &mut Reader<'_, '_>, name: JobName, zone: &TimeZone) -> JobConfig {
    let key = |field: &str| key(name, field);
    JobConfig {
        name,
        is_enabled: reader.flag(&key("enabled")),
        schedule: reader.read_or_why(&key("schedule"), SCHEDULE, |value| {
            let line = value.as_str().ok_or_else(String::new)?;
            Schedule::parse(line, zone).map_err(|error| error.to_string())
        }),
        max_runtime: reader.duration(&key("max_runtime_s"), SECOND, &(1..=86_400)),
    }
}
