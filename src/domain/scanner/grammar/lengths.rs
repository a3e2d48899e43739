//! "in two hours", "half an hour from now", 两小时后, 再过十分钟, within three days.

use super::super::length::{Length, Unit};
use super::super::lexemes::Lexeme;
use super::super::lexicon::Cue;
use super::super::slots::Piece;
use super::{Line, Read};

/// Confidence in "after an hour", which often follows something else than now.
const AFTER_DOUBT: f64 = 0.65;
/// Confidence in "an hour later", which mostly tells a story.
const LATER_DOUBT: f64 = 0.5;
/// Confidence in the last moment of "within three days".
const WITHIN_DOUBT: f64 = 0.65;

/// Most parts of one length: days, hours, minutes, seconds.
const PARTS_MAX: usize = 4;

/// Lengths of time that lead from now to a moment.
pub(super) fn read(line: &Line<'_>, at: usize) -> Vec<Read> {
    let mut reads = Vec::new();
    let first = line.kind(at);
    let n_lead = usize::from(matches!(
        first,
        Some(Lexeme::Cue(Cue::In | Cue::Within | Cue::After | Cue::Passing))
    ));
    let n_about =
        usize::from(matches!(line.kind(at + n_lead), Some(Lexeme::Cue(Cue::Around | Cue::Just))));
    let body = at + n_lead + n_about;
    let is_in = first == Some(&Lexeme::Cue(Cue::In));
    let minutes = if is_in { short_minutes(line, body) } else { None };
    let Some((length, n)) = length(line, body).or(minutes) else { return reads };
    let end = body + n;
    let n_all = end - at;
    let elapsed = Piece::Elapsed(length);
    match first {
        // "in two hours time", but not "in two days of work".
        Some(Lexeme::Cue(Cue::In)) if line.kind(end) != Some(&Lexeme::Cue(Cue::Of)) => {
            reads.push((vec![elapsed], n_all));
        }
        Some(Lexeme::Cue(Cue::Within)) => {
            reads.push((vec![elapsed, Piece::Deadline, Piece::Doubt(WITHIN_DOUBT)], n_all));
        }
        Some(Lexeme::Cue(Cue::After)) => {
            reads.push((vec![elapsed, Piece::Doubt(AFTER_DOUBT)], n_all));
        }
        Some(Lexeme::Cue(Cue::Passing)) => {
            let n_ahead = usize::from(line.kind(end) == Some(&Lexeme::Cue(Cue::Ahead)));
            reads.push((vec![elapsed], n_all + n_ahead));
        }
        _ => match line.from(end) {
            [Lexeme::Cue(Cue::From), Lexeme::Cue(Cue::Now), ..] => {
                reads.push((vec![elapsed], n_all + 2));
            }
            [Lexeme::Cue(Cue::Ahead), ..] => reads.push((vec![elapsed], n_all + 1)),
            [Lexeme::Cue(Cue::Later), ..] => {
                reads.push((vec![elapsed, Piece::Doubt(LATER_DOUBT)], n_all + 1));
            }
            [Lexeme::Cue(Cue::Inside), ..] => {
                reads.push((vec![elapsed, Piece::Deadline, Piece::Doubt(WITHIN_DOUBT)], n_all + 1));
            }
            [Lexeme::Cue(Cue::From), Lexeme::Weekday { .. } | Lexeme::Shift { .. }, ..]
                if !length.is_short() =>
            {
                reads.push((vec![Piece::Plus(length)], n_all + 1));
            }
            _ => {}
        },
    }
    reads
}

/// The length of time that begins at a place, and of how many lexemes it is.
pub(in super::super) fn length(line: &Line<'_>, at: usize) -> Option<(Length, usize)> {
    let (mut total, mut n) = one(line, at)?;
    // "an hour and 20 minutes", 1小时30分钟
    for _ in 1..PARTS_MAX {
        let n_and = usize::from(line.kind(at + n) == Some(&Lexeme::Cue(Cue::And)));
        let Some((more, n_more)) = one(line, at + n + n_and) else { break };
        if !more.is_short() && total.is_short() {
            break;
        }
        total = total.plus(more)?;
        n += n_and + n_more;
    }
    Some((total, n))
}

fn one(line: &Line<'_>, at: usize) -> Option<(Length, usize)> {
    use Lexeme::{Cue as Said, Number, Unit as Of};
    let rest = line.from(at);
    let halves = |n: u64, unit: Unit, n_lexemes: usize| {
        Some((Length::halves(i64::try_from(n).ok()?, unit)?, n_lexemes))
    };
    match rest {
        [Lexeme::Length(length), ..] => Some((*length, 1)),
        // "an hour and a half", "a day"
        [Said(Cue::A), Of(unit), Said(Cue::And), Said(Cue::A), Said(Cue::Half), ..] => {
            halves(3, *unit, 5)
        }
        [Said(Cue::A), Said(Cue::Half), Of(unit), ..]
        | [Said(Cue::Half), Said(Cue::A | Cue::Measure), Of(unit), ..] => halves(1, *unit, 3),
        [Said(Cue::Half), Of(unit), ..] => halves(1, *unit, 2),
        [Said(Cue::A), Said(Cue::Couple), Said(Cue::Of), Of(unit), ..] => halves(4, *unit, 4),
        [Said(Cue::A), Said(Cue::Couple), Of(unit), ..] => halves(4, *unit, 3),
        [Said(Cue::A), Of(unit), ..] => {
            let n_units = if line.slice(at + 1).eq_ignore_ascii_case("fortnight") { 2 } else { 1 };
            halves(2 * n_units, *unit, 2)
        }
        [Number { number, .. }, Said(Cue::And), Said(Cue::A), Said(Cue::Half), Of(unit), ..] => {
            halves(number.checked_mul(2)? + 1, *unit, 5)
        }
        [Number { number, .. }, Said(Cue::Measure), Said(Cue::Half), Of(unit), ..] => {
            halves(number.checked_mul(2)? + 1, *unit, 4)
        }
        [Number { number, .. }, Said(Cue::Measure), Of(unit), ..] => {
            halves(number.checked_mul(2)?, *unit, 3)
        }
        // 一天; "3 days" is a length already.
        [Number { number, .. }, Of(unit), ..] if !line.slice(at).is_ascii() => {
            halves(number.checked_mul(2)?, *unit, 2)
        }
        _ => None,
    }
}

/// `5m` after "in": minutes, though elsewhere metres.
fn short_minutes(line: &Line<'_>, at: usize) -> Option<(Length, usize)> {
    let slice = line.slice(at);
    let digits = slice.strip_suffix('m')?;
    let n: u64 = digits.parse().ok().filter(|n| (1..=600).contains(n))?;
    Some((Length::whole(n, Unit::Minute)?, 1))
}
