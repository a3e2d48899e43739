//! The archive job: moves out of the way what has faded and was not wanted for a long time.
//!
//! The strengths that the decay job has noted find candidates; what is true at the moment decides.
//! Nothing is lost: an archived memory is found by exact words, when nothing else answers and on
//! request, and an undo of the run brings back what nobody has changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{Job, JobError, RunContext, RunReport};
use crate::domain::archive::Stays;
use crate::domain::id::MemoryId;
use crate::domain::job::{JobName, Outcome};
use crate::domain::limits::REPORTED_IDS_MAX;
use crate::service::Service;

/// See the module.
pub struct Archive(Arc<Service>);

impl Archive {
    /// The job over these use cases.
    pub const fn new(service: Arc<Service>) -> Self {
        Self(service)
    }

    async fn archive(&self, context: RunContext) -> Result<RunReport, JobError> {
        if !context.is_dry_run {
            // A use that is not written yet would be missing.
            self.0.flush_usage().await?;
        }
        let run = (!context.is_dry_run).then_some(context.run);
        let mut gone = BTreeSet::new();
        let mut stays: BTreeMap<Stays, u64> = BTreeMap::new();
        let mut archived: Vec<Value> = Vec::new();
        let (mut n_archived, mut n_changed_meanwhile) = (0, 0);
        let mut place: Option<MemoryId> = None;
        let outcome = loop {
            if context.stop.is_cancelled() {
                break Outcome::Partial("it was told to end".to_owned());
            }
            let page = self.0.archive_page(run, place, &mut gone, context.now).await?;
            let Some(page) = page else { break Outcome::Done };
            place = Some(page.last);
            n_archived += page.archived.len() as u64;
            n_changed_meanwhile += page.n_changed_meanwhile;
            for (why, n) in page.stays {
                *stays.entry(why).or_default() += n;
            }
            let room = REPORTED_IDS_MAX.saturating_sub(archived.len());
            archived.extend(page.archived.iter().take(room).map(|(id, strength)| {
                json!({ "id": id.to_string(), "strength": (strength * 1e3).round() / 1e3 })
            }));
        };
        let stays: BTreeMap<&str, u64> = stays.iter().map(|(why, n)| (why.as_str(), *n)).collect();
        let report = json!({
            "n_archived": n_archived,
            "archived": archived,
            "stays": stays,
            "n_changed_meanwhile": n_changed_meanwhile,
        });
        let n_changed = if context.is_dry_run { 0 } else { n_archived };
        Ok(RunReport { n_changed, report, outcome })
    }
}

impl Job for Archive {
    fn name(&self) -> JobName {
        JobName::Archive
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<RunReport, JobError>> {
        Box::pin(self.archive(context))
    }
}
