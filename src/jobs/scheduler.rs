//! The scheduler: looks at what is due, and lets one job run at a time.
//!
//! It keeps the state of each job as the store has it. What is due is decided anew at each look, from
//! that state, the schedule in force and the clock, so nothing depends on when it was looked at last.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Job;
use super::heartbeat::{BEAT, Heartbeat};
use super::run::{Ask, Progress};
use super::states::{Active, Board, Entry};
use crate::domain::job::{JobName, JobState, Trigger};
use crate::domain::limits::{JOB_ANSWER_WAIT, JOB_LOOK_EVERY};
use crate::domain::schedule::{Look, Schedule};
use crate::ports::{Asked, Clock, JobReport, Ledger, Maintenance, NotRun};

/// What a scheduler is made of.
pub struct Parts {
    /// The jobs, in the order in which they run when all are asked for.
    pub jobs: Vec<Arc<dyn Job>>,
    /// Where their states and runs are kept.
    pub ledger: Arc<dyn Ledger>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Names this process, as no other does: a run left open under another name is a dead one's.
    pub lease: String,
    /// A number of this store, for delays that differ between machines and never change.
    pub seed: u64,
    /// When the jobs run.
    pub settings: JobsSettings,
    /// Ends it.
    pub stop: CancellationToken,
    /// What it spawns.
    pub tasks: TaskTracker,
}

/// When the jobs run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobsSettings {
    /// Least time from the start to a run that was missed.
    pub catch_up_after: Duration,
    /// The timetable of each job; one without runs only when it is asked for, without a deadline.
    pub timetables: BTreeMap<JobName, Timetable>,
}

/// When one job runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Timetable {
    /// `None`: only when it is asked for.
    pub schedule: Option<Schedule>,
    /// Time after which a run is told to end.
    pub max_runtime: Duration,
}

