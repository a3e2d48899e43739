//! The approximate searcher: an `hnsw_rs` graph over a copy of the rows of one namespace.
//!
//! The graph is frozen. Memories removed or changed since the copy are dead points, which the
//! filter hides; memories added or changed since are *fresh* and scanned exactly. It is never
//! written to disk: the library ends the process on a damaged dump, and the rows are ours to
//! build from.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use hnsw_rs::prelude::{Distance, Hnsw};

use super::rows::{Code, Member, Rows};
use super::search::{Best, Candidate, Found, Moments, Query, Searcher};
use super::simd;
use crate::domain::id::MemoryId;
use crate::index::catalog::Slot;

/// Links of a point and layer (`hnsw_rs` ends the process above 256).
const LINKS: usize = 16;
/// The only number of layers the library is used with elsewhere.
const LAYERS: usize = 16;
/// Candidates looked at for each point while building.
const EF_CONSTRUCTION: usize = 200;
/// Least candidates looked at in a search (recall@10 is 1.000 in `benches/vectors.rs`).
const EF_SEARCH_MIN: usize = 128;
/// Memories whose cosines stand for all in the moments: their mean is then known to about 2 % of
/// the standard deviation.
const SAMPLE: usize = 2_000;
/// Bytes after the coordinates of a point that hold its scale.
const SCALE_BYTES: usize = size_of::<f32>();

/// Cosine distance of two points, clamped: the library asserts that distances are not negative.
#[derive(Clone, Copy, Default)]
struct ScaledCosine;

impl Distance<i8> for ScaledCosine {
    fn eval(&self, a: &[i8], b: &[i8]) -> f32 {
        let (Some((a, scale_a)), Some((b, scale_b))) = (point_parts(a), point_parts(b)) else {
            return 2.0;
        };
        (1.0 - simd::dot(a, b) as f32 * (scale_a * scale_b)).max(0.0)
    }
}

/// Appends a row as the graph keeps it: the distance sees nothing but the slice, so the scale is
/// in it.
fn push_point(points: &mut Vec<i8>, values: &[i8], scale: f32) {
    points.extend_from_slice(values);
    points.extend(scale.to_ne_bytes().map(u8::cast_signed));
}

fn point_parts(point: &[i8]) -> Option<(&[i8], f32)> {
    let (values, scale) = point.split_last_chunk::<SCALE_BYTES>()?;
    Some((values, f32::from_ne_bytes(scale.map(i8::cast_unsigned))))
}

/// Rows copied to be built into a graph without holding up anybody.
pub struct RowsCopy {
    /// All points, one after the other.
    points: Vec<i8>,
    point_len: usize,
    origins: Vec<Origin>,
    ranges: HashMap<MemoryId, Range<usize>>,
}

/// Which chunk a point is.
#[derive(Clone, Copy)]
struct Origin {
    id: MemoryId,
    slot: Slot,
    chunk: u32,
}

impl RowsCopy {
    /// Copies all rows, those of one memory side by side.
    pub fn of(rows: &Rows) -> Self {
        let point_len = rows.dimension() + SCALE_BYTES;
        let mut copy = Self {
            points: Vec::with_capacity(rows.len() * point_len),
            point_len,
            origins: Vec::with_capacity(rows.len()),
            ranges: HashMap::with_capacity(rows.members().len()),
        };
        for member in rows.members() {
            let start = copy.origins.len();
            for (chunk, values, scale) in rows.of(member) {
                push_point(&mut copy.points, values, scale);
                copy.origins.push(Origin { id: member.id, slot: member.slot, chunk });
            }
            copy.ranges.insert(member.id, start..copy.origins.len());
        }
        copy
    }
}

/// A graph and what has changed since it was built.
pub struct Graph {
    hnsw: Hnsw<'static, i8, ScaledCosine>,
    origins: Vec<Origin>,
    /// The points of each memory that is as it was.
    ranges: HashMap<MemoryId, Range<usize>>,
    dead: Vec<bool>,
    n_dead: usize,
    fresh: HashSet<MemoryId>,
}

