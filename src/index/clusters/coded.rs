//! DBSCAN over int8 codes, with f32 where int8 cannot tell.
//!
//! Two passes in place of a walk: first the neighbours of every point are counted, each pair once
//! and in blocks that stay in the cache; then the cores that are neighbours are united. What the walk
//! of linfa finds in order of ids follows from that: a cluster is a component of cores, numbered by
//! its first core, and a border point belongs to the first cluster in reach. Memory is a code a
//! point and three small tables; no neighbour is kept.

use tokio_util::sync::CancellationToken;

use crate::domain::consolidation::Density;
use crate::domain::embedding::{Vector, dot};
use crate::index::vectors::rows::Code;
use crate::ports::ClusterError;

/// Points compared with all others before the stop is looked at: about 25 KB of codes of 384
/// dimensions, which stay in the cache meanwhile.
const BLOCK: usize = 64;
/// Error of a cosine of int8 codes; nearer to the threshold the vectors themselves decide. Every
/// coordinate is rounded by at most 1/254 of the largest one, which makes a standard deviation below
/// 0.001 where the largest is 0.3.
const MARGIN: f32 = 0.01;

/// The labels of unit vectors of one length.
pub(super) fn labels(
    vectors: &[Vector],
    density: Density,
    stop: &CancellationToken,
) -> Result<Vec<Option<usize>>, ClusterError> {
    let points = Points::new(vectors, density);
    let n_near = points.count(stop)?;
    let is_core: Vec<bool> = n_near.iter().map(|n| *n >= density.min_points).collect();
    let cores: Vec<usize> = numbers(&is_core, |is_core| *is_core);
    let clusters = points.unite(&cores, stop)?;
    let mut labels = vec![None; vectors.len()];
    for (core, cluster) in cores.iter().zip(&clusters) {
        set(&mut labels, *core, Some(*cluster));
    }
    // Alone is alone: only points with a neighbour can lie at a border.
    let borders = numbers(&n_near, |n| (2..density.min_points).contains(n));
    for block in borders.chunks(BLOCK) {
        going_on(stop)?;
        for border in block {
            let in_reach =
                cores.iter().zip(&clusters).filter(|(core, _)| points.near(*border, **core));
            set(&mut labels, *border, in_reach.map(|(_, cluster)| *cluster).min());
        }
    }
    Ok(labels)
}

struct Points<'a> {
    vectors: &'a [Vector],
    codes: Vec<Code>,
    /// Cosine above which two points are neighbours.
    threshold: f32,
}

impl<'a> Points<'a> {
    fn new(vectors: &'a [Vector], density: Density) -> Self {
        let codes = vectors.iter().map(|vector| Code::of(vector)).collect();
        #[expect(clippy::cast_possible_truncation, reason = "compared with cosines in f32")]
        let threshold = (1.0 - density.eps) as f32;
        Self { vectors, codes, threshold }
    }

    fn near(&self, left: usize, right: usize) -> bool {
        let (Some(a), Some(b)) = (self.codes.get(left), self.codes.get(right)) else {
            return false;
        };
        let above = a.cosine(b) - self.threshold;
        if above.abs() > MARGIN {
            return above > 0.0;
        }
        let (Some(a), Some(b)) = (self.vectors.get(left), self.vectors.get(right)) else {
            return false;
        };
        dot(a, b) > self.threshold
    }

    /// Neighbours of every point, itself included.
    fn count(&self, stop: &CancellationToken) -> Result<Vec<usize>, ClusterError> {
        let n = self.vectors.len();
        let mut n_near = vec![1; n];
        for start in (0..n).step_by(BLOCK) {
            going_on(stop)?;
            for right in start + 1..n {
                for left in start..right.min(start + BLOCK) {
                    if self.near(left, right) {
                        add_one(&mut n_near, left);
                        add_one(&mut n_near, right);
                    }
                }
            }
        }
        Ok(n_near)
    }

    /// The cluster of each core: cores that are neighbours are of one, directly or through others.
    fn unite(&self, cores: &[usize], stop: &CancellationToken) -> Result<Vec<usize>, ClusterError> {
        let mut forest = Forest { parents: (0..cores.len()).collect() };
        for start in (0..cores.len()).step_by(BLOCK) {
            going_on(stop)?;
            for (right, right_core) in cores.iter().enumerate().skip(start + 1) {
                let block = cores.iter().enumerate().take(right.min(start + BLOCK)).skip(start);
                for (left, left_core) in block {
                    // Asking the forest is cheaper than comparing vectors.
                    if forest.root(left) != forest.root(right) && self.near(*left_core, *right_core)
                    {
                        forest.unite(left, right);
                    }
                }
            }
        }
        // A root is the least of its tree, so roots in order are clusters in order of first cores.
        let mut n_clusters = 0;
        let mut clusters: Vec<usize> = Vec::with_capacity(cores.len());
        for core in 0..cores.len() {
            let root = forest.root(core);
            clusters.push(clusters.get(root).copied().unwrap_or(n_clusters));
            n_clusters += usize::from(root == core);
        }
        Ok(clusters)
    }
}

/// Disjoint sets, each a tree whose root is its least member.
struct Forest {
    parents: Vec<usize>,
}

impl Forest {
    fn root(&mut self, mut at: usize) -> usize {
        loop {
            let parent = self.parent(at);
            if parent == at {
                return at;
            }
            // Every other node on the way is hung one higher (path halving).
            let grandparent = self.parent(parent);
            set(&mut self.parents, at, grandparent);
            at = grandparent;
        }
    }

    fn unite(&mut self, left: usize, right: usize) {
        let (left, right) = (self.root(left), self.root(right));
        set(&mut self.parents, left.max(right), left.min(right));
    }

    fn parent(&self, at: usize) -> usize {
        self.parents.get(at).copied().unwrap_or(at)
    }
}

fn numbers<T>(all: &[T], is_meant: impl Fn(&T) -> bool) -> Vec<usize> {
    all.iter().enumerate().filter(|(_, one)| is_meant(one)).map(|(at, _)| at).collect()
}

fn set<T>(all: &mut [T], at: usize, value: T) {
    if let Some(place) = all.get_mut(at) {
        *place = value;
    }
}

fn add_one(counts: &mut [usize], at: usize) {
    if let Some(count) = counts.get_mut(at) {
        *count += 1;
    }
}

fn going_on(stop: &CancellationToken) -> Result<(), ClusterError> {
    if stop.is_cancelled() { Err(ClusterError::Stopped) } else { Ok(()) }
}
