//! Days: dates, weekdays, "the 15th", "the first Monday of the month", 月底.

use super::super::length::Unit;
use super::super::lexemes::{Clock, Lexeme};
use super::super::lexicon::Cue;
use super::super::slots::{Piece, Slots};
use super::{Line, Read, recurring};
use crate::domain::grounding::values::{DateParts, Period};
use crate::domain::reminder::Nth;

/// Confidence in a day that only stands for a stretch of time: the end of the week.
const END_DOUBT: f64 = 0.7;
/// Confidence in "the 15th" without a month.
const BARE_DAY_DOUBT: f64 = 0.9;
/// Confidence in the weekday of a month of which nothing says that it recurs.
const ONE_NTH_DOUBT: f64 = 0.85;
/// The hour at which a working day ends; chosen.
const DAY_END_HOUR: u8 = 18;

/// Days that a place names.
pub(super) fn read(line: &Line<'_>, at: usize, slots: &Slots) -> Vec<Read> {
    let mut reads = Vec::new();
    nth_weekday(line, at, slots, &mut reads);
    month_day(line, at, slots, &mut reads);
    ends(line, at, slots, &mut reads);
    match line.from(at) {
        [Lexeme::Instant(instant), ..] => reads.push((vec![Piece::Instant(*instant)], 1)),
        [Lexeme::Date(parts), ..] => {
            if let Some(pieces) = date(line, at, *parts) {
                let n_end = if slots.recurs() { 0 } else { end(line, at + 1) };
                reads.push((pieces, 1 + n_end));
            }
        }
        [Lexeme::Cue(Cue::Next), Lexeme::Weekday { day, week: None, .. }, ..] => {
            reads.push((vec![Piece::Weekday(*day, Some(1))], 2));
        }
        [Lexeme::Cue(Cue::Nth(-1)), Lexeme::Weekday { day, week: None, .. }, ..] => {
            reads.push((vec![Piece::Weekday(*day, Some(-1))], 2));
        }
        [Lexeme::Cue(Cue::This), Lexeme::Weekday { day, week: None, .. }, ..] => {
            reads.push((vec![Piece::Weekday(*day, None)], 2));
        }
        [Lexeme::Weekday { day, week, is_many: false }, ..] if !is_name(line, at) => {
            // "this Friday" is the one ahead; 这周五 is the one of this week, behind or not.
            let is_english = line.slice(at).is_ascii();
            reads.push((
                vec![Piece::Weekday(*day, week.filter(|week| *week != 0 || !is_english))],
                1,
            ));
        }
        [Lexeme::Cue(Cue::This | Cue::Next), Lexeme::Cue(Cue::Weekend), ..] => {
            let week = i8::from(line.kind(at) == Some(&Lexeme::Cue(Cue::Next)));
            reads.push((vec![Piece::Weekend(week), Piece::Doubt(END_DOUBT)], 2));
        }
        [Lexeme::Cue(Cue::Nth(-1)), Lexeme::Cue(Cue::Weekend), ..] => {
            reads.push((vec![Piece::Weekend(-1)], 2));
        }
        [Lexeme::Cue(Cue::Weekend), ..] if !recurring::is_counted(line, at) => {
            reads.push((vec![Piece::Weekend(0), Piece::Doubt(END_DOUBT)], 1));
        }
        [Lexeme::Shift { period, by, is_counted }, ..] => {
            let (period, by, is_counted) = (*period, *by, *is_counted);
            let shift = Piece::Shift { period, by, is_counted };
            // "in a week and two days"
            let n_and = usize::from(line.kind(at + 1) == Some(&Lexeme::Cue(Cue::And)));
            let more = super::length(line, at + 1 + n_and)
                .filter(|(more, _)| is_counted && by > 0 && !more.is_short());
            match more {
                Some((more, n)) => reads.push((vec![shift, Piece::Plus(more)], 1 + n_and + n)),
                None => reads.push((vec![shift], 1)),
            }
        }
        _ => {}
    }
    reads
}

/// What has a number with 号 and is no day.
const LABELLED: [&str; 17] = [
    "选手",
    "球",
    "位",
    "码",
    "字",
    "馆",
    "厅",
    "仓",
    "会议室",
    "教室",
    "车",
    "站",
    "柜",
    "台",
    "电池",
    "文件",
    "方案",
];

