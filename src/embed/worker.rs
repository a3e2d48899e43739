//! A thread that owns a model: loads it, takes its turns from the queue, and lets nothing the model
//! does (an error, a panic, a wrong vector) harm more than the call concerned.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio_util::sync::CancellationToken;

use super::lanes::{ChunksBegun, Lane, Serves, Shared, Task, Turn};
use crate::domain::chunk::chunks;
use crate::domain::embedding::{ModelIdentity, Vector};
use crate::domain::limits::{EMBED_BATCH_MAX, EMBED_RETRY_MAX, EMBED_RETRY_MIN};
use crate::ports::EmbedError;

/// A model that blocks the thread it computes on. It is loaded, used and dropped on that thread.
pub trait Model {
    /// Most texts of one call, 1..=[`EMBED_BATCH_MAX`]. A query waits for at most one call.
    fn batch_max(&self) -> usize;

    /// One vector a text, in order. The texts carry their prefix and may be blank.
    ///
    /// # Errors
    /// Why, in words that do not quote the texts.
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError>;
}

/// Why a model gave no vectors, in words that do not quote the texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// One of the texts; others may go well.
    #[error("{0}")]
    Text(String),
    /// The model itself: every text would fail now.
    #[error("{0}")]
    Down(String),
}

impl From<ModelError> for EmbedError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Text(reason) => Self::Failed(reason),
            ModelError::Down(reason) => Self::Unavailable(reason),
        }
    }
}

/// A model that was loaded, and what its vectors can be compared with.
pub struct Loaded {
    /// What it is.
    pub identity: ModelIdentity,
    /// It.
    pub model: Box<dyn Model>,
}

/// Loads a model, or says why not; gives up when the token is cancelled.
pub(super) type Load = dyn Fn(&CancellationToken) -> Result<Loaded, String> + Send + Sync;

/// Loads the model and serves the queue until it is closed. What cannot be loaded is tried again:
/// an endpoint comes up, a file is put in its place.
pub(super) fn run(shared: &Shared, serves: Serves, load: &Load) {
    let mut pause = EMBED_RETRY_MIN;
    for attempt in 0.. {
        // A panic's message may quote a text, so it goes nowhere from here.
        let loaded = catch_unwind(AssertUnwindSafe(|| load(&shared.closing)))
            .unwrap_or_else(|_| Err("it panicked while it was loaded".to_owned()));
        let identified = loaded.and_then(|loaded| {
            shared.identify(&loaded.identity).map(|identity| (identity, loaded.model))
        });
        match identified {
            Ok((identity, model)) => {
                shared.loaded(attempt, Ok(()));
                Worker { shared, identity, serves, model, begun: Vec::new() }.serve();
                return;
            }
            Err(reason) => shared.loaded(attempt, Err(reason)),
        }
        if !shared.pause(pause) {
            return;
        }
        pause = (pause * 2).min(EMBED_RETRY_MAX);
    }
}

struct Worker<'a> {
    shared: &'a Shared,
    identity: &'a ModelIdentity,
    serves: Serves,
    model: Box<dyn Model>,
    /// Those of the backlog are last.
    begun: Vec<Begun>,
}

/// A document of which some chunks are still to be embedded.
struct Begun {
    task: Task,
    chunks: Vec<Range<usize>>,
    vectors: Vec<Vector>,
}

impl Begun {
    fn rest(&self) -> &[Range<usize>] {
        self.chunks.get(self.vectors.len()..).unwrap_or(&[])
    }
}

