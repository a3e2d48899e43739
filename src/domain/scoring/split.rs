//! Splits a turn into statements of one fact each.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::text::sentences::sentences;
use crate::domain::text::{is_unspaced, normalise};

/// Where an English sentence goes on with a statement of its own: a new subject, or a verb of the same one.
static JOINTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:,|;)?\s(?:and|but)\s(?:(?:also|now|still|usually|always|never)\s)?",
        r"(?:(?P<subject>I|I['’]m|my|My|we|our|he|she|they|his|her|[A-Z][a-z]+\s(?:is|are|was|has|likes|works|lives|wants|needs))|",
        r"(?P<verb>am|is|are|have|has|like|likes|love|loves|prefer|prefers|hate|hates|dislike|work|works|live|lives|use|uses|speak|speaks|",
        r"own|owns|play|plays|drink|drinks|eat|eats|need|needs|want|wants|study|studies|run|runs|do not|don['’]t|does not|doesn['’]t))\b|;\s",
    ))
    .ok()
});
/// Words of a sentence whose parts belong together.
static BOUND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:if|because|when|unless|although|though|while|since|whether|between|both|either|neither|first|until|that)\b|因为|所以|如果|虽然|但|先|当|的话|只要|除非|为了|只有|无论|既|又",
    )
    .ok()
});
/// Subjects that a part without one takes over, in Chinese.
const HAN_SUBJECTS: &[&str] = &["我们", "我", "他们", "他", "她", "用户"];
/// What a part in Chinese that goes on with the same subject begins with.
const HAN_VERBS: &[&str] = &[
    "喜欢",
    "不喜欢",
    "不吃",
    "不喝",
    "住",
    "在",
    "有",
    "没有",
    "会",
    "想",
    "要",
    "用",
    "爱",
    "讨厌",
    "也",
    "还",
    "是",
    "每",
    "从事",
    "对",
    "养",
    "来自",
    "负责",
    "今年",
    "毕业",
    "平时",
    "习惯",
];
/// Openings that refer to what was said before.
const REFERRING: &[&str] = &[
    "it ", "it's", "it’s", "this ", "that ", "that's", "that’s", "these ", "those ", "they ",
    "he ", "she ", "它", "这", "那", "他", "她",
];

/// The statements of a text in order. A sentence that opens with a pronoun stays with the one before it.
pub(super) fn statements(text: &str) -> Vec<String> {
    let mut statements: Vec<String> = Vec::new();
    // What stands between fences is code.
    let prose: String = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let text = prose.as_str();
    for range in sentences(text) {
        let sentence = text.get(range).unwrap_or("");
        let normal = normalise(sentence);
        let refers = REFERRING.iter().any(|opening| normal.starts_with(opening));
        match statements.last_mut() {
            Some(last) if refers => {
                if !last.ends_with(|c: char| is_unspaced(c) || matches!(c, '。' | '！' | '？')) {
                    last.push(' ');
                }
                last.push_str(sentence);
            }
            _ => statements.extend(parts(sentence)),
        }
    }
    statements
}

/// The parts of a sentence that say something of their own, each with its subject.
fn parts(sentence: &str) -> Vec<String> {
    let whole = vec![sentence.to_owned()];
    let is_bound = BOUND.as_ref().is_some_and(|regex| regex.is_match(&normalise(sentence)));
    if is_bound {
        return whole;
    }
    let n_han = sentence.chars().filter(|c| is_unspaced(*c)).count();
    let parts = if 2 * n_han > sentence.chars().count() {
        han_parts(sentence)
    } else {
        spaced_parts(sentence)
    };
    if parts.len() > 1 { parts } else { whole }
}

