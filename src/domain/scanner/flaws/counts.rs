//! "twice", "three times a week", 每天两次: how many times something comes, and in what.

use std::ops::Range;

use super::super::grammar::Line;
use super::super::length::Unit;
use super::super::lexemes::Lexeme;
use super::super::lexicon::Cue;

/// "twice", "3 times a day", 每天两次: the lexemes, and in what the times are counted if that is said.
pub(super) fn count(line: &Line<'_>, at: usize) -> Option<(Range<usize>, Option<Unit>)> {
    let word = |at: usize| line.slice(at).to_lowercase();
    let is_times = |at: usize| matches!(word(at).as_str(), "times" | "次" | "遍" | "回");
    let first = word(at);
    let is_many = matches!(first.as_str(), "several" | "multiple" | "many" | "few" | "几");
    let n = match line.kind(at) {
        _ if matches!(first.as_str(), "twice" | "thrice") => 1,
        Some(Lexeme::Number { number: 2.., .. }) if is_times(at + 1) => 2,
        _ if is_many && is_times(at + 1) => 2,
        Some(Lexeme::Cue(Cue::Couple)) if is_times(at + 2) => 3,
        Some(Lexeme::Opaque) if is_number_with(&first) => 1,
        _ => return None,
    };
    // 第三次 is one of them.
    if at.checked_sub(1).is_some_and(|at| line.slice(at) == "第") {
        return None;
    }
    let end = at + n;
    let behind = match line.from(end) {
        [Lexeme::Cue(Cue::A | Cue::Every), Lexeme::Unit(unit), ..] => Some((*unit, 2)),
        [Lexeme::Word, Lexeme::Unit(unit), ..] if word(end) == "per" => Some((*unit, 2)),
        [Lexeme::Cue(Cue::Cycle(1, unit)), ..] => Some((*unit, 1)),
        _ => None,
    };
    if let Some((unit, n_unit)) = behind {
        return Some((at..end + n_unit, Some(unit)));
    }
    // 每天两次, 一天三次, "every day twice"
    let unit = |at: usize| match line.kind(at) {
        Some(Lexeme::Cue(Cue::Cycle(1, unit)) | Lexeme::Unit(unit)) => Some(*unit),
        Some(Lexeme::Cue(Cue::Daily(_))) => Some(Unit::Day),
        Some(Lexeme::Length(length)) => match (length.months, length.days, length.seconds) {
            (0, 1, 0) => Some(Unit::Day),
            (0, 7, 0) => Some(Unit::Week),
            _ => None,
        },
        _ => None,
    };
    let Some((before, unit)) = at.checked_sub(1).and_then(|at| Some((at, unit(at)?))) else {
        return Some((at..end, None));
    };
    let is_led = before.checked_sub(1).is_some_and(|at| {
        matches!(line.kind(at), Some(Lexeme::Cue(Cue::A | Cue::Every) | Lexeme::Number { .. }))
    });
    Some((before - usize::from(is_led)..end, Some(unit)))
}

/// `2x`, "three times", 三次.
fn is_number_with(word: &str) -> bool {
    if let Some(number) = word.strip_suffix("times").map(str::trim_end) {
        return !matches!(number, "" | "1" | "one");
    }
    let number = word.strip_suffix(['x', '次', '遍', '回']).unwrap_or("").trim_end();
    !matches!(number, "" | "1" | "一")
        && number.chars().all(|c| c.is_ascii_digit() || "二两三四五六七八九十几".contains(c))
}
