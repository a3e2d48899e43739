//! Consolidation: related memories become summaries, and the memories stay.
//!
//! One namespace at a time: what is there is gathered, clusters are found in it, a plan is made, and
//! each summary of the plan is written and applied, alone and whole: the summary, the marks on its
//! sources and the end of what it replaces are one change, or none. A memory that changes meanwhile
//! holds up that one summary until the next run. Nothing here removes or rewrites a memory, whatever
//! a language model does; where it cannot be used, sources are quoted.

mod enact;
pub mod gather;
mod profile;
pub mod report;
mod survey;

pub(super) use self::enact::common_tags;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use self::gather::{Gathered, View, gather};
use self::report::{NamespaceReport, Report};
use self::survey::Known;
use super::{Service, ServiceError};
use crate::domain::change::ChangeSet;
use crate::domain::identity::Actor;
use crate::domain::job::{JobName, RunId};
use crate::domain::namespace::Namespace;
use crate::ports::ClusterError;

/// A consolidation that is asked for.
#[derive(Clone, Debug)]
pub struct Consolidation {
    /// The run under which its changes are recorded.
    pub run: RunId,
    /// The time at which memories are looked at.
    pub now: Timestamp,
    /// Whether it only tells what it would do.
    pub is_dry_run: bool,
    /// Cancelled when it is to end.
    pub stop: CancellationToken,
}

impl Consolidation {
    /// An empty change of this run.
    fn change_set(&self, at: Timestamp) -> ChangeSet {
        ChangeSet {
            run: Some(self.run),
            new: Vec::new(),
            changes: Vec::new(),
            marks: Vec::new(),
            actor: Actor::Job(JobName::Consolidate.as_str()),
            at,
        }
    }
}

impl Service {
    /// Consolidates every namespace. When it is stopped or fails, what it has done by then stands, and
    /// the next one goes on from there.
    ///
    /// # Errors
    /// `Store`. A model that fails is no error, nor are vectors that cannot be clustered: the report
    /// tells.
    pub async fn consolidate(&self, order: &Consolidation) -> Result<Report, ServiceError> {
        let mut report = Report::default();
        let view = match self.view() {
            Ok(view) => view,
            Err(why) => {
                report.skipped = Some(why);
                return Ok(report);
            }
        };
        for namespace in self.store.snapshot().await?.namespaces().await? {
            if order.stop.is_cancelled() {
                report.is_stopped = true;
                break;
            }
            self.consolidate_one(order, view, &namespace, &mut report).await?;
        }
        Ok(report)
    }

    async fn consolidate_one(
        &self,
        order: &Consolidation,
        view: Option<View>,
        namespace: &Namespace,
        report: &mut Report,
    ) -> Result<(), ServiceError> {
        let snapshot = self.store.snapshot().await?;
        let gathered = tokio::select! {
            gathered = gather(snapshot.as_ref(), view, namespace, order.now) => gathered?,
            () = order.stop.cancelled() => {
                report.is_stopped = true;
                return Ok(());
            }
        };
        let known =
            Known::read(snapshot.as_ref(), namespace, self.settings().grouping, view).await?;
        drop(snapshot);
        let Gathered { batches, n_without_vector, is_cut } = gathered;
        let mut part = NamespaceReport::new(namespace.clone(), n_without_vector, is_cut);
        let mut left = Vec::with_capacity(batches.len());
        for batch in batches {
            let has_news = !known.is_left(&batch.items);
            match self.survey(batch, has_news, &order.stop).await {
                Ok(surveyed) => {
                    part.add(&surveyed);
                    self.enact(order, &surveyed, report).await?;
                    left.push(surveyed.plan.left);
                }
                Err(ClusterError::Stopped) => report.is_stopped = true,
                Err(error) => report.troubles.push(format!("{namespace}: {error}")),
            }
        }
        report.add(part);
        self.renew_profile(order, namespace, report).await?;
        if let Some(mark) = known.renewed(left).filter(|_| !order.is_dry_run && !report.is_stopped)
        {
            let set = ChangeSet { marks: vec![mark], ..order.change_set(self.clock.now()) };
            self.store.apply(set).await?;
        }
        Ok(())
    }
}
