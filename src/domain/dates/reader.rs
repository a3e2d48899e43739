//! Reads dates out of a question: a small grammar over numbers, words and marks.

use super::{AskedDate, MONTHS};
use crate::domain::text::{is_unspaced, normalise};

/// Most dates read from one question.
pub(super) const DATES_MAX: usize = 8;

/// Month words that also mean something else (a verb, a first name): alone they count only after
/// one of [`MONTH_LEADS`]. Abbreviations are held to the same.
const AMBIGUOUS_MONTHS: [&str; 5] = ["march", "april", "may", "june", "august"];
/// Words after which "May" is a month.
const MONTH_LEADS: [&str; 14] = [
    "in", "of", "during", "since", "until", "till", "by", "last", "this", "next", "early", "mid",
    "late", "from",
];

/// The dates in a question, each once, in order: `8 May 2023`, `May 8th, 2023`, `October 13`,
/// `July 2023`, `in May`, `2023`, `10.01.2024`, `2024-01-10`, `2024/01/10`, `2024-01`, `5月8日`,
/// `2023年10月`; months may be abbreviated.
pub fn asked(question: &str) -> Vec<AskedDate> {
    let parts = parts(question);
    let mut dates = Vec::new();
    let mut at = 0;
    while at < parts.len() && dates.len() < DATES_MAX {
        let (before, rest) = parts.split_at(at);
        match read(before, rest) {
            Some((date, n_parts)) => {
                if !dates.contains(&date) {
                    dates.push(date);
                }
                at += n_parts;
            }
            None => at += 1,
        }
    }
    dates
}

/// A piece of a question.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// A number of at most four digits, and how many it has. `th` and the like are dropped.
    Number(i16, usize),
    /// A word in lower case, or one character of Han.
    Word(String),
    /// Anything else but blanks.
    Mark(char),
    /// Any stretch of blanks.
    Blank,
}

fn parts(text: &str) -> Vec<Part> {
    let text = normalise(text);
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let belongs: fn(char) -> bool = if c.is_ascii_digit() {
            |c| c.is_ascii_digit()
        } else if c.is_alphabetic() && !is_unspaced(c) {
            |c| c.is_alphabetic() && !is_unspaced(c)
        } else {
            |_| false
        };
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len()).max(c.len_utf8());
        let (piece, after) = rest.split_at(end);
        rest = after;
        let is_ordinal = matches!(piece, "st" | "nd" | "rd" | "th")
            && matches!(parts.last(), Some(Part::Number(..)));
        if is_ordinal {
            continue;
        }
        parts.push(match piece.parse() {
            Ok(number) if c.is_ascii_digit() && piece.len() <= 4 => {
                Part::Number(number, piece.len())
            }
            _ if c == ' ' => Part::Blank,
            _ if c.is_alphanumeric() => Part::Word(piece.to_owned()),
            _ => Part::Mark(c),
        });
    }
    parts
}

/// The date at the start of `rest`, and of how many parts it is made.
fn read(before: &[Part], rest: &[Part]) -> Option<(AskedDate, usize)> {
    if is_glued(before) && !matches!(rest.first(), Some(Part::Word(_))) {
        return None;
    }
    let (date, n_parts) = read_numeric(rest)
        .or_else(|| read_han(rest))
        .or_else(|| read_named(before, rest))
        .or_else(|| read_year(rest))?;
    let is_day = date.day.is_none_or(|day| (1..=31).contains(&day));
    let is_month = date.month.is_none_or(|month| (1..=12).contains(&month));
    (is_day && is_month).then_some((date, n_parts))
}

/// Whether a number that follows is part of something longer, like `INC-2023` or `v2023`.
fn is_glued(before: &[Part]) -> bool {
    match before.last() {
        Some(Part::Number(..)) => true,
        Some(Part::Word(word)) => !word.chars().all(is_unspaced),
        Some(Part::Mark(mark)) => {
            matches!(mark, '-' | '_' | '.' | '/' | '\\' | ':' | '#' | '@' | '=' | '$' | '+')
        }
        Some(Part::Blank) | None => false,
    }
}

/// `2024-01-10`, `2024/01/10`, `2024-01`, `10.01.2024`.
fn read_numeric(rest: &[Part]) -> Option<(AskedDate, usize)> {
    use Part::{Mark, Number};
    let (year, month, day, n_parts) = match rest {
        [
            Number(year, 4),
            Mark(mark @ ('-' | '/')),
            Number(month, 1..=2),
            Mark(again),
            Number(day, 1..=2),
            ..,
        ] if mark == again => (year, month, Some(*day), 5),
        [Number(day, 1..=2), Mark('.'), Number(month, 1..=2), Mark('.'), Number(year, 4), ..] => {
            (year, month, Some(*day), 5)
        }
        [Number(year, 4), Mark('-'), Number(month, 2), after @ ..]
            if !matches!(after.first(), Some(Mark('-' | '.' | '/') | Part::Word(_))) =>
        {
            (year, month, None, 3)
        }
        _ => return None,
    };
    let date = AskedDate {
        year: Some(checked_year(*year)?),
        month: Some(small(*month)),
        day: day.map(small),
    };
    Some((date, n_parts))
}

