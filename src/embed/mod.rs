//! Adapters to embedding models, behind [`Embedder`](crate::ports::Embedder).
//!
//! A model is a [`Model`]: a blocking function on one thread. The [`Queue`] puts it behind the port:
//! threads of its own, queries before documents, bounded lanes, chunks, prefixes, checks of what
//! comes out and a cache of queries. So a model brings only its data: an identity, a way to load it,
//! and a function from texts to vectors. What is known of each model stands in [`catalogue`].

mod lanes;
mod queue;
mod worker;

pub mod catalogue;

pub mod bundled;
pub mod seeded;

mod endpoint;

mod elf;
pub mod files;
mod onnx;
pub mod runtime;
mod scripts;

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::chunk::CHUNKS_VERSION;
use crate::ports::Clock;

pub use endpoint::EndpointSettings;
pub use queue::{Plan, Queue};
use runtime::Places;
pub use worker::{Loaded, Model, ModelError};

/// Which model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one inside the binary.
    Bundled,
    /// Vectors from hashes, for tests and benches of scale.
    Seeded,
    /// One that was installed, by name.
    Installed(String),
    /// One behind an endpoint.
    Endpoint(Box<EndpointSettings>),
}

/// What a model may use.
pub struct Surroundings {
    /// Where models are installed.
    pub models_dir: PathBuf,
    /// Where ONNX Runtime may be.
    pub places: Places,
    /// Threads for it, at least 1.
    pub n_threads: usize,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl Surroundings {
    /// For a model that is not installed: no files, no library.
    pub fn bare(n_threads: usize, clock: Arc<dyn Clock>) -> Self {
        Self { models_dir: PathBuf::new(), places: Places::default(), n_threads, clock }
    }
}

/// Starts a model. It loads on its own threads; calls made meanwhile wait in the queue, and what
/// keeps it from loading is in its report.
pub fn start(choice: Choice, surroundings: Surroundings) -> Queue {
    let Surroundings { models_dir, places, n_threads, clock } = surroundings;
    match choice {
        Choice::Bundled => Queue::start(bundled::identity(), n_threads, bundled::load),
        Choice::Seeded => Queue::start(seeded::identity(0), n_threads, || Ok(seeded::model(0))),
        Choice::Installed(name) => onnx::start(name, models_dir, places, n_threads),
        Choice::Endpoint(settings) => endpoint::start(*settings, n_threads, clock),
    }
}

/// Version of what we embed: the content alone, cut by [`crate::domain::chunk::chunks`].
fn text_template() -> String {
    format!("content, chunks {CHUNKS_VERSION}")
}

#[cfg(test)]
mod tests;
