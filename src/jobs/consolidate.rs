//! The consolidation job: related memories become summaries, and the memories stay.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{Job, JobError, RunContext, RunReport};
use crate::domain::job::JobName;
use crate::service::Service;
use crate::service::consolidate::Consolidation;

/// See the module.
pub struct Consolidate(Arc<Service>);

impl Consolidate {
    /// The job over these use cases.
    pub const fn new(service: Arc<Service>) -> Self {
        Self(service)
    }
}

impl Job for Consolidate {
    fn name(&self) -> JobName {
        JobName::Consolidate
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<RunReport, JobError>> {
        let RunContext { run, now, is_dry_run, stop, .. } = context;
        async move {
            let order = Consolidation { run, now, is_dry_run, stop };
            let done = self.0.consolidate(&order).await?;
            let (report, outcome) = (done.facts(), done.outcome());
            Ok(RunReport { n_changed: done.n_changed, report, outcome })
        }
        .boxed()
    }
}
