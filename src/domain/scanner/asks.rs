//! Whether a sentence asks to be reminded, how long before, and what it is about.

use std::ops::Range;

use super::grammar::Line;
use super::leads;
use super::lexemes::Lexeme;
use super::speech::{self, Manner};
use crate::domain::reminder::Lead;
use crate::domain::text::is_unspaced;

/// What a sentence says of being reminded.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    /// That it asks.
    pub(super) ask: Option<Ask>,
    /// Whether it tells what somebody else asks.
    pub(super) is_told: bool,
    /// The lexemes at which it asks not to be reminded.
    denials: Vec<usize>,
}

/// That a sentence asks to be reminded.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// How long before.
    pub(super) lead: Option<Lead>,
    /// The lexemes that say so.
    pub(super) lead_at: Option<Range<usize>>,
    /// The lexemes that are not part of what it is about; the first range is the asking.
    pub(super) cut: Vec<Range<usize>>,
    /// Whether who gives the text asks, and not the text.
    pub(super) is_implied: bool,
}

impl Heard {
    /// Whether nobody wants to be reminded of a time that begins at a lexeme.
    pub(super) fn denies(&self, first: usize) -> bool {
        let asked = self.ask.as_ref().and_then(|ask| ask.cut.first()).map(|range| range.start);
        let Some(asked) = asked else { return !self.denials.is_empty() };
        self.denials.iter().any(|no| *no < first && !(*no < asked && asked <= first))
    }

    fn hear(&mut self, manner: Manner, at: usize) {
        match manner {
            Manner::Denied => self.denials.push(at),
            Manner::Told => self.is_told = true,
            Manner::Meant | Manner::Other => {}
        }
    }
}

/// Ways to ask in English, word by word; the longer first.
const ENGLISH: [&[&str]; 17] = [
    &["don't", "let", "me", "forget"],
    &["dont", "let", "me", "forget"],
    &["make", "sure", "i", "don't", "forget"],
    &["make", "sure", "i", "remember"],
    &["set", "up", "a", "reminder"],
    &["set", "a", "reminder"],
    &["create", "a", "reminder"],
    &["add", "a", "reminder"],
    &["schedule", "a", "reminder"],
    &["set", "reminder"],
    &["remind", "me"],
    &["remind", "us"],
    &["remind", "everyone"],
    &["remind", "the", "team"],
    &["nudge", "me"],
    &["ping", "me"],
    &["alert", "me"],
];
/// Ways to say in English that no reminder is wanted.
const UNWANTED: [&[&str]; 8] = [
    &["stop", "reminding", "me"],
    &["no", "reminder"],
    &["no", "reminders"],
    &["cancel", "the", "reminder"],
    &["delete", "the", "reminder"],
    &["don't", "need", "a", "reminder"],
    &["not", "need", "a", "reminder"],
    &["don't", "want", "a", "reminder"],
];
/// Words behind them that ask for something else than a time: "remind me of the reason".
const OTHER_ASK: [&str; 9] =
    ["of", "what", "why", "how", "who", "which", "where", "whether", "again"];
/// Ways to ask in Chinese, the longer first.
const HAN: [&str; 16] = [
    "提醒我们",
    "提醒一下我",
    "提醒大家",
    "提醒咱们",
    "提醒我",
    "提醒一下",
    "设置提醒",
    "设置一个提醒",
    "设个提醒",
    "设一个提醒",
    "加个提醒",
    "给我提个醒",
    "别让我忘了",
    "不要让我忘了",
    "叫我起床",
    "喊我起床",
];
/// Characters before them that tell of an ask: 谢谢提醒我, 有人提醒我.
const HAN_OTHER: [char; 8] = ['用', '没', '谢', '必', '需', '有', '曾', '经'];
/// Characters of one who is asked; after other words someone else reminds: 妈妈提醒我.
const HAN_ASKED: &str = "请你帮要能得时候后前并再就烦下会点记给次早晚节日";
/// Small words that are cut off at both ends of what it is about.
const EDGES: &str = "to that about of please and for on at by in the from - : , ; . ! ? ， 。 ； ： ！ ？ 、 ( ) ( ） （";

/// Whether, and how, a sentence asks to be reminded; `quotations` are the bytes of the text that stand in
/// quotation marks. `is_implied`: whoever gives the text asks for it.
pub(super) fn read(line: &Line<'_>, quotations: &[Range<usize>], is_implied: bool) -> Heard {
    let mut heard = Heard::default();
    let english = english(line, quotations, &mut heard);
    let asked = english.or_else(|| han(line, quotations, &mut heard));
    let is_implied = asked.is_none() && is_implied;
    if asked.is_none() && !is_implied {
        return heard;
    }
    let lead = leads::find(line);
    let mut cut: Vec<Range<usize>> = asked.into_iter().collect();
    let (lead, lead_at) = lead.map_or((None, None), |(lead, at)| (Some(lead), Some(at)));
    cut.extend(lead_at.clone());
    heard.ask = Some(Ask { lead, lead_at, cut, is_implied });
    heard
}

/// Whether an asking is part of what somebody else is quoted with.
fn is_quoted(line: &Line<'_>, at: usize, quotations: &[Range<usize>]) -> bool {
    let byte = line.ranges.get(at).map_or(0, |range| range.start);
    quotations.iter().find(|range| range.contains(&byte)).is_some_and(|range| {
        let before = line.reading.text.get(..range.start).unwrap_or("");
        !speech::is_own_quotation(before.trim_end_matches(['"', '\'', '“', '‘', '「', '『', '«']))
    })
}

