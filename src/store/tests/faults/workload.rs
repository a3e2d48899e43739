//! What the daemon does with its store, in steps: the use cases over a store on a [`Disk`], with or
//! without indexes, a small model, a clock that is moved by hand and ids that follow from the step. So every run of a step on the same state leaves the same bytes, and a run that was hit by a
//! fault can be compared, byte by byte, with one that was not.

mod reminders;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use super::super::fixture::{SETTINGS, at, key, new_run, tags};
use super::disk::Disk;
use super::stand_ins::{Letters, Nothing, StepIds, Uncounted};
use crate::clock::ManualClock;
use crate::domain::archive::ArchivePolicy;
use crate::domain::change::{Change, ChangeSet, NewMemory, Patch, Remember};
use crate::domain::consolidation::Policy;
use crate::domain::decay::DecayPolicy;
use crate::domain::id::MemoryId;
use crate::domain::identity::{Access, Actor, Caller};
use crate::domain::job::{NewRun, Outcome, RunId};
use crate::domain::limits::CONTENT_BYTES_MAX;
use crate::domain::memory::{Kind, Memory, Metadata, Origin};
use crate::domain::ranking::RankingPolicy;
use crate::domain::scoring::Role;
use crate::domain::session::SessionPolicy;
use crate::index::clusters::DensityClusterer;
use crate::index::{EmbeddedIndex, IndexSettings};
use crate::ports::{Candidates, Clock as _, Ledger as _, Store};
use crate::service::backup::BackupPolicy;
use crate::service::contradict::ContradictionSettings;
use crate::service::forget::{ForgetAnswer, ForgetRequest};
use crate::service::get::GetRequest;
use crate::service::maintain::BacklogError;
use crate::service::meaning::OpenSpaceError;
use crate::service::recall::RecallRequest;
use crate::service::remember::Draft;
use crate::service::scope::Scope;
use crate::service::session::extract::Extraction;
use crate::service::session::{AppendRequest, TurnDraft};
use crate::service::update::UpdateRequest;
use crate::service::{Ports, Service, ServiceError, Settings};
use crate::store::{OpenError, RedbBackups, RedbStore, StoreSettings};

/// Time between two steps. The grace of a forgotten memory is two and a half of them.
const STEP: Duration = Duration::from_hours(1);

/// The steps in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The space of the model, and the indexes.
    Begin,
    /// Four memories in one call with a request key.
    Store,
    /// One while the model is down.
    StoreUnembedded,
    /// New text and tags for the first.
    Update,
    /// The text of the second again with another tag.
    StoreEqual,
    /// One that replaces the third.
    Supersede,
    /// An agent reads the first, and what that leaves behind is written.
    Use,
    /// Vectors for those that have none.
    EmbedLate,
    /// An agent forgets the second.
    Forget,
    /// The person brings it back.
    Restore,
    /// An agent forgets the one without vectors, for good.
    ForgetForGood,
    /// The person forgets the fourth: its content goes at once.
    ForgetAtOnce,
    /// One of the greatest length.
    StoreLong,
    /// Three calls at a time share commits.
    TogetherFirst,
    TogetherSecond,
    TogetherThird,
    /// The call of `Store` again.
    Replay,
    /// Content whose grace is over goes.
    Erase,
    /// The log loses its oldest entries.
    TrimLog,
    /// The first is pinned, and its validity ends.
    Invalidate,
    /// A run of a job begins.
    BeginRun,
    /// It summarises two of the three.
    Curate,
    /// Their strengths are noted.
    NoteStrengths,
    /// Turns of two sessions, one of which is over.
    Say,
    SayElsewhere,
    /// What is worth remembering is taken out of that, in the run.
    Extract,
    /// The run ends.
    EndRun,
    /// It is undone.
    UndoRun,
    /// Two reminders, one about a memory, and what tells of them.
    Remind,
    /// One of these messages is about to be sent,
    Claim,
    /// and was; the other is given up.
    Settle,
    /// What ended is trimmed, and one of the reminders goes on.
    TrimTold,
    /// The three are summarised, in no run.
    CurateAgain,
    /// The person forgets one of the three: the summary goes with it, and the reminder about it.
    ForgetSource,
    /// And all of a session.
    ForgetSession,
    /// No step of the run: what is stored after it.
    After,
}