impl Graph {
    /// Builds a graph on the caller's thread; `goes_on` is asked before each point, and `None` is
    /// the answer once it says no.
    pub fn build(copy: RowsCopy, goes_on: &dyn Fn() -> bool) -> Option<Self> {
        let RowsCopy { points, point_len, origins, ranges } = copy;
        let n_points = origins.len().max(1);
        let hnsw = Hnsw::new(LINKS, n_points, LAYERS, EF_CONSTRUCTION, ScaledCosine);
        for (number, point) in points.chunks_exact(point_len).enumerate() {
            if !goes_on() {
                return None;
            }
            hnsw.insert((point, number));
        }
        let dead = vec![false; origins.len()];
        Some(Self { hnsw, origins, ranges, dead, n_dead: 0, fresh: HashSet::new() })
    }

    /// Learns that the rows of a memory are not what they were: they are now the ones in `rows`.
    pub(super) fn changed(&mut self, id: MemoryId, rows: &Rows) {
        for point in self.ranges.remove(&id).unwrap_or_default() {
            if let Some(dead) = self.dead.get_mut(point) {
                *dead = true;
                self.n_dead += 1;
            }
        }
        if rows.contains(id) {
            self.fresh.insert(id);
        } else {
            self.fresh.remove(&id);
        }
    }

    /// Whether a fifth of the points are dead, or a fifth of the memories fresh: then searching
    /// it costs more than it should.
    pub(super) fn is_worn(&self, rows: &Rows) -> bool {
        self.n_dead * 5 >= self.origins.len() || self.fresh.len() * 5 >= rows.members().len()
    }

    /// Candidates among the points, the best chunk of a memory first met.
    fn nearest(&self, query: &Query<'_>, rows: &Rows) -> Vec<Candidate> {
        let accepts = |point: &usize| {
            !self.dead.get(*point).copied().unwrap_or(true)
                && self.origins.get(*point).is_some_and(|origin| (query.accepts)(origin.slot))
        };
        // As many more points than memories are asked for as there are chunks to a memory.
        let n_members = rows.members().len().max(1);
        let n_points = query.wanted * rows.len().max(n_members).div_ceil(n_members);
        let mut point = Vec::new();
        push_point(&mut point, &query.code.values, query.code.scale);
        let mut seen = HashSet::with_capacity(n_points);
        self.hnsw
            .search_filter(&point, n_points, n_points.max(EF_SEARCH_MIN), Some(&accepts))
            .into_iter()
            .filter_map(|neighbour| {
                let origin = self.origins.get(neighbour.d_id)?;
                let cosine = 1.0 - neighbour.distance;
                seen.insert(origin.id).then_some(Candidate {
                    id: origin.id,
                    slot: origin.slot,
                    cosine,
                    chunk: origin.chunk,
                    n_chunks: rows.member(origin.id).map_or(1, Member::n_chunks),
                })
            })
            .collect()
    }
}

/// Searches the graph, and the fresh rows exactly.
pub struct GraphSearch<'a> {
    /// The rows as they are.
    pub rows: &'a Rows,
    /// A graph of what they were.
    pub graph: &'a Graph,
}

impl Searcher for GraphSearch<'_> {
    fn search(&self, query: &Query<'_>) -> Found {
        let mut best = Best::new(query.wanted);
        for candidate in self.graph.nearest(query, self.rows) {
            best.push(candidate);
        }
        for member in self.graph.fresh.iter().filter_map(|id| self.rows.member(*id)) {
            let Some((cosine, chunk)) = self.rows.best_of(member, &query.code) else { continue };
            if best.admits(cosine) && (query.accepts)(member.slot) {
                let n_chunks = member.n_chunks();
                best.push(Candidate { id: member.id, slot: member.slot, cosine, chunk, n_chunks });
            }
        }
        Found { best: best.into_sorted(), moments: sample_moments(self.rows, &query.code) }
    }
}

/// The moments of a fixed sample, evenly spread over the memories.
fn sample_moments(rows: &Rows, query: &Code) -> Moments {
    let members = rows.members();
    let mut moments = Moments::default();
    for member in members.iter().step_by(members.len().div_ceil(SAMPLE).max(1)) {
        if let Some((cosine, _)) = rows.best_of(member, query) {
            moments.add(cosine);
        }
    }
    moments.weighted(members.len())
}
