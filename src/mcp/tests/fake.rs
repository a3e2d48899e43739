//! Ports in memory: as much of their contracts as the tools show.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::Semaphore;

use crate::clock::{ManualClock, SeededIds};
use crate::domain::change::{
    Forget, Forgotten, LogEntry, Remember, Remembered, RequestKey, Revise, Revised, StoreStatus,
    UsageNote, VectorsFor,
};
use crate::domain::embedding::{Embedded, ModelIdentity, SpaceId, Vector};
use crate::domain::filter::Filter;
use crate::domain::id::{Handle, MemoryId};
use crate::domain::memory::{Anchor, Memory, Status, Usage};
use crate::domain::namespace::Namespace;
use crate::domain::search::{Attributes, TextCandidates, TextHit, TextQuery, VectorCandidates};
use crate::domain::text::tokens::tokens;
use crate::ports::{
    ArmReport, Candidates, IndexError, IndexReport, Listing, Measured, Meter, ParityReport,
    Snapshot, Store, StoreError, StoreReport,
};
use crate::service::{Ports, Service, Settings};

/// Where the clock of the tests stands.
pub(super) const NOW: &str = "2026-03-01T12:00:00Z";

/// What the next snapshots do instead of answering.
#[derive(Clone, Default)]
pub(super) enum Trouble {
    #[default]
    None,
    Panic,
    /// Each snapshot takes a permit.
    Gate(Arc<Semaphore>),
}

#[derive(Clone, Default)]
struct State {
    memories: BTreeMap<MemoryId, Memory>,
    history: HashMap<MemoryId, Vec<Memory>>,
    answers: HashMap<RequestKey, Vec<Remembered>>,
}

/// A store in memory.
#[derive(Default)]
pub(super) struct FakeStore {
    state: Mutex<State>,
    pub(super) trouble: Mutex<Trouble>,
}

impl FakeStore {
    pub(super) fn n_memories(&self) -> usize {
        self.state.lock().unwrap().memories.len()
    }

    pub(super) fn all(&self) -> Vec<Memory> {
        self.state.lock().unwrap().memories.values().cloned().collect()
    }
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
    std::future::ready(value).boxed()
}

impl Store for FakeStore {
    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Snapshot>, StoreError>> {
        let trouble = self.trouble.lock().unwrap().clone();
        async move {
            match trouble {
                Trouble::None => {}
                Trouble::Panic => panic!("a secret in a panic"),
                Trouble::Gate(gate) => gate.acquire().await.unwrap().forget(),
            }
            let state = self.state.lock().unwrap().clone();
            Ok(Arc::new(FakeSnapshot { state }) as Arc<dyn Snapshot>)
        }
        .boxed()
    }

