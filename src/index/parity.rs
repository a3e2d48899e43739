//! Proves that the indexes hold what the store holds, and repairs what differs.
//!
//! A first pass over the caller's snapshot collects suspects, among them whatever was committed
//! since. The second looks at those alone, in a fresh snapshot and with the rule of `load.rs`, so
//! that it neither counts nor undoes what commits do meanwhile.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use super::commits::Shared;
use super::load::next_page;
use super::vectors::Agreement;
use super::{EmbeddedIndex, TextProgress, VectorProgress};
use crate::domain::embedding::{Embedded, SpaceId, Vector};
use crate::domain::id::MemoryId;
use crate::domain::limits::SCAN_PAGE;
use crate::domain::memory::Memory;
use crate::ports::{IndexError, ParityReport, Snapshot, Store};

/// A memory with the vectors the store has for it.
struct Stored {
    id: MemoryId,
    memory: Option<Memory>,
    embedded: Option<Embedded>,
}

/// What the indexes have of a memory that they should not, or lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Differences {
    catalog: Difference,
    text: Difference,
    vectors: Difference,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Difference {
    #[default]
    None,
    Missing,
    Surplus,
    Different,
}

impl EmbeddedIndex {
    /// See [`crate::ports::Candidates::check`]. Arms that are not loaded are left out.
    pub(super) async fn compare_and_repair(
        &self,
        snapshot: &Arc<dyn Snapshot>,
    ) -> Result<ParityReport, IndexError> {
        let _alone = self.pass.write().await;
        let progress = self.progress.borrow().clone();
        if !progress.catalog {
            return Err(IndexError::NotReady("text"));
        }
        // What is wrong with the files is seen when the index is asked whether it was lost.
        drop(self.on_thread("text", |shared| shared.text.verify()).await?);
        self.recover_lost_text(progress.text).await?;
        let space = match progress.vectors {
            VectorProgress::Ready(space) => Some(space),
            VectorProgress::Loading => None,
        };
        let mut report = ParityReport::default();
        let suspects = self.suspects(snapshot.as_ref(), space, &mut report).await?;
        if !suspects.is_empty() {
            let repaired = self.repair(snapshot, space, suspects, &mut report).await;
            self.shared.write().touched = None;
            self.shared.vectors.end_pass();
            repaired?;
        }
        Ok(report)
    }

    /// Makes the text index anew if reading it has failed, or filling it.
    async fn recover_lost_text(&self, progress: TextProgress) -> Result<(), IndexError> {
        if progress.is_ready() && !self.shared.text.needs_rebuild() {
            return Ok(());
        }
        let store = self.store().ok_or(IndexError::NotReady("text"))?;
        self.recover_text(store.as_ref()).await
    }

    /// The store that was loaded from, while it is there.
    fn store(&self) -> Option<Arc<dyn Store>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
    }

    /// Ids whose records, words or rows do not agree with the snapshot.
    async fn suspects(
        &self,
        snapshot: &dyn Snapshot,
        space: Option<SpaceId>,
        report: &mut ParityReport,
    ) -> Result<Vec<MemoryId>, IndexError> {
        // Ids known here before the scan: what is added later is not surplus.
        let (known, text) = self
            .on_thread("text", |shared| {
                let mut known: HashSet<MemoryId> = shared.read().catalog.ids().collect();
                known.extend(shared.vectors.ids());
                shared.text.ids().map(|text| (known, text))
            })
            .await??;
        let text = Arc::new(text);
        let mut surplus: HashSet<MemoryId> = known.union(&text).copied().collect();
        let mut suspects = Vec::new();
        let mut after = None;
        while let Some(page) = next_page(snapshot, &mut after).await? {
            report.n_compared += page.len() as u64;
            for memory in &page {
                surplus.remove(&memory.id);
            }
            let ids = page.iter().map(|memory| memory.id).collect();
            let page = page.into_iter().map(Some).collect();
            let page = with_vectors(snapshot, space, ids, page).await?;
            let text = Arc::clone(&text);
            let differing = self
                .on_thread("catalog", move |shared| {
                    let differs = |stored: &&Stored| {
                        shared.differences(stored, text.contains(&stored.id), space)
                            != Differences::default()
                    };
                    page.iter().filter(differs).map(|stored| stored.id).collect::<Vec<_>>()
                })
                .await?;
            suspects.extend(differing);
        }
        suspects.extend(surplus);
        Ok(suspects)
    }

    /// Looks at the suspects again and corrects those that do differ.
    async fn repair(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        space: Option<SpaceId>,
        suspects: Vec<MemoryId>,
        report: &mut ParityReport,
    ) -> Result<(), IndexError> {
        self.shared.write().touched = Some(HashSet::new());
        self.shared.vectors.begin_pass();
        let snapshot = match self.store() {
            Some(store) => store.snapshot().await?,
            None => Arc::clone(snapshot),
        };
        let sequence = snapshot.sequence();
        for ids in suspects.chunks(SCAN_PAGE) {
            let memories = snapshot.memories(ids.to_vec()).await?;
            let page = with_vectors(snapshot.as_ref(), space, ids.to_vec(), memories).await?;
            let found = self
                .on_thread("text", move |shared| {
                    let text = shared.text.ids()?;
                    Ok::<_, IndexError>(
                        page.iter()
                            .map(|stored| {
                                let in_text = text.contains(&stored.id);
                                shared.repair(stored, in_text, space, sequence)
                            })
                            .collect::<Vec<_>>(),
                    )
                })
                .await??;
            for differences in found {
                for difference in [differences.catalog, differences.text, differences.vectors] {
                    match difference {
                        Difference::None => {}
                        Difference::Missing => report.n_missing += 1,
                        Difference::Surplus => report.n_surplus += 1,
                        Difference::Different => report.n_different += 1,
                    }
                }
            }
        }
        Ok(())
    }
}

