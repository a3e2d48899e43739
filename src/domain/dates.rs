//! Dates that stand in a question, and how well the time of a memory fits them.
//!
//! A question about "8 May 2023" means memories of that day above all, then of the days around it;
//! one about "July 2023" means that month. Pure: no clock, so words like "yesterday" are not read
//! here.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Most dates read from one question.
const DATES_MAX: usize = 8;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Month words that also mean something else (a verb, a first name): alone they count only after
/// one of [`MONTH_LEADS`]. Abbreviations are held to the same.
const AMBIGUOUS_MONTHS: [&str; 5] = ["march", "april", "may", "june", "august"];
/// Words after which "May" is a month.
const MONTH_LEADS: [&str; 14] = [
    "in", "of", "during", "since", "until", "till", "by", "last", "this", "next", "early", "mid",
    "late", "from",
];

/// A date as far as a question tells it; at least one part is there, and a day has a month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AskedDate {
    /// 1900..=2099.
    pub year: Option<i16>,
    /// 1..=12.
    pub month: Option<i8>,
    /// 1..=31.
    pub day: Option<i8>,
}

impl fmt::Display for AskedDate {
    /// `8 May 2023`, `May 2023`, `8 May`, `2023`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut blank = "";
        if let Some(day) = self.day {
            write!(f, "{day}")?;
            blank = " ";
        }
        if let Some(name) =
            self.month.and_then(|month| MONTHS.get(usize::try_from(month).ok()? - 1))
        {
            let (first, rest) = name.split_at(1);
            write!(f, "{blank}{}{rest}", first.to_uppercase())?;
            blank = " ";
        }
        match self.year {
            Some(year) => write!(f, "{blank}{year}"),
            None => Ok(()),
        }
    }
}

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

/// How well `event_time`, read in `zone`, fits the best of `dates`, 0.0..=1.0, and which that is.
///
/// A day: the same 1, one day off 0.6, within seven 0.25, else the same month 0.1. A month without a
/// day: the same 0.5. A year alone: the same 0.15. What the question does not say is taken from the
/// event (scale: `notes` on the development sets, "The recipe").
pub fn fit(
    dates: &[AskedDate],
    event_time: Timestamp,
    zone: &TimeZone,
) -> Option<(AskedDate, f64)> {
    if dates.is_empty() {
        return None;
    }
    let event = zone.to_datetime(event_time).date();
    dates
        .iter()
        .map(|date| (*date, fit_one(*date, event)))
        .filter(|(_, fit)| *fit > 0.0)
        .max_by(|(_, left), (_, right)| left.total_cmp(right))
}

fn fit_one(asked: AskedDate, event: Date) -> f64 {
    let same_year = asked.year.is_none_or(|year| year == event.year());
    match (asked.month, asked.day) {
        (Some(month), Some(day)) => match days_off(asked.year, month, day, event) {
            Some(0) => 1.0,
            Some(1) => 0.6,
            Some(2..=7) => 0.25,
            _ if same_year && month == event.month() => 0.1,
            _ => 0.0,
        },
        (Some(month), None) if same_year && month == event.month() => 0.5,
        (None, None) if asked.year == Some(event.year()) => 0.15,
        _ => 0.0,
    }
}

/// Days between the event and the day asked for; without a year, the nearest such day.
fn days_off(year: Option<i16>, month: i8, day: i8, event: Date) -> Option<i32> {
    let years = match year {
        Some(year) => year..=year,
        None => event.year() - 1..=event.year() + 1,
    };
    years
        .filter_map(|year| Date::new(year, month, day).ok())
        .filter_map(|date| date.until(event).ok())
        .map(|span| span.get_days().abs())
        .min()
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
    let text = super::text::normalise(text);
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let belongs: fn(char) -> bool = if c.is_ascii_digit() {
            |c| c.is_ascii_digit()
        } else if c.is_alphabetic() && !super::text::is_unspaced(c) {
            |c| c.is_alphabetic() && !super::text::is_unspaced(c)
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
        Some(Part::Word(word)) => !word.chars().all(super::text::is_unspaced),
        Some(Part::Mark(mark)) => {
            matches!(mark, '-' | '_' | '.' | '/' | '\\' | ':' | '#' | '@' | '=' | '$' | '+')
        }
        Some(Part::Blank) | None => false,
    }
}

