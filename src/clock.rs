//! The only reader of real time and of randomness, and the manual twins that tests use.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use uuid::Uuid;

use crate::domain::id::MemoryId;
use crate::ports::{Clock, Ids};

/// Real time.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

#[expect(clippy::disallowed_methods, reason = "this file is where real time is read")]
impl SystemClock {
    /// A clock whose monotonic time starts now.
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }

    fn read(&self) -> (Timestamp, Duration) {
        (Timestamp::now(), self.start.elapsed())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // Stored times are whole microseconds; reading them so keeps what is answered equal to
        // what is stored.
        let now = self.read().0;
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    fn monotonic(&self) -> Duration {
        self.read().1
    }
}

/// Time that moves only when told.
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<(Timestamp, Duration)>,
}

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { now: Mutex::new((now, Duration::ZERO)) }
    }

    /// Moves both times forward.
    pub fn advance(&self, by: Duration) {
        let mut now = self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        now.0 = now.0.checked_add(by).unwrap_or(Timestamp::MAX);
        now.1 += by;
    }

    /// Sets the wall clock alone, as a person does, and as it looks after the machine has slept.
    pub fn set(&self, to: Timestamp) {
        self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0 = to;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0
    }

    fn monotonic(&self) -> Duration {
        self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner).1
    }
}

/// Ids with random tails from the operating system, in the order in which they were asked for.
#[derive(Debug, Default)]
pub struct RandomIds {
    /// Time and sequence of the last id, so that ids of one millisecond sort by age too.
    last: Mutex<(u64, u128)>,
}

impl Ids for RandomIds {
    /// The 12 bits between time and tail count the ids of a millisecond (RFC 9562, section 6.2,
    /// method 1); when they run out, or the clock went back, the next millisecond is taken.
    fn next_id(&self, now: Timestamp) -> MemoryId {
        let random = Uuid::new_v4().as_u128() ^ Uuid::new_v4().as_u128().rotate_left(64);
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (ms, count) = match *last {
            (ms, count) if ms >= unix_ms(now) && count < 0xfff => (ms, count + 1),
            (ms, _) => (unix_ms(now).max(ms + 1), 0),
        };
        *last = (ms, count);
        drop(last);
        MemoryId::new(ms, count << 62 | random & 0x3fff_ffff_ffff_ffff)
    }
}

/// Ids that follow from a seed and a count.
#[derive(Debug)]
pub struct SeededIds {
    seed: u64,
    count: AtomicU64,
}

impl SeededIds {
    /// The ids of this seed, from the first.
    pub const fn new(seed: u64) -> Self {
        Self { seed, count: AtomicU64::new(0) }
    }
}

impl Ids for SeededIds {
    fn next_id(&self, now: Timestamp) -> MemoryId {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_be_bytes());
        hasher.update(&count.to_be_bytes());
        let mut random = [0; 16];
        hasher.finalize_xof().fill(&mut random);
        MemoryId::new(unix_ms(now), u128::from_be_bytes(random))
    }
}

fn unix_ms(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_ids_repeat_from_their_seed() {
        let now = Timestamp::UNIX_EPOCH;
        let (a, b) = (SeededIds::new(7), SeededIds::new(7));
        let first = a.next_id(now);
        assert_eq!(first, b.next_id(now));
        assert_ne!(first, a.next_id(now));
    }

    #[test]
    fn random_ids_sort_by_age_even_within_a_millisecond_or_when_the_clock_goes_back() {
        let ids = RandomIds::default();
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let earlier = Timestamp::from_second(1_600_000_000).unwrap();
        let times = std::iter::repeat_n(now, 5_000).chain([earlier, now]);
        let given: Vec<MemoryId> = times.map(|time| ids.next_id(time)).collect();
        assert!(given.is_sorted_by(|older, newer| older < newer));
        let handles: std::collections::BTreeSet<String> =
            given.iter().map(|id| id.handle()).collect();
        assert!(handles.len() > 4_990, "{} handles of 5,002 ids", handles.len());
    }

    #[test]
    fn a_manual_clock_stands_until_it_is_moved() {
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        clock.advance(Duration::from_secs(90));
        assert_eq!(clock.now().as_second(), 90);
        assert_eq!(clock.monotonic(), Duration::from_secs(90));
        clock.set(Timestamp::UNIX_EPOCH);
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH);
        assert_eq!(clock.monotonic(), Duration::from_secs(90), "what has passed has passed");
    }
}
