//! `recalld serve`: start, run, stop.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::FutureExt as _;
use listenfd::ListenFd;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::background;
use super::engine::{Engine, EngineSettings};
use super::jobs;
use super::notify::Notifier;
use super::places;
use super::process::{Process, dump};
use super::reload::{Reach, Reloader};
use super::sessions;
use super::signals::{Request, Signals, Stop};
use super::watchdog::{Pulse, Watchdog};
use crate::bridge;
use crate::cli::{self, Fault};
use crate::config::{Config, Loaded, Sources};
use crate::domain::identity::{Access, AgentName};
use crate::domain::job::Trigger;
use crate::domain::limits::{IN_USE_WAIT, IN_USE_WAITS_MAX};
use crate::jobs::{Reminding, Scheduler};
use crate::mcp::{self, AccessPolicy, Mcp, McpSettings, Server, Socket, SocketError, Toolset};
use crate::ports::Meter;
use crate::store::OpenError;
use crate::telemetry::{Counters, Log};

/// Time that calls in flight get to finish after a stop signal.
const DRAIN: Duration = Duration::from_secs(5);
/// Time that background tasks get after that.
const TASKS_DRAIN: Duration = Duration::from_secs(2);
/// Mode of the socket of a user's daemon: its owner alone.
const SOCKET_MODE: u32 = 0o600;
/// Threads of the runtime: enough for a workstation, few enough to leave it alone.
const RUNTIME_THREADS: usize = 2;
/// Time between two summaries of what was not logged line by line.
const LOG_TENDED_EVERY: Duration = Duration::from_mins(1);
/// Time between the first two status lines for systemd; it doubles until [`STATUS_EVERY_MAX`], since
/// most happens soon after the start.
const STATUS_EVERY_MIN: Duration = Duration::from_secs(1);
/// Longest time between two status lines.
const STATUS_EVERY_MAX: Duration = Duration::from_secs(30);

/// How the daemon is started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// Whether it leaves the session of its terminal.
    pub(super) detach: bool,
    /// Whether it may begin with an empty store where one was.
    pub(super) start_empty: bool,
    /// Whether failures are told as JSON.
    pub(super) json: bool,
}

/// Runs the daemon until it is told to stop.
///
/// # Errors
/// If it cannot start (store, socket), or if the store failed while it ran.
pub(super) fn serve(sources: Sources, options: Options) -> anyhow::Result<ExitCode> {
    let Options { detach, start_empty, json } = options;
    // Fails only for a process that leads a group already: then it is detached enough.
    let detached = if detach { bridge::detach() } else { Ok(()) };
    // Taken before there is a second thread, since it changes the environment.
    let inherited = ListenFd::from_env();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .enable_all()
        .build()
        .context("start the runtime")?;
    // From here on no signal ends the process by itself; those that come early wait.
    let entered = runtime.enter();
    let signals = Signals::listen().context("listen for signals")?;
    drop(entered);
    let notifier = Arc::new(Notifier::from_env());
    let loaded = match Config::load(&sources) {
        Ok(loaded) => loaded,
        Err(problems) => {
            let first = problems.list().first().map(ToString::to_string).unwrap_or_default();
            notifier.status(&format!("bad configuration: {first}"));
            // The last line is what a bridge tells its agent of a daemon that did not start.
            let told = format!("{problems}\nnot started: {}", problems.in_one_line());
            return Ok(cli::fail(Fault::Config, &told, json));
        }
    };
    let (log, worker) = super::install_log(&super::log_settings(&loaded.config))?;
    let log = Arc::new(log);
    if let Err(error) = detached {
        tracing::debug!(%error, "already leads a session");
    }
    for warning in &loaded.warnings {
        tracing::warn!(warning, "configuration");
    }
    for problem in places::endured(&loaded) {
        tracing::warn!(warning = problem, "configuration");
    }
    let start = Start {
        sources,
        loaded,
        is_empty: start_empty,
        inherited,
        notifier: Arc::clone(&notifier),
        log: Arc::clone(&log),
    };
    let outcome = runtime.block_on(run(start, signals));
    if let Err(error) = &outcome {
        notifier.status(&format!("ended: {}", super::told(error)));
    }
    // Blocking reads that a call left behind hold nothing that must be saved.
    runtime.shutdown_timeout(Duration::from_secs(1));
    log.tend();
    drop(worker);
    outcome
}

/// What a daemon starts with.
struct Start {
    sources: Sources,
    loaded: Loaded,
    /// Whether it may start empty where a store is missing.
    is_empty: bool,
    inherited: ListenFd,
    notifier: Arc<Notifier>,
    log: Arc<Log>,
}