impl Shared {
    fn differences(&self, stored: &Stored, in_text: bool, space: Option<SpaceId>) -> Differences {
        let known = self.read();
        let presence = |is_stored, is_known| match (is_stored, is_known) {
            (true, false) => Difference::Missing,
            (false, true) => Difference::Surplus,
            (true, true) | (false, false) => Difference::None,
        };
        let entry = known.catalog.get(stored.id);
        let catalog = match (&stored.memory, entry) {
            (Some(memory), Some(_)) if !known.catalog.agrees_with(memory) => Difference::Different,
            (memory, entry) => presence(memory.is_some(), entry.is_some()),
        };
        let vectors = match entry.filter(|_| space.is_some()) {
            Some(entry) => match self.vectors.compare(entry, stored.embedded.as_ref()) {
                Agreement::Same => Difference::None,
                Agreement::Missing => Difference::Missing,
                Agreement::Surplus => Difference::Surplus,
                Agreement::Different => Difference::Different,
            },
            None => presence(stored.embedded.is_some() && space.is_some(), false),
        };
        drop(known);
        Differences { catalog, text: presence(stored.memory.is_some(), in_text), vectors }
    }

    /// Corrects one memory in all three, unless a commit has touched it; gives what was wrong.
    fn repair(
        &self,
        stored: &Stored,
        in_text: bool,
        space: Option<SpaceId>,
        sequence: u64,
    ) -> Differences {
        // The listener takes this lock first, too: nothing is committed here meanwhile.
        let _no_commits = self.following();
        if self.read().touched.as_ref().is_some_and(|touched| touched.contains(&stored.id)) {
            return Differences::default();
        }
        let mut found = self.differences(stored, in_text, space);
        match (found.text, &stored.memory) {
            (Difference::Missing, Some(memory)) => self.text.put(memory, sequence),
            (Difference::Surplus, _) => self.text.remove(stored.id, sequence),
            _ => {}
        }
        let mut known = self.write();
        if let Some(memory) = &stored.memory {
            if found.catalog != Difference::None {
                known.catalog.put(memory);
            }
            let place = known.catalog.find(stored.id);
            if let Some((slot, entry)) = place.filter(|_| found.vectors != Difference::None)
                && !self.vectors.repair(slot, entry, stored.embedded.as_ref())
            {
                found.vectors = Difference::None;
            }
        } else if let Some((slot, entry)) = known.catalog.remove(stored.id) {
            self.vectors.remove(slot, &entry);
        }
        drop(known);
        found
    }
}

/// Adds the vectors of `space` to records.
async fn with_vectors(
    snapshot: &dyn Snapshot,
    space: Option<SpaceId>,
    ids: Vec<MemoryId>,
    memories: Vec<Option<Memory>>,
) -> Result<Vec<Stored>, IndexError> {
    let vectors: Vec<Vec<Vector>> = match space {
        Some(space) => snapshot.vectors(space, ids.clone()).await?,
        None => Vec::new(),
    };
    let embedded = vectors
        .into_iter()
        .map(|chunks| space.filter(|_| !chunks.is_empty()).map(|space| Embedded { space, chunks }));
    let embedded = embedded.chain(std::iter::repeat(None));
    Ok(ids
        .into_iter()
        .zip(memories)
        .zip(embedded)
        .map(|((id, memory), embedded)| Stored { id, memory, embedded })
        .collect())
}
