//! What the daemon has done since its start, counted without locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::histogram::Histogram;
use crate::ports::{Measured, Meter};

/// A number that only grows.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    /// One more.
    fn increment(&self) {
        self.add(1);
    }

    /// So many more.
    fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The number now.
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Declares [`Counters`] and the list of its plain numbers, so that none is left out of `status`.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// The counters of one daemon. Each number is exact; between two numbers of one snapshot
        /// calls may have gone on.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* $name: Counter,)+
            /// Time from the arrival of a search to its answer.
            recall_latency: Histogram,
            /// Time from the arrival of a store to its acknowledgement.
            store_latency: Histogram,
        }

        impl Counters {
            fn plain(&self) -> Vec<(String, u64)> {
                vec![$((stringify!($name).to_owned(), self.$name.get()),)+]
            }
        }
    };
}

counters! {
    /// Searches answered.
    recalls,
    /// Memories returned by searches.
    hits,
    /// Searches that returned nothing.
    abstentions,
    /// Searches that were answered without one of the arms.
    recalls_degraded,
    /// Memories stored.
    stores,
    /// Memories that were there already.
    deduplicated,
    /// Memories of which something was redacted.
    redacted,
    /// Memories changed.
    updates,
    /// Memories forgotten.
    forgets,
    /// Usage notes dropped because too many waited.
    usage_notes_dropped,
    /// Tool calls answered with an error.
    tool_errors,
}

impl Counters {
    /// Names and values for `status`: the counters, latencies in microseconds (50, 90 and 99 of a
    /// hundred are at most so long, 0 if there were none).
    fn list(&self) -> Vec<(String, u64)> {
        let mut values = self.plain();
        for (name, histogram) in [("recall", &self.recall_latency), ("store", &self.store_latency)]
        {
            let shares = histogram.percentiles([0.5, 0.9, 0.99]);
            for (share, latency) in ["p50", "p90", "p99"].into_iter().zip(shares) {
                values.push((format!("{name}_{share}_us"), micros(latency)));
            }
        }
        values
    }
}

impl Meter for Counters {
    fn record(&self, event: Measured) {
        match event {
            Measured::Recall { n_hits, elapsed, degraded } => {
                self.recalls.increment();
                self.hits.add(n_hits as u64);
                self.abstentions.add(u64::from(n_hits == 0));
                self.recalls_degraded.add(u64::from(degraded));
                self.recall_latency.record(elapsed);
            }
            Measured::Store { n_stored, n_deduplicated, n_redacted, elapsed } => {
                self.stores.add(n_stored as u64);
                self.deduplicated.add(n_deduplicated as u64);
                self.redacted.add(n_redacted as u64);
                self.store_latency.record(elapsed);
            }
            Measured::Update => self.updates.increment(),
            Measured::Forget { n_forgotten } => self.forgets.add(n_forgotten as u64),
            Measured::UsageNoteDropped => self.usage_notes_dropped.increment(),
            Measured::ToolError => self.tool_errors.increment(),
        }
    }

    fn snapshot(&self) -> Vec<(String, u64)> {
        self.list()
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_snapshot_names_every_counter_once_with_its_value() {
        let counters = Counters::default();
        let elapsed = Duration::from_micros(3);
        counters.record(Measured::Recall { n_hits: 8, elapsed, degraded: false });
        counters.record(Measured::Recall { n_hits: 0, elapsed, degraded: true });
        counters.record(Measured::ToolError);

        let list = counters.snapshot();
        let values: BTreeMap<String, u64> = list.iter().cloned().collect();
        assert_eq!(values.len(), list.len(), "{list:?}");
        for (name, expected) in [
            ("recalls", 2),
            ("abstentions", 1),
            ("recalls_degraded", 1),
            ("hits", 8),
            ("forgets", 0),
            ("recall_p50_us", 3),
            ("store_p99_us", 0),
            ("tool_errors", 1),
        ] {
            assert_eq!(values.get(name), Some(&expected), "{name}");
        }
    }

    #[test]
    fn counts_of_many_threads_add_up() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..1_000 {
                        counters.stores.increment();
                        counters.store_latency.record(Duration::from_micros(n));
                    }
                });
            }
        });
        assert_eq!(counters.stores.get(), 4_000);
        let [half] = counters.store_latency.percentiles([0.5]);
        assert!((499..=639).contains(&micros(half)), "{half:?}");
    }
}
