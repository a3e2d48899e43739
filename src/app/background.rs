//! The daemon's own upkeep: loading the indexes and proving them, late vectors, usage notes,
//! erasure, the log's end.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::engine::{Engine, USAGE_FLUSH_EVERY};
use super::watchdog::Pulse;
use crate::config::Config;
use crate::ports::{ParityReport, Store as _, StoreError};
use crate::service::ServiceError;

/// Time between two looks for memories without vectors when nobody reports one.
const BACKLOG_EVERY: Duration = Duration::from_mins(1);
/// Wait after the model or the store refused a batch.
const BACKLOG_RETRY: Duration = Duration::from_secs(5);
/// Time between two looks for what must be erased or trimmed.
const UPKEEP_EVERY: Duration = Duration::from_mins(1);
/// Time between two comparisons of the indexes with the store.
const PARITY_EVERY: Duration = Duration::from_hours(24);
/// Time between two looks whether an index was lost meanwhile.
const PARITY_LOOK_EVERY: Duration = Duration::from_mins(1);

/// Starts every background task; all of them end when `stop` is cancelled.
pub(super) fn start(
    engine: &Arc<Engine>,
    config: watch::Receiver<Arc<Config>>,
    pulse: Arc<Pulse>,
    stop: &CancellationToken,
    tasks: &TaskTracker,
) {
    let (loading, token) = (Arc::clone(engine), stop.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = token.cancelled() => {}
            () = derive(&loading) => {}
        }
    });
    let (upkeep, token) = (Arc::clone(engine), stop.clone());
    tasks.spawn(async move {
        let mut flushes = tokio::time::interval(USAGE_FLUSH_EVERY);
        let mut upkeeps = tokio::time::interval(UPKEEP_EVERY);
        for interval in [&mut flushes, &mut upkeeps] {
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval.reset();
        }
        loop {
            tokio::select! {
                biased;
                () = token.cancelled() => break,
                () = pulse.answer() => {}
                _ = upkeeps.tick() => {
                    let log_keep = config.borrow().store.log_keep;
                    keep_up(&upkeep, log_keep).await;
                }
                // On a full disk the notes wait in their buffer.
                _ = flushes.tick(), if upkeep.store().trouble().is_none() => {
                    if let Err(error) = upkeep.service.flush_usage().await {
                        tracing::warn!(%error, "usage notes lost");
                    }
                }
            }
        }
    });
}

/// Everything that follows from the store: the indexes, and vectors that come late.
async fn derive(engine: &Engine) {
    match engine.load().await {
        Ok(_) => tracing::info!("indexes loaded"),
        // What is wrong is shown by `status`; the store goes on taking memories.
        Err(error) => tracing::error!(error = format!("{error:#}"), "indexes not loaded"),
    }
    tokio::join!(embed_late(engine), prove_indexes(engine));
}

/// Compares the indexes with the store: after loading, then daily, and soon after the text index
/// was lost, which the comparison makes anew.
async fn prove_indexes(engine: &Engine) {
    loop {
        match engine.compare_indexes().await {
            Ok(report) => tell(&report),
            Err(error) => tracing::warn!(error = format!("{error:#}"), "indexes not compared"),
        }
        let mut waited = Duration::ZERO;
        loop {
            tokio::time::sleep(PARITY_LOOK_EVERY).await;
            waited += PARITY_LOOK_EVERY;
            if waited >= PARITY_EVERY || engine.has_lost_text() {
                break;
            }
        }
    }
}

fn tell(report: &ParityReport) {
    let ParityReport { n_compared, n_missing, n_surplus, n_different } = *report;
    if n_missing + n_surplus + n_different == 0 {
        tracing::debug!(n_items = n_compared, "indexes agree with the store");
    } else {
        tracing::warn!(n_items = n_compared, n_missing, n_surplus, n_different, "indexes repaired");
    }
}

async fn embed_late(engine: &Engine) {
    let mut failed = HashSet::new();
    loop {
        if engine.store().trouble().is_some() {
            // On a full disk there is no room for vectors.
            tokio::time::sleep(BACKLOG_RETRY).await;
            continue;
        }
        let pause = match engine.service.embed_backlog(&mut failed).await {
            Ok(round) if round.has_more => continue,
            Ok(round) => {
                if round.n_embedded > 0 {
                    tracing::debug!(
                        n_items = round.n_embedded,
                        n_failed = round.n_failed,
                        "embedded late"
                    );
                }
                BACKLOG_EVERY
            }
            Err(error) => {
                tracing::warn!(%error, "memories wait for their vectors");
                BACKLOG_RETRY
            }
        };
        // Either it is time, or a memory was just stored without vectors; both lead to a look.
        let grew = tokio::time::timeout(pause, engine.service.backlog_grew()).await;
        tracing::trace!(grew = grew.is_ok(), "look for memories without vectors");
    }
}

async fn keep_up(engine: &Engine, log_keep: Duration) {
    engine.store().look_for_room().await;
    match engine.service.erase_due().await {
        Ok(0) => {}
        Ok(n_items) => tracing::info!(n_items, "forgotten content erased"),
        // `status` says so already.
        Err(ServiceError::Store(StoreError::NoRoom(_))) => return,
        Err(error) => tracing::warn!(%error, "forgotten content not erased yet"),
    }
    let keep = SignedDuration::try_from(log_keep).unwrap_or(SignedDuration::MAX);
    let Ok(before) = engine.clock.now().checked_sub(keep) else { return };
    match engine.store().trim_log(engine.index_watermark(), before).await {
        Ok(0) => {}
        Ok(n_items) => tracing::info!(n_items, "change log trimmed"),
        Err(error) => tracing::warn!(%error, "change log not trimmed"),
    }
}
