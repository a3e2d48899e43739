//! The vector arm: exact int8 scan with f32 rescoring, `hnsw_rs` for namespaces that outgrew it.
//!
//! It owns the rows of every namespace in RAM and the graphs over the large ones; the f32 vectors
//! stay in the store, from where the caller reads those of the best candidates. A change is
//! applied before it is acknowledged. Archived memories have no rows: words find them, and their
//! vectors come back with them. Nothing here is on disk.

mod builder;
pub mod graph;
pub mod rows;
pub mod scan;
pub mod search;
mod shelf;
pub mod simd;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use self::builder::Builder;
use self::rows::Code;
use self::search::{Best, Candidate, Moments, Query};
use self::shelf::Shelf;
use super::catalog::{Catalog, CompiledFilter, Entry, NamespaceSlot, Slot};
use crate::domain::embedding::{Embedded, SpaceId};
use crate::domain::id::MemoryId;
use crate::ports::{ArmReport, Clock};

/// The rows and graphs of all namespaces.
pub(crate) struct VectorIndex {
    graph_from: usize,
    clock: Arc<dyn Clock>,
    state: RwLock<State>,
    /// Monotonic time of the last search or change, milliseconds.
    active_at_ms: AtomicU64,
    builder: Builder,
}

#[derive(Default)]
struct State {
    space: Option<SpaceId>,
    shelves: HashMap<NamespaceSlot, Shelf>,
    /// Memories without rows.
    pending: HashSet<Slot>,
    /// While a scan of the store is under way: what a commit has changed since it began, so that
    /// the older state read by the scan is not taken for it.
    touched: Option<HashSet<MemoryId>>,
}

/// The answer of the RAM index: cosines are those of int8.
#[derive(Debug, Default)]
pub(crate) struct Nearest {
    /// The best under the filter, best first.
    pub(crate) best: Vec<Candidate>,
    /// Those asked for by id that are in the namespaces searched and have a vector.
    pub(crate) also: Vec<Candidate>,
    /// Mean and deviation of the namespaces searched.
    pub(crate) moments: Moments,
    /// Memories under the filter without rows.
    pub(crate) n_pending: u64,
}

impl VectorIndex {
    /// An empty index; `graph_from` as in [`super::IndexSettings`].
    pub(crate) fn new(graph_from: usize, clock: Arc<dyn Clock>) -> Arc<Self> {
        let index = Arc::new(Self {
            graph_from,
            clock,
            state: RwLock::default(),
            active_at_ms: AtomicU64::new(0),
            builder: Builder::default(),
        });
        index.builder.start(&index);
        index
    }

    /// Empties the index for the vectors of `space`. From here on commits are applied, and what
    /// they touch is not overwritten by [`Self::load`].
    pub(crate) fn begin(&self, space: SpaceId, catalog: &Catalog) {
        let is_hot = |slot: &Slot| catalog.entry(*slot).is_some_and(Entry::is_hot);
        let emptied = State {
            space: Some(space),
            shelves: HashMap::new(),
            pending: catalog.slots().filter(is_hot).collect(),
            touched: Some(HashSet::new()),
        };
        *self.write() = emptied;
    }

    /// Adds rows read from the store.
    pub(crate) fn load(&self, catalog: &Catalog, page: &[(MemoryId, Embedded)]) {
        let mut state = self.write();
        for (id, embedded) in page {
            if let Some((slot, entry)) = catalog.find(*id)
                && entry.is_hot()
                && !state.is_touched(*id)
            {
                state.put(slot, entry, embedded);
            }
        }
    }

    /// Starts to note what commits touch, for a scan of the store that begins after this.
    pub(crate) fn begin_pass(&self) {
        self.write().touched = Some(HashSet::new());
    }

    /// Ends what [`Self::begin`] or [`Self::begin_pass`] began.
    pub(crate) fn end_pass(&self) {
        self.write().touched = None;
    }