    fn remember(&self, request: Remember) -> BoxFuture<'_, Result<Vec<Remembered>, StoreError>> {
        let mut state = self.state.lock().unwrap();
        if let Some(known) = request.request.as_ref().and_then(|key| state.answers.get(key)) {
            return ready(Ok(known.clone()));
        }
        let mut answers = Vec::new();
        for new in request.memories {
            let equal = state
                .memories
                .values()
                .find(|memory| memory.namespace == new.namespace && memory.content == new.content);
            if let Some(equal) = equal {
                answers.push(Remembered {
                    id: equal.id,
                    status: StoreStatus::Deduplicated,
                    embedded: false,
                    changed: vec![],
                });
                continue;
            }
            let status = match new.supersedes.and_then(|old| state.memories.get_mut(&old)) {
                Some(old) => {
                    old.status = Status::Superseded;
                    old.superseded_by = Some(new.id);
                    StoreStatus::Superseded
                }
                None => StoreStatus::Stored,
            };
            answers.push(Remembered { id: new.id, status, embedded: false, changed: vec![] });
            let memory = Memory {
                id: new.id,
                namespace: new.namespace,
                content: new.content,
                kind: new.kind,
                tags: new.tags,
                metadata: new.metadata,
                session: new.session,
                agent: new.agent,
                occurred_at: new.occurred_at,
                created_at: request.at,
                updated_at: request.at,
                importance: new.importance,
                pinned: new.pinned,
                status: Status::Active,
                supersedes: new.supersedes,
                superseded_by: None,
                valid_to: None,
                origin: new.origin,
                version: 1,
                usage: Usage {
                    last_recalled_at: None,
                    recalls: 0,
                    anchor: Anchor { value: new.importance, at: request.at },
                },
            };
            state.memories.insert(memory.id, memory);
        }
        if let Some(key) = request.request {
            state.answers.insert(key, answers.clone());
        }
        ready(Ok(answers))
    }

    fn revise(&self, request: Revise) -> BoxFuture<'_, Result<Revised, StoreError>> {
        let mut state = self.state.lock().unwrap();
        let Some(memory) = state.memories.get(&request.id).cloned() else {
            return ready(Ok(Revised::Missing));
        };
        let mut new = memory.clone();
        let patch = request.patch;
        let mut changed = Vec::new();
        if let Some(content) = patch.content {
            new.content = content;
            changed.push("content");
        }
        if let Some(tags) = patch.tags {
            new.tags = tags;
            changed.push("tags");
        }
        if let Some(metadata) = patch.metadata {
            new.metadata = metadata;
            changed.push("metadata");
        }
        if let Some(occurred_at) = patch.occurred_at {
            new.occurred_at = occurred_at;
            changed.push("occurred_at");
        }
        if let Some(pinned) = patch.pinned {
            new.pinned = pinned;
            changed.push("pinned");
        }
        new.version += 1;
        state.history.entry(request.id).or_default().push(memory);
        state.memories.insert(request.id, new.clone());
        ready(Ok(Revised::Done { memory: Box::new(new), changed }))
    }

    fn forget(&self, request: Forget) -> BoxFuture<'_, Result<Forgotten, StoreError>> {
        let mut state = self.state.lock().unwrap();
        let (ids, missing) =
            request.ids.into_iter().partition(|id| state.memories.remove(id).is_some());
        ready(Ok(Forgotten {
            ids,
            missing,
            forgotten_at: request.at,
            erase_by: request.erase_by,
            restorable_until: request.restorable_until,
        }))
    }

    fn erase_due(&self, _: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>> {
        ready(Ok(0))
    }

    fn note_usage(&self, _: Vec<UsageNote>) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Ok(()))
    }

    fn attach_vectors(
        &self,
        _: Vec<VectorsFor>,
        _: Timestamp,
    ) -> BoxFuture<'_, Result<u64, StoreError>> {
        ready(Ok(0))
    }

    fn space(&self, _: ModelIdentity, _: Timestamp) -> BoxFuture<'_, Result<SpaceId, StoreError>> {
        ready(Err(StoreError::Closed))
    }

    fn trim_log(&self, _: u64, _: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>> {
        ready(Ok(0))
    }

    fn report(&self) -> BoxFuture<'_, Result<StoreReport, StoreError>> {
        let namespaces = namespaces(&self.state.lock().unwrap());
        let n_memories = self.n_memories() as u64;
        ready(Ok(StoreReport { n_memories, namespaces, ..StoreReport::default() }))
    }
}

fn namespaces(state: &State) -> Vec<(Namespace, u64)> {
    let mut counts = BTreeMap::new();
    for memory in state.memories.values() {
        *counts.entry(memory.namespace.clone()).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

struct FakeSnapshot {
    state: State,
}

impl Snapshot for FakeSnapshot {
    fn sequence(&self) -> u64 {
        0
    }

    fn memories(
        &self,
        ids: Vec<MemoryId>,
    ) -> BoxFuture<'_, Result<Vec<Option<Memory>>, StoreError>> {
        ready(Ok(ids.iter().map(|id| self.state.memories.get(id).cloned()).collect()))
    }

    fn resolve(&self, handle: Handle) -> BoxFuture<'_, Result<Vec<MemoryId>, StoreError>> {
        let range = handle.tail_min()..=handle.tail_max();
        let ids = self.state.memories.keys().copied().filter(|id| range.contains(&id.tail()));
        ready(Ok(ids.collect()))
    }

    fn list(&self, listing: Listing) -> BoxFuture<'_, Result<Vec<Memory>, StoreError>> {
        let place = |memory: &Memory| (memory.event_time(), memory.id);
        let mut memories: Vec<Memory> = self
            .state
            .memories
            .values()
            .filter(|memory| listing.filter.matches(memory))
            .cloned()
            .collect();
        memories.sort_by_key(place);
        if listing.newest_first {
            memories.reverse();
        }
        if let Some(after) = listing.after {
            memories.retain(|memory| {
                if listing.newest_first { place(memory) < after } else { place(memory) > after }
            });
        }
        memories.truncate(listing.limit);
        ready(Ok(memories))
    }

    fn history(&self, id: MemoryId) -> BoxFuture<'_, Result<Vec<Memory>, StoreError>> {
        ready(Ok(self.state.history.get(&id).cloned().unwrap_or_default()))
    }

    fn namespaces(&self) -> BoxFuture<'_, Result<Vec<Namespace>, StoreError>> {
        ready(Ok(namespaces(&self.state).into_iter().map(|(namespace, _)| namespace).collect()))
    }

    fn scan(
        &self,
        _: Option<MemoryId>,
        _: usize,
    ) -> BoxFuture<'_, Result<Vec<Memory>, StoreError>> {
        ready(Ok(vec![]))
    }

    fn scan_vectors(
        &self,
        _: SpaceId,
        _: Option<MemoryId>,
        _: usize,
    ) -> BoxFuture<'_, Result<Vec<(MemoryId, Embedded)>, StoreError>> {
        ready(Ok(vec![]))
    }

    fn vectors(
        &self,
        _: SpaceId,
        ids: Vec<MemoryId>,
    ) -> BoxFuture<'_, Result<Vec<Vec<Vector>>, StoreError>> {
        ready(Ok(vec![vec![]; ids.len()]))
    }

    fn without_vectors(
        &self,
        _: SpaceId,
        _: usize,
    ) -> BoxFuture<'_, Result<Vec<MemoryId>, StoreError>> {
        ready(Ok(vec![]))
    }

    fn log(&self, _: u64, _: usize) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        ready(Ok(vec![]))
    }

    fn log_start(&self) -> u64 {
        0
    }
}

