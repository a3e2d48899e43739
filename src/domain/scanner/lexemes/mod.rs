//! A text as a row of lexemes: the typed values it states, and the words around them that say how they
//! belong together.

mod code;
mod neighbours;

use std::iter::Peekable;
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Weekday;

use super::length::{Length, Unit};
use super::lexicon::{self, Cue};
use super::zones;
use crate::domain::grounding::values::{
    ClockTime, DateParts, Found, Period, Reading, Value, han_digit,
};
use crate::domain::text::is_unspaced;
use crate::domain::when;

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// 0..=23; 1..=12 if vague.
    pub(super) hour: u8,
    /// 0..=59.
    pub(super) minute: u8,
    /// 0..=59.
    pub(super) second: u8,
    /// Whether the text leaves open which half of the day it means.
    pub(super) is_vague: bool,
    /// Whether it belongs to the night of the day before: 今晚十二点.
    pub(super) is_late: bool,
    /// Whether it is written with a colon, as on a clock of 24 hours.
    pub(super) is_written: bool,
}

impl Clock {
    pub(super) const fn exact(hour: u8, minute: u8) -> Self {
        Self { hour, minute, second: 0, is_vague: false, is_late: false, is_written: false }
    }
}

impl From<ClockTime> for Clock {
    fn from(time: ClockTime) -> Self {
        let second = time.second.unwrap_or(0);
        Self {
            hour: time.hour,
            minute: time.minute,
            second,
            is_vague: time.is_vague,
            is_late: false,
            is_written: false,
        }
    }
}

/// A part of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Dawn,
    Morning,
    Noon,
    Afternoon,
    Evening,
    Night,
}

/// What a stretch of text says about times.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Lexeme {
    Instant(Timestamp),
    Date(DateParts),
    Weekday {
        day: Weekday,
        /// -1 last, 0 this, 1 next week, if the text says so.
        week: Option<i8>,
        /// `Mondays`.
        is_many: bool,
    },
    /// Tomorrow, next week; in three days (counted).
    Shift {
        period: Period,
        by: i32,
        is_counted: bool,
    },
    Clock(Clock),
    Length(Length),
    Ordinal(u64),
    /// With whether a noun is counted.
    Number {
        number: u64,
        is_counted: bool,
    },
    Unit(Unit),
    Part(Part),
    Zone(&'static str),
    /// CST, which leaves open which zone it is, or the offset of a time that no zone has:
    /// 2026-12-04T15:00+25:00.
    NoZone,
    /// A path, which may be the name of a zone.
    Path,
    Cue(Cue),
    /// Any other word.
    Word,
    /// A version, an address, a price and the like.
    Opaque,
    Mark(char),
}

/// A row of lexemes; `kinds` and `ranges` are of the same length.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) kinds: Vec<Lexeme>,
    /// Bytes of the reading; lexemes read from one expression have the same.
    pub(super) ranges: Vec<Range<usize>>,
}

impl Row {
    fn push(&mut self, kind: Lexeme, range: Range<usize>) {
        self.kinds.push(kind);
        self.ranges.push(range);
    }

    /// The lexemes that lie in a range.
    pub(super) fn within(&self, range: &Range<usize>) -> (&[Lexeme], &[Range<usize>]) {
        let from = self.ranges.partition_point(|lexeme| lexeme.start < range.start);
        let to = self.ranges.partition_point(|lexeme| lexeme.start < range.end).max(from);
        (self.kinds.get(from..to).unwrap_or(&[]), self.ranges.get(from..to).unwrap_or(&[]))
    }
}

/// The lexemes of a text.
pub(super) fn read(reading: &Reading) -> Row {
    let mut code = code::ranges(&reading.text).into_iter().peekable();
    let mut values =
        reading.values.iter().filter(|found| !matches!(found.value, Value::Name(_))).peekable();
    let mut row = Row::default();
    let mut at = 0;
    while let Some(c) = reading.text.get(at..).and_then(|rest| rest.chars().next()) {
        while code.next_if(|range| range.end <= at).is_some() {}
        let quoted = code.peek().filter(|range| range.contains(&at));
        let next = values.peek().map(|found| found.range.clone());
        at = if let Some(quoted) = quoted {
            while values.next_if(|found| found.range.start < quoted.end).is_some() {}
            row.push(Lexeme::Opaque, at..quoted.end);
            quoted.end
        } else if let Some(range) = next.filter(|range| range.start <= at) {
            let found = take(&mut values, &range);
            if range.start == at {
                push_values(&found, reading.slice(&range), &range, &mut row);
            }
            range.end.max(at)
        } else {
            let stop = values.peek().map_or(reading.text.len(), |found| found.range.start);
            push_word(&reading.text, c, at..stop, &mut row)
        };
    }
    neighbours::weekdays_in_short(reading, &mut row);
    neighbours::counted_by_words(&mut row);
    row
}

fn take<'r>(
    values: &mut Peekable<impl Iterator<Item = &'r Found>>,
    range: &Range<usize>,
) -> Vec<&'r Value> {
    let mut found = Vec::new();
    while let Some(value) = values.next_if(|found| found.range == *range) {
        found.push(&value.value);
    }
    found
}

