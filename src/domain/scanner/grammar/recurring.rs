//! "every other Friday", "weekdays", "daily", 每周一、三、五, 每月最后一个周五.

use jiff::civil::Weekday;

use super::super::length::{Length, Unit};
use super::super::lexemes::Lexeme;
use super::super::lexicon::Cue;
use super::super::slots::{Piece, Slots};
use super::{Line, Read, days};
use crate::domain::grounding::values::DateParts;
use crate::domain::reminder::{Nth, Weekdays};

/// Confidence in 每隔两天, which is read as every third day and as every second.
const SKIPPING_DOUBT: f64 = 0.7;

/// Most entries of a list of weekdays.
const LIST_MAX: usize = 7;

/// What says that something recurs.
pub(super) fn read(line: &Line<'_>, at: usize, slots: &Slots) -> Vec<Read> {
    use Lexeme::Cue as Said;
    let mut reads = Vec::new();
    match line.from(at) {
        [Said(Cue::Every), ..] => every(line, at, &mut reads),
        [Said(Cue::Skipping), ..] => {
            if let Some((length, n)) = super::length(line, at + 1)
                && let Some((count, unit)) = cycle(length)
            {
                let doubt = if count == 1 { 1.0 } else { SKIPPING_DOUBT };
                let pieces = vec![Piece::Cycle(count + 1, unit), Piece::Doubt(doubt)];
                reads.push((pieces, n + 1));
            }
        }
        // 隔周五
        [Said(Cue::Other), Lexeme::Weekday { .. }, ..] if !line.slice(at).is_ascii() => {
            if let Some((days, n, _)) = weekdays(line, at + 1) {
                reads.push((vec![Piece::Cycle(2, Unit::Week), Piece::Days(days)], n + 1));
            }
        }
        [Said(Cue::Daily(part)), ..] => {
            reads.push((vec![Piece::Cycle(1, Unit::Day), Piece::Part(*part)], 1));
        }
        // One "workday" is any of them.
        [Said(Cue::WorkingDays), after @ ..]
            if !line.slice(at).is_ascii()
                || line.slice(at).ends_with(['s', 'S'])
                || matches!(after.first(), Some(Lexeme::Part(_))) =>
        {
            reads.push((vec![Piece::Days(Weekdays::WORKING)], 1));
        }
        // "two weekends later" is no rule.
        [Said(Cue::Weekend), ..] if line.slice(at).ends_with('s') && !is_counted(line, at) => {
            reads.push((vec![Piece::Days(Weekdays::WEEKEND)], 1));
        }
        [Said(Cue::Cycle(n, unit)), ..] => {
            reads.push((vec![Piece::Cycle(*n, *unit)], 1));
            days_of_weeks(line, at, 1, (*n, *unit), &mut reads);
            // 每周末 is 每周 and 末, 每月底 is 每月 and 底.
            match (unit, line.slice(at + 1)) {
                (Unit::Week, "末") => reads.push((vec![Piece::Days(Weekdays::WEEKEND)], 2)),
                (Unit::Month, "底" | "末") => {
                    reads.push((vec![Piece::Cycle(*n, *unit), Piece::LastDay], 2));
                }
                _ => {}
            }
        }
        [Said(Cue::Once), Said(Cue::A | Cue::Every), Lexeme::Unit(unit), ..] => {
            reads.push((vec![Piece::Cycle(1, *unit)], 3));
        }
        [Lexeme::Word, Lexeme::Unit(Unit::Day), ..]
            if is_working_day(line, at)
                && line.slice(at + 1).ends_with(['s', 'S'])
                && !is_counted(line, at) =>
        {
            reads.push((vec![Piece::Days(Weekdays::WORKING)], 2));
        }
        _ => {
            // "weekly on Monday and Friday"
            let is_weekly = slots.days.is_empty() && matches!(slots.cycle, Some((_, Unit::Week)));
            if let Some((days, n, is_many)) = weekdays(line, at)
                && (is_many || is_weekly)
            {
                reads.push((vec![Piece::Days(days)], n));
            }
        }
    }
    reads
}

/// Whether "working day" or "business day" stands at a place.
pub(in super::super) fn is_working_day(line: &Line<'_>, at: usize) -> bool {
    let is_working =
        ["working", "business"].iter().any(|word| line.slice(at).eq_ignore_ascii_case(word));
    is_working && line.kind(at + 1) == Some(&Lexeme::Unit(Unit::Day))
}

