//! The process as the server and systemd see it: reload, report, sign of life, `status.json`.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::reload::Reloader;
use super::socket::SocketHealth;
use super::watchdog::{Pulse, Watchdog};
use crate::jobs::Scheduler;
use crate::mcp::{Control, ProcessReport, Reloaded, Server, SocketLook};
use crate::ports::{Clock, JobReport, LogReport, Maintenance as _};
use crate::service::Service;
use crate::service::status::{PartState, PartStatus, StatusReport};
use crate::telemetry::Log;

/// File in the data directory that holds the last status dump.
const STATUS_FILE: &str = "status.json";

/// The process around the server.
pub(super) struct Process {
    pub(super) reloader: Reloader,
    watchdog: Arc<Watchdog>,
    pub(super) log: Arc<Log>,
    pub(super) scheduler: Scheduler,
    socket: SocketHealth,
    /// Of the loop that accepts connections.
    accepting: Arc<Pulse>,
}

impl Process {
    /// A process that serves a socket that was just bound.
    pub(super) fn new(
        reloader: Reloader,
        watchdog: &Arc<Watchdog>,
        log: Arc<Log>,
        scheduler: Scheduler,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let accepting = watchdog.pulse("connections");
        let (watchdog, socket) = (Arc::clone(watchdog), SocketHealth::new(clock));
        Self { reloader, watchdog, log, scheduler, socket, accepting }
    }
}

impl Control for Process {
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, Vec<String>>> {
        self.reloader.reload().boxed()
    }

    fn report(&self) -> ProcessReport {
        let log = self.log.report();
        ProcessReport {
            parts: vec![
                self.socket.part(),
                self.scheduler.part(),
                self.reloader.part(),
                log_part(&log),
            ],
            notes: self.socket.note().into_iter().collect(),
            config: self.reloader.report(),
            log,
            watchdog: self.watchdog.report(),
        }
    }

    fn note_socket(&self, look: SocketLook) {
        self.socket.note_look(look);
    }

    fn asked_for_life(&self) -> BoxFuture<'_, ()> {
        self.accepting.answer().boxed()
    }
}

impl Process {
    /// The state in one line.
    pub(super) async fn line(&self, service: &Service) -> String {
        let mut report = service.status().await;
        let process = self.report();
        report.parts.extend(process.parts);
        let last_error = process.log.last_error.map(|(_, event)| event);
        line(&report, self.next_job().as_deref(), last_error.as_deref())
    }
}

impl Process {
    /// `decay 2026-12-01 03:30`, of the job that is due first.
    fn next_job(&self) -> Option<String> {
        let jobs = self.scheduler.jobs();
        let first = |job: &JobReport| Some((job.upcoming.first()?.clone(), job.state.job));
        let (at, job) = jobs.iter().filter_map(first).min()?;
        Some(format!("{job} {}", at.strftime("%Y-%m-%d %H:%M")))
    }
}

/// The part `log`: unwell while a file is asked for and not written.
fn log_part(log: &LogReport) -> PartStatus {
    let trouble = log.trouble.clone();
    let state =
        trouble.map_or(PartState::Ok, |(since, because)| PartState::Degraded { since, because });
    PartStatus { name: "log", state }
}

/// `5,012 memories; all parts ok; next: decay 2026-12-01 03:30; last error: none`.
fn line(report: &StatusReport, next_job: Option<&str>, last_error: Option<&str>) -> String {
    let memories = match &report.store {
        Some(store) => format!("{} memories", grouped(store.n_memories)),
        None => "memories unknown".to_owned(),
    };
    let unwell: Vec<String> = report
        .parts
        .iter()
        .filter_map(|part| Some(format!("{}: {}", part.name, part.state.trouble()?.1)))
        .collect();
    let parts = if unwell.is_empty() { "all parts ok".to_owned() } else { unwell.join(", ") };
    let (next_job, last_error) = (next_job.unwrap_or("none"), last_error.unwrap_or("none"));
    format!("{memories}; {parts}; next: {next_job}; last error: {last_error}")
}

/// A number with a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Writes what `memory_status` tells the owner to `status.json`, all of it or nothing.
///
/// # Errors
/// If the data directory cannot be written.
pub(super) async fn dump(server: &Server, state_dir: &Path) -> anyhow::Result<()> {
    let status = server.status().await;
    let dir = state_dir.to_owned();
    tokio::task::spawn_blocking(move || -> anyhow::Result<()> {
        // Made with mode 0600 beside the place it takes, so that no reader sees half of it.
        let mut file = tempfile::Builder::new()
            .prefix(".status-")
            .tempfile_in(&dir)
            .with_context(|| format!("make a file in {}", dir.display()))?;
        writeln!(file, "{status:#}").context("write the status")?;
        let path = dir.join(STATUS_FILE);
        file.persist(&path).with_context(|| format!("write {}", path.display()))?;
        Ok(())
    })
    .await
    .context("write the status")?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, expected) in
            [(0, "0"), (12, "12"), (999, "999"), (5_012, "5,012"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), expected);
        }
    }
}
