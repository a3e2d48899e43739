//! What is wrong with a summary.

use std::fmt;

use super::values::Sort;

/// Why a summary is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It cites nothing.
    NoCitation,
    /// It cites what it was not given.
    UnknownCitation,
    /// A value does not stand in the cited sources.
    Value(Sort),
    /// It says the opposite of a source.
    Polarity,
    /// Too few of its words stand in the cited sources.
    Overlap,
    /// It is shorter than asked.
    TooShort,
    /// It is longer than asked.
    TooLong,
    /// It is not in the language of most sources.
    Language,
}

impl Reason {
    /// The name under which it is counted.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoCitation => "no_citation",
            Self::UnknownCitation => "unknown_citation",
            Self::Value(sort) => sort.as_str(),
            Self::Polarity => "polarity",
            Self::Overlap => "overlap",
            Self::TooShort => "too_short",
            Self::TooLong => "too_long",
            Self::Language => "language",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong with a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Why, to be counted.
    pub reason: Reason,
    /// A sentence that names the offending part, to be shown to who wrote the summary.
    pub text: String,
}

impl Violation {
    pub(super) const fn new(reason: Reason, text: String) -> Self {
        Self { reason, text }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