/// `2024-01-10`, `2024/01/10`, `2024-01`, `10.01.2024`.
fn read_numeric(rest: &[Part]) -> Option<(AskedDate, usize)> {
    use Part::{Mark, Number};
    match rest {
        [
            Number(y, 4),
            Mark(mark @ ('-' | '/')),
            Number(m, 1..=2),
            Mark(again),
            Number(d, 1..=2),
            ..,
        ] if mark == again => Some((full(*y, *m, *d)?, 5)),
        [Number(d, 1..=2), Mark('.'), Number(m, 1..=2), Mark('.'), Number(y, 4), ..] => {
            Some((full(*y, *m, *d)?, 5))
        }
        [Number(y, 4), Mark('-'), Number(m, 2), after @ ..]
            if !matches!(after.first(), Some(Mark('-' | '.' | '/') | Part::Word(_))) =>
        {
            Some((AskedDate { year: Some(year(*y)?), month: Some(small(*m)), day: None }, 3))
        }
        _ => None,
    }
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
            ("年", 4) if n_parts == 0 => date.year = Some(year(*number)?),
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
    let month = Some(month);
    if let Some(day) = day {
        let day = Some(small(*day));
        return Some(match year_after(after) {
            Some((year, n)) => (AskedDate { year: Some(year), month, day }, n_month + n),
            None => (AskedDate { year: None, month, day }, n_month),
        });
    }
    if let [Blank, Number(day, 1..=2), after @ ..] = after
        && !matches!(after, [Mark(':' | '%'), Number(..), ..])
    {
        let day = Some(small(*day));
        return Some(match year_after(after) {
            Some((year, n)) => (AskedDate { year: Some(year), month, day }, n_month + 2 + n),
            None => (AskedDate { year: None, month, day }, n_month + 2),
        });
    }
    if let Some((year, n)) = year_after(after) {
        return Some((AskedDate { year: Some(year), month, day: None }, n_month + n));
    }
    let leads = matches!(before, [.., Word(lead), Blank | Mark('-')] if MONTH_LEADS.contains(&lead.as_str()));
    (is_plain || leads).then_some((AskedDate { year: None, month, day: None }, n_month))
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
            ) || matches!(after.first(), Some(Part::Word(word)) if !word.chars().all(super::text::is_unspaced));
            let year = year(*number).filter(|_| !is_longer)?;
            Some((AskedDate { year: Some(year), ..AskedDate::default() }, 1))
        }
        _ => None,
    }
}

/// The year behind a day or month: ` 2023`, `, 2023`, ` of 2023`.
fn year_after(after: &[Part]) -> Option<(i16, usize)> {
    use Part::{Blank, Mark, Number, Word};
    match after {
        [Blank | Mark(',' | '-'), Number(y, 4), ..] => Some((year(*y)?, 2)),
        [Mark(','), Blank, Number(y, 4), ..] => Some((year(*y)?, 3)),
        [Blank, Word(of), Blank, Number(y, 4), ..] if of == "of" => Some((year(*y)?, 4)),
        _ => None,
    }
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

fn full(y: i16, m: i16, d: i16) -> Option<AskedDate> {
    Some(AskedDate { year: Some(year(y)?), month: Some(small(m)), day: Some(small(d)) })
}

fn year(number: i16) -> Option<i16> {
    (1900..=2099).contains(&number).then_some(number)
}

/// A day or month number; one that does not fit becomes 0 and is refused by [`read`].
fn small(number: i16) -> i8 {
    i8::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests;
