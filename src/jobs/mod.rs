//! What the daemon does by itself: jobs, when they run, and how they are kept from doing harm.
//!
//! A job is a file here that implements [`Job`] over the use cases. The [`Scheduler`] runs it: one
//! job at a time, one run of a job at a time, whoever asks; with a deadline, a signal to stop, and a
//! panic that is nothing but a failed run. What is known of a job lies in the store, so a run that
//! was missed or cut off is made up for after the next start.
//!
//! tokio-cron-scheduler gives the beat (`heartbeat` says what it is not trusted with), and
//! `domain::schedule` decides what is due.

mod archive;
mod consolidate;
mod decay;
mod extract;
mod heartbeat;
mod purge;
mod remind;
mod suggest;

mod report;
mod run;
mod scheduler;
mod states;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use archive::Archive;
pub use consolidate::Consolidate;
pub use decay::Decay;
pub use extract::Extract;
pub use purge::Purge;
pub use remind::Reminding;
pub use scheduler::{JobsSettings, Parts, Scheduler, Timetable};
pub use suggest::Suggest;

use crate::domain::job::{JobName, Outcome, RunId};
use crate::ports::StoreError;
use crate::service::{Service, ServiceError};

/// Something that is done again and again.
pub trait Job: Send + Sync {
    /// Its name.
    fn name(&self) -> JobName;

    /// Does it once. Works in pages, each a short transaction, and looks at `stop` between them: when
    /// that is cancelled the run ends as [`Outcome::Partial`]. A run that is repeated, or taken up in
    /// the middle by another process, comes to the same.
    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<RunReport, JobError>>;
}

/// Every job over these use cases, in the order in which they run when all are asked for.
pub fn all(service: &Arc<Service>) -> Vec<Arc<dyn Job>> {
    let service = || Arc::clone(service);
    vec![
        Arc::new(Decay::new(service())),
        Arc::new(Extract::new(service())),
        Arc::new(Consolidate::new(service())),
        Arc::new(Suggest::new(service())),
        Arc::new(Archive::new(service())),
        Arc::new(Purge::new(service())),
    ]
}

/// What a run is given.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// Its number, under which its changes are recorded.
    pub run: RunId,
    /// The time that it computes with.
    pub now: Timestamp,
    /// Whether it only tells what it would do.
    pub is_dry_run: bool,
    /// Cancelled when the run is to end.
    pub stop: CancellationToken,
    /// Monotonic time of the clock at which that happens at the latest.
    pub deadline: Duration,
}

/// What a run did.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// Memories that it made or changed.
    pub n_changed: u64,
    /// A JSON object: counts, ids and reasons, never content.
    pub report: Value,
    /// How it ended.
    pub outcome: Outcome,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// A use case said no.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