/// Whether a lexeme says by itself that something recurs.
pub(in super::super) fn is_sign(kind: &Lexeme) -> bool {
    matches!(
        kind,
        Lexeme::Cue(Cue::Every | Cue::Skipping | Cue::Cycle(..) | Cue::Daily(_) | Cue::WorkingDays)
            | Lexeme::Weekday { is_many: true, .. }
    )
}

/// The days of the week that are left out, and of how many lexemes it is: "except Fridays", "but not on
/// weekends", 除了周五以外, 周末除外.
pub(super) fn except(line: &Line<'_>, at: usize) -> Option<(Weekdays, usize)> {
    use Lexeme::Cue as Said;
    let n_word = except_words(line, at);
    let n_small = (0..2)
        .take_while(|n| {
            let kind = line.kind(at + n_word + n);
            matches!(kind, Some(Said(Cue::On | Cue::The | Cue::For | Cue::Every)))
        })
        .count();
    let n_lead = if n_word == 0 { 0 } else { n_word + n_small };
    let body = at + n_lead;
    let (days, n) = match line.kind(body) {
        Some(Said(Cue::WorkingDays)) => (Weekdays::WORKING, 1),
        Some(Said(Cue::Weekend)) => (Weekdays::WEEKEND, 1),
        _ => weekdays(line, body).map(|(days, n, _)| (days, n))?,
    };
    let end = body + n;
    let n_after =
        usize::from(line.kind(end) == Some(&Said(Cue::Excepted)) || line.slice(end) == "外");
    // "except Fridays and holidays", "except Friday the 13th", "except Friday morning" leave out more, or less.
    let is_more = matches!(
        line.kind(end + n_after),
        Some(
            Said(Cue::And | Cue::The | Cue::In | Cue::Nth(_) | Cue::Weekend | Cue::WorkingDays)
                | Lexeme::Part(_)
                | Lexeme::Date(_)
                | Lexeme::Ordinal(_)
        )
    ) || line.slice(end + n_after).eq_ignore_ascii_case("or");
    let is_left_out = n_word > 0 || n_after > 0;
    (is_left_out && !is_more).then_some((days, n_lead + n + n_after))
}

/// Of how many lexemes "except", "but not", "apart from" is.
fn except_words(line: &Line<'_>, at: usize) -> usize {
    let word = |at: usize| line.slice(at).to_lowercase();
    if line.kind(at) == Some(&Lexeme::Cue(Cue::Except)) {
        return usize::from(!matches!(word(at).as_str(), "unless" | "除非"));
    }
    match (word(at).as_str(), word(at + 1).as_str()) {
        ("but" | "and" | "just", "not") | ("apart" | "aside", "from") | ("other", "than") => 2,
        ("not", "on") => 1,
        _ => 0,
    }
}

/// Whether a number, or "some", stands before a place.
pub(super) fn is_counted(line: &Line<'_>, at: usize) -> bool {
    let before = at.checked_sub(1);
    let word = before.map_or("", |at| line.slice(at));
    let is_number = matches!(before.and_then(|at| line.kind(at)), Some(Lexeme::Number { .. }));
    is_number || ["some", "few", "most", "many"].iter().any(|some| word.eq_ignore_ascii_case(some))
}