/// All of them.
pub(super) const STEPS: [Step; 35] = [
    Step::Begin,
    Step::Store,
    Step::StoreUnembedded,
    Step::Update,
    Step::StoreEqual,
    Step::Supersede,
    Step::Use,
    Step::EmbedLate,
    Step::Forget,
    Step::Restore,
    Step::ForgetForGood,
    Step::ForgetAtOnce,
    Step::StoreLong,
    Step::TogetherFirst,
    Step::TogetherSecond,
    Step::TogetherThird,
    Step::Replay,
    Step::Erase,
    Step::TrimLog,
    Step::Invalidate,
    Step::BeginRun,
    Step::Curate,
    Step::NoteStrengths,
    Step::Say,
    Step::SayElsewhere,
    Step::Extract,
    Step::EndRun,
    Step::UndoRun,
    Step::Remind,
    Step::Claim,
    Step::Settle,
    Step::TrimTold,
    Step::CurateAgain,
    Step::ForgetSource,
    Step::ForgetSession,
];

/// The run that the steps begin.
const RUN: RunId = RunId(1);

/// Steps that a group of calls at a time is made of.
pub(super) const TOGETHER: [Step; 3] =
    [Step::TogetherFirst, Step::TogetherSecond, Step::TogetherThird];

/// What is asked of the indexes.
pub(super) const QUESTIONS: [&str; 5] =
    ["ferry harbour", "oolong tea", "crane repairs", "lighthouse lamp", "together"];

/// The daemon without its socket.
pub(super) struct World {
    pub(super) store: Arc<RedbStore>,
    pub(super) index: Option<Arc<EmbeddedIndex>>,
    service: Service,
    clock: Arc<ManualClock>,
    ids: Arc<StepIds>,
    model: Arc<Letters>,
}

impl World {
    /// Opens the store on `disk` and, if they are wanted, the indexes in `dir`; [`Step::Begin`] fills
    /// them. Opening and closing them takes longer than a whole run without.
    pub(super) fn open(disk: &Disk, dir: Option<&Path>) -> Result<Self, OpenError> {
        Self::open_with(SETTINGS, disk, dir)
    }

    /// The same with other settings of the store.
    pub(super) fn open_with(
        settings: StoreSettings,
        disk: &Disk,
        dir: Option<&Path>,
    ) -> Result<Self, OpenError> {
        let store = Arc::new(RedbStore::open_with_backend(disk.clone(), settings, at(0))?);
        let clock = Arc::new(ManualClock::at(at(0)));
        let index_settings = IndexSettings {
            graph_from: usize::MAX,
            text_commit: Duration::from_mins(1),
            text_buffer_bytes: 15_000_000,
        };
        let index = dir.map(|dir| EmbeddedIndex::open(dir, index_settings, clock.clone()));
        let candidates: Arc<dyn Candidates> = match &index {
            Some(index) => {
                store.subscribe(index.clone());
                index.clone()
            }
            None => Arc::new(Nothing),
        };
        let (ids, model) = (Arc::<StepIds>::default(), Arc::<Letters>::default());
        let ports = Ports {
            store: store.clone(),
            ledger: store.clone(),
            sessions: store.clone(),
            reminders: store.clone(),
            candidates,
            backups: Arc::new(RedbBackups::new(store.clone(), "/dev/null/backups".into())),
            transfer: store.clone(),
            embedder: Some(model.clone()),
            clusterer: Arc::new(DensityClusterer { exact_max: 5_000 }),
            summarizer: None,
            scorer: None,
            clock: clock.clone(),
            ids: ids.clone(),
            meter: Arc::new(Uncounted),
        };
        Ok(Self {
            service: Service::new(ports, service_settings()),
            store,
            index,
            clock,
            ids,
            model,
        })
    }