    /// Applies a stored memory: `content_changed` makes the rows it had stale.
    pub(crate) fn put(
        &self,
        slot: Slot,
        entry: &Entry,
        content_changed: bool,
        embedded: Option<&Embedded>,
    ) {
        self.note_activity();
        let mut state = self.write();
        if !entry.is_hot() {
            state.touch(entry.id);
            state.chill(slot, entry);
            return;
        }
        match embedded.filter(|embedded| Some(embedded.space) == state.space) {
            Some(embedded) => {
                state.touch(entry.id);
                state.put(slot, entry, embedded);
            }
            None if content_changed => {
                state.touch(entry.id);
                state.remove(entry.namespace, entry.id);
                state.pending.insert(slot);
            }
            None => {
                if !state.has_rows(entry) {
                    state.pending.insert(slot);
                }
            }
        }
    }

    /// Applies a removal.
    pub(crate) fn remove(&self, slot: Slot, entry: &Entry) {
        self.note_activity();
        let mut state = self.write();
        state.touch(entry.id);
        state.remove(entry.namespace, entry.id);
        state.pending.remove(&slot);
    }

    /// The best `wanted` under `filter`, and those of `also`.
    pub(crate) fn search(
        &self,
        catalog: &Catalog,
        filter: &CompiledFilter,
        vector: &[f32],
        wanted: usize,
        also: &[MemoryId],
    ) -> Nearest {
        self.note_activity();
        let accepts = |slot| catalog.entry(slot).is_some_and(|entry| filter.matches(entry));
        let query = Query { code: Code::of(vector), wanted, accepts: &accepts };
        let state = self.read();
        let mut best = Best::new(wanted);
        let mut moments = Moments::default();
        for shelf in filter.namespaces.iter().filter_map(|slot| state.shelves.get(slot)) {
            let found = shelf.search(&query, self.graph_from);
            moments.merge(found.moments);
            for candidate in found.best {
                best.push(candidate);
            }
        }
        let n_pending = state.pending.iter().filter(|slot| accepts(**slot)).count() as u64;
        let also = also
            .iter()
            .filter_map(|id| {
                let (slot, entry) = catalog.find(*id)?;
                filter.namespaces.binary_search(&entry.namespace).ok()?;
                let rows = &state.shelves.get(&entry.namespace)?.rows;
                let member = rows.member(*id)?;
                let (cosine, chunk) = rows.best_of(member, &query.code)?;
                Some(Candidate { id: *id, slot, cosine, chunk, n_chunks: member.n_chunks() })
            })
            .collect();
        drop(state);
        Nearest { best: best.into_sorted(), also, moments, n_pending }
    }

    /// State for `status`.
    pub(crate) fn report(&self, ready: bool) -> ArmReport {
        let state = self.read();
        let (mut n_memories, mut n_rows) = (0, 0);
        for shelf in state.shelves.values() {
            n_memories += shelf.rows.members().len();
            n_rows += shelf.rows.len();
        }
        let (space, n_shelves) = (state.space, state.shelves.len());
        drop(state);
        let detail = match space {
            None => "no embedding space".to_owned(),
            Some(_) if !ready => format!("loading, {n_rows} rows so far"),
            Some(_) => format!("{n_rows} rows in {n_shelves} namespaces"),
        };
        ArmReport { ready, detail, n_memories: n_memories as u64, disk_bytes: 0, watermark: 0 }
    }

    /// Namespaces served by a graph.
    pub(crate) fn n_graphs(&self) -> usize {
        self.read().shelves.values().filter(|shelf| shelf.has_graph(self.graph_from)).count()
    }

    /// Memories without rows.
    pub(crate) fn n_pending(&self) -> u64 {
        self.read().pending.len() as u64
    }

    /// Ids of the memories that have rows.
    pub(crate) fn ids(&self) -> HashSet<MemoryId> {
        let state = self.read();
        state.shelves.values().flat_map(|shelf| shelf.rows.members()).map(|m| m.id).collect()
    }

    /// How the rows of a memory compare with what the store has for it.
    pub(crate) fn compare(&self, entry: &Entry, stored: Option<&Embedded>) -> Agreement {
        let state = self.read();
        let rows = state.shelves.get(&entry.namespace).map(|shelf| &shelf.rows);
        match (stored.filter(|_| entry.is_hot()), rows.filter(|rows| rows.contains(entry.id))) {
            (None, None) => Agreement::Same,
            (Some(_), None) => Agreement::Missing,
            (None, Some(_)) => Agreement::Surplus,
            (Some(embedded), Some(rows)) if rows.agrees_with(entry.id, &embedded.chunks) => {
                Agreement::Same
            }
            (Some(_), Some(_)) => Agreement::Different,
        }
    }

