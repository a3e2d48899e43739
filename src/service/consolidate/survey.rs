//! From what was gathered to a plan: clusters first, and only where there is news.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

use super::super::Service;
use super::gather::{Batch, View};
use crate::domain::consolidation::{
    Density, Item, Maker, Plan, Policy, fingerprint, is_source, plan, suggest_eps,
};
use crate::domain::id::MemoryId;
use crate::domain::memory::Kind;
use crate::domain::namespace::Namespace;
use crate::ports::{ClusterError, Snapshot, StoreError};

/// A batch that was looked at.
pub(super) struct Surveyed {
    /// What is to be done.
    pub(super) plan: Plan,
    /// The version of each memory on which that was decided.
    pub(super) versions: HashMap<MemoryId, u64>,
    /// The eps that the memories themselves suggest, on the scale of the configuration; none if there
    /// was no news.
    pub(super) eps: Option<f64>,
}

impl Service {
    /// Plans the summaries of a batch. Without news no clusters are looked for.
    pub(super) async fn survey(
        &self,
        batch: Batch,
        has_news: bool,
        stop: &CancellationToken,
    ) -> Result<Surveyed, ClusterError> {
        let policy = batch.policy(self.settings().grouping);
        let labels = if has_news {
            self.labels(&batch.items, policy.density(), stop).await?
        } else {
            Vec::new()
        };
        let (name, is_model) = (self.summary_key(), self.summarizer.is_some());
        let work = move || {
            let Batch { spread, items, summaries } = batch;
            let maker = Maker { name: &name, is_model };
            let plan = plan(&items, &labels, &summaries, &policy, maker);
            let eps = if has_news { suggest_eps(&items, policy.min_points) } else { None };
            let sources = summaries.iter().flat_map(|summary| &summary.sources);
            Surveyed {
                plan,
                versions: items.iter().chain(sources).map(|item| (item.id, item.version)).collect(),
                eps: eps.map(|eps| 1.0 - spread.on_reference(1.0 - eps)),
            }
        };
        // What a panic says may quote a memory; its place stands in the log.
        let broken =
            |_| ClusterError::Failed("planning broke down, the log tells where".to_owned());
        tokio::task::spawn_blocking(work).await.map_err(broken)
    }

    /// The density label of each item: numbers mean something within one kind.
    async fn labels(
        &self,
        items: &[Item],
        density: Density,
        stop: &CancellationToken,
    ) -> Result<Vec<Option<usize>>, ClusterError> {
        let mut labels = vec![None; items.len()];
        for kind in Kind::ALL.iter().copied().filter(|kind| is_source(*kind)) {
            let of_kind = || items.iter().enumerate().filter(move |(_, item)| item.kind == kind);
            let points: Vec<_> =
                of_kind().map(|(_, item)| (item.id, item.vector.clone())).collect();
            if points.len() < density.min_points {
                continue;
            }
            let found = self.clusterer.cluster(points, density, stop.clone()).await?;
            for ((at, _), label) in of_kind().zip(found) {
                if let Some(place) = labels.get_mut(at) {
                    *place = label;
                }
            }
        }
        Ok(labels)
    }
}

/// What the last run left of a namespace because it belongs to nothing. A batch that holds exactly
/// that, looked at in the same way, has no news.
pub(super) struct Known {
    name: String,
    text: Option<String>,
    /// How memories are looked at, in a line.
    way: String,
}

impl Known {
    pub(super) async fn read(
        snapshot: &dyn Snapshot,
        namespace: &Namespace,
        grouping: Policy,
        view: Option<View>,
    ) -> Result<Self, StoreError> {
        let name = format!("consolidate/{namespace}");
        let text = snapshot.mark(&name).await?.and_then(|text| String::from_utf8(text).ok());
        Ok(Self { name, text, way: format!("{grouping:?} {view:?}") })
    }

    /// Whether these are what a batch of the last run left.
    pub(super) fn is_left(&self, items: &[Item]) -> bool {
        let Some(text) = &self.text else { return items.is_empty() };
        let mut lines = text.lines();
        let is_same_way = lines.next() == Some(self.way.as_str());
        let here = fingerprint(items);
        is_same_way && lines.any(|left| left == here)
    }

    /// The mark that says what this run leaves, a fingerprint for each batch, if it is another one.
    pub(super) fn renewed(self, left: Vec<String>) -> Option<(String, Vec<u8>)> {
        let mut lines = vec![self.way];
        lines.extend(left);
        let text = lines.join("\n");
        (self.text.as_ref() != Some(&text)).then(|| (self.name, text.into_bytes()))
    }
}
