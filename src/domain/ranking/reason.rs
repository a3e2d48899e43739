//! Why a hit stands where it stands: the terms of its score.

use std::fmt;

use crate::domain::dates::AskedDate;

/// One term of a score. Terms either add points or multiply; the score is
/// `sum of points * product of factors + points of exactness` (see [`score_of`]).
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The words match: BM25 as a share of the best match, 0.0..=1.0.
    Text(f64),
    /// The meaning is near (or, below zero, far).
    Vector(f64),
    /// It happened when the question says.
    Date {
        /// The date asked for.
        asked: AskedDate,
        /// What that adds.
        points: f64,
    },
    /// It holds the phrase or the identifiers of the question, letter by letter.
    Exact {
        /// The phrase or the first identifier.
        what: String,
        /// What that adds.
        points: f64,
    },
    /// Weight of its namespace.
    Namespace(f64),
    /// How well it is held.
    Strength {
        /// Strength now, 0.0..=1.0.
        strength: f64,
        /// What that multiplies by.
        factor: f64,
    },
    /// How long ago it happened.
    Age {
        /// Days since the event; 0.0 for one to come.
        days: f64,
        /// What that multiplies by.
        factor: f64,
    },
    /// A summary speaks for it: what that multiplies by.
    Consolidated(f64),
    /// So many other memories say the same and are not shown.
    Twins(usize),
}

impl Reason {
    /// What the term adds before the factors.
    pub fn points(&self) -> f64 {
        match self {
            Self::Text(points) | Self::Vector(points) | Self::Date { points, .. } => *points,
            Self::Exact { .. }
            | Self::Namespace(_)
            | Self::Strength { .. }
            | Self::Age { .. }
            | Self::Consolidated(_)
            | Self::Twins(_) => 0.0,
        }
    }

    /// What the term multiplies by.
    pub fn factor(&self) -> f64 {
        match self {
            Self::Namespace(factor)
            | Self::Strength { factor, .. }
            | Self::Age { factor, .. }
            | Self::Consolidated(factor) => *factor,
            Self::Text(_)
            | Self::Vector(_)
            | Self::Date { .. }
            | Self::Exact { .. }
            | Self::Twins(_) => 1.0,
        }
    }

    /// What exactness adds behind the factors, so that no weight can undo it.
    pub fn exactness(&self) -> f64 {
        if let Self::Exact { points, .. } = self { *points } else { 0.0 }
    }
}

/// The score that `reasons` add up to. A sum below zero is not multiplied: a factor above one would
/// punish it.
pub fn score_of(reasons: &[Reason]) -> f64 {
    let sum: f64 = reasons.iter().map(Reason::points).sum();
    let factor: f64 = reasons.iter().map(Reason::factor).product();
    let exactness: f64 = reasons.iter().map(Reason::exactness).sum();
    if sum > 0.0 { sum * factor + exactness } else { sum + exactness }
}

impl fmt::Display for Reason {
    /// `text 0.71`, `vector +0.33`, `8 May 2023 +0.50`, `exact "inc-90312" +3.00`,
    /// `namespace x0.90`, `strength 0.64`, `age 12 d`, `summarised x0.90`,
    /// `2 more say the same`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(points) => write!(f, "text {points:.2}"),
            Self::Vector(points) => write!(f, "vector {points:+.2}"),
            Self::Date { asked, points } => write!(f, "{asked} {points:+.2}"),
            Self::Exact { what, points } => write!(f, "exact \"{what}\" {points:+.2}"),
            Self::Namespace(weight) => write!(f, "namespace x{weight:.2}"),
            Self::Strength { strength, .. } => write!(f, "strength {strength:.2}"),
            Self::Age { days, .. } => write!(f, "age {days:.0} d"),
            Self::Consolidated(factor) => write!(f, "summarised x{factor:.2}"),
            Self::Twins(1) => f.write_str("1 more says the same"),
            Self::Twins(n) => write!(f, "{n} more say the same"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_print_short() {
        let asked = AskedDate { year: Some(2023), month: Some(5), day: Some(8) };
        let reasons = [
            Reason::Text(0.714),
            Reason::Vector(0.33),
            Reason::Vector(-0.2),
            Reason::Date { asked, points: 0.5 },
            Reason::Exact { what: "inc-90312".into(), points: 3.0 },
            Reason::Namespace(0.9),
            Reason::Strength { strength: 0.64, factor: 1.02 },
            Reason::Age { days: 12.3, factor: 1.01 },
            Reason::Consolidated(0.9),
            Reason::Twins(2),
        ];
        let printed: Vec<String> = reasons.iter().map(Reason::to_string).collect();
        assert_eq!(
            printed.join(", "),
            "text 0.71, vector +0.33, vector -0.20, 8 May 2023 +0.50, exact \"inc-90312\" +3.00, \
             namespace x0.90, strength 0.64, age 12 d, summarised x0.90, 2 more say the same"
        );
    }
}
