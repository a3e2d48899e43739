//! What systemd is told (`sd_notify(3)`); without systemd every word goes nowhere.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sd_notify::NotifyState;

/// Longest status line, characters: `systemctl status` shows it whole.
const STATUS_CHARS_MAX: usize = 200;
/// Time between two requests for more time.
const EXTEND_EVERY: Duration = Duration::from_secs(5);
/// More time asked for at once.
const EXTEND_BY: Duration = Duration::from_secs(30);
/// Requests for more time during one piece of work: an hour, which repairs some 100 GB.
const EXTENSIONS_MAX: usize = 720;

/// The line to the service manager.
#[derive(Debug)]
pub(super) struct Notifier {
    is_heard: bool,
    status: Mutex<String>,
}

impl Notifier {
    /// The line that the environment names, if it names one.
    pub(super) fn from_env() -> Self {
        let is_heard = std::env::var_os("NOTIFY_SOCKET").is_some();
        Self { is_heard, status: Mutex::default() }
    }

    /// Whether anybody listens.
    pub(super) const fn is_heard(&self) -> bool {
        self.is_heard
    }

    /// The daemon can be used.
    pub(super) fn ready(&self) {
        self.tell(&[NotifyState::Ready]);
    }

    /// A reload begins; [`Notifier::ready`] ends it, whatever came of it.
    pub(super) fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => self.tell(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(%error, "service manager not told of the reload"),
        }
    }

    /// The daemon stops.
    pub(super) fn stopping(&self) {
        self.tell(&[NotifyState::Stopping]);
        self.status("stopping");
    }

    /// Every loop has gone round.
    pub(super) fn alive(&self) {
        self.tell(&[NotifyState::Watchdog]);
    }

    /// How it is, in one line; told only when it has changed.
    pub(super) fn status(&self, line: &str) {
        let line: String = line
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(STATUS_CHARS_MAX)
            .collect();
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        if *status != line {
            self.tell(&[NotifyState::Status(&line)]);
            *status = line;
        }
    }

    /// Does `work`, asking for more time as long as it goes on.
    pub(super) async fn extending<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        let by = NotifyState::ExtendTimeoutUsec(
            u32::try_from(EXTEND_BY.as_micros()).unwrap_or(u32::MAX),
        );
        for _ in 0..EXTENSIONS_MAX {
            self.tell(std::slice::from_ref(&by));
            if let Ok(done) = tokio::time::timeout(EXTEND_EVERY, &mut work).await {
                return done;
            }
        }
        work.await
    }

    fn tell(&self, states: &[NotifyState<'_>]) {
        if self.is_heard
            && let Err(error) = sd_notify::notify(states)
        {
            tracing::warn!(%error, "service manager not told");
        }
    }
}
