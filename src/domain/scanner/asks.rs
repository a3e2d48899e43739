//! Whether a sentence asks to be reminded, how long before, and what it is about.

use std::ops::Range;

use jiff::civil::Time;

use super::grammar::{self, Line};
use super::length::{Length, Unit};
use super::lexemes::Lexeme;
use super::lexicon::Cue;
use super::resolve::usual;
use crate::domain::reminder::Lead;
use crate::domain::text::is_unspaced;

/// That a sentence asks to be reminded.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// How long before.
    pub(super) lead: Option<Lead>,
    /// The lexemes that say so.
    pub(super) lead_at: Option<Range<usize>>,
    /// The lexemes that are not part of what it is about.
    pub(super) cut: Vec<Range<usize>>,
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
/// Words before them that turn them round, or tell of an ask.
const NOT_ASKED: &str = "don't dont not never no didn't stop without did why always that which who it this they \
    photos these those doesn't used";
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
/// Characters before them that turn them round or tell of an ask: 别提醒我, 不用提醒我, 谢谢提醒我.
const HAN_NOT: [char; 10] = ['别', '要', '用', '没', '谢', '必', '需', '有', '曾', '经'];
/// Characters of one who is asked; after other words someone else reminds: 妈妈提醒我.
const HAN_ASKED: &str = "请你帮要能得时候后前并再就烦下会点记给";
/// Small words that are cut off at both ends of what it is about.
const EDGES: &str = "to that about of please and for on at by in the from - : , ; . ! ? ， 。 ； ： ！ ？ 、 ( ) ( ） （";

/// Whether, and how, a sentence asks to be reminded.
pub(super) fn read(line: &Line<'_>) -> Option<Ask> {
    let asked = english(line).or_else(|| han(line))?;
    let lead = lead(line);
    let mut cut = vec![asked];
    let (lead, lead_at) = lead.map_or((None, None), |(lead, at)| (Some(lead), Some(at)));
    cut.extend(lead_at.clone());
    Some(Ask { lead, lead_at, cut })
}

fn english(line: &Line<'_>) -> Option<Range<usize>> {
    let words: Vec<String> =
        (0..line.kinds.len()).map(|at| line.slice(at).to_lowercase().replace('’', "'")).collect();
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    (0..words.len()).find_map(|at| {
        let ask = ENGLISH
            .iter()
            .find(|ask| ask.iter().enumerate().all(|(n, part)| word(at + n) == *part))?;
        let end = at + ask.len();
        let from = at.saturating_sub(3);
        let before = words.get(from..at).unwrap_or(&[]);
        let is_turned =
            before.iter().any(|word| NOT_ASKED.split_ascii_whitespace().any(|known| known == word));
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
        // "Remind me of the dentist" asks, "that will remind me of it" does not.
        let begins = at == polite && word(end) == "of";
        let next = if begins { word(end + 1) } else { word(end) };
        (!is_turned && !OTHER_ASK.contains(&next)).then_some(at - polite..end)
    })
}

fn han(line: &Line<'_>) -> Option<Range<usize>> {
    let (first, last) = (line.ranges.first()?, line.ranges.last()?);
    let text = line.reading.slice(&(first.start..last.end));
    HAN.iter().find_map(|ask| {
        let at = text.find(ask)?;
        let before = text.get(..at).unwrap_or("");
        let mut near = before.trim_end().chars().rev();
        let (one, two) = (near.next(), near.next());
        let is_turned =
            one.is_some_and(|c| HAN_NOT.contains(&c)) && !(one == Some('要') && two != Some('不'));
        let (from, to) = (first.start + at, first.start + at + ask.len());
        let start = line.ranges.partition_point(|range| range.start < from);
        let end = line.ranges.partition_point(|range| range.start < to);
        // 妈妈提醒我: told, not asked; behind a time or a mark it is asked.
        let is_word = start.checked_sub(1).and_then(|at| line.kind(at)) == Some(&Lexeme::Word);
        let is_told = is_word && one.is_some_and(|c| is_unspaced(c) && !HAN_ASKED.contains(c));
        if is_turned || is_told {
            return None;
        }
        // 请, 记得, 到时候 before it.
        let n_polite = (0..start)
            .rev()
            .take_while(|at| {
                matches!(
                    line.slice(*at),
                    "请" | "记" | "得" | "帮" | "我" | "你" | "麻" | "烦" | "时" | "候" | "到"
                )
            })
            .count();
        Some(start - n_polite..end)
    })
}

/// "an hour before", "the day before at 18:00", 提前半小时: the lead, and its lexemes.
fn lead(line: &Line<'_>) -> Option<(Lead, Range<usize>)> {
    (0..line.kinds.len()).find_map(|at| {
        if line.slice(at) == "提" && line.slice(at + 1) == "前" {
            let (length, n) = grammar::length(line, at + 2)?;
            return Some((of_length(length)?, at..at + 2 + n));
        }
        if let [Lexeme::Cue(Cue::The), day, Lexeme::Cue(Cue::By), ..] = line.from(at)
            && line.slice(at + 2).eq_ignore_ascii_case("before")
        {
            let time = if let Lexeme::Part(part) = day { Some(usual(*part)) } else { None };
            if !matches!(day, Lexeme::Unit(Unit::Day) | Lexeme::Part(_)) {
                return None;
            }
            let (clock, n) = match line.from(at + 3) {
                [Lexeme::Cue(Cue::At), Lexeme::Clock(clock), ..] => (Some(*clock), 2),
                [Lexeme::Clock(clock), ..] => (Some(*clock), 1),
                _ => (None, 0),
            };
            let said = clock.filter(|clock| !clock.is_vague).and_then(|clock| {
                Time::new(i8::try_from(clock.hour).ok()?, i8::try_from(clock.minute).ok()?, 0, 0)
                    .ok()
            });
            return Some((Lead::Civil { days: 1, at: said.or(time) }, at..at + 3 + n));
        }
        let (length, n) = grammar::length(line, at)?;
        let n_behind = before_words(line, at + n)?;
        Some((of_length(length)?, at..at + n + n_behind))
    })
}

/// Of how many lexemes "before", "ahead of time", "in advance", 前 is.
fn before_words(line: &Line<'_>, at: usize) -> Option<usize> {
    let word = line.slice(at).to_lowercase();
    match word.as_str() {
        "before" | "beforehand" | "ahead" | "prior" | "early" | "earlier" | "前" | "之前" => {
            Some(1)
        }
        "in" if line.slice(at + 1).eq_ignore_ascii_case("advance") => Some(2),
        _ => None,
    }
}

fn of_length(length: Length) -> Option<Lead> {
    if length.months != 0 {
        return None;
    }
    if length.is_short() {
        return length.duration().map(Lead::Elapsed);
    }
    Some(Lead::Civil { days: u16::try_from(length.days).ok()?, at: None })
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