/// Finds what shares a token with the question, all alike.
struct FakeCandidates {
    store: Arc<FakeStore>,
}

impl Candidates for FakeCandidates {
    fn by_text<'a>(
        &'a self,
        _: &'a Arc<dyn Snapshot>,
        query: TextQuery,
        filter: &'a Filter,
        k: usize,
    ) -> BoxFuture<'a, Result<TextCandidates, IndexError>> {
        let n_clauses = query.clauses.len();
        let all: Vec<Memory> =
            self.store.all().into_iter().filter(|memory| filter.matches(memory)).collect();
        let n_documents = all.len() as u64;
        let shares = |memory: &Memory| {
            let words = tokens(&memory.content);
            query.clauses.iter().flatten().any(|term| words.iter().any(|w| w.text == term.token))
        };
        let hits: Vec<TextHit> = all
            .iter()
            .filter(|memory| shares(memory))
            .take(k)
            .map(|memory| TextHit {
                id: memory.id,
                scores: vec![5.0; n_clauses],
                attributes: Attributes {
                    namespace: memory.namespace.clone(),
                    event_time: memory.event_time(),
                    latin_share: 1.0,
                },
            })
            .collect();
        let n_matching = hits.len() as u64;
        ready(Ok(TextCandidates { hits, best: vec![5.0; n_clauses], n_matching, n_documents }))
    }

    fn by_vector<'a>(
        &'a self,
        _: &'a Arc<dyn Snapshot>,
        _: SpaceId,
        _: Vector,
        _: &'a Filter,
        _: usize,
        _: Vec<MemoryId>,
    ) -> BoxFuture<'a, Result<VectorCandidates, IndexError>> {
        ready(Ok(VectorCandidates::default()))
    }

    fn report(&self) -> IndexReport {
        let arm = ArmReport {
            ready: true,
            detail: "in memory".to_owned(),
            n_memories: 0,
            disk_bytes: 0,
            watermark: 0,
        };
        IndexReport { vectors: arm.clone(), text: arm, n_graphs: 0, n_pending_vectors: 0 }
    }

    fn check<'a>(
        &'a self,
        _: &'a Arc<dyn Snapshot>,
    ) -> BoxFuture<'a, Result<ParityReport, IndexError>> {
        ready(Ok(ParityReport::default()))
    }
}

/// Counts what tools could not do.
#[derive(Default)]
pub(super) struct FakeMeter {
    n_tool_errors: Mutex<u64>,
}

impl Meter for FakeMeter {
    fn record(&self, event: Measured) {
        if event == Measured::ToolError {
            *self.n_tool_errors.lock().unwrap() += 1;
        }
    }

    fn snapshot(&self) -> Vec<(String, u64)> {
        vec![("tool_errors".to_owned(), *self.n_tool_errors.lock().unwrap())]
    }
}

/// A service over the ports above.
pub(super) fn service(store: &Arc<FakeStore>, meter: &Arc<FakeMeter>) -> Arc<Service> {
    let ports = Ports {
        store: Arc::clone(store) as Arc<dyn Store>,
        candidates: Arc::new(FakeCandidates { store: Arc::clone(store) }),
        embedder: None,
        clock: Arc::new(ManualClock::at(NOW.parse().unwrap())),
        ids: Arc::new(SeededIds::new(1)),
        meter: Arc::clone(meter) as Arc<dyn Meter>,
    };
    Arc::new(Service::new(ports, Settings { zone: TimeZone::UTC, ..Settings::default() }))
}
