//! Words beside a time that name its day or its hour and are not read: "Easter Sunday at 10", "4/12 15:00",
//! 除夕晚上八点, "tomorrow 0900". Without them it would be taken for the next such hour, or the usual one.

use std::ops::Range;

use super::super::Unarmed;
use super::super::grammar::Line;
use super::super::phrases::span;
use super::super::slots::Slots;
use super::super::unarmed::quoted;

/// Days that are known by a name and not by a date, the longer first.
const FEASTS: [&str; 38] = [
    "christmas eve",
    "christmas day",
    "christmas",
    "xmas",
    "boxing day",
    "new year's eve",
    "new years eve",
    "new year's day",
    "new year's",
    "good friday",
    "easter monday",
    "easter",
    "thanksgiving",
    "halloween",
    "labor day",
    "labour day",
    "memorial day",
    "valentine's day",
    "mother's day",
    "father's day",
    "diwali",
    "hanukkah",
    "passover",
    "ramadan",
    "eid",
    "除夕",
    "春节",
    "元旦",
    "元宵节",
    "清明节",
    "端午节",
    "七夕",
    "中秋节",
    "重阳节",
    "国庆节",
    "劳动节",
    "平安夜",
    "圣诞节",
];
/// Small words between a time and the name of its day.
const SMALL: [&str; 7] = ["on", "at", "the", "this", "next", "在", "的"];

/// Characters of 差十五分.
const LESS_CHARS_MAX: usize = 6;
/// What stands before an hour.
const HOUR_LEADS: [&str; 5] = ["at ", "from ", "around ", "by ", "@"];

/// Most bytes beside a time that are looked at.
const BESIDE_MAX: usize = 64;

/// Why a time is not taken as it stands whose day or hour is named by words that are not read.
pub(in super::super) fn unread(
    line: &Line<'_>,
    slots: &Slots,
    pieces: &[Range<usize>],
) -> Option<Unarmed> {
    let first = span(line, pieces.first()?);
    let last = span(line, pieces.last()?);
    let time = || quoted(line.reading.text.get(first.start..last.end).unwrap_or_default());
    if let Some(word) = unread_hour(line, slots, &first, &last) {
        return Some(Unarmed::Hour { day: time(), word: quoted(&word) });
    }
    let is_exact = slots.date.is_some() || slots.is_moment() || slots.shift.is_some();
    let is_open = !is_exact && !slots.recurs() && (!slots.has_day() || slots.weekday.is_some());
    if !is_open {
        return None;
    }
    let before = before_day(line, first.start);
    let behind = after(line, last.end);
    let led = small(behind.trim_start());
    let word = feast_at_end(&before)
        .or_else(|| slashed_at_end(&before))
        .or_else(|| slots.weekday.and_then(|_| weeks(line, slots, &before, pieces)))
        .or_else(|| led.and_then(feast_at_start))
        .or_else(|| led.and_then(slashed_at_start))?;
    Some(Unarmed::Day { time: time(), word: quoted(&word) })
}

/// Words beside a time that name its hour, or another one.
fn unread_hour(
    line: &Line<'_>,
    slots: &Slots,
    first: &Range<usize>,
    last: &Range<usize>,
) -> Option<String> {
    let has_hour = slots.clock.is_some();
    let is_day_alone = !has_hour && slots.part.is_none() && !slots.is_moment();
    let (ahead, behind) = (before(line, last.start), after(line, last.end));
    let alone = || {
        let day = || hour_at_end(&before(line, first.start));
        is_day_alone.then(|| hour_at_start(&behind).or_else(day)).flatten()
    };
    less(&ahead)
        .filter(|_| has_hour)
        .or_else(|| half_hour(&ahead, &behind, has_hour))
        .or_else(alone)
}

/// The end of what stands before a byte in its sentence, in small letters.
fn before(line: &Line<'_>, at: usize) -> String {
    let text = &line.reading.text;
    let start = line.ranges.first().map_or(0, |range| range.start);
    let start = text.ceil_char_boundary(start.max(at.saturating_sub(BESIDE_MAX)));
    text.get(start..at).unwrap_or_default().to_lowercase()
}