/// What follows "every".
fn every(line: &Line<'_>, at: usize, reads: &mut Vec<Read>) {
    use Lexeme::Cue as Said;
    let n_other = usize::from(matches!(
        line.from(at + 1),
        [
            Said(Cue::Other | Cue::Nth(2)),
            Lexeme::Unit(_) | Lexeme::Weekday { .. } | Said(Cue::Weekend),
            ..
        ]
    ));
    reads.extend(second_of_month(line, at));
    let interval = if n_other == 1 { 2 } else { 1 };
    let body = at + 1 + n_other;
    let n_lead = 1 + n_other;
    if let Some((days, n, _)) = weekdays(line, body) {
        let cycle = Piece::Cycle(interval, Unit::Week);
        reads.push((vec![cycle, Piece::Days(days)], n + n_lead));
    }
    match line.from(body) {
        [Lexeme::Unit(unit), ..] => {
            reads.push((vec![Piece::Cycle(interval, *unit)], n_lead + 1));
        }
        [Said(Cue::WorkingDays), ..] => {
            reads.push((vec![Piece::Days(Weekdays::WORKING)], n_lead + 1));
        }
        [Lexeme::Word, Lexeme::Unit(Unit::Day), ..] if is_working_day(line, body) => {
            reads.push((vec![Piece::Days(Weekdays::WORKING)], n_lead + 2));
        }
        [Said(Cue::Weekend), ..] => {
            let cycle = Piece::Cycle(interval, Unit::Week);
            reads.push((vec![cycle, Piece::Days(Weekdays::WEEKEND)], n_lead + 1));
        }
        [Said(Cue::Cycle(n, unit)), ..] => {
            reads.push((vec![Piece::Cycle(*n, *unit)], n_lead + 1));
        }
        [Lexeme::Part(part), ..] => {
            reads.push((vec![Piece::Cycle(1, Unit::Day), Piece::Part(*part)], n_lead + 1));
        }
        [Lexeme::Ordinal(n), Lexeme::Unit(unit), ..] => {
            if let Ok(n) = u32::try_from(*n) {
                reads.push((vec![Piece::Cycle(n, *unit)], n_lead + 2));
            }
        }
        // "every 5th customer" is no day, "every 2nd and 4th Monday" no rule of one.
        [Lexeme::Ordinal(day @ 1..=31), after @ ..]
            if !matches!(
                after.first(),
                Some(
                    Lexeme::Word | Lexeme::Opaque | Lexeme::Weekday { .. } | Lexeme::Cue(Cue::And)
                )
            ) =>
        {
            if let Ok(day) = i8::try_from(*day) {
                let pieces = vec![Piece::Cycle(1, Unit::Month), Piece::MonthDay(day)];
                reads.push((pieces, n_lead + 1));
            }
        }
        [Lexeme::Date(parts @ DateParts { year: None, month: Some(_), day: Some(_) }), ..] => {
            reads.push((vec![Piece::Cycle(1, Unit::Year), Piece::Date(*parts)], n_lead + 1));
        }
        _ => {}
    }
    every_nth(line, body, n_lead, reads);
    if let Some((length, n)) = super::length(line, body)
        && let Some((count, unit)) = cycle(length)
    {
        reads.push((vec![Piece::Cycle(count, unit)], n + n_lead));
        days_of_weeks(line, at, n + n_lead, (count, unit), reads);
    }
}

/// "every two weeks on Monday and Thursday", 每两周的周一和周四: the days behind a cycle of `n` lexemes.
fn days_of_weeks(line: &Line<'_>, at: usize, n: usize, cycle: (u32, Unit), reads: &mut Vec<Read>) {
    let is_small = line.kind(at + n) == Some(&Lexeme::Cue(Cue::On)) || line.slice(at + n) == "的";
    let n_small = usize::from(is_small);
    if let (count, Unit::Week) = cycle
        && let Some((days, n_days, _)) = weekdays(line, at + n + n_small)
    {
        reads
            .push((vec![Piece::Cycle(count, Unit::Week), Piece::Days(days)], n + n_small + n_days));
    }
}

/// "every second Tuesday of the month"; without a month it is every other one.
fn second_of_month(line: &Line<'_>, at: usize) -> Option<Read> {
    let [Lexeme::Cue(Cue::Nth(2)), Lexeme::Weekday { day, .. }, ..] = line.from(at + 1) else {
        return None;
    };
    let (_, n_month) = days::month_behind(line, at + 3)?;
    Some((vec![Piece::Cycle(1, Unit::Month), Piece::Nth(Nth::From(2), *day)], 3 + n_month))
}

/// "every first Monday", "every last Friday of the month".
fn every_nth(line: &Line<'_>, body: usize, n_lead: usize, reads: &mut Vec<Read>) {
    if let Some((nth, n)) = days::nth(line, body)
        && let Some(Lexeme::Weekday { day, .. }) = line.kind(body + n)
    {
        let n_month = days::month_behind(line, body + n + 1).map_or(0, |(_, n)| n);
        let pieces = vec![Piece::Cycle(1, Unit::Month), Piece::Nth(nth, *day)];
        reads.push((pieces, n_lead + n + 1 + n_month));
    }
    // "every last Friday": a weekday of the week before otherwise.
    if let [Lexeme::Weekday { day, week: Some(-1), .. }, ..] = line.from(body) {
        let n_month = days::month_behind(line, body + 1).map_or(0, |(_, n)| n);
        let pieces = vec![Piece::Cycle(1, Unit::Month), Piece::Nth(Nth::Last, *day)];
        reads.push((pieces, n_lead + 1 + n_month));
    }
}

