//! Tracing set-up and counters.
