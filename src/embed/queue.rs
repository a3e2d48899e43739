//! A model as an [`Embedder`]: the threads that own it and the cache of queries, behind the lanes.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use futures::future::BoxFuture;
use lru::LruCache;

use super::lanes::{Lane, Shared, lock};
use super::worker::{self, Model};
use crate::domain::embedding::{ModelIdentity, Vector};
use crate::domain::limits::{EMBED_THREADS_MAX, QUERY_CACHE_MAX};
use crate::ports::{EmbedError, Embedder, EmbedderReport};

/// A model behind a queue. Dropping it closes it.
pub struct Queue {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    cache: Mutex<LruCache<String, Vector>>,
}

impl Queue {
    /// Starts `n_threads` threads (1..=[`EMBED_THREADS_MAX`]), each of which loads the model with
    /// `load` and serves the queue. Returns at once; calls wait while it loads.
    pub fn start(
        identity: ModelIdentity,
        n_threads: usize,
        load: impl Fn() -> Result<Box<dyn Model>, String> + Send + Sync + 'static,
    ) -> Self {
        let n_threads = n_threads.clamp(1, EMBED_THREADS_MAX);
        let shared = Arc::new(Shared::new(identity, n_threads));
        let load = Arc::new(load);
        let mut threads = Vec::new();
        for number in 0..n_threads {
            let (load, of_thread) = (Arc::clone(&load), Arc::clone(&shared));
            let spawned = std::thread::Builder::new()
                .name(format!("embed-{number}"))
                .spawn(move || worker::run(&of_thread, load.as_ref()));
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => shared.loaded(Err(format!("start a thread for it: {error}"))),
            }
        }
        let capacity = NonZeroUsize::new(QUERY_CACHE_MAX).unwrap_or(NonZeroUsize::MIN);
        Self { shared, threads: Mutex::new(threads), cache: Mutex::new(LruCache::new(capacity)) }
    }

    /// Refuses new calls, fails those that wait and ends the threads; returns when they have ended,
    /// which is after the loading or the call in progress. Closing twice is harmless.
    pub fn close(&self) {
        self.shared.close();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            if thread.join().is_err() {
                tracing::error!("a thread of the embedding model had panicked");
            }
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.close();
    }
}

impl Embedder for Queue {
    fn identity(&self) -> Option<ModelIdentity> {
        Some(self.shared.identity.clone())
    }

    fn embed_documents(
        &self,
        texts: Vec<Arc<str>>,
    ) -> BoxFuture<'_, Result<Vec<Vec<Vector>>, EmbedError>> {
        Box::pin(self.shared.ask(Lane::Documents, texts))
    }

    fn embed_backlog(
        &self,
        texts: Vec<Arc<str>>,
    ) -> BoxFuture<'_, Result<Vec<Vec<Vector>>, EmbedError>> {
        Box::pin(self.shared.ask(Lane::Backlog, texts))
    }

    fn embed_query(&self, text: Arc<str>) -> BoxFuture<'_, Result<Vector, EmbedError>> {
        // The model gets the form that the cache knows, so that a hit equals a miss; case and width
        // stay, since a model may tell them apart.
        let query = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Box::pin(async move {
            if let Some(vector) = lock(&self.cache).get(&query) {
                return Ok(Arc::clone(vector));
            }
            let answer = self.shared.ask(Lane::Queries, vec![query.as_str().into()]).await?;
            let vector = answer
                .into_iter()
                .flatten()
                .next()
                .ok_or_else(|| EmbedError::Failed("it gave no vector".to_owned()))?;
            lock(&self.cache).put(query, Arc::clone(&vector));
            Ok(vector)
        })
    }

    fn report(&self) -> EmbedderReport {
        self.shared.report()
    }
}
