//! linfa's DBSCAN over a linear search: in hundreds of dimensions its trees cost more than they save.

use linfa::Float;
use linfa::traits::Transformer;
use linfa_clustering::Dbscan;
use linfa_nn::distance::{Distance, L2Dist};
use linfa_nn::{BuildError, LinearSearchIndex, NearestNeighbour, NearestNeighbourIndex, NnError};
use ndarray::{Array2, ArrayBase, ArrayView1, Data, Ix2};
use tokio_util::sync::CancellationToken;

use crate::domain::consolidation::Density;
use crate::domain::embedding::Vector;
use crate::ports::ClusterError;

/// The labels of unit vectors of one length. Their cosine distance is half the square of the
/// Euclidean one.
pub(super) fn labels(
    vectors: &[Vector],
    density: Density,
    stop: &CancellationToken,
) -> Result<Vec<Option<usize>>, ClusterError> {
    let dimension = vectors.first().map_or(0, |vector| vector.len());
    let flat = vectors.iter().flat_map(|vector| vector.iter().copied()).collect();
    let points = Array2::from_shape_vec((vectors.len(), dimension), flat)
        .map_err(|error| ClusterError::Failed(error.to_string()))?;
    #[expect(clippy::cast_possible_truncation, reason = "linfa has one type for all its numbers")]
    let reach = (2.0 * density.eps).sqrt() as f32;
    let labels = Dbscan::params_with(density.min_points, L2Dist, Stoppable(stop.clone()))
        .tolerance(reach)
        .transform(&points)
        .map_err(|error| ClusterError::Failed(error.to_string()))?;
    if stop.is_cancelled() { Err(ClusterError::Stopped) } else { Ok(labels.to_vec()) }
}

/// A linear search that finds nothing any more once it is to stop: what is left then ends at once.
#[derive(Debug)]
struct Stoppable(CancellationToken);

impl NearestNeighbour for Stoppable {
    fn from_batch_with_leaf_size<'a, F: Float, DT: Data<Elem = F>, D: 'a + Distance<F>>(
        &self,
        batch: &'a ArrayBase<DT, Ix2>,
        _leaf_size: usize,
        dist_fn: D,
    ) -> Result<Box<dyn 'a + Send + Sync + NearestNeighbourIndex<F>>, BuildError> {
        let search = LinearSearchIndex::new(batch, dist_fn)?;
        Ok(Box::new(StoppableIndex { search, stop: self.0.clone() }))
    }
}

struct StoppableIndex<'a, F: Float, D: Distance<F>> {
    search: LinearSearchIndex<'a, F, D>,
    stop: CancellationToken,
}

type Neighbours<'a, F> = Result<Vec<(ArrayView1<'a, F>, usize)>, NnError>;

impl<F: Float, D: Distance<F>> NearestNeighbourIndex<F> for StoppableIndex<'_, F, D> {
    fn k_nearest(&self, point: ArrayView1<'_, F>, k: usize) -> Neighbours<'_, F> {
        self.search.k_nearest(point, k)
    }

    fn within_range(&self, point: ArrayView1<'_, F>, range: F) -> Neighbours<'_, F> {
        if self.stop.is_cancelled() {
            return Ok(Vec::new());
        }
        self.search.within_range(point, range)
    }
}
