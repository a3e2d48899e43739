//! Leaves a service alone that keeps failing: after some failures in a row, requests fail at once
//! for a while; then one is let through, and its outcome decides (Nygard, *Release It!*, 2007).

use std::time::Duration;

use crate::domain::limits::{ENDPOINT_FAILURES_MAX, ENDPOINT_PAUSE_MAX};

/// The state; times are monotonic.
#[derive(Debug)]
pub struct Breaker {
    /// How long a service is left alone that does not say how long.
    pause: Duration,
    n_failures: u32,
    /// Until when, and why, nothing is sent.
    open: Option<(Duration, String)>,
}

impl Breaker {
    /// Closed: nothing has failed yet.
    pub const fn new(pause: Duration) -> Self {
        Self { pause, n_failures: 0, open: None }
    }

    /// Whether a request may be sent at `now`. Once the pause is over, the first who asks may try
    /// and the others wait for a pause more.
    ///
    /// # Errors
    /// Why not.
    pub fn admit(&mut self, now: Duration) -> Result<(), String> {
        let Some((until, reason)) = &mut self.open else { return Ok(()) };
        if now < *until {
            let left = until.saturating_sub(now).as_secs() + 1;
            return Err(format!("{reason} (it is asked again in {left} s)"));
        }
        *until = now + self.pause;
        Ok(())
    }

    /// A request went well.
    pub fn succeeded(&mut self) {
        *self = Self::new(self.pause);
    }

    /// A request failed at `now`; `retry_after` is what the service itself asks for.
    pub fn failed(&mut self, now: Duration, reason: &str, retry_after: Option<Duration>) {
        self.n_failures += 1;
        let pause = match retry_after {
            Some(pause) => pause.min(ENDPOINT_PAUSE_MAX),
            None if self.n_failures >= ENDPOINT_FAILURES_MAX => self.pause,
            None => return,
        };
        self.open = Some((now + pause, reason.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);
    const PAUSE: Duration = Duration::from_secs(15);

    fn failing(n: u32) -> Breaker {
        let mut breaker = Breaker::new(PAUSE);
        for _ in 0..n {
            breaker.admit(NOW).unwrap();
            breaker.failed(NOW, "refused", None);
        }
        breaker
    }

    #[test]
    fn it_opens_at_the_third_failure_in_a_row_and_says_why() {
        let mut breaker = failing(ENDPOINT_FAILURES_MAX - 1);
        breaker.succeeded();
        breaker.failed(NOW, "refused", None);
        assert_eq!(breaker.admit(NOW), Ok(()));
        let mut breaker = failing(ENDPOINT_FAILURES_MAX);
        let refusal = breaker.admit(NOW).unwrap_err();
        assert_eq!(refusal, "refused (it is asked again in 16 s)");
    }

    #[test]
    fn after_the_pause_one_request_decides() {
        let later = NOW + PAUSE;
        let mut breaker = failing(ENDPOINT_FAILURES_MAX);
        assert!(breaker.admit(NOW + PAUSE / 2).is_err());
        assert_eq!(breaker.admit(later), Ok(()));
        assert!(breaker.admit(later).is_err(), "others wait for the outcome");
        breaker.failed(later, "refused again", None);
        assert!(breaker.admit(later).unwrap_err().starts_with("refused again"));
        assert_eq!(breaker.admit(later + PAUSE), Ok(()));
        breaker.succeeded();
        assert_eq!(breaker.admit(later), Ok(()));
        breaker.failed(later, "refused", None);
        assert_eq!(breaker.admit(later), Ok(()), "the count starts anew");
    }

    #[test]
    fn an_endpoint_that_says_how_long_is_left_alone_that_long_within_reason() {
        let mut breaker = Breaker::new(PAUSE);
        breaker.failed(NOW, "busy", Some(Duration::from_mins(1)));
        assert!(breaker.admit(NOW + Duration::from_secs(59)).is_err());
        assert_eq!(breaker.admit(NOW + Duration::from_mins(1)), Ok(()));
        breaker.failed(NOW, "busy", Some(Duration::from_hours(24)));
        assert_eq!(breaker.admit(NOW + ENDPOINT_PAUSE_MAX), Ok(()));
    }
}
