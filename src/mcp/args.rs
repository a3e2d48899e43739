//! Reads tool arguments as models really write them.
//!
//! Numbers arrive as strings, lists as JSON text or as a single value, absent values as `null`, `""`
//! or `"null"`. All of that is read; what cannot be read is an error that names the argument, what
//! was expected and what came. Arguments nobody asked for are left over and named in a warning.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::domain::memory::Metadata;
use crate::domain::when;

/// Characters of a wrong value that an error shows.
const FOUND_CHARS_MAX: usize = 80;
/// Unknown arguments that a warning names.
const UNKNOWN_NAMED_MAX: usize = 10;

/// An argument that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{argument}`: expected {expected}, got {found}")]
pub(super) struct InvalidArgument {
    argument: String,
    expected: String,
    found: String,
}

impl InvalidArgument {
    /// An error about what came as `found`.
    pub(super) fn new(
        argument: impl Into<String>,
        expected: impl Into<String>,
        found: &Value,
    ) -> Self {
        let found = if found.is_null() { "nothing".to_owned() } else { found.to_string() };
        let short: String = found.chars().take(FOUND_CHARS_MAX).collect();
        let found = if short.len() < found.len() { format!("{short}...") } else { found };
        Self { argument: argument.into(), expected: expected.into(), found }
    }

    /// The same error about an argument within `outer`.
    pub(super) fn within(mut self, outer: &str) -> Self {
        self.argument = format!("{outer}.{}", self.argument);
        self
    }
}

type Read<T> = Result<T, InvalidArgument>;

/// The arguments of one call. Each reader takes its argument out; names after the first are aliases.
#[derive(Debug)]
pub(super) struct Arguments {
    values: JsonObject,
    warnings: Vec<String>,
}

impl Arguments {
    pub(super) fn new(values: JsonObject) -> Self {
        Self { values, warnings: Vec::new() }
    }