async fn run(start: Start, mut signals: Signals) -> anyhow::Result<ExitCode> {
    match mcp::raise_descriptor_limit() {
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "descriptor limit not raised"),
    }
    let meter: Arc<dyn Meter> = Arc::new(Counters::default());
    let Some(engine) = open(&start, Arc::clone(&meter), &mut signals).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    let Running { daemon, serving, reminding, stop, tasks } =
        bring_up(start, engine, meter).await?;
    let ended = daemon.live(&mut signals).await;
    daemon.notifier.stopping();
    stop.cancel();
    tasks.close();
    if let End::AtOnce = ended {
        return Ok(ExitCode::FAILURE);
    }
    let closing = shut_down(&daemon.engine, serving, reminding, &tasks);
    tokio::select! {
        () = daemon.notifier.extending(closing) => {}
        again = signals.stop() => {
            tracing::warn!(signal = again.signal, "stopping at once");
            return Ok(ExitCode::FAILURE);
        }
    }
    match ended {
        End::Fault(reason) => Err(anyhow::anyhow!("the store failed: {reason}")),
        End::InOrder | End::AtOnce => Ok(ExitCode::SUCCESS),
    }
}

/// A daemon that is ready, and what ends it.
struct Running {
    daemon: Daemon,
    serving: JoinHandle<()>,
    reminding: JoinHandle<()>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Wires everything around an open store and starts it.
async fn bring_up(
    start: Start,
    engine: Arc<Engine>,
    meter: Arc<dyn Meter>,
) -> anyhow::Result<Running> {
    let Start { sources, loaded, mut inherited, notifier, log, .. } = start;
    let socket = once_free(async || socket(&mut inherited, &loaded)).await?;
    let place = socket.path().display().to_string();
    let state_dir = loaded.state_dir.path.clone();
    let watchdog = Arc::new(Watchdog::new(sd_notify::watchdog_enabled()));
    let config = watch::Sender::new(Arc::new(loaded.config.clone()));
    let limits = watch::Sender::new(mcp_settings(&loaded.config));
    let access = access(config.subscribe());
    let in_force = config.subscribe();
    let settings = limits.subscribe();
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();
    let scheduler = jobs::scheduler(&engine, &loaded.config, &stop, &tasks).await?;
    let toolset = toolset(&loaded.config);
    let reach = Reach {
        service: Arc::clone(&engine.service),
        scheduler: scheduler.clone(),
        mcp: limits,
        config,
        log: Arc::clone(&log),
    };
    let clock = Arc::clone(&engine.clock);
    let reloader = Reloader::new(sources, loaded, reach, Arc::clone(&notifier), clock.clone());
    let process = Arc::new(Process::new(reloader, &watchdog, log, scheduler.clone(), clock));
    let server = Server::new(Mcp {
        service: Arc::clone(&engine.service),
        clock: Arc::clone(&engine.clock),
        meter,
        control: process.clone(),
        maintenance: Arc::new(scheduler.clone()),
        toolset,
        state_dir: super::resolved(&state_dir),
        settings,
        access,
    });
    background::start(&engine, in_force, watchdog.pulse("upkeep"), &stop, &tasks);
    let serving = tokio::spawn(server.clone().serve(socket, stop.clone()));
    let signalled = watchdog.pulse("signals");
    watch_over(&engine, &watchdog, &notifier, &stop, &tasks);
    run_jobs(&scheduler, watchdog.pulse("jobs"), &tasks);
    sessions::watch(&engine, &scheduler, &stop, &tasks);
    tracing::info!(
        socket = place,
        state_dir = %state_dir.display(),
        version = env!("CARGO_PKG_VERSION"),
        "ready"
    );
    notifier.ready();
    let reminding = remind(&engine, watchdog.pulse("reminders"), &stop);
    let daemon = Daemon { engine, server, process, notifier, signalled, state_dir };
    Ok(Running { daemon, serving, reminding, stop, tasks })
}

/// Opens the store; `None` if a signal to stop came first. Nothing is acknowledged yet, so there is
/// nothing to wait for.
async fn open(
    start: &Start,
    meter: Arc<dyn Meter>,
    signals: &mut Signals,
) -> anyhow::Result<Option<Arc<Engine>>> {
    let Loaded { config, state_dir, .. } = &start.loaded;
    let settings = EngineSettings {
        state_dir: state_dir.path.clone(),
        config: config.clone(),
        start_empty: start.is_empty,
    };
    start.notifier.status("opening the store");
    let settings = Arc::new(settings);
    let opening = once_free(async || {
        let (settings, meter) = (Arc::clone(&settings), Arc::clone(&meter));
        let opening = tokio::task::spawn_blocking(move || Engine::open(&settings, meter));
        opening.await.context("open the engine")?
    });
    tokio::select! {
        opened = start.notifier.extending(opening) => Ok(Some(Arc::new(opened?))),
        Stop { signal, .. } = signals.stop() => {
            start.notifier.stopping();
            tracing::info!(signal, "stopped while starting");
            Ok(None)
        }
    }
}

/// What `open` gives. A daemon that was just killed holds its files until the kernel has taken it
/// apart, which takes a moment if it was large: what another one has is tried again for a while.
async fn once_free<T>(mut open: impl AsyncFnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let mut n_waits = 0;
    loop {
        match open().await {
            Err(error) if n_waits < IN_USE_WAITS_MAX && is_in_use(&error) => {
                if n_waits == 0 {
                    tracing::info!(
                        error = super::told(&error),
                        "waiting for another daemon to end"
                    );
                }
                n_waits += 1;
                tokio::time::sleep(IN_USE_WAIT).await;
            }
            outcome => return outcome,
        }
    }
}

fn is_in_use(error: &anyhow::Error) -> bool {
    let store = error.downcast_ref::<OpenError>();
    let socket = error.downcast_ref::<SocketError>();
    matches!(store, Some(OpenError::InUse { .. })) || matches!(socket, Some(SocketError::Busy(_)))
}

/// The socket that systemd holds for this process, else one of its own.
fn socket(inherited: &mut ListenFd, loaded: &Loaded) -> anyhow::Result<Socket> {
    let configured = &loaded.socket.path;
    match inherited.len() {
        0 => Ok(Socket::bind(configured, SOCKET_MODE)?),
        1 => {
            let listener = inherited
                .take_unix_listener(0)
                .context("take the socket of LISTEN_FDS")?
                .context("take the socket of LISTEN_FDS: it is taken")?;
            let socket = Socket::inherit(listener)?;
            if socket.path() != configured {
                tracing::warn!(
                    socket = %socket.path().display(),
                    configured = %configured.display(),
                    "clients look for another socket than the one systemd holds"
                );
            }
            Ok(socket)
        }
        n => anyhow::bail!("LISTEN_FDS names {n} sockets; expected one Unix stream socket"),
    }
}

/// Signs of life for systemd, where it asks for them.
fn watch_over(
    engine: &Arc<Engine>,
    watchdog: &Arc<Watchdog>,
    notifier: &Arc<Notifier>,
    stop: &CancellationToken,
    tasks: &TaskTracker,
) {
    let (engine, watchdog) = (Arc::clone(engine), Arc::clone(watchdog));
    let (notifier, stop) = (Arc::clone(notifier), stop.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = watchdog.run(engine.store(), &notifier, &*engine.clock) => {}
        }
    });
}

