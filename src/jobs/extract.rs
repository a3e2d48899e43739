//! The extraction job: what is worth remembering of sessions that are over becomes memories.
//!
//! Besides its timetable it runs soon after a session has ended or fallen silent.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{Job, JobError, RunContext, RunReport};
use crate::domain::job::JobName;
use crate::service::Service;
use crate::service::session::extract::Extraction;

/// See the module.
pub struct Extract(Arc<Service>);

impl Extract {
    /// The job over these use cases.
    pub const fn new(service: Arc<Service>) -> Self {
        Self(service)
    }
}

impl Job for Extract {
    fn name(&self) -> JobName {
        JobName::Extract
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<RunReport, JobError>> {
        let RunContext { run, now, is_dry_run, stop, .. } = context;
        async move {
            let order = Extraction { run, now, is_dry_run, stop };
            let done = self.0.extract(&order).await?;
            let (report, outcome) = (done.facts(), done.outcome());
            Ok(RunReport { n_changed: done.n_stored, report, outcome })
        }
        .boxed()
    }
}
