//! Everything that the daemon is made of but its rim, on a clock that is told.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recalld::clock::{ManualClock, SeededIds};
use recalld::domain::consolidation::Policy;
use recalld::domain::decay::DecayPolicy;
use recalld::domain::id::MemoryId;
use recalld::domain::identity::{Access, Actor, AgentName, Caller, ReadGrant};
use recalld::domain::job::{JobName, Run, Trigger};
use recalld::domain::memory::Memory;
use recalld::domain::namespace::Namespace;
use recalld::domain::ranking::RankingPolicy;
use recalld::embed::{self, Choice, Surroundings};
use recalld::index::clusters::DensityClusterer;
use recalld::index::{EmbeddedIndex, IndexSettings};
use recalld::jobs::{self, JobsSettings, Parts, Scheduler};
use recalld::ports::{Asked, Clock as _, Embedder, Maintenance as _, Measured, Meter, Store as _};
use recalld::service::backup::BackupPolicy;
use recalld::service::{Ports, Service, Settings};
use recalld::store::{RedbBackups, RedbStore, StoreSettings};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::disk::Disk;
use super::writer::{Manner, Writer};

/// How long the person may bring back what an agent forgot.
pub const GRACE: Duration = Duration::from_hours(24);
/// Memories of one page of a pass over all of them.
const PAGE: usize = 1_000;

struct Uncounted;

impl Meter for Uncounted {
    fn record(&self, _: Measured) {}

