//! Complete linkage: a hierarchy of clusters in which two are as far apart as their farthest members,
//! so that a cut at a height bounds the diameter of every cluster.
//!
//! Built by nearest-neighbour chains (Murtagh 1983) in quadratic time and memory; the caller bounds
//! the number of points.

/// Distances of points to each other.
struct Matrix {
    n: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn new(n: usize, distance: &dyn Fn(usize, usize) -> f64) -> Self {
        let mut matrix = Self { n, values: vec![0.0; n * n] };
        for left in 0..n {
            for right in left + 1..n {
                matrix.set(left, right, distance(left, right));
            }
        }
        matrix
    }

    fn at(&self, left: usize, right: usize) -> f64 {
        self.values.get(left * self.n + right).copied().unwrap_or(f64::INFINITY)
    }

    fn set(&mut self, left: usize, right: usize, distance: f64) {
        for at in [left * self.n + right, right * self.n + left] {
            if let Some(value) = self.values.get_mut(at) {
                *value = distance;
            }
        }
    }
}

/// Two clusters became one: a point of each, and how far apart they were.
#[derive(Clone, Copy, Debug)]
struct Merge {
    left: usize,
    right: usize,
    height: f64,
}

/// The hierarchy over points numbered from 0.
pub(super) struct Hierarchy {
    n: usize,
    /// Lowest first.
    merges: Vec<Merge>,
}

impl Hierarchy {
    /// Over `n` points; `distance` is symmetric. Ties go to the lower numbers.
    pub(super) fn new(n: usize, distance: &dyn Fn(usize, usize) -> f64) -> Self {
        let mut matrix = Matrix::new(n, distance);
        let mut alive: Vec<usize> = (0..n).collect();
        let mut chain: Vec<usize> = Vec::new();
        let mut merges = Vec::with_capacity(n.saturating_sub(1));
        while alive.len() > 1 {
            let Some(top) = chain.pop().or_else(|| alive.first().copied()) else { break };
            let before = chain.last().copied();
            let nearest = nearest(&matrix, &alive, top, before);
            match nearest {
                Some(other) if Some(other) == before => {
                    chain.pop();
                    let (left, right) = (top.min(other), top.max(other));
                    merges.push(Merge { left, right, height: matrix.at(left, right) });
                    alive.retain(|cluster| *cluster != right);
                    for cluster in alive.iter().filter(|cluster| **cluster != left) {
                        let farthest = matrix.at(left, *cluster).max(matrix.at(right, *cluster));
                        matrix.set(left, *cluster, farthest);
                    }
                }
                Some(other) => chain.extend([top, other]),
                None => break,
            }
        }
        // Stable, so that of equal heights what was merged first stays first.
        merges.sort_by(|a, b| a.height.total_cmp(&b.height));
        Self { n, merges }
    }

    /// The clusters of which none is wider than `height`, each in ascending order, by first member.
    pub(super) fn cut(&self, height: f64) -> Vec<Vec<usize>> {
        let n_merges = self.merges.iter().take_while(|merge| merge.height <= height).count();
        self.after(n_merges)
    }

    /// The two clusters that were merged last, or all points in one if there are fewer than two.
    pub(super) fn halves(&self) -> Vec<Vec<usize>> {
        self.after(self.merges.len().saturating_sub(1))
    }

    fn after(&self, n_merges: usize) -> Vec<Vec<usize>> {
        let mut clusters: Vec<Vec<usize>> = (0..self.n).map(|point| vec![point]).collect();
        // The number of a cluster is its lowest member: the one that a merge keeps.
        for merge in self.merges.iter().take(n_merges) {
            let moved = clusters.get_mut(merge.right).map(std::mem::take).unwrap_or_default();
            if let Some(kept) = clusters.get_mut(merge.left) {
                kept.extend(moved);
            }
        }
        clusters.retain(|cluster| !cluster.is_empty());
        for cluster in &mut clusters {
            cluster.sort_unstable();
        }
        clusters
    }
}

/// The cluster nearest to `top`; of equally near ones `before`, so that a chain ends, else the first.
fn nearest(matrix: &Matrix, alive: &[usize], top: usize, before: Option<usize>) -> Option<usize> {
    let mut best = before.map(|cluster| (matrix.at(top, cluster), cluster));
    for cluster in alive.iter().copied().filter(|cluster| *cluster != top) {
        let distance = matrix.at(top, cluster);
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, cluster));
        }
    }
    best.map(|(_, cluster)| cluster)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn on_a_line(places: &[f64]) -> Hierarchy {
        Hierarchy::new(places.len(), &|left, right| (places[left] - places[right]).abs())
    }

    #[test]
    fn a_cut_bounds_the_diameter_where_single_linkage_would_chain() {
        let places = [0.0, 1.0, 2.1, 3.0, 10.0, 11.0];
        assert_eq!(on_a_line(&places).cut(1.5), [vec![0, 1], vec![2, 3], vec![4, 5]]);
        assert_eq!(on_a_line(&places).halves(), [vec![0, 1, 2, 3], vec![4, 5]]);
        assert_eq!(on_a_line(&[]).cut(1.0), Vec::<Vec<usize>>::new());
        assert_eq!(on_a_line(&[5.0]).halves(), [vec![0]]);
        assert_eq!(on_a_line(&[5.0; 4]).cut(0.0), [vec![0, 1, 2, 3]]);
    }

    proptest! {
        #[test]
        fn every_cluster_is_narrow_and_no_two_could_be_joined(
            places in prop::collection::vec(0.0..20.0_f64, 0..40),
            height in 0.1..10.0_f64,
        ) {
            let clusters = on_a_line(&places).cut(height);
            let width = |points: &[usize]| {
                let all = points.iter().map(|point| places[*point]);
                all.clone().fold(f64::MIN, f64::max) - all.fold(f64::MAX, f64::min)
            };
            prop_assert_eq!(clusters.iter().map(Vec::len).sum::<usize>(), places.len());
            for (at, cluster) in clusters.iter().enumerate() {
                prop_assert!(width(cluster) <= height);
                for other in &clusters[at + 1..] {
                    prop_assert!(width(&[cluster.as_slice(), other].concat()) > height);
                }
            }
        }
    }
}
