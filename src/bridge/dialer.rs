//! When the bridge tries the socket again, and when it starts what should be behind it.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use super::BridgeSettings;
use super::start::{self, StartError, Started};
use crate::domain::limits::{DIAL_WAIT_MAX, DIAL_WAIT_MIN, START_RETRY};

type Starting = Pin<Box<dyn Future<Output = Result<Started, StartError>> + Send>>;

/// See the module.
pub(super) struct Dialer {
    /// What the bridge was told.
    pub(super) settings: BridgeSettings,
    /// The time of the next attempt.
    pub(super) next_at: Instant,
    wait: Duration,
    /// Until the daemon was reached, or a start tried, for the first time.
    pub(super) is_first: bool,
    starting: Option<Starting>,
    starts_again_at: Instant,
    last_failure: String,
    last_start_failure: Option<String>,
}

impl Dialer {
    /// Tries at once.
    pub(super) fn new(settings: BridgeSettings, now: Instant) -> Self {
        Self {
            settings,
            next_at: now,
            wait: DIAL_WAIT_MIN,
            is_first: true,
            starting: None,
            starts_again_at: now,
            last_failure: String::new(),
            last_start_failure: None,
        }
    }

    /// An attempt failed; where that means that there is no daemon, `may_start` lets one be started.
    pub(super) fn failed(&mut self, error: &io::Error, may_start: bool, now: Instant) {
        self.last_failure = error.to_string();
        self.again(now);
        let Some(start) = &self.settings.start else { return };
        let is_due = self.starting.is_none() && self.starts_again_at <= now;
        if may_start && is_due && start::is_absent(error) {
            tracing::info!("starting the daemon");
            self.is_first = false;
            self.starts_again_at = now + START_RETRY;
            self.starting =
                Some(Box::pin(start::start(start.clone(), self.settings.socket.clone())));
        }
    }

    /// A connection ended; see [`Session::disconnected`](super::session::Session::disconnected).
    pub(super) fn lost(&mut self, why: &str, was_useful: bool, now: Instant) {
        why.clone_into(&mut self.last_failure);
        if was_useful {
            self.wait = DIAL_WAIT_MIN;
            self.is_first = false;
            self.last_start_failure = None;
        }
        self.again(now);
    }

    /// What became of [`Self::starting`].
    pub(super) fn started(&mut self, result: Result<Started, StartError>, now: Instant) {
        self.starting = None;
        match result {
            Ok(Started::Now) => {
                self.last_start_failure = None;
                self.wait = DIAL_WAIT_MIN;
                self.next_at = now;
            }
            Ok(Started::ByAnother) => tracing::debug!("another bridge is starting the daemon"),
            Err(error) => {
                tracing::warn!(%error, "could not start the daemon");
                self.last_start_failure = Some(error.to_string());
            }
        }
    }

    /// The attempt to start the daemon, if one is under way.
    pub(super) async fn starting(&mut self) -> Result<Started, StartError> {
        match &mut self.starting {
            Some(starting) => starting.await,
            None => std::future::pending().await,
        }
    }

    fn again(&mut self, now: Instant) {
        self.next_at = now + self.wait;
        self.wait = (self.wait * 2).min(DIAL_WAIT_MAX);
    }

    /// Why the daemon cannot be reached, and what the person can do.
    pub(super) fn why(&self) -> String {
        let started = match &self.last_start_failure {
            Some(failure) => format!(" Starting it failed: {failure}."),
            None => String::new(),
        };
        format!(
            "The memory daemon cannot be reached at {} ({}).{started} Start it with \
             `systemctl --user start recalld`, or `recalld serve`, then try again.",
            self.settings.socket.display(),
            self.last_failure
        )
    }
}
