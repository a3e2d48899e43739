//! What a language model may cost a day: calls and tokens, by the day of UTC.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What a day may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caps {
    pub(super) calls: u64,
    pub(super) tokens: u64,
}

/// What a day has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spent {
    /// Days since 1970.
    day: i64,
    calls: u64,
    tokens: u64,
}

impl Spent {
    /// What was kept, if it can be read.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// As it is kept.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        serde_json::to_vec(&self).unwrap_or_default()
    }

    /// Calls and tokens of the day of `now`.
    pub(super) fn on(&self, now: Timestamp) -> (u64, u64) {
        if self.day == day(now) { (self.calls, self.tokens) } else { (0, 0) }
    }

    /// Why a call of about `n_tokens` may not be made at `now`; `section` is where the caps stand.
    pub(super) fn refusal(
        &self,
        caps: Caps,
        n_tokens: usize,
        now: Timestamp,
        section: &str,
    ) -> Option<String> {
        let (calls, tokens) = self.on(now);
        if calls >= caps.calls {
            return Some(format!(
                "the {} calls of today are used up ({section}.calls_per_day); it goes on at 00:00 UTC",
                caps.calls
            ));
        }
        (tokens.saturating_add(n_tokens as u64) > caps.tokens).then(|| {
            format!(
                "{tokens} of the {} tokens of today are used up ({section}.tokens_per_day); it goes \
                 on at 00:00 UTC",
                caps.tokens
            )
        })
    }

    /// Counts a call that cost so much.
    pub(super) fn spend(&mut self, n_tokens: u64, now: Timestamp) {
        let (calls, tokens) = self.on(now);
        *self = Self {
            day: day(now),
            calls: calls.saturating_add(1),
            tokens: tokens.saturating_add(n_tokens),
        };
    }
}

fn day(now: Timestamp) -> i64 {
    now.as_second().div_euclid(86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_so_many_calls_and_tokens_and_the_next_has_them_anew() {
        let evening: Timestamp = "2026-03-01T23:59:59Z".parse().unwrap();
        let midnight: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
        let caps = Caps { calls: 2, tokens: 1_000 };
        let refusal = |spent: &Spent, n, now| spent.refusal(caps, n, now, "llm.summary");
        let mut spent = Spent::default();
        assert_eq!(refusal(&spent, 1_000, evening), None);
        assert!(refusal(&spent, 1_001, evening).unwrap().contains("llm.summary.tokens_per_day"));
        spent.spend(600, evening);
        assert_eq!(refusal(&spent, 400, evening), None);
        assert!(refusal(&spent, 401, evening).unwrap().starts_with("600 of the 1000 tokens"));
        spent.spend(10, evening);
        assert!(refusal(&spent, 1, evening).unwrap().contains("llm.summary.calls_per_day"));
        assert_eq!(spent.on(evening), (2, 610));
        assert_eq!(Spent::from_bytes(&spent.to_bytes()), Some(spent));
        assert_eq!((spent.on(midnight), refusal(&spent, 1_000, midnight)), ((0, 0), None));
        spent.spend(5, midnight);
        assert_eq!(spent.on(midnight), (1, 5));
    }
}
