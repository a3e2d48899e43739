//! The check of a summary against its sources.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::clauses::{self, Clause};
use super::values::{Reading, Sort, Support, Value, read};
use super::violation::{Reason, Violation};
use crate::domain::embedding::ScriptShares;

/// Words of a summary without support that a violation names.
const WORDS_SHOWN_MAX: usize = 6;

/// A text that a summary may draw from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// How the summary cites it.
    pub id: &'a str,
    /// What it says.
    pub text: &'a str,
    /// The day on which that happened, in the zone of its user; it counts as said by the source.
    pub event_date: Option<Date>,
}

/// What is to be stored, and what it says it draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary<'a> {
    /// The text; marks such as `[s1]` that hold only ids of sources are no part of what it says.
    pub text: &'a str,
    /// Ids of the sources it cites.
    pub citations: &'a [&'a str],
}

/// What is asked of a summary beside its values, its citations and its polarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Least share of its content words that stand in the cited sources, 0.0..=1.0.
    pub overlap_min: f64,
    /// Fewest characters.
    pub chars_min: usize,
    /// Most characters.
    pub chars_max: usize,
    /// Most characters as a share of all sources together.
    pub share_max: f64,
    /// Whether it is written in the script of most of the sources.
    pub asks_for_language: bool,
}

impl Default for Policy {
    /// Bounds chosen, after what small models were seen to write.
    fn default() -> Self {
        Self {
            overlap_min: 0.6,
            chars_min: 20,
            chars_max: 300,
            share_max: 0.6,
            asks_for_language: true,
        }
    }
}

impl Policy {
    /// What is asked of an extract: its length and language are those of what it quotes.
    pub const fn for_extracts() -> Self {
        Self {
            overlap_min: 0.6,
            chars_min: 1,
            chars_max: usize::MAX,
            share_max: f64::INFINITY,
            asks_for_language: false,
        }
    }
}

/// Everything in a summary that its cited sources do not bear out, each once; empty if it may be stored.
pub fn check(summary: &Summary<'_>, sources: &[Source<'_>], policy: &Policy) -> Vec<Violation> {
    Sources::read(sources).check(summary, policy)
}

/// Texts that have been read, so that many a summary can be checked against them.
pub struct Sources<'a> {
    given: Vec<Source<'a>>,
    supports: Vec<(&'a str, Support)>,
    /// What each of them says or denies.
    clauses: Vec<Vec<Clause>>,
}

impl<'a> Sources<'a> {
    /// Reads texts.
    pub fn read(given: &[Source<'a>]) -> Self {
        let given = given.to_vec();
        let supports: Vec<(&str, Support)> = given
            .iter()
            .map(|source| (source.id, Support::of(source.text, source.event_date)))
            .collect();
        let said = |support: &Support| clauses::candidates(&clauses::clauses(&support.reading));
        let clauses = supports.iter().map(|(_, support)| said(support)).collect();
        Self { given, supports, clauses }
    }

    /// See [`check`].
    pub fn check(&self, summary: &Summary<'_>, policy: &Policy) -> Vec<Violation> {
        let mut violations = check_citations(summary, &self.given);
        let text = without_marks(summary.text, &self.given);
        check_length(&text, &self.given, policy, &mut violations);
        if policy.asks_for_language {
            check_language(&text, &self.given, &mut violations);
        }
        let is_cited = |id: &str| summary.citations.contains(&id);
        let cited: Vec<&Support> = self
            .supports
            .iter()
            .filter(|(id, _)| is_cited(id))
            .map(|(_, support)| support)
            .collect();
        if cited.is_empty() {
            return violations;
        }
        let reading = read(&text);
        check_values(&reading, &self.supports, &cited, &mut violations);
        check_openers(&reading, &self.supports, &cited, &mut violations);
        let said = self.supports.iter().zip(&self.clauses).filter(|((id, _), _)| is_cited(id));
        let said: Vec<&Clause> = said.flat_map(|(_, clauses)| clauses).collect();
        check_polarity(&reading, &said, &mut violations);
        check_overlap(&reading, &cited, policy, &mut violations);
        violations
    }
}

fn check_citations(summary: &Summary<'_>, sources: &[Source<'_>]) -> Vec<Violation> {
    if summary.citations.is_empty() {
        let text = "the summary cites no source; name the ids of the sources it draws from";
        return vec![Violation::new(Reason::NoCitation, text.to_owned())];
    }
    summary
        .citations
        .iter()
        .filter(|id| !sources.iter().any(|source| source.id == **id))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|id| {
            Violation::new(Reason::UnknownCitation, format!("there is no source `{}`", shorten(id)))
        })
        .collect()
}

