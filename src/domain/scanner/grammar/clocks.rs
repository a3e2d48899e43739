//! Times of day: "at 10", "3pm to 5", "in the morning", 下午三点, and the zone they are in.

use super::super::lexemes::{Clock, Lexeme};
use super::super::lexicon::Cue;
use super::super::slots::{Piece, Slots};
use super::super::zones;
use super::{Line, Read};

/// Times of day that a place names.
pub(super) fn read(line: &Line<'_>, at: usize, slots: &Slots) -> Vec<Read> {
    use Lexeme::Cue as Said;
    let mut reads = Vec::new();
    match line.from(at) {
        [Lexeme::Clock(clock), ..] => {
            let n = 1 + end(line, at + 1);
            reads.push((vec![Piece::Clock(*clock)], n));
        }
        [Said(Cue::At), Said(Cue::Around), number @ Lexeme::Number { .. }, ..] => {
            bare(line, at + 2, number, 3, &mut reads);
        }
        // 在一起 is "together".
        [Said(Cue::At), number @ Lexeme::Number { .. }, ..] if line.slice(at).is_ascii() => {
            bare(line, at + 1, number, 2, &mut reads);
        }
        // "by 5", "from 10 to 11": only beside a day.
        [Said(Cue::By | Cue::From | Cue::Around), number @ Lexeme::Number { .. }, ..]
            if slots.has_day() || slots.recurs() =>
        {
            bare(line, at + 1, number, 2, &mut reads);
        }
        // "8 in the morning", 8 tonight
        [
            Lexeme::Number { number, is_counted: false },
            Said(Cue::In),
            Said(Cue::The),
            Lexeme::Part(part),
            ..,
        ] => {
            if let Some(clock) = hour(*number) {
                reads.push((vec![Piece::Clock(clock), Piece::Part(*part)], 4));
            }
        }
        [Said(Cue::In), Said(Cue::The), Lexeme::Part(part), ..] => {
            reads.push((vec![Piece::Part(*part)], 3));
        }
        [Said(Cue::At), Lexeme::Part(part), ..] => reads.push((vec![Piece::Part(*part)], 2)),
        [Lexeme::Part(part), ..] => reads.push((vec![Piece::Part(*part)], 1)),
        [Lexeme::Zone(name), ..] if slots.clock.is_some() => {
            reads.push((vec![Piece::Zone((*name).to_owned())], 1));
        }
        [Lexeme::Zone(name), Lexeme::Clock(clock), ..] => {
            let zone = Piece::Zone((*name).to_owned());
            reads.push((vec![Piece::Clock(*clock), zone], 2));
        }
        // 每晚十点: its reader takes 十点 alone for ten points.
        [Lexeme::Number { number, .. }, Lexeme::Word, ..]
            if line.slice(at + 1) == "点"
                && (slots.part.is_some()
                    || *number > 1
                        && (slots.has_day() || slots.recurs() || is_said(line, at + 2))) =>
        {
            if let Some(clock) = hour(*number) {
                reads.push((vec![Piece::Clock(clock)], 2 + end(line, at + 2)));
            }
        }
        _ => {}
    }
    if slots.clock.is_some() {
        reads.extend(zones::behind(line, at));
    } else if let Some((mut pieces, n)) = zones::before(line, at)
        && let Some(Lexeme::Clock(clock)) = line.kind(at + n)
    {
        pieces.insert(0, Piece::Clock(*clock));
        reads.push((pieces, n + 1));
    }
    reads
}

/// Whether what follows 三点 tells that it is a time: 三点开始.
fn is_said(line: &Line<'_>, at: usize) -> bool {
    matches!(
        line.slice(at),
        "开" | "开始"
            | "出"
            | "集"
            | "上"
            | "下"
            | "见"
            | "吃"
            | "走"
            | "去"
            | "叫"
            | "提"
            | "之前"
            | "前"
    )
}

/// An hour without more: "at 10", "at 10 to 11".
fn bare(line: &Line<'_>, at: usize, number: &Lexeme, n: usize, reads: &mut Vec<Read>) {
    let Lexeme::Number { number, is_counted: false } = number else { return };
    // "at 10%", "at 5 °C", "at 80-90", "at 7/10"
    let is_more =
        matches!(line.kind(at + 1), Some(Lexeme::Mark('%' | '°' | '/' | '+' | '$' | '€')))
            || matches!(
                line.from(at + 1),
                [Lexeme::Mark('-' | '.' | ':'), Lexeme::Number { .. } | Lexeme::Word, ..]
            );
    let is_part = line.ranges.get(at).zip(line.ranges.get(at + 1)).is_some_and(|(here, next)| {
        here.end == next.start
            && matches!(line.kind(at + 1), Some(Lexeme::Word | Lexeme::Number { .. }))
    });
    // "at 2026", "at 007".
    let is_time =
        line.slice(at).len() <= 2 || !line.slice(at).starts_with(|c: char| c.is_ascii_digit());
    if is_more || is_part || !is_time {
        return;
    }
    if let Some(clock) = hour(*number) {
        reads.push((vec![Piece::Clock(clock)], n + end(line, at + 1)));
    }
}

/// The end of a stretch of time, which only makes the phrase longer.
fn end(line: &Line<'_>, at: usize) -> usize {
    use Lexeme::{Cue as Said, Mark};
    match line.from(at) {
        [
            Said(Cue::To | Cue::Until) | Mark('-' | '–' | '—' | '~'),
            Lexeme::Clock(_) | Lexeme::Number { number: 0..=24, is_counted: false },
            ..,
        ] => 2,
        // The second time of one expression: "3-5pm".
        [Lexeme::Clock(_), ..]
            if at.checked_sub(1).and_then(|at| line.ranges.get(at)) == line.ranges.get(at) =>
        {
            1
        }
        _ => 0,
    }
}

fn hour(number: u64) -> Option<Clock> {
    let hour = u8::try_from(number).ok().filter(|hour| (1..=23).contains(hour))?;
    Some(Clock { is_vague: hour <= 12, ..Clock::exact(hour, 0) })
}
