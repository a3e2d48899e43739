//! A scheduler, its store, and jobs that do as they are told.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use redb::backends::InMemoryBackend;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::run::Progress;
use super::super::{
    Job, JobError, JobsSettings, Parts, RunContext, RunReport, Scheduler, Timetable,
};
use crate::clock::ManualClock;
use crate::domain::identity::Actor;
use crate::domain::job::{
    JobName, JobState, NewRun, NotUndone, Outcome, Run, RunChange, RunId, Running, Trigger, Undone,
};
use crate::domain::schedule::Schedule;
use crate::ports::{Asked, Clock as _, Ledger, Maintenance as _, NotRun, StoreError};
use crate::store::{RedbStore, StoreSettings};

/// Where the clock begins: noon before the first night.
pub(super) const NOON: &str = "2026-12-01T12:00:00Z";
/// Least time from a start to what was missed.
pub(super) const DELAY: Duration = Duration::from_mins(1);

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// What a run of a stub does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Ends well.
    Done,
    /// Fails.
    Fail,
    /// Panics.
    Panic,
    /// Waits until it is let go or told to end.
    Wait,
    /// Waits for ever, whatever it is told.
    Deaf,
}

/// A job that does what is asked of its next run, and ends well otherwise.
pub(super) struct Stub {
    name: JobName,
    acts: Mutex<VecDeque<Act>>,
    /// Lets one waiting run go.
    pub(super) gate: Semaphore,
    /// What each run was given.
    pub(super) runs: Mutex<Vec<RunContext>>,
    /// Runs of all stubs at this moment, and the most there were.
    at_once: Arc<(AtomicUsize, AtomicUsize)>,
}

impl Stub {
    /// What the next runs do.
    pub(super) fn will(&self, acts: impl IntoIterator<Item = Act>) {
        self.acts.lock().unwrap().extend(acts);
    }

    pub(super) fn n_runs(&self) -> usize {
        self.runs.lock().unwrap().len()
    }

    async fn act(&self, context: RunContext) -> Result<RunReport, JobError> {
        let act = self.acts.lock().unwrap().pop_front().unwrap_or(Act::Done);
        self.runs.lock().unwrap().push(context.clone());
        let (now, most) = &*self.at_once;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let _leave = Leave(Arc::clone(&self.at_once));
        let outcome = match act {
            Act::Done => Outcome::Done,
            Act::Fail => return Err(StoreError::Full("no room for a stub".to_owned()).into()),
            Act::Panic => panic!("a secret in a panic"),
            Act::Deaf => std::future::pending().await,
            Act::Wait => tokio::select! {
                permit = self.gate.acquire() => {
                    permit.unwrap().forget();
                    Outcome::Done
                }
                () = context.stop.cancelled() => Outcome::Partial("told to end".to_owned()),
            },
        };
        Ok(RunReport { n_changed: 3, report: json!({ "n": 3 }), outcome })
    }
}

struct Leave(Arc<(AtomicUsize, AtomicUsize)>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Shared(Arc<Stub>);

impl Job for Shared {
    fn name(&self) -> JobName {
        self.0.name
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<RunReport, JobError>> {
        Box::pin(self.0.act(context))
    }
}

/// The store's ledger, which can be made to refuse beginnings and ends of runs.
pub(super) struct Moody {
    store: Arc<RedbStore>,
    pub(super) refuses: AtomicBool,
}

impl Moody {
    fn check(&self) -> Result<(), StoreError> {
        let refuses = self.refuses.load(Ordering::SeqCst);
        if refuses { Err(StoreError::NoRoom("the disk of a test".to_owned())) } else { Ok(()) }
    }
}

impl Ledger for Moody {
    fn job_states(&self) -> BoxFuture<'_, Result<Vec<JobState>, StoreError>> {
        self.store.job_states()
    }

    fn save_job_state(&self, state: JobState) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.save_job_state(state)
    }

    fn begin_run(&self, new: NewRun) -> BoxFuture<'_, Result<Result<Run, Running>, StoreError>> {
        Box::pin(async move {
            self.check()?;
            self.store.begin_run(new).await
        })
    }

    fn finish_run(
        &self,
        id: RunId,
        outcome: Outcome,
        n_changed: u64,
        report: String,
        at: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.check()?;
            self.store.finish_run(id, outcome, n_changed, report, at).await
        })
    }

    fn interrupt_open_runs(&self, at: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.store.interrupt_open_runs(at)
    }

    fn runs(
        &self,
        job: Option<JobName>,
        before: Option<RunId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Run>, StoreError>> {
        self.store.runs(job, before, limit)
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<Run>, StoreError>> {
        self.store.run(id)
    }

    fn run_changes(
        &self,
        id: RunId,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<RunChange>, StoreError>> {
        self.store.run_changes(id, limit)
    }

    fn undo(
        &self,
        id: RunId,
        actor: Actor,
        at: Timestamp,
    ) -> BoxFuture<'_, Result<Result<Undone, NotUndone>, StoreError>> {
        self.store.undo(id, actor, at)
    }

    fn trim_runs(&self, keep: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.store.trim_runs(keep)
    }
}

/// A daemon as far as jobs are concerned.
pub(super) struct Desk {
    pub(super) scheduler: Scheduler,
    pub(super) ledger: Arc<Moody>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) decay: Arc<Stub>,
    pub(super) archive: Arc<Stub>,
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
    at_once: Arc<(AtomicUsize, AtomicUsize)>,
    settings: JobsSettings,
}