/// A length as a number of one unit.
fn cycle(length: Length) -> Option<(u32, Unit)> {
    let (n, unit) = match length {
        Length { seconds: 1.., .. } => (1, Unit::Hour),
        Length { days, months: 0, .. } if days % 7 == 0 => (days / 7, Unit::Week),
        Length { days, months: 0, .. } => (days, Unit::Day),
        Length { days: 0, months, .. } if months % 12 == 0 => (months / 12, Unit::Year),
        Length { days: 0, months, .. } => (months, Unit::Month),
        Length { .. } => return None,
    };
    u32::try_from(n).ok().filter(|n| *n > 0).map(|n| (n, unit))
}

/// A list or stretch of weekdays, of how many lexemes it is, and whether its plural says that it recurs.
fn weekdays(line: &Line<'_>, at: usize) -> Option<(Weekdays, usize, bool)> {
    let Some(Lexeme::Weekday { day: first, week: None, is_many }) = line.kind(at) else {
        return None;
    };
    let (mut days, mut last, mut is_many) = (Weekdays::one(*first), *first, *is_many);
    let mut n = 1;
    for _ in 0..LIST_MAX {
        if let Some(more) = line.kind(at + n).and_then(|_| han_days(line.slice(at + n))) {
            days = more.into_iter().fold(days, Weekdays::with);
            n += 1;
            continue;
        }
        let n_join = joiner(line, at + n);
        match line.kind(at + n + n_join) {
            Some(Lexeme::Weekday { day, week: None, is_many: many }) if n_join > 0 => {
                days = if is_stretch(line, at + n) {
                    stretch(last, *day).into_iter().fold(days, Weekdays::with)
                } else {
                    days.with(*day)
                };
                (last, is_many) = (*day, is_many || *many || is_stretch(line, at + n));
                n += n_join + 1;
            }
            // 每周一、三、五
            Some(Lexeme::Number { .. } | Lexeme::Word | Lexeme::Unit(Unit::Day)) if n_join > 0 => {
                let Some(more) = han_days(line.slice(at + n + n_join)) else { break };
                days = if is_stretch(line, at + n) {
                    more.into_iter().flat_map(|day| stretch(last, day)).fold(days, Weekdays::with)
                } else {
                    more.into_iter().fold(days, Weekdays::with)
                };
                n += n_join + 1;
            }
            _ => break,
        }
    }
    Some((days, n, is_many))
}

/// Of how many lexemes what joins two weekdays is.
fn joiner(line: &Line<'_>, at: usize) -> usize {
    use Lexeme::{Cue as Said, Mark};
    match line.from(at) {
        [Mark(','), Said(Cue::And), ..] => 2,
        [Said(Cue::And | Cue::To | Cue::Until) | Mark(',' | '&' | '/' | '-' | '–' | '~'), ..] => {
            1
        }
        _ => 0,
    }
}

/// Whether it joins the first and the last of several days.
fn is_stretch(line: &Line<'_>, at: usize) -> bool {
    matches!(line.kind(at), Some(Lexeme::Cue(Cue::To | Cue::Until) | Lexeme::Mark('-' | '–' | '~')))
}

fn stretch(first: Weekday, last: Weekday) -> Vec<Weekday> {
    let mut days: Vec<Weekday> =
        std::iter::successors(Some(first), |day| Some(day.next())).take(7).collect();
    let n = days.iter().position(|day| *day == last).map_or(1, |at| at + 1);
    days.truncate(n);
    days
}

/// Weekdays by their characters alone: the 三五 of 每周一三五.
fn han_days(text: &str) -> Option<Vec<Weekday>> {
    let days: Option<Vec<Weekday>> = text
        .chars()
        .map(|c| {
            Some(match c {
                '一' => Weekday::Monday,
                '二' => Weekday::Tuesday,
                '三' => Weekday::Wednesday,
                '四' => Weekday::Thursday,
                '五' => Weekday::Friday,
                '六' => Weekday::Saturday,
                '日' | '天' => Weekday::Sunday,
                _ => return None,
            })
        })
        .collect();
    days.filter(|days| !days.is_empty() && days.len() <= 6)
}
