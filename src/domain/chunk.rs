//! Cuts a text into overlapping pieces that a model can read whole.

use std::ops::Range;

use super::limits::CHUNKS_MAX;

/// Changes whenever [`chunks`] would cut some text differently: vectors of differently cut texts
/// belong to different spaces.
pub const CHUNKS_VERSION: u32 = 1;

/// Word pieces that the model itself adds to each input (start and end mark).
const MARKS: usize = 2;
/// Share of a window that the next one repeats, so that a sentence on a border is whole in one.
const OVERLAP: f64 = 0.2;

/// Byte ranges of `text`, in order, each of at most about `tokens_max` word pieces, overlapping by a
/// fifth; borders lie at white space where there is some. A text that fits is one range. Of a text
/// with more than [`CHUNKS_MAX`] windows the first ones are given.
///
/// The number of word pieces is estimated, on the safe side for prose: the tokenizer belongs to the
/// model. An estimate that falls short (code and links, seldom by more than a tenth) costs nothing
/// inside a text, because the next window repeats what the model cut off.
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

/// Estimated word pieces of a stretch without blanks: its runs of letters and digits, one for each
/// mark between them.
fn cost(word: &str) -> f64 {
    let mut total = 0.0;
    let mut run = Run::default();
    for c in word.chars() {
        if c.is_alphanumeric() && !super::text::is_unspaced(c) {
            run.push(c);
        } else {
            total += std::mem::take(&mut run).cost() + if is_hangul(c) { 3.0 } else { 1.0 };
        }
    }
    total + run.cost()
}

/// Whether `c` is a Hangul syllable, which word-piece models take apart into two or three letters.
fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}')
}

/// What the cost of a run of letters and digits depends on.
#[derive(Default)]
struct Run {
    n_letters: f64,
    n_digits: f64,
    is_accented: bool,
    is_foreign: bool,
}

impl Run {
    fn push(&mut self, c: char) {
        *if c.is_alphabetic() { &mut self.n_letters } else { &mut self.n_digits } += 1.0;
        self.is_accented |= !c.is_ascii();
        // The Latin blocks end here; English vocabularies spell other alphabets letter by letter.
        self.is_foreign |= u32::from(c) >= 0x0250;
    }

    /// The slopes were fitted to the vocabulary of BERT over chats, READMEs, source code, links,
    /// logs, numbers and hashes, so that nearly no chunk of prose and few of code come out short.
    fn cost(&self) -> f64 {
        let length = self.n_letters + self.n_digits;
        if length < 1.0 {
            0.0
        } else if self.is_foreign {
            length
        } else if self.n_digits < 1.0 {
            let slope = if self.is_accented { 0.5 } else { 1.0 / 3.0 };
            1.0 + (length - 4.0).max(0.0) * slope
        } else if self.n_letters < 1.0 {
            1.0 + (length - 1.0) / 1.7
        } else {
            (length / 1.4).max(1.0)
        }
    }
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

    /// A change of these borders asks for a new [`CHUNKS_VERSION`].
    #[test]
    fn the_borders_belong_to_the_version() {
        let text =
            "The deploy of build 20250114 failed: see https://ci.example.org/r/9f86d081 and \
                    src/queue.rs:42. Größe, чай, 乌龙茶, 서울. "
                .repeat(12);
        let borders: Vec<_> = chunks(&text, 128).into_iter().map(|c| (c.start, c.end)).collect();
        assert_eq!(CHUNKS_VERSION, 1);
        assert_eq!(
            borders,
            [(0, 283), (228, 500), (471, 738), (689, 964), (905, 1179), (1131, 1398), (1349, 1583)]
        );
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
