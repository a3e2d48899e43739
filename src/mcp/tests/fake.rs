//! Search arms and a meter that do as they are told, and a service over them and the real store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use redb::backends::InMemoryBackend;
use tokio::sync::Semaphore;

use crate::clock::{ManualClock, SeededIds};
use crate::domain::archive::ArchivePolicy;
use crate::domain::consolidation::Policy;
use crate::domain::decay::DecayPolicy;
use crate::domain::embedding::{ScriptShares, SpaceId, Vector};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::job::{JobName, JobState, Outcome, Run, RunId, Trigger};
use crate::domain::memory::{Memory, Status};
use crate::domain::ranking::RankingPolicy;
use crate::domain::search::{Attributes, TextCandidates, TextHit, TextQuery, VectorCandidates};
use crate::domain::session::SessionPolicy;
use crate::domain::text::tokens::tokens;
use crate::index::clusters::DensityClusterer;
use crate::ports::{
    ArmReport, Asked, Candidates, IndexError, IndexReport, JobReport, Listing, Maintenance,
    Measured, Meter, NotRun, ParityReport, Rebuilds, Snapshot,
};
use crate::service::backup::BackupPolicy;
use crate::service::contradict::ContradictionSettings;
use crate::service::{Ports, Service, Settings};
use crate::store::{RedbBackups, RedbStore, StoreSettings};

/// Where the clock of the tests stands.
pub(super) const NOW: &str = "2026-03-01T12:00:00Z";

/// What the search by words does instead of answering.
#[derive(Clone, Default)]
pub(super) enum Trouble {
    #[default]
    None,
    Panic,
    /// Each search takes a permit.
    Gate(Arc<Semaphore>),
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
    std::future::ready(value).boxed()
}

/// Finds what shares a token with the question, all alike.
#[derive(Default)]
pub(super) struct FakeCandidates {
    pub(super) trouble: Mutex<Trouble>,
}

impl Candidates for FakeCandidates {
    fn by_text<'a>(
        &'a self,
        snapshot: &'a Arc<dyn Snapshot>,
        query: TextQuery,
        filter: &'a Filter,
        k: usize,
    ) -> BoxFuture<'a, Result<TextCandidates, IndexError>> {
        let trouble = self.trouble.lock().unwrap().clone();
        async move {
            match trouble {
                Trouble::None => {}
                Trouble::Panic => panic!("a secret in a panic"),
                // What is archived is looked for beside the others.
                Trouble::Gate(_) if filter.statuses == [Status::Archived] => {}
                Trouble::Gate(gate) => gate.acquire().await.unwrap().forget(),
            }
            let listing =
                Listing { filter: filter.clone(), newest_first: false, after: None, limit: 500 };
            let all = snapshot.list(listing).await?;
            let n_clauses = query.clauses.len();
            let shares = |memory: &Memory| {
                let words = tokens(&memory.content);
                query.clauses.iter().flatten().any(|t| words.iter().any(|w| w.text == t.token))
            };
            let hits: Vec<TextHit> = all
                .iter()
                .filter(|memory| shares(memory))
                .take(k)
                .map(|memory| TextHit {
                    id: memory.id,
                    scores: vec![5.0; n_clauses],
                    coverage: vec![1.0; n_clauses],
                    attributes: Attributes {
                        namespace: memory.namespace.clone(),
                        event_time: memory.event_time(),
                        scripts: ScriptShares::of(&memory.content),
                    },
                })
                .collect();
            Ok(TextCandidates {
                incomplete: None,
                n_matching: hits.len() as u64,
                n_documents: all.len() as u64,
                best: vec![5.0; n_clauses],
                hits,
            })
        }
        .boxed()
    }

    fn by_vector<'a>(
        &'a self,
        _: &'a Arc<dyn Snapshot>,
        _: SpaceId,
        _: Vector,
        _: &'a Filter,
        _: usize,
        _: Vec<MemoryId>,
    ) -> BoxFuture<'a, Result<VectorCandidates, IndexError>> {
        ready(Ok(VectorCandidates::default()))
    }

    fn report(&self) -> IndexReport {
        let arm = ArmReport {
            ready: true,
            detail: "in memory".to_owned(),
            n_memories: 0,
            disk_bytes: 0,
            watermark: 0,
        };
        IndexReport {
            vectors: arm.clone(),
            text: arm,
            n_graphs: 0,
            n_pending_vectors: 0,
            text_rebuilds: Rebuilds::default(),
        }
    }

    fn check<'a>(
        &'a self,
        _: &'a Arc<dyn Snapshot>,
    ) -> BoxFuture<'a, Result<ParityReport, IndexError>> {
        ready(Ok(ParityReport::default()))
    }
}

