//! The suggest job: proposes a reminder for what memories show to happen again and again.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;

use super::{Job, JobError, RunContext, RunReport};
use crate::domain::job::{JobName, Outcome};
use crate::service::Service;
use crate::service::suggest::Suggested;

/// See the module.
pub struct Suggest(Arc<Service>);

impl Suggest {
    /// The job over these use cases.
    pub const fn new(service: Arc<Service>) -> Self {
        Self(service)
    }

    async fn suggest(&self, context: RunContext) -> Result<RunReport, JobError> {
        let done = self.0.suggest(context.now, context.is_dry_run, &context.stop).await?;
        let suggested = done.reminders.iter().map(
            |(id, n_evidence)| json!({ "reminder": id.to_string(), "n_evidence": n_evidence }),
        );
        let report = json!({
            "n_looked_at": done.n_looked_at,
            "n_suggested": done.reminders.len(),
            "suggested": suggested.collect::<Vec<_>>(),
            "n_known": done.n_known,
        });
        let outcome = match done {
            Suggested { is_stopped: true, .. } => Outcome::Partial("it was told to end".to_owned()),
            Suggested { n_broken: 1.., .. } => {
                Outcome::Partial("the search broke down, the log tells where".to_owned())
            }
            _ => Outcome::Done,
        };
        // It changes no memory.
        Ok(RunReport { n_changed: 0, report, outcome })
    }
}

impl Job for Suggest {
    fn name(&self) -> JobName {
        JobName::Suggest
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<RunReport, JobError>> {
        Box::pin(self.suggest(context))
    }
}
