//! Puts lexemes together to phrases: from each place the longest row of pieces that agree, whatever their
//! order ("at 3pm tomorrow", "tomorrow at 3pm").

mod clocks;
mod days;
mod lengths;
mod recurring;

use std::ops::Range;

use super::length::Unit;
use super::lexemes::Lexeme;
use super::lexicon::Cue;
use super::slots::{Piece, Slots};
use crate::domain::grounding::values::{DateParts, Reading};

pub(super) use days::nth;
pub(super) use lengths::length;
pub(super) use recurring::{is_sign, is_working_day};

/// Most small words between two pieces of a phrase.
const GLUE_MAX: usize = 3;

/// Words that join the last of several values.
const OR: [&str; 5] = ["or", "plus", "或", "或者", "以及"];

/// The lexemes of a sentence.
#[derive(Clone, Copy)]
pub(super) struct Line<'r> {
    pub(super) kinds: &'r [Lexeme],
    pub(super) ranges: &'r [Range<usize>],
    pub(super) reading: &'r Reading,
}

impl<'r> Line<'r> {
    /// The lexemes from a place on.
    pub(super) fn from(&self, at: usize) -> &'r [Lexeme] {
        self.kinds.get(at..).unwrap_or(&[])
    }

    pub(super) fn kind(&self, at: usize) -> Option<&'r Lexeme> {
        self.kinds.get(at)
    }

    /// What is written at a place.
    pub(super) fn slice(&self, at: usize) -> &'r str {
        self.ranges.get(at).map_or("", |range| self.reading.slice(range))
    }
}

/// A phrase of a sentence that tells a time, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Phrase {
    pub(super) slots: Slots,
    /// Its lexemes.
    pub(super) lexemes: Range<usize>,
}

/// Pieces and the number of lexemes that they are read from.
pub(super) type Read = (Vec<Piece>, usize);

/// The phrases of a sentence, in order.
pub(super) fn phrases(line: &Line<'_>) -> Vec<Phrase> {
    let mut phrases = Vec::new();
    let mut at = 0;
    while at < line.kinds.len() {
        at = match phrase(line, at) {
            Some(phrase) => {
                let end = phrase.lexemes.end;
                phrases.push(phrase);
                end
            }
            None => at + 1,
        };
    }
    phrases
}

/// The phrase that begins at a place.
fn phrase(line: &Line<'_>, start: usize) -> Option<Phrase> {
    let (mut slots, n) = lead(line, start);
    let mut end = start + n;
    // "except Fridays" and "starting in January" stand for themselves behind other words.
    let mut has_any = slots.bound().is_some();
    while let Some((more, at)) = next(line, start..end, &slots, has_any) {
        slots = more;
        end = at;
        has_any = true;
    }
    has_any.then_some(Phrase { slots, lexemes: start..end })
}

/// What the word before a phrase says about it.
fn lead(line: &Line<'_>, start: usize) -> (Slots, usize) {
    let slots = Slots::default();
    let is_han = !line.slice(start).is_ascii();
    match line.kind(start) {
        Some(Lexeme::Cue(Cue::By)) => (Slots { is_deadline: true, ..slots }, 1),
        Some(Lexeme::Cue(Cue::Since)) => (Slots { is_behind: true, ..slots }, 1),
        Some(Lexeme::Cue(Cue::After)) => (Slots { doubt: 0.8, ..slots }, 1),
        Some(Lexeme::Cue(Cue::Until)) => (Slots { is_until: true, ..slots }, 1),
        Some(Lexeme::Cue(Cue::Start)) if !is_han => {
            let (slots, n) = one_month(line, start + 1).unwrap_or((slots, 0));
            (Slots { is_start: true, ..slots }, n + 1)
        }
        // 从一月起
        Some(Lexeme::Cue(Cue::From)) if is_han => match one_month(line, start + 1) {
            Some((slots, n)) if line.kind(start + 1 + n) == Some(&Lexeme::Cue(Cue::Start)) => {
                (Slots { is_start: true, ..slots }, n + 2)
            }
            _ => (slots, 0),
        },
        // 到12月20日为止
        Some(Lexeme::Cue(Cue::To)) if is_han => match one_day(line, start + 1) {
            Some((slots, n)) if line.slice(start + 1 + n) == "为止" => {
                (Slots { is_until: true, ..slots }, n + 2)
            }
            _ => (slots, 0),
        },
        Some(Lexeme::Zone(zone)) if is_han => {
            (Slots { zone: Some((*zone).to_owned()), ..slots }, 1)
        }
        Some(_) => match recurring::except(line, start) {
            Some((except, n)) if line.kinds.iter().any(is_sign) => (Slots { except, ..slots }, n),
            _ => (slots, 0),
        },
        None => (slots, 0),
    }
}

