//! Has sessions looked at soon after they have ended or fallen silent.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::engine::Engine;
use crate::domain::job::{JobName, Trigger};
use crate::domain::limits::{EXTRACT_DELAY, EXTRACT_PAUSE, JOB_LOOK_EVERY};
use crate::jobs::Scheduler;
use crate::ports::Store as _;

/// Asks for a run of the job whenever a session is due, until `stop` is cancelled.
pub(super) fn watch(
    engine: &Arc<Engine>,
    scheduler: &Scheduler,
    stop: &CancellationToken,
    tasks: &TaskTracker,
) {
    let (engine, scheduler, stop) = (Arc::clone(engine), scheduler.clone(), stop.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = keep_watching(&engine, &scheduler) => {}
        }
    });
}

async fn keep_watching(engine: &Engine, scheduler: &Scheduler) {
    loop {
        let wait = wait(engine).await;
        if wait.is_zero() {
            tokio::time::sleep(EXTRACT_DELAY).await;
            if let Err(why) = scheduler.run_by_itself(JobName::Extract, Trigger::Timer) {
                tracing::debug!(%why, "sessions wait");
            }
            tokio::time::sleep(EXTRACT_PAUSE).await;
        } else {
            // Either it is time, or somebody said something; both lead to a look.
            let said = tokio::time::timeout(wait, engine.service.something_said()).await;
            tracing::trace!(said = said.is_ok(), "look for sessions that are over");
        }
    }
}

/// Time until the next session is due, at most until the next look.
async fn wait(engine: &Engine) -> Duration {
    if engine.store().trouble().is_some() {
        // On a full disk there is no room for memories.
        return JOB_LOOK_EVERY;
    }
    match engine.service.next_session_look().await {
        Ok(Some(at)) => {
            let wait = at.duration_since(engine.clock.now());
            Duration::try_from(wait).unwrap_or_default().min(JOB_LOOK_EVERY)
        }
        Ok(None) => JOB_LOOK_EVERY,
        Err(error) => {
            tracing::debug!(%error, "sessions cannot be looked at");
            JOB_LOOK_EVERY
        }
    }
}
