//! A store with a hook between the reading of a page and its use, where a test can commit or fail.

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::domain::change::{
    Applied, ChangeSet, Forget, Forgotten, LogEntry, Remember, Remembered, Revise, Revised,
    UsageNote, VectorsFor,
};
use crate::domain::embedding::{Embedded, ModelIdentity, Space, SpaceId, SpaceNote, Vector};
use crate::domain::id::{Handle, MemoryId};
use crate::domain::identity::Actor;
use crate::domain::memory::Memory;
use crate::domain::namespace::Namespace;
use crate::ports::{Listing, Snapshot, Store, StoreError, StoreReport, StoreTrouble};

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Called with the name of the read that was just done.
pub(super) type Hook = Arc<dyn Fn(&'static str) -> Answer<'static, ()> + Send + Sync>;

/// The store, or one of its snapshots.
pub(super) struct Interrupted<T> {
    pub(super) inner: T,
    pub(super) hook: Hook,
}

impl Interrupted<Arc<dyn Snapshot>> {
    fn then_hook<'a, T: Send + 'a>(
        &'a self,
        name: &'static str,
        read: Answer<'a, T>,
    ) -> Answer<'a, T> {
        Box::pin(async move {
            let page = read.await?;
            (self.hook)(name).await?;
            Ok(page)
        })
    }
}

impl Snapshot for Interrupted<Arc<dyn Snapshot>> {
    fn sequence(&self) -> u64 {
        self.inner.sequence()
    }

    fn memories(&self, ids: Vec<MemoryId>) -> Answer<'_, Vec<Option<Memory>>> {
        self.then_hook("memories", self.inner.memories(ids))
    }

    fn resolve(&self, handle: Handle) -> Answer<'_, Vec<MemoryId>> {
        self.inner.resolve(handle)
    }

    fn list(&self, listing: Listing) -> Answer<'_, Vec<Memory>> {
        self.inner.list(listing)
    }

    fn history(&self, id: MemoryId) -> Answer<'_, Vec<Memory>> {
        self.inner.history(id)
    }

    fn log_of(&self, id: MemoryId, limit: usize) -> Answer<'_, Vec<LogEntry>> {
        self.inner.log_of(id, limit)
    }

    fn products(&self, id: MemoryId) -> Answer<'_, Vec<MemoryId>> {
        self.inner.products(id)
    }

    fn weaker_than(
        &self,
        strength: f64,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Answer<'_, Vec<(f64, MemoryId)>> {
        self.inner.weaker_than(strength, after, limit)
    }

    fn mark(&self, name: &str) -> Answer<'_, Option<Vec<u8>>> {
        self.inner.mark(name)
    }

    fn namespaces(&self) -> Answer<'_, Vec<Namespace>> {
        self.inner.namespaces()
    }

    fn scan(&self, after: Option<MemoryId>, limit: usize) -> Answer<'_, Vec<Memory>> {
        self.then_hook("scan", self.inner.scan(after, limit))
    }

    fn scan_vectors(
        &self,
        space: SpaceId,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Answer<'_, Vec<(MemoryId, Embedded)>> {
        self.then_hook("scan_vectors", self.inner.scan_vectors(space, after, limit))
    }

    fn vectors(&self, space: SpaceId, ids: Vec<MemoryId>) -> Answer<'_, Vec<Vec<Vector>>> {
        self.then_hook("vectors", self.inner.vectors(space, ids))
    }

    fn without_vectors(&self, space: SpaceId, limit: usize) -> Answer<'_, Vec<MemoryId>> {
        self.inner.without_vectors(space, limit)
    }

    fn log(&self, after: u64, limit: usize) -> Answer<'_, Vec<LogEntry>> {
        self.then_hook("log", self.inner.log(after, limit))
    }

    fn log_start(&self) -> u64 {
        self.inner.log_start()
    }

    fn identity(&self) -> u64 {
        self.inner.identity()
    }
}

impl Store for Interrupted<Arc<dyn Store>> {
    fn snapshot(&self) -> Answer<'_, Arc<dyn Snapshot>> {
        Box::pin(async {
            let hook = Arc::clone(&self.hook);
            let snapshot = Interrupted { inner: self.inner.snapshot().await?, hook };
            Ok(Arc::new(snapshot) as Arc<dyn Snapshot>)
        })
    }

    fn remember(&self, request: Remember) -> Answer<'_, Vec<Remembered>> {
        self.inner.remember(request)
    }

    fn revise(&self, request: Revise) -> Answer<'_, Revised> {
        self.inner.revise(request)
    }

    fn apply(&self, set: ChangeSet) -> Answer<'_, Applied> {
        self.inner.apply(set)
    }

    fn forget(&self, request: Forget) -> Answer<'_, Forgotten> {
        self.inner.forget(request)
    }

    fn restore(&self, id: MemoryId, actor: Actor, now: Timestamp) -> Answer<'_, bool> {
        self.inner.restore(id, actor, now)
    }

    fn erase_due(&self, now: Timestamp) -> Answer<'_, u64> {
        self.inner.erase_due(now)
    }

    fn note_usage(&self, notes: Vec<UsageNote>) -> Answer<'_, ()> {
        self.inner.note_usage(notes)
    }

    fn note_strengths(&self, strengths: Vec<(MemoryId, f64)>) -> Answer<'_, ()> {
        self.inner.note_strengths(strengths)
    }

    fn attach_vectors(&self, vectors: Vec<VectorsFor>, now: Timestamp) -> Answer<'_, u64> {
        self.inner.attach_vectors(vectors, now)
    }

    fn space(
        &self,
        model: ModelIdentity,
        probes: Vec<Vector>,
        now: Timestamp,
    ) -> Answer<'_, SpaceId> {
        self.inner.space(model, probes, now)
    }

    fn spaces(&self) -> Answer<'_, Vec<Space>> {
        self.inner.spaces()
    }

    fn note_space(&self, id: SpaceId, note: SpaceNote) -> Answer<'_, ()> {
        self.inner.note_space(id, note)
    }

    fn drop_space(&self, id: SpaceId) -> Answer<'_, u64> {
        self.inner.drop_space(id)
    }

    fn trim_log(&self, sequence: u64, before: Timestamp) -> Answer<'_, u64> {
        self.inner.trim_log(sequence, before)
    }

    fn report(&self) -> Answer<'_, StoreReport> {
        self.inner.report()
    }

    fn trouble(&self) -> Option<StoreTrouble> {
        self.inner.trouble()
    }
}
