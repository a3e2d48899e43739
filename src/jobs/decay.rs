//! The decay job: notes how strongly each memory is held by now.
//!
//! Strength is a function of a memory's anchor and the time alone (`domain::decay`), so this job
//! changes no memory and it does not matter how often it runs, or whether it was missed: it writes
//! the values of one moment into a derived table, for those who look for weak memories.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{Job, JobError, RunContext, RunReport};
use crate::domain::decay::Distribution;
use crate::domain::job::{JobName, Outcome};
use crate::service::Service;

/// See the module.
pub struct Decay(Arc<Service>);

impl Decay {
    /// The job over these use cases.
    pub const fn new(service: Arc<Service>) -> Self {
        Self(service)
    }

    async fn decay(&self, context: RunContext) -> Result<RunReport, JobError> {
        if !context.is_dry_run {
            // A use that is not written yet would be missing.
            self.0.flush_usage().await?;
        }
        let before = self.0.noted_strengths().await?;
        let mut after = Distribution::default();
        let mut place = None;
        let outcome = loop {
            if context.stop.is_cancelled() {
                break Outcome::Partial("it was told to end".to_owned());
            }
            let page = self.0.strengths(place, context.now).await?;
            let Some((last, _)) = page.last() else { break Outcome::Done };
            place = Some(*last);
            for (_, strength) in &page {
                after.add(*strength);
            }
            if !context.is_dry_run {
                self.0.note_strengths(page).await?;
            }
        };
        let report = json!({
            "n_memories": after.total(),
            "before": shown(&before),
            "after": shown(&after),
        });
        Ok(RunReport { n_changed: 0, report, outcome })
    }
}

impl Job for Decay {
    fn name(&self) -> JobName {
        JobName::Decay
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<RunReport, JobError>> {
        Box::pin(self.decay(context))
    }
}

/// How many memories there are in each tenth, from the weakest.
fn shown(distribution: &Distribution) -> Value {
    json!({ "n": distribution.total(), "tenths": distribution.tenths() })
}