    /// Takes a step; gives what was answered, in words.
    pub(super) async fn take(&self, step: Step) -> Result<String, ServiceError> {
        self.begin(step);
        match step {
            Step::Begin => self.open_space().await,
            Step::Store | Step::Replay => self.remember(first_drafts(), Some("first")).await,
            Step::StoreUnembedded => {
                self.model.is_down.store(true, Ordering::Relaxed);
                let stored = self.remember(vec![draft("The tide table hangs here")], None).await;
                self.model.is_down.store(false, Ordering::Relaxed);
                stored
            }
            Step::Update => self.update(new_text()).await,
            Step::StoreEqual => {
                let equal = Draft { tags: tags(&["drinks"]), ..draft("Mara drinks oolong tea") };
                self.remember(vec![equal], None).await
            }
            Step::Supersede => {
                let supersedes = Some(id_of(Step::Store, 2).to_string());
                let new = Draft { supersedes, ..draft("The crane repairs end in May") };
                self.remember(vec![new], Some("second")).await
            }
            Step::Use => self.use_some().await,
            Step::EmbedLate => {
                let round = self.service.embed_backlog(&mut HashSet::new()).await;
                Ok(format!("{:?}", round.map_err(backlog_error)?))
            }
            Step::Forget => self.forget(&agent(), id_of(Step::Store, 1)).await,
            Step::Restore => {
                let id = id_of(Step::Store, 1).to_string();
                Ok(format!("{:?}", self.service.restore(&owner(), &id).await?))
            }
            Step::ForgetForGood => self.forget(&agent(), id_of(Step::StoreUnembedded, 0)).await,
            Step::ForgetAtOnce => self.forget(&owner(), id_of(Step::Store, 3)).await,
            Step::StoreLong => {
                let long = "lighthouse lamp oil ".repeat(CONTENT_BYTES_MAX / 20);
                self.remember(vec![draft(&long)], None).await
            }
            Step::TogetherFirst | Step::TogetherSecond | Step::TogetherThird => {
                self.together(step).await
            }
            Step::Erase => Ok(format!("{}", self.service.erase_due().await?)),
            Step::TrimLog => {
                let now = self.clock.now();
                Ok(format!("{}", self.store.trim_log(5, now).await?))
            }
            Step::BeginRun => self.begin_run().await,
            Step::Curate => self.summarise(step, &TOGETHER[..2], Some(RUN)).await,
            Step::NoteStrengths => self.note_strengths().await,
            Step::Say => self.say("s1", &["I live in Bergen.", "Ok, thanks."], true).await,
            Step::SayElsewhere => self.say("s2", &["I am vegetarian."], false).await,
            Step::Extract => self.extract().await,
            Step::EndRun => self.end_run().await,
            Step::UndoRun => self.undo_run().await,
            Step::Remind | Step::Claim | Step::Settle | Step::TrimTold => self.tell(step).await,
            Step::CurateAgain => self.summarise(step, &TOGETHER, None).await,
            Step::ForgetSource => self.forget(&owner(), id_of(Step::TogetherThird, 0)).await,
            Step::ForgetSession => self.forget_session().await,
            Step::After => panic!("no step of the run"),
            Step::Invalidate => {
                let valid_to = Some(Some(self.clock.now()));
                self.update(Patch { pinned: Some(true), valid_to, ..Patch::default() }).await
            }
        }
    }

