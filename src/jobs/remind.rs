//! The loop of the reminders: carries on what is due, and has messages brought to the sinks.
//!
//! It is no job of the scheduler, since it waits for no turn: what is due is told when the clock reads
//! that time. Sinks do not wait for one another; each has one message under way at most. Nothing
//! depends on when the loop looks, only what is told late.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::domain::limits::{
    CLOCK_STEP_MIN, REMINDER_LOOK_EVERY, REMINDER_LOOK_PAUSE, REMINDER_STOP_WAIT,
    REMINDER_TRIM_EVERY,
};
use crate::ports::{Clock, StoreError};
use crate::service::{Service, ServiceError};

/// What the loop lives on.
pub struct Reminding {
    /// The use cases.
    pub service: Arc<Service>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ends it.
    pub stop: CancellationToken,
}

/// A round at a sink that has ended.
struct Round {
    /// The sink.
    name: String,
    /// What [`Looks::n_changes`] was when it began.
    n_changes: u64,
    /// When there is more to do.
    next: Result<Option<Timestamp>, ServiceError>,
}

/// When the sinks are looked at again.
#[derive(Default)]
struct Looks {
    /// How often there was something new for any of them.
    n_changes: u64,
    /// The time of each; `None`: while a round is under way.
    next: BTreeMap<String, Option<Timestamp>>,
}

impl Looks {
    /// Has every sink looked at: at once, or when its round has ended.
    fn anew(&mut self) {
        self.n_changes += 1;
        self.next.retain(|_, look| look.is_none());
    }

    /// Notes that a round has ended. What is new since it began, it may have missed.
    fn end(&mut self, name: String, n_changes: u64, next: Timestamp) {
        if n_changes == self.n_changes {
            self.next.insert(name, Some(next));
        } else {
            self.next.remove(&name);
        }
    }
}

impl Reminding {
    /// Runs until it is told to stop, and then until messages under way have an outcome, at most
    /// [`REMINDER_STOP_WAIT`]. `asked` is awaited between two looks and may end whenever it wants:
    /// whoever watches over the daemon sees that this loop goes round.
    pub async fn live(&self, asked: impl Fn() -> BoxFuture<'static, ()>) {
        let mut rounds: FuturesUnordered<BoxFuture<'_, Round>> = FuturesUnordered::new();
        let mut looks = Looks::default();
        let mut beat = Beat::new(&*self.clock);
        let mut is_begun = false;
        while !self.stop.is_cancelled() {
            is_begun = is_begun || self.begin().await;
            let wait = if is_begun {
                self.look(&mut beat, &mut looks, &mut rounds).await
            } else {
                REMINDER_LOOK_EVERY
            };
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = asked() => {}
                Some(Round { name, n_changes, next }) = rounds.next(), if !rounds.is_empty() => {
                    let next = self.after(&name, next);
                    looks.end(name, n_changes, next);
                }
                key = self.service.acknowledged() => {
                    if let Err(error) = self.service.acknowledge_message(key).await {
                        tracing::warn!(%error, "acknowledgement lost");
                    }
                }
                () = self.service.reminders_changed() => looks.anew(),
                () = tokio::time::sleep(wait) => {}
            }
        }
        let ending = async { while rounds.next().await.is_some() {} };
        if tokio::time::timeout(REMINDER_STOP_WAIT, ending).await.is_err() {
            tracing::warn!("messages were still under way");
        }
    }

    /// Takes up what the last process left; whether that was done.
    async fn begin(&self) -> bool {
        match self.service.take_over_reminders(self.clock.now()).await {
            Ok(_) => true,
            Err(error) => {
                tell_waiting(&error, None);
                false
            }
        }
    }

    /// Carries on what is due and starts rounds; gives the time until there is more to do.
    async fn look<'a>(
        &'a self,
        beat: &mut Beat,
        looks: &mut Looks,
        rounds: &mut FuturesUnordered<BoxFuture<'a, Round>>,
    ) -> Duration {
        let now = self.clock.now();
        let latest = later(now, REMINDER_LOOK_EVERY);
        if let Err(error) = self.carry_on(beat, looks, now).await {
            tell_waiting(&error, None);
            return REMINDER_LOOK_EVERY;
        }
        let waiting = match self.service.waiting_sinks().await {
            Ok(waiting) => waiting,
            Err(error) => {
                tell_waiting(&error, None);
                return REMINDER_LOOK_EVERY;
            }
        };
        let mut next = latest;
        for name in waiting {
            match looks.next.get(&name) {
                // One round at a time.
                Some(None) => continue,
                Some(Some(at)) if *at > now => {
                    next = next.min(*at);
                    continue;
                }
                Some(Some(_)) | None => {}
            }
            looks.next.insert(name.clone(), None);
            let n_changes = looks.n_changes;
            rounds.push(Box::pin(async move {
                let next = self.service.deliver_to(&name, &self.stop).await;
                Round { name, n_changes, next }
            }));
        }
        if let Ok(Some(wake)) = self.service.next_reminder_wake().await {
            next = next.min(wake);
        }
        Duration::try_from(next.duration_since(now)).unwrap_or_default().max(REMINDER_LOOK_PAUSE)
    }

    async fn carry_on(
        &self,
        beat: &mut Beat,
        looks: &mut Looks,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        if let Some(step) = beat.step(&*self.clock) {
            tracing::debug!(step_s = step.as_secs(), "every reminder is looked at");
            self.service.review_reminders(now).await?;
            looks.anew();
        }
        if self.service.reopen_sinks().await? {
            looks.anew();
        }
        let advanced = self.service.advance_reminders(now).await?;
        if advanced.n_told > 0 {
            looks.anew();
        }
        if advanced.n_skipped > 0 {
            tracing::info!(n_items = advanced.n_skipped, "occurrences not told");
        }
        if beat.is_time_to_trim(&*self.clock) {
            let n_items = self.service.trim_reminders().await?;
            tracing::debug!(n_items, "old reminders and messages removed");
        }
        Ok(())
    }

    /// When a sink is to be looked at after a round.
    fn after(&self, name: &str, round: Result<Option<Timestamp>, ServiceError>) -> Timestamp {
        let latest = later(self.clock.now(), REMINDER_LOOK_EVERY);
        match round {
            Ok(next) => next.unwrap_or(latest),
            Err(error) => {
                tell_waiting(&error, Some(name));
                latest
            }
        }
    }
}

