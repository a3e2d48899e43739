//! How long before something one is told of it: "an hour before", "the day before at 18:00", 提前半小时,
//! 提前一天晚上六点.

use std::ops::Range;

use jiff::civil::Time;

use super::grammar::{self, Line};
use super::length::{Length, Unit};
use super::lexemes::{Clock, Lexeme};
use super::lexicon::Cue;
use super::resolve::{time_of, usual};
use crate::domain::reminder::Lead;

/// The first lead that a sentence names, and its lexemes.
pub(super) fn find(line: &Line<'_>) -> Option<(Lead, Range<usize>)> {
    (0..line.kinds.len()).find_map(|at| {
        let (lead, n) = read(line, at)?;
        Some((lead, at..at + n))
    })
}

/// The lead that a place names, and of how many lexemes it is.
fn read(line: &Line<'_>, at: usize) -> Option<(Lead, usize)> {
    if line.slice(at) == "提" && line.slice(at + 1) == "前" {
        let (length, n) = grammar::length(line, at + 2)?;
        return with_time(line, at, n + 2, of_length(length)?);
    }
    // 前一天晚上八点
    if line.slice(at) == "前" {
        let (length, n) = grammar::length(line, at + 1)?;
        let is_days = !length.is_short();
        return of_length(length)
            .filter(|_| is_days)
            .and_then(|lead| with_time(line, at, n + 1, lead));
    }
    if let [Lexeme::Cue(Cue::The), day, Lexeme::Cue(Cue::By), ..] = line.from(at)
        && line.slice(at + 2).eq_ignore_ascii_case("before")
    {
        let part = if let Lexeme::Part(part) = day { Some(*part) } else { None };
        if !matches!(day, Lexeme::Unit(Unit::Day) | Lexeme::Part(_)) {
            return None;
        }
        let at_part = part.map(usual);
        let (clock, n) = clock(line, at + 3);
        let said = clock.and_then(|clock| time_of(clock, part));
        return Some((Lead::Civil { days: 1, at: said.or(at_part) }, 3 + n));
    }
    let (length, n) = grammar::length(line, at)?;
    let n_behind = before_words(line, at + n)?;
    with_time(line, at, n + n_behind, of_length(length)?)
}

/// A lead of days with the time of that day which stands behind it.
fn with_time(line: &Line<'_>, at: usize, n: usize, lead: Lead) -> Option<(Lead, usize)> {
    let Lead::Civil { days, at: None } = lead else { return Some((lead, n)) };
    let n_of = usize::from(line.slice(at + n) == "的");
    let part = match line.kind(at + n + n_of) {
        Some(Lexeme::Part(part)) => Some(*part),
        _ => None,
    };
    let n_part = usize::from(part.is_some());
    let (clock, n_clock) = clock(line, at + n + n_of + n_part);
    if part.is_none() && clock.is_none() {
        return Some((lead, n));
    }
    let time: Option<Time> = match clock {
        Some(clock) => Some(time_of(clock, part)?),
        None => part.map(usual),
    };
    Some((Lead::Civil { days, at: time }, n + n_of + n_part + n_clock))
}

/// The time of day at a place, and of how many lexemes it is.
fn clock(line: &Line<'_>, at: usize) -> (Option<Clock>, usize) {
    match line.from(at) {
        [Lexeme::Cue(Cue::At), Lexeme::Clock(clock), ..] => (Some(*clock), 2),
        [Lexeme::Clock(clock), ..] => (Some(*clock), 1),
        _ => (None, 0),
    }
}

/// Of how many lexemes "before", "ahead of time", "in advance", 前 is.
fn before_words(line: &Line<'_>, at: usize) -> Option<usize> {
    let word = line.slice(at).to_lowercase();
    match word.as_str() {
        "before" | "beforehand" | "ahead" | "prior" | "early" | "earlier" | "前" | "之前" => {
            Some(1)
        }
        "in" if line.slice(at + 1).eq_ignore_ascii_case("advance") => Some(2),
        _ => None,
    }
}

fn of_length(length: Length) -> Option<Lead> {
    if length.months != 0 {
        return None;
    }
    if length.is_short() {
        return length.duration().map(Lead::Elapsed);
    }
    Some(Lead::Civil { days: u16::try_from(length.days).ok()?, at: None })
}
