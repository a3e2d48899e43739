//! The language models that configuration names.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::config::LlmEndpointConfig;
use crate::domain::change::ChangeSet;
use crate::domain::identity::Actor;
use crate::llm::{Llm, LlmSettings};
use crate::ports::{Clock, Marks, Store, StoreError};

/// Who keeps the marks.
const ACTOR: &str = "llm";

/// The way to a model; `None`: there is none for this task. It asks nothing before it is asked.
pub(super) fn open(
    config: &LlmEndpointConfig,
    marks: Arc<dyn Marks>,
    clock: Arc<dyn Clock>,
) -> Option<Arc<Llm>> {
    let settings = LlmSettings {
        url: config.url.clone()?,
        model: config.model.clone(),
        key_file: config.key_file.clone(),
        timeout: config.timeout,
        context_tokens: config.context_tokens,
        calls_per_day: config.calls_per_day,
        tokens_per_day: config.tokens_per_day,
        allow_private: config.allow_private.clone(),
        section: config.section,
    };
    Some(Arc::new(Llm::new(settings, marks, clock)))
}

/// The marks of a store, and nothing else of it: what speaks to the network reads no memories.
pub(super) struct StoreMarks {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Marks for StoreMarks {
    fn mark<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        async move { self.store.snapshot().await?.mark(name).await }.boxed()
    }

    fn keep_mark<'a>(
        &'a self,
        name: &'a str,
        value: Vec<u8>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let set = ChangeSet {
            run: None,
            new: Vec::new(),
            changes: Vec::new(),
            marks: vec![(name.to_owned(), value)],
            actor: Actor::Job(ACTOR),
            at: self.clock.now(),
        };
        async move { self.store.apply(set).await.map(drop) }.boxed()
    }
}