/// A date, unless it is a year, a month, or the number of something else.
fn date(line: &Line<'_>, at: usize, parts: DateParts) -> Option<Vec<Piece>> {
    // 3号仓库 is a place, as 10号线 and 3号楼 are that its reader knows.
    let end = line.ranges.get(at)?.end;
    let after = line.reading.text.get(end..).unwrap_or("");
    let is_label = parts.month.is_none() && LABELLED.iter().any(|word| after.starts_with(word));
    if is_label || parts.day.is_none() && parts.month.is_none() {
        return None;
    }
    Some(vec![Piece::Date(parts)])
}

/// The last day of several, which only makes the phrase longer.
fn end(line: &Line<'_>, at: usize) -> usize {
    use Lexeme::{Cue as Said, Date, Mark};
    match line.from(at) {
        // 1-3 December: one expression.
        [Date(_), ..]
            if at.checked_sub(1).and_then(|at| line.ranges.get(at)) == line.ranges.get(at) =>
        {
            1
        }
        [
            Said(Cue::To | Cue::Until) | Mark('-' | '–' | '—' | '~'),
            Date(DateParts { day: Some(_), .. }),
            ..,
        ] => 2,
        _ => 0,
    }
}

/// Whether a weekday is part of something else: Black Friday, Sunday Times, the 4th Monday.
fn is_name(line: &Line<'_>, at: usize) -> bool {
    const BEFORE: [&str; 8] =
        ["black", "good", "casual", "cyber", "super", "freaky", "ruby", "giving"];
    const AFTER: [&str; 5] = ["times", "school", "blues", "com", "mass"];
    let neighbour = |at: Option<usize>| at.map_or("", |at| line.slice(at)).to_lowercase();
    let after = if line.kind(at + 1) == Some(&Lexeme::Mark('.')) { at + 2 } else { at + 1 };
    // The fourth Monday is not the next one.
    let is_nth =
        at.checked_sub(1).is_some_and(|at| nth(line, at).is_some_and(|(nth, _)| nth != Nth::Last));
    is_nth
        || BEFORE.contains(&neighbour(at.checked_sub(1)).as_str())
        || AFTER.contains(&neighbour(Some(after)).as_str())
}

fn is_of(line: &Line<'_>, at: usize) -> bool {
    line.kind(at) == Some(&Lexeme::Cue(Cue::Of))
}

/// Whether a word stands before a place.
fn is_after(line: &Line<'_>, at: usize, cue: Cue) -> bool {
    at.checked_sub(1).and_then(|at| line.kind(at)) == Some(&Lexeme::Cue(cue))
}

/// `first`, `3rd`, 最后一个, and of how many lexemes it is.
pub(in super::super) fn nth(line: &Line<'_>, at: usize) -> Option<(Nth, usize)> {
    match line.from(at) {
        [Lexeme::Cue(Cue::Nth(-1)), ..] => Some((Nth::Last, 1)),
        [Lexeme::Cue(Cue::Nth(n)), ..] => Some((Nth::From(*n), 1)),
        [Lexeme::Ordinal(n @ 1..=5), ..] => {
            // 第三 and 个 apart.
            let n_measure = usize::from(line.kind(at + 1) == Some(&Lexeme::Cue(Cue::Measure)));
            Some((Nth::From(i8::try_from(*n).ok()?), 1 + n_measure))
        }
        _ => None,
    }
}

/// The month of "of every month", "of the month", "in December": what it adds and how many lexemes it is.
pub(super) fn month_behind(line: &Line<'_>, at: usize) -> Option<(Option<Piece>, usize)> {
    let of = matches!(line.kind(at), Some(Lexeme::Cue(Cue::Of | Cue::In)));
    if !of {
        return None;
    }
    let month = |n: usize| line.kind(at + n) == Some(&Lexeme::Unit(Unit::Month));
    match line.from(at + 1) {
        [Lexeme::Cue(Cue::Every), Lexeme::Unit(unit @ (Unit::Month | Unit::Quarter)), ..] => {
            Some((Some(Piece::Cycle(1, *unit)), 3))
        }
        [Lexeme::Cue(Cue::The | Cue::A | Cue::This), ..] if month(2) => Some((None, 3)),
        [Lexeme::Shift { period: Period::Month, by, is_counted: false }, ..] => {
            let (period, by, is_counted) = (Period::Month, *by, false);
            Some((Some(Piece::Shift { period, by, is_counted }), 2))
        }
        [Lexeme::Date(parts @ DateParts { month: Some(_), day: None, .. }), ..] => {
            Some((Some(Piece::Date(*parts)), 2))
        }
        _ => None,
    }
}

