//! The embedding space in use: which model it is of, whether it may serve searches yet, and how far
//! the pass is that fills it.
//!
//! A space that was never complete serves no search: a ranking of half the memories would look whole.
//! Once it is complete it stays so, and what is stored later and has no vector yet is counted in the
//! answers. Vectors of two spaces are never compared: there is one in use, everything is asked of it
//! by its number, and the others only wait for their end.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use super::Service;
use crate::domain::embedding::{
    ModelIdentity, PROBES, Script, Scripts, Space, SpaceId, SpaceNote, Vector,
};
use crate::domain::likeness::{Likeness, PAIRS, Pair, PairVectors};
use crate::domain::ranking::Reader;
use crate::ports::{EmbedError, Embedder, StoreError};

/// Why the space of the model could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenSpaceError {
    /// The model is not there; try later.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The space in use, once its model has shown what it is.
#[derive(Default)]
pub(super) struct Meaning {
    state: watch::Sender<State>,
}

#[derive(Default)]
struct State {
    open: Option<Arc<OpenSpace>>,
    /// Why it could not be opened, the last time.
    trouble: Option<String>,
}

impl Meaning {
    /// The space in use.
    pub(super) fn open(&self) -> Option<Arc<OpenSpace>> {
        self.state.borrow().open.clone()
    }

    /// The space in use; waits for it while the first attempt to open one is under way.
    pub(super) async fn opened(&self) -> Option<Arc<OpenSpace>> {
        let mut state = self.state.subscribe();
        let tried = state.wait_for(|state| state.open.is_some() || state.trouble.is_some());
        tried.await.ok()?.open.clone()
    }

    /// Why there is none.
    pub(super) fn trouble(&self) -> String {
        let trouble = self.state.borrow().trouble.clone();
        trouble.unwrap_or_else(|| EmbedError::Loading.to_string())
    }
}

/// A space whose model has shown what it is.
pub(super) struct OpenSpace {
    pub(super) id: SpaceId,
    pub(super) model: ModelIdentity,
    likeness: Likeness,
    created_at: Timestamp,
    is_complete: AtomicBool,
    is_alone: AtomicBool,
    /// When it was opened (monotonic), and how many memories waited then.
    opened: (Duration, u64),
}

impl OpenSpace {
    /// Whether it serves searches.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire)
    }

    /// What ranking must know of the model.
    pub(super) fn reader(&self) -> Reader {
        Reader { scripts: self.model.scripts, likeness: self.likeness }
    }
}

/// A pass over all memories with a new model.
#[derive(Clone, Debug, PartialEq)]
pub struct Reembedding {
    /// The new model.
    pub model: String,
    /// Memories it has read.
    pub n_done: u64,
    /// Memories it must read.
    pub n_total: u64,
    /// When it began, perhaps in an earlier run of the daemon.
    pub since: Timestamp,
    /// Time left at the pace of this run, once there is one.
    pub left: Option<Duration>,
}

impl fmt::Display for Reembedding {
    /// `re-embedding with e5: 1,200 of 5,000, since 2026-01-02T03:04:05Z, about 3 min left`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, n_done, n_total, since, left } = self;
        let (n_done, n_total) = (grouped(*n_done), grouped(*n_total));
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ");
        write!(f, "re-embedding with {model}: {n_done} of {n_total}, since {since}")?;
        match left.map(|left| left.as_secs()) {
            None => Ok(()),
            Some(seconds @ 0..90) => write!(f, ", about {seconds} s left"),
            Some(seconds) => write!(f, ", about {} min left", seconds.div_ceil(60)),
        }
    }
}

/// A number with commas between its thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

impl Service {
    /// Asks the model what it is and makes or finds its space; until that has succeeded, memories are
    /// stored without vectors. May be called again, best after the model was away: it may have become
    /// another one. `None`: meaning is switched off.
    ///
    /// # Errors
    /// Whatever the model or the store says; a space that was open stays so.
    pub async fn open_space(&self) -> Result<Option<SpaceId>, OpenSpaceError> {
        let Some(embedder) = &self.embedder else { return Ok(None) };
        match self.opened_space(embedder.as_ref()).await {
            Ok(open) => {
                let id = open.id;
                self.meaning.state.send_modify(|state| {
                    state.trouble = None;
                    if state.open.as_ref().is_none_or(|old| old.id != id) {
                        state.open = Some(open);
                    }
                });
                Ok(Some(id))
            }
            Err(error) => {
                let trouble = Some(error.to_string());
                self.meaning.state.send_modify(|state| state.trouble = trouble);
                Err(error)
            }
        }
    }

