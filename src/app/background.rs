//! The daemon's own upkeep: loading the indexes and proving them, late vectors, usage notes,
//! erasure, the log's end.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::{Notify, watch};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::engine::{Engine, USAGE_FLUSH_EVERY};
use super::told;
use super::watchdog::Pulse;
use crate::config::Config;
use crate::domain::job::JobName;
use crate::domain::limits::{MODEL_RETRY_MAX, MODEL_RETRY_MIN};
use crate::ports::{Backup, EmbedError, ParityReport, Store as _, StoreError};
use crate::service::ServiceError;
use crate::service::maintain::BacklogError;

/// Time between two looks at the file of the store and at the parts.
const GUARD_EVERY: Duration = Duration::from_secs(1);
/// Time between two looks for memories without vectors when nobody reports one.
const BACKLOG_EVERY: Duration = Duration::from_mins(1);
/// Pause between two steps of comparing many memories.
const COMPARE_PAUSE: Duration = Duration::from_millis(500);
/// Wait after the model or the store refused a batch.
const BACKLOG_RETRY: Duration = Duration::from_secs(5);
/// Time between two looks for what must be erased or trimmed.
const UPKEEP_EVERY: Duration = Duration::from_mins(1);
/// Time between two comparisons of the indexes with the store.
const PARITY_EVERY: Duration = Duration::from_hours(24);
/// Time between two looks whether an index was lost meanwhile that no search has told of.
const PARITY_LOOK_EVERY: Duration = Duration::from_mins(1);
/// Pause before an index that could not be loaded is loaded again, and before one that is lost again
/// and again is made anew; doubled each time up to [`DERIVE_PAUSE_MAX`].
const DERIVE_PAUSE_MIN: Duration = Duration::from_secs(1);
/// See [`DERIVE_PAUSE_MIN`].
const DERIVE_PAUSE_MAX: Duration = Duration::from_mins(10);

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
            ((), ()) = async { tokio::join!(derive(&loading), loading.service.recall_models()) } => {}
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
                    let now = Arc::clone(&config.borrow());
                    keep_up(&upkeep, &now).await;
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
    let (guarded, token) = (Arc::clone(engine), stop.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = token.cancelled() => {}
            () = guard(&guarded) => {}
        }
    });
    let (comparing, token) = (Arc::clone(engine), stop.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = token.cancelled() => {}
            () = keep_comparing(&comparing) => {}
        }
    });
    let (backing_up, token) = (Arc::clone(engine), stop.clone());
    tasks.spawn(async move {
        loop {
            tokio::select! {
                () = token.cancelled() => break,
                () = look_for_backup(&backing_up) => {}
            }
        }
    });
}

/// Looks, often, at what may go wrong while nobody asks for anything: so it is known since when, and
/// a store whose file is gone is saved while there is still something to save.
async fn guard(engine: &Engine) {
    let mut is_saved = false;
    loop {
        let found = engine.store().look_for_file().await;
        engine.service.look_at_parts();
        let is_gone = matches!(found, Err(StoreError::Gone(_)));
        if is_gone && !is_saved {
            match engine.service.rescue().await {
                Ok(None) => {}
                Ok(Some(made)) => tell_backup(&made),
                Err(error) => tracing::error!(%error, "backup failed"),
            }
        }
        is_saved = is_gone;
        tokio::time::sleep(GUARD_EVERY).await;
    }
}

fn tell_backup(made: &Backup) {
    tracing::info!(
        path = %made.path.display(),
        n_items = made.n_memories,
        n_bytes = made.n_bytes,
        "backup made"
    );
}

/// Everything that follows from the store: the indexes, and vectors that come late. Words wait for no
/// model.
async fn derive(engine: &Engine) {
    let tried = Notify::new();
    let words = async {
        keep_loading_words(engine).await;
        // A comparison takes a while, which the vectors should not have to wait for.
        tried.notified().await;
        prove_indexes(engine).await;
    };
    tokio::join!(words, keep_meaning(engine, &tried));
}

/// Loads the text index, again and again if the store cannot be read.
async fn keep_loading_words(engine: &Engine) {
    let mut pause = DERIVE_PAUSE_MIN;
    while let Err(error) = engine.load_words().await {
        // What is wrong is shown by `status`; the store goes on taking memories.
        tracing::error!(%error, "text index not loaded");
        tokio::time::sleep(pause).await;
        pause = doubled(pause);
    }
    tracing::info!("text index loaded");
}

fn doubled(pause: Duration) -> Duration {
    (2 * pause).min(DERIVE_PAUSE_MAX)
}