/// How the clock goes.
struct Beat {
    /// Wall clock less monotonic time, when it was last looked at.
    offset: SignedDuration,
    trimmed: Option<Duration>,
}

impl Beat {
    fn new(clock: &dyn Clock) -> Self {
        Self { offset: offset(clock), trimmed: None }
    }

    /// By how much the clock was set, or the machine slept, since the last look.
    fn step(&mut self, clock: &dyn Clock) -> Option<SignedDuration> {
        let before = std::mem::replace(&mut self.offset, offset(clock));
        let step = self.offset.saturating_sub(before);
        (step.unsigned_abs() >= CLOCK_STEP_MIN).then_some(step)
    }

    fn is_time_to_trim(&mut self, clock: &dyn Clock) -> bool {
        let now = clock.monotonic();
        let is_time =
            self.trimmed.is_none_or(|last| now.saturating_sub(last) >= REMINDER_TRIM_EVERY);
        if is_time {
            self.trimmed = Some(now);
        }
        is_time
    }
}

/// Says what those of one sink, or all, wait for. A store that is closed waits for nobody: the daemon
/// stops.
fn tell_waiting(error: &ServiceError, sink: Option<&str>) {
    if matches!(error, ServiceError::Store(StoreError::Closed)) {
        tracing::debug!(%error, sink, "reminders end with the store");
    } else {
        tracing::warn!(%error, sink, "reminders wait for the store");
    }
}

fn offset(clock: &dyn Clock) -> SignedDuration {
    let passed = SignedDuration::try_from(clock.monotonic()).unwrap_or(SignedDuration::MAX);
    clock.now().duration_since(Timestamp::UNIX_EPOCH).saturating_sub(passed)
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is logged of a failure.
    fn logged(error: &ServiceError, sink: Option<&str>) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .finish();
        tracing::subscriber::with_default(subscriber, || tell_waiting(error, sink));
        String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn a_round_that_fails_is_told_with_the_name_of_its_sink() {
        let broken = ServiceError::Store(StoreError::Io("broken".to_owned()));
        let line = logged(&broken, Some("team"));
        assert!(line.contains("WARN") && line.contains("sink=\"team\""), "{line}");
        let line = logged(&broken, None);
        assert!(line.contains("WARN") && !line.contains("sink"), "{line}");
        let line = logged(&ServiceError::Store(StoreError::Closed), Some("team"));
        assert!(line.contains("DEBUG") && line.contains("sink=\"team\""), "{line}");
    }
}
