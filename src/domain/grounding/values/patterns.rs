//! The order in which a text is searched for everything but numbers and names, and the search.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::scan::{Scan, is_word};
use super::{ClockTime, Value, marks, moments, times};

/// One way to write a value.
pub(super) struct Rule {
    pub(super) pattern: &'static str,
    /// What a match means, given what stands before and after it; `None` if it only looks like one.
    pub(super) read: fn(&Captures<'_>, &str, &str) -> Option<Vec<Value>>,
}

type Compiled = Vec<(&'static Rule, Regex)>;

static FIRST: LazyLock<Compiled> =
    LazyLock::new(|| compile(&[marks::ADDRESSED, moments::DATES, times::TIMES, marks::VERSIONS]));
static LAST: LazyLock<Compiled> = LazyLock::new(|| compile(&[marks::IDENTIFIERS]));

fn compile(tables: &[&'static [Rule]]) -> Compiled {
    // A test proves that none is lost here.
    tables
        .iter()
        .flat_map(|rules| rules.iter())
        .filter_map(|rule| Some((rule, Regex::new(rule.pattern).ok()?)))
        .collect()
}

/// Reads what is longer than a number: addresses, paths, dates, times, versions.
pub(super) fn scan(scan: &mut Scan<'_>) {
    for (rule, regex) in FIRST.iter() {
        apply(rule, regex, scan);
    }
}

/// Reads what is left over after numbers with units: identifiers with digits in them.
pub(super) fn scan_identifiers(scan: &mut Scan<'_>) {
    for (rule, regex) in LAST.iter() {
        apply(rule, regex, scan);
    }
}

fn apply(rule: &Rule, regex: &Regex, scan: &mut Scan<'_>) {
    let text = scan.text;
    let mut from = 0;
    while let Some(start) = regex.find_at(text, from).map(|found| found.start()) {
        from = match read_at(rule, regex, scan, start) {
            Some((range, values)) => {
                scan.take(&range, values);
                range.end
            }
            // What begins behind this word may be one; what begins inside it is no value.
            None => start + first_word(scan.slice(start..text.len())),
        };
        if from > text.len() {
            return;
        }
    }
}

/// The bytes of the word at the start of a text, or of one character that is no part of a word.
fn first_word(text: &str) -> usize {
    match text.find(|c| !is_word(c)) {
        Some(0) => text.chars().next().map_or(1, char::len_utf8),
        Some(end) => end,
        None => text.len().max(1),
    }
}

/// What the match that begins at `start` means; of a match that runs into another value or over the end
/// of a line, what lies before that.
fn read_at(
    rule: &Rule,
    regex: &Regex,
    scan: &Scan<'_>,
    start: usize,
) -> Option<(Range<usize>, Vec<Value>)> {
    let found = regex.find_at(scan.text, start)?;
    let end = scan.free_until(&found.range());
    let captures = regex.captures_at(scan.text.get(..end)?, start)?;
    let range = captures.get(0)?.range();
    if range.start != start || range.is_empty() || !scan.is_bordered(&range) {
        return None;
    }
    let (before, after) = (scan.slice(0..range.start), scan.slice(range.end..scan.text.len()));
    let values = (rule.read)(&captures, before, after)?;
    let values = values.into_iter().map(|value| in_same_half(value, scan, before)).collect();
    Some((range, values))
}

/// The second time of "下午三点到五点" or "3pm to 5": it lies in the same half of the day as the first.
fn in_same_half(value: Value, scan: &Scan<'_>, before: &str) -> Value {
    let Value::Time(time) = value else { return value };
    let joined = before.trim_end();
    let joiner =
        ["到", "至", "-", "–", "~", " to", " and"].iter().find(|mark| joined.ends_with(**mark));
    let (true, Some(joiner)) = (time.is_vague, joiner) else { return value };
    let at = joined.len() - joiner.len();
    match scan.before(at).map(|found| (&found.value, found.range.end)) {
        Some((Value::Time(first), end))
            if !first.is_vague && scan.slice(end..at).trim().is_empty() =>
        {
            let hour = if first.hour >= 12 && time.hour < 12 { time.hour + 12 } else { time.hour };
            if hour > first.hour {
                return Value::Time(ClockTime { hour, is_vague: false, ..time });
            }
            value
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for rules in
            [marks::ADDRESSED, marks::VERSIONS, marks::IDENTIFIERS, moments::DATES, times::TIMES]
        {
            for rule in rules {
                assert!(Regex::new(rule.pattern).is_ok(), "{:?}", Regex::new(rule.pattern));
            }
        }
    }
}