/// Runs the jobs. Clones are the same scheduler.
#[derive(Clone)]
pub struct Scheduler(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) jobs: Vec<Arc<dyn Job>>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lease: String,
    pub(super) seed: u64,
    pub(super) started_at: Timestamp,
    pub(super) settings: RwLock<Arc<JobsSettings>>,
    pub(super) board: Mutex<Board>,
    /// The one turn that all jobs share.
    pub(super) turn: Semaphore,
    pub(super) woken: Arc<Notify>,
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl Scheduler {
    /// A scheduler that has done nothing yet.
    pub fn new(parts: Parts) -> Self {
        let Parts { jobs, ledger, clock, lease, seed, settings, stop, tasks } = parts;
        let entry = |job: &Arc<dyn Job>| {
            let state = JobState::new(job.name());
            (job.name(), Entry { state, active: None, planned: None, not_before: None })
        };
        let entries = jobs.iter().map(entry).collect();
        Self(Arc::new(Inner {
            started_at: clock.now(),
            settings: RwLock::new(Arc::new(settings)),
            board: Mutex::new(Board { entries, ..Board::default() }),
            turn: Semaphore::new(1),
            woken: Arc::default(),
            jobs,
            ledger,
            clock,
            lease,
            seed,
            stop,
            tasks,
        }))
    }

    /// Reads the states. Nothing runs before that; if the store cannot be read now, the loop tries
    /// again.
    pub async fn open(&self) {
        let now = self.0.clock.now();
        if let Err(error) = self.0.keep_up(now).await {
            self.0.note_trouble(now, &error);
        }
    }

    /// Runs what is due until it is told to stop. `asked` is awaited between two looks and may end
    /// whenever it wants: whoever watches over the daemon sees that this loop goes round.
    pub async fn live(&self, asked: impl Fn() -> BoxFuture<'static, ()>) {
        let inner = &self.0;
        let heartbeat = Heartbeat::start(BEAT, Arc::clone(&inner.woken)).await;
        if let Err(error) = &heartbeat {
            tracing::warn!(%error, "no heartbeat, jobs start up to 30 s late");
        }
        loop {
            let wait = self.look().await;
            tokio::select! {
                () = inner.stop.cancelled() => break,
                () = inner.woken() => {}
                () = asked() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
        if let Ok(heartbeat) = heartbeat
            && let Err(error) = heartbeat.stop().await
        {
            tracing::debug!(%error, "heartbeat not stopped");
        }
    }

    /// Starts what is due and tells how long there is nothing more to do.
    pub(super) async fn look(&self) -> Duration {
        let inner = &self.0;
        let now = inner.clock.now();
        if let Err(error) = inner.keep_up(now).await {
            inner.note_trouble(now, &error);
            return JOB_LOOK_EVERY;
        }
        let mut next = now.checked_add(JOB_LOOK_EVERY).unwrap_or(now);
        for job in &inner.jobs {
            match inner.decide(job.name(), now) {
                Look::Idle => {}
                Look::Wait(at) => next = next.min(at),
                Look::Skip(why) => inner.skip(job.name(), why, now).await,
                Look::Run { trigger, scheduled_at } => {
                    let ask = Ask { trigger, is_dry_run: false, scheduled_at: Some(scheduled_at) };
                    match self.begin(job.name(), ask) {
                        Ok(_) => {}
                        Err(NotRun::Active { how, .. }) => inner.skip(job.name(), how, now).await,
                        Err(error) => tracing::debug!(job = %job.name(), %error, "job not begun"),
                    }
                }
            }
        }
        Duration::try_from(next.duration_since(now)).unwrap_or_default()
    }

    /// Puts another timetable in force. A job that is running ends as it began; one whose schedule is
    /// new is next due by that.
    pub fn reconfigure(&self, settings: JobsSettings) {
        *self.0.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        self.0.woken.notify_one();
    }

    /// Asks for a run of every job that runs by itself; tells of each what became of that.
    pub fn run_all(&self, trigger: Trigger) -> Vec<(JobName, Result<(), NotRun>)> {
        let settings = self.0.settings();
        let enabled = self.0.jobs.iter().map(|job| job.name()).filter(|job| {
            settings.timetables.get(job).is_some_and(|timetable| timetable.schedule.is_some())
        });
        let ask = Ask { trigger, is_dry_run: false, scheduled_at: None };
        enabled.map(|job| (job, self.begin(job, ask).map(drop))).collect()
    }

    /// Asks for a run of a job that runs by itself, before its time.
    ///
    /// # Errors
    /// Why there will be none: it does not run by itself, is left alone for a while, or runs already.
    pub fn run_by_itself(&self, job: JobName, trigger: Trigger) -> Result<(), NotRun> {
        let settings = self.0.settings();
        let timetable = settings.timetables.get(&job);
        if timetable.is_none_or(|timetable| timetable.schedule.is_none()) {
            return Err(NotRun::Unknown(job));
        }
        let now = self.0.clock.now();
        let paused_until =
            self.0.board().entries.get(&job).and_then(|entry| entry.state.paused_until);
        if let Some(until) = paused_until.filter(|until| *until > now) {
            return Err(NotRun::Active { job, how: format!("paused until {until}") });
        }
        let ask = Ask { trigger, is_dry_run: false, scheduled_at: None };
        self.begin(job, ask).map(drop)
    }

    /// Begins a run as soon as it is its turn, unless one of this job is under way.
    pub(super) fn begin(
        &self,
        name: JobName,
        ask: Ask,
    ) -> Result<watch::Receiver<Progress>, NotRun> {
        let inner = &self.0;
        if inner.stop.is_cancelled() {
            return Err(NotRun::Stopping);
        }
        let job = inner.jobs.iter().find(|job| job.name() == name).ok_or(NotRun::Unknown(name))?;
        let mut board = inner.board();
        if !board.is_open {
            // A run that began before would be taken for one that was left open.
            let why = board.trouble.as_ref().map_or("starting", |(_, why)| why);
            return Err(NotRun::NotReady(why.to_owned()));
        }
        let entry = board.entries.get_mut(&name).ok_or(NotRun::Unknown(name))?;
        if let Some(active) = &entry.active {
            return Err(NotRun::Active { job: name, how: active.to_string() });
        }
        entry.active = Some(Active::Waiting(inner.clock.now()));
        drop(board);
        let (progress, watching) = watch::channel(Progress::Waits);
        let (inner, job) = (Arc::clone(inner), Arc::clone(job));
        self.0.tasks.spawn(async move { inner.carry_out(job, ask, progress).await });
        Ok(watching)
    }
}

impl Maintenance for Scheduler {
    fn jobs(&self) -> Vec<JobReport> {
        self.0.reports()
    }

    fn run(
        &self,
        job: JobName,
        trigger: Trigger,
        is_dry_run: bool,
    ) -> BoxFuture<'_, Result<Asked, NotRun>> {
        Box::pin(async move {
            let ask = Ask { trigger, is_dry_run, scheduled_at: None };
            let mut watching = self.begin(job, ask)?;
            let over = watching.wait_for(Progress::is_over);
            // Past the wait the answer is how far it has come.
            let in_time = tokio::time::timeout(JOB_ANSWER_WAIT, over).await.is_ok();
            tracing::trace!(in_time, "answer of a run");
            let progress = watching.borrow().clone();
            progress.answer()
        })
    }
}
