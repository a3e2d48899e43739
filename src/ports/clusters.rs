//! The search for clusters.

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::domain::consolidation::Density;
use crate::domain::embedding::Vector;
use crate::domain::id::MemoryId;

/// Why points could not be searched for clusters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// A vector is not one that a model makes.
    #[error("the vector of {id} cannot be clustered: {reason}")]
    Vector {
        /// Of which memory.
        id: MemoryId,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// More than [`CLUSTER_POINTS_MAX`](crate::domain::limits::CLUSTER_POINTS_MAX).
    #[error("{0} points are too many to be clustered at once")]
    TooMany(usize),
    /// Not the numbers of a density.
    #[error(
        "no clusters are defined by eps {0} and min_points {1}: expected a distance above 0 and at least 2"
    )]
    Density(String, usize),
    /// It was told to stop.
    #[error("the search for clusters was stopped")]
    Stopped,
    /// It broke down.
    #[error("the search for clusters failed: {0}")]
    Failed(String),
}

/// Finds where vectors lie close together (DBSCAN, Ester et al. 1996).
pub trait Clusterer: Send + Sync {
    /// The cluster of each point, in the order given; `None`: noise. Vectors are of one space and have
    /// length 1. The same points get the same labels whatever their order: clusters are numbered from
    /// 0 by the least id among their cores, and a point in reach of several clusters, but no core
    /// itself, belongs to the first of them.
    ///
    /// # Errors
    /// Nothing is labelled if any vector is not finite, not of length 1 or not as long as the others;
    /// [`ClusterError::Stopped`] soon after `stop` was cancelled.
    fn cluster(
        &self,
        points: Vec<(MemoryId, Vector)>,
        density: Density,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<Vec<Option<usize>>, ClusterError>>;
}
