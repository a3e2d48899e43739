//! The part of a long memory that a hit shows: the window that holds most of what was asked.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::search::TextQuery;
use super::text::{is_unspaced, tokens};

/// Share of a window that lies before its first term, so that the sentence around it is seen.
const LEAD: usize = 6;
/// Characters within which a cut is moved to white space.
const BORDER_CHARS: usize = 24;

/// A part of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Bytes of the content, on borders of graphemes, where possible of words.
    pub range: Range<usize>,
    /// Whether anything is left out.
    pub truncated: bool,
}

/// The window of at most `chars_max` characters of `content` with most of the query's terms (each
/// once, by its weight), the first of equals; without any, the start of `chunk`, the byte range
/// that was nearest in meaning, or of the content.
pub fn excerpt(
    content: &str,
    query: &TextQuery,
    chunk: Option<Range<usize>>,
    chars_max: usize,
) -> Excerpt {
    let starts: Vec<usize> = content.char_indices().map(|(at, _)| at).collect();
    if starts.len() <= chars_max {
        return Excerpt { range: 0..content.len(), truncated: false };
    }
    let char_of = |byte: usize| starts.partition_point(|at| *at < byte);
    let matches = matches(content, query);
    let first = match best_window(&matches, chars_max, char_of) {
        Some(byte) => char_of(byte).saturating_sub(chars_max / LEAD),
        None => char_of(chunk.map_or(0, |chunk| chunk.start)),
    };
    // A window at the end is as long as any other.
    let first = first.min(starts.len() - chars_max);
    let byte = |char_at: usize| starts.get(char_at).copied().unwrap_or(content.len());
    let range = on_borders(content, byte(first)..byte(first + chars_max));
    Excerpt { truncated: range.len() < content.len(), range }
}

/// Where a term stands, which, and what it is worth.
struct Match {
    range: Range<usize>,
    term: usize,
    weight: f64,
}

/// The places of the terms of clause 0, in order.
fn matches(content: &str, query: &TextQuery) -> Vec<Match> {
    let terms: HashMap<&str, (usize, f64)> = query
        .clauses
        .iter()
        .take(1)
        .flatten()
        .enumerate()
        .map(|(at, term)| (term.token.as_str(), (at, term.weight)))
        .collect();
    let mut matches = Vec::new();
    for range in pieces(content) {
        for token in tokens::tokens(content.get(range.clone()).unwrap_or("")) {
            if let Some((term, weight)) = terms.get(token.text.as_str()) {
                matches.push(Match { range: range.clone(), term: *term, weight: *weight });
            }
        }
    }
    matches
}

/// Stretches that hold whole tokens: what stands between blanks, and each pair of neighbours in
/// unspaced scripts.
fn pieces(content: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = None;
    let mut previous: Option<usize> = None;
    for (at, c) in content.char_indices() {
        if c.is_whitespace() || is_unspaced(c) {
            pieces.extend(start.take().map(|from| from..at));
        } else {
            start.get_or_insert(at);
        }
        if is_unspaced(c) {
            pieces.push(previous.unwrap_or(at)..at + c.len_utf8());
            previous = Some(at);
        } else {
            previous = None;
        }
    }
    pieces.extend(start.map(|from| from..content.len()));
    pieces
}

/// First byte of the window of matches that is worth most.
fn best_window(
    matches: &[Match],
    chars_max: usize,
    char_of: impl Fn(usize) -> usize,
) -> Option<usize> {
    let room = chars_max - chars_max / LEAD;
    let mut inside: BTreeMap<usize, usize> = BTreeMap::new();
    let (mut worth, mut best) = (0.0, 0.0);
    let mut best_start = None;
    let mut window = matches.iter().peekable();
    for last in matches {
        let n_same = inside.entry(last.term).or_default();
        *n_same += 1;
        if *n_same == 1 {
            worth += last.weight;
        }
        while let Some(first) = window.next_if(|first| {
            char_of(last.range.end) - char_of(first.range.start) > room
                && first.range.start < last.range.start
        }) {
            let n_same = inside.entry(first.term).or_default();
            *n_same -= 1;
            if *n_same == 0 {
                worth -= first.weight;
            }
        }
        if worth > best + 1e-9 {
            best = worth;
            best_start = window.peek().map(|first| first.range.start);
        }
    }
    best_start
}

/// Moves both ends of a range inwards to borders of graphemes, and to white space if some is near.
fn on_borders(content: &str, range: Range<usize>) -> Range<usize> {
    let graphemes: Vec<usize> = content
        .grapheme_indices(true)
        .map(|(at, _)| at)
        .chain([content.len()])
        .filter(|at| range.contains(at) || *at == range.end)
        .collect();
    let (Some(mut start), Some(mut end)) = (graphemes.first().copied(), graphemes.last().copied())
    else {
        return range;
    };
    let starts_word = |at: usize| {
        content
            .get(..at)
            .is_some_and(|text| text.chars().next_back().is_none_or(char::is_whitespace))
    };
    let ends_word = |at: usize| {
        content.get(at..).is_some_and(|text| text.chars().next().is_none_or(char::is_whitespace))
    };
    let near = graphemes.len().saturating_sub(1).min(BORDER_CHARS);
    if let Some(at) = graphemes.iter().take(near).find(|at| starts_word(**at)) {
        start = *at;
    }
    if let Some(at) = graphemes.iter().rev().take(near).find(|at| ends_word(**at)) {
        end = *at;
    }
    if start < end { start..end } else { range }
}

#[cfg(test)]
mod tests;
