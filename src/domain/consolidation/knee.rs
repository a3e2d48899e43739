//! The eps that the data itself suggests.
//!
//! The distances of all points to their k-th neighbour, in order, rise slowly inside clusters and
//! steeply among noise; the bend between the two is a good eps (Ester et al. 1996, section 4.2). It is
//! where the curve lies farthest below its chord (Satopaa et al. 2011).

use super::Item;
use crate::domain::limits::KNEE_SAMPLE_MAX;

/// Fewest points whose curve says anything.
const POINTS_MIN: usize = 20;

/// The distance at the knee, on the scale of the vectors; neighbours are of one namespace and kind.
/// `None` if there are too few points, or no bend. Of many points every so manyth is asked, in the
/// order given.
pub fn suggest_eps(items: &[Item], min_points: usize) -> Option<f64> {
    let step = items.len().div_ceil(KNEE_SAMPLE_MAX).max(1);
    // The point itself is one of the `min_points`.
    let k = min_points.max(2) - 1;
    let mut curve: Vec<f64> =
        items.iter().step_by(step).filter_map(|item| kth_distance(items, item, k)).collect();
    curve.sort_by(f64::total_cmp);
    knee(&curve)
}

fn kth_distance(items: &[Item], item: &Item, k: usize) -> Option<f64> {
    let mut distances: Vec<f64> = items
        .iter()
        .filter(|other| {
            other.id != item.id && other.kind == item.kind && other.namespace == item.namespace
        })
        .map(|other| item.distance(other))
        .collect();
    let last = k.checked_sub(1).filter(|last| *last < distances.len())?;
    let (_, kth, _) = distances.select_nth_unstable_by(last, f64::total_cmp);
    kth.is_finite().then_some(*kth)
}

fn knee(curve: &[f64]) -> Option<f64> {
    let (first, last) = (*curve.first()?, *curve.last()?);
    if curve.len() < POINTS_MIN || last <= first {
        return None;
    }
    let run = (curve.len() - 1) as f64;
    let below = |at: usize, y: f64| at as f64 / run - (y - first) / (last - first);
    let (_, knee) = curve
        .iter()
        .enumerate()
        .map(|(at, y)| (below(at, *y), *y))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .filter(|(depth, _)| *depth > 0.0)?;
    Some(knee)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_lies_where_the_curve_begins_to_rise() {
        let mut curve: Vec<f64> = (0..80).map(|at| 0.2 + f64::from(at) * 0.001).collect();
        curve.extend((0..20).map(|at| 0.3 + f64::from(at) * 0.03));
        let found = knee(&curve).unwrap();
        assert!((0.27..=0.31).contains(&found), "{found}");
    }

    #[test]
    fn a_straight_flat_or_short_curve_has_none() {
        assert_eq!(knee(&[0.5; 100]), None);
        assert_eq!(knee(&[0.1, 0.2, 0.9]), None);
        let bulging: Vec<f64> = (0..50).map(|at| f64::from(at).sqrt()).collect();
        assert_eq!(knee(&bulging), None);
    }
}
