//! Warnings and errors that say the same again and again become one line a minute with their number.
//!
//! What counts as the same: the same place in the code with the same texts in its fields; numbers
//! (times, counts, uids) do not count. Anybody who may connect can cause warnings, so this is also
//! what keeps a noisy client from filling the journal.

use std::collections::HashMap;
use std::fmt::{Debug, Write as _};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::ports::Clock;

/// Time during which repetitions are counted instead of written.
const WINDOW: Duration = Duration::from_mins(1);
/// Most different events that are watched for repetition; more pass as they come.
const EVENTS_MAX: usize = 256;

/// An event that was repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repeated {
    /// Its message.
    pub(super) event: String,
    /// Whether it is an error, not a warning.
    pub(super) is_error: bool,
    /// How often it came after the line that was written.
    pub(super) n_times: u64,
}

struct Seen {
    since: Duration,
    repeated: Repeated,
}

/// What was seen, shared by the layer and the handle on the log.
pub(super) struct Folded {
    clock: Arc<dyn Clock>,
    seen: Mutex<HashMap<u64, Seen>>,
    n_held_back: AtomicU64,
    last_error: Mutex<Option<(Timestamp, String)>>,
}

impl Folded {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            seen: Mutex::default(),
            n_held_back: AtomicU64::new(0),
            last_error: Mutex::default(),
        }
    }

    /// Lines that were not written.
    pub(super) fn n_folded(&self) -> u64 {
        self.n_held_back.load(Ordering::Relaxed)
    }

    /// When the last error was, and its message.
    pub(super) fn last_error(&self) -> Option<(Timestamp, String)> {
        lock(&self.last_error).clone()
    }

    /// What was repeated since the last call; forgets what has not come again.
    pub(super) fn take(&self) -> Vec<Repeated> {
        let now = self.clock.monotonic();
        let mut repeated = Vec::new();
        lock(&self.seen).retain(|_, seen| {
            if seen.repeated.n_times > 0 {
                repeated.push(seen.repeated.clone());
                seen.repeated.n_times = 0;
                seen.since = now;
                return true;
            }
            now.saturating_sub(seen.since) < WINDOW
        });
        repeated.sort_by(|a, b| a.event.cmp(&b.event));
        repeated
    }

    /// Whether an event is to be written.
    fn admit(&self, event: &Event<'_>) -> bool {
        let mut fields = Fields::default();
        event.metadata().callsite().hash(&mut fields.hash);
        event.record(&mut fields);
        let is_error = *event.metadata().level() == Level::ERROR;
        if is_error {
            *lock(&self.last_error) = Some((self.clock.now(), fields.message.clone()));
        }
        let now = self.clock.monotonic();
        let mut all = lock(&self.seen);
        let n_events = all.len();
        match all.get_mut(&fields.hash.finish()) {
            Some(seen) if now.saturating_sub(seen.since) < WINDOW => {
                seen.repeated.n_times += 1;
                self.n_held_back.fetch_add(1, Ordering::Relaxed);
                false
            }
            Some(seen) => {
                seen.since = now;
                true
            }
            None => {
                if n_events < EVENTS_MAX {
                    let repeated = Repeated { event: fields.message, is_error, n_times: 0 };
                    all.insert(fields.hash.finish(), Seen { since: now, repeated });
                }
                true
            }
        }
    }
}

/// The texts of an event.
#[derive(Default)]
struct Fields {
    hash: DefaultHasher,
    message: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        let written = write!(text, "{value:?}");
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        field.name().hash(&mut self.hash);
        text.hash(&mut self.hash);
        if field.name() == "message" {
            self.message = text;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        field.name().hash(&mut self.hash);
        value.hash(&mut self.hash);
    }

    fn record_f64(&mut self, _: &Field, _: f64) {}

    fn record_i64(&mut self, _: &Field, _: i64) {}

    fn record_u64(&mut self, _: &Field, _: u64) {}
}

/// The layer that keeps repetitions back. What the log says of itself (`own` target) passes.
pub(super) struct Fold {
    pub(super) folded: Arc<Folded>,
    pub(super) own: &'static str,
}

impl<S: Subscriber> Layer<S> for Fold {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        *metadata.level() > Level::WARN || metadata.target() == self.own || self.folded.admit(event)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
