//! Cuts a text into overlapping pieces that a model can read whole.

use std::ops::Range;

use super::limits::CHUNKS_MAX;

/// Word pieces that the model itself adds to each input (start and end mark).
const MARKS: usize = 2;
/// Share of a window that the next one repeats, so that a sentence on a border is whole in one.
const OVERLAP: f64 = 0.2;

/// Byte ranges of `text`, in order, each of at most about `tokens_max` word pieces, overlapping by a
/// fifth; borders lie at white space where there is some. A text that fits is one range. Of a text
/// with more than [`CHUNKS_MAX`] windows the first ones are given.
///
/// The number of word pieces is estimated (letters of a word / 5, at least one, each punctuation
/// mark and each character of an unspaced script one): the tokenizer belongs to the model.
pub fn chunks(text: &str, tokens_max: usize) -> Vec<Range<usize>> {
    let budget = tokens_max.saturating_sub(MARKS).max(1) as f64;
    let words = words(text);
    let mut chunks = Vec::new();
    let mut first = 0;
    while first < words.len() && chunks.len() < CHUNKS_MAX {
        let mut cost = 0.0;
        let mut last = first;
        for (at, word) in words.iter().enumerate().skip(first) {
            cost += word.cost;
            if cost > budget && at > first {
                break;
            }
            last = at;
        }
        let (Some(start), Some(end)) = (words.get(first), words.get(last)) else { break };
        chunks.push(start.range.start..end.range.end);
        if last + 1 >= words.len() {
            break;
        }
        let mut repeated = 0.0;
        let mut next = last + 1;
        while next > first + 1 {
            let Some(word) = words.get(next - 1) else { break };
            repeated += word.cost;
            if repeated > budget * OVERLAP {
                break;
            }
            next -= 1;
        }
        first = next;
    }
    if chunks.is_empty() {
        chunks.push(0..text.len());
    }
    chunks
}

struct Word {
    range: Range<usize>,
    cost: f64,
}

/// Longest stretch without a blank that counts as one word, bytes; a longer one is cut.
const WORD_BYTES_MAX: usize = 64;

/// The stretches between blanks; long ones and unspaced scripts in pieces.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let from = *start.get_or_insert(at);
        let is_blank = c.is_whitespace();
        let is_long = at - from >= WORD_BYTES_MAX || super::text::is_unspaced(c);
        if is_blank || is_long {
            let end = if is_blank { at } else { at + c.len_utf8() };
            if end > from {
                words
                    .push(Word { range: from..end, cost: cost(text.get(from..end).unwrap_or("")) });
            }
            start = None;
        }
    }
    if let Some(from) = start.filter(|from| *from < text.len()) {
        words.push(Word { range: from..text.len(), cost: cost(text.get(from..).unwrap_or("")) });
    }
    words
}

/// Estimated word pieces of a word.
fn cost(word: &str) -> f64 {
    let mut letters = 0.0;
    let mut single = 0.0;
    for c in word.chars() {
        if c.is_alphanumeric() && !super::text::is_unspaced(c) {
            letters += 1.0;
        } else {
            single += 1.0;
        }
    }
    single + (letters / 5.0_f64).max(if letters > 0.0 { 1.0 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_one_chunk() {
        assert_eq!(chunks("I like tea.", 128), vec![0..11]);
        assert_eq!(chunks("", 128), vec![0..0]);
    }

    #[test]
    fn chunks_overlap_and_cover_the_whole_text() {
        let text: String = (0..600).map(|n| format!("word{n} ")).collect();
        let chunks = chunks(&text, 128);
        assert!(chunks.len() > 4, "{}", chunks.len());
        assert_eq!(chunks[0].start, 0);
        assert_eq!(chunks.last().unwrap().end, text.trim_end().len());
        for pair in chunks.windows(2) {
            assert!(pair[1].start < pair[0].end && pair[1].end > pair[0].end, "{pair:?}");
        }
    }

    #[test]
    fn unspaced_and_endless_texts_are_cut_on_character_borders() {
        for text in ["乌龙茶".repeat(2_000), "é".repeat(10_000), "x".repeat(32 * 1024)] {
            let chunks = chunks(&text, 128);
            assert!(chunks.len() > 1 && chunks.len() <= CHUNKS_MAX);
            assert!(chunks.iter().all(|chunk| text.get(chunk.clone()).is_some()));
        }
    }
}