/// The lexemes of the first asking in English that the speaker means.
fn english(
    line: &Line<'_>,
    quotations: &[Range<usize>],
    heard: &mut Heard,
) -> Option<Range<usize>> {
    let words: Vec<String> =
        (0..line.kinds.len()).map(|at| line.slice(at).to_lowercase().replace('’', "'")).collect();
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let is_at =
        |at: usize, ask: &[&str]| ask.iter().enumerate().all(|(n, part)| word(at + n) == *part);
    let mut meant = None;
    for at in 0..words.len() {
        if UNWANTED.iter().any(|no| is_at(at, no)) {
            heard.hear(Manner::Denied, at);
        }
        let Some(ask) = ENGLISH.iter().find(|ask| is_at(at, ask)) else { continue };
        let end = at + ask.len();
        let before = words.get(..at).unwrap_or(&[]);
        let polite = before
            .iter()
            .rev()
            .take_while(|word| {
                matches!(
                    word.as_str(),
                    "please" | "can" | "could" | "you" | "would" | "pls" | "and"
                )
            })
            .count();
        let n_forget =
            if word(at.wrapping_sub(2)) == "forget" && word(at - 1) == "to" { 3 } else { 0 };
        let polite = polite.max(n_forget).min(at);
        // "Remind me of the dentist" asks, "that will remind me of it" does not.
        let begins = at == polite && word(end) == "of";
        let next = if begins { word(end + 1) } else { word(end) };
        let manner = match speech::english(&words, at) {
            Manner::Meant if OTHER_ASK.contains(&next) => Manner::Other,
            Manner::Meant if is_quoted(line, at, quotations) => Manner::Told,
            manner @ (Manner::Meant | Manner::Denied | Manner::Told | Manner::Other) => manner,
        };
        heard.hear(manner, at);
        if manner == Manner::Meant && meant.is_none() {
            meant = Some(at - polite..end);
        }
    }
    meant
}

/// The lexemes of the first asking in Chinese that the speaker means.
fn han(line: &Line<'_>, quotations: &[Range<usize>], heard: &mut Heard) -> Option<Range<usize>> {
    let (first, last) = (line.ranges.first()?, line.ranges.last()?);
    let text = line.reading.slice(&(first.start..last.end));
    let mut done = 0;
    while let Some((at, ask)) = next_han(text, done) {
        done = at + ask.len();
        let (from, to) = (first.start + at, first.start + done);
        let start = line.ranges.partition_point(|range| range.start < from);
        let end = line.ranges.partition_point(|range| range.start < to);
        let manner = match han_manner(line, text.get(..at).unwrap_or(""), start) {
            Manner::Meant if is_quoted(line, start, quotations) => Manner::Told,
            manner @ (Manner::Meant | Manner::Denied | Manner::Told | Manner::Other) => manner,
        };
        heard.hear(manner, start);
        if manner == Manner::Meant {
            // 请, 记得, 到时候, 别忘了 before it.
            let n_polite = (0..start)
                .rev()
                .take_while(|at| "请记得帮我你麻烦时候到别不要忘了".contains(line.slice(*at)))
                .count();
            return Some(start - n_polite..end);
        }
    }
    None
}

/// The next way to ask in Chinese from a byte on, and where it begins.
fn next_han(text: &str, from: usize) -> Option<(usize, &'static str)> {
    let rest = text.get(from..)?;
    let found = HAN.iter().filter_map(|ask| Some((from + rest.find(ask)?, *ask)));
    // Of those at one place the first, which is the longest.
    found.min_by_key(|(at, _)| *at)
}

fn han_manner(line: &Line<'_>, before: &str, start: usize) -> Manner {
    if let Some(manner) = speech::han(before) {
        return manner;
    }
    let near = before.trim_end().chars().next_back();
    // 妈妈提醒我: told, not asked; behind a time or a mark it is asked.
    let is_word = start.checked_sub(1).and_then(|at| line.kind(at)) == Some(&Lexeme::Word);
    let is_other = near.is_some_and(|c| HAN_OTHER.contains(&c))
        || is_word && near.is_some_and(|c| is_unspaced(c) && !HAN_ASKED.contains(c));
    if is_other { Manner::Other } else { Manner::Meant }
}

/// Whether two parts of a sentence need a blank between them.
pub(super) fn needs_blank(before: &str, after: &str) -> bool {
    let (Some(last), Some(first)) = (before.chars().next_back(), after.chars().next()) else {
        return false;
    };
    let is_tight =
        |c: char| is_unspaced(c) || matches!(c, ',' | '.' | ';' | '!' | '?' | '，' | '。');
    !is_tight(first) && !is_unspaced(last)
}

/// What it is about without small words and marks at its ends.
pub(super) fn trimmed(text: &str) -> String {
    let mut rest = text.trim();
    loop {
        let before = rest.len();
        for edge in EDGES.split_ascii_whitespace() {
            let is_word = edge.starts_with(|c: char| c.is_ascii_alphabetic());
            let is_free = |rest: &str, c: Option<char>| {
                rest.is_empty() || !is_word || c.is_none_or(char::is_whitespace)
            };
            if let Some(cut) =
                strip_start(rest, edge).filter(|cut| is_free(cut, cut.chars().next()))
            {
                rest = cut.trim_start();
            }
            if let Some(cut) =
                strip_end(rest, edge).filter(|cut| is_free(cut, cut.chars().next_back()))
            {
                rest = cut.trim_end();
            }
        }
        if rest.len() == before {
            return rest.to_owned();
        }
    }
}

fn strip_start<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| text.get(word.len()..)).flatten()
}

fn strip_end<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let at = text.len().checked_sub(word.len())?;
    text.get(at..)?.eq_ignore_ascii_case(word).then(|| text.get(..at)).flatten()
}