    /// Stores one memory past the service, in a group with its neighbours: the order in which they
    /// are asked for is the order in which they are carried out.
    pub(super) fn together(&self, step: Step) -> BoxFuture<'_, Result<String, ServiceError>> {
        let new = new_memory(step);
        let at = time_of(step);
        let remember = Remember { memories: vec![new], request: None, actor: Actor::Owner, at };
        Box::pin(async move { Ok(format!("{:?}", self.store.remember(remember).await?)) })
    }

    /// Sets the clock and the ids to those of a step.
    pub(super) fn begin(&self, step: Step) {
        let wait = time_of(step).duration_since(self.clock.now());
        self.clock.advance(Duration::try_from(wait).unwrap_or_default());
        *self.ids.0.lock().unwrap() = (step, 0);
    }

    /// The ids that each question finds, best first; waits for the indexes.
    pub(super) async fn recalls(&self) -> Vec<Vec<MemoryId>> {
        let mut found = Vec::new();
        for query in QUESTIONS {
            let question = RecallRequest { query: query.to_owned(), ..RecallRequest::default() };
            let answer = self.service.recall(&owner(), question).await.unwrap();
            assert_eq!(answer.degraded, Vec::<String>::new(), "{query}");
            found.push(answer.hits.iter().map(|hit| hit.memory.id).collect());
        }
        found
    }

    /// Stores one more memory.
    pub(super) async fn store_more(&self, content: &str) -> Result<MemoryId, ServiceError> {
        self.begin(Step::After);
        let answer = self.service.remember(&owner(), vec![draft(content)], None).await?;
        Ok(answer.memories[0].id)
    }

    /// Ends all threads.
    pub(super) fn close(&self) {
        if let Some(index) = &self.index {
            index.close();
        }
        self.store.close();
    }

    async fn open_space(&self) -> Result<String, ServiceError> {
        let space = self.service.open_space().await.map_err(space_error)?;
        let store: Arc<dyn Store> = self.store.clone();
        if let Some(index) = &self.index {
            index.load(store, space).await?;
        }
        Ok(format!("{space:?}"))
    }

    async fn remember(
        &self,
        drafts: Vec<Draft>,
        request: Option<&str>,
    ) -> Result<String, ServiceError> {
        let request = request.map(key);
        Ok(format!("{:?}", self.service.remember(&agent(), drafts, request).await?))
    }

    async fn update(&self, patch: Patch) -> Result<String, ServiceError> {
        let reference = id_of(Step::Store, 0).to_string();
        let request = UpdateRequest { reference, patch, request: None };
        Ok(format!("{:?}", self.service.update(&agent(), request).await?))
    }

    async fn use_some(&self) -> Result<String, ServiceError> {
        let references = vec![id_of(Step::Store, 0).to_string()];
        let get = GetRequest { references, history: true, reinforces: true };
        let got = self.service.get(&agent(), get).await?;
        let n_written = self.service.flush_usage().await?;
        Ok(format!("{got:?} {n_written}"))
    }

    async fn begin_run(&self) -> Result<String, ServiceError> {
        let now = self.clock.now();
        Ok(format!("{:?}", self.store.begin_run(NewRun { now, ..new_run(0) }).await?))
    }

    async fn note_strengths(&self) -> Result<String, ServiceError> {
        let strengths = TOGETHER.map(|step| (id_of(step, 0), 0.25)).to_vec();
        self.store.note_strengths(strengths).await?;
        Ok(String::new())
    }

    async fn end_run(&self) -> Result<String, ServiceError> {
        let (report, now) = ("{}".to_owned(), self.clock.now());
        self.store.finish_run(RUN, Outcome::Done, 3, report, now).await?;
        Ok(String::new())
    }

    async fn undo_run(&self) -> Result<String, ServiceError> {
        Ok(format!("{:?}", self.store.undo(RUN, Actor::Owner, self.clock.now()).await?))
    }

    async fn say(&self, name: &str, texts: &[&str], ends: bool) -> Result<String, ServiceError> {
        let turn =
            |text: &&str| TurnDraft { role: Role::User, content: (*text).to_owned(), at: None };
        let request = AppendRequest {
            session: name.to_owned(),
            turns: texts.iter().map(turn).collect(),
            ends,
            request: Some(key(name)),
            ..AppendRequest::default()
        };
        Ok(format!("{:?}", self.service.session_append(&agent(), request).await?))
    }

    async fn extract(&self) -> Result<String, ServiceError> {
        let (now, stop) = (self.clock.now(), CancellationToken::new());
        let order = Extraction { run: RUN, now, is_dry_run: false, stop };
        Ok(format!("{:?}", self.service.extract(&order).await?))
    }

    async fn forget_session(&self) -> Result<String, ServiceError> {
        let scope = Scope { session: Some("s2".to_owned()), ..Scope::default() };
        let request = |confirm| ForgetRequest::Matching {
            scope: Box::new(scope.clone()),
            query: None,
            confirm,
            request: None,
        };
        let preview = self.service.forget(&owner(), request(None)).await?;
        let ForgetAnswer::Preview { confirm, .. } = preview else { panic!("{preview:?}") };
        Ok(format!("{:?}", self.service.forget(&owner(), request(Some(confirm))).await?))
    }

    /// Summarises what some steps have stored.
    async fn summarise(
        &self,
        step: Step,
        of: &[Step],
        run: Option<RunId>,
    ) -> Result<String, ServiceError> {
        let sources: Vec<MemoryId> = of.iter().map(|step| id_of(*step, 0)).collect();
        let summary = NewMemory {
            id: id_of(step, 0),
            content: Arc::from("They come together"),
            kind: Kind::Summary,
            origin: Origin::Consolidated,
            derived_from: sources.clone(),
            ..new_memory(step)
        };
        let patch = Patch { consolidated_into: Some(Some(summary.id)), ..Patch::default() };
        let present = self.store.snapshot().await?.memories(sources).await?;
        let change = |memory: Memory| Change {
            id: memory.id,
            version: memory.version,
            patch: patch.clone(),
        };
        let set = ChangeSet {
            run,
            new: vec![summary],
            changes: present.into_iter().flatten().map(change).collect(),
            marks: vec![("cursor".to_owned(), vec![1, 2])],
            actor: Actor::Job("consolidate"),
            at: self.clock.now(),
        };
        Ok(format!("{:?}", self.store.apply(set).await?))
    }

    async fn forget(&self, caller: &Caller, id: MemoryId) -> Result<String, ServiceError> {
        let request = ForgetRequest::Ids { references: vec![id.to_string()], request: None };
        Ok(format!("{:?}", self.service.forget(caller, request).await?))
    }
}

