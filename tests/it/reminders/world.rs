//! A daemon without its rim, on a clock that is told and with a store that ends where a fuse blows.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use recalld::clock::{ManualClock, SeededIds};
use recalld::domain::consolidation::Policy;
use recalld::domain::decay::DecayPolicy;
use recalld::domain::id::{Handle, MemoryId};
use recalld::domain::identity::{Access, Actor, Caller};
use recalld::domain::ranking::RankingPolicy;
use recalld::domain::reminder::{
    DeliveryKey, DeliveryState, Enact, Enacted, Entry, EntryQuery, ReminderSettings, Row, RowCount,
    SinkState,
};
use recalld::index::clusters::DensityClusterer;
use recalld::index::{EmbeddedIndex, IndexSettings};
use recalld::ports::{Clock as _, Measured, Meter, Reminders, StoreError};
use recalld::service::backup::BackupPolicy;
use recalld::service::remind::Outlet;
use recalld::service::{Ports, Service, Settings};
use recalld::store::{RedbBackups, RedbStore, StoreSettings};
use tempfile::TempDir;

use super::oracle::Look;
use super::place::Fuse;
use crate::year::disk::Disk;

struct Uncounted;

impl Meter for Uncounted {
    fn record(&self, _: Measured) {}

    fn snapshot(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// The store of a process that may end before and after each of its changes.
struct Frail {
    store: Arc<RedbStore>,
    fuse: Arc<Fuse>,
    /// Reminders that were changed.
    reached: Arc<Mutex<BTreeSet<MemoryId>>>,
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl Reminders for Frail {
    fn entry(&self, id: MemoryId) -> Answer<'_, Option<Entry>> {
        self.store.entry(id)
    }

    fn entries_named(&self, handle: Handle) -> Answer<'_, Vec<MemoryId>> {
        self.store.entries_named(handle)
    }

    fn entries(&self, query: EntryQuery) -> Answer<'_, Vec<Entry>> {
        self.store.entries(query)
    }

    fn entries_of(&self, memory: MemoryId) -> Answer<'_, Vec<Entry>> {
        self.store.entries_of(memory)
    }

    fn entry_of_topic(&self, topic: String) -> Answer<'_, Option<Entry>> {
        self.store.entry_of_topic(topic)
    }

    fn due_entries(&self, now: Timestamp, limit: usize) -> Answer<'_, Vec<Entry>> {
        self.store.due_entries(now, limit)
    }

    fn next_wake(&self) -> Answer<'_, Option<Timestamp>> {
        self.store.next_wake()
    }

    fn enact(&self, request: Enact, at: Timestamp) -> Answer<'_, Enacted> {
        async move {
            let changed: Vec<MemoryId> = request.changed.iter().map(|entry| entry.id).collect();
            self.fuse.step().await;
            let enacted = self.store.enact(request, at).await?;
            if matches!(enacted, Enacted::Done(_)) {
                self.reached.lock().unwrap().extend(changed);
            }
            self.fuse.step().await;
            Ok(enacted)
        }
        .boxed()
    }

    fn rows(
        &self,
        state: DeliveryState,
        sink: Option<String>,
        after: Option<(Timestamp, DeliveryKey)>,
        limit: usize,
    ) -> Answer<'_, Vec<Row>> {
        self.store.rows(state, sink, after, limit)
    }

    fn row(&self, key: DeliveryKey) -> Answer<'_, Option<Row>> {
        self.store.row(key)
    }

    fn rows_of(&self, reminder: MemoryId) -> Answer<'_, Vec<Row>> {
        self.store.rows_of(reminder)
    }

    fn row_counts(&self) -> Answer<'_, Vec<RowCount>> {
        self.store.row_counts()
    }

    fn sink_states(&self) -> Answer<'_, Vec<(String, SinkState)>> {
        self.store.sink_states()
    }

    fn trim_reminders(&self, before: Timestamp) -> Answer<'_, u64> {
        self.store.trim_reminders(before)
    }
}

/// What outlives a process.
pub struct Machine {
    disk: Disk,
    /// For what reminders have no use of.
    dir: TempDir,
    index: Arc<EmbeddedIndex>,
    pub clock: Arc<ManualClock>,
    ids: Arc<SeededIds>,
    pub fuse: Arc<Fuse>,
    /// The number of the look.
    pub look: Arc<AtomicUsize>,
    pub looks: Vec<Look>,
    settings: ReminderSettings,
}

/// A process.
pub struct Process {
    pub service: Arc<Service>,
    pub store: Arc<RedbStore>,
    reached: Arc<Mutex<BTreeSet<MemoryId>>>,
    /// Whether all that was due has been dealt with at the look.
    is_advanced: AtomicBool,
    is_begun: AtomicBool,
    /// Wall clock less the time that passed, as it was at the last look.
    offset: Mutex<SignedDuration>,
}

/// How a look ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// There is more to do then.
    Next(Option<Timestamp>),
    /// The process has ended.
    Killed,
}

