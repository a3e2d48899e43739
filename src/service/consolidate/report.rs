//! What a consolidation did, or would do: counts, ids and reasons, never content.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::survey::Surveyed;
use crate::domain::consolidation::{Counts, Task};
use crate::domain::id::MemoryId;
use crate::domain::job::Outcome;
use crate::domain::limits::{REPORT_IDS_MAX, REPORT_TASKS_MAX};
use crate::domain::memory::Kind;
use crate::domain::namespace::Namespace;
use crate::service::summary::{Author, Because, WrittenSummary};

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Why nothing was looked at.
    pub skipped: Option<String>,
    /// Each namespace in which there was something to look at.
    pub namespaces: Vec<NamespaceReport>,
    /// What was to be written, the first [`REPORT_TASKS_MAX`] of it.
    pub tasks: Vec<TaskReport>,
    /// How much was to be written, by the reason.
    pub by_why: BTreeMap<&'static str, u64>,
    /// What was written, by who wrote it.
    pub by_author: BTreeMap<&'static str, u64>,
    /// Drafts that were refused, by the reason.
    pub rejections: BTreeMap<&'static str, u64>,
    /// Summaries that wait because a memory changed while they were written.
    pub n_conflicts: u64,
    /// Summaries that quote and wait for the model.
    pub n_waiting: u64,
    /// Summaries that ended because none of their sources holds any more.
    pub n_ended: u64,
    /// Memories that were made or changed.
    pub n_changed: u64,
    /// Why the model could not be asked, if it could not.
    pub away: Option<String>,
    /// What could not be looked at, and why.
    pub troubles: Vec<String>,
    /// Whether it was told to end.
    pub is_stopped: bool,
}

/// What was found in one namespace.
#[derive(Clone, Debug, PartialEq)]
pub struct NamespaceReport {
    /// Which.
    pub namespace: Namespace,
    /// What planning counted.
    pub counts: Counts,
    /// Memories that belong to nothing.
    pub n_noise: usize,
    /// Memories that wait for a vector.
    pub n_without_vector: usize,
    /// Whether older memories were left for later.
    pub is_cut: bool,
    /// The eps that the memories suggest, for each way to compare them.
    pub eps_suggested: Vec<f64>,
}

/// Something to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskReport {
    /// What it will be.
    pub product: Kind,
    /// What of.
    pub of: Kind,
    /// Where.
    pub namespace: Namespace,
    /// Why.
    pub why: &'static str,
    /// Its sources.
    pub sources: Vec<MemoryId>,
    /// What it takes the place of.
    pub replaces: Vec<MemoryId>,
    /// What it has become, and who wrote it; `None`: it was not written.
    pub written: Option<(MemoryId, &'static str)>,
}

impl TaskReport {
    pub(super) fn of(product: Kind, task: &Task) -> Self {
        Self {
            product,
            of: task.kind,
            namespace: task.namespace.clone(),
            why: task.why.as_str(),
            sources: task.sources(),
            replaces: task.replaces.clone(),
            written: None,
        }
    }

    fn facts(&self) -> Value {
        let ids = |ids: &[MemoryId]| {
            ids.iter().take(REPORT_IDS_MAX).map(ToString::to_string).collect::<Vec<_>>()
        };
        let (id, author) = self.written.unzip();
        json!({
            "product": self.product.as_str(),
            "of": self.of.as_str(),
            "namespace": self.namespace.as_str(),
            "why": self.why,
            "n_sources": self.sources.len(),
            "sources": ids(&self.sources),
            "replaces": ids(&self.replaces),
            "id": id.map(|id| id.to_string()),
            "author": author,
        })
    }
}

