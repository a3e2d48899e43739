//! The decay job over a real service and store.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::{Decay, Job as _, RunContext, RunReport};
use crate::clock::{ManualClock, SeededIds};
use crate::domain::archive::ArchivePolicy;
use crate::domain::consolidation::Policy;
use crate::domain::decay::{DecayPolicy, Use, reinforced};
use crate::domain::id::MemoryId;
use crate::domain::identity::{Access, Actor, Caller};
use crate::domain::job::{Outcome, RunId};
use crate::domain::limits::JOB_PAGE;
use crate::domain::memory::{Anchor, Kind};
use crate::domain::ranking::RankingPolicy;
use crate::domain::session::SessionPolicy;
use crate::index::clusters::DensityClusterer;
use crate::index::{EmbeddedIndex, IndexSettings};
use crate::ports::{Clock as _, Measured, Meter, Store as _};
use crate::service::backup::BackupPolicy;
use crate::service::contradict::ContradictionSettings;
use crate::service::feedback::FeedbackRequest;
use crate::service::remember::Draft;
use crate::service::{Ports, Service, Settings};
use crate::store::{RedbBackups, RedbStore, StoreSettings};

struct Uncounted;

impl Meter for Uncounted {
    fn record(&self, _: Measured) {}

    fn snapshot(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

struct Home {
    service: Arc<Service>,
    store: Arc<RedbStore>,
    clock: Arc<ManualClock>,
    index: Arc<EmbeddedIndex>,
    _dir: tempfile::TempDir,
}

impl Drop for Home {
    fn drop(&mut self) {
        self.index.close();
        self.store.close();
    }
}

impl Home {
    fn new() -> Self {
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
        let ports = Ports {
            store: store.clone(),
            ledger: store.clone(),
            sessions: store.clone(),
            reminders: store.clone(),
            backups: Arc::new(RedbBackups::new(store.clone(), dir.path().join("backups"))),
            transfer: store.clone(),
            candidates: index.clone(),
            embedder: None,
            clusterer: Arc::new(DensityClusterer { exact_max: 5_000 }),
            summarizer: None,
            scorer: None,
            clock: clock.clone(),
            ids: Arc::new(SeededIds::new(3)),
            meter: Arc::new(Uncounted),
        };
        let settings = Settings {
            store_wait: Duration::ZERO,
            recall_deadline: Duration::from_secs(2),
            recall_limit: 8,
            recall_tokens_max: 2_000,
            ranking: RankingPolicy::default(),
            decay: DecayPolicy::default(),
            archive: ArchivePolicy::default(),
            retention: Vec::new(),
            contradiction: ContradictionSettings::default(),
            agent_grace: Duration::ZERO,
            erase_within: Duration::ZERO,
            grouping: Policy::default(),
            sessions: SessionPolicy::default(),
            backup: BackupPolicy { every: Duration::ZERO, keep: 1 },
            summary_chars: 200..=300,
            reminders: crate::domain::reminder::ReminderSettings::default(),
            zone: TimeZone::UTC,
        };
        let service = Arc::new(Service::new(ports, settings));
        Self { service, store, clock, index, _dir: dir }
    }

    async fn store(&self, drafts: Vec<Draft>) -> Vec<MemoryId> {
        let kept = self.service.remember(&owner(), drafts, None).await.unwrap();
        kept.memories.iter().map(|kept| kept.id).collect()
    }

    async fn run(&self, is_dry_run: bool, stop: &CancellationToken) -> RunReport {
        let context = RunContext {
            run: RunId(1),
            now: self.clock.now(),
            is_dry_run,
            stop: stop.clone(),
            deadline: Duration::MAX,
        };
        Decay::new(Arc::clone(&self.service)).run(context).await.unwrap()
    }

    async fn decay(&self) -> RunReport {
        self.run(false, &CancellationToken::new()).await
    }

    /// The noted strength of each memory, in the order of ids.
    async fn noted(&self) -> Vec<(MemoryId, f64)> {
        let snapshot = self.store.snapshot().await.unwrap();
        let noted = snapshot.weaker_than(2.0, None, 1_000_000).await.unwrap();
        noted.into_iter().map(|(strength, id)| (id, strength)).collect()
    }
}

fn owner() -> Caller {
    Caller { uid: 1000, actor: Actor::Owner, access: Access::owner() }
}

fn drafts() -> Vec<Draft> {
    let kinds = Kind::ALL.iter().filter(|kind| !matches!(kind, Kind::Summary | Kind::Profile));
    let mut drafts: Vec<Draft> = kinds
        .map(|kind| Draft {
            content: format!("This is a {kind}"),
            kind: Some(*kind),
            importance: Some(0.8),
            ..Draft::default()
        })
        .collect();
    let pinned = Draft { pinned: true, ..drafts[0].clone() };
    drafts.push(Draft { content: "Pinned".to_owned(), ..pinned });
    let most = Draft { importance: Some(1.0), ..drafts[0].clone() };
    drafts.push(Draft { content: "Most important".to_owned(), ..most });
    drafts
}

#[tokio::test]
async fn strengths_are_those_of_the_formula_however_often_the_job_ran() {
    let (often, once) = (Home::new(), Home::new());
    let ids = often.store(drafts()).await;
    assert_eq!(once.store(drafts()).await, ids);
    let began = often.clock.now();
    for _ in 0..9 {
        often.clock.advance(Duration::from_hours(8));
        often.decay().await;
    }
    // Three days down, then one late run.
    once.clock.advance(Duration::from_hours(72));
    let report = once.decay().await;
    assert_eq!((report.outcome, report.n_changed), (Outcome::Done, 0));
    let (left, right) = (often.noted().await, once.noted().await);
    assert_eq!(left, right);
    let now = once.clock.now();
    let policy = DecayPolicy::default();
    let snapshot = once.store.snapshot().await.unwrap();
    for (memory, (id, noted)) in snapshot.scan(None, 100).await.unwrap().iter().zip(right) {
        assert_eq!(memory.id, id);
        let anchor = Anchor { value: memory.importance, at: began };
        let expected = policy.strength(anchor, memory.kind, memory.importance, memory.pinned, now);
        assert!((noted - expected).abs() < 1e-9, "{}: {noted} {expected}", memory.content);
        let is_kept = memory.pinned || memory.importance >= 1.0;
        assert_eq!(is_kept, noted >= memory.importance, "{}: {noted}", memory.content);
    }
}

#[tokio::test]
async fn the_job_changes_no_memory_and_reports_how_strengths_lie() {
    let home = Home::new();
    home.store(drafts()).await;
    let before = home.store.snapshot().await.unwrap();
    home.clock.advance(Duration::from_hours(24 * 365));
    let report = home.decay().await.report;
    let after = home.store.snapshot().await.unwrap();
    assert_eq!(after.sequence(), before.sequence(), "no change is logged");
    let memories = after.scan(None, 100).await.unwrap();
    assert_eq!(memories, before.scan(None, 100).await.unwrap());
    assert_eq!(report["n_memories"], 9);
    assert_eq!(report["after"]["n"], 9, "{report}");
    let tenths: Vec<u64> =
        report["after"]["tenths"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert_eq!((tenths.len(), tenths.iter().sum()), (10, 9));
    assert!(tenths[..5].iter().sum::<u64>() >= 6, "a year later most are weak: {report}");
    let again = home.decay().await.report;
    assert_eq!(again["before"], report["after"]);
}

#[tokio::test]
async fn a_try_notes_nothing_and_a_stop_ends_it_between_two_pages() {
    let home = Home::new();
    for page in 0..=JOB_PAGE / 100 {
        let drafts =
            (0..100).map(|n| Draft { content: format!("Memory {page}.{n}"), ..Draft::default() });
        home.store(drafts.collect()).await;
    }
    let noted = home.noted().await;
    home.clock.advance(Duration::from_hours(24 * 30));
    let report = home.run(true, &CancellationToken::new()).await;
    assert_eq!(
        (report.outcome, &report.report["n_memories"]),
        (Outcome::Done, &(JOB_PAGE + 100).into())
    );
    assert_eq!(home.noted().await, noted);
    let stop = CancellationToken::new();
    stop.cancel();
    let report = home.run(false, &stop).await;
    assert!(matches!(report.outcome, Outcome::Partial(_)), "{report:?}");
    assert_eq!(home.noted().await, noted);
    home.decay().await;
    assert!(home.noted().await.iter().all(|(_, strength)| *strength < 0.5));
}

#[tokio::test]
async fn feedback_that_is_not_written_yet_counts() {
    let home = Home::new();
    let ids = home.store(vec![drafts().remove(0)]).await;
    home.clock.advance(Duration::from_hours(24));
    let references = vec![ids[0].to_string()];
    let verdict = crate::domain::decay::Verdict::Useful;
    let request = FeedbackRequest { references, verdict, correction: None };
    let answer = home.service.feedback(&owner(), request).await.unwrap();
    home.decay().await;
    let noted = home.noted().await;
    assert!((noted[0].1 - answer.memories[0].strength).abs() < 1e-12);
    let policy = DecayPolicy::default();
    let began = Anchor { value: 0.8, at: home.clock.now() - Duration::from_hours(24) };
    let strength = policy.strength(began, Kind::Fact, 0.8, false, home.clock.now());
    let expected = reinforced(strength, Use::Useful, home.clock.now()).value;
    assert!((noted[0].1 - expected).abs() < 1e-9, "{} {expected}", noted[0].1);
}