/// The lexemes of the values that were read from one expression.
fn push_values(values: &[&Value], slice: &str, range: &Range<usize>, row: &mut Row) {
    if let Some(instant) = instant(slice) {
        row.push(Lexeme::Instant(instant), range.clone());
        return;
    }
    let lower = slice.to_lowercase();
    let is_relative = matches!(values.first(), Some(Value::Relative { .. }));
    for value in values {
        let kind = match value {
            Value::Date(parts) => Lexeme::Date(*parts),
            Value::Weekday { day, week } => Lexeme::Weekday {
                day: *day,
                // "the coming Friday" is the one ahead.
                week: week.filter(|_| !lower.starts_with("coming")),
                is_many: lower.ends_with("days"),
            },
            Value::Relative { period, shift } => {
                let is_counted = lower.ends_with(['前', '后', 'o', 'w']) && has_number(&lower)
                    || lower.starts_with("in ");
                // 三月后 is after March.
                if *period == Period::Month
                    && is_counted
                    && lower.contains('月')
                    && !lower.contains('个')
                {
                    Lexeme::Opaque
                } else {
                    Lexeme::Shift { period: *period, by: *shift, is_counted }
                }
            }
            Value::Time(time) => {
                let is_night = ["晚", "夜", "midnight"].iter().any(|word| lower.contains(word));
                // "at noon", "by midnight" are read whole.
                let lead = lexicon::english(lower.split(' ').next().unwrap_or(""));
                if let Some(
                    lead @ Lexeme::Cue(Cue::At | Cue::By | Cue::Until | Cue::From | Cue::After),
                ) = lead
                {
                    row.push(lead, range.clone());
                }
                let clock = Clock::from(*time);
                let is_written = lower.contains(':');
                let is_late = is_night && clock.hour < 5;
                Lexeme::Clock(Clock { is_late, is_written, ..clock })
            }
            Value::Quantity { amount, unit } => {
                let halves = amount.halves();
                match Unit::named(unit).zip(halves).and_then(|(unit, n)| Length::halves(n, unit)) {
                    Some(length) if !is_relative => Lexeme::Length(length),
                    Some(_) => continue,
                    None => Lexeme::Opaque,
                }
            }
            Value::Number { amount, counted } => match amount.as_whole() {
                Some(number) => Lexeme::Number { number, is_counted: !counted.is_empty() },
                None => Lexeme::Opaque,
            },
            Value::Ordinal(number) => Lexeme::Ordinal(*number),
            Value::Identifier(text) => short_length(text).map_or(Lexeme::Opaque, Lexeme::Length),
            Value::Path(_) => Lexeme::Path,
            Value::Version(_) | Value::Url(_) | Value::Email(_) | Value::Address(_) => {
                Lexeme::Opaque
            }
            Value::Name(_) => Lexeme::Word,
        };
        row.push(kind, range.clone());
    }
    if matches!(values.first(), Some(Value::Date(_))) && !when::has_real_offset(slice) {
        row.push(Lexeme::NoZone, range.clone());
    }
    if let (Some(part), true) = (part_within(&lower), is_relative && values.len() == 1) {
        row.push(Lexeme::Part(part), range.clone());
    }
}

fn has_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || han_digit(c).is_some() || c == '十')
}

/// `2026-12-04T15:00:00Z`: a time with its offset.
fn instant(slice: &str) -> Option<Timestamp> {
    (slice.contains(':') && when::has_real_offset(slice)).then(|| slice.parse().ok()).flatten()
}

/// The part of the day that a word for a day tells as well: tonight, 明早.
fn part_within(word: &str) -> Option<Part> {
    let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    if has(&["morning", "早"]) {
        Some(Part::Morning)
    } else if has(&["afternoon"]) {
        Some(Part::Afternoon)
    } else if has(&["evening"]) {
        Some(Part::Evening)
    } else if has(&["night", "晚", "夜"]) {
        Some(Part::Night)
    } else {
        None
    }
}

/// `2h`, `1h30m`, `3d`.
fn short_length(text: &str) -> Option<Length> {
    let mut rest = text;
    let mut total = Length::default();
    while !rest.is_empty() {
        let n_digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|n| (1..=3).contains(n))?;
        let (digits, after) = rest.split_at(n_digits);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let unit = match name {
            "h" | "hr" | "hrs" => Unit::Hour,
            "m" | "min" | "mins" => Unit::Minute,
            "d" => Unit::Day,
            "w" => Unit::Week,
            _ => return None,
        };
        total = total.plus(Length::whole(digits.parse().ok()?, unit)?)?;
        rest = after;
    }
    Some(total)
}

/// Pushes the word, mark or blank that begins at `range.start` and returns where it ends.
fn push_word(text: &str, first: char, range: Range<usize>, row: &mut Row) -> usize {
    let rest = text.get(range.clone()).unwrap_or("");
    let at = range.start;
    if first.is_whitespace() {
        return at + first.len_utf8();
    }
    if is_unspaced(first) || first == '、' {
        let digit = if first == '十' { Some(10) } else { han_digit(first) };
        let (kind, n_bytes) = match (lexicon::han(rest), digit) {
            (Some((lexeme, n_bytes)), _) => (lexeme.clone(), n_bytes),
            (None, Some(number)) => {
                (Lexeme::Number { number, is_counted: false }, first.len_utf8())
            }
            (None, None) => (Lexeme::Word, first.len_utf8()),
        };
        row.push(kind, at..at + n_bytes);
        return at + n_bytes;
    }
    if first.is_alphanumeric() {
        let belongs = |c: char| c.is_alphanumeric() && !is_unspaced(c) || matches!(c, '\'' | '’');
        let n_bytes = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let word = rest.get(..n_bytes).unwrap_or("");
        let kind = zones::lexeme(word);
        let kind = kind.or_else(|| lexicon::english(&word.to_lowercase()));
        row.push(kind.unwrap_or(Lexeme::Word), at..at + n_bytes);
        return at + n_bytes;
    }
    let kind = if first == '@' { Lexeme::Cue(Cue::At) } else { Lexeme::Mark(first) };
    row.push(kind, at..at + first.len_utf8());
    at + first.len_utf8()
}
