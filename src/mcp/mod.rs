//! MCP on the Unix socket: connections, identity, wire types, tools, resources, prompts.
//!
//! Both eras of the protocol are served on one socket: `initialize` (2024-11-05 to 2025-11-25) and
//! the self-contained requests of 2026-07-28. A message goes from `socket` and `connections`
//! through `lines` and `transport` (framing, answers to what is no message) to rmcp, which calls
//! `handler`; that checks limits and calls one of `tools`, which reads its arguments with `args`,
//! asks the service, and puts the `reply` together; what is due is `riding` in it. Nothing here touches
//! the store.

pub mod client;
pub mod transfer;

mod hello;
mod socket;

mod connections;
mod control;
mod lines;
mod transport;

mod handler;
mod info;
mod offline;
mod pending;
mod prompts;
mod resources;
mod riding;
mod tools;

mod args;
mod error;
mod reminders;
mod reply;
mod schema;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

pub use control::{ConfigReport, Control, ProcessReport, Reloaded, SocketLook, WatchdogReport};
pub use error::{ARGUMENT_FAULT, CONFIGURATION_FAULT};
pub use handler::REQUEST_KEY;
pub use hello::{AccessPolicy, HELLO_METHOD};
pub use offline::answer as offline_answer;
pub use socket::{Socket, SocketError, raise_descriptor_limit};
pub use tools::Toolset;

use crate::domain::identity::{Access, Actor, Caller};
use crate::domain::limits::{CALLS_MAX, CONNECTIONS_PER_UID_MAX};
use crate::ports::{Clock, Maintenance, Meter};
use crate::service::Service;

/// What the server needs from the composition root.
pub struct Mcp {
    /// The use cases.
    pub service: Arc<Service>,
    /// What each agent may do; asked at each request, so that a reload takes effect at once.
    pub access: AccessPolicy,
    /// For durations in the log.
    pub clock: Arc<dyn Clock>,
    /// Counts tools that failed.
    pub meter: Arc<dyn Meter>,
    /// The process around the server.
    pub control: Arc<dyn Control>,
    /// The daemon's jobs.
    pub maintenance: Arc<dyn Maintenance>,
    /// The tools that agents are shown; the same until the next start.
    pub toolset: Toolset,
    /// The data directory: who means another one is at the wrong socket.
    pub state_dir: PathBuf,
    /// Limits and admission; a change takes effect at the next connection or call.
    pub settings: watch::Receiver<McpSettings>,
}

/// Limits and admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpSettings {
    /// Uids that may connect beside the daemon's own.
    pub allow_uids: Vec<u32>,
    /// Most connections of one uid.
    pub connections_per_uid_max: usize,
    /// Most tools running at a time; more calls wait.
    pub calls_max: usize,
    /// How long calls in flight may go on after the stop.
    pub grace: Duration,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            allow_uids: Vec::new(),
            connections_per_uid_max: CONNECTIONS_PER_UID_MAX,
            calls_max: CALLS_MAX,
            grace: Duration::from_secs(5),
        }
    }
}

/// The server. Clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

impl Server {
    /// A server that serves nothing yet.
    pub fn new(mcp: Mcp) -> Self {
        Self(Arc::new(Shared::new(mcp)))
    }

    /// Serves the socket until `stop` is cancelled; then the socket goes at once, calls in flight
    /// are answered for at most `McpSettings::grace`, and what is left is cut off.
    pub async fn serve(self, socket: Socket, stop: CancellationToken) {
        connections::serve(socket, self.0, stop).await;
    }

    /// What `memory_status` tells the owner.
    pub async fn status(&self) -> Value {
        let uid = rustix::process::geteuid().as_raw();
        let owner = Caller { uid, actor: Actor::Owner, access: Access::owner() };
        Value::Object(tools::status_facts(&self.0, &owner).await)
    }
}

/// What all connections share.
struct Shared {
    service: Arc<Service>,
    access: AccessPolicy,
    clock: Arc<dyn Clock>,
    meter: Arc<dyn Meter>,
    control: Arc<dyn Control>,
    maintenance: Arc<dyn Maintenance>,
    toolset: Toolset,
    state_dir: PathBuf,
    settings: watch::Receiver<McpSettings>,
    calls: Mutex<(usize, Arc<Semaphore>)>,
    connections: connections::Connections,
    riding: riding::Riding,
}

impl Shared {
    fn new(mcp: Mcp) -> Self {
        let Mcp {
            service,
            access,
            clock,
            meter,
            control,
            maintenance,
            toolset,
            state_dir,
            settings,
        } = mcp;
        let calls_max = settings.borrow().calls_max;
        let calls = Mutex::new((calls_max, turns(calls_max)));
        let connections = connections::Connections::default();
        Self {
            service,
            access,
            clock,
            meter,
            control,
            maintenance,
            toolset,
            state_dir,
            settings,
            calls,
            connections,
            riding: riding::Riding::default(),
        }
    }

    /// The turns of calls. A new limit counts for the calls that come after it; those that have a
    /// turn keep it beside.
    fn calls(&self) -> Arc<Semaphore> {
        let calls_max = self.settings.borrow().calls_max;
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.0 != calls_max {
            *calls = (calls_max, turns(calls_max));
        }
        Arc::clone(&calls.1)
    }
}

fn turns(calls_max: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(calls_max.clamp(1, Semaphore::MAX_PERMITS)))
}

#[cfg(test)]
mod tests;
