//! What of a sentence belongs to its times and is not read: a rule without it would be another rule.

use std::ops::Range;

use super::Unarmed;
use super::grammar::{Line, Phrase};
use super::length::Unit;
use super::phrases::Timed;
use super::source::Source;

/// The lexemes that say that something comes more often than daily.
pub(super) fn often(_line: &Line<'_>, phrases: &[Phrase]) -> Option<Range<usize>> {
    let is_often = |phrase: &&Phrase| {
        let unit = phrase.slots.cycle.map(|(_, unit)| unit);
        matches!(unit, Some(Unit::Second | Unit::Minute | Unit::Hour))
    };
    phrases.iter().find(is_often).map(|phrase| phrase.lexemes.clone())
}

/// Marks the times of a sentence that are not to be taken as they stand.
pub(super) fn mark(
    _line: &Line<'_>,
    _source: &Source<'_>,
    times: &mut [Timed],
    why: Option<&Unarmed>,
    _is_asked: bool,
) {
    for time in times {
        time.flaw = why.filter(|why| **why != Unarmed::Quoted).cloned();
    }
}
