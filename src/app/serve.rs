//! `recalld serve`: start, run, stop.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::background;
use super::engine::{Engine, EngineSettings};
use super::signals::StopSignals;
use crate::bridge;
use crate::config::{Config, Loaded};
use crate::domain::identity::{Access, AgentName};
use crate::mcp::{self, AccessPolicy, Mcp, McpSettings};
use crate::ports::Meter;
use crate::telemetry::Counters;

/// Time that calls in flight get to finish after a stop signal.
const DRAIN: Duration = Duration::from_secs(5);
/// Time that background tasks get after that.
const TASKS_DRAIN: Duration = Duration::from_secs(2);
/// Mode of the socket of a user's daemon: its owner alone.
const SOCKET_MODE: u32 = 0o600;
/// Threads of the runtime: enough for a workstation, few enough to leave it alone.
const RUNTIME_THREADS: usize = 2;

/// Runs the daemon until it is told to stop.
///
/// # Errors
/// If it cannot start (store, socket), or if the store failed while it ran.
pub(super) fn serve(loaded: &Loaded, detach: bool) -> anyhow::Result<()> {
    if detach && let Err(error) = bridge::detach() {
        // Fails only for a process that leads a group already: then it is detached enough.
        tracing::debug!(%error, "already leads a session");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .enable_all()
        .build()
        .context("start the runtime")?;
    let outcome = runtime.block_on(run(loaded));
    // Blocking reads that a call left behind hold nothing that must be saved.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn run(loaded: &Loaded) -> anyhow::Result<()> {
    let mut signals = StopSignals::listen().context("listen for signals")?;
    match mcp::raise_descriptor_limit() {
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "descriptor limit not raised"),
    }
    let config = loaded.config.clone();
    let meter: Arc<dyn Meter> = Arc::new(Counters::default());
    let settings =
        EngineSettings { state_dir: loaded.state_dir.path.clone(), config: config.clone() };
    let counting = Arc::clone(&meter);
    let engine = tokio::task::spawn_blocking(move || Engine::open(&settings, counting))
        .await
        .context("open the engine")??;
    let engine = Arc::new(engine);
    let socket = mcp::Socket::bind(&loaded.socket.path, SOCKET_MODE)?;
    tracing::info!(
        socket = %loaded.socket.path.display(),
        state_dir = %loaded.state_dir.path.display(),
        version = env!("CARGO_PKG_VERSION"),
        "ready"
    );
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();
    background::start(&engine, config.store.log_keep, &stop, &tasks);
    let server = Mcp {
        service: Arc::clone(&engine.service),
        clock: Arc::clone(&engine.clock),
        meter,
        settings: mcp_settings(&config),
        access: access(config),
    };
    let serving = tokio::spawn(mcp::serve(socket, server, stop.clone()));
    let fatal = wait_for_stop(&mut signals, &engine).await;
    stop.cancel();
    tasks.close();
    tokio::select! {
        () = shut_down(&engine, serving, &tasks) => {}
        name = signals.next() => tracing::warn!(signal = name, "stopping at once"),
    }
    match fatal {
        Some(reason) => Err(anyhow::anyhow!("the store failed: {reason}")),
        None => Ok(()),
    }
}

/// Waits for a signal or for a fault of the store; returns the fault.
async fn wait_for_stop(signals: &mut StopSignals, engine: &Engine) -> Option<String> {
    let mut fatal = engine.watch_fatal();
    tokio::select! {
        name = signals.next() => {
            tracing::info!(signal = name, "stopping");
            None
        }
        reason = fatal.wait_for(Option::is_some) => {
            let reason = reason.ok().and_then(|reason| reason.clone());
            tracing::error!(error = reason.as_deref().unwrap_or("unknown"), "the store failed");
            reason
        }
    }
}

async fn shut_down(
    engine: &Arc<Engine>,
    serving: tokio::task::JoinHandle<()>,
    tasks: &TaskTracker,
) {
    if tokio::time::timeout(DRAIN, serving).await.is_err() {
        tracing::warn!("calls were still in flight");
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

fn mcp_settings(config: &Config) -> McpSettings {
    McpSettings {
        allow_uids: config.server.allow_uids.clone(),
        connections_per_uid_max: config.server.connections_per_uid,
        calls_max: config.server.calls_in_flight,
        grace: DRAIN,
    }
}

/// What an agent may do, or `None` if its token is wrong.
fn access(config: Config) -> AccessPolicy {
    Arc::new(move |agent: &AgentName, token: Option<&str>| -> Option<Access> {
        config.admits(agent, token).then(|| config.caller_access(agent))
    })
}
