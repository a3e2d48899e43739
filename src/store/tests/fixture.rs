//! A store in a directory of its own, and short ways to use it.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use tempfile::TempDir;

use crate::clock::SeededIds;
use crate::domain::change::{
    Applied, Change, ChangeSet, Committed, Forget, Forgotten, NewMemory, Patch, Remember,
    Remembered, RequestKey, Revise, Revised,
};
use crate::domain::embedding::{Embedded, ModelIdentity, Scripts, SpaceId};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::job::{JobName, NewRun, Outcome, RunId, Trigger, Undone};
use crate::domain::memory::{Kind, Memory, Metadata, Origin};
use crate::domain::namespace::Namespace;
use crate::ports::{CommitListener, Ids, Ledger, Snapshot, Store, StoreError};
use crate::store::batch::Batch;
use crate::store::records::MemoryRecord;
use crate::store::{RedbStore, StoreSettings};

pub(super) const SETTINGS: StoreSettings = StoreSettings { cache_bytes: 4 << 20 };

/// A moment, in seconds from the time at which every fixture starts.
pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

/// Keeps what it is told.
#[derive(Default)]
pub(super) struct Listener(pub(super) Mutex<Vec<Committed>>);

impl CommitListener for Listener {
    fn committed(&self, changes: &[Committed]) {
        self.0.lock().unwrap().extend_from_slice(changes);
    }
}

