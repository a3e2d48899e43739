//! Clusters by density: linfa's DBSCAN where it is practical, the same over int8 rows above.
//!
//! linfa compares every point with every other in f32; the form in `coded` gives the same labels for
//! less (`examples/cluster_quality.rs` prints both costs). Both see the points in order of ids, on a
//! thread that may block, and look between queries whether they are to stop.

mod coded;
mod exact;

#[cfg(test)]
mod tests;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::domain::consolidation::Density;
use crate::domain::embedding::{Vector, dot};
use crate::domain::id::MemoryId;
use crate::domain::limits::CLUSTER_POINTS_MAX;
use crate::ports::{ClusterError, Clusterer};

/// How far the square of a vector's length may be from 1 (models round, and some store halves).
const LENGTH_SLACK: f32 = 0.02;

/// DBSCAN in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DensityClusterer {
    /// Points up to which linfa is used; 0: never.
    pub exact_max: usize,
}

impl Clusterer for DensityClusterer {
    fn cluster(
        &self,
        points: Vec<(MemoryId, Vector)>,
        density: Density,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<Vec<Option<usize>>, ClusterError>> {
        // A caller that gives up by dropping this stops the thread too.
        let stop = stop.child_token();
        let guard = stop.clone().drop_guard();
        let exact_max = self.exact_max;
        let work = move || label(&points, density, exact_max, &stop);
        Box::pin(async move {
            let labels = tokio::task::spawn_blocking(work).await;
            drop(guard);
            labels.unwrap_or_else(|error| Err(ClusterError::Failed(error.to_string())))
        })
    }
}

fn label(
    points: &[(MemoryId, Vector)],
    density: Density,
    exact_max: usize,
    stop: &CancellationToken,
) -> Result<Vec<Option<usize>>, ClusterError> {
    check(points, density)?;
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by_key(|at| points.get(*at).map(|(id, _)| *id));
    let vectors: Vec<Vector> =
        order.iter().filter_map(|at| points.get(*at)).map(|(_, vector)| vector.clone()).collect();
    let sorted = if vectors.len() <= exact_max {
        exact::labels(&vectors, density, stop)
    } else {
        coded::labels(&vectors, density, stop)
    }?;
    let mut labels = vec![None; points.len()];
    for (at, label) in order.into_iter().zip(sorted) {
        if let Some(place) = labels.get_mut(at) {
            *place = label;
        }
    }
    Ok(labels)
}

fn check(points: &[(MemoryId, Vector)], density: Density) -> Result<(), ClusterError> {
    if !density.eps.is_finite() || density.eps <= 0.0 || density.min_points < 2 {
        return Err(ClusterError::Density(density.eps.to_string(), density.min_points));
    }
    if points.len() > CLUSTER_POINTS_MAX {
        return Err(ClusterError::TooMany(points.len()));
    }
    let dimension = points.first().map_or(0, |(_, vector)| vector.len());
    for (id, vector) in points {
        let square = dot(vector, vector);
        let reason = if vector.len() != dimension {
            "it is not as long as the others"
        } else if !square.is_finite() {
            "it is not finite"
        } else if (square - 1.0).abs() > LENGTH_SLACK {
            "its length is not 1"
        } else {
            continue;
        };
        return Err(ClusterError::Vector { id: *id, reason });
    }
    Ok(())
}
