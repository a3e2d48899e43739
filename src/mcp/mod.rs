//! MCP on the Unix socket: connections, identity, wire types, tools, resources, prompts.
//!
//! Both eras of the protocol are served on one socket: `initialize` (2024-11-05 to 2025-11-25) and
//! the self-contained requests of 2026-07-28. A message goes from `socket` and `connections`
//! through `lines` and `transport` (framing, answers to what is no message) to rmcp, which calls
//! `handler`; that checks limits and calls one of `tools`, which reads its arguments with `args`,
//! asks the service, and puts the `reply` together. Nothing here touches the store.

pub mod client;

mod hello;
mod socket;

mod connections;
mod lines;
mod transport;

mod handler;
mod info;
mod offline;
mod prompts;
mod resources;
mod tools;

mod args;
mod error;
mod reply;
mod schema;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

pub use connections::serve;
pub use handler::REQUEST_KEY;
pub use hello::{AccessPolicy, HELLO_METHOD};
pub use offline::answer as offline_answer;
pub use socket::{Socket, SocketError, raise_descriptor_limit};

use crate::domain::limits::{CALLS_MAX, CONNECTIONS_PER_UID_MAX};
use crate::ports::{Clock, Meter};
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
    /// Limits and admission.
    pub settings: McpSettings,
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

/// What all connections share.
struct Shared {
    service: Arc<Service>,
    access: AccessPolicy,
    clock: Arc<dyn Clock>,
    meter: Arc<dyn Meter>,
    settings: McpSettings,
    calls: Semaphore,
    connections: connections::Connections,
}

impl Shared {
    fn new(mcp: Mcp) -> Self {
        let Mcp { service, access, clock, meter, settings } = mcp;
        let calls = Semaphore::new(settings.calls_max.clamp(1, Semaphore::MAX_PERMITS));
        let connections = connections::Connections::default();
        Self { service, access, clock, meter, settings, calls, connections }
    }
}

#[cfg(test)]
mod tests;