/// The beginning of what stands behind a byte in its sentence, in small letters.
fn after(line: &Line<'_>, at: usize) -> String {
    let text = &line.reading.text;
    let end = line.ranges.last().map_or(at, |range| range.end);
    let end = text.floor_char_boundary(end.min(at + BESIDE_MAX));
    text.get(at..end).unwrap_or_default().to_lowercase()
}

/// What stands before a time; "24.12. 18:00" is taken for two sentences.
fn before_day(line: &Line<'_>, at: usize) -> String {
    let before = before(line, at);
    if !before.trim().is_empty() {
        return before;
    }
    let text = line.reading.text.get(..at).unwrap_or_default().trim_end_matches(' ');
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    if is_day_and_month(word.trim_end_matches('.')) { word.to_owned() } else { before }
}

/// "Friday week", "a week on Wednesday", "the Wednesday after next".
fn weeks(line: &Line<'_>, slots: &Slots, before: &str, pieces: &[Range<usize>]) -> Option<String> {
    if ends_with_word(before, "week") {
        return Some("week".to_owned());
    }
    let is_apart = slots.clock.is_none() || pieces.len() > 1;
    let behind_day = after(line, span(line, pieces.first()?).end);
    let word = ["week", "after next"].iter().find_map(|word| word_at_start(&behind_day, word));
    word.filter(|_| is_apart)
}

/// 差五分
fn less(before: &str) -> Option<String> {
    let (at, _) = before.char_indices().rev().take(LESS_CHARS_MAX).find(|(_, c)| *c == '差')?;
    before.get(at..).filter(|word| word.ends_with('分')).map(str::to_owned)
}

/// Words that make another hour of one that is read ("half past 5pm", 三四点), or an hour that is not read:
/// 差五分三点, 零点.
fn half_hour(before: &str, after: &str, has_hour: bool) -> Option<String> {
    let ahead = before.trim_end();
    let words = ["half past", "quarter past", "quarter to", "minutes past", "minutes to"];
    let is_han_digit = |c: char| "一二三四五六七八九".contains(c);
    if has_hour {
        let word = words.iter().find(|word| ends_with_word(ahead, word));
        let digit = before.chars().next_back().filter(|c| is_han_digit(*c));
        return word.map(|word| (*word).to_owned()).or_else(|| digit.map(String::from));
    }
    let is_unread = after.starts_with("零点") || after.starts_with('差') && after.contains('点');
    is_unread.then(|| after.chars().take_while(|c| *c != '点').chain(['点']).collect())
}

/// What looks like an hour and is not read as one: `0900`, `17h30`, "at 1400", `12-1` at an end.
fn hour_at_start(after: &str) -> Option<String> {
    let after = after.trim_start().trim_start_matches(',').trim_start();
    let (is_led, rest) = match HOUR_LEADS.iter().find_map(|lead| after.strip_prefix(lead)) {
        Some(rest) => (true, rest.trim_start()),
        None => (false, after),
    };
    let word = rest.split(char::is_whitespace).next()?;
    let is_last = word.len() == rest.trim_end().len() || word.ends_with(['.', ',', ';', '!', '?']);
    let word = word.trim_end_matches(['.', ',', ';', '!', '?']);
    is_hour(word, is_led, is_last).then(|| word.to_owned())
}

/// The same before a day: "at 1400 tomorrow".
fn hour_at_end(before: &str) -> Option<String> {
    let before = before.trim_end().trim_end_matches(',');
    let (rest, word) = before.rsplit_once(char::is_whitespace)?;
    let is_led = HOUR_LEADS.iter().any(|lead| ends_with_word(rest, lead.trim_end()));
    is_hour(word, is_led, false).then(|| word.to_owned())
}

fn is_hour(word: &str, is_led: bool, is_last: bool) -> bool {
    let number = |text: &str| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| text.parse::<u8>().ok()).flatten()
    };
    let is_pair = |hour: &str, minute: &str| {
        number(hour).is_some_and(|hour| hour < 25) && number(minute).is_some_and(|it| it < 60)
    };
    // Any that there is would be read: `25:00`, `9:75`.
    if let Some((hour, minute)) = word.split_once(':') {
        return number(hour).is_some() && number(minute).is_some();
    }
    if let Some((hour, minute)) = word.split_once('h') {
        return number(hour).is_some_and(|hour| hour < 25)
            && (minute.is_empty() || is_pair(hour, minute));
    }
    if let Some((from, to)) = word.split_once(['-', '–']) {
        return (is_led || is_last) && is_pair(from, to) && number(to).is_some_and(|to| to < 25);
    }
    let (bare, is_half) = match word.strip_suffix("am").or_else(|| word.strip_suffix("pm")) {
        Some(bare) => (bare, true),
        None => (word, false),
    };
    if let Some((hour, minute)) = bare.split_once('.') {
        return (is_led || is_half) && minute.len() == 2 && is_pair(hour, minute);
    }
    let is_four = word.len() == 4 && word.is_char_boundary(2);
    let (hour, minute) = word.split_at(if is_four { 2 } else { 0 });
    is_four && is_pair(hour, minute) && (is_led || word.starts_with('0'))
}

