//! A model as an [`Embedder`]: the threads that own it and the cache of queries, behind the lanes.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use futures::future::BoxFuture;
use lru::LruCache;
use tokio_util::sync::CancellationToken;

use super::lanes::{Lane, Serves, Shared, lock};
use super::worker::{self, Load, Loaded, Model};
use crate::domain::embedding::{ModelIdentity, Vector};
use crate::domain::limits::{EMBED_THREADS_MAX, QUERY_CACHE_MAX};
use crate::ports::{EmbedError, Embedder, EmbedderReport};

/// A model behind a queue. Dropping it closes it.
pub struct Queue {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    cache: Mutex<LruCache<String, Vector>>,
}

/// How a queue runs its model.
pub struct Plan {
    /// What the model is called in messages.
    pub name: String,
    /// What its vectors can be compared with, if that is known before it is loaded.
    pub identity: Option<ModelIdentity>,
    /// Threads, 1..=[`EMBED_THREADS_MAX`]; each loads the model.
    pub n_threads: usize,
    /// How many of them take queries only; at least one takes everything.
    pub n_for_queries: usize,
}

impl Queue {
    /// Starts `n_threads` threads for a model whose identity is known, each of which loads it with
    /// `load`.
    pub fn start(
        identity: ModelIdentity,
        n_threads: usize,
        load: impl Fn() -> Result<Box<dyn Model>, String> + Send + Sync + 'static,
    ) -> Self {
        let plan = Plan {
            name: identity.name.clone(),
            identity: Some(identity.clone()),
            n_threads,
            n_for_queries: 0,
        };
        Self::run(plan, move |_| Ok(Loaded { identity: identity.clone(), model: load()? }))
    }

    /// Starts the threads of a plan, each of which loads the model with `load` and serves the queue;
    /// one that could not tries again. Returns at once; calls wait while it loads.
    pub fn run(
        plan: Plan,
        load: impl Fn(&CancellationToken) -> Result<Loaded, String> + Send + Sync + 'static,
    ) -> Self {
        let n_threads = plan.n_threads.clamp(1, EMBED_THREADS_MAX);
        let n_for_queries = plan.n_for_queries.min(n_threads - 1);
        let shared = Arc::new(Shared::new(plan.name, plan.identity, n_threads));
        let load: Arc<Load> = Arc::new(load);
        let mut threads = Vec::new();
        for number in 0..n_threads {
            let (load, of_thread) = (Arc::clone(&load), Arc::clone(&shared));
            let serves = if number < n_for_queries { Serves::Queries } else { Serves::All };
            let spawned = std::thread::Builder::new()
                .name(format!("embed-{number}"))
                .spawn(move || worker::run(&of_thread, serves, load.as_ref()));
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => shared.loaded(0, Err(format!("start a thread for it: {error}"))),
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
        self.shared.identity().cloned()
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