    async fn opened_space(
        &self,
        embedder: &dyn Embedder,
    ) -> Result<Arc<OpenSpace>, OpenSpaceError> {
        let mut probes = Vec::with_capacity(PROBES.len());
        for probe in PROBES {
            // One by one: some models give other digits in a batch.
            probes.push(document(embedder, probe).await?);
        }
        let unknown = || EmbedError::Unavailable("it does not say which model it is".to_owned());
        let model = embedder.identity().ok_or_else(unknown)?;
        let id = self.store.space(model, probes, self.clock.now()).await?;
        let gone = || StoreError::Damaged("the embedding space in use is gone".to_owned());
        let spaces = self.store.spaces().await?;
        let space = spaces.into_iter().find(|space| space.id == id).ok_or_else(gone)?;
        let likeness = match space.likeness {
            Some(likeness) => likeness,
            None => self.measured(embedder, id, space.model.scripts).await?,
        };
        Ok(Arc::new(self.open(space, likeness)))
    }

    fn open(&self, space: Space, likeness: Likeness) -> OpenSpace {
        OpenSpace {
            id: space.id,
            model: space.model,
            likeness,
            created_at: space.created_at,
            is_complete: AtomicBool::new(space.completed_at.is_some()),
            is_alone: AtomicBool::new(false),
            opened: (self.clock.monotonic(), space.n_pending),
        }
    }

    /// How near the model puts texts, noted for the next start. One that cannot tell answers from
    /// other texts is taken as it is.
    async fn measured(
        &self,
        embedder: &dyn Embedder,
        id: SpaceId,
        scripts: Scripts,
    ) -> Result<Likeness, OpenSpaceError> {
        let (english, chinese): (Vec<Pair>, Vec<Pair>) = PAIRS.into_iter().unzip();
        let english = pair_vectors(embedder, &english).await?;
        let chinese = if scripts.contains(Script::Han) {
            Some(pair_vectors(embedder, &chinese).await?)
        } else {
            None
        };
        let Some(likeness) = Likeness::of(&english, chinese.as_ref()) else {
            return Ok(Likeness::REFERENCE);
        };
        tracing::debug!(?likeness, "model measured");
        self.store.note_space(id, SpaceNote::Likeness(likeness)).await?;
        Ok(likeness)
    }

    /// Nothing waits for vectors any more but what the model refuses: the space serves searches from
    /// now on, and the others go.
    pub(super) async fn settle(&self, open: &OpenSpace) -> Result<(), StoreError> {
        if !open.is_complete() {
            self.store.note_space(open.id, SpaceNote::Completed(self.clock.now())).await?;
            open.is_complete.store(true, Ordering::Release);
            tracing::info!(model = open.model.name, "every memory has a vector of the new model");
        }
        if !open.is_alone.load(Ordering::Relaxed) {
            for space in self.store.spaces().await?.iter().filter(|space| space.id != open.id) {
                let n_items = self.store.drop_space(space.id).await?;
                tracing::info!(
                    model = space.model.name,
                    n_items,
                    "vectors of an old model removed"
                );
            }
            open.is_alone.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The pass that is under way.
    pub(super) fn reembedding(&self) -> Option<Reembedding> {
        let open = self.meaning.open().filter(|open| !open.is_complete())?;
        let index = self.candidates.report();
        let (opened_at, n_pending_then) = open.opened;
        // Before the index has read the rows of the space it knows of none.
        let (n_done, n_pending) = if index.vectors.ready {
            (index.vectors.n_memories, index.n_pending_vectors)
        } else {
            (0, n_pending_then)
        };
        let elapsed = self.clock.monotonic().saturating_sub(opened_at);
        let n_embedded = n_pending_then.saturating_sub(n_pending);
        let left = (n_embedded > 0 && index.vectors.ready)
            .then(|| elapsed.mul_f64(n_pending as f64 / n_embedded as f64));
        Some(Reembedding {
            model: open.model.name.clone(),
            n_done,
            n_total: n_done + n_pending,
            since: open.created_at,
            left,
        })
    }
}

async fn pair_vectors(embedder: &dyn Embedder, pairs: &[Pair]) -> Result<PairVectors, EmbedError> {
    let (mut questions, mut answers) = (Vec::new(), Vec::new());
    for (question, answer) in pairs {
        questions.push(embedder.embed_query((*question).into()).await?);
        answers.push(document(embedder, answer).await?);
    }
    Ok((questions, answers))
}

/// The vector of a short text.
async fn document(embedder: &dyn Embedder, text: &str) -> Result<Vector, EmbedError> {
    let vectors = embedder.embed_documents(vec![text.into()]).await?;
    let first = vectors.into_iter().flatten().next();
    first.ok_or_else(|| EmbedError::Failed("it gave no vector".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_reads_well() {
        let mut pass = Reembedding {
            model: "e5".to_owned(),
            n_done: 1_200,
            n_total: 1_234_567,
            since: "2026-01-02T03:04:05.678Z".parse().unwrap(),
            left: Some(Duration::from_secs(150)),
        };
        assert_eq!(
            pass.to_string(),
            "re-embedding with e5: 1,200 of 1,234,567, since 2026-01-02T03:04:05Z, about 3 min left"
        );
        pass.left = Some(Duration::from_secs(59));
        assert!(pass.to_string().ends_with(", about 59 s left"));
        pass.left = None;
        assert!(pass.to_string().ends_with("03:04:05Z"));
        assert_eq!([0, 999, 1000].map(grouped), ["0", "999", "1,000"]);
    }
}