impl Desk {
    /// One job, `decay`, that is due each night at four; `archive` is there and has no timetable.
    pub(super) fn new() -> Self {
        Self::with(nightly(&[JobName::Decay]))
    }

    /// With this timetable.
    pub(super) fn with(settings: JobsSettings) -> Self {
        let clock = Arc::new(ManualClock::at(at(NOON)));
        let store_settings = StoreSettings { cache_bytes: 1024 * 1024 };
        let backend = InMemoryBackend::new();
        let store = RedbStore::open_with_backend(backend, store_settings, clock.now()).unwrap();
        let ledger = Moody { store: Arc::new(store), refuses: AtomicBool::new(false) };
        Self::start(Arc::new(ledger), clock, settings, "first")
    }

    /// The next daemon over the same store, as after a kill: nothing of this one is told to end.
    pub(super) fn restarted(&self) -> Self {
        let (ledger, clock) = (Arc::clone(&self.ledger), Arc::clone(&self.clock));
        Self::start(ledger, clock, self.settings.clone(), "second")
    }

    fn start(
        ledger: Arc<Moody>,
        clock: Arc<ManualClock>,
        settings: JobsSettings,
        lease: &str,
    ) -> Self {
        let at_once = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let stub = |name| {
            Arc::new(Stub {
                name,
                acts: Mutex::default(),
                gate: Semaphore::new(0),
                runs: Mutex::default(),
                at_once: Arc::clone(&at_once),
            })
        };
        let (decay, archive) = (stub(JobName::Decay), stub(JobName::Archive));
        let shared = |stub: &Arc<Stub>| Arc::new(Shared(Arc::clone(stub))) as Arc<dyn Job>;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let scheduler = Scheduler::new(Parts {
            jobs: vec![shared(&decay), shared(&archive)],
            ledger: ledger.clone(),
            clock: clock.clone(),
            lease: lease.to_owned(),
            seed: 7,
            settings: settings.clone(),
            stop: stop.clone(),
            tasks: tasks.clone(),
        });
        Self { scheduler, ledger, clock, decay, archive, stop, tasks, at_once, settings }
    }

    /// Looks at what is due, and waits until nothing runs.
    pub(super) async fn look(&self) {
        self.scheduler.look().await;
        self.ended().await;
    }

    /// Goes on to `now`, as time does, and looks.
    pub(super) async fn look_at(&self, now: &str) {
        let by = at(now).duration_since(self.clock.now());
        self.clock.advance(by.try_into().unwrap());
        self.look().await;
    }

    /// Waits until nothing runs or waits to.
    pub(super) async fn ended(&self) {
        while self.scheduler.jobs().iter().any(|job| job.activity.is_some()) {
            self.scheduler.0.woken().await;
        }
    }

    /// Asks for a run as the person and waits for its end.
    pub(super) async fn ask(&self, job: JobName) -> Result<Run, NotRun> {
        match self.scheduler.run(job, Trigger::Owner, false).await? {
            Asked::Ended(run) => Ok(run),
            early @ (Asked::Begun(_) | Asked::Waits) => panic!("{early:?}"),
        }
    }

    /// Begins a run that waits, and waits until it is under way.
    pub(super) async fn begin(&self, job: JobName) -> Run {
        let ask = super::super::run::Ask {
            trigger: Trigger::Owner,
            is_dry_run: false,
            scheduled_at: None,
        };
        let mut watching = self.scheduler.begin(job, ask).unwrap();
        let begun = watching.wait_for(|progress| !matches!(progress, Progress::Waits)).await;
        match begun.unwrap().clone() {
            Progress::Begun(run) => run,
            late @ (Progress::Waits | Progress::Ended(_) | Progress::Refused(_)) => {
                panic!("{late:?}")
            }
        }
    }

    /// The state of `decay` as the store has it.
    pub(super) async fn state(&self) -> JobState {
        let states = self.ledger.job_states().await.unwrap();
        states.into_iter().find(|state| state.job == JobName::Decay).unwrap()
    }

    /// The runs of `decay`, oldest first.
    pub(super) async fn runs(&self) -> Vec<Run> {
        let mut runs = self.ledger.runs(Some(JobName::Decay), None, 100).await.unwrap();
        runs.reverse();
        runs
    }

    /// Most runs that there were at a time.
    pub(super) fn most_at_once(&self) -> usize {
        self.at_once.1.load(Ordering::SeqCst)
    }
}

/// These jobs each night at four; the others only when asked for.
pub(super) fn nightly(jobs: &[JobName]) -> JobsSettings {
    settings(jobs, "0 4 * * *", Duration::from_hours(1))
}

pub(super) fn settings(jobs: &[JobName], line: &str, max_runtime: Duration) -> JobsSettings {
    let timetable = |job: &JobName| {
        let schedule = Some(Schedule::parse(line, &TimeZone::UTC).unwrap());
        (*job, Timetable { schedule, max_runtime })
    };
    JobsSettings { catch_up_after: DELAY, timetables: jobs.iter().map(timetable).collect() }
}