/// "the first Monday of every month", 每月第一个周一, the last Friday of the month.
fn nth_weekday(line: &Line<'_>, at: usize, slots: &Slots, reads: &mut Vec<Read>) {
    let n_the = usize::from(line.kind(at) == Some(&Lexeme::Cue(Cue::The)));
    let body = at + n_the;
    let (nth, n, weekday) = match (nth(line, body), line.from(body)) {
        (Some((nth, n)), _) => match line.kind(body + n) {
            Some(Lexeme::Weekday { day, week: None, .. }) => (nth, n + 1, *day),
            _ => return,
        },
        (None, [Lexeme::Weekday { day, week: Some(-1), .. }, ..]) => (Nth::Last, 1, *day),
        _ => return,
    };
    let n = n + n_the;
    let named = Piece::Nth(nth, weekday);
    match month_behind(line, at + n) {
        Some((Some(piece @ Piece::Cycle(..)), n_month)) => {
            reads.push((vec![piece, named], n + n_month));
        }
        Some((Some(piece), n_month)) => reads.push((vec![named, piece], n + n_month)),
        Some((None, n_month)) => {
            let doubt = if slots.recurs() { 1.0 } else { ONE_NTH_DOUBT };
            reads.push((vec![named, Piece::Doubt(doubt)], n + n_month));
        }
        None if matches!(slots.cycle, Some((_, Unit::Month | Unit::Quarter)))
            || matches!(slots.shift, Some((Period::Month, ..))) =>
        {
            reads.push((vec![named], n));
        }
        None => {}
    }
}

/// "the 15th", "the 15th of next month".
fn month_day(line: &Line<'_>, at: usize, slots: &Slots, reads: &mut Vec<Read>) {
    let n_the = usize::from(line.kind(at) == Some(&Lexeme::Cue(Cue::The)));
    let body = at + n_the;
    let (day, n_day) = match line.kind(body) {
        Some(Lexeme::Ordinal(day @ 1..=31)) if line.slice(body).is_ascii() => (*day, 1),
        Some(Lexeme::Cue(Cue::Nth(day @ 1..=2))) if line.slice(body).is_ascii() => {
            (u64::from(day.unsigned_abs()), 1)
        }
        _ => return,
    };
    let Ok(day) = i8::try_from(day) else { return };
    let n = n_the + n_day;
    if let Some((piece, n_month)) = month_behind(line, at + n) {
        let named = Piece::MonthDay(day);
        let pieces = match piece {
            // "the first in December" is not the first of it.
            Some(Piece::Date(_)) if !is_of(line, at + n) => return,
            Some(Piece::Date(parts)) => vec![Piece::Date(DateParts { day: Some(day), ..parts })],
            Some(piece) => vec![piece, named],
            None => vec![named],
        };
        reads.push((pieces, n + n_month));
        return;
    }
    // "on the 15th", but not "the 5th floor", "the 3rd time".
    let is_word_day = !line.slice(body).starts_with(|c: char| c.is_ascii_digit());
    let is_led = n_the == 1
        || matches!(
            at.checked_sub(1).and_then(|at| line.kind(at)),
            Some(Lexeme::Cue(Cue::The | Cue::On | Cue::By | Cue::Until))
        );
    let is_free = !matches!(
        line.kind(at + n),
        Some(
            Lexeme::Word
                | Lexeme::Opaque
                | Lexeme::Unit(_)
                | Lexeme::Part(_)
                | Lexeme::Weekday { .. }
                | Lexeme::Number { .. }
                | Lexeme::Length(_)
                | Lexeme::Cue(Cue::Of | Cue::Half | Cue::Nth(_) | Cue::Weekend | Cue::And)
        )
    ) && line.kind(at + n) != Some(&Lexeme::Mark('-'));
    if is_led && is_free && !is_word_day {
        let is_month = slots.shift.is_some() || slots.cycle.is_some();
        let doubt = if is_month { 1.0 } else { BARE_DAY_DOUBT };
        reads.push((vec![Piece::MonthDay(day), Piece::Doubt(doubt)], n));
    }
}