fn feast_at_end(before: &str) -> Option<String> {
    FEASTS.iter().find(|feast| ends_with_word(before, feast)).map(|feast| (*feast).to_owned())
}

fn feast_at_start(after: &str) -> Option<String> {
    let found = FEASTS.iter().find(|feast| word_at_start(after, feast).is_some())?;
    Some((*found).to_owned())
}

/// `4/12`, `4/12/2026`, of which nobody knows the month, and what would be a date if there were such a
/// day: `2026-13-01`.
fn is_slashed(word: &str) -> bool {
    let parts: Vec<&str> = word.split(['/', '-', '.']).collect();
    let is_number = |part: &&str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let has_year = || parts.iter().any(|part| part.len() == 4);
    let is_date = match parts.len() {
        2 => word.contains('/'),
        3 => word.contains('/') || has_year(),
        _ => false,
    };
    is_date && parts.iter().all(is_number)
}

fn slashed_at_end(before: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '/' | '-' | '.');
    let trimmed = before.trim_end().trim_end_matches([',', ':']);
    let rest = trimmed.trim_end_matches(is_part);
    let word = trimmed.get(rest.len()..)?;
    // 十二月二十四号 is read as a date, 二十四号 is not.
    if word.is_empty() && trimmed.ends_with(['号', '日']) {
        let day: String = trimmed
            .chars()
            .rev()
            .take_while(|c| "号日一二三四五六七八九十廿".contains(*c))
            .collect();
        let day: String = day.chars().rev().collect();
        return (day.chars().count() > 1).then_some(day);
    }
    let is_tight = before.len() == trimmed.len() && !before.is_empty();
    let is_led = SMALL.iter().any(|small| ends_with_word(rest, small)) || rest.is_empty();
    let is_short = word.ends_with('.') || is_tight || is_led;
    let bare = word.trim_end_matches('.');
    (is_slashed(bare) || is_short && is_day_and_month(bare)).then(|| word.to_owned())
}

/// `24.12`, `12-24`
fn is_day_and_month(word: &str) -> bool {
    let number = |text: &str| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| text.parse::<u8>().ok()).flatten().unwrap_or(0)
    };
    word.split_once(['.', '-']).is_some_and(|(left, right)| {
        let (least, most) = (number(left).min(number(right)), number(left).max(number(right)));
        (1..=12).contains(&least) && (1..=31).contains(&most)
    })
}

fn slashed_at_start(after: &str) -> Option<String> {
    let word = after.split(char::is_whitespace).next()?;
    let bare = word.trim_end_matches(['.', ',', ';']);
    (is_slashed(bare) || is_day_and_month(bare)).then(|| word.to_owned())
}

/// What follows small words, if there are any; Chinese and slashes need none.
fn small(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(cut) = SMALL.iter().find_map(|word| {
        let cut = rest.strip_prefix(word)?;
        (!word.is_ascii() || cut.starts_with(char::is_whitespace)).then(|| cut.trim_start())
    }) {
        rest = cut;
    }
    (rest.len() < text.len()).then_some(rest)
}

/// The word, if the text begins with it.
fn word_at_start(text: &str, word: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix(word)?;
    let is_whole = !word.is_ascii() || !rest.starts_with(char::is_alphanumeric);
    is_whole.then(|| word.to_owned())
}

/// Whether a text ends with a word, and not with a longer one; in Chinese nothing parts words.
fn ends_with_word(text: &str, word: &str) -> bool {
    let rest = text.trim_end().strip_suffix(word);
    rest.is_some_and(|rest| !word.is_ascii() || !rest.ends_with(char::is_alphanumeric))
}