fn new_memory(step: Step) -> NewMemory {
    NewMemory {
        id: id_of(step, 0),
        namespace: "shared/team".parse().unwrap(),
        content: Arc::from(format!("{step:?} of three that come together")),
        kind: Kind::Event,
        tags: tags(&["together"]),
        metadata: Metadata::new(),
        session: None,
        agent: None,
        occurred_at: None,
        importance: 0.5,
        pinned: false,
        origin: Origin::Stated,
        supersedes: None,
        derived_from: Vec::new(),
        contradicts: Vec::new(),
        embedded: None,
    }
}

fn first_drafts() -> Vec<Draft> {
    let ferry = Draft {
        kind: Some(Kind::Procedure),
        tags: tags(&["harbour", "ferry"]),
        metadata: Metadata::from([("page".to_owned(), "3".to_owned())]),
        occurred_at: Some(at(-500)),
        session: Some("s".to_owned()),
        importance: Some(0.75),
        ..draft("The ferry leaves the harbour at nine")
    };
    vec![
        ferry,
        draft("Mara drinks oolong tea"),
        draft("The crane repairs end in April"),
        draft("The lighthouse keeper owes me a lamp"),
    ]
}

fn new_text() -> Patch {
    Patch {
        content: Some(Arc::from("The ferry leaves the harbour at ten")),
        tags: Some(tags(&["ferry"])),
        ..Patch::default()
    }
}

fn draft(content: &str) -> Draft {
    Draft { content: content.to_owned(), ..Draft::default() }
}

fn space_error(error: OpenSpaceError) -> ServiceError {
    match error {
        OpenSpaceError::Store(error) => error.into(),
        OpenSpaceError::Embed(error) => panic!("{error}"),
    }
}

fn backlog_error(error: BacklogError) -> ServiceError {
    match error {
        BacklogError::Store(error) => error.into(),
        BacklogError::Embed(error) => panic!("{error}"),
    }
}

/// The person.
fn owner() -> Caller {
    Caller { uid: 1000, actor: Actor::Owner, access: Access::owner() }
}

/// An agent with the rights of the person.
fn agent() -> Caller {
    Caller { actor: Actor::Agent("a".parse().unwrap()), ..owner() }
}

fn service_settings() -> Settings {
    let grace = STEP * 5 / 2;
    Settings {
        store_wait: Duration::from_secs(10),
        recall_deadline: Duration::from_secs(10),
        recall_limit: 8,
        recall_tokens_max: 2_000,
        ranking: RankingPolicy { threshold: 0.2, ..RankingPolicy::default() },
        decay: DecayPolicy::default(),
        archive: ArchivePolicy::default(),
        retention: Vec::new(),
        contradiction: ContradictionSettings {
            is_automatic: false,
            ..ContradictionSettings::default()
        },
        agent_grace: grace,
        erase_within: grace,
        grouping: Policy::default(),
        sessions: SessionPolicy::default(),
        summary_chars: 200..=300,
        backup: BackupPolicy { every: Duration::ZERO, keep: 1 },
        reminders: crate::domain::reminder::ReminderSettings::default(),
        zone: TimeZone::UTC,
    }
}

fn time_of(step: Step) -> Timestamp {
    at(0) + STEP * (step as u32)
}

/// The id of the `n`th memory that a step stores.
pub(super) fn id_of(step: Step, n: u64) -> MemoryId {
    let ms = u64::try_from(time_of(step).as_millisecond()).unwrap();
    let tail = (step as u64 * 16 + n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    MemoryId::new(ms, u128::from(tail))
}
