//! A question, read once for all that follows.

use super::exact::exactness;
use crate::domain::dates::{self, AskedDate};
use crate::domain::embedding::ScriptShares;
use crate::domain::search::TextQuery;
use crate::domain::text::{self, query, tokens};

/// Pairs of marks that quote a phrase.
const QUOTES: [(char, char); 6] =
    [('"', '"'), ('“', '”'), ('`', '`'), ('「', '」'), ('『', '』'), ('«', '»')];

/// Share of Latin script from which a question is one of Latin script.
const LATIN_NAMES_KEPT_FROM: f32 = 0.6;

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
    /// How much of it is in which script.
    pub scripts: ScriptShares,
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
            scripts: ScriptShares::of(question),
        }
    }
}

impl Question {
    /// Whether a text holds letter by letter what the question asks for: all of it, a phrase quoted in
    /// it, or one of its identifiers.
    pub fn is_held_by(&self, content: &str) -> bool {
        exactness(self, &text::normalise(content)).is_some()
    }
}

/// The question as a model should read it. In one of another script the names in Latin script are left to
/// the text arm: a model takes all texts with the same name, and every text of that script, for near (recall@10 of Chinese questions about English memories with
/// multilingual-e5-small: .25 with the names, .53 without; about Chinese memories .58 and .65).
pub fn spoken(question: &str) -> String {
    if ScriptShares::of(question).latin() >= LATIN_NAMES_KEPT_FROM {
        return question.to_owned();
    }
    let mut spoken = String::with_capacity(question.len());
    for word in question.split_inclusive(|c: char| !c.is_ascii_alphabetic()) {
        let letters = word.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
        let mut rest = letters.chars().skip(1).peekable();
        let is_name = letters.starts_with(|c: char| c.is_ascii_uppercase())
            && rest.peek().is_some()
            && rest.all(|c| c.is_ascii_lowercase());
        spoken.push_str(if is_name { word.strip_prefix(letters).unwrap_or(word) } else { word });
    }
    if spoken.chars().any(char::is_alphanumeric) { spoken } else { question.to_owned() }
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
    fn names_of_another_script_are_left_to_the_words() {
        for (question, expected) in [
            ("Where did Caroline go?", "Where did Caroline go?"),
            ("Caroline什么时候去参加LGBTQ支持小组的？", "什么时候去参加LGBTQ支持小组的？"),
            ("Mel 和 Ann 的 docker 用 PostgreSQL 吗", " 和  的 docker 用 PostgreSQL 吗"),
            ("INC-90312 是什么", "INC-90312 是什么"),
            ("A组在哪里", "A组在哪里"),
            ("Caroline？", "Caroline？"),
        ] {
            assert_eq!(spoken(question), expected);
        }
    }

    #[test]
    fn a_question_is_read_into_its_parts() {
        let question = Question::read("What did \"Becoming Nicole\" say about INC-90312 on 8 May?");
        assert_eq!(question.phrases.len(), 2);
        assert_eq!(question.phrases[0], "becoming nicole");
        assert_eq!(question.identifiers, ["inc-90312"]);
        assert_eq!(question.dates.len(), 1);
        assert!(question.scripts.latin() > 0.99);
        assert_eq!(Question::read(" Dark mode? ").phrases, ["dark mode"]);
        assert_eq!(Question::read("tea?").phrases, [""; 0]);
        assert_eq!(Question::read("“深色模式”和`rg -n`").phrases[..2], ["深色模式", "rg -n"]);
        assert_eq!(Question::read("5\" of snow").phrases.len(), 1);
    }
}