/// Opens the space of the model and embeds what waits, and does so again whenever the model was away:
/// it may have come back as another one. `tried` is told after each attempt to open it.
async fn keep_meaning(engine: &Engine, tried: &Notify) {
    let mut told = None;
    let mut pause = MODEL_RETRY_MIN;
    loop {
        let opened = engine.load_meaning().await;
        tried.notify_one();
        match opened {
            Ok(None) => return,
            Ok(Some(_)) => {
                tracing::info!("vectors loaded");
                told = None;
                pause = MODEL_RETRY_MIN;
                embed_late(engine).await;
            }
            Err(error) => {
                let error = error.to_string();
                if told.as_ref() != Some(&error) {
                    tracing::warn!(error, "search is by words alone");
                    told = Some(error);
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MODEL_RETRY_MAX);
    }
}

/// Compares memories with others whose store could not wait for it.
async fn keep_comparing(engine: &Engine) {
    while let Err(error) = engine.service.resume_comparing().await {
        tracing::debug!(%error, "memories wait to be compared");
        tokio::time::sleep(BACKLOG_RETRY).await;
    }
    loop {
        // Either it is time, or there is something to compare; both lead to a look.
        let grew = tokio::time::timeout(BACKLOG_EVERY, engine.service.uncompared_grew()).await;
        tracing::trace!(grew = grew.is_ok(), "look for memories to compare");
        if engine.store().trouble().is_some() {
            continue;
        }
        let mut place = None;
        loop {
            match engine.service.compare_late(place).await {
                Ok((n_items, last)) => {
                    tracing::debug!(n_items, "memories linked late");
                    place = last;
                }
                Err(error) => {
                    tracing::debug!(%error, "memories wait to be compared");
                    place = None;
                }
            }
            if place.is_none() {
                break;
            }
            // Searches and stores come first.
            tokio::time::sleep(COMPARE_PAUSE).await;
        }
        if let Err(error) = engine.service.note_compared().await {
            // After a restart more is looked at once again.
            tracing::debug!(%error, "not noted what is compared");
        }
    }
}

/// Compares the indexes with the store: after loading, then daily, and soon after the text index
/// was lost, which the comparison makes anew.
async fn prove_indexes(engine: &Engine) {
    let mut pause = DERIVE_PAUSE_MIN;
    loop {
        match engine.compare_indexes().await {
            Ok(report) => tell(&report),
            Err(error) => tracing::warn!(error = told(&error), "indexes not compared"),
        }
        tokio::time::sleep(pause).await;
        let is_lost = tokio::time::timeout(PARITY_EVERY, text_lost(engine)).await.is_ok();
        pause = if is_lost { doubled(pause) } else { DERIVE_PAUSE_MIN };
    }
}

/// Waits until the text index is lost.
async fn text_lost(engine: &Engine) {
    while !engine.has_lost_text() {
        let told = tokio::time::timeout(PARITY_LOOK_EVERY, engine.text_lost()).await;
        tracing::trace!(told = told.is_ok(), "look whether the text index is lost");
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

/// Embeds what has no vectors, now and whenever that happens; returns when the model is away.
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
                if matches!(&error, BacklogError::Embed(error) if *error != EmbedError::Busy) {
                    return;
                }
                BACKLOG_RETRY
            }
        };
        // Either it is time, or a memory was just stored without vectors; both lead to a look.
        let grew = tokio::time::timeout(pause, engine.service.backlog_grew()).await;
        tracing::trace!(grew = grew.is_ok(), "look for memories without vectors");
    }
}

/// Waits a while, and makes the backup that is due then, if one is.
async fn look_for_backup(engine: &Engine) {
    tokio::time::sleep(UPKEEP_EVERY).await;
    if engine.store().trouble().is_some() {
        // On a full disk a backup would take the room that forgetting needs.
        return;
    }
    match engine.service.back_up_if_due().await {
        Ok(None) => {}
        Ok(Some(made)) => tell_backup(&made),
        Err(error) => tracing::error!(%error, "backup failed"),
    }
}

async fn keep_up(engine: &Engine, config: &Config) {
    engine.store().look_for_room().await;
    match engine.service.erase_due().await {
        Ok(0) => {}
        Ok(n_items) => tracing::info!(n_items, "forgotten content erased"),
        // `status` says so already.
        Err(ServiceError::Store(StoreError::NoRoom(_) | StoreError::Gone(_))) => return,
        Err(error) => tracing::warn!(%error, "forgotten content not erased yet"),
    }
    let extraction = config.jobs.jobs.iter().find(|job| job.name == JobName::Extract);
    if extraction.is_none_or(|job| !job.is_enabled) {
        // Else the job sees to it, after it has taken out what is worth remembering.
        match engine.service.drop_sessions_over().await {
            Ok(0) => {}
            Ok(n_items) => tracing::info!(n_items, "turns of old sessions erased"),
            Err(error) => tracing::warn!(%error, "turns of old sessions not erased yet"),
        }
    }
    let keep = SignedDuration::try_from(config.store.log_keep).unwrap_or(SignedDuration::MAX);
    let Ok(before) = engine.clock.now().checked_sub(keep) else { return };
    match engine.store().trim_log(engine.index_watermark(), before).await {
        Ok(0) => {}
        Ok(n_items) => tracing::info!(n_items, "change log trimmed"),
        Err(error) => tracing::warn!(%error, "change log not trimmed"),
    }
}
