//! Durations in fixed buckets of logarithmic width, without locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Buckets in each doubling; the widest is a quarter of its lower edge.
const STEPS: u64 = 4;
/// [`STEPS`] for each bit up to the 35th, which is 2^36 us, about 19 hours; what is longer counts as
/// that.
const N_BUCKETS: usize = 140;

/// Counts durations from 1 microsecond to 19 hours; percentiles are at most a quarter too high.
#[derive(Debug)]
pub(super) struct Histogram {
    buckets: [AtomicU64; N_BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Histogram {
    /// Counts one duration.
    pub(super) fn record(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        if let Some(bucket) = self.buckets.get(bucket_of(micros)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The durations that these shares (0.0..=1.0) of all recorded ones do not exceed: the upper
    /// edges of their buckets, zero if nothing was recorded. All are of one reading.
    pub(super) fn percentiles<const N: usize>(&self, shares: [f64; N]) -> [Duration; N] {
        let counts = self.buckets.each_ref().map(|bucket| bucket.load(Ordering::Relaxed));
        let total: u64 = counts.iter().sum();
        shares.map(|share| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a count is a count"
            )]
            let rank = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
            let mut seen = 0;
            let bucket = counts.iter().position(|count| {
                seen += count;
                seen >= rank
            });
            bucket.map_or(Duration::ZERO, |bucket| Duration::from_micros(upper_edge(bucket)))
        })
    }
}

/// Values below [`STEPS`] have a bucket each; above, the position of the highest bit and the two
/// bits after it make the bucket.
fn bucket_of(micros: u64) -> usize {
    if micros < STEPS {
        return usize::try_from(micros).unwrap_or(0);
    }
    let doubling = u64::from(micros.ilog2());
    let step = (micros >> (doubling - 2)) & (STEPS - 1);
    let bucket = (doubling - 1) * STEPS + step;
    usize::try_from(bucket).unwrap_or(usize::MAX).min(N_BUCKETS - 1)
}

/// The highest value that falls into a bucket, microseconds.
fn upper_edge(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let (doubling, step) = (bucket / STEPS + 1, bucket % STEPS);
    ((STEPS + step + 1) << (doubling - 2)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_lies_in_the_bucket_with_the_lowest_edge_that_holds_it() {
        let near_powers = (0..36).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power.saturating_sub(1), power, power + 1, power + power / 3]
        });
        for micros in (0..5_000).chain(near_powers) {
            let bucket = bucket_of(micros);
            assert!(micros <= upper_edge(bucket), "{micros}");
            assert!(bucket == 0 || micros > upper_edge(bucket - 1), "{micros}");
            assert!(upper_edge(bucket) as f64 <= micros as f64 * 1.25 + 1.0, "{micros}");
        }
        assert_eq!(bucket_of(u64::MAX), N_BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_upper_edges_at_their_rank() {
        let histogram = Histogram::default();
        assert_eq!(histogram.percentiles([0.5, 0.99]), [Duration::ZERO; 2]);
        for millis in 1..=100 {
            histogram.record(Duration::from_millis(millis));
        }
        let exact = [50_000.0, 90_000.0, 99_000.0, 100_000.0];
        let measured = histogram.percentiles([0.5, 0.9, 0.99, 1.0]);
        for (measured, exact) in measured.map(|found| found.as_micros() as f64).iter().zip(exact) {
            assert!((exact..=exact * 1.25).contains(measured), "{measured} for {exact}");
        }
    }

    #[test]
    fn durations_beyond_the_last_bucket_are_counted_in_it() {
        let histogram = Histogram::default();
        histogram.record(Duration::MAX);
        let [longest] = histogram.percentiles([1.0]);
        assert!(longest > Duration::from_hours(19), "{longest:?}");
    }
}
