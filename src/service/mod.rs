//! Use cases, one a file: what agents and people can ask of the daemon.
//!
//! A use case reads the clock once, checks what the caller may do, and reaches the outside through
//! the ports alone. What is answered about a memory comes from one snapshot a call.

pub mod archive;
pub mod backup;
pub mod consolidate;
pub mod context;
pub mod contradict;
pub mod decay;
pub mod feedback;
pub mod foreseen;
pub mod forget;
pub mod get;
pub mod history;
pub mod linked;
pub mod list;
pub mod maintain;
pub mod meaning;
pub mod purge;
pub mod recall;
pub mod remember;
pub mod remind;
pub mod restore;
pub mod runs;
pub mod scope;
pub mod session;
pub mod status;
pub mod suggest;
pub mod summarize;
pub mod summary;
pub mod transfer;
pub mod update;

mod cursor;
mod error;
mod pool;
mod redaction;
mod reference;
mod usage;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use error::ServiceError;

use crate::domain::archive::ArchivePolicy;
use crate::domain::consolidation::Policy;
use crate::domain::decay::DecayPolicy;
use crate::domain::memory::Memory;
use crate::domain::ranking::RankingPolicy;
use crate::domain::reminder::ReminderSettings;
use crate::domain::retention::RetentionRule;
use crate::domain::session::SessionPolicy;
use crate::ports::{
    Backups, Candidates, Clock, Clusterer, Embedder, Ids, Ledger, Meter, Reminders, Scorer,
    Sessions, Store, Summarizer, Transfer,
};

/// What the composition root hands in.
#[derive(Clone)]
pub struct Ports {
    /// The one truth.
    pub store: Arc<dyn Store>,
    /// The jobs and what they did, in the same place.
    pub ledger: Arc<dyn Ledger>,
    /// What was said, in the same place.
    pub sessions: Arc<dyn Sessions>,
    /// Reminders and the outbox, in the same place.
    pub reminders: Arc<dyn Reminders>,
    /// Its backups.
    pub backups: Arc<dyn Backups>,
    /// The way out of it and into it.
    pub transfer: Arc<dyn Transfer>,
    /// The search arms.
    pub candidates: Arc<dyn Candidates>,
    /// The model; `None`: meaning is switched off.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Finds clusters.
    pub clusterer: Arc<dyn Clusterer>,
    /// The model that writes summaries; `None`: they quote.
    pub summarizer: Option<Arc<dyn Summarizer>>,
    /// The model that chooses what is worth remembering; `None`: rules do.
    pub scorer: Option<Arc<dyn Scorer>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn Ids>,
    /// Counters.
    pub meter: Arc<dyn Meter>,
}

/// Policies and waits of the use cases.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a store waits for its vectors before it is acknowledged without them.
    pub store_wait: Duration,
    /// How long a search may take before it answers with the arms it has.
    pub recall_deadline: Duration,
    /// Results of a search that names no limit.
    pub recall_limit: usize,
    /// Tokens of a search that names no budget.
    pub recall_tokens_max: usize,
    /// Ranking.
    pub ranking: RankingPolicy,
    /// Decay.
    pub decay: DecayPolicy,
    /// From when on memories are archived.
    pub archive: ArchivePolicy,
    /// Rules by which memories are forgotten for good.
    pub retention: Vec<RetentionRule>,
    /// How contradictions are found.
    pub contradiction: contradict::ContradictionSettings,
    /// How long the person may bring back what an agent forgot.
    pub agent_grace: Duration,
    /// Time until the content of a forgotten memory is deleted at the latest.
    pub erase_within: Duration,
    /// How memories are grouped, on the scale of the bundled model.
    pub grouping: Policy,
    /// How sessions are kept, and what is worth remembering of them.
    pub sessions: SessionPolicy,
    /// How long a summary is, characters.
    pub summary_chars: RangeInclusive<usize>,
    /// Backups on schedule.
    pub backup: backup::BackupPolicy,
    /// How reminders are told.
    pub reminders: ReminderSettings,
    /// The zone of calendar questions of callers that name none.
    pub zone: TimeZone,
}

/// The use cases.
pub struct Service {
    store: Arc<dyn Store>,
    ledger: Arc<dyn Ledger>,
    sessions: Arc<dyn Sessions>,
    reminders: Arc<dyn Reminders>,
    backups: Arc<dyn Backups>,
    transfer: Arc<dyn Transfer>,
    candidates: Arc<dyn Candidates>,
    embedder: Option<Arc<dyn Embedder>>,
    clusterer: Arc<dyn Clusterer>,
    summarizer: Option<Arc<dyn Summarizer>>,
    scorer: Option<Arc<dyn Scorer>>,
    summaries: summary::SummaryWriter,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    meter: Arc<dyn Meter>,
    settings: RwLock<Arc<Settings>>,
    meaning: meaning::Meaning,
    usage: usage::UsageBuffer,
    backlog: tokio::sync::Notify,
    uncompared: contradict::Uncompared,
    said: tokio::sync::Notify,
    outlets: remind::Outlets,
    health: status::Health,
    backup_trouble: backup::BackupTrouble,
    started_at: Timestamp,
}

impl Service {
    /// The use cases over these ports. Call [`Service::open_space`] before the first store, or
    /// memories are stored without vectors until it is.
    pub fn new(ports: Ports, settings: Settings) -> Self {
        let started_at = ports.clock.now();
        let summaries = summary::SummaryWriter::new(
            ports.summarizer.clone(),
            Arc::clone(&ports.ids),
            Arc::clone(&ports.clock),
        );
        Self {
            store: ports.store,
            ledger: ports.ledger,
            sessions: ports.sessions,
            reminders: ports.reminders,
            backups: ports.backups,
            transfer: ports.transfer,
            candidates: ports.candidates,
            embedder: ports.embedder,
            clusterer: ports.clusterer,
            summarizer: ports.summarizer,
            scorer: ports.scorer,
            summaries,
            clock: ports.clock,
            ids: ports.ids,
            meter: ports.meter,
            settings: RwLock::new(Arc::new(settings)),
            meaning: meaning::Meaning::default(),
            usage: usage::UsageBuffer::default(),
            backlog: tokio::sync::Notify::new(),
            uncompared: contradict::Uncompared::default(),
            said: tokio::sync::Notify::new(),
            outlets: remind::Outlets::default(),
            health: status::Health::default(),
            backup_trouble: backup::BackupTrouble::default(),
            started_at,
        }
    }

    /// Puts other settings in force: calls that begin from now on follow them, those in flight end
    /// as they began.
    pub fn reconfigure(&self, settings: Settings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// The settings in force. A call reads them once.
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Strength of `memory` at `now`, 0.0..=1.0.
    fn strength(&self, memory: &Memory, now: Timestamp) -> f64 {
        self.settings().decay.strength(
            memory.usage.anchor,
            memory.kind,
            memory.importance,
            memory.pinned,
            now,
        )
    }

    /// The jobs and what they did.
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.ledger
    }

    /// The zone of a call.
    pub fn zone(&self) -> TimeZone {
        self.settings().zone.clone()
    }
}
