//! Reads a question: stop words out, clauses apart, terms as sets.

use std::collections::HashSet;

use super::tokens::{Token, TokenKind, tokens};
use crate::domain::limits::{QUERY_CLAUSES_MAX, QUERY_TERMS_MAX};
use crate::domain::search::{QueryTerm, TextQuery};

/// Factor on the inverse document frequency of a single character of an unspaced script: its pairs
/// say more. Chosen on Chinese dialogues with `recalld eval`.
const CHARACTER_WEIGHT: f64 = 0.5;

/// English words that no search is about; cut from queries only.
const ENGLISH_STOP_WORDS: &str = "a an and are as at be but by for if in into is it no not of on or \
    such that the their then there these they this to was will with what when where who whom which \
    how why did do does done has have had from been were he she his her him its i my me you your we \
    our us";

/// Chinese characters that no search is about: a character or pair made only of these is cut.
const CHINESE_STOP_CHARACTERS: &str = "的了是在我你他她它们吗呢啊吧呀哦嘛么什哪谁怎几个和与或就都也还很这那\
    有没不为会能要到去来过着被把从对给让跟以及其之而但";

/// Reads a question into terms: clause 0 is all of it, the others its parts if there are several
/// with two or more terms.
pub fn read(question: &str) -> TextQuery {
    let whole = terms(question);
    let mut clauses = vec![whole];
    let parts: Vec<Vec<QueryTerm>> = split_clauses(question)
        .map(terms)
        .filter(|part| part.len() >= 2)
        .take(QUERY_CLAUSES_MAX - 1)
        .collect();
    if parts.len() > 1 {
        clauses.extend(parts);
    }
    TextQuery { clauses }
}

/// Splits at question marks, full stops of CJK, exclamation marks, semicolons, line ends and 另外
/// ("besides").
fn split_clauses(question: &str) -> impl Iterator<Item = &str> {
    question
        .split(['?', '？', '。', '!', '！', ';', '；', '\n'])
        .flat_map(|part| part.split("另外"))
}

/// The terms of a text, each once, stop words left out unless nothing else is there.
fn terms(text: &str) -> Vec<QueryTerm> {
    let all = tokens(text);
    let telling: Vec<&Token> = all.iter().filter(|token| !is_stop_word(token)).collect();
    let chosen = if telling.is_empty() { all.iter().collect() } else { telling };
    let mut seen = HashSet::new();
    let mut terms: Vec<QueryTerm> = Vec::new();
    for token in chosen {
        if terms.len() < QUERY_TERMS_MAX && seen.insert(token.text.as_str()) {
            let weight = if token.kind == TokenKind::Character { CHARACTER_WEIGHT } else { 1.0 };
            terms.push(QueryTerm { token: token.text.clone(), weight });
        }
    }
    terms
}

/// Whether a token says nothing about what is looked for.
pub fn is_stop_word(token: &Token) -> bool {
    match token.kind {
        TokenKind::Word => ENGLISH_STOP_WORDS.split_ascii_whitespace().any(|w| w == token.surface),
        TokenKind::Character | TokenKind::Pair => {
            token.surface.chars().all(|c| CHINESE_STOP_CHARACTERS.contains(c))
        }
        TokenKind::Identifier => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(clause: &[QueryTerm]) -> Vec<&str> {
        clause.iter().map(|term| term.token.as_str()).collect()
    }

    #[test]
    fn stop_words_go_unless_they_are_all_there_is() {
        assert_eq!(
            words(&read("When did Caroline go to the group?").clauses[0]),
            ["carolin", "go", "group"]
        );
        assert_eq!(words(&read("who am i").clauses[0]), ["am"]);
        assert_eq!(words(&read("what is it").clauses[0]), ["what", "is", "it"]);
        assert!(words(&read("你喜欢喝什么").clauses[0]).contains(&"喜欢"));
        assert!(!words(&read("你喜欢喝什么").clauses[0]).contains(&"什么"));
    }

    #[test]
    fn a_question_of_two_parts_has_three_clauses() {
        let query = read("上司是做什么工作的呢？另外，金融科技精英论坛的地点是什么？");
        assert_eq!(query.clauses.len(), 3);
        assert_eq!(read("Where is the router? Thanks!").clauses.len(), 1);
    }

    #[test]
    fn a_term_stands_once_however_often_it_is_said() {
        assert_eq!(words(&read("tea tea Teas").clauses[0]), ["tea"]);
    }

    #[test]
    fn an_endless_query_is_bounded() {
        let long: String = (0..1_000).map(|n| format!("word{n}? other{n} ")).collect();
        let query = read(&long);
        assert!(query.clauses.len() <= QUERY_CLAUSES_MAX);
        assert!(query.clauses.iter().all(|clause| clause.len() <= QUERY_TERMS_MAX));
    }
}
