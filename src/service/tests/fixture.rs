//! The use cases over a store and indexes in a directory of their own, and short ways to use them.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tempfile::TempDir;

use super::model::StandIn;
use crate::clock::{ManualClock, SeededIds};
use crate::domain::archive::ArchivePolicy;
use crate::domain::change::RequestKey;
use crate::domain::consolidation::Policy;
use crate::domain::decay::DecayPolicy;
use crate::domain::embedding::{Scripts, SpaceNote};
use crate::domain::id::MemoryId;
use crate::domain::identity::{Access, Actor, AgentName, Caller, ReadGrant};
use crate::domain::likeness::Likeness;
use crate::domain::memory::Memory;
use crate::domain::namespace::Namespace;
use crate::domain::ranking::RankingPolicy;
use crate::domain::reminder::ReminderSettings;
use crate::domain::session::SessionPolicy;
use crate::index::clusters::DensityClusterer;
use crate::index::{EmbeddedIndex, IndexSettings};
use crate::ports::{
    Candidates as _, Clock as _, Embedder, Ids, IndexReport, Measured, Meter, Reminders, Scorer,
    Store, Summarizer,
};
use crate::service::backup::BackupPolicy;
use crate::service::contradict::ContradictionSettings;
use crate::service::get::{GetRequest, Got};
use crate::service::maintain::BacklogRound;
use crate::service::recall::{RecallAnswer, RecallRequest};
use crate::service::remember::{Draft, Kept};
use crate::service::{Ports, Service, ServiceError, Settings};
use crate::store::{RedbBackups, RedbStore, StoreSettings};

/// How long the person may bring back what an agent forgot.
pub(super) const GRACE: Duration = Duration::from_hours(24);
/// Time until the last byte of a forgotten memory is gone.
pub(super) const ERASE_WITHIN: Duration = Duration::from_hours(12);

/// Keeps what was counted.
#[derive(Default)]
pub(super) struct Counted(Mutex<Vec<Measured>>);

impl Meter for Counted {
    fn record(&self, event: Measured) {
        self.0.lock().unwrap().push(event);
    }

    fn snapshot(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// Ids of a seed, unless others were laid out before.
struct GivenIds {
    laid_out: Mutex<VecDeque<MemoryId>>,
    seeded: SeededIds,
}

impl Ids for GivenIds {
    fn next_id(&self, now: Timestamp) -> MemoryId {
        let given = self.laid_out.lock().unwrap().pop_front();
        given.unwrap_or_else(|| self.seeded.next_id(now))
    }
}

pub(super) struct Fixture {
    pub(super) service: Arc<Service>,
    pub(super) store: Arc<RedbStore>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) model: Arc<StandIn>,
    index: Arc<EmbeddedIndex>,
    ids: Arc<GivenIds>,
    counted: Arc<Counted>,
    ports: Ports,
    pub(super) dir: TempDir,
}

impl Fixture {
    /// Ready, with a model that reads everything.
    pub(super) async fn new() -> Self {
        Self::with_scripts(Scripts::ALL).await
    }

    /// Ready, with a model that reads these scripts.
    pub(super) async fn with_scripts(scripts: Scripts) -> Self {
        let fixture = Self::unloaded(scripts);
        fixture.load().await;
        fixture
    }

    /// Ready, without a model of meaning: memories are compared by their words. Summaries are written
    /// by `summarizer`.
    pub(super) async fn of_words(summarizer: Option<Arc<dyn Summarizer>>) -> Self {
        Self::of_words_and(summarizer, None).await
    }

    /// The same, with `scorer` to choose what is worth remembering.
    pub(super) async fn of_words_and(
        summarizer: Option<Arc<dyn Summarizer>>,
        scorer: Option<Arc<dyn Scorer>>,
    ) -> Self {
        let fixture = Self::built(None, summarizer, scorer);
        fixture.load_words().await;
        fixture
    }

    /// The space is not open and the indexes are not loaded yet.
    pub(super) fn unloaded(scripts: Scripts) -> Self {
        Self::built(Some(scripts), None, None)
    }