    fn snapshot(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// What outlives a process.
struct Kept {
    disk: Disk,
    /// For the text index.
    dir: TempDir,
    clock: Arc<ManualClock>,
    model: Arc<dyn Embedder>,
    ids: Arc<SeededIds>,
}

/// A process.
pub struct World {
    pub service: Arc<Service>,
    pub store: Arc<RedbStore>,
    pub writer: Arc<Writer>,
    index: Arc<EmbeddedIndex>,
    scheduler: Scheduler,
    kept: Kept,
}

impl World {
    /// An empty one.
    pub async fn new(began: Timestamp) -> Self {
        let clock = Arc::new(ManualClock::at(began));
        let model = embed::start(Choice::Bundled, Surroundings::bare(1, clock.clone()));
        let kept = Kept {
            disk: Disk::default(),
            dir: tempfile::tempdir().unwrap(),
            clock,
            model: Arc::new(model),
            ids: Arc::new(SeededIds::new(17)),
        };
        Self::open(kept, Writer::new(&[Manner::Well])).await
    }

    /// The next process over the same directory.
    pub async fn restarted(self) -> Self {
        let Self { service, store, writer, index, scheduler, kept } = self;
        service.flush_usage().await.unwrap();
        drop((service, scheduler));
        index.close();
        store.close();
        Self::open(kept, writer).await
    }

    async fn open(kept: Kept, writer: Arc<Writer>) -> Self {
        let (path, clock) = (kept.dir.path(), kept.clock.clone());
        let settings = StoreSettings { cache_bytes: 16 << 20 };
        let store = RedbStore::open_with_backend(kept.disk.clone(), settings, clock.now()).unwrap();
        let store = Arc::new(store);
        let index_settings = IndexSettings {
            graph_from: usize::MAX,
            text_commit: Duration::from_millis(100),
            text_buffer_bytes: 15_000_000,
        };
        let index = EmbeddedIndex::open(&path.join("index"), index_settings, clock.clone());
        store.subscribe(index.clone());
        let ports = Ports {
            store: store.clone(),
            ledger: store.clone(),
            backups: Arc::new(RedbBackups::new(store.clone(), path.join("backups"))),
            transfer: store.clone(),
            candidates: index.clone(),
            embedder: Some(Arc::clone(&kept.model)),
            clusterer: Arc::new(DensityClusterer { exact_max: 1_000 }),
            summarizer: Some(writer.clone()),
            scorer: None,
            sessions: store.clone(),
            reminders: store.clone(),
            clock: clock.clone(),
            ids: kept.ids.clone(),
            meter: Arc::new(Uncounted),
        };
        let service = Arc::new(Service::new(ports, settings_of_a_workstation()));
        let space = service.open_space().await.unwrap();
        index.load(store.clone(), space).await.unwrap();
        let scheduler = Scheduler::new(Parts {
            jobs: jobs::all(&service),
            ledger: store.clone(),
            clock,
            lease: kept.next_name().to_string(),
            seed: 1,
            settings: JobsSettings::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        scheduler.open().await;
        let world = Self { service, store, writer, index, scheduler, kept };
        world.keep_up().await;
        world
    }

    /// Every job there is.
    pub fn jobs(&self) -> Vec<JobName> {
        self.scheduler.jobs().into_iter().map(|job| job.state.job).collect()
    }

    /// Runs a job, as the timer does, to its end.
    pub async fn run(&self, job: JobName) -> Run {
        match self.scheduler.run(job, Trigger::Timer, false).await.unwrap() {
            Asked::Ended(run) => run,
            early @ (Asked::Begun(_) | Asked::Waits) => panic!("{job} does not end: {early:?}"),
        }
    }

    /// What the daemon does beside the jobs: late vectors, comparisons that waited, erasing.
    pub async fn keep_up(&self) {
        let mut refused = HashSet::new();
        while self.service.embed_backlog(&mut refused).await.unwrap().has_more {}
        let mut place = None;
        while let (_, Some(last)) = self.service.compare_late(place).await.unwrap() {
            place = Some(last);
        }
        self.service.erase_due().await.unwrap();
        self.service.flush_usage().await.unwrap();
    }

    pub fn now(&self) -> Timestamp {
        self.kept.clock.now()
    }

    pub fn advance(&self, by: Duration) {
        self.kept.clock.advance(by);
    }

    pub async fn sequence(&self) -> u64 {
        self.store.snapshot().await.unwrap().sequence()
    }

    pub async fn memory(&self, id: MemoryId) -> Memory {
        let snapshot = self.store.snapshot().await.unwrap();
        snapshot.memories(vec![id]).await.unwrap().remove(0).unwrap()
    }

    pub async fn records(&self) -> BTreeMap<MemoryId, Memory> {
        records(&self.store).await
    }

    /// The end: what is left is what was written.
    pub fn close(self) -> Disk {
        self.index.close();
        self.store.close();
        self.kept.disk
    }
}

impl Kept {
    /// A name that no process before had.
    fn next_name(&self) -> MemoryId {
        use recalld::ports::Ids as _;
        self.ids.next_id(self.clock.now())
    }
}

/// Every memory that there is.
pub async fn records(store: &RedbStore) -> BTreeMap<MemoryId, Memory> {
    let snapshot = store.snapshot().await.unwrap();
    let mut records = BTreeMap::new();
    let mut after = None;
    loop {
        let page = snapshot.scan(after, PAGE).await.unwrap();
        let Some(last) = page.last() else { return records };
        after = Some(last.id);
        records.extend(page.into_iter().map(|memory| (memory.id, memory)));
    }
}

fn settings_of_a_workstation() -> Settings {
    Settings {
        store_wait: Duration::from_secs(20),
        recall_deadline: Duration::from_secs(20),
        recall_limit: 8,
        recall_tokens_max: 4_000,
        ranking: RankingPolicy::default(),
        decay: DecayPolicy::default(),
        archive: recalld::domain::archive::ArchivePolicy::default(),
        retention: Vec::new(),
        sessions: recalld::domain::session::SessionPolicy::default(),
        contradiction: recalld::service::contradict::ContradictionSettings::default(),
        agent_grace: GRACE,
        erase_within: Duration::from_hours(24),
        grouping: Policy::default(),
        summary_chars: 200..=300,
        backup: BackupPolicy { every: Duration::from_hours(24), keep: 1 },
        reminders: recalld::domain::reminder::ReminderSettings::default(),
        zone: TimeZone::UTC,
    }
}

/// An agent of a workstation.
pub fn agent() -> Caller {
    let name: AgentName = "diarist".parse().unwrap();
    let patterns = [name.namespace().as_str(), "user"].map(|text| text.parse().unwrap());
    let read = patterns.iter().cloned().zip([1.0, 0.9]);
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

/// The person.
pub fn owner() -> Caller {
    Caller { uid: 1000, actor: Actor::Owner, access: Access::owner() }
}
