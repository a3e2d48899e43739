//! Reads a text once for each sort of value, the longer sorts first; what one has taken is closed to
//! those after it.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::{Found, Reading, Value, amounts, names, patterns};
use crate::domain::text::is_unspaced;

/// The typed values of a text.
pub fn read(text: &str) -> Reading {
    // NFKC makes full-width marks ASCII ones: without a blank they would join `3，500` to one number, or
    // two sentences to one.
    let mut spaced = String::with_capacity(text.len());
    for c in text.chars() {
        spaced.push(c);
        if matches!(c, '，' | '：' | '；' | '！' | '？') {
            spaced.push(' ');
        }
    }
    let text: String = spaced.nfkc().collect();
    let blobs = blobs(&text);
    let shown = blanked(&text, &blobs);
    let mut scan = Scan::new(&shown);
    patterns::scan(&mut scan);
    amounts::scan(&mut scan);
    patterns::scan_identifiers(&mut scan);
    let openers = names::scan(&mut scan);
    let mut values = scan.found;
    values.extend(blobs.into_iter().map(|range| Found {
        value: Value::Identifier(text.get(range.clone()).unwrap_or("").to_lowercase()),
        range,
    }));
    values.sort_by_key(|found| found.range.start);
    Reading { text, values, openers }
}

/// Longest run of a spaced script without white space that is read for what is in it, bytes. A longer
/// one (encoded data, a minified file) is one value: looking into it would take time by the square of
/// its length.
const RUN_BYTES_MAX: usize = 512;

/// Where the longer runs stand.
fn blobs(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    text.split_inclusive(|c: char| c.is_whitespace() || is_unspaced(c))
        .filter_map(|run| {
            let start = at;
            at += run.len();
            let run = run.trim_end_matches(|c: char| c.is_whitespace() || is_unspaced(c));
            (run.len() > RUN_BYTES_MAX).then(|| start..start + run.len())
        })
        .collect()
}

/// A text of as many bytes with blanks in these places.
fn blanked<'t>(text: &'t str, ranges: &[Range<usize>]) -> Cow<'t, str> {
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut shown = text.to_owned();
    for range in ranges {
        shown.replace_range(range.clone(), &" ".repeat(range.len()));
    }
    Cow::Owned(shown)
}

/// A text being read.
pub(super) struct Scan<'t> {
    pub(super) text: &'t str,
    /// For each byte whether a value covers it.
    taken: Vec<bool>,
    found: Vec<Found>,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, taken: vec![false; text.len()], found: Vec::new() }
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or("")
    }

    /// Whether no value covers any byte of a range.
    pub(super) fn is_free(&self, range: &Range<usize>) -> bool {
        self.taken.get(range.clone()).is_some_and(|bytes| !bytes.contains(&true))
    }

    /// How far a match may be read: to where in it a value or the next line begins, else to the end of the
    /// text.
    pub(super) fn free_until(&self, range: &Range<usize>) -> usize {
        let taken = self.taken.get(range.clone()).and_then(|bytes| bytes.iter().position(|b| *b));
        let line_end = self.slice(range.clone()).find(['\n', '\r']);
        let stop = taken.into_iter().chain(line_end).min();
        stop.map_or(self.text.len(), |n_bytes| range.start + n_bytes)
    }

    /// Notes the values of a range and closes it, unless a value covers part of it.
    pub(super) fn take(&mut self, range: &Range<usize>, values: impl IntoIterator<Item = Value>) {
        if !self.is_free(range) {
            return;
        }
        if let Some(bytes) = self.taken.get_mut(range.clone()) {
            bytes.fill(true);
        }
        self.found.extend(values.into_iter().map(|value| Found { value, range: range.clone() }));
    }

    /// The last value that ends at or before `at`.
    pub(super) fn before(&self, at: usize) -> Option<&Found> {
        self.found.iter().filter(|found| found.range.end <= at).max_by_key(|found| found.range.end)
    }

    /// Whether a range is no piece of a longer word, number or identifier.
    pub(super) fn is_bordered(&self, range: &Range<usize>) -> bool {
        self.begins_free(range) && self.ends_free(range)
    }

    /// Whether nothing before a range belongs to its first word.
    pub(super) fn begins_free(&self, range: &Range<usize>) -> bool {
        let mut left = self.slice(0..range.start).chars().rev();
        let (near, far) = (left.next(), left.next());
        !self.slice(range.clone()).starts_with(is_word)
            || match near {
                Some('_' | '@' | '#' | '\\' | '$') => false,
                Some('-') => !far.is_some_and(|c| is_word(c) && !c.is_ascii_digit()),
                Some('.' | '/') => !far.is_some_and(is_word),
                Some(':') => !far.is_some_and(|c| c.is_ascii_digit() || c == ':'),
                Some(c) => !is_word(c),
                None => true,
            }
    }

    /// Whether nothing behind a range belongs to its last word.
    fn ends_free(&self, range: &Range<usize>) -> bool {
        let mut right = self.slice(range.end..self.text.len()).chars();
        let (near, far) = (right.next(), right.next());
        !self.slice(range.clone()).ends_with(is_word)
            || match near {
                Some('_' | '@') => false,
                Some('.' | ':') => !far.is_some_and(|c| c.is_ascii_digit()),
                Some('-' | '/') => !far.is_some_and(|c| c.is_ascii_alphabetic()),
                Some(c) => !is_word(c),
                None => true,
            }
    }
}

/// Whether a character continues a word of a spaced script.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !is_unspaced(c)
}