/// The end of a month, a week or a day.
fn ends(line: &Line<'_>, at: usize, slots: &Slots, reads: &mut Vec<Read>) {
    use Lexeme::{Cue as Said, Shift, Unit as Of};
    let end_of_day = Piece::Clock(Clock::exact(DAY_END_HOUR, 0));
    let n_the = usize::from(line.kind(at) == Some(&Said(Cue::The)));
    match line.from(at + n_the) {
        // 最后一天 is one of a month only if a month is said.
        [Said(Cue::LastDay), ..]
            if line.slice(at + n_the) != "最后一天"
                || slots.cycle.is_some()
                || matches!(slots.shift, Some((Period::Month, ..))) =>
        {
            reads.push((vec![Piece::LastDay], n_the + 1));
        }
        // 下个月底, 这周末
        [Shift { period: Period::Month, by, .. }, Lexeme::Word, ..]
            if matches!(line.slice(at + n_the + 1), "底" | "末") =>
        {
            let shift = Piece::Shift { period: Period::Month, by: *by, is_counted: false };
            reads.push((vec![shift, Piece::LastDay], n_the + 2));
        }
        [Shift { period: Period::Week, by, is_counted: false }, Lexeme::Word, ..]
            if line.slice(at + n_the + 1) == "末" =>
        {
            let week = i8::try_from(*by).unwrap_or(0);
            reads.push((vec![Piece::Weekend(week), Piece::Doubt(END_DOUBT)], n_the + 2));
        }
        [Said(Cue::Nth(-1)), Of(Unit::Day), ..] => {
            let n = n_the + 2;
            match month_behind(line, at + n) {
                Some((Some(piece @ (Piece::Cycle(..) | Piece::Shift { .. })), n_month)) => {
                    reads.push((vec![piece, Piece::LastDay], n + n_month));
                }
                Some((None, n_month)) => reads.push((vec![Piece::LastDay], n + n_month)),
                // "monthly on the last day"
                None if matches!(slots.cycle, Some((_, Unit::Month | Unit::Quarter)))
                    && line.kind(at + n) != Some(&Said(Cue::Of)) =>
                {
                    reads.push((vec![Piece::LastDay], n));
                }
                _ => {}
            }
        }
        [Said(Cue::End), Said(Cue::Of), Said(Cue::The | Cue::This | Cue::Every), Of(unit), ..] => {
            let is_cycle = line.kind(at + n_the + 2) == Some(&Said(Cue::Every));
            let n = n_the + 4;
            if *unit == Unit::Month && is_cycle {
                reads.push((vec![Piece::Cycle(1, Unit::Month), Piece::LastDay], n));
            } else if *unit == Unit::Month {
                reads.push((vec![Piece::LastDay], n));
            } else if *unit == Unit::Day && !is_after(line, at, Cue::At) {
                // "at the end of the day" is a way of summing up.
                reads.push((vec![end_of_day, Piece::Doubt(END_DOUBT)], n));
            }
        }
        [
            Said(Cue::End),
            Said(Cue::Of),
            Shift { period: Period::Month, by, is_counted: false },
            ..,
        ] => {
            let shift = Piece::Shift { period: Period::Month, by: *by, is_counted: false };
            reads.push((vec![shift, Piece::LastDay], n_the + 3));
        }
        [Said(Cue::End), Said(Cue::Of), Of(Unit::Month), ..] => {
            reads.push((vec![Piece::LastDay], n_the + 3));
        }
        [Said(Cue::End), Said(Cue::Of), Of(Unit::Day), ..] => {
            reads.push((vec![end_of_day, Piece::Doubt(END_DOUBT)], n_the + 3));
        }
        [Said(Cue::EndOfDay), ..] => {
            reads.push((vec![end_of_day, Piece::Doubt(END_DOUBT)], n_the + 1));
        }
        _ => {}
    }
}
