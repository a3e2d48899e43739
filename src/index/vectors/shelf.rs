//! The rows of one namespace with their graph, and which of the two answers.

use std::collections::HashSet;

use super::graph::{Graph, GraphSearch, RowsCopy};
use super::rows::Rows;
use super::scan::Scan;
use super::search::{Found, Query, Searcher};
use crate::domain::embedding::Vector;
use crate::domain::id::MemoryId;
use crate::index::catalog::Slot;

/// Share of a namespace that a filter must keep for its graph to be used. Measured
/// (`benches/vectors.rs`): a search of the graph that keeps half costs 1.1 to 2.4 times one that
/// keeps all, one that keeps 5 % costs 7 to 17 times as much, and the scan the same whatever is
/// kept.
const GRAPH_SHARE_MIN: f64 = 0.5;
/// Memories of which that share is estimated.
const SHARE_SAMPLE: usize = 256;

/// The rows of one namespace and the graph over them, if they have one.
#[derive(Default)]
pub(super) struct Shelf {
    pub(super) rows: Rows,
    graph: Option<Graph>,
    /// While a graph is being built: what has changed since its copy was taken.
    changed: Option<HashSet<MemoryId>>,
}

impl Shelf {
    /// Gives a memory these rows; false if their dimension is not that of the others.
    pub(super) fn put(&mut self, id: MemoryId, slot: Slot, vectors: &[Vector]) -> bool {
        let fits = self.rows.put(id, slot, vectors);
        self.note_change(id);
        fits
    }

    /// Removes the rows of a memory.
    pub(super) fn remove(&mut self, id: MemoryId) {
        if self.rows.remove(id) {
            self.note_change(id);
        }
    }

    fn note_change(&mut self, id: MemoryId) {
        if let Some(graph) = &mut self.graph {
            graph.changed(id, &self.rows);
        }
        if let Some(changed) = &mut self.changed {
            changed.insert(id);
        }
    }

    /// Searches by the graph if there is one and the filter keeps most of the namespace, else by
    /// the scan; by the scan too if the graph found too few.
    pub(super) fn search(&self, query: &Query<'_>, graph_from: usize) -> Found {
        if let Some(graph) = self.graph.as_ref().filter(|_| self.rows.len() >= graph_from)
            && self.share_kept(query) >= GRAPH_SHARE_MIN
        {
            let found = GraphSearch { rows: &self.rows, graph }.search(query);
            if found.best.len() >= query.wanted {
                return found;
            }
        }
        Scan(&self.rows).search(query)
    }

    /// Share of the memories that pass the filter, 0.0..=1.0, estimated from an even sample.
    fn share_kept(&self, query: &Query<'_>) -> f64 {
        let members = self.rows.members();
        let step = members.len().div_ceil(SHARE_SAMPLE).max(1);
        let (mut n, mut n_kept) = (0_u32, 0_u32);
        for member in members.iter().step_by(step) {
            n += 1;
            n_kept += u32::from((query.accepts)(member.slot));
        }
        f64::from(n_kept) / f64::from(n.max(1))
    }

    /// Whether searches may use a graph.
    pub(super) fn has_graph(&self, graph_from: usize) -> bool {
        self.graph.is_some() && self.rows.len() >= graph_from
    }

    /// Whether a graph should be built, rebuilt or dropped.
    pub(super) fn is_due(&self, graph_from: usize) -> bool {
        let wants_graph = self.rows.len() >= graph_from.max(1);
        match &self.graph {
            Some(graph) => !wants_graph || graph.is_worn(&self.rows),
            None => wants_graph,
        }
    }

    /// Copies the rows for a build and notes changes from here on; `None` if the namespace needs
    /// no graph.
    pub(super) fn begin_build(&mut self, graph_from: usize) -> Option<RowsCopy> {
        if self.rows.len() < graph_from.max(1) {
            return None;
        }
        self.changed = Some(HashSet::new());
        Some(RowsCopy::of(&self.rows))
    }

    /// Puts the new graph in the place of the old one, which is returned; without a new one (the
    /// build was stopped, or the namespace is small) the namespace has none.
    pub(super) fn end_build(&mut self, graph: Option<Graph>) -> Option<Graph> {
        let changed = self.changed.take().unwrap_or_default();
        let mut graph = graph;
        if let Some(graph) = &mut graph {
            for id in changed {
                graph.changed(id, &self.rows);
            }
        }
        std::mem::replace(&mut self.graph, graph)
    }
}