/// Counts what tools could not do.
#[derive(Default)]
pub(super) struct FakeMeter {
    n_tool_errors: Mutex<u64>,
}

impl Meter for FakeMeter {
    fn record(&self, event: Measured) {
        if event == Measured::ToolError {
            *self.n_tool_errors.lock().unwrap() += 1;
        }
    }

    fn snapshot(&self) -> Vec<(String, u64)> {
        vec![("tool_errors".to_owned(), *self.n_tool_errors.lock().unwrap())]
    }
}

/// One job, whose runs end at once; a dry one names a memory in its report.
pub(super) struct OneJob;

impl Maintenance for OneJob {
    fn jobs(&self) -> Vec<JobReport> {
        let state = JobState::new(JobName::Decay);
        let schedule = Some("0 4 * * *".to_owned());
        vec![JobReport { state, schedule, upcoming: Vec::new(), activity: None }]
    }

    fn run(
        &self,
        job: JobName,
        trigger: Trigger,
        is_dry_run: bool,
    ) -> BoxFuture<'_, Result<Asked, NotRun>> {
        let now = NOW.parse().unwrap();
        let report = r#"{"n_memories":3,"tenths":[1,2],"ids":["somebody's"],"of":{"x":"y","n":1}}"#;
        ready(Ok(Asked::Ended(Run {
            id: RunId(7),
            job,
            trigger,
            is_dry_run,
            scheduled_at: None,
            now,
            started_at: now,
            finished_at: Some(now),
            outcome: Some(Outcome::Done),
            n_changed: 0,
            report: report.to_owned(),
            undoes: None,
            undone_by: None,
        })))
    }
}

/// A clock that stands still.
pub(super) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(NOW.parse().unwrap()))
}

/// A service over a store in memory and the ports above.
pub(super) fn service(
    candidates: Arc<FakeCandidates>,
    meter: Arc<FakeMeter>,
    clock: Arc<ManualClock>,
) -> Arc<Service> {
    let now = NOW.parse().unwrap();
    let settings = StoreSettings { cache_bytes: 1024 * 1024 };
    let store = RedbStore::open_with_backend(InMemoryBackend::new(), settings, now).unwrap();
    let store = Arc::new(store);
    let backups = RedbBackups::new(store.clone(), "/dev/null/backups".into());
    let ports = Ports {
        store: store.clone(),
        ledger: store.clone(),
        sessions: store.clone(),
        reminders: store.clone(),
        transfer: store,
        backups: Arc::new(backups),
        candidates,
        embedder: None,
        clusterer: Arc::new(DensityClusterer { exact_max: 5_000 }),
        summarizer: None,
        scorer: None,
        clock,
        ids: Arc::new(SeededIds::new(1)),
        meter,
    };
    let settings = Settings {
        store_wait: Duration::ZERO,
        recall_deadline: Duration::from_mins(10),
        recall_limit: 8,
        recall_tokens_max: 2_000,
        ranking: RankingPolicy::default(),
        decay: DecayPolicy::default(),
        archive: ArchivePolicy::default(),
        retention: Vec::new(),
        contradiction: ContradictionSettings {
            is_automatic: false,
            ..ContradictionSettings::default()
        },
        agent_grace: Duration::from_hours(1),
        erase_within: Duration::from_hours(2),
        grouping: Policy::default(),
        sessions: SessionPolicy::default(),
        summary_chars: 200..=300,
        backup: BackupPolicy { every: Duration::ZERO, keep: 1 },
        reminders: crate::domain::reminder::ReminderSettings::default(),
        zone: TimeZone::UTC,
    };
    Arc::new(Service::new(ports, settings))
}
