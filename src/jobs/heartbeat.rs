//! The beat: a job of tokio-cron-scheduler that wakes the scheduler every 20 seconds.
//!
//! That is all the crate is used for. Tried out in version 0.15.1, it
//!
//! - takes a time zone as the offset that it had when the job was made, so that a job runs an hour off
//!   after the clocks change: it is given UTC, and zones are `domain::schedule`'s;
//! - knows nothing of runs that were missed before the start: they are rows in our store;
//! - starts a job while its last run is going on, and does not wait for runs when it is shut down: the
//!   scheduler's own locks and tracker do;
//! - loses a repeated job for ever after a jump of the clock, and a job that is no future after a
//!   panic: this one is a cron job and a future, and runs nothing of ours;
//! - is silent for as long as the clock was set back: the scheduler therefore also wakes by itself
//!   ([`JOB_LOOK_EVERY`](crate::domain::limits::JOB_LOOK_EVERY));
//! - polls twice a second, which is what the beat costs.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

/// Seconds 0, 20 and 40 of every minute.
pub(super) const BEAT: &str = "*/20 * * * * *";

/// A running beat.
pub(super) struct Heartbeat(JobScheduler);

impl Heartbeat {
    /// Starts it; `woken` is notified whenever the line `beat` (with seconds, in UTC) comes due.
    ///
    /// # Errors
    /// What the crate says.
    pub(super) async fn start(beat: &str, woken: Arc<Notify>) -> Result<Self, JobSchedulerError> {
        let scheduler = JobScheduler::new().await?;
        let beat = Job::new_async(beat, move |_, _| {
            let woken = Arc::clone(&woken);
            Box::pin(async move { woken.notify_one() })
        })?;
        scheduler.add(beat).await?;
        scheduler.start().await?;
        Ok(Self(scheduler))
    }

    /// Ends it.
    ///
    /// # Errors
    /// What the crate says.
    pub(super) async fn stop(mut self) -> Result<(), JobSchedulerError> {
        self.0.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Real time, since the crate reads the clock of the system.
    #[tokio::test]
    async fn the_beat_wakes_whoever_listens_and_ends() {
        let woken = Arc::new(Notify::new());
        let heartbeat = Heartbeat::start("* * * * * *", Arc::clone(&woken)).await.unwrap();
        let wait = std::time::Duration::from_mins(2);
        tokio::time::timeout(wait, woken.notified()).await.expect("no beat");
        heartbeat.stop().await.unwrap();
    }
}
