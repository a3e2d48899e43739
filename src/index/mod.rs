//! The derived indexes: vectors and words, rebuilt from the store whenever they must be.
//!
//! [`EmbeddedIndex`] is both the searcher ([`Candidates`]) and the pupil
//! ([`crate::ports::CommitListener`]) of one store. What it holds beside the text index on disk is
//! RAM, filled by [`EmbeddedIndex::load`] from a snapshot while commits go on arriving
//! (`commits.rs`); `load.rs` says how the two are kept apart, `parity.rs` proves afterwards that
//! they were.

mod catalog;
pub mod clusters;
mod commits;
mod load;
mod parity;
pub mod text;
pub mod vectors;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{Notify, watch};

use self::commits::Shared;
use self::text::{Found, TextIndex, TextSettings};
use self::vectors::search::Candidate;
use self::vectors::{Nearest, VectorIndex};
use crate::domain::embedding::{SpaceId, Vector, dot};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::limits::{RESCORED_MIN, VECTORS_WAIT_MAX};
use crate::domain::search::{TextCandidates, TextQuery, VectorCandidates, VectorHit};
use crate::ports::{
    ArmReport, Candidates, Clock, IndexError, IndexReport, ParityReport, Rebuilds, Snapshot, Store,
};

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    /// Rows from which a namespace gets a graph; `usize::MAX`: never.
    pub graph_from: usize,
    /// How often the text index commits what is new.
    pub text_commit: Duration,
    /// RAM of the text index writer, bytes.
    pub text_buffer_bytes: usize,
}

/// The embedded indexes.
pub struct EmbeddedIndex {
    shared: Arc<Shared>,
    progress: watch::Sender<Progress>,
    /// Loads share it, a check has it alone.
    pass: tokio::sync::RwLock<()>,
    /// Both loads need the catalog; the first of them fills it.
    catalog_load: tokio::sync::Mutex<()>,
    /// Where the truth is, once it was loaded from there. Weak: the store owns its listener.
    store: Mutex<Option<Weak<dyn Store>>>,
    rebuilds: Mutex<Rebuilds>,
    /// Told when a search finds that the text index is lost.
    text_lost: Notify,
    clock: Arc<dyn Clock>,
}

/// How far loading is.
#[derive(Clone, Debug, Default, PartialEq)]
struct Progress {
    catalog: bool,
    text: TextProgress,
    vectors: VectorProgress,
    failed: Option<IndexError>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TextProgress {
    /// Its files are being opened: short, so searches wait for it.
    #[default]
    Opening,
    /// Something short: searches wait for it, too.
    Waited(TextPass),
    /// Something long: searches find what is there and are told that this is not all.
    Partial(TextPass),
    /// It knows all.
    Ready,
}

impl TextProgress {
    fn is_ready(self) -> bool {
        self == Self::Ready
    }

    /// Whether it can be searched, be it in part.
    fn is_searched(self) -> bool {
        matches!(self, Self::Partial(_) | Self::Ready)
    }

    /// What is under way.
    fn pass(self) -> Option<TextPass> {
        match self {
            Self::Waited(pass) | Self::Partial(pass) => Some(pass),
            Self::Opening | Self::Ready => None,
        }
    }
}

/// Putting memories into the text index again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextPass {
    /// What is counted.
    what: &'static str,
    n_done: u64,
    n_total: u64,
}

impl fmt::Display for TextPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, n_done, n_total } = self;
        write!(f, "the index is being rebuilt from the store: {n_done} of {n_total} {what}")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum VectorProgress {
    /// Rows are being read.
    #[default]
    Loading,
    /// All rows of this space are here.
    Ready(SpaceId),
}

impl Default for IndexSettings {
    /// `graph_from` by `cargo bench --bench vectors` (CPU time of one search in a namespace of
    /// 384-dimensional rows, recall@10 1.000 everywhere; 400 candidates is what ranking takes):
    ///
    /// | rows | candidates | scan | graph | graph, filter keeps 50 % | graph, 5 % |
    /// | --- | --- | --- | --- | --- | --- |
    /// | 10,000 | 30 | 0.18 ms | 1.1 ms | 1.8 ms | 11 ms |
    /// | 10,000 | 400 | 0.21 ms | 3.1 ms | 4.6 ms | 23 ms |
    /// | 30,000 | 30 | 0.53 ms | 1.3 ms | 1.5 ms | 13 ms |
    /// | 30,000 | 400 | 0.58 ms | 2.4 ms | 5.8 ms | 40 ms |
    /// | 50,000 | 30 | 1.0 ms | 1.4 ms | 2.1 ms | 13 ms |
    /// | 50,000 | 400 | 1.2 ms | 3.2 ms | 4.4 ms | 44 ms |
    ///
    /// Up to 50,000 rows the scan wins throughout. It grows by 0.02 ms a thousand rows, which
    /// puts the crossover (by proportion, not measured) at 75,000 rows for 30 candidates and at
    /// 150,000 for 400.
    fn default() -> Self {
        Self {
            graph_from: 150_000,
            text_commit: Duration::from_secs(1),
            text_buffer_bytes: 15_000_000,
        }
    }
}