    fn built(
        scripts: Option<Scripts>,
        summarizer: Option<Arc<dyn Summarizer>>,
        scorer: Option<Arc<dyn Scorer>>,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_second(1_700_000_000).unwrap()));
        let settings = StoreSettings { cache_bytes: 4 << 20 };
        let store = Arc::new(RedbStore::open(dir.path(), settings, clock.now()).unwrap());
        let index_settings = IndexSettings {
            graph_from: usize::MAX,
            text_commit: Duration::from_millis(100),
            text_buffer_bytes: 15_000_000,
        };
        let index = EmbeddedIndex::open(&dir.path().join("index"), index_settings, clock.clone());
        store.subscribe(index.clone());
        let model = Arc::new(StandIn::new(scripts.unwrap_or(Scripts::ALL)));
        let ids = Arc::new(GivenIds { laid_out: Mutex::default(), seeded: SeededIds::new(11) });
        let counted = Arc::new(Counted::default());
        let ports = Ports {
            store: store.clone(),
            ledger: store.clone(),
            sessions: store.clone(),
            reminders: store.clone(),
            backups: Arc::new(RedbBackups::new(store.clone(), dir.path().join("backups"))),
            transfer: store.clone(),
            candidates: index.clone(),
            embedder: scripts.map(|_| model.clone() as Arc<dyn Embedder>),
            clusterer: Arc::new(DensityClusterer { exact_max: 5_000 }),
            summarizer,
            scorer,
            clock: clock.clone(),
            ids: ids.clone(),
            meter: counted.clone(),
        };
        let service = Arc::new(Service::new(ports.clone(), service_settings()));
        Self { service, store, clock, model, index, ids, counted, ports, dir }
    }

    /// Loses what is held in memory alone, but for the indexes.
    pub(super) async fn restart(&mut self) {
        self.service = Arc::new(Service::new(self.ports.clone(), service_settings()));
        if self.ports.embedder.is_some() {
            self.service.open_space().await.unwrap();
        }
    }

    /// Opens the space and loads the indexes. The cosines of the stand-in are taken as they are.
    pub(super) async fn load(&self) {
        let identity = self.model.identity().unwrap();
        let space = self.store.space(identity, Vec::new(), self.clock.now()).await.unwrap();
        let likeness = SpaceNote::Likeness(Likeness::REFERENCE);
        self.store.note_space(space, likeness).await.unwrap();
        let space = self.service.open_space().await.unwrap();
        let store: Arc<dyn Store> = self.store.clone();
        self.index.load(store, space).await.unwrap();
    }

    /// Loads the text index alone.
    pub(super) async fn load_words(&self) {
        self.index.load_words(self.store.clone()).await.unwrap();
    }

    /// Other use cases over the same store, as after a restart; without models.
    pub(super) fn restarted(&self, settings: Settings) -> Arc<Service> {
        self.restarted_on(self.store.clone(), settings)
    }

    /// The same with another port of the reminders.
    pub(super) fn restarted_on(
        &self,
        reminders: Arc<dyn Reminders>,
        settings: Settings,
    ) -> Arc<Service> {
        let store = &self.store;
        let ports = Ports {
            store: store.clone(),
            ledger: store.clone(),
            sessions: store.clone(),
            reminders,
            backups: Arc::new(RedbBackups::new(store.clone(), self.dir.path().join("backups"))),
            transfer: store.clone(),
            candidates: self.index.clone(),
            embedder: None,
            clusterer: Arc::new(DensityClusterer { exact_max: 5_000 }),
            summarizer: None,
            scorer: None,
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            meter: self.counted.clone(),
        };
        Arc::new(Service::new(ports, settings))
    }

    /// The next ids that are given.
    pub(super) fn lay_out(&self, ids: impl IntoIterator<Item = MemoryId>) {
        self.ids.laid_out.lock().unwrap().extend(ids);
    }

    /// How often something of this sort was counted.
    pub(super) fn n_counted(&self, is_meant: impl Fn(&Measured) -> bool) -> usize {
        self.counted.0.lock().unwrap().iter().filter(|event| is_meant(event)).count()
    }

    pub(super) async fn remember(&self, caller: &Caller, draft: Draft) -> Kept {
        self.try_remember(caller, draft).await.unwrap()
    }

    pub(super) async fn try_remember(
        &self,
        caller: &Caller,
        draft: Draft,
    ) -> Result<Kept, ServiceError> {
        Ok(self.service.remember(caller, vec![draft], None).await?.memories.remove(0))
    }

    /// Stores a text as the agent `a` where it stores by default; gives its id.
    pub(super) async fn store(&self, content: &str) -> MemoryId {
        self.remember(&agent("a"), draft(content)).await.id
    }

    pub(super) async fn recall(&self, caller: &Caller, query: &str) -> RecallAnswer {
        self.service.recall(caller, question(query)).await.unwrap()
    }

    /// What the agent `a` finds, best first.
    pub(super) async fn found(&self, query: &str) -> Vec<String> {
        contents(&self.recall(&agent("a"), query).await)
    }

    /// Reads one memory without using it.
    pub(super) async fn get(&self, caller: &Caller, reference: &str) -> Result<Got, ServiceError> {
        let request = GetRequest { references: vec![reference.to_owned()], ..Default::default() };
        Ok(self.service.get(caller, request).await?.memories.remove(0))
    }

    /// The memory as the person sees it.
    pub(super) async fn memory(&self, id: MemoryId) -> Memory {
        self.get(&owner(), &id.to_string()).await.unwrap().memory
    }

    /// How many memories can be read by somebody.
    pub(super) async fn n_memories(&self) -> u64 {
        self.store.report().await.unwrap().n_memories
    }

    /// Puts other settings in force.
    pub(super) fn reconfigure(&self, change: impl FnOnce(&mut Settings)) {
        let mut settings = service_settings();
        change(&mut settings);
        self.service.reconfigure(settings);
    }

    /// State of the indexes.
    pub(super) fn index_report(&self) -> IndexReport {
        self.index.report()
    }

    /// Differences between the indexes and the store, which it repairs.
    pub(super) async fn parity(&self) -> u64 {
        let snapshot = self.store.snapshot().await.unwrap();
        let found = self.index.check(&snapshot).await.unwrap();
        found.n_missing + found.n_surplus + found.n_different
    }

    /// Embeds what waits, a batch; gives the round.
    pub(super) async fn embed_backlog(&self) -> BacklogRound {
        self.service.embed_backlog(&mut HashSet::new()).await.unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.index.close();
        self.store.close();
    }
}