impl Worker<'_> {
    fn serve(mut self) {
        let batch_max = self.model.batch_max().clamp(1, EMBED_BATCH_MAX);
        loop {
            self.begun.retain(|begun| !begun.task.is_over());
            match self.shared.next(self.serves, self.chunks_begun(), batch_max) {
                Turn::Queries(tasks) => self.embed_queries(&tasks),
                Turn::Documents(tasks) => {
                    let tokens_max = self.identity.tokens_max;
                    self.begun.extend(tasks.into_iter().map(|task| Begun {
                        chunks: chunks(&task.text, tokens_max),
                        vectors: Vec::new(),
                        task,
                    }));
                    self.begun.sort_by_key(|begun| begun.task.lane);
                    self.embed_documents(batch_max);
                }
                Turn::Stop => break,
            }
        }
        for begun in self.begun {
            begun.task.fail(EmbedError::Unavailable("it is stopped".to_owned()));
        }
    }

    fn chunks_begun(&self) -> ChunksBegun {
        let of = |is_backlog: bool| {
            let lane =
                self.begun.iter().filter(|one| (one.task.lane == Lane::Backlog) == is_backlog);
            lane.map(|begun| begun.rest().len()).sum()
        };
        ChunksBegun { documents: of(false), backlog: of(true) }
    }

    fn embed_queries(&mut self, tasks: &[Task]) {
        let prefix = &self.identity.query_prefix;
        let texts: Vec<String> =
            tasks.iter().map(|task| format!("{prefix}{}", task.text)).collect();
        for (task, outcome) in tasks.iter().zip(self.embed(&texts)) {
            match outcome {
                Ok(vector) => task.finish(vec![vector]),
                Err(error) => task.fail(error),
            }
        }
    }

    /// Embeds the next `batch_max` chunks of what was begun, in order.
    fn embed_documents(&mut self, batch_max: usize) {
        let prefix = &self.identity.document_prefix;
        let (owners, texts): (Vec<usize>, Vec<String>) = self
            .begun
            .iter()
            .enumerate()
            .flat_map(|(owner, begun)| begun.rest().iter().map(move |chunk| (owner, begun, chunk)))
            .take(batch_max)
            .map(|(owner, begun, chunk)| {
                (owner, format!("{prefix}{}", begun.task.text.get(chunk.clone()).unwrap_or("")))
            })
            .unzip();
        for (owner, outcome) in owners.into_iter().zip(self.embed(&texts)) {
            let Some(begun) = self.begun.get_mut(owner) else { continue };
            match outcome {
                Ok(vector) => begun.vectors.push(vector),
                Err(error) => begun.task.fail(error),
            }
        }
        self.begun.retain_mut(|begun| {
            let is_done = begun.rest().is_empty();
            if is_done {
                begun.task.finish(std::mem::take(&mut begun.vectors));
            }
            !is_done
        });
    }

    /// One outcome a text, in order. When a batch fails, its texts are tried one by one, so that one
    /// bad text does not fail the calls of others.
    fn embed(&mut self, texts: &[String]) -> Vec<Result<Vector, EmbedError>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let outcomes = match self.call(&texts) {
            Ok(vectors) => vectors.into_iter().map(Ok).collect(),
            Err(error) if texts.len() == 1 => vec![Err(error)],
            // Nothing is gained by asking a model that is down for each text.
            Err(error @ EmbedError::Unavailable(_)) => vec![Err(error); texts.len()],
            Err(_) => texts.iter().map(|text| self.call_one(text)).collect(),
        };
        self.shared.note(outcomes.iter().find_map(|outcome: &Result<_, _>| outcome.as_ref().err()));
        outcomes
    }

    fn call_one(&mut self, text: &str) -> Result<Vector, EmbedError> {
        let vectors = self.call(&[text])?;
        vectors.into_iter().next().ok_or_else(|| EmbedError::Failed("no vector".to_owned()))
    }

    /// Calls the model and checks what it gives.
    fn call(&mut self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let vectors = catch_unwind(AssertUnwindSafe(|| self.model.embed(texts)))
            .unwrap_or_else(|_| Err(ModelError::Text("it panicked".to_owned())))?;
        if vectors.len() != texts.len() {
            let found = format!("{} vectors for {} texts", vectors.len(), texts.len());
            return Err(EmbedError::Failed(found));
        }
        vectors.into_iter().map(|vector| self.checked(vector)).collect()
    }

    /// The vector at length 1, if it is one of this space.
    fn checked(&self, mut vector: Vec<f32>) -> Result<Vector, EmbedError> {
        let dimension = self.identity.dimension;
        if vector.len() != dimension {
            let found = format!("a vector of {} instead of {dimension} numbers", vector.len());
            return Err(EmbedError::Failed(found));
        }
        let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        if !length.is_finite() || length <= 0.0 {
            return Err(EmbedError::Failed("a vector without a direction".to_owned()));
        }
        for x in &mut vector {
            #[expect(clippy::cast_possible_truncation, reason = "vectors are stored as f32")]
            let unit = (f64::from(*x) / length) as f32;
            *x = unit;
        }
        Ok(vector.into())
    }
}