/// `2023年5月8日`, `2023年10月`, `2023年`, `5月8日`, `10月`.
fn read_han(rest: &[Part]) -> Option<(AskedDate, usize)> {
    let mut date = AskedDate::default();
    let mut n_parts = 0;
    loop {
        let rest: &[Part] = rest.get(n_parts..)?;
        let n_blanks = usize::from(n_parts > 0 && rest.first() == Some(&Part::Blank));
        let (Some(Part::Number(number, digits)), Some(Part::Word(unit))) =
            (rest.get(n_blanks), rest.get(n_blanks + 1))
        else {
            break;
        };
        match (unit.as_str(), digits) {
            ("年", 4) if n_parts == 0 => date.year = Some(checked_year(*number)?),
            ("月", 1..=2) if date.month.is_none() => date.month = Some(small(*number)),
            ("日" | "号", 1..=2) if date.month.is_some() => date.day = Some(small(*number)),
            _ => break,
        }
        n_parts += n_blanks + 2;
        if date.day.is_some() {
            break;
        }
    }
    (n_parts > 0).then_some((date, n_parts))
}

/// `8 May 2023`, `8th of May`, `May 8, 2023`, `July 2023`, `in May`.
fn read_named(before: &[Part], rest: &[Part]) -> Option<(AskedDate, usize)> {
    use Part::{Blank, Mark, Number, Word};
    let (day, month_at) = match rest {
        [Number(day, 1..=2), Blank, Word(of), Blank, Word(_), ..] if of == "of" => (Some(day), 4),
        [Number(day, 1..=2), Blank | Mark('-'), Word(_), ..] => (Some(day), 2),
        [Word(_), ..] => (None, 0),
        _ => return None,
    };
    let Some(Word(word)) = rest.get(month_at) else { return None };
    let (month, is_plain) = month(word)?;
    let after: &[Part] = rest.get(month_at + 1..)?;
    // `Sept. 5`: the full stop of an abbreviation.
    let n_stop = usize::from(!is_plain && after.first() == Some(&Mark('.')));
    let after: &[Part] = after.get(n_stop..)?;
    let n_month = month_at + 1 + n_stop;
    // `May 8`, but not `May 8:30`.
    let (day, after, n_day) = match (day, after) {
        (None, [Blank, Number(day, 1..=2), after @ ..])
            if !matches!(after, [Mark(':'), Number(..), ..] | [Mark('%'), ..]) =>
        {
            (Some(day), after, 2)
        }
        (day, after) => (day, after, 0),
    };
    let year = year_after(after);
    let date = AskedDate {
        year: year.map(|(year, _)| year),
        month: Some(month),
        day: day.map(|day| small(*day)),
    };
    let n_year = year.map_or(0, |(_, n_parts)| n_parts);
    let is_led = matches!(
        before,
        [.., Word(lead), Blank | Mark('-')] if MONTH_LEADS.contains(&lead.as_str())
    );
    let counts = is_plain || is_led || date.day.is_some() || date.year.is_some();
    counts.then_some((date, n_month + n_day + n_year))
}

/// `2023` on its own.
fn read_year(rest: &[Part]) -> Option<(AskedDate, usize)> {
    match rest {
        [Part::Number(number, 4), after @ ..] => {
            let is_longer = matches!(
                after,
                [
                    Part::Mark('-' | '.' | '/' | ':' | '_' | ','),
                    Part::Number(..) | Part::Word(_),
                    ..
                ] | [Part::Mark('%'), ..]
            ) || matches!(after.first(), Some(Part::Word(word)) if !word.chars().all(is_unspaced));
            let year = checked_year(*number).filter(|_| !is_longer)?;
            Some((AskedDate { year: Some(year), ..AskedDate::default() }, 1))
        }
        _ => None,
    }
}

/// The year behind a day or month, and of how many parts it is: ` 2023`, `, 2023`, ` of 2023`.
fn year_after(after: &[Part]) -> Option<(i16, usize)> {
    use Part::{Blank, Mark, Number, Word};
    let (year, n_parts) = match after {
        [Blank | Mark(',' | '-'), Number(year, 4), ..] => (year, 2),
        [Mark(','), Blank, Number(year, 4), ..] => (year, 3),
        [Blank, Word(of), Blank, Number(year, 4), ..] if of == "of" => (year, 4),
        _ => return None,
    };
    Some((checked_year(*year)?, n_parts))
}

/// The month a word names, and whether it can mean nothing else.
fn month(word: &str) -> Option<(i8, bool)> {
    let at = MONTHS.iter().position(|name| {
        *name == word
            || (word.len() == 3 && name.starts_with(word))
            || (word == "sept" && *name == "september")
    })?;
    let is_plain = MONTHS.contains(&word) && !AMBIGUOUS_MONTHS.contains(&word);
    Some((i8::try_from(at + 1).ok()?, is_plain))
}

fn checked_year(number: i16) -> Option<i16> {
    (1900..=2099).contains(&number).then_some(number)
}

/// A day or month number; one that does not fit becomes 0 and is refused by [`read`].
fn small(number: i16) -> i8 {
    i8::try_from(number).unwrap_or(0)
}
