//! Strength: how well a memory is held, and how it fades.
//!
//! Exponential forgetting towards a floor (after Ebbinghaus 1885; the half-life form of Settles and
//! Meeder 2016), a function of (anchor, now) alone: however often and whenever it is evaluated, the
//! result for one moment is the same.

use jiff::Timestamp;

use super::memory::{Anchor, Kind, named_values};

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

named_values! {
    /// What a caller says of a memory that it was given.
    Verdict {
        /// It helped: it is held more strongly.
        Useful = "useful",
        /// It did not: it is held less strongly.
        Useless = "useless",
        /// It is not true: it is no longer valid, until somebody puts it right.
        Wrong = "wrong",
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

/// How many memories are held how strongly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    tenths: [u64; 10],
}

impl Distribution {
    /// Counts a strength, 0.0..=1.0.
    pub fn add(&mut self, strength: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes the nearest whole number of the type, and 1.0 is of the last tenth"
        )]
        let tenth = ((strength * 10.0) as usize).min(self.tenths.len() - 1);
        if let Some(count) = self.tenths.get_mut(tenth) {
            *count += 1;
        }
    }

    /// How many in 0.0..0.1, 0.1..0.2 and so on; the last tenth holds 1.0 too.
    pub const fn tenths(&self) -> [u64; 10] {
        self.tenths
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.tenths.iter().sum()
    }
}

/// Days from `from` to `to`, fractional, negative if `to` is earlier.
pub fn days_between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() / 86_400.0
}

#[cfg(test)]
mod tests;