/// The jobs, from now on, under the watchdog's eye.
fn run_jobs(scheduler: &Scheduler, pulse: Arc<Pulse>, tasks: &TaskTracker) {
    let scheduler = scheduler.clone();
    tasks.spawn(async move {
        let asked = || {
            let pulse = Arc::clone(&pulse);
            async move { pulse.answer().await }.boxed()
        };
        scheduler.live(asked).await;
    });
}

/// The loop of the reminders, from now on, under the watchdog's eye.
fn remind(engine: &Engine, pulse: Arc<Pulse>, stop: &CancellationToken) -> JoinHandle<()> {
    let reminding = Reminding {
        service: Arc::clone(&engine.service),
        clock: Arc::clone(&engine.clock),
        stop: stop.clone(),
    };
    tokio::spawn(async move {
        let asked = || {
            let pulse = Arc::clone(&pulse);
            async move { pulse.answer().await }.boxed()
        };
        reminding.live(asked).await;
    })
}

/// Why the daemon stops.
enum End {
    /// It was asked to.
    InOrder,
    /// It was asked to, without waiting for anything.
    AtOnce,
    /// The store takes no more writes.
    Fault(String),
}

/// A daemon that is ready.
struct Daemon {
    engine: Arc<Engine>,
    server: Server,
    process: Arc<Process>,
    notifier: Arc<Notifier>,
    signalled: Arc<Pulse>,
    state_dir: std::path::PathBuf,
}

