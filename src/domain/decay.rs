//! Strength: how well a memory is held, and how it fades.
//!
//! Exponential forgetting towards a floor (after Ebbinghaus 1885; the half-life form of Settles and
//! Meeder 2016), a function of (anchor, now) alone: however often and whenever it is evaluated, the
//! result for one moment is the same.

use jiff::Timestamp;

use super::memory::{Anchor, Kind};

/// Half-lives and floor of the forgetting curve.
#[derive(Clone, Debug, PartialEq)]
pub struct DecayPolicy {
    /// Strength never falls below `min(floor, anchor)`, 0.0..=1.0.
    pub floor: f64,
    /// Days after which half of what lies above the floor is gone, by kind in the order of
    /// [`Kind::ALL`].
    pub half_life_days: [f64; Kind::ALL.len()],
}

impl Default for DecayPolicy {
    /// The defaults of the design: fact 90, preference 180, instruction 365, event 30,
    /// procedure 365, task 14, reflection 90, summary 180, profile 365 days; floor 0.1.
    fn default() -> Self {
        Self {
            floor: 0.1,
            half_life_days: [90.0, 180.0, 365.0, 30.0, 365.0, 14.0, 90.0, 180.0, 365.0],
        }
    }
}

impl DecayPolicy {
    /// Half-life of `kind`, days.
    pub fn half_life_days(&self, kind: Kind) -> f64 {
        self.half_life_days.get(kind as usize).copied().unwrap_or(90.0)
    }

    /// Strength at `now`, 0.0..=1.0:
    /// `floor' + (anchor - floor') * 2^(-(now - anchor_at) / half_life)`, `floor' = min(floor, anchor)`.
    /// A memory that is pinned or has importance 1.0 does not decay; before its anchor (a clock that
    /// was set back) a memory has the anchor's value.
    pub fn strength(
        &self,
        anchor: Anchor,
        kind: Kind,
        importance: f64,
        pinned: bool,
        now: Timestamp,
    ) -> f64 {
        if pinned || importance >= 1.0 {
            return anchor.value;
        }
        let days = days_between(anchor.at, now).max(0.0);
        let floor = self.floor.min(anchor.value);
        floor + (anchor.value - floor) * (-days / self.half_life_days(kind)).exp2()
    }
}

/// How a use of a memory moves its strength anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Read by id: `s + 0.05 * (1 - s)`.
    Read,
    /// Reported as useful: `s + 0.1 * (1 - s)`.
    Useful,
    /// Reported as useless: `s * 0.8`.
    Useless,
}

/// The anchor after a use at `now`, when strength was `strength`, 0.0..=1.0.
pub fn reinforced(strength: f64, how: Use, now: Timestamp) -> Anchor {
    let value = match how {
        Use::Read => strength + 0.05 * (1.0 - strength),
        Use::Useful => strength + 0.1 * (1.0 - strength),
        Use::Useless => strength * 0.8,
    };
    Anchor { value: value.clamp(0.0, 1.0), at: now }
}

/// Words that say a memory matters, in the languages our users wrote to us in.
const IMPORTANT_CUES: &[&str] = &["remember", "always", "never", "记住", "一定"];

/// Importance of a memory whose caller gave none, 0.0..=1.0: by kind, and at least 0.8 if the text
/// holds one of the cues as a word.
pub fn initial_importance(kind: Kind, content: &str) -> f64 {
    let by_kind: f64 = match kind {
        Kind::Instruction | Kind::Profile => 0.9,
        Kind::Preference | Kind::Procedure => 0.7,
        Kind::Task => 0.6,
        Kind::Fact | Kind::Reflection | Kind::Summary => 0.5,
        Kind::Event => 0.4,
    };
    let lower = content.to_lowercase();
    let has_cue = IMPORTANT_CUES.iter().any(|cue| {
        if cue.is_ascii() {
            lower.split(|c: char| !c.is_alphanumeric()).any(|word| word == *cue)
        } else {
            lower.contains(cue)
        }
    });
    if has_cue { by_kind.max(0.8) } else { by_kind }
}

/// Days from `from` to `to`, fractional, negative if `to` is earlier.
pub fn days_between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() / 86_400.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    fn at(day: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + day * DAY).unwrap()
    }

    #[test]
    fn half_of_what_lies_above_the_floor_is_gone_after_one_half_life() {
        let policy = DecayPolicy::default();
        for kind in Kind::ALL {
            let days = policy.half_life_days(*kind);
            let now = at(0) + jiff::SignedDuration::from_secs_f64(days * 86_400.0);
            let anchor = Anchor { value: 0.9, at: at(0) };
            let strength = policy.strength(anchor, *kind, 0.9, false, now);
            assert!((strength - 0.5).abs() < 1e-9, "{kind}: {strength}");
        }
    }

    #[test]
    fn pinned_and_most_important_memories_do_not_decay() {
        let policy = DecayPolicy::default();
        let anchor = Anchor { value: 0.6, at: at(0) };
        assert!((policy.strength(anchor, Kind::Task, 0.6, true, at(9_000)) - 0.6).abs() < 1e-12);
        assert!((policy.strength(anchor, Kind::Task, 1.0, false, at(9_000)) - 0.6).abs() < 1e-12);
    }

    #[test]
    fn strength_stays_between_floor_and_anchor_even_if_the_clock_went_back() {
        let policy = DecayPolicy::default();
        for value in [0.0, 0.05, 0.1, 0.5, 1.0] {
            for day in [-400, 0, 1, 10_000] {
                let anchor = Anchor { value, at: at(0) };
                let strength = policy.strength(anchor, Kind::Event, 0.4, false, at(day));
                assert!(strength <= value && strength >= value.min(0.1), "{value} {day}");
            }
        }
    }

    #[test]
    fn use_moves_the_anchor_and_stays_in_range() {
        assert!((reinforced(0.5, Use::Read, at(0)).value - 0.525).abs() < 1e-12);
        assert!((reinforced(1.0, Use::Useful, at(0)).value - 1.0).abs() < 1e-12);
        assert!((reinforced(0.5, Use::Useless, at(0)).value - 0.4).abs() < 1e-12);
    }

    #[test]
    fn cues_raise_importance_only_as_words() {
        for (kind, text, expected) in [
            (Kind::Fact, "The router is white", 0.5),
            (Kind::Fact, "Always use tabs", 0.8),
            (Kind::Fact, "sideways", 0.5),
            (Kind::Instruction, "never push to main", 0.9),
            (Kind::Event, "请记住这个地址", 0.8),
        ] {
            assert!((initial_importance(kind, text) - expected).abs() < 1e-12, "{text}");
        }
    }
}
