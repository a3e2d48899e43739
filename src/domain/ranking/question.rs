//! A question, read once for all that follows.

use crate::domain::dates::{self, AskedDate};
use crate::domain::search::TextQuery;
use crate::domain::text::{self, query, tokens};

/// Pairs of marks that quote a phrase.
const QUOTES: [(char, char); 6] =
    [('"', '"'), ('“', '”'), ('`', '`'), ('「', '」'), ('『', '』'), ('«', '»')];

/// What a question asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// Its terms, for the text arm.
    pub terms: TextQuery,
    /// What would be an exact match: the phrases quoted in it and the whole question, normalised,
    /// without outer punctuation, each more than one word.
    pub phrases: Vec<String>,
    /// The identifiers in it, normalised, each once.
    pub identifiers: Vec<String>,
    /// The dates in it.
    pub dates: Vec<AskedDate>,
    /// Share of it that a model of Latin script can read, 0.0..=1.0.
    pub latin_share: f32,
    /// Share of its terms that are characters and pairs of scripts without blanks, 0.0..=1.0.
    pub unspaced_share: f64,
}

impl Question {
    /// Reads a question.
    pub fn read(question: &str) -> Self {
        let normal = text::normalise(question);
        let mut identifiers = Vec::new();
        for identifier in tokens::identifiers(question) {
            if !identifiers.contains(&identifier) {
                identifiers.push(identifier);
            }
        }
        let terms = query::read(question);
        Self {
            unspaced_share: unspaced_share(&terms),
            terms,
            phrases: phrases(&normal),
            identifiers,
            dates: dates::asked(question),
            latin_share: text::latin_share(question),
        }
    }
}

/// Which share of the terms comes from scripts without blanks, by weight.
fn unspaced_share(terms: &TextQuery) -> f64 {
    let (mut unspaced, mut all) = (0.0, 0.0);
    for term in terms.clauses.iter().take(1).flatten() {
        all += term.weight;
        if term.token.chars().all(text::is_unspaced) {
            unspaced += term.weight;
        }
    }
    if all > 0.0 { unspaced / all } else { 0.0 }
}

/// The phrases between quotation marks, and the whole.
fn phrases(normal: &str) -> Vec<String> {
    let mut phrases = Vec::new();
    for (open, close) in QUOTES {
        let mut rest = normal;
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inner, after)) = after.split_once(close) else { break };
            phrases.push(inner);
            rest = after;
        }
    }
    phrases.push(normal);
    phrases
        .into_iter()
        .map(|phrase| phrase.trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
        .filter(|phrase| is_phrase(phrase))
        .collect()
}

/// Whether a text is more than one word. A single word is the text arm's matter, which knows its
/// other forms; two characters of an unspaced script count, since they may be anything.
fn is_phrase(text: &str) -> bool {
    tokens::tokens(text).iter().filter(|token| token.counts()).count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_into_its_parts() {
        let question = Question::read("What did \"Becoming Nicole\" say about INC-90312 on 8 May?");
        assert_eq!(question.phrases.len(), 2);
        assert_eq!(question.phrases[0], "becoming nicole");
        assert_eq!(question.identifiers, ["inc-90312"]);
        assert_eq!(question.dates.len(), 1);
        assert!(question.latin_share > 0.99);
        assert_eq!(Question::read(" Dark mode? ").phrases, ["dark mode"]);
        assert_eq!(Question::read("tea?").phrases, [""; 0]);
        assert_eq!(Question::read("“深色模式”和`rg -n`").phrases[..2], ["深色模式", "rg -n"]);
        assert_eq!(Question::read("5\" of snow").phrases.len(), 1);
    }
}