impl EmbeddedIndex {
    /// Begins to open the text index in `dir` and starts empty; [`Self::load`] must follow. Commits
    /// may arrive from here on. Never fails and does not wait for the disk.
    pub fn open(dir: &Path, settings: IndexSettings, clock: Arc<dyn Clock>) -> Arc<Self> {
        let text_settings = TextSettings {
            commit_every: settings.text_commit,
            buffer_bytes: settings.text_buffer_bytes,
        };
        let text = TextIndex::open(dir, text_settings);
        let shared = Shared::new(VectorIndex::new(settings.graph_from, Arc::clone(&clock)), text);
        Arc::new(Self {
            shared: Arc::new(shared),
            progress: watch::Sender::default(),
            pass: tokio::sync::RwLock::default(),
            catalog_load: tokio::sync::Mutex::default(),
            store: Mutex::default(),
            rebuilds: Mutex::default(),
            text_lost: Notify::new(),
            clock,
        })
    }

    /// Commits the text index and ends the threads of both arms. Blocks for as long as that takes.
    pub fn close(&self) {
        self.shared.vectors.close();
        self.shared.text.close();
    }

    /// Whether the text index was whole and has failed since; [`Candidates::check`] makes it anew.
    pub fn has_lost_text(&self) -> bool {
        self.progress.borrow().text.is_ready() && self.shared.text.needs_rebuild()
    }

    /// Waits until a search finds that the text index is lost.
    pub async fn text_lost(&self) {
        self.text_lost.notified().await;
    }

    /// Waits until `is_ready`, or gives the error that loading ended with.
    async fn ready(&self, is_ready: impl Fn(&Progress) -> bool) -> Result<Progress, IndexError> {
        let mut progress = self.progress.subscribe();
        let reached = progress
            .wait_for(|progress| progress.failed.is_some() || is_ready(progress))
            .await
            .map_err(|_| IndexError::NotReady("search"))?
            .clone();
        match reached.failed.clone() {
            Some(error) if !is_ready(&reached) => Err(error),
            _ => Ok(reached),
        }
    }

    async fn search_text(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        query: TextQuery,
        filter: &Filter,
        k: usize,
    ) -> Result<TextCandidates, IndexError> {
        let progress =
            self.ready(|progress| progress.catalog && progress.text.is_searched()).await?;
        let mut found = self.find_text(query.clone(), filter.clone(), k).await?;
        if !found.is_certain() {
            let ids = found.candidates.hits.iter().map(|hit| hit.id).collect();
            let memories = snapshot.memories(ids).await?;
            let compared = blocking("text", move || found.compared_with(&memories)).await?;
            found = if let Some(found) = compared {
                found
            } else {
                // Either a file is damaged, or a commit was faster than the comparison.
                self.on_thread("text", |shared| shared.text.prove()).await?;
                self.find_text(query, filter.clone(), k).await?
            };
        }
        if !found.is_certain() {
            return Err(IndexError::NotReady("text"));
        }
        // What is there is not all there is: a "nothing" must not look certain.
        let incomplete = progress.text.pass().map(|pass| pass.to_string());
        Ok(TextCandidates { incomplete, ..found.candidates })
    }

    async fn find_text(
        &self,
        query: TextQuery,
        filter: Filter,
        k: usize,
    ) -> Result<Found, IndexError> {
        let found = self.on_thread("text", move |shared| {
            let known = shared.read();
            if known.catalog.is_hopeless(&filter) {
                return Ok(Found::nothing());
            }
            let compiled = known.catalog.compile(&filter);
            shared.text.search(&known.catalog, &query, &compiled, &filter.namespaces, k)
        });
        let found = found.await?;
        if found.is_err() {
            self.text_lost.notify_one();
        }
        found
    }

    async fn search_vectors(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        space: SpaceId,
        vector: Vector,
        filter: Filter,
        k: usize,
        also: Vec<MemoryId>,
    ) -> Result<VectorCandidates, IndexError> {
        let loaded = self.ready(|progress| progress.vectors != VectorProgress::Loading);
        let progress = tokio::time::timeout(VECTORS_WAIT_MAX, loaded)
            .await
            .map_err(|_| IndexError::NotReady("vector"))??;
        if progress.vectors != VectorProgress::Ready(space) {
            return Err(IndexError::NotReady("vector"));
        }
        let shared = Arc::clone(&self.shared);
        let question = Arc::clone(&vector);
        let nearest = blocking("vector", move || {
            let known = shared.read();
            let compiled = known.catalog.compile(&filter);
            shared.vectors.search(&known.catalog, &compiled, &question, k.max(RESCORED_MIN), &also)
        })
        .await?;
        self.rescored(snapshot, space, &vector, nearest, k).await
    }

