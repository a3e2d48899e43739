//! Adapters to embedding models, behind [`Embedder`](crate::ports::Embedder).
//!
//! A model that computes in this process is a [`Model`]: a blocking function on one thread. The
//! [`Queue`] puts it behind the port: threads of its own, queries before documents, bounded lanes,
//! chunks, prefixes, checks of what comes out and a cache of queries. So a model brings only its
//! data: an identity, a way to load it, and a function from texts to vectors.

mod lanes;
mod queue;
mod worker;

pub mod bundled;
pub mod seeded;

use crate::domain::chunk::CHUNKS_VERSION;
use crate::ports::EmbedError;

pub use queue::Queue;
pub use worker::Model;

/// Starts the model that configuration calls `name`: `bundled`, or `seeded` for tests and benches of
/// scale. It loads on its own `n_threads` threads; calls made meanwhile wait in the queue.
///
/// # Errors
/// [`EmbedError::Unavailable`] for a name that is not known.
pub fn start(name: &str, n_threads: usize) -> Result<Queue, EmbedError> {
    match name {
        "bundled" => Ok(Queue::start(bundled::identity(), n_threads, bundled::load)),
        "seeded" => Ok(Queue::start(seeded::identity(0), n_threads, || Ok(seeded::model(0)))),
        _ => Err(EmbedError::Unavailable(format!(
            "no embedding model is called `{name}` (known: bundled, seeded)"
        ))),
    }
}

/// Version of what we embed: the content alone, cut by [`crate::domain::chunk::chunks`].
fn text_template() -> String {
    format!("content, chunks {CHUNKS_VERSION}")
}

#[cfg(test)]
mod tests;