fn spaced_parts(sentence: &str) -> Vec<String> {
    let Some(regex) = JOINTS.as_ref() else { return Vec::new() };
    let subject = spaced_subject(sentence);
    let mut parts = Vec::new();
    let (mut start, mut lead) = (0, String::new());
    for captures in regex.captures_iter(sentence) {
        let Some(joint) = captures.get(0) else { continue };
        let next = match (captures.name("subject"), captures.name("verb"), &subject) {
            (Some(own), _, _) => Some((own.start(), String::new())),
            (None, Some(verb), Some(subject)) => Some((verb.start(), format!("{subject} "))),
            (None, Some(_), None) => None,
            (None, None, _) => Some((joint.end(), String::new())),
        };
        if let Some((next, next_lead)) = next {
            parts
                .push(format!("{lead}{}", sentence.get(start..joint.start()).unwrap_or("").trim()));
            (start, lead) = (next, next_lead);
        }
    }
    parts.push(format!("{lead}{}", sentence.get(start..).unwrap_or("").trim()));
    parts
}

/// The subject of an English sentence, if it is a pronoun, a name or a possessive and a noun.
fn spaced_subject(sentence: &str) -> Option<String> {
    let mut words = sentence.split_whitespace();
    let (first, second) = (words.next()?, words.next());
    match first.to_lowercase().as_str() {
        "i" | "we" | "he" | "she" | "they" => Some(first.to_owned()),
        "i'm" | "i’m" => Some("I".to_owned()),
        "my" | "our" | "his" | "her" | "their" => Some(format!("{first} {}", second?)),
        _ => {
            let is_verb = matches!(
                second?,
                "is" | "has"
                    | "likes"
                    | "lives"
                    | "works"
                    | "uses"
                    | "loves"
                    | "prefers"
                    | "plays"
                    | "speaks"
                    | "owns"
                    | "needs"
                    | "wants"
            );
            let is_capital =
                first.starts_with(char::is_uppercase) && first.chars().all(char::is_alphabetic);
            (is_verb && is_capital).then(|| first.to_owned())
        }
    }
}

fn han_parts(sentence: &str) -> Vec<String> {
    let Some(subject) = HAN_SUBJECTS.iter().find(|subject| sentence.starts_with(**subject)) else {
        return Vec::new();
    };
    let mut parts: Vec<String> = Vec::new();
    for piece in sentence.split_inclusive(['，', '；', ',', ';']) {
        let bare = piece.trim_end_matches(['，', '；', ',', ';']);
        let has_own = HAN_SUBJECTS.iter().any(|subject| bare.starts_with(subject));
        let goes_on = HAN_VERBS.iter().any(|verb| bare.starts_with(verb));
        let is_long = bare.chars().filter(|c| c.is_alphanumeric()).count() >= 3;
        match parts.last_mut() {
            Some(_) if is_long && has_own => parts.push(piece.to_owned()),
            Some(_) if is_long && goes_on => parts.push(format!("{subject}{piece}")),
            Some(last) => last.push_str(piece),
            None => parts.push(piece.to_owned()),
        }
    }
    parts.into_iter().map(|part| part.trim_end_matches(['，', '；', ',', ';']).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_falls_into_statements_of_one_fact() {
        for (text, expected) in [
            ("I live in Berlin and work at Acme.", &["I live in Berlin", "I work at Acme."][..]),
            (
                "I live in Berlin, and my wife works at Acme.",
                &["I live in Berlin", "my wife works at Acme."],
            ),
            ("I like tea and coffee.", &["I like tea and coffee."]),
            ("Alice works at Acme and likes tea.", &["Alice works at Acme", "Alice likes tea."]),
            (
                "I stay at home if it rains and I am tired.",
                &["I stay at home if it rains and I am tired."],
            ),
            ("We bought a car. It is red.", &["We bought a car. It is red."]),
            ("One. Two is here.", &["One.", "Two is here."]),
            ("我住在北京，喜欢喝茶，不吃辣。", &["我住在北京", "我喜欢喝茶", "我不吃辣。"]),
            ("我买了一辆车。它是红色的。", &["我买了一辆车。它是红色的。"]),
            ("因为下雨，所以我在家。", &["因为下雨，所以我在家。"]),
            ("我叫张伟，我的妻子叫李娜。", &["我叫张伟", "我的妻子叫李娜。"]),
        ] {
            assert_eq!(statements(text), expected, "{text}");
        }
    }
}