pub(super) struct Fixture {
    pub(super) dir: TempDir,
    pub(super) store: Arc<RedbStore>,
    pub(super) listener: Arc<Listener>,
    pub(super) ids: SeededIds,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self::at_second(0)
    }

    /// A store that was made at another time, and so is another store.
    pub(super) fn at_second(second: i64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(RedbStore::open(dir.path(), SETTINGS, at(second)).unwrap());
        let listener = Arc::new(Listener::default());
        store.subscribe(Arc::clone(&listener) as Arc<dyn CommitListener>);
        Self { dir, store, listener, ids: SeededIds::new(7) }
    }

    /// Closes the store and opens it again.
    pub(super) fn reopen(&mut self) {
        self.store.close();
        self.store = Arc::new(RedbStore::open(self.dir.path(), SETTINGS, at(0)).unwrap());
        self.store.subscribe(Arc::clone(&self.listener) as Arc<dyn CommitListener>);
    }

    /// A fact of the namespace `user`, not stored yet.
    pub(super) fn fact(&self, content: &str) -> NewMemory {
        NewMemory {
            id: self.ids.next_id(at(0)),
            namespace: Namespace::user(),
            content: Arc::from(content),
            kind: Kind::Fact,
            tags: Vec::new(),
            metadata: Metadata::new(),
            session: None,
            agent: None,
            occurred_at: None,
            importance: 0.5,
            pinned: false,
            origin: Origin::Stated,
            supersedes: None,
            derived_from: Vec::new(),
            contradicts: Vec::new(),
            embedded: None,
            reminders: Vec::new(),
        }
    }

    pub(super) fn unknown_id(&self) -> MemoryId {
        self.ids.next_id(at(0))
    }

    pub(super) async fn remember(&self, memories: Vec<NewMemory>, second: i64) -> Vec<Remembered> {
        self.try_remember(memories, None, second).await.unwrap()
    }

    pub(super) async fn try_remember(
        &self,
        memories: Vec<NewMemory>,
        request: Option<RequestKey>,
        second: i64,
    ) -> Result<Vec<Remembered>, StoreError> {
        self.store
            .remember(Remember { memories, request, actor: Actor::Owner, at: at(second) })
            .await
    }

    pub(super) async fn remember_one(&self, new: NewMemory, second: i64) -> Remembered {
        self.remember(vec![new], second).await.remove(0)
    }

    /// Stores a fact and returns its id.
    pub(super) async fn store_fact(&self, content: &str, second: i64) -> MemoryId {
        self.remember_one(self.fact(content), second).await.id
    }

    pub(super) async fn revise(&self, id: MemoryId, patch: Patch, second: i64) -> Revised {
        self.store
            .revise(Revise {
                id,
                patch,
                embedded: None,
                reminders: None,
                request: None,
                actor: Actor::Owner,
                at: at(second),
            })
            .await
            .unwrap()
    }

    /// Changes a record in a way that no request can, as a new version of it.
    pub(super) async fn rewrite<F>(&self, id: MemoryId, change: F)
    where
        F: Fn(&mut MemoryRecord) + Send + 'static,
    {
        let rewrite = move |batch: &mut Batch<'_>| {
            let old = batch.load(id)?.unwrap();
            let mut new = old.clone();
            new.record.version += 1;
            change(&mut new.record);
            batch.replace(&old, &new)
        };
        self.store.writer.write(rewrite).await.unwrap();
    }

    /// The stored record of a memory.
    pub(super) async fn record(&self, id: MemoryId) -> MemoryRecord {
        let load = move |batch: &mut Batch<'_>| Ok(batch.load(id)?.unwrap().record);
        self.store.writer.write(load).await.unwrap()
    }

    /// Forgets, restorable for `grace` seconds if there is one; erased 1,000 seconds later at most.
    pub(super) async fn forget(
        &self,
        ids: &[MemoryId],
        grace: Option<i64>,
        second: i64,
    ) -> Forgotten {
        self.store.forget(forget_request(ids, grace, second)).await.unwrap()
    }

    pub(super) async fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.store.snapshot().await.unwrap()
    }

    pub(super) async fn get(&self, id: MemoryId) -> Option<Memory> {
        self.snapshot().await.memories(vec![id]).await.unwrap().remove(0)
    }

    pub(super) async fn n_memories(&self) -> u64 {
        self.store.report().await.unwrap().n_memories
    }

    /// (operation, id, version, fields) of every log entry.
    pub(super) async fn log(&self) -> Vec<(String, MemoryId, u64, Vec<String>)> {
        let entries = self.snapshot().await.log(0, usize::MAX).await.unwrap();
        entries.into_iter().map(|e| (e.operation, e.id, e.version, e.fields)).collect()
    }

    /// Stores two facts and returns their ids in order.
    pub(super) async fn two_facts(&self) -> (MemoryId, MemoryId) {
        let (a, b) = (self.store_fact("a", 1).await, self.store_fact("b", 1).await);
        (a.min(b), a.max(b))
    }

    /// Begins a run.
    pub(super) async fn begin(&self, second: i64) -> RunId {
        self.store.begin_run(new_run(second)).await.unwrap().unwrap().id
    }

    /// Ends a run that did everything.
    pub(super) async fn end(&self, run: RunId, second: i64) {
        let report = "{}".to_owned();
        self.store.finish_run(run, Outcome::Done, 0, report, at(second)).await.unwrap();
    }

    /// Applies a set in a run of its own; it meets no conflict.
    pub(super) async fn run(&self, set: ChangeSet, second: i64) -> RunId {
        let run = self.begin(second).await;
        let set = ChangeSet { run: Some(run), at: at(second), ..set };
        assert_eq!(self.apply(set).await.conflicts, []);
        self.end(run, second).await;
        run
    }

    pub(super) async fn apply(&self, set: ChangeSet) -> Applied {
        self.store.apply(set).await.unwrap()
    }

    pub(super) async fn undo(&self, run: RunId, second: i64) -> Undone {
        self.store.undo(run, Actor::Owner, at(second)).await.unwrap().unwrap()
    }

    /// A summary of memories, not stored yet.
    pub(super) fn summary(&self, content: &str, of: &[MemoryId]) -> NewMemory {
        NewMemory {
            kind: Kind::Summary,
            origin: Origin::Consolidated,
            derived_from: of.to_vec(),
            ..self.fact(content)
        }
    }

    /// A summary of memories and that it speaks for them.
    pub(super) async fn summarised(&self, content: &str, of: &[MemoryId]) -> (ChangeSet, MemoryId) {
        let summary = self.summary(content, of);
        let id = summary.id;
        let mut changes = Vec::new();
        for source in of {
            changes.push(self.change(*source, spoken_for_by(id)).await);
        }
        (ChangeSet { new: vec![summary], changes, ..set() }, id)
    }

    /// A change of the present version of a memory.
    pub(super) async fn change(&self, id: MemoryId, patch: Patch) -> Change {
        Change { id, version: self.get(id).await.unwrap().version, patch }
    }

    /// Everything that is there.
    pub(super) async fn all(&self) -> Vec<Memory> {
        self.snapshot().await.scan(None, usize::MAX).await.unwrap()
    }

    /// Proves that the tables agree, before and after closing.
    pub(super) async fn finish(mut self) {
        self.check().await;
        self.reopen();
        self.check().await;
    }

    pub(super) async fn check(&self) {
        let found = self.store.verify().await.unwrap();
        assert_eq!(found.violations, Vec::<String>::new());
        self.check_links().await;
    }

    /// Links lead to what is there, and its other end agrees.
    async fn check_links(&self) {
        let all = self.all().await;
        let find = |id: MemoryId| all.iter().find(|memory| memory.id == id);
        for memory in &all {
            let id = memory.id;
            for source in &memory.derived_from {
                assert!(find(*source).is_some(), "{id} is made of {source}");
            }
            if let Some(summary) = memory.consolidated_into {
                let speaks = find(summary).is_some_and(|far| far.derived_from.contains(&id));
                assert!(speaks, "{id} is spoken for by {summary}");
            }
            for other in &memory.contradicts {
                let agrees = find(*other).is_some_and(|far| far.contradicts.contains(&id));
                assert!(agrees, "{id} contradicts {other}");
            }
        }
    }
}

