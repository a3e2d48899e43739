//! What the daemon has done since its start, counted without locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::histogram::Histogram;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn increment(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The number now.
    pub fn get(&self) -> u64 {
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
            $($(#[$doc])* pub $name: Counter,)+
            /// Time from the arrival of a search to its answer.
            pub recall_latency: Histogram,
            /// Time from the arrival of a store to its acknowledgement.
            pub store_latency: Histogram,
            tools: Vec<ToolCounters>,
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
    /// Searches that returned nothing because all stayed below the threshold.
    abstentions,
    /// Searches in which the vector arm missed the deadline or was down.
    vector_arm_missing,
    /// Searches in which the text arm missed the deadline or was down.
    text_arm_missing,
    /// Memories stored.
    stores,
    /// Memories that were there already.
    deduplicated,
    /// Memories that replaced another.
    superseded,
    /// Memories stored before their vectors were ready.
    stored_without_vectors,
    /// Memories changed.
    updates,
    /// Memories forgotten.
    forgets,
    /// Usage notes dropped because too many waited.
    usage_notes_dropped,
    /// Connections accepted.
    connections,
    /// Connections refused: uid, token or limit.
    connections_refused,
    /// Calls refused because too many were in flight.
    calls_refused,
}

/// Calls of one tool.
#[derive(Debug)]
pub struct ToolCounters {
    name: &'static str,
    /// Calls answered, with errors.
    pub calls: Counter,
    /// Calls answered with an error.
    pub errors: Counter,
}

impl Counters {
    /// All zero, with a pair of counters for each of these tools.
    pub fn new(tools: &[&'static str]) -> Self {
        let tools = tools.iter().map(|name| ToolCounters {
            name,
            calls: Counter::default(),
            errors: Counter::default(),
        });
        Self { tools: tools.collect(), ..Self::default() }
    }

    /// The counters of a tool; `None` if it was not named at the start.
    pub fn tool(&self, name: &str) -> Option<&ToolCounters> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Names and values for `status`: the counters, latencies in microseconds (50, 90 and 99 of a
    /// hundred are at most so long, 0 if there were none), then the calls of each tool.
    pub fn snapshot(&self) -> Vec<(String, u64)> {
        let mut values = self.plain();
        for (name, histogram) in [("recall", &self.recall_latency), ("store", &self.store_latency)]
        {
            let shares = histogram.percentiles([0.5, 0.9, 0.99]);
            for (share, latency) in ["p50", "p90", "p99"].into_iter().zip(shares) {
                values.push((format!("{name}_{share}_us"), micros(latency)));
            }
        }
        for tool in &self.tools {
            values.push((format!("calls.{}", tool.name), tool.calls.get()));
            values.push((format!("errors.{}", tool.name), tool.errors.get()));
        }
        values
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
        let counters = Counters::new(&["memory_store", "memory_search"]);
        counters.recalls.increment();
        counters.hits.add(8);
        counters.recall_latency.record(Duration::from_micros(3));
        let search = counters.tool("memory_search").unwrap();
        search.calls.add(2);
        search.errors.increment();
        assert!(counters.tool("memory_fly").is_none());

        let list = counters.snapshot();
        let values: BTreeMap<String, u64> = list.iter().cloned().collect();
        assert_eq!(values.len(), list.len(), "{list:?}");
        for (name, expected) in [
            ("recalls", 1),
            ("hits", 8),
            ("forgets", 0),
            ("recall_p50_us", 3),
            ("store_p99_us", 0),
            ("calls.memory_search", 2),
            ("errors.memory_search", 1),
            ("errors.memory_store", 0),
        ] {
            assert_eq!(values.get(name), Some(&expected), "{name}");
        }
    }

    #[test]
    fn counts_of_many_threads_add_up() {
        let counters = Counters::new(&[]);
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
