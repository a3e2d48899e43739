//! What the daemon says of itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::Service;
use super::backup::BackupReport;
use super::meaning::Reembedding;
use super::remind::RemindersStatus;
use crate::domain::embedding::{ModelIdentity, Scripts};
use crate::domain::namespace::Namespace;
use crate::ports::{EmbedderReport, IndexReport, LlmReport, ParityReport, StoreError, StoreReport};

/// A whole report.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusReport {
    /// Version of the program.
    pub version: &'static str,
    /// When the daemon started.
    pub started_at: Timestamp,
    /// When this was written.
    pub now: Timestamp,
    /// What works and what does not.
    pub parts: Vec<PartStatus>,
    /// The store; `None` if it could not answer.
    pub store: Option<StoreReport>,
    /// Its backups.
    pub backup: BackupReport,
    /// The indexes.
    pub index: IndexReport,
    /// The model.
    pub model: Option<ModelIdentity>,
    /// Its queue.
    pub embedder: Option<EmbedderReport>,
    /// The language models.
    pub llm: LlmStatus,
    /// How much is kept of what was said; `None` if the store could not answer.
    pub sessions: Option<Vec<SessionCounts>>,
    /// The reminders and their sinks, unless they could not be read.
    pub reminders: Option<RemindersStatus>,
    /// The pass that fills the space of a new model, while it is under way.
    pub reembedding: Option<Reembedding>,
    /// The last comparison of the indexes with the store.
    pub comparison: Option<Comparison>,
    /// Counters by name.
    pub counters: Vec<(String, u64)>,
    /// What a reader should know beside the parts.
    pub notes: Vec<String>,
}

impl StatusReport {
    /// The parts that are not well.
    pub fn unwell(&self) -> impl Iterator<Item = &'static str> {
        self.parts.iter().filter(|part| part.state.trouble().is_some()).map(|part| part.name)
    }

    /// Whether every part that is switched on is well.
    pub fn is_ok(&self) -> bool {
        self.unwell().next().is_none()
    }
}

/// The language models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LlmStatus {
    /// The one that writes summaries, if one is configured.
    pub summary: Option<LlmReport>,
    /// The one that chooses what is worth remembering, if one is configured.
    pub scoring: Option<LlmReport>,
    /// Drafts refused since the start, by reason.
    pub rejections: BTreeMap<&'static str, u64>,
}

impl LlmStatus {
    /// What is wrong with them; `None`: nothing.
    fn trouble(&self) -> Option<String> {
        let named = [("summaries", &self.summary), ("scoring", &self.scoring)];
        let troubles: Vec<String> = named
            .into_iter()
            .filter_map(|(name, report)| {
                Some(format!("{name}: {}", report.as_ref()?.trouble.as_ref()?))
            })
            .collect();
        (!troubles.is_empty()).then(|| troubles.join("; "))
    }
}

/// How much one namespace keeps of what was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCounts {
    /// Which.
    pub namespace: Namespace,
    /// Sessions.
    pub n_sessions: u64,
    /// Turns that wait to be looked at for what is worth remembering.
    pub n_waiting: u64,
}

/// A comparison of the indexes with the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// When it ended.
    pub at: Timestamp,
    /// What it found, or why it could not.
    pub found: Result<ParityReport, String>,
}

/// One part of the daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct PartStatus {
    /// `store`, `backup`, `text`, `vectors`, `model`, `llm` or `reminders`.
    pub name: &'static str,
    /// How it is.
    pub state: PartState,
}

/// How a part is.
#[derive(Clone, Debug, PartialEq)]
pub enum PartState {
    /// Well.
    Ok,
    /// Switched off on purpose.
    Off {
        /// By what, and what is missing without it.
        because: String,
    },
    /// Not doing all of its work.
    Degraded {
        /// Since when.
        since: Timestamp,
        /// Why.
        because: String,
    },
    /// Not doing its work.
    Down {
        /// Since when.
        since: Timestamp,
        /// Why.
        because: String,
    },
}

impl PartState {
    /// Since when and why it is not well, if it is not.
    pub fn trouble(&self) -> Option<(Timestamp, &str)> {
        match self {
            Self::Ok | Self::Off { .. } => None,
            Self::Degraded { since, because } | Self::Down { since, because } => {
                Some((*since, because))
            }
        }
    }
}

/// Remembers since when a part is unwell.
#[derive(Debug, Default)]
pub(crate) struct Health {
    since: Mutex<HashMap<&'static str, Timestamp>>,
    comparison: Mutex<Option<Comparison>>,
}

impl Health {
    /// The state of a part that is unwell because of `trouble`, or well if there is none.
    fn state(&self, name: &'static str, trouble: Option<String>, now: Timestamp) -> PartStatus {
        let mut all = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let state = match trouble {
            None => {
                all.remove(name);
                PartState::Ok
            }
            Some(because) => {
                PartState::Degraded { since: *all.entry(name).or_insert(now), because }
            }
        };
        drop(all);
        PartStatus { name, state }
    }

    fn comparison(&self) -> MutexGuard<'_, Option<Comparison>> {
        self.comparison.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part that is switched off.
fn off(name: &'static str, because: &str) -> PartStatus {
    PartStatus { name, state: PartState::Off { because: because.to_owned() } }
}

impl Service {
    /// Keeps what a comparison of the indexes with the store found, for the reports.
    pub fn note_comparison(&self, found: Result<ParityReport, String>) {
        *self.health.comparison() = Some(Comparison { at: self.clock.now(), found });
    }

