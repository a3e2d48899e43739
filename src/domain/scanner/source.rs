//! Where the bytes of a normalised text stand in the text it was made from.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

/// Borders of both texts, paired: between two borders the texts are equal up to normalisation.
pub(super) struct Source<'t> {
    original: &'t str,
    /// (byte of the normalised text, byte of the original), both growing.
    borders: Vec<(usize, usize)>,
}

impl<'t> Source<'t> {
    /// Pairs a text with its reading by [`crate::domain::grounding::values::read`], which puts a blank
    /// behind full-width marks and takes NFKC. `None` if the reading is of another text.
    pub(super) fn new(original: &'t str, normal: &str) -> Option<Self> {
        let mut borders = Vec::new();
        let (mut done, mut chunk_at) = (0, 0);
        let mut close = |from: usize, to: usize| {
            borders.push((done, from));
            done += normal_len(original.get(from..to).unwrap_or(""));
        };
        for (at, c) in original.char_indices().skip(1) {
            if begins(c) {
                close(chunk_at, at);
                chunk_at = at;
            }
        }
        close(chunk_at, original.len());
        borders.push((done, original.len()));
        (done == normal.len()).then_some(Self { original, borders })
    }

    /// The bytes of the original that a range of the normalised text was made from, on the borders of
    /// its characters.
    pub(super) fn range(&self, normal: &Range<usize>) -> Range<usize> {
        let start = self.borders.partition_point(|(at, _)| *at <= normal.start).saturating_sub(1);
        let end = self.borders.partition_point(|(at, _)| *at < normal.end);
        let byte = |at: usize| self.borders.get(at).map_or(self.original.len(), |(_, byte)| *byte);
        byte(start)..byte(end).max(byte(start))
    }

    /// What was written there.
    pub(super) fn slice(&self, normal: &Range<usize>) -> &'t str {
        self.original.get(self.range(normal)).unwrap_or("")
    }
}

/// The text with the wide colon of a time (１５：００) made one that stays in it when read; of the same
/// bytes otherwise, and as many.
pub(super) fn with_colons(text: &str) -> Cow<'_, str> {
    if !text.contains('：') {
        return Cow::Borrowed(text);
    }
    let is_digit = |c: Option<char>| c.is_some_and(|c| matches!(c, '0'..='9' | '０'..='９'));
    let mut before = None;
    let mut rest = text.chars().peekable();
    let mut colons = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        let is_of_time = c == '：' && is_digit(before) && is_digit(rest.peek().copied());
        colons.push(if is_of_time { '﹕' } else { c });
        before = Some(c);
    }
    Cow::Owned(colons)
}

/// Whether a character never joins the one before it when normalised: a text may be cut there. Only the
/// characters that times are written in are known here; others stay with what precedes them.
fn begins(c: char) -> bool {
    matches!(u32::from(c),
        0x00..=0x7f
        | 0x2010..=0x2027 // dashes, quotation marks, dots
        | 0x3000..=0x3020 // marks of CJK
        | 0x4e00..=0x9fff // Han
        | 0xff01..=0xff5e) // full-width forms
}

fn normal_len(chunk: &str) -> usize {
    let n_blanks = chunk.chars().filter(|c| matches!(c, '，' | '：' | '；' | '！' | '？')).count();
    chunk.nfkc().map(char::len_utf8).sum::<usize>() + n_blanks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::grounding::values::read;

    #[test]
    fn ranges_are_of_the_text_as_it_was_written() {
        for (text, part) in [
            ("ｍｅｅｔ at ３pm，ok", "３pm"),
            ("会议：明天１５：００，在A", "明天"),
            ("ﬁne e\u{301}te\u{301} Friday", "Friday"),
            ("a，b：c  Monday", "Monday"),
            ("안녕 Monday ｶﾞ", "Monday"),
        ] {
            let reading = read(text);
            let source = Source::new(text, &reading.text).unwrap();
            let part_normal: String = part.nfkc().collect();
            let at = reading.text.find(&part_normal).unwrap();
            assert_eq!(source.slice(&(at..at + part_normal.len())), part, "{text}");
        }
    }
}
