//! Upkeep that needs no schedule: vectors that come late, forgotten content whose grace is over.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Service, ServiceError};
use crate::domain::change::VectorsFor;
use crate::domain::embedding::{Embedded, Vector};
use crate::domain::id::MemoryId;
use crate::domain::limits::EMBED_BATCH_MAX;
use crate::domain::memory::Memory;
use crate::ports::{EmbedError, Embedder, StoreError};

/// What a round over the backlog did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BacklogRound {
    /// Memories that got their vectors.
    pub n_embedded: u64,
    /// Memories whose text the model cannot embed; they are tried again after a restart.
    pub n_failed: usize,
    /// Whether more is waiting.
    pub has_more: bool,
}

impl Service {
    /// Waits until a memory was stored without vectors.
    pub async fn backlog_grew(&self) {
        self.backlog.notified().await;
    }

    /// Embeds up to one batch of memories that have no vectors yet; `failed` holds those that the
    /// model refused and is added to.
    ///
    /// # Errors
    /// The model's error if it is down or overloaded (try later), else the store's.
    pub async fn embed_backlog(
        &self,
        failed: &mut HashSet<MemoryId>,
    ) -> Result<BacklogRound, BacklogError> {
        let (Some(embedder), Some(open)) = (&self.embedder, self.meaning.open()) else {
            return Ok(BacklogRound::default());
        };
        let snapshot = self.store.snapshot().await?;
        let waiting = snapshot.without_vectors(open.id, EMBED_BATCH_MAX + failed.len()).await?;
        let ids: Vec<MemoryId> =
            waiting.into_iter().filter(|id| !failed.contains(id)).take(EMBED_BATCH_MAX).collect();
        let has_more = ids.len() == EMBED_BATCH_MAX;
        let memories: Vec<Memory> = snapshot.memories(ids).await?.into_iter().flatten().collect();
        let mut ready = Vec::with_capacity(memories.len());
        for (memory, chunks) in memories.iter().zip(embed(embedder.as_ref(), &memories).await?) {
            match chunks {
                Some(chunks) => ready.push(VectorsFor {
                    id: memory.id,
                    version: memory.version,
                    embedded: Embedded { space: open.id, chunks },
                }),
                None => {
                    failed.insert(memory.id);
                }
            }
        }
        let n_embedded = if ready.is_empty() {
            0
        } else {
            self.store.attach_vectors(ready, self.clock.now()).await?
        };
        if !has_more {
            self.settle(&open).await?;
        }
        if n_embedded > 0 {
            // Some may have waited for their vectors, or for those of all, to be compared with others.
            self.uncompared.wake();
        }
        Ok(BacklogRound { n_embedded, n_failed: failed.len(), has_more })
    }

    /// Erases the content of forgotten memories whose grace is over; returns how many.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn erase_due(&self) -> Result<u64, ServiceError> {
        Ok(self.store.erase_due(self.clock.now()).await?)
    }
}

/// Why a round over the backlog stopped.
#[derive(Debug, thiserror::Error)]
pub enum BacklogError {
    /// The model is down or overloaded.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The vectors of each text, `None` for one that the model refuses.
async fn embed(
    embedder: &dyn Embedder,
    memories: &[Memory],
) -> Result<Vec<Option<Vec<Vector>>>, EmbedError> {
    let texts = |memories: &[Memory]| memories.iter().map(|m| Arc::clone(&m.content)).collect();
    let kept = |chunks: Vec<Vector>| Some(chunks).filter(|chunks| !chunks.is_empty());
    match embedder.embed_backlog(texts(memories)).await {
        Ok(all) => Ok(all.into_iter().map(kept).collect()),
        // One of them is to blame.
        Err(EmbedError::Failed(_)) => {
            let mut all = Vec::with_capacity(memories.len());
            for memory in memories {
                all.push(match embedder.embed_backlog(texts(std::slice::from_ref(memory))).await {
                    Ok(vectors) => vectors.into_iter().next().and_then(kept),
                    Err(EmbedError::Failed(_)) => None,
                    Err(error) => return Err(error),
                });
            }
            Ok(all)
        }
        Err(error) => Err(error),
    }
}