    /// Looks at every part that can be asked without waiting, so that a report knows since when one
    /// is unwell and not only since when somebody asks.
    pub fn look_at_parts(&self) {
        let now = self.clock.now();
        let index = self.candidates.report();
        let parts = [self.store_part(None, now), self.text_part(&index, now)];
        let unwell = parts.into_iter().chain(self.meaning_parts(&index, now));
        let n_unwell = unwell.filter(|part| part.state.trouble().is_some()).count();
        tracing::trace!(n_unwell, "looked at the parts");
    }

    fn store_part(&self, unread: Option<&StoreError>, now: Timestamp) -> PartStatus {
        let found = self.store.trouble();
        let is_down = found.as_ref().is_some_and(|trouble| trouble.is_down);
        let because = found.map(|trouble| trouble.because);
        let because = because.or_else(|| unread.map(StoreError::to_string));
        let mut part = self.health.state("store", because, now);
        if let (true, PartState::Degraded { since, because }) = (is_down, part.state.clone()) {
            part.state = PartState::Down { since, because };
        }
        part
    }

    fn text_part(&self, index: &IndexReport, now: Timestamp) -> PartStatus {
        let trouble = (!index.text.ready).then(|| index.text.detail.clone());
        self.health.state("text", trouble, now)
    }

    /// `vectors` and `model`.
    fn meaning_parts(&self, index: &IndexReport, now: Timestamp) -> [PartStatus; 2] {
        let Some(embedder) = self.embedder.as_ref().map(|embedder| embedder.report()) else {
            return [
                off("vectors", "no embedding model is configured: search is by words"),
                off("model", "switched off by `embed.model`"),
            ];
        };
        let vector_trouble = match self.meaning.open() {
            None => Some(self.meaning.trouble()),
            Some(_) => (!index.vectors.ready).then(|| index.vectors.detail.clone()),
        };
        let mut vectors = self.health.state("vectors", vector_trouble, now);
        if let Some(pass) = self.reembedding() {
            vectors.state = PartState::Degraded { since: pass.since, because: pass.to_string() };
        }
        let model_trouble = (!embedder.ready).then_some(embedder.detail);
        [vectors, self.health.state("model", model_trouble, now)]
    }

    /// Reports on every part. Never fails: what cannot answer is reported as such.
    pub async fn status(&self) -> StatusReport {
        let now = self.clock.now();
        let store = self.store.report().await;
        let index = self.candidates.report();
        let embedder = self.embedder.as_ref().map(|embedder| embedder.report());
        let model = self.embedder.as_ref().and_then(|embedder| embedder.identity());
        let (backup, backup_part) = self.backup_report(now).await;
        let [vectors, model_part] = self.meaning_parts(&index, now);
        let llm = self.llm_status();
        let reminders = self.reminders_status().await;
        StatusReport {
            version: env!("CARGO_PKG_VERSION"),
            started_at: self.started_at,
            now,
            parts: vec![
                self.store_part(store.as_ref().err(), now),
                backup_part,
                self.text_part(&index, now),
                vectors,
                model_part,
                self.llm_part(&llm, now),
                self.reminders_part(&reminders, now),
            ],
            notes: notes(model.as_ref(), &index),
            store: store.ok(),
            backup,
            reembedding: self.reembedding(),
            index,
            model,
            embedder,
            llm,
            sessions: self.session_counts().await.ok(),
            reminders: reminders.ok().map(|(status, _)| status),
            comparison: self.health.comparison().clone(),
            counters: self.meter.snapshot(),
        }
    }

    async fn session_counts(&self) -> Result<Vec<SessionCounts>, StoreError> {
        let mut counts: BTreeMap<Namespace, (u64, u64)> = BTreeMap::new();
        for session in self.sessions.sessions().await? {
            let (n_sessions, n_waiting) = counts.entry(session.namespace).or_default();
            *n_sessions += 1;
            *n_waiting += session.n_waiting;
        }
        let count = |(namespace, (n_sessions, n_waiting))| SessionCounts {
            namespace,
            n_sessions,
            n_waiting,
        };
        Ok(counts.into_iter().map(count).collect())
    }

    fn llm_status(&self) -> LlmStatus {
        LlmStatus {
            summary: self.summarizer.as_ref().map(|model| model.report()),
            scoring: self.scorer.as_ref().map(|model| model.report()),
            rejections: self.summaries.rejections(),
        }
    }

    fn reminders_part(
        &self,
        found: &Result<(RemindersStatus, Option<String>), StoreError>,
        now: Timestamp,
    ) -> PartStatus {
        let trouble = match found {
            Ok((_, trouble)) => trouble.clone(),
            Err(error) => Some(error.to_string()),
        };
        if trouble.is_none() && !self.has_sinks() {
            return off(
                "reminders",
                "no sink is configured ([sinks.NAME]): reminders are told by agents alone",
            );
        }
        self.health.state("reminders", trouble, now)
    }

    fn llm_part(&self, llm: &LlmStatus, now: Timestamp) -> PartStatus {
        if llm.summary.is_none() && llm.scoring.is_none() {
            return off(
                "llm",
                "no language model is configured (`llm.summary.url`): summaries quote their \
                 sources, and rules choose what is worth remembering",
            );
        }
        self.health.state("llm", llm.trouble(), now)
    }
}

fn notes(model: Option<&ModelIdentity>, index: &IndexReport) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(model) = model
        && model.scripts != Scripts::ALL
    {
        notes.push(format!(
            "{} reads {} script only: memories and questions in others are found by words",
            model.name, model.scripts
        ));
    }
    if index.n_pending_vectors > 0 {
        notes.push(format!(
            "{} memories are still to be embedded; until then they are found by words",
            index.n_pending_vectors
        ));
    }
    notes
}