/// The slots with the pieces that follow, and where those end.
fn next(
    line: &Line<'_>,
    read: Range<usize>,
    slots: &Slots,
    has_any: bool,
) -> Option<(Slots, usize)> {
    let Range { start, end } = read;
    for n_glue in 0..=GLUE_MAX {
        let at = end + n_glue;
        if n_glue > 0 && !line.kind(at - 1).is_some_and(|kind| is_glue(kind, has_any)) {
            return None;
        }
        let mut reads: Vec<Read> = recurring::read(line, at, slots);
        reads.extend(days::read(line, at, slots));
        reads.extend(clocks::read(line, at, slots));
        reads.extend(lengths::read(line, at));
        if has_any {
            reads.extend(trailing(line, start, at, slots));
        }
        reads.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let found = reads.into_iter().find_map(|(pieces, n)| {
            let more = pieces.iter().try_fold(slots.clone(), Slots::with)?;
            Some((more, at + n))
        });
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether a small word may stand before or between the pieces of a phrase.
fn is_glue(kind: &Lexeme, has_any: bool) -> bool {
    let is_lead = matches!(kind, Lexeme::Cue(Cue::At | Cue::On | Cue::The | Cue::From));
    let is_link = matches!(
        kind,
        Lexeme::Cue(Cue::Of | Cue::Around | Cue::In | Cue::Link | Cue::By)
            | Lexeme::Mark(',' | '(' | ')' | '-' | '–' | '—')
    );
    is_lead || has_any && is_link
}

/// What may follow a phrase: 周五之前, from Monday on, until December.
fn trailing(line: &Line<'_>, start: usize, at: usize, slots: &Slots) -> Vec<Read> {
    let mut reads = Vec::new();
    match line.kind(at) {
        // 周五前, but not "Friday before noon".
        Some(Lexeme::Cue(Cue::By)) if !line.slice(at).is_ascii() && !slots.recurs() => {
            reads.push((vec![Piece::Deadline], 1));
        }
        Some(Lexeme::Cue(Cue::Start)) if !line.slice(at).is_ascii() && slots.has_day() => {
            reads.push((vec![Piece::Starting], 1));
        }
        Some(Lexeme::Cue(Cue::Around)) if !line.slice(at).is_ascii() => {
            reads.push((Vec::new(), 1));
        }
        Some(Lexeme::Mark(')')) => {
            let before = line.kinds.get(start..at).unwrap_or(&[]);
            if before.contains(&Lexeme::Mark('(')) {
                reads.push((Vec::new(), 1));
            }
        }
        Some(Lexeme::Cue(Cue::Until | Cue::To)) if slots.recurs() => {
            // 每月1号到5号 ends nothing.
            let is_monthly = matches!(slots.cycle, Some((_, Unit::Month | Unit::Quarter)));
            let is_end = |day: &Slots| day.is_one_day() && !(is_monthly && day.month_day.is_some());
            if let Some((day, n)) = one_day(line, at + 1).filter(|(day, _)| is_end(day)) {
                let n_end = usize::from(line.slice(at + 1 + n) == "为止");
                reads.push((vec![Piece::Until(Box::new(day))], n + 1 + n_end));
            }
        }
        Some(Lexeme::Cue(Cue::From | Cue::Start)) if slots.recurs() => {
            let n_more = usize::from(line.kind(at + 1) == Some(&Lexeme::Cue(Cue::From)));
            let day = one_day(line, at + 1 + n_more).or_else(|| one_month(line, at + 1 + n_more));
            if let Some((day, n)) = day {
                reads.push((vec![Piece::Start(Box::new(day))], n + 1 + n_more));
            }
        }
        _ if slots.recurs() && slots.except.is_empty() && recurring::except(line, at).is_some() => {
            reads.extend(
                recurring::except(line, at).map(|(days, n)| (vec![Piece::Except(days)], n)),
            );
        }
        Some(Lexeme::Cue(Cue::For)) if slots.recurs() => {
            if let Some((length, n)) = length(line, at + 1).filter(|(length, _)| !length.is_short())
            {
                reads.push((vec![Piece::Lasting(length)], n + 1));
            }
        }
        _ => {}
    }
    reads
}

/// A month, for its first day: "from January".
fn one_month(line: &Line<'_>, at: usize) -> Option<(Slots, usize)> {
    let n_in = usize::from(line.kind(at) == Some(&Lexeme::Cue(Cue::In)));
    let Some(Lexeme::Date(parts @ DateParts { month: Some(_), day: None, .. })) =
        line.kind(at + n_in)
    else {
        return None;
    };
    let first = Piece::Date(DateParts { day: Some(1), ..*parts });
    Some((Slots::default().with(&first)?, n_in + 1))
}

/// A day without a time.
fn one_day(line: &Line<'_>, at: usize) -> Option<(Slots, usize)> {
    let n_glue = (0..2)
        .take_while(|n| {
            matches!(line.kind(at + n), Some(Lexeme::Cue(Cue::On | Cue::The | Cue::At)))
        })
        .count();
    let mut reads = days::read(line, at + n_glue, &Slots::default());
    reads.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    reads.into_iter().find_map(|(pieces, n)| {
        let slots = pieces.iter().try_fold(Slots::default(), Slots::with)?;
        Some((slots, n + n_glue))
    })
}

/// Of how many lexemes what joins two values is, and whether it does so beyond doubt.
pub(super) fn joint(line: &Line<'_>, at: usize) -> Option<(usize, bool)> {
    let is_and = |at: usize| line.kind(at) == Some(&Lexeme::Cue(Cue::And));
    match line.kind(at) {
        Some(Lexeme::Mark(',' | ';')) if is_and(at + 1) => Some((2, true)),
        Some(Lexeme::Mark(',' | ';')) => Some((1, false)),
        Some(Lexeme::Mark('/' | '&' | '+')) => Some((1, true)),
        _ if is_and(at) || OR.contains(&line.slice(at).to_lowercase().as_str()) => Some((1, true)),
        _ => None,
    }
}
