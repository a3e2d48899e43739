//! Fills the indexes from the store at start, while commits go on arriving.
//!
//! The rule everywhere: first note from now on what commits touch, then take the snapshot, then
//! add what it holds except what was touched. A commit that was delivered before the noting began
//! is in the snapshot; one delivered later is newer than the snapshot or equal to it.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use super::commits::{Following, Replay, Shared};
use super::{EmbeddedIndex, Progress, TextPass, TextProgress, VectorProgress, blocking};
use crate::domain::embedding::SpaceId;
use crate::domain::id::MemoryId;
use crate::domain::limits::{SCAN_PAGE, TEXT_PASS_WAITED_MAX};
use crate::domain::memory::Memory;
use crate::ports::{IndexError, Snapshot, Store};

impl EmbeddedIndex {
    /// [`Self::load_words`] and [`Self::load_vectors`] side by side; without a space, words alone.
    ///
    /// # Errors
    /// Those of either; a failure of one does not stop the other.
    pub async fn load(
        &self,
        store: Arc<dyn Store>,
        space: Option<SpaceId>,
    ) -> Result<(), IndexError> {
        let vectors = async {
            match space {
                Some(space) => self.load_vectors(Arc::clone(&store), space).await,
                None => Ok(()),
            }
        };
        let (words, vectors) =
            futures::future::join(self.load_words(Arc::clone(&store)), vectors).await;
        words.and(vectors)
    }

