//! Text as the search sees it: one normalisation, one tokenizer and one way to read a question, for
//! stored text and queries alike, indexed or still waiting to be.

pub mod query;
pub mod scripts;
pub mod sentences;
pub mod tokens;

use unicode_normalization::UnicodeNormalization;

/// Changes whenever [`tokens::tokens`] would split a text differently (the stemmer's version
/// included): an index made under another version is rebuilt.
pub const TOKENS_VERSION: u32 = 1;

/// The form in which texts are compared: NFKC, lower case, every run of white space one blank,
/// none outside. For matching only; stored text keeps its own form.
pub fn normalise(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    for c in text.nfkc().flat_map(char::to_lowercase) {
        if c.is_whitespace() || c.is_control() {
            if !normal.ends_with(' ') && !normal.is_empty() {
                normal.push(' ');
            }
        } else {
            normal.push(c);
        }
    }
    normal.truncate(normal.trim_end().len());
    normal
}

/// Whether `c` belongs to a script written without blanks between words: Han, kana, Hangul (whose
/// blanks separate phrases, not words), Thai, Lao, Khmer, Myanmar. Its runs are indexed as single
/// characters and pairs.
pub fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x3005..=0x3007 | 0x3040..=0x30ff | 0x31f0..=0x31ff          // marks, kana
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff // Han
        | 0x1100..=0x11ff | 0xac00..=0xd7af                            // Hangul
        | 0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff) // Thai, Lao, Myanmar, Khmer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalising_folds_width_case_and_white_space() {
        for (text, expected) in [
            ("  Hello\t\n World ", "hello world"),
            ("ＡＢＣ１２３", "abc123"),
            ("ﬁne", "fine"),
            ("Ångström", "ångström"),
            ("", ""),
        ] {
            assert_eq!(normalise(text), expected);
        }
    }
}
