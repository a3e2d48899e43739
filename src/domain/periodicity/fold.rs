//! Times folded onto a period, as angles on a circle.

use std::f64::consts::TAU;

/// Where on a period times come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fold {
    /// Mean resultant length, 0.0..=1.0.
    pub(super) concentration: f64,
    /// The mean place, in seconds, 0 to the period.
    pub(super) place: i64,
    /// Circular standard deviation, in seconds.
    pub(super) spread: i64,
}

impl Fold {
    /// Folds seconds onto a period of seconds; `None` for no times.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "places and spreads are within a period, far below 2^53"
    )]
    pub(super) fn of(seconds: &[i64], period: i64) -> Option<Self> {
        if seconds.is_empty() || period <= 0 {
            return None;
        }
        let scale = TAU / period as f64;
        let (sine, cosine) = seconds
            .iter()
            .map(|second| (second.rem_euclid(period) as f64 * scale).sin_cos())
            .fold((0.0, 0.0), |sum: (f64, f64), (sine, cosine)| (sum.0 + sine, sum.1 + cosine));
        let n = seconds.len() as f64;
        let concentration = (sine.hypot(cosine) / n).clamp(0.0, 1.0);
        let place = (sine.atan2(cosine).rem_euclid(TAU) / scale).round() as i64;
        // Mardia and Jupp, equation 2.3.14; bounded, since its logarithm is not.
        let deviation = (-2.0 * concentration.max(1e-9).ln()).max(0.0).sqrt() / scale;
        let spread = deviation.min(period as f64).round() as i64;
        Some(Self { concentration, place: place.rem_euclid(period), spread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_on_both_sides_of_midnight_are_near_each_other() {
        let fold = Fold::of(&[86_100, 300], 86_400).unwrap();
        assert_eq!(fold.place, 0);
        assert!(fold.concentration > 0.99, "{fold:?}");
        assert_eq!(fold.spread, 300);
    }

    #[test]
    fn times_anywhere_have_no_concentration() {
        let hours: Vec<i64> = (0..24).map(|hour| hour * 3_600).collect();
        let fold = Fold::of(&hours, 86_400).unwrap();
        assert!(fold.concentration < 1e-9, "{fold:?}");
        assert_eq!(Fold::of(&[], 86_400), None);
    }
}