    /// Makes the rows of a memory what the store has for it, unless a commit has touched it since
    /// the pass began; whether it did.
    pub(crate) fn repair(&self, slot: Slot, entry: &Entry, stored: Option<&Embedded>) -> bool {
        let mut state = self.write();
        if state.is_touched(entry.id) {
            return false;
        }
        if !entry.is_hot() {
            state.chill(slot, entry);
        } else if let Some(embedded) = stored {
            state.put(slot, entry, embedded);
        } else {
            state.remove(entry.namespace, entry.id);
            state.pending.insert(slot);
        }
        drop(state);
        true
    }

    /// Stops and joins the thread that builds graphs.
    pub(crate) fn close(&self) {
        self.builder.stop();
    }

    /// Builds every graph that is due, on this thread, whether or not the daemon is idle.
    #[cfg(test)]
    pub(crate) fn build_graphs(&self) {
        while let Some(namespace) = self.due() {
            assert!(self.build(namespace, &|| true));
        }
    }

    /// A namespace whose graph is missing, worn or not needed any more.
    fn due(&self) -> Option<NamespaceSlot> {
        let is_due = |(namespace, shelf): (&NamespaceSlot, &Shelf)| {
            shelf.is_due(self.graph_from).then_some(*namespace)
        };
        self.read().shelves.iter().find_map(is_due)
    }

    /// Builds the graph of a namespace anew from a copy of its rows; false once `goes_on` is.
    fn build(&self, namespace: NamespaceSlot, goes_on: &dyn Fn() -> bool) -> bool {
        let copy = match self.write().shelves.get_mut(&namespace) {
            Some(shelf) => shelf.begin_build(self.graph_from),
            None => return true,
        };
        let built = copy.map(|copy| graph::Graph::build(copy, goes_on));
        let is_whole = !matches!(built, Some(None));
        let mut state = self.write();
        let replaced =
            state.shelves.get_mut(&namespace).map(|shelf| shelf.end_build(built.flatten()));
        drop(state);
        // Freeing a graph takes a while: after the lock.
        drop(replaced);
        is_whole
    }

    /// Whether nobody has searched or written for `period`.
    fn is_idle_for(&self, period: Duration) -> bool {
        let idle_ms = self.now_ms().saturating_sub(self.active_at_ms.load(Ordering::Relaxed));
        u128::from(idle_ms) >= period.as_millis()
    }

    fn note_activity(&self) {
        self.active_at_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.monotonic().as_millis()).unwrap_or(u64::MAX)
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the rows of a memory compare with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// They agree.
    Same,
    /// The store has vectors, the index none.
    Missing,
    /// The index has rows, the store none.
    Surplus,
    /// Both have some, but not the same.
    Different,
}

impl State {
    fn put(&mut self, slot: Slot, entry: &Entry, embedded: &Embedded) {
        let shelf = self.shelves.entry(entry.namespace).or_default();
        if shelf.put(entry.id, slot, &embedded.chunks) {
            self.pending.remove(&slot);
        } else {
            self.pending.insert(slot);
        }
    }

    fn remove(&mut self, namespace: NamespaceSlot, id: MemoryId) {
        if let Some(shelf) = self.shelves.get_mut(&namespace) {
            shelf.remove(id);
        }
    }

    /// Takes away the rows of a memory that is archived, without waiting for others.
    fn chill(&mut self, slot: Slot, entry: &Entry) {
        self.remove(entry.namespace, entry.id);
        self.pending.remove(&slot);
    }

    fn has_rows(&self, entry: &Entry) -> bool {
        self.shelves.get(&entry.namespace).is_some_and(|shelf| shelf.rows.contains(entry.id))
    }

    fn touch(&mut self, id: MemoryId) {
        if let Some(touched) = &mut self.touched {
            touched.insert(id);
        }
    }

    fn is_touched(&self, id: MemoryId) -> bool {
        self.touched.as_ref().is_some_and(|touched| touched.contains(&id))
    }
}
