//! Exactness: what a memory holds letter by letter.

use std::collections::HashSet;

use super::question::Question;
use crate::domain::text::{is_unspaced, tokens};

/// How much of what the question says exactly stands in a memory, 0.0..=1.0, and what that is.
///
/// 1.0 for the whole question, or a phrase quoted in it, as a run of words; else the share of its
/// identifiers that stand in the text as a whole. `normal` is the content, normalised.
pub(super) fn exactness(question: &Question, normal: &str) -> Option<(String, f64)> {
    if let Some(phrase) = question.phrases.iter().find(|phrase| holds_words(normal, phrase)) {
        return Some((phrase.clone(), 1.0));
    }
    if question.identifiers.is_empty() {
        return None;
    }
    let known: HashSet<String> =
        tokens::tokens(normal).into_iter().map(|token| token.text).collect();
    let mut held = question.identifiers.iter().filter(|identifier| known.contains(*identifier));
    let first = held.next()?;
    let n_held = held.count() + 1;
    Some((first.clone(), n_held as f64 / question.identifiers.len() as f64))
}

/// Whether `phrase` stands in `text` between word borders.
fn holds_words(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, found)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|text| text.chars().next());
        is_border(before, phrase.chars().next()) && is_border(phrase.chars().next_back(), after)
    })
}

/// Whether a word can end between two characters.
fn is_border(left: Option<char>, right: Option<char>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => {
            !(left.is_alphanumeric() && right.is_alphanumeric())
                || is_unspaced(left)
                || is_unspaced(right)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text::normalise;

    #[test]
    fn phrases_and_identifiers_count_as_a_whole_only() {
        for (question, content, expected) in [
            ("dark mode", "The user wants Dark  Mode everywhere.", 1.0),
            ("dark mode?", "dark modes", 0.0),
            ("dark mode", "mode: dark", 0.0),
            ("tea", "I like tea", 0.0),
            ("乌龙茶", "我喜欢喝乌龙茶。", 1.0),
            ("who said \"see you there\" first?", "Ann: See you there!", 1.0),
            ("what is INC-90312?", "Ticket INC-90312 is closed", 1.0),
            ("what is INC-90312?", "Ticket INC-903127 is closed", 0.0),
            ("who has 192.168.7.1", "router 192.168.7.1", 1.0),
            ("who has 192.168.7.1", "router 192.168.7.12", 0.0),
            ("who has v1.2", "release v1.2.3", 0.0),
            ("INC-1 or INC-2", "about INC-2", 0.5),
            ("where is config.toml", "see /etc/recalld/config.toml", 1.0),
        ] {
            let found = exactness(&Question::read(question), &normalise(content));
            let share = found.map_or(0.0, |(_, share)| share);
            assert!((share - expected).abs() < 1e-12, "{question} in {content}: {share}");
        }
    }
}
