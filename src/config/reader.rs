//! Reads single values out of the layers, collecting what is wrong with them.
//!
//! A value is checked in every layer that gives it, also where a higher layer overrides it: a
//! mistake in a file should not appear on the day on which an environment variable goes. A refused
//! value leaves a placeholder behind that nobody sees, since the problems are returned instead.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::{DeInteger, DeValue};

use super::layer::{Layer, Leaf, show};
use super::paths::Environment;
use super::problem::{Place, Problem};

/// Longest value shown in a problem, characters.
const FOUND_CHARS_MAX: usize = 80;

/// The layers, lowest first, and the problems found in them.
pub(super) struct Reader<'a, 'i> {
    pub(super) layers: &'a [Layer<'i>],
    pub(super) problems: Vec<Problem>,
    /// Where paths that are not written out in full lead.
    pub(super) environment: &'a Environment,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// The layers that give `key`, lowest first.
    pub(super) fn given(&self, key: &str) -> Vec<(&'a Layer<'i>, &'a Leaf<'i>)> {
        self.layers.iter().filter_map(|layer| Some((layer, layer.leaves.get(key)?))).collect()
    }

    /// Where the value of `key` that is in force stands.
    pub(super) fn place(&self, key: &str) -> Option<Place> {
        self.given(key).last().map(|(layer, leaf)| layer.place(leaf.key.start))
    }

    /// A whole number in `range`.
    pub(super) fn integer(&mut self, key: &str, range: &RangeInclusive<u64>) -> u64 {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.read(key, &expected, |value| integer(value).filter(|number| range.contains(number)))
            .unwrap_or(*range.start())
    }

    /// A whole number in `range`, for counts and sizes in memory.
    pub(super) fn count(&mut self, key: &str, range: &RangeInclusive<u64>) -> usize {
        usize::try_from(self.integer(key, range)).unwrap_or(usize::MAX)
    }

    /// A time of so many `unit`s.
    pub(super) fn duration(
        &mut self,
        key: &str,
        unit: Duration,
        range: &RangeInclusive<u64>,
    ) -> Duration {
        unit.saturating_mul(u32::try_from(self.integer(key, range)).unwrap_or(u32::MAX))
    }

    /// A number in `range`.
    pub(super) fn number(&mut self, key: &str, range: &RangeInclusive<f64>) -> f64 {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        self.read(key, &expected, |value| number(value).filter(|number| range.contains(number)))
            .unwrap_or(*range.start())
    }

    /// One of some named values.
    pub(super) fn one_of<T: Copy + Default>(&mut self, key: &str, values: &[(&str, T)]) -> T {
        let names: Vec<String> = values.iter().map(|(name, _)| format!("{name:?}")).collect();
        let expected = format!("one of {}", names.join(", "));
        self.read(key, &expected, |value| {
            let text = value.as_str()?;
            values.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
        })
        .unwrap_or_default()
    }

    /// An absolute path, `~/...`, or nothing.
    pub(super) fn path(&mut self, key: &str) -> Option<PathBuf> {
        let home = self.environment.home();
        self.read(key, "an absolute path, a path that starts with ~/, or \"\"", |value| {
            let text = value.as_str()?;
            let path = match (text.strip_prefix("~/"), &home) {
                _ if text.is_empty() => return Some(None),
                (Some(below), Some(home)) => home.join(below),
                _ => PathBuf::from(text),
            };
            path.is_absolute().then_some(Some(path))
        })
        .flatten()
    }

    /// A text.
    pub(super) fn text(&mut self, key: &str) -> String {
        self.read(key, "a string", |value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// A list of user ids.
    pub(super) fn uids(&mut self, key: &str) -> Vec<u32> {
        self.read(key, "a list of user ids, like [1000, 1001]", |value| {
            let uid = |item: &DeValue<'_>| integer(item).and_then(|uid| u32::try_from(uid).ok());
            value.as_array()?.iter().map(|item| uid(item.get_ref())).collect()
        })
        .unwrap_or_default()
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, key: &str) -> bool {
        self.read(key, "true or false", DeValue::as_bool).unwrap_or_default()
    }

    /// The highest layer's value of `key` as `convert` reads it; `None` is a problem in every layer.
    pub(super) fn read<T>(
        &mut self,
        key: &str,
        expected: &str,
        convert: impl Fn(&DeValue<'i>) -> Option<T>,
    ) -> Option<T> {
        self.read_or_why(key, expected, |value| convert(value).ok_or_else(String::new))
    }

    /// The same, where `convert` can say what is wrong with a value (or nothing, if it is empty).
    pub(super) fn read_or_why<T>(
        &mut self,
        key: &str,
        expected: &str,
        convert: impl Fn(&DeValue<'i>) -> Result<T, String>,
    ) -> Option<T> {
        let mut read = None;
        for (layer, leaf) in self.given(key) {
            let value = leaf.value.get_ref();
            match convert(value) {
                Ok(converted) => read = Some(converted),
                Err(why) => {
                    let gap = if why.is_empty() { "" } else { ": " };
                    self.problems.push(Problem::value(
                        layer.place(leaf.value.span().start),
                        key,
                        expected,
                        format!("{}{gap}{why}", found(value)),
                    ));
                }
            }
        }
        read
    }
}

/// A value as a problem shows it: with its type, shortened.
pub(super) fn found(value: &DeValue<'_>) -> String {
    let shown = show(value);
    let kind = match value {
        DeValue::String(_) => "the string",
        DeValue::Integer(_) | DeValue::Float(_) => "the number",
        DeValue::Boolean(_) => "the boolean",
        DeValue::Datetime(_) => "the time",
        DeValue::Array(_) => "the list",
        DeValue::Table(_) => "the table",
    };
    shorten(&format!("{kind} {shown}"))
}

fn shorten(text: &(impl Display + ?Sized)) -> String {
    let text = text.to_string();
    match text.char_indices().nth(FOUND_CHARS_MAX) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or("")),
        None => text,
    }
}

/// A whole number that is not negative, in any base.
pub(super) fn integer(value: &DeValue<'_>) -> Option<u64> {
    let digits: &DeInteger<'_> = value.as_integer()?;
    u64::from_str_radix(digits.as_str(), digits.radix()).ok()
}

/// A whole number with its sign.
pub(super) fn signed(value: &DeValue<'_>) -> Option<i64> {
    let digits: &DeInteger<'_> = value.as_integer()?;
    i64::from_str_radix(digits.as_str(), digits.radix()).ok()
}

/// A finite number, written with or without a point.
pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Float(float) => float.as_str().parse().ok()?,
        DeValue::Integer(digits) => {
            i64::from_str_radix(digits.as_str(), digits.radix()).ok()? as f64
        }
        DeValue::String(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => return None,
    };
    number.is_finite().then_some(number)
}
