//! How many tokens of an agent's context a text costs: the one estimate behind every budget.

use super::text::is_unspaced;

/// Bytes of ASCII that make a token (design: "tokens are estimated by one function").
const ASCII_BYTES_PER_TOKEN: f64 = 4.0;
/// Tokens of a character of an unspaced script (the same source).
const TOKENS_PER_UNSPACED: f64 = 0.7;
/// Tokens of any other character: accented Latin, Cyrillic, Greek, Arabic and the like take about
/// two characters a token in the vocabularies of today's models; symbols and emoji take more, but
/// are rare. Chosen, not measured.
const TOKENS_PER_OTHER: f64 = 0.5;

/// Estimated tokens of `text`: ASCII bytes / 4, 0.7 a character of CJK and other unspaced scripts,
/// 0.5 any other character; rounded up.
pub fn tokens_estimate(text: &str) -> usize {
    let tokens: f64 = text
        .chars()
        .map(|c| {
            if c.is_ascii() {
                1.0 / ASCII_BYTES_PER_TOKEN
            } else if is_unspaced(c) {
                TOKENS_PER_UNSPACED
            } else {
                TOKENS_PER_OTHER
            }
        })
        .sum();
    // Sums of 0.7 are a hair off a whole number now and then; that hair is no token.
    let rounded = (tokens - 1e-6).ceil().max(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and at most the number of bytes in memory"
    )]
    {
        rounded as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_follow_the_script() {
        for (text, expected) in [
            ("", 0),
            ("a", 1),
            ("four", 1),
            ("eight by", 2),
            ("乌龙茶乌龙茶乌龙茶乌", 7),
            ("чай и", 3),
            ("tea 茶", 2),
        ] {
            assert_eq!(tokens_estimate(text), expected, "{text}");
        }
    }

    #[test]
    fn a_longer_text_never_costs_less() {
        let text = "The café 乌龙 sells чай; 3 cups. 🙂".repeat(20);
        let mut last = 0;
        for (at, _) in text.char_indices() {
            let tokens = tokens_estimate(&text[..at]);
            assert!(tokens >= last);
            last = tokens;
        }
    }
}