    /// Fills the catalog, then the text index (by replaying the log from where it was, or anew), which
    /// searches wait for; then has its checksums verified if that is still to be done, and fills it
    /// anew if one is wrong. May be called again after an error.
    ///
    /// # Errors
    /// [`IndexError::Store`] when the store cannot be read; searches then answer with it too.
    pub async fn load_words(&self, store: Arc<dyn Store>) -> Result<(), IndexError> {
        let _no_check = self.pass.read().await;
        *self.store.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::downgrade(&store));
        let loaded = async {
            self.load_catalog(store.as_ref()).await?;
            let is_ready = self.progress.borrow().text.is_ready();
            if !is_ready {
                self.recover_text(store.as_ref()).await?;
            }
            self.on_thread("text", |shared| shared.text.prove()).await?;
            if self.has_lost_text() { self.recover_text(store.as_ref()).await } else { Ok(()) }
        };
        self.noted(loaded).await
    }

    /// Fills the catalog, then the rows of `space`, in place of those of another one. May be called
    /// again, after an error or with another space, but not beside itself.
    ///
    /// # Errors
    /// As [`Self::load_words`].
    pub async fn load_vectors(
        &self,
        store: Arc<dyn Store>,
        space: SpaceId,
    ) -> Result<(), IndexError> {
        let _no_check = self.pass.read().await;
        let loaded = async {
            self.load_catalog(store.as_ref()).await?;
            let is_loaded = self.progress.borrow().vectors == VectorProgress::Ready(space);
            if is_loaded { Ok(()) } else { self.load_rows(store.as_ref(), space).await }
        };
        self.noted(loaded).await
    }

    /// Carries out a load; if it fails, searches that wait for it are told.
    async fn noted(
        &self,
        load: impl Future<Output = Result<(), IndexError>>,
    ) -> Result<(), IndexError> {
        self.report_progress(|progress| progress.failed = None);
        let loaded = load.await;
        if let Err(error) = &loaded {
            self.report_progress(|progress| progress.failed = Some(error.clone()));
        }
        loaded
    }

    pub(super) async fn load_catalog(&self, store: &dyn Store) -> Result<(), IndexError> {
        let _alone = self.catalog_load.lock().await;
        if self.progress.borrow().catalog {
            return Ok(());
        }
        let snapshot = store.snapshot().await?;
        let mut after = None;
        let mut page = next_page(snapshot.as_ref(), &mut after).await?;
        while let Some(memories) = page {
            let taken_in = self.on_thread("catalog", move |shared| {
                let mut known = shared.write();
                for memory in &memories {
                    known.load(&shared.vectors, memory);
                }
            });
            // Searches wait for this: the next page is read meanwhile.
            let next = next_page(snapshot.as_ref(), &mut after);
            let (taken_in, next) = futures::future::join(taken_in, next).await;
            taken_in?;
            page = next?;
        }
        self.shared.write().touched = None;
        self.report_progress(|progress| progress.catalog = true);
        tracing::debug!("catalog loaded");
        Ok(())
    }

    async fn load_rows(&self, store: &dyn Store, space: SpaceId) -> Result<(), IndexError> {
        self.report_progress(|progress| progress.vectors = VectorProgress::Loading);
        self.on_thread("vector", move |shared| {
            shared.vectors.begin(space, &shared.read().catalog);
        })
        .await?;
        let snapshot = store.snapshot().await?;
        let mut after = None;
        loop {
            let page = snapshot.scan_vectors(space, after, SCAN_PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            self.on_thread("vector", move |shared| {
                shared.vectors.load(&shared.read().catalog, &page);
            })
            .await?;
        }
        self.shared.vectors.end_pass();
        self.report_progress(|progress| progress.vectors = VectorProgress::Ready(space));
        tracing::debug!("vectors loaded");
        Ok(())
    }

    /// Brings the text index up to the store: by the log if it reaches back far enough, else by
    /// putting everything again.
    pub(super) async fn recover_text(&self, store: &dyn Store) -> Result<(), IndexError> {
        self.on_thread("text", Shared::open_text).await?;
        let snapshot = store.snapshot().await?;
        match self.rebuild_reason(snapshot.as_ref()) {
            Some(reason) => {
                drop(snapshot);
                self.rebuild_text(store, reason).await
            }
            None => self.replay_text(snapshot.as_ref()).await,
        }
    }

    /// Why the text index cannot be brought up to the store by the log, if it cannot.
    fn rebuild_reason(&self, snapshot: &dyn Snapshot) -> Option<String> {
        let text = &self.shared.text;
        let reason = text.rebuild_reason();
        let watermark = text.watermark();
        let unfit = if text.identity() != snapshot.identity() {
            Some("its files belong to another store")
        } else if watermark > snapshot.sequence() {
            Some("its files are newer than the store")
        } else if watermark + 1 < snapshot.log_start() {
            Some("the log does not reach back to its files")
        } else {
            None
        };
        reason.or_else(|| unfit.map(str::to_owned))
    }

    /// Puts again what the log says has changed since the watermark, as it is in the snapshot.
    async fn replay_text(&self, snapshot: &dyn Snapshot) -> Result<(), IndexError> {
        let watermark = self.shared.text.watermark();
        let n_total = snapshot.sequence().saturating_sub(watermark);
        let mut known_to = watermark;
        loop {
            let n_done = known_to - watermark;
            self.report_text(TextPass { what: "changes", n_done, n_total });
            let entries = snapshot.log(known_to, SCAN_PAGE).await?;
            let Some(last) = entries.last().map(|entry| entry.sequence) else { break };
            let mut seen = HashSet::new();
            let ids: Vec<MemoryId> =
                entries.iter().map(|entry| entry.id).filter(|id| seen.insert(*id)).collect();
            let memories = snapshot.memories(ids.clone()).await?;
            self.on_thread("text", move |shared| {
                shared.replay_page(&ids, &memories, last);
            })
            .await?;
            known_to = last;
        }
        *self.shared.following() = Following::Commits;
        self.report_progress(|progress| progress.text = TextProgress::Ready);
        Ok(())
    }

    /// Puts every memory again. The text index itself keeps what commits bring meanwhile apart
    /// from what the scan brings, by their sequence numbers.
    async fn rebuild_text(&self, store: &dyn Store, reason: String) -> Result<(), IndexError> {
        *self.shared.following() = Following::Commits;
        // What was stored before the wipe is found again when the scan has come to it.
        let snapshot = store.snapshot().await?;
        let identity = snapshot.identity();
        if snapshot.sequence() > 0 {
            self.note_rebuild(reason);
        }
        drop(snapshot);
        let n_total = self.shared.read().catalog.n_memories();
        let report = |n_done| self.report_text(TextPass { what: "memories", n_done, n_total });
        report(0);
        self.on_thread("text", move |shared| shared.text.start_rebuild(identity)).await?;
        let snapshot = store.snapshot().await?;
        let sequence = snapshot.sequence();
        let (mut after, mut n_done) = (None, 0);
        while let Some(page) = next_page(snapshot.as_ref(), &mut after).await? {
            n_done += page.len() as u64;
            self.on_thread("text", move |shared| {
                for memory in &page {
                    shared.text.put(memory, sequence);
                }
            })
            .await?;
            report(n_done);
        }
        self.on_thread("text", move |shared| shared.text.finish_rebuild(sequence)).await?;
        self.report_progress(|progress| progress.text = TextProgress::Ready);
        // On disk at once, so that a crash soon after does not mean all of this again.
        self.on_thread("text", |shared| shared.text.flush()).await
    }

    /// Says how far the text index is. A search waits for a short pass, so that it finds all there
    /// is; in a long one it finds what is there already, and is told so.
    pub(super) fn report_text(&self, pass: TextPass) {
        let is_short = pass.n_total <= TEXT_PASS_WAITED_MAX;
        let now = if is_short { TextProgress::Waited(pass) } else { TextProgress::Partial(pass) };
        self.report_progress(|progress| progress.text = now);
    }

    /// Remembers why the text index is built anew.
    fn note_rebuild(&self, reason: String) {
        tracing::info!(reason, "text index is built anew");
        let mut rebuilds = self.rebuilds.lock().unwrap_or_else(PoisonError::into_inner);
        rebuilds.n += 1;
        rebuilds.last = Some((self.clock.now(), reason));
    }

    /// Runs a step that locks or computes off the runtime's threads.
    pub(super) async fn on_thread<T: Send + 'static>(
        &self,
        arm: &'static str,
        step: impl FnOnce(&Shared) -> T + Send + 'static,
    ) -> Result<T, IndexError> {
        let shared = Arc::clone(&self.shared);
        blocking(arm, move || step(&shared)).await
    }

    fn report_progress(&self, change: impl FnOnce(&mut Progress)) {
        self.progress.send_modify(change);
    }
}

impl Shared {
    /// Applies a page of the log, as the snapshot has its memories, unless a commit came first.
    fn replay_page(&self, ids: &[MemoryId], memories: &[Option<Memory>], last: u64) {
        let mut following = self.following();
        let Following::Replay(Replay { known_to, touched }) = &mut *following else { return };
        for (id, memory) in ids.iter().zip(memories) {
            match memory {
                _ if touched.contains(id) => {}
                Some(memory) => self.text.put(memory, last),
                None => self.text.remove(*id, last),
            }
        }
        *known_to = last;
        drop(following);
    }
}

/// The next page of all memories.
pub(super) async fn next_page(
    snapshot: &dyn Snapshot,
    after: &mut Option<MemoryId>,
) -> Result<Option<Vec<Memory>>, IndexError> {
    let page = snapshot.scan(*after, SCAN_PAGE).await?;
    let Some(last) = page.last() else { return Ok(None) };
    *after = Some(last.id);
    Ok(Some(page))
}