pub(super) fn service_settings() -> Settings {
    Settings {
        store_wait: Duration::from_millis(500),
        recall_deadline: Duration::from_secs(2),
        recall_limit: 8,
        recall_tokens_max: 2_000,
        // With a threshold, "not found" means something in a store of three memories.
        ranking: RankingPolicy { threshold: 0.2, ..RankingPolicy::default() },
        decay: DecayPolicy::default(),
        archive: ArchivePolicy::default(),
        retention: Vec::new(),
        contradiction: ContradictionSettings::default(),
        agent_grace: GRACE,
        erase_within: ERASE_WITHIN,
        grouping: Policy::default(),
        sessions: SessionPolicy::default(),
        summary_chars: 200..=300,
        backup: BackupPolicy { every: Duration::from_hours(24), keep: 2 },
        reminders: ReminderSettings::default(),
        zone: TimeZone::UTC,
    }
}

/// An agent with the rights of a workstation: its own namespace at 1.0, `user` at 0.9 and
/// `shared/*` at 0.7, the same to write.
pub(super) fn agent(name: &str) -> Caller {
    let name: AgentName = name.parse().unwrap();
    let own = name.namespace();
    let patterns = [own.as_str(), "user", "shared/*"].map(|text| text.parse().unwrap());
    let read = patterns.iter().cloned().zip([1.0, 0.9, 0.7]);
    Caller {
        uid: 1000,
        actor: Actor::Agent(name),
        access: Access {
            read: read.map(|(pattern, weight)| ReadGrant { pattern, weight }).collect(),
            write: patterns.to_vec(),
            write_default: Namespace::user(),
        },
    }
}

/// An agent that may read `user` and write nothing.
pub(super) fn reader(name: &str) -> Caller {
    let mut caller = agent(name);
    caller.access.write.clear();
    caller
}

/// The person.
pub(super) fn owner() -> Caller {
    Caller { uid: 1000, actor: Actor::Owner, access: Access::owner() }
}

pub(super) fn draft(content: &str) -> Draft {
    Draft { content: content.to_owned(), ..Draft::default() }
}

pub(super) fn draft_in(namespace: &str, content: &str) -> Draft {
    Draft { namespace: Some(namespace.to_owned()), ..draft(content) }
}

pub(super) fn question(query: &str) -> RecallRequest {
    RecallRequest { query: query.to_owned(), ..RecallRequest::default() }
}

pub(super) fn key(caller: &Caller, text: &str) -> RequestKey {
    let actor = caller.actor.to_string();
    RequestKey { uid: caller.uid, actor, key: text.to_owned() }
}

pub(super) fn contents(answer: &RecallAnswer) -> Vec<String> {
    answer.hits.iter().map(|hit| hit.memory.content.to_string()).collect()
}