    /// Reads the `arguments` of a call, which some clients send as JSON text or as an empty list.
    pub(super) fn from_value(value: Option<&Value>) -> Read<Self> {
        let is_empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.trim().is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        };
        match value {
            None => Ok(Self::new(JsonObject::new())),
            Some(value) if is_empty(value) => Ok(Self::new(JsonObject::new())),
            Some(Value::Object(values)) => Ok(Self::new(values.clone())),
            Some(other) => other
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok())
                .map(Self::new)
                .ok_or_else(|| InvalidArgument::new("arguments", "a JSON object", other)),
        }
    }

    /// A text, as it came. Numbers and switches become text; `null` is absent, `""` is not.
    pub(super) fn text(&mut self, names: &[&str]) -> Read<Option<String>> {
        let Some(value) = self.take(names) else { return Ok(None) };
        let value = single(value);
        match scalar(&value) {
            Some(text) => Ok(Some(text)),
            None => Err(InvalidArgument::new(first(names), "text", &value)),
        }
    }

    /// A short text such as a name: white space around it goes, and nothing is absent.
    pub(super) fn word(&mut self, names: &[&str]) -> Read<Option<String>> {
        let text = self.text(names)?;
        Ok(text.map(|text| text.trim().to_owned()).filter(|text| !is_absent(text)))
    }

    /// A whole number from `min` to `max`. More than `max` is `max`, with a warning.
    pub(super) fn integer(
        &mut self,
        names: &[&str],
        min: usize,
        max: usize,
    ) -> Read<Option<usize>> {
        let Some((number, value)) = self.numeric(names, "a whole number")? else { return Ok(None) };
        let expected = || format!("a whole number {min} to {max}");
        if number.fract() != 0.0 || number < min as f64 {
            return Err(InvalidArgument::new(first(names), expected(), &value));
        }
        if number > max as f64 {
            self.warnings.push(format!("`{}` {value} was cut to {max}", first(names)));
            return Ok(Some(max));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and within min..=max"
        )]
        Ok(Some(number as usize))
    }

    /// A number from `min` to `max`.
    pub(super) fn number(&mut self, names: &[&str], min: f64, max: f64) -> Read<Option<f64>> {
        let Some((number, value)) = self.numeric(names, "a number")? else { return Ok(None) };
        if (min..=max).contains(&number) {
            Ok(Some(number))
        } else {
            let expected = format!("a number {min} to {max}");
            Err(InvalidArgument::new(first(names), expected, &value))
        }
    }

    /// A switch.
    pub(super) fn flag(&mut self, names: &[&str]) -> Read<Option<bool>> {
        let Some(value) = self.take(names) else { return Ok(None) };
        let value = single(value);
        let text = scalar(&value).unwrap_or_default().trim().to_ascii_lowercase();
        match text.as_str() {
            "true" | "yes" | "1" | "on" => Ok(Some(true)),
            "false" | "no" | "0" | "off" => Ok(Some(false)),
            _ if value.is_string() && is_absent(&text) => Ok(None),
            _ => Err(InvalidArgument::new(first(names), "true or false", &value)),
        }
    }

    /// One of several named values.
    pub(super) fn choice<T>(
        &mut self,
        names: &[&str],
        parse: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Read<Option<T>> {
        let Some(text) = self.word(names)? else { return Ok(None) };
        parse(&text)
            .map(Some)
            .ok_or_else(|| InvalidArgument::new(first(names), expected, &Value::String(text)))
    }

    /// A list of texts: a list, its JSON, one text, or several joined by commas. An empty list is
    /// not absent.
    pub(super) fn list(&mut self, names: &[&str]) -> Read<Option<Vec<String>>> {
        let Some(value) = self.take(names) else { return Ok(None) };
        let items = match as_list(&value) {
            Some(items) => items,
            None => match scalar(&value) {
                Some(text) if is_absent(text.trim()) => return Ok(None),
                Some(text) => text.split(',').map(|item| Value::String(item.to_owned())).collect(),
                None => return Err(InvalidArgument::new(first(names), "a list of texts", &value)),
            },
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match scalar(&item) {
                Some(text) if text.trim().is_empty() => {}
                Some(text) => texts.push(text.trim().to_owned()),
                None if item.is_null() => {}
                None => return Err(InvalidArgument::new(first(names), "a list of texts", &item)),
            }
        }
        Ok(Some(texts))
    }

    /// A list of named values.
    pub(super) fn choices<T>(
        &mut self,
        names: &[&str],
        parse: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Read<Vec<T>> {
        self.list(names)?
            .unwrap_or_default()
            .into_iter()
            .map(|text| {
                parse(&text).ok_or_else(|| {
                    InvalidArgument::new(first(names), expected, &Value::String(text))
                })
            })
            .collect()
    }

    /// A list whose items may be texts or objects; a text is one item, commas and all.
    pub(super) fn items(&mut self, names: &[&str]) -> Read<Option<Vec<Value>>> {
        let Some(value) = self.take(names) else { return Ok(None) };
        match as_list(&value) {
            Some(items) => Ok(Some(items)),
            None if value.is_object() => Ok(Some(vec![value])),
            None => match scalar(&value) {
                Some(text) if is_absent(text.trim()) => Ok(None),
                Some(text) => Ok(Some(vec![Value::String(text)])),
                None => Err(InvalidArgument::new(first(names), "a list of memories", &value)),
            },
        }
    }

    /// A time, read in `zone` if it names none.
    pub(super) fn time(&mut self, names: &[&str], zone: &TimeZone) -> Read<Option<Timestamp>> {
        let Some(text) = self.word(names)? else { return Ok(None) };
        when::parse(&text, zone).map(Some).map_err(|_| not_a_time(names, &text))
    }

    /// A moment, read in `zone` if it names none; a date is the end of that day.
    pub(super) fn time_at_end(
        &mut self,
        names: &[&str],
        zone: &TimeZone,
    ) -> Read<Option<Timestamp>> {
        let Some(text) = self.word(names)? else { return Ok(None) };
        when::parse_end(&text, zone).map(Some).map_err(|_| not_a_time(names, &text))
    }

    /// A time, or the word `none`, which takes away the time that is set: `Some(None)`.
    #[expect(clippy::option_option, reason = "this is how a patch tells absent from removed")]
    pub(super) fn time_or_none(
        &mut self,
        names: &[&str],
        zone: &TimeZone,
    ) -> Read<Option<Option<Timestamp>>> {
        let Some(text) = self.word(names)? else { return Ok(None) };
        if text.eq_ignore_ascii_case("none") {
            return Ok(Some(None));
        }
        when::parse(&text, zone).map(|time| Some(Some(time))).map_err(|_| not_a_time(names, &text))
    }

    /// The name of a time zone.
    pub(super) fn zone(&mut self, names: &[&str]) -> Read<Option<TimeZone>> {
        let parse = |text: &str| TimeZone::get(text).ok();
        self.choice(names, parse, "the name of a time zone like `Europe/Berlin`")
    }

    /// A JSON object, or its text: each top-level key with its value as JSON text.
    pub(super) fn metadata(&mut self, names: &[&str]) -> Read<Option<Metadata>> {
        let Some(value) = self.take(names) else { return Ok(None) };
        let value = single(value);
        let object = match &value {
            Value::Object(object) => Some(object.clone()),
            Value::String(text) if is_absent(text.trim()) => return Ok(None),
            Value::String(text) => serde_json::from_str(text).ok(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        };
        let expected = r#"a JSON object like {"project":"x"}"#;
        let object = object.ok_or_else(|| InvalidArgument::new(first(names), expected, &value))?;
        Ok(Some(object.into_iter().map(|(key, value)| (key, value.to_string())).collect()))
    }

    /// Refuses lists with an item that says nothing, which is else passed over: for what must not
    /// match more than was meant.
    pub(super) fn refuse_blank_items(&self, names: &[&str]) -> Read<()> {
        let is_blank = |item: &Value| item.as_str().is_some_and(|text| text.trim().is_empty());
        for name in names {
            let Some(value) = self.values.get(*name) else { continue };
            if as_list(value).unwrap_or_default().iter().any(is_blank) {
                let expected = "a list without empty items, or nothing";
                return Err(InvalidArgument::new(*name, expected, value));
            }
        }
        Ok(())
    }

    /// Adds a warning for the caller.
    pub(super) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// The warnings, with one for the arguments that nothing has read.
    pub(super) fn finish(self) -> Vec<String> {
        let mut warnings = self.warnings;
        let mut unknown: Vec<String> = self
            .values
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, _)| format!("`{}`", name.chars().take(40).collect::<String>()))
            .collect();
        unknown.truncate(UNKNOWN_NAMED_MAX);
        if !unknown.is_empty() {
            warnings.push(format!("ignored unknown arguments: {}", unknown.join(", ")));
        }
        warnings
    }

    /// Takes the first of `names` that is there and not `null`. The others stay, and are reported.
    fn take(&mut self, names: &[&str]) -> Option<Value> {
        names
            .iter()
            .find_map(|name| self.values.shift_remove(*name).filter(|value| !value.is_null()))
    }

    fn numeric(&mut self, names: &[&str], expected: &str) -> Read<Option<(f64, Value)>> {
        let Some(value) = self.take(names) else { return Ok(None) };
        let value = single(value);
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) if is_absent(text.trim()) => return Ok(None),
            Value::String(text) => {
                text.trim().parse().ok().filter(|number: &f64| number.is_finite())
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        match number {
            Some(number) => Ok(Some((number, value))),
            None => Err(InvalidArgument::new(first(names), expected, &value)),
        }
    }
}

fn first<'a>(names: &[&'a str]) -> &'a str {
    names.first().copied().unwrap_or_default()
}

/// The text of a value that has one.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The only item of a list of one, else the value itself.
fn single(value: Value) -> Value {
    match value.as_array().map(Vec::as_slice) {
        Some([item]) => item.clone(),
        _ => value,
    }
}

/// The items of a list, or of its JSON text.
fn as_list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items.clone()),
        Value::String(text) if text.trim_start().starts_with('[') => {
            serde_json::from_str(text.trim()).ok()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            None
        }
    }
}

/// Whether a text other than content says that nothing is given.
fn is_absent(text: &str) -> bool {
    matches!(text, "" | "null" | "undefined")
}

fn not_a_time(names: &[&str], text: &str) -> InvalidArgument {
    let expected = "an ISO 8601 time (2024-05-08T13:56:00Z) or date (2024-05-08)";
    InvalidArgument::new(first(names), expected, &Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests;
