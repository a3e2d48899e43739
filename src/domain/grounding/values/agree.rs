//! When a stated value stands in a text: the same sort and meaning, dates on the parts that are named.

use std::collections::HashSet;

use jiff::Span;
use jiff::civil::{Date, Weekday};

use super::{DateParts, Found, Period, Reading, Value, read};
use crate::domain::text::{normalise, tokens};

/// Fewest characters of a hash that name it.
const HASH_PREFIX_MIN: usize = 7;

/// A text that may bear out a value, read once.
#[derive(Clone, Debug)]
pub struct Support {
    /// Its values.
    pub reading: Reading,
    /// The day on which what it says happened: dates without a year and words like "yesterday" are
    /// resolved by it.
    pub event_date: Option<Date>,
    /// Its tokens, as searched.
    words: HashSet<String>,
    /// Its text as it is compared.
    normal: String,
}

impl Support {
    /// Reads a text.
    pub fn of(text: &str, event_date: Option<Date>) -> Self {
        let reading = read(text);
        let words = tokens::tokens(&reading.text)
            .into_iter()
            .flat_map(|token| [token.text, token.surface])
            .collect();
        let normal = normalise(&reading.text);
        Self { reading, event_date, words, normal }
    }

    /// Whether a token, or a stem, stands in the text.
    pub fn has_word(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Whether the text bears a value out; the day of its event counts as said.
    pub fn holds(&self, stated: &Value) -> bool {
        let is_day = matches!(stated, Value::Date(_) | Value::Weekday { .. });
        let is_event = self
            .event_date
            .filter(|_| is_day)
            .is_some_and(|date| self.bears(&Value::Date(of_date(date)), stated));
        is_event || self.states(stated)
    }

    /// Whether the text itself states a value.
    pub fn states(&self, stated: &Value) -> bool {
        if let Value::Name(name) = stated {
            return self.has_name(name);
        }
        let is_word = matches!(stated, Value::Identifier(text) if self.words.contains(text));
        is_word || self.given().any(|given| self.bears(given, stated))
    }

    fn given(&self) -> impl Iterator<Item = &Value> {
        self.reading.values.iter().map(|Found { value, .. }| value)
    }

    /// Whether a name stands in the text in whatever case.
    fn has_name(&self, name: &str) -> bool {
        let is_spaced = name.chars().any(super::scan::is_word);
        if !is_spaced {
            return self.normal.contains(&normalise(name));
        }
        tokens::tokens(name)
            .iter()
            .filter(|token| token.counts())
            .all(|token| self.words.contains(&token.surface) || self.words.contains(&token.text))
    }

    /// Whether one value of the text bears out another.
    fn bears(&self, given: &Value, stated: &Value) -> bool {
        match (given, stated) {
            (_, Value::Date(stated)) => {
                is_year(given, *stated)
                    || resolve(given, self.event_date).iter().any(|date| covers(*date, *stated))
            }
            (
                Value::Weekday { day: given, week },
                Value::Weekday { day: stated, week: stated_week },
            ) => given == stated && (stated_week.is_none() || week == stated_week),
            (_, Value::Weekday { day, week: None }) => resolve(given, self.event_date)
                .into_iter()
                .any(|date| weekday_of(date) == Some(*day)),
            (Value::Time(given), Value::Time(stated)) => {
                let same_half = given.is_vague == stated.is_vague || stated.is_vague;
                let same_hour = given.hour == stated.hour
                    || stated.is_vague && given.hour % 12 == stated.hour % 12;
                let same_second =
                    stated.second.is_none_or(|second| second == given.second.unwrap_or(0));
                // "9:30" for 09:30: neither says more than the other.
                let same_number = given.hour == stated.hour && given.hour <= 12;
                (same_half && same_hour || same_number)
                    && given.minute == stated.minute
                    && same_second
            }
            (
                Value::Quantity { amount: given, unit },
                Value::Quantity { amount: stated, unit: stated_unit },
            ) => given == stated && unit == stated_unit,
            (Value::Quantity { amount: given, .. }, Value::Number { amount: stated, counted }) => {
                given == stated && (counted.is_empty() || self.words.contains(counted))
            }
            (
                Value::Number { amount: given, counted },
                Value::Number { amount: stated, counted: stated_counted },
            ) => {
                given == stated
                    && (stated_counted.is_empty()
                        || counted == stated_counted
                        || self.words.contains(stated_counted))
            }
            (Value::Date(date), Value::Number { amount, counted }) => {
                let year = date.year.and_then(|year| u64::try_from(year).ok());
                counted.is_empty() && year.is_some() && amount.as_whole() == year
            }
            (Value::Date(date), Value::Ordinal(stated)) => {
                date.day.and_then(|day| u64::try_from(day).ok()) == Some(*stated)
            }
            (Value::Path(given), Value::Path(stated)) => {
                given == stated
                    || given.strip_suffix(stated.as_str()).is_some_and(|rest| rest.ends_with('/'))
                    || given.strip_prefix(stated.as_str()).is_some_and(|rest| rest.starts_with('/'))
            }
            (Value::Identifier(given), Value::Identifier(stated)) => {
                let is_hash = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
                given == stated
                    || stated.len() >= HASH_PREFIX_MIN
                        && is_hash(given)
                        && given.starts_with(stated)
            }
            (given, stated) => given == stated,
        }
    }
}

/// A bare year stated for a number that could be one.
fn is_year(given: &Value, stated: DateParts) -> bool {
    let DateParts { year: Some(year), month: None, day: None } = stated else { return false };
    let Value::Number { amount, .. } = given else { return false };
    amount.as_whole() == u64::try_from(year).ok()
}

/// The dates that a value of a text can mean when what the text says happened on `event_date`: more
/// than one where the text leaves it open, none where it names no date.
pub fn resolve(value: &Value, event_date: Option<Date>) -> Vec<DateParts> {
    match value {
        Value::Date(parts) => complete(*parts, event_date),
        Value::Ordinal(day) => match i8::try_from(*day) {
            Ok(day @ 1..=31) => {
                complete(DateParts { day: Some(day), ..DateParts::default() }, event_date)
            }
            _ => Vec::new(),
        },
        Value::Weekday { day, week } => {
            let Some(event) = event_date else { return Vec::new() };
            let days = match week {
                None => -7..=7,
                Some(0) => -6..=6,
                Some(week) if *week < 0 => i32::from(*week) * 7 - 6..=-1,
                Some(week) => 1..=i32::from(*week) * 7 + 6,
            };
            days.filter_map(|shift| ahead(event, Span::new().try_days(shift).ok()?))
                .filter(|date| date.weekday() == *day)
                .map(of_date)
                .collect()
        }
        Value::Relative { period, shift } => {
            let Some(event) = event_date else { return Vec::new() };
            moved(event, *period, *shift).into_iter().collect()
        }
        Value::Time(_)
        | Value::Quantity { .. }
        | Value::Number { .. }
        | Value::Version(_)
        | Value::Url(_)
        | Value::Email(_)
        | Value::Path(_)
        | Value::Address(_)
        | Value::Identifier(_)
        | Value::Name(_) => Vec::new(),
    }
}

/// The date with what the text leaves out taken from the event: such days within a year of it, or within
/// a month if the text names no month.
fn complete(parts: DateParts, event_date: Option<Date>) -> Vec<DateParts> {
    let (Some(event), None) = (event_date, parts.year) else { return vec![parts] };
    let reach = if parts.month.is_some() { 12 } else { 1 };
    (-reach..=reach)
        .filter_map(|shift| ahead(event.first_of_month(), Span::new().try_months(shift).ok()?))
        .filter(|first| parts.month.is_none_or(|month| month == first.month()))
        .map(|first| DateParts { day: parts.day, ..of_date(first) })
        .collect()
}

/// A day, week, month or year away from the event; a week is known only by the day of the event in it,
/// so it names no date.
fn moved(event: Date, period: Period, shift: i32) -> Option<DateParts> {
    match period {
        Period::Day => ahead(event, Span::new().try_days(shift).ok()?).map(of_date),
        Period::Week => None,
        Period::Month => {
            let date = ahead(event, Span::new().try_months(shift).ok()?)?;
            Some(DateParts { day: None, ..of_date(date) })
        }
        Period::Year => {
            let year = event.year().checked_add(i16::try_from(shift).ok()?)?;
            Some(DateParts { year: Some(year), ..DateParts::default() })
        }
    }
}

fn ahead(date: Date, span: Span) -> Option<Date> {
    date.checked_add(span).ok()
}

/// Whether every part that `stated` names is the same in `given`; only a year may be left out there.
fn covers(given: DateParts, stated: DateParts) -> bool {
    let same = |given: Option<i8>, stated: Option<i8>| stated.is_none() || given == stated;
    let same_year = match (given.year, stated.year) {
        (Some(given), Some(stated)) => given == stated,
        _ => true,
    };
    let names_one = stated.month.is_some() || stated.day.is_some() || given.year.is_some();
    names_one && same_year && same(given.month, stated.month) && same(given.day, stated.day)
}

fn of_date(date: Date) -> DateParts {
    DateParts { year: Some(date.year()), month: Some(date.month()), day: Some(date.day()) }
}

fn weekday_of(parts: DateParts) -> Option<Weekday> {
    let date = Date::new(parts.year?, parts.month?, parts.day?).ok()?;
    Some(date.weekday())
}
