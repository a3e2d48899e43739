//! Both forms against each other, and against what DBSCAN is defined to give.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::domain::measure::adjusted_rand_index;

const DENSITY: Density = Density { eps: 0.3, min_points: 4 };

/// Numbers that follow from a seed (`SplitMix64`, Steele et al. 2014).
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    /// A vector of length 1 near `centre`.
    fn near(&mut self, centre: &[f32], noise: f32) -> Vector {
        let mut normal =
            || (0..6).map(|_| (self.next() >> 40) as f32 / (1 << 24) as f32).sum::<f32>() - 3.0;
        unit(&centre.iter().map(|x| x + noise * normal()).collect::<Vec<f32>>())
    }

    /// Topics of very different sizes with noise among them.
    fn topics(&mut self, n: usize, dimension: usize) -> Vec<(MemoryId, Vector)> {
        let origin = vec![0.0; dimension];
        let centres: Vec<Vector> = (0..=n / 20).map(|_| self.near(&origin, 1.0)).collect();
        (0..n)
            .map(|_| {
                let centre = &centres[self.below(centres.len()).min(self.below(centres.len()))];
                let noise = [0.02, 0.04, 0.06, 0.3][self.below(4)];
                let vector = self.near(&Arc::clone(centre), noise);
                (MemoryId::from_u128(u128::from(self.next())), vector)
            })
            .collect()
    }
}

fn unit(vector: &[f32]) -> Vector {
    let length = dot(vector, vector).sqrt();
    vector.iter().map(|x| x / length).collect()
}

fn run(points: &[(MemoryId, Vector)], density: Density, exact_max: usize) -> Vec<Option<usize>> {
    label(points, density, exact_max, &CancellationToken::new()).unwrap()
}

fn on_circle(degrees: &[f32]) -> Vec<(MemoryId, Vector)> {
    let vector = |angle: f32| Arc::from([angle.to_radians().cos(), angle.to_radians().sin()]);
    (0..).zip(degrees).map(|(id, angle)| (MemoryId::from_u128(id), vector(*angle))).collect()
}

#[test]
fn the_scalable_form_agrees_with_linfa() {
    let seed = 20_261_130;
    let points = Seeded(seed).topics(1_200, 96);
    let exact = run(&points, DENSITY, usize::MAX);
    let coded = run(&points, DENSITY, 0);
    let n_clusters = exact.iter().flatten().max().unwrap() + 1;
    let n_noise = exact.iter().filter(|label| label.is_none()).count();
    assert!(n_clusters > 10 && n_noise > 50, "{n_clusters} clusters, {n_noise} noise");
    let agreement = adjusted_rand_index(&exact, &coded);
    assert!(agreement >= 0.999, "seed {seed}: {agreement}");
}

#[test]
fn clusters_are_numbered_by_their_first_core_and_a_border_goes_to_the_first_in_reach() {
    // Neighbours are less than 8 degrees apart. The point at 15.5 reaches 8.5 and 22.5, and is no core.
    let density = Density { eps: 1.0 - f64::from(8_f32.to_radians().cos()), min_points: 4 };
    let degrees = [15.5, 22.5, 24.0, 26.0, 27.0, 4.0, 6.0, 7.0, 8.5, 90.0];
    let expected =
        [Some(0), Some(0), Some(0), Some(0), Some(0), Some(1), Some(1), Some(1), Some(1), None];
    for exact_max in [0, 100] {
        assert_eq!(run(&on_circle(&degrees), density, exact_max), expected, "{exact_max}");
    }
}

#[test]
fn few_points_are_noise_and_equal_ones_a_cluster() {
    for exact_max in [0, 100] {
        assert_eq!(run(&[], DENSITY, exact_max), []);
        assert_eq!(run(&on_circle(&[0.0; 3]), DENSITY, exact_max), [None; 3]);
        assert_eq!(run(&on_circle(&[0.0; 4]), DENSITY, exact_max), [Some(0); 4]);
    }
}

#[test]
fn what_cannot_be_clustered_is_an_error_that_names_it() {
    let id = MemoryId::from_u128(7);
    let vector = |values: &[f32]| (id, Arc::from(values));
    for (bad, reason) in [
        (vector(&[f32::NAN, 1.0]), "it is not finite"),
        (vector(&[f32::INFINITY, 0.0]), "it is not finite"),
        (vector(&[0.0, 0.0]), "its length is not 1"),
        (vector(&[1.0, 1.0]), "its length is not 1"),
        (vector(&[1.0]), "it is not as long as the others"),
    ] {
        for exact_max in [0, 100] {
            let mut points = on_circle(&[0.0, 1.0]);
            points.push(bad.clone());
            let found = label(&points, DENSITY, exact_max, &CancellationToken::new());
            assert_eq!(found, Err(ClusterError::Vector { id, reason }));
        }
    }
    for density in [(0.0, 4), (f64::NAN, 4), (0.3, 1)] {
        let density = Density { eps: density.0, min_points: density.1 };
        let found = label(&on_circle(&[0.0]), density, 10, &CancellationToken::new());
        assert!(matches!(found, Err(ClusterError::Density(..))), "{found:?}");
    }
    let too_many = on_circle(&vec![0.0; CLUSTER_POINTS_MAX + 1]);
    let found = label(&too_many, DENSITY, 10, &CancellationToken::new());
    assert_eq!(found, Err(ClusterError::TooMany(CLUSTER_POINTS_MAX + 1)));
}

#[tokio::test]
async fn a_search_that_is_stopped_says_so() {
    for exact_max in [0, 100] {
        let clusterer = DensityClusterer { exact_max };
        let stop = CancellationToken::new();
        let points = on_circle(&[0.0; 50]);
        let found = clusterer.cluster(points.clone(), DENSITY, stop.clone()).await;
        assert_eq!(found, Ok(vec![Some(0); 50]));
        stop.cancel();
        let found = clusterer.cluster(points, DENSITY, stop).await;
        assert_eq!(found, Err(ClusterError::Stopped));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn labels_do_not_depend_on_the_order_and_both_forms_are_one(
        seed in any::<u64>(),
        n in 0..80_usize,
        eps in 0.05..0.8_f64,
        min_points in 2..6_usize,
    ) {
        let density = Density { eps, min_points };
        let mut random = Seeded(seed);
        let points = random.topics(n, 8);
        let labels = run(&points, density, 0);
        prop_assert_eq!(&labels, &run(&points, density, usize::MAX));
        let mut shuffled: Vec<usize> = (0..n).collect();
        for at in (1..n).rev() {
            shuffled.swap(at, random.below(at + 1));
        }
        let again: Vec<_> = shuffled.iter().map(|at| points[*at].clone()).collect();
        for exact_max in [0, usize::MAX] {
            for (at, label) in shuffled.iter().zip(run(&again, density, exact_max)) {
                prop_assert_eq!(labels[*at], label);
            }
        }
    }
}