impl NamespaceReport {
    pub(super) fn new(namespace: Namespace, n_without_vector: usize, is_cut: bool) -> Self {
        Self {
            namespace,
            counts: Counts::default(),
            n_noise: 0,
            n_without_vector,
            is_cut,
            eps_suggested: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, surveyed: &Surveyed) {
        let more = surveyed.plan.counts;
        self.counts.n_items += more.n_items;
        self.counts.n_clusters += more.n_clusters;
        self.counts.n_joined += more.n_joined;
        self.counts.n_settled += more.n_settled;
        self.n_noise += surveyed.plan.noise.len();
        self.eps_suggested.extend(surveyed.eps);
    }

    fn facts(&self) -> Value {
        json!({
            "namespace": self.namespace.as_str(),
            "n_items": self.counts.n_items,
            "n_clusters": self.counts.n_clusters,
            "n_joined": self.counts.n_joined,
            "n_settled": self.counts.n_settled,
            "n_noise": self.n_noise,
            "noise_share": share(self.n_noise, self.counts.n_items),
            "n_without_vector": self.n_without_vector,
            "older_left_out": self.is_cut,
            "eps_suggested": self.eps_suggested,
        })
    }
}

impl Report {
    pub(super) fn add(&mut self, part: NamespaceReport) {
        let is_empty = part.counts == Counts::default() && part.n_without_vector == 0;
        if !is_empty {
            self.namespaces.push(part);
        }
    }

    /// Counts what is to be written.
    pub(super) fn task(&mut self, task: TaskReport) {
        *self.by_why.entry(task.why).or_default() += 1;
        if self.tasks.len() < REPORT_TASKS_MAX {
            self.tasks.push(task);
        }
    }

    /// Counts who wrote something, and what was refused before.
    pub(super) fn written(&mut self, written: &WrittenSummary) {
        *self.by_author.entry(author(&written.author)).or_default() += 1;
        for (reason, n) in &written.rejections {
            *self.rejections.entry(reason).or_default() += n;
        }
        if let Author::Extract(Because::Away(reason)) = &written.author {
            self.away = Some(reason.clone());
        }
    }

    /// How it ended: partial as long as something waits for a later run.
    pub fn outcome(&self) -> Outcome {
        if let Some(why) = &self.skipped {
            return Outcome::Skipped(why.clone());
        }
        let mut why = Vec::new();
        if self.is_stopped {
            why.push("it was told to end".to_owned());
        }
        why.extend(self.troubles.iter().cloned());
        if let Some(reason) = &self.away {
            why.push(format!(
                "summaries quote their sources until the language model is back ({reason})"
            ));
        }
        if let Some(n) = self.by_author.get(REFUSED) {
            why.push(format!("{n} quote their sources, since no draft of the model could be kept"));
        }
        if self.n_conflicts > 0 {
            let n = self.n_conflicts;
            why.push(format!("{n} wait for the next run, since their memories changed meanwhile"));
        }
        for part in self.namespaces.iter().filter(|part| part.is_cut) {
            why.push(format!("older memories of {} wait for later runs", part.namespace));
        }
        if why.is_empty() { Outcome::Done } else { Outcome::Partial(why.join("; ")) }
    }

    /// The report as a JSON object.
    pub fn facts(&self) -> Value {
        let sum = |count: fn(&NamespaceReport) -> usize| self.namespaces.iter().map(count).sum();
        let (n_items, n_noise): (usize, usize) = (sum(|p| p.counts.n_items), sum(|p| p.n_noise));
        let n_clusters: usize = sum(|part| part.counts.n_clusters);
        json!({
            "n_items": n_items,
            "n_clusters": n_clusters,
            "noise_share": share(n_noise, n_items),
            "n_tasks": self.by_why.values().sum::<u64>(),
            "tasks_by_why": self.by_why,
            "written_by": self.by_author,
            "rejections": self.rejections,
            "n_conflicts": self.n_conflicts,
            "n_waiting": self.n_waiting,
            "n_ended": self.n_ended,
            "model_away": self.away,
            "troubles": self.troubles,
            "namespaces": self.namespaces.iter().map(NamespaceReport::facts).collect::<Vec<_>>(),
            "tasks": self.tasks.iter().map(TaskReport::facts).collect::<Vec<_>>(),
        })
    }
}

const REFUSED: &str = "extract_refused";

/// Who wrote a summary, as it is counted.
pub(super) const fn author(author: &Author) -> &'static str {
    match author {
        Author::Model { .. } => "model",
        Author::Extract(Because::NoModel) => "extract",
        Author::Extract(Because::Away(_)) => "extract_away",
        Author::Extract(Because::Refused) => REFUSED,
    }
}

/// A share of a count, three decimals; nothing of nothing is 0.
fn share(n: usize, of: usize) -> f64 {
    (n as f64 / of.max(1) as f64 * 1_000.0).round() / 1_000.0
}
