//! Text as the search sees it: one normalisation, one tokenizer and one way to read a question, for
//! stored text and queries alike, indexed or still waiting to be.

pub mod query;
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

/// Share of the text that a model of Latin script can read, 0.0..=1.0: Latin words of two or more
/// letters against those plus two thirds of the characters of unspaced scripts plus the words of any
/// other script. 1.0 for a text with neither.
pub fn latin_share(text: &str) -> f32 {
    let (mut latin, mut unspaced, mut other) = (0.0_f32, 0.0_f32, 0.0_f32);
    for word in text.split(|c: char| !c.is_alphabetic()) {
        let n_unspaced = word.chars().filter(|c| is_unspaced(*c)).count();
        unspaced += n_unspaced as f32;
        let n_latin = word.chars().filter(|c| is_latin(*c)).count();
        if n_latin >= 2 {
            latin += 1.0;
        } else if n_unspaced == 0 && word.chars().count() >= 2 {
            other += 1.0;
        }
    }
    let total = latin + unspaced / 1.5 + other;
    if total > 0.0 { latin / total } else { 1.0 }
}

/// Whether `c` is a letter of the Latin script (ASCII, Latin-1, Extended A/B and Additional).
fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic()
        || (c.is_alphabetic()
            && matches!(u32::from(c), 0x00c0..=0x024f | 0x1e00..=0x1eff | 0xff21..=0xff5a))
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

    #[test]
    fn latin_share_tells_what_an_english_model_can_read() {
        for (text, least, most) in [
            ("I like oolong tea", 1.0, 1.0),
            ("我喜欢喝乌龙茶", 0.0, 0.0),
            ("Я люблю чай", 0.0, 0.0),
            ("Caroline什么时候去参加LGBTQ支持小组的？", 0.0, 0.3),
            ("12345", 1.0, 1.0),
            ("The café is called 乌龙", 0.7, 0.9),
        ] {
            let share = latin_share(text);
            assert!((least..=most).contains(&share), "{text}: {share}");
        }
    }
}
