//! The watchdog: a sign of life to systemd only when every loop of the daemon has gone round.
//!
//! It asks each loop a question (a new number) and waits until all have answered it: the loop that
//! accepts connections, the one that takes signals, the one that does the upkeep, and the writer
//! and a reader of the store. A loop answers where it would do its next piece of work, so one that
//! is stuck in a piece answers nothing, and nothing is told to systemd, which then ends the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use super::notify::Notifier;
use crate::mcp::WatchdogReport;
use crate::ports::{Clock, Store};

/// Questions within the time that systemd allows.
const QUESTIONS: u32 = 4;

/// One loop as the watchdog sees it.
#[derive(Debug)]
pub(super) struct Pulse {
    name: &'static str,
    question: watch::Receiver<u64>,
    answer: AtomicU64,
}

impl Pulse {
    /// Waits for the next question and answers it. Only its loop may wait here, and only where it
    /// would do its next piece of work.
    pub(super) async fn answer(&self) {
        let answered = self.answer.load(Ordering::Relaxed);
        let mut question = self.question.clone();
        let asked = question.wait_for(|question| *question > answered).await.map(|asked| *asked);
        match asked {
            Ok(question) => self.answer.store(question, Ordering::Relaxed),
            // Nobody asks any more.
            Err(_) => std::future::pending().await,
        }
    }

    fn has_answered(&self, question: u64) -> bool {
        self.answer.load(Ordering::Relaxed) >= question
    }
}

/// Asks the loops.
#[derive(Debug)]
pub(super) struct Watchdog {
    limit: Option<Duration>,
    question: watch::Sender<u64>,
    pulses: Mutex<Vec<Arc<Pulse>>>,
    seen: Mutex<(Option<Timestamp>, Vec<&'static str>)>,
}

impl Watchdog {
    /// A watchdog for a process that systemd ends after `limit` without a sign of life; `None`:
    /// nobody waits for one, and nobody is asked.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self {
            limit,
            question: watch::Sender::new(0),
            pulses: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// A loop that is asked from now on.
    pub(super) fn pulse(&self, name: &'static str) -> Arc<Pulse> {
        let question = self.question.subscribe();
        // A question that was asked before is not for this loop.
        let answer = AtomicU64::new(*question.borrow());
        let pulse = Arc::new(Pulse { name, question, answer });
        lock(&self.pulses).push(Arc::clone(&pulse));
        pulse
    }

    /// For `status`.
    pub(super) fn report(&self) -> Option<WatchdogReport> {
        let limit = self.limit?;
        let (last_at, stuck) = lock(&self.seen).clone();
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        Some(WatchdogReport { limit_ms, last_at, stuck })
    }

    /// Asks and tells systemd, for ever; returns at once where no systemd waits.
    pub(super) async fn run(&self, store: &dyn Store, notifier: &Notifier, clock: &dyn Clock) {
        let Some(limit) = self.limit else { return };
        let pause = limit / QUESTIONS;
        loop {
            self.question.send_modify(|question| *question += 1);
            let question = *self.question.borrow();
            let mut probing = std::pin::pin!(probe(store));
            let mut has_probed = false;
            loop {
                let nap = tokio::time::sleep(pause);
                let look = async {
                    if !has_probed {
                        has_probed = tokio::time::timeout(pause, &mut probing).await.is_ok();
                    }
                };
                tokio::join!(nap, look);
                let mut stuck = self.silent(question);
                stuck.extend((!has_probed).then_some("store"));
                lock(&self.seen).1.clone_from(&stuck);
                if stuck.is_empty() {
                    break;
                }
                tracing::warn!(stuck = stuck.join(", "), "no sign of life");
            }
            notifier.alive();
            lock(&self.seen).0 = Some(clock.now());
        }
    }

    /// The loops that have not answered.
    fn silent(&self, question: u64) -> Vec<&'static str> {
        let pulses = lock(&self.pulses);
        pulses.iter().filter(|pulse| !pulse.has_answered(question)).map(|p| p.name).collect()
    }
}

/// A small read, and a turn of the writer that writes nothing. A refusal is an answer too.
async fn probe(store: &dyn Store) {
    let read = store.report().await.map(|report| report.sequence);
    let written = store.note_usage(Vec::new()).await;
    tracing::trace!(read = read.is_ok(), written = written.is_ok(), "store answers");
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
