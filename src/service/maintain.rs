//! Upkeep that needs no schedule: vectors that come late, forgotten content whose grace is over.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Service, ServiceError};
use crate::domain::change::VectorsFor;
use crate::domain::embedding::{Embedded, SpaceId};
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
    /// Makes or finds the space of the model; until it is known, memories are stored without vectors.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn open_space(&self) -> Result<Option<SpaceId>, StoreError> {
        let Some(embedder) = &self.embedder else { return Ok(None) };
        let Some(identity) = embedder.identity() else { return Ok(None) };
        let space = self.store.space(identity, Vec::new(), self.clock.now()).await?;
        Ok(Some(*self.space.get_or_init(|| space)))
    }

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
        let (Some(embedder), Some(space)) = (&self.embedder, self.space.get().copied()) else {
            return Ok(BacklogRound::default());
        };
        let snapshot = self.store.snapshot().await?;
        let waiting = snapshot.without_vectors(space, EMBED_BATCH_MAX + failed.len()).await?;
        let ids: Vec<MemoryId> =
            waiting.into_iter().filter(|id| !failed.contains(id)).take(EMBED_BATCH_MAX).collect();
        let has_more = ids.len() == EMBED_BATCH_MAX;
        let mut ready = Vec::with_capacity(ids.len());
        for memory in snapshot.memories(ids).await?.into_iter().flatten() {
            match embed(embedder, space, &memory).await {
                Ok(vectors) => ready.push(vectors),
                Err(EmbedError::Failed(_)) => {
                    failed.insert(memory.id);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let n_embedded = if ready.is_empty() {
            0
        } else {
            self.store.attach_vectors(ready, self.clock.now()).await?
        };
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

async fn embed(
    embedder: &Arc<dyn Embedder>,
    space: SpaceId,
    memory: &Memory,
) -> Result<VectorsFor, EmbedError> {
    let chunks = embedder
        .embed_documents(vec![Arc::clone(&memory.content)])
        .await?
        .into_iter()
        .next()
        .filter(|chunks| !chunks.is_empty())
        .ok_or_else(|| EmbedError::Failed("the model gave no vector".to_owned()))?;
    Ok(VectorsFor { id: memory.id, version: memory.version, embedded: Embedded { space, chunks } })
}