impl Daemon {
    /// Carries out what signals ask for, until one says stop or the store fails.
    async fn live(&self, signals: &mut Signals) -> End {
        let mut fatal = self.engine.watch_fatal();
        let mut statuses = tokio::time::interval(STATUS_EVERY_MAX);
        let mut pause = STATUS_EVERY_MIN;
        let mut tends = tokio::time::interval(LOG_TENDED_EVERY);
        tends.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        statuses.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let request = tokio::select! {
                biased;
                request = signals.next() => request,
                reason = fatal.wait_for(Option::is_some) => {
                    let reason = reason.ok().and_then(|reason| reason.clone());
                    let reason = reason.unwrap_or_else(|| "unknown".to_owned());
                    tracing::error!(error = reason, "the store failed");
                    return End::Fault(reason);
                }
                () = self.signalled.answer() => continue,
                _ = tends.tick() => {
                    self.process.log.tend();
                    continue;
                }
                _ = statuses.tick() => {
                    self.tell_status().await;
                    statuses.reset_after(pause);
                    pause = (pause * 2).min(STATUS_EVERY_MAX);
                    continue;
                }
            };
            match request {
                Request::Stop(Stop { signal, in_order: true }) => {
                    tracing::info!(signal, "stopping");
                    return End::InOrder;
                }
                Request::Stop(Stop { signal, in_order: false }) => {
                    tracing::warn!(signal, "stopping at once");
                    return End::AtOnce;
                }
                // What is wrong has been told already.
                Request::Reload => drop(self.process.reloader.reload().await),
                Request::Report => self.report().await,
                Request::Maintain => self.maintain(),
            }
        }
    }

    /// Asks for a run of every job that is switched on.
    fn maintain(&self) {
        for (job, begun) in self.process.scheduler.run_all(Trigger::Signal) {
            match begun {
                Ok(()) => tracing::info!(%job, "job asked for by a signal"),
                Err(why) => tracing::info!(%job, reason = %why, "job not begun"),
            }
        }
    }

    async fn tell_status(&self) {
        if self.notifier.is_heard() {
            self.notifier.status(&self.process.line(&self.engine.service).await);
        }
    }

    /// The state, to the log and to `status.json`.
    async fn report(&self) {
        let report = self.engine.service.status().await;
        let unwell: Vec<&str> = report.unwell().collect();
        let store = report.store.as_ref();
        tracing::info!(
            n_memories = store.map(|store| store.n_memories),
            file_bytes = store.map(|store| store.file_bytes),
            n_waiting = store.map(|store| store.n_waiting),
            n_pending_vectors = report.index.n_pending_vectors,
            degraded = unwell.join(", "),
            generation = mcp::Control::report(&*self.process).config.generation,
            started_at = %report.started_at,
            version = report.version,
            "status"
        );
        if let Err(error) = dump(&self.server, &self.state_dir).await {
            tracing::warn!(error = super::told(&error), "status not written to its file");
        }
    }
}

async fn shut_down(
    engine: &Arc<Engine>,
    serving: JoinHandle<()>,
    reminding: JoinHandle<()>,
    tasks: &TaskTracker,
) {
    // The loop of the reminders sees to it that it ends in time.
    let (served, reminded) = tokio::join!(tokio::time::timeout(DRAIN, serving), reminding);
    if served.is_err() {
        tracing::warn!("calls were still in flight");
    }
    if reminded.is_err() {
        tracing::error!("the loop of the reminders did not end in order");
    }
    if tokio::time::timeout(TASKS_DRAIN, tasks.wait()).await.is_err() {
        tracing::warn!("background tasks were still running");
    }
    if let Err(error) = engine.service.flush_usage().await {
        tracing::warn!(%error, "usage notes lost");
    }
    let closing = Arc::clone(engine);
    if tokio::task::spawn_blocking(move || closing.close()).await.is_err() {
        tracing::error!("the store did not close in order");
    }
    tracing::info!("stopped");
}

/// The server's limits.
pub(super) fn mcp_settings(config: &Config) -> McpSettings {
    McpSettings {
        allow_uids: config.server.allow_uids.clone(),
        connections_per_uid_max: config.server.connections_per_uid,
        calls_max: config.server.calls_in_flight,
        grace: DRAIN,
    }
}

/// The tools that agents are shown.
pub(super) const fn toolset(config: &Config) -> Toolset {
    if config.mcp.has_all_tools { Toolset::Full } else { Toolset::Small }
}

/// What an agent may do by the configuration in force, or `None` if its token is wrong.
fn access(config: watch::Receiver<Arc<Config>>) -> AccessPolicy {
    Arc::new(move |agent: &AgentName, token: Option<&str>| -> Option<Access> {
        let config = Arc::clone(&config.borrow());
        config.admits(agent, token).then(|| config.caller_access(agent))
    })
}
