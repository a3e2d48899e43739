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

/// Longest run of ASCII without white space that is read, bytes; a longer one is a blob, no words.
const RUN_BYTES_MAX: usize = 256;

/// The text as it is read, of as many bytes at the same places: the wide colon of a time (１５：００) made
/// one that stays in it, blobs blanked.
pub(super) fn readable(text: &str) -> Cow<'_, str> {
    let belongs = |c: char| c.is_ascii() && !c.is_ascii_whitespace();
    let mut runs = text.split(|c| !belongs(c));
    if !text.contains('：') && runs.all(|run| run.len() <= RUN_BYTES_MAX) {
        return Cow::Borrowed(text);
    }
    let is_digit = |c: Option<char>| c.is_some_and(|c| matches!(c, '0'..='9' | '０'..='９'));
    let mut readable = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let n_run = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let (taken, after) = rest.split_at(n_run.max(c.len_utf8()));
        if taken.len() > RUN_BYTES_MAX {
            readable.extend(std::iter::repeat_n(' ', taken.len()));
        } else if taken == "："
            && is_digit(readable.chars().next_back())
            && is_digit(after.chars().next())
        {
            readable.push('﹕');
        } else {
            readable.push_str(taken);
        }
        rest = after;
    }
    Cow::Owned(readable)
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
    fn a_blob_is_blanked_and_the_rest_stays_in_its_place() {
        let blob = "ab12-".repeat(RUN_BYTES_MAX);
        let text = format!("at 10：30 {blob} ok：{blob}明天");
        let readable = readable(&text);
        assert_eq!(readable.len(), text.len());
        assert_eq!(readable.find("明天"), text.find("明天"));
        assert_eq!(
            readable.split_whitespace().collect::<Vec<_>>(),
            ["at", "10﹕30", "ok：", "明天"]
        );
        assert!(matches!(super::readable("plain words"), Cow::Borrowed(_)));
    }

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