fn check_length(
    text: &str,
    sources: &[Source<'_>],
    policy: &Policy,
    violations: &mut Vec<Violation>,
) {
    let n_chars = text.trim().chars().count();
    let n_source_chars: usize = sources.iter().map(|source| source.text.chars().count()).sum();
    // A share never asks for less than the fewest characters allowed.
    let share = (n_source_chars as f64 * policy.share_max).max(policy.chars_min as f64);
    if n_chars < policy.chars_min {
        let text = format!("the summary has {n_chars} characters, fewer than {}", policy.chars_min);
        violations.push(Violation::new(Reason::TooShort, text));
    } else if n_chars > policy.chars_max {
        let text = format!("the summary has {n_chars} characters, more than {}", policy.chars_max);
        violations.push(Violation::new(Reason::TooLong, text));
    } else if n_chars as f64 > share {
        let text = format!(
            "the summary has {n_chars} characters, more than {:.0} % of the {n_source_chars} of its sources",
            policy.share_max * 100.0
        );
        violations.push(Violation::new(Reason::TooLong, text));
    }
}

fn check_language(text: &str, sources: &[Source<'_>], violations: &mut Vec<Violation>) {
    let is_latin = |text: &str| ScriptShares::of(text).latin() >= 0.5;
    let has_letter = |text: &str| text.chars().any(char::is_alphabetic);
    let told: Vec<&Source<'_>> = sources.iter().filter(|source| has_letter(source.text)).collect();
    let n_latin = told.iter().filter(|source| is_latin(source.text)).count();
    let n_other = told.len() - n_latin;
    let asked = if n_latin > n_other { "Latin" } else { "the sources' own (not Latin)" };
    if n_latin != n_other && has_letter(text) && is_latin(text) != (n_latin > n_other) {
        let text = format!(
            "the summary is not in the language of most sources; write it in theirs, in {asked} script"
        );
        violations.push(Violation::new(Reason::Language, text));
    }
}

fn check_values(
    reading: &Reading,
    supports: &[(&str, Support)],
    cited: &[&Support],
    violations: &mut Vec<Violation>,
) {
    let mut seen = BTreeSet::new();
    for found in &reading.values {
        let surface = reading.slice(&found.range);
        if cited.iter().any(|support| support.holds(&found.value)) {
            continue;
        }
        let sort = found.value.sort();
        if seen.insert((sort, surface)) {
            let elsewhere = supports.iter().find(|(_, support)| support.holds(&found.value));
            violations.push(unsupported(sort, surface, elsewhere.map(|(id, _)| *id)));
        }
    }
}

/// A word that opens a sentence is held to be a name if one of the sources uses it as one.
fn check_openers(
    reading: &Reading,
    supports: &[(&str, Support)],
    cited: &[&Support],
    violations: &mut Vec<Violation>,
) {
    for range in &reading.openers {
        let surface = reading.slice(range);
        let name = Value::Name(surface.to_lowercase());
        let user = supports
            .iter()
            .find(|(_, support)| support.reading.values.iter().any(|found| found.value == name));
        if let Some((id, _)) = user.filter(|_| !cited.iter().any(|support| support.holds(&name))) {
            violations.push(unsupported(Sort::Name, surface, Some(id)));
        }
    }
}

fn unsupported(sort: Sort, surface: &str, elsewhere: Option<&str>) -> Violation {
    let hint = elsewhere.map_or_else(
        || "leave it out".to_owned(),
        |id| format!("it stands in source `{id}`: cite that one, or leave it out"),
    );
    let text = format!(
        "the {} `{}` does not stand in the cited sources; {hint}",
        sort.as_str(),
        shorten(surface)
    );
    Violation::new(Reason::Value(sort), text)
}

/// `said`: what the cited sources say or deny.
fn check_polarity(reading: &Reading, said: &[&Clause], violations: &mut Vec<Violation>) {
    for clause in clauses::clauses(reading).iter().flatten() {
        if clauses::is_reversed(clause, said) == Some(true) {
            let how = if clause.is_negative() {
                "says that something is not so or failed, and the cited sources do not"
            } else {
                "leaves out that the cited sources say it is not so or failed"
            };
            let text = format!("`{}` {how}", shorten(reading.slice(&clause.range).trim()));
            violations.push(Violation::new(Reason::Polarity, text));
        }
    }
}

fn check_overlap(
    reading: &Reading,
    cited: &[&Support],
    policy: &Policy,
    violations: &mut Vec<Violation>,
) {
    let words: BTreeSet<String> =
        clauses::content_words(reading, &(0..reading.text.len())).into_iter().collect();
    let missing: Vec<&String> =
        words.iter().filter(|word| !cited.iter().any(|support| support.has_word(word))).collect();
    let n_held = words.len() - missing.len();
    if (n_held as f64) < policy.overlap_min * words.len() as f64 {
        let shown: Vec<&str> =
            missing.iter().take(WORDS_SHOWN_MAX).map(|word| word.as_str()).collect();
        let text = format!(
            "only {n_held} of {} words of the summary stand in the cited sources; not these: {}",
            words.len(),
            shown.join(", ")
        );
        violations.push(Violation::new(Reason::Overlap, text));
    }
}

/// The text without brackets that hold nothing but ids of sources.
fn without_marks(text: &str, sources: &[Source<'_>]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['[', '(', '【', '（']) {
        let (before, from) = rest.split_at(open);
        clean.push_str(before);
        let n_open = from.chars().next().map_or(1, char::len_utf8);
        let inner_end = from.find([']', ')', '】', '）']).unwrap_or(n_open);
        let inner = from.get(n_open..inner_end).unwrap_or("");
        let n_close =
            from.get(inner_end..).and_then(|end| end.chars().next()).map_or(0, char::len_utf8);
        let mut ids =
            inner.split([',', ';', ' ', '、', '，']).filter(|id| !id.is_empty()).peekable();
        let is_mark =
            ids.peek().is_some() && ids.all(|id| sources.iter().any(|source| source.id == id));
        if is_mark {
            clean.push(' ');
            rest = from.get(inner_end + n_close..).unwrap_or("");
        } else {
            clean.push_str(from.get(..n_open).unwrap_or(""));
            rest = from.get(n_open..).unwrap_or("");
        }
    }
    clean.push_str(rest);
    clean
}

/// A quotation of at most 80 characters.
fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    if text.chars().count() <= CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(CHARS_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
