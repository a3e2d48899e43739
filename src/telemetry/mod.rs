//! Tracing set-up and counters.
//!
//! Log lines go to stderr, which belongs to the journal or the terminal; stdout is never written to,
//! since it carries the protocol in the bridge. What a line may hold is decided where it is written:
//! never content of memories above TRACE, never a token.

mod counters;
mod events;
mod file;
mod fold;
mod histogram;
mod journal;
mod logging;
mod panics;

pub use counters::Counters;
pub use events::{EVENTS, LogEvent};
pub use file::FileSettings;
pub use logging::{Log, LogSettings, LogWorker, TelemetryError, install};
pub use panics::log_panics;