/// A set without changes.
pub(super) fn set() -> ChangeSet {
    ChangeSet {
        run: None,
        new: Vec::new(),
        changes: Vec::new(),
        marks: Vec::new(),
        actor: Actor::Job("consolidate"),
        at: at(0),
    }
}

pub(super) fn spoken_for_by(summary: MemoryId) -> Patch {
    Patch { consolidated_into: Some(Some(summary)), ..Patch::default() }
}

pub(super) fn new_run(second: i64) -> NewRun {
    NewRun {
        job: JobName::Consolidate,
        trigger: Trigger::Timer,
        is_dry_run: false,
        scheduled_at: Some(at(second)),
        now: at(second),
        lease: "this process".to_owned(),
    }
}

pub(super) fn forget_request(ids: &[MemoryId], grace: Option<i64>, second: i64) -> Forget {
    Forget {
        ids: ids.to_vec(),
        restorable_until: grace.map(|grace| at(second + grace)),
        erase_by: at(second + 1_000),
        request: None,
        actor: Actor::Owner,
        at: at(second),
    }
}

pub(super) fn tags(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

pub(super) fn key(text: &str) -> RequestKey {
    RequestKey { uid: 1000, actor: "agent/a".to_owned(), key: text.to_owned() }
}

/// A model of 4 dimensions.
pub(super) fn model(name: &str) -> ModelIdentity {
    ModelIdentity {
        name: name.to_owned(),
        dimension: 4,
        tokens_max: 128,
        pooling: "mean".to_owned(),
        normalised: true,
        query_prefix: String::new(),
        document_prefix: String::new(),
        weights_hash: "w".to_owned(),
        tokenizer_hash: "t".to_owned(),
        text_template: "1".to_owned(),
        scripts: Scripts::ALL,
    }
}

/// Vectors of `n_chunks` chunks that tell `seed`.
pub(super) fn embedded(space: SpaceId, seed: u16, n_chunks: u16) -> Embedded {
    let vector = |chunk| Arc::from([f32::from(seed), f32::from(chunk), 0.0, 1.0]);
    Embedded { space, chunks: (0..n_chunks).map(vector).collect() }
}
