//! The jobs of the daemon, wired. Each has a section of its own in `config.toml.example`.

use std::sync::Arc;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::engine::Engine;
use crate::clock::RandomIds;
use crate::config::Config;
use crate::domain::job::JobName;
use crate::jobs::{self, JobsSettings, Parts, Scheduler, Timetable};
use crate::ports::{Ids as _, Store as _};

/// The scheduler with every job, in the order in which they run when all are asked for.
///
/// # Errors
/// If the store cannot be read.
pub(super) async fn scheduler(
    engine: &Engine,
    config: &Config,
    stop: &CancellationToken,
    tasks: &TaskTracker,
) -> anyhow::Result<Scheduler> {
    let store = engine.store().snapshot().await.context("read the store")?;
    let scheduler = Scheduler::new(Parts {
        jobs: jobs::all(&engine.service),
        ledger: Arc::clone(engine.service.ledger()),
        clock: Arc::clone(&engine.clock),
        lease: RandomIds::default().next_id(engine.clock.now()).to_string(),
        seed: store.identity(),
        settings: settings(config),
        stop: stop.clone(),
        tasks: tasks.clone(),
    });
    scheduler.open().await;
    Ok(scheduler)
}

/// The timetables, as configured.
pub(super) fn settings(config: &Config) -> JobsSettings {
    let timetable = |job: &crate::config::JobConfig| -> (JobName, Timetable) {
        let schedule = job.schedule.clone().filter(|_| job.is_enabled);
        (job.name, Timetable { schedule, max_runtime: job.max_runtime })
    };
    JobsSettings {
        catch_up_after: config.jobs.catch_up_after,
        timetables: config.jobs.jobs.iter().map(timetable).collect(),
    }
}