impl Machine {
    /// One with an empty disk.
    pub fn new(began: Timestamp, settings: ReminderSettings) -> Self {
        let clock = Arc::new(ManualClock::at(began));
        let dir = tempfile::tempdir().unwrap();
        let index_settings = IndexSettings {
            graph_from: usize::MAX,
            text_commit: Duration::from_millis(100),
            text_buffer_bytes: 15_000_000,
        };
        let path = dir.path().join("index");
        let index = EmbeddedIndex::open(&path, index_settings, clock.clone());
        Self {
            disk: Disk::default(),
            dir,
            index,
            clock,
            ids: Arc::new(SeededIds::new(29)),
            fuse: Arc::default(),
            look: Arc::default(),
            looks: Vec::new(),
            settings,
        }
    }

    /// Starts a process with these sinks.
    pub fn start(&self, outlets: Vec<Outlet>) -> Process {
        let settings = StoreSettings { cache_bytes: 16 << 20 };
        let now = self.clock.now();
        let store = RedbStore::open_with_backend(self.disk.clone(), settings, now).unwrap();
        let store = Arc::new(store);
        let reached = Arc::default();
        let frail = Frail {
            store: Arc::clone(&store),
            fuse: Arc::clone(&self.fuse),
            reached: Arc::clone(&reached),
        };
        let backups = RedbBackups::new(store.clone(), self.dir.path().join("backups"));
        let ports = Ports {
            store: store.clone(),
            ledger: store.clone(),
            backups: Arc::new(backups),
            transfer: store.clone(),
            candidates: self.index.clone(),
            embedder: None,
            clusterer: Arc::new(DensityClusterer { exact_max: 1_000 }),
            summarizer: None,
            scorer: None,
            sessions: store.clone(),
            reminders: Arc::new(frail),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            meter: Arc::new(Uncounted),
        };
        let service = Service::new(ports, settings_with(self.settings.clone()));
        service.use_sinks(outlets);
        Process {
            service: Arc::new(service),
            store,
            reached,
            is_advanced: AtomicBool::new(false),
            is_begun: AtomicBool::new(false),
            offset: Mutex::new(self.offset()),
        }
    }

    /// Ends a process as a power cut does: what it had written is what there is.
    pub fn kill(&mut self, process: &Process) {
        let left = self.disk.copied();
        process.store.close();
        self.disk = left;
        self.fuse.set(None);
    }

    /// What the loop of the reminders does when it wakes.
    pub async fn look(&mut self, process: &Process) -> Looked {
        let number = self.looks.len();
        self.look.store(number, Ordering::Relaxed);
        let wall = self.clock.now();
        process.reached.lock().unwrap().clear();
        process.is_advanced.store(false, Ordering::Relaxed);
        let offset = self.offset();
        let before = std::mem::replace(&mut *process.offset.lock().unwrap(), offset);
        let is_stepped = (offset - before).abs() >= SignedDuration::from_secs(5);
        let looked = tokio::select! {
            biased;
            () = self.fuse.blown() => Looked::Killed,
            next = process.look(wall, is_stepped) => Looked::Next(next),
        };
        let reached = process.reached.lock().unwrap().clone();
        let is_all = process.is_advanced.load(Ordering::Relaxed);
        self.looks.push(Look {
            wall,
            passed: self.clock.monotonic(),
            is_killed: looked == Looked::Killed,
            reached: (!is_all).then_some(reached),
        });
        looked
    }

    fn offset(&self) -> SignedDuration {
        let passed = SignedDuration::try_from(self.clock.monotonic()).unwrap();
        self.clock.now().duration_since(Timestamp::UNIX_EPOCH) - passed
    }
}

impl Process {
    async fn look(&self, now: Timestamp, is_stepped: bool) -> Option<Timestamp> {
        let service = &self.service;
        if !self.is_begun.load(Ordering::Relaxed) {
            service.take_over_reminders(now).await.unwrap();
            self.is_begun.store(true, Ordering::Relaxed);
        }
        if is_stepped {
            service.review_reminders(now).await.unwrap();
        }
        service.advance_reminders(now).await.unwrap();
        self.is_advanced.store(true, Ordering::Relaxed);
        let next = service.deliver_reminders().await.unwrap();
        let wake = service.next_reminder_wake().await.unwrap();
        next.into_iter().chain(wake).min()
    }
}

/// The person.
pub fn owner() -> Caller {
    Caller { uid: 1000, actor: Actor::Owner, access: Access::owner() }
}

fn settings_with(reminders: ReminderSettings) -> Settings {
    let wait = Duration::from_secs(20);
    Settings {
        store_wait: wait,
        recall_deadline: wait,
        recall_limit: 8,
        recall_tokens_max: 4_000,
        ranking: RankingPolicy::default(),
        decay: DecayPolicy::default(),
        archive: recalld::domain::archive::ArchivePolicy::default(),
        retention: Vec::new(),
        sessions: recalld::domain::session::SessionPolicy::default(),
        contradiction: recalld::service::contradict::ContradictionSettings::default(),
        agent_grace: wait,
        erase_within: wait,
        grouping: Policy::default(),
        summary_chars: 200..=300,
        backup: BackupPolicy { every: Duration::from_hours(24), keep: 1 },
        reminders,
        zone: TimeZone::UTC,
    }
}