    /// Scores the best candidates again with the vectors of the store, and keeps `k`.
    async fn rescored(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        space: SpaceId,
        vector: &[f32],
        nearest: Nearest,
        k: usize,
    ) -> Result<VectorCandidates, IndexError> {
        let ids = nearest.best.iter().map(|candidate| candidate.id).collect();
        let stored = snapshot.vectors(space, ids).await?;
        let mut scored: Vec<(Candidate, f64)> = nearest
            .best
            .into_iter()
            .zip(&stored)
            .map(|(candidate, chunks)| rescore(candidate, chunks, vector))
            .collect();
        scored.sort_by(|(a, cosine_a), (b, cosine_b)| {
            cosine_b.total_cmp(cosine_a).then(a.id.cmp(&b.id))
        });
        scored.truncate(k);
        let found: HashSet<MemoryId> = scored.iter().map(|(candidate, _)| candidate.id).collect();
        let also = nearest.also.into_iter().filter(|candidate| !found.contains(&candidate.id));
        scored.extend(also.map(|candidate| (candidate, f64::from(candidate.cosine))));

        let known = self.shared.read();
        let hits = scored
            .into_iter()
            .filter_map(|(candidate, cosine)| {
                let entry = known.catalog.get(candidate.id)?;
                let attributes = known.catalog.attributes(entry)?;
                let Candidate { id, chunk, n_chunks, .. } = candidate;
                Some(VectorHit { id, cosine: cosine.clamp(-1.0, 1.0), chunk, n_chunks, attributes })
            })
            .collect();
        drop(known);
        let (mean, deviation) = (nearest.moments.mean(), nearest.moments.deviation());
        Ok(VectorCandidates { hits, mean, deviation, n_pending: nearest.n_pending })
    }
}

/// The cosine of the best of the stored chunks. A memory whose vectors are not in the snapshot
/// (they came later) keeps its int8 cosine.
fn rescore(candidate: Candidate, chunks: &[Vector], vector: &[f32]) -> (Candidate, f64) {
    let cosines = chunks.iter().map(|chunk| dot(chunk, vector));
    let best = (0_u32..).zip(cosines).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    match best {
        Some((chunk, cosine)) => (Candidate { chunk, ..candidate }, f64::from(cosine)),
        None => (candidate, f64::from(candidate.cosine)),
    }
}

/// Runs a search on a thread that may block.
async fn blocking<T: Send + 'static>(
    arm: &'static str,
    search: impl FnOnce() -> T + Send + 'static,
) -> Result<T, IndexError> {
    tokio::task::spawn_blocking(search)
        .await
        .map_err(|error| IndexError::Failed { arm, reason: error.to_string() })
}

impl Candidates for EmbeddedIndex {
    fn by_text<'a>(
        &'a self,
        snapshot: &'a Arc<dyn Snapshot>,
        query: TextQuery,
        filter: &'a Filter,
        k: usize,
    ) -> BoxFuture<'a, Result<TextCandidates, IndexError>> {
        Box::pin(self.search_text(snapshot, query, filter, k))
    }

    fn by_vector<'a>(
        &'a self,
        snapshot: &'a Arc<dyn Snapshot>,
        space: SpaceId,
        vector: Vector,
        filter: &'a Filter,
        k: usize,
        also: Vec<MemoryId>,
    ) -> BoxFuture<'a, Result<VectorCandidates, IndexError>> {
        Box::pin(self.search_vectors(snapshot, space, vector, filter.clone(), k, also))
    }

    fn report(&self) -> IndexReport {
        let progress = self.progress.borrow().clone();
        let explain = |mut report: ArmReport, is_ready: bool| {
            if let Some(error) = progress.failed.as_ref().filter(|_| !is_ready) {
                report.detail = error.to_string();
            }
            report.ready &= is_ready;
            report
        };
        let vectors_ready = matches!(progress.vectors, VectorProgress::Ready(_));
        let text_ready = progress.catalog && progress.text.is_ready();
        let mut text = explain(self.shared.text.report(), text_ready);
        if let Some(pass) = progress.text.pass().filter(|_| progress.failed.is_none()) {
            text.detail = pass.to_string();
        }
        let rebuilds = self.rebuilds.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let vectors = &self.shared.vectors;
        IndexReport {
            vectors: explain(vectors.report(vectors_ready), vectors_ready),
            text,
            n_graphs: vectors.n_graphs(),
            n_pending_vectors: vectors.n_pending(),
            text_rebuilds: rebuilds,
        }
    }

    fn check<'a>(
        &'a self,
        snapshot: &'a Arc<dyn Snapshot>,
    ) -> BoxFuture<'a, Result<ParityReport, IndexError>> {
        Box::pin(self.compare_and_repair(snapshot))
    }
}
