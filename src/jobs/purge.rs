//! The purge job: forgets what a rule of retention says is to be forgotten. Without rules it does
//! nothing.
//!
//! Rules that no run has shown yet are only shown: the next run carries them out. Its report names every
//! memory that it took. What is forgotten cannot be undone by `jobs undo`; the person can have each memory
//! back while its grace lasts.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;

use super::{Job, JobError, RunContext, RunReport};
use crate::domain::id::MemoryId;
use crate::domain::job::{JobName, Outcome};
use crate::domain::limits::PURGED_MAX;
use crate::service::Service;

/// See the module.
pub struct Purge(Arc<Service>);

impl Purge {
    /// The job over these use cases.
    pub const fn new(service: Arc<Service>) -> Self {
        Self(service)
    }

    async fn purge(&self, context: RunContext) -> Result<RunReport, JobError> {
        let n_rules = self.0.n_retention_rules();
        if n_rules == 0 {
            let report = json!({ "n_rules": 0 });
            return Ok(RunReport { n_changed: 0, report, outcome: Outcome::Done });
        }
        let is_shown = self.0.is_retention_shown().await?;
        let only_shows = context.is_dry_run || !is_shown;
        let (mut taken, mut withdrawn) = (Vec::new(), Vec::new());
        let mut place = None;
        let outcome = loop {
            if context.stop.is_cancelled() {
                break Outcome::Partial("it was told to end".to_owned());
            }
            let Some((mut due, last)) = self.0.due_for_purge(place, context.now).await? else {
                break Outcome::Done;
            };
            place = Some(last);
            let room = PURGED_MAX - taken.len();
            let is_more = due.len() > room;
            due.truncate(room);
            if !only_shows && !due.is_empty() {
                withdrawn.extend(self.0.purge(due.clone(), context.now).await?);
            }
            taken.extend(due);
            if is_more {
                let why = format!("more than {PURGED_MAX} are due: the next run goes on");
                break Outcome::Partial(why);
            }
        };
        if only_shows && !context.stop.is_cancelled() {
            self.0.note_retention_shown(context.now).await?;
        }
        let report = json!({
            "n_rules": n_rules,
            "only_shows": only_shows,
            "n_due": taken.len(),
            "due": texts(&taken),
            "withdrawn": texts(&withdrawn),
        });
        let n_changed = if only_shows { 0 } else { (taken.len() + withdrawn.len()) as u64 };
        Ok(RunReport { n_changed, report, outcome })
    }
}

impl Job for Purge {
    fn name(&self) -> JobName {
        JobName::Purge
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<RunReport, JobError>> {
        Box::pin(self.purge(context))
    }
}

fn texts(ids: &[MemoryId]) -> Vec<String> {
    ids.iter().map(MemoryId::to_string).collect()
}
