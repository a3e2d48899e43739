//! Whose asking it is: the speaker's own, somebody else's that is told or quoted, or one that is denied.

use std::ops::Range;

/// How words that ask to be reminded are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// The speaker asks.
    Meant,
    /// The speaker asks not to be reminded.
    Denied,
    /// Somebody else's asking is told.
    Told,
    /// It is no asking: "that will remind me".
    Other,
}

/// Words that say no.
const NOT: &str = "don't dont not never without stop needn't shouldn't mustn't";
/// Words between one of them and what it denies, however many they are.
const BETWEEN: &str =
    "please want need have you to ever bother like expect wish us even just any again";
/// Words where what is denied begins anew.
const CLAUSE: &str = ", ; : . ! ? - – — ( ) but and so then or because";
/// Words before an asking that make it something else.
const OTHER: &str =
    "didn't did why always that which who it this they photos these those doesn't used";
/// Verbs that tell what somebody says.
const REPORTS: &str = "said says saying told tells asked asks wrote writes texted texts replied replies \
    answered shouted shouts whispered whispers requested requests";
/// Those who speak for themselves; an agent's memory tells of its user.
const OWN: &str = "i we i've i'd i'm user";
/// What is made up, behind "in the".
const TALES: &str = "novel story movie film song poem dream lyrics scene";
/// Most words between one who speaks, the verb, and what is said.
const REPORT_WORDS_MAX: usize = 5;
/// Words before an asking that are looked at; chosen.
const WORDS_MAX: usize = 40;
/// Bytes before a quotation that are looked at, and longest quotation, bytes; chosen.
const QUOTED_BYTES_MAX: usize = 2_000;
/// Words that say no and are near: most words between them and the asking.
const NEAR_WORDS: usize = 3;

/// Words of Han that say no.
const HAN_NOT: [&str; 14] = [
    "不需要",
    "不要",
    "不用",
    "不必",
    "不需",
    "无需",
    "无须",
    "不许",
    "不准",
    "没必要",
    "停止",
    "取消",
    "勿",
    "甭",
];
/// Characters that 别 makes a word with, before and behind it: 特别, 别人.
const HAN_OTHER_NOT: (&str, &str) = ("特级分区性个告离类判鉴差识", "人的处墅");
/// Questions that hold one of them: 要不要提醒我.
const HAN_QUESTIONS: [&str; 4] = ["要不要", "需不需要", "用不用", "能不能"];
/// Verbs of Han that tell what somebody says.
const HAN_REPORTS: [&str; 13] = [
    "说",
    "说道",
    "讲",
    "问",
    "喊",
    "写道",
    "写着",
    "写",
    "回复",
    "表示",
    "要求",
    "留言",
    "告诉我",
];
/// Those who speak for themselves.
const HAN_OWN: [&str; 4] = ["我", "我们", "用户", "主人"];
/// Where what is said is made up.
const HAN_TALES: [&str; 6] = ["小说", "电影里", "歌词", "台词", "梦里", "故事里"];

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// How the asking is meant that begins at a word; words in lower case, marks being words.
pub(super) fn english(words: &[String], at: usize) -> Manner {
    let before = words.get(at.saturating_sub(WORDS_MAX)..at).unwrap_or(&[]);
    let start = before.iter().rposition(|word| is_in(CLAUSE, word)).map_or(0, |at| at + 1);
    if is_denied(before.get(start..).unwrap_or(&[])) {
        return Manner::Denied;
    }
    let near = before.get(before.len().saturating_sub(NEAR_WORDS)..).unwrap_or(&[]);
    if is_told(before) {
        Manner::Told
    } else if near.iter().any(|word| is_in(OTHER, word)) {
        Manner::Other
    } else {
        Manner::Meant
    }
}

/// Whether a clause says no to what comes behind it.
fn is_denied(clause: &[String]) -> bool {
    let is_no = |at: usize| {
        let word = clause.get(at).map_or("", String::as_str);
        let next = clause.get(at + 1).map_or("", String::as_str);
        is_in(NOT, word) || word == "no" && matches!(next, "need" | "reason" | "longer")
    };
    let Some(no) = (0..clause.len()).rev().find(|at| is_no(*at)) else { return false };
    let (before, behind) = (clause.get(..no).unwrap_or(&[]), clause.get(no + 1..).unwrap_or(&[]));
    // "Don't forget to remind me", "why don't you remind me".
    let is_asked = behind.iter().any(|word| word == "forget")
        || before.last().is_some_and(|word| word == "why");
    let is_near = behind.len() < NEAR_WORDS || behind.iter().all(|word| is_in(BETWEEN, word));
    // "I don't have time" is about something else, "Do not under any circumstances" is not.
    let is_own = before.iter().any(|word| is_in(OWN, word));
    !is_asked && (is_near || !is_own)
}

/// Whether the words before an asking, or before the quotation that it stands in, tell what somebody
/// else says.
fn is_told(before: &[String]) -> bool {
    let tale = before
        .windows(3)
        .any(|words| matches!(words, [first, _, tale] if first == "in" && is_in(TALES, tale)));
    let from = before.len().saturating_sub(REPORT_WORDS_MAX);
    let verb = (from..before.len()).rev().find(|at| {
        let word = before.get(*at).map_or("", String::as_str);
        is_in(REPORTS, word) || *at == 0 && word == "say"
    });
    tale || verb.is_some_and(|verb| !is_own(before.get(..verb).unwrap_or(&[])))
}

/// Whether the last of some words name the speaker, or the user.
fn is_own(words: &[String]) -> bool {
    let from = words.len().saturating_sub(NEAR_WORDS);
    words.get(from..).unwrap_or(&[]).iter().any(|word| is_in(OWN, word))
}

/// How the asking in Han is meant that stands behind `before` in its sentence; `None`: nothing in it
/// tells.
pub(super) fn han(before: &str) -> Option<Manner> {
    let is_mark = |c: char| matches!(c, ',' | '，' | ';' | '；' | ':' | '：' | '。' | '!' | '?');
    let clause = before.rsplit(is_mark).next().unwrap_or("");
    if HAN_QUESTIONS.iter().any(|question| clause.contains(question)) {
        return Some(Manner::Other);
    }
    let word = HAN_NOT.iter().filter_map(|no| clause.rfind(no).map(|at| at + no.len())).max();
    if let Some(end) = word.max(bie(clause)) {
        let is_asked = clause.get(end..).is_some_and(|behind| behind.contains('忘'));
        return Some(if is_asked { Manner::Meant } else { Manner::Denied });
    }
    is_told_han(before).then_some(Manner::Told)
}

/// Where 别 ends that is a word of its own.
fn bie(clause: &str) -> Option<usize> {
    let (before, behind) = HAN_OTHER_NOT;
    clause.rmatch_indices('别').find_map(|(at, word)| {
        let end = at + word.len();
        let last = clause.get(..at)?.chars().next_back();
        let next = clause.get(end..)?.chars().next();
        let is_other =
            last.is_some_and(|c| before.contains(c)) || next.is_some_and(|c| behind.contains(c));
        (!is_other).then_some(end)
    })
}

fn is_told_han(before: &str) -> bool {
    if HAN_TALES.iter().any(|tale| before.contains(tale)) {
        return true;
    }
    let said = before.trim_end_matches(|c: char| {
        c.is_whitespace() || matches!(c, ':' | ',' | '"' | '\'' | '“' | '‘' | '「' | '『')
    });
    let verb =
        HAN_REPORTS.iter().filter_map(|verb| said.strip_suffix(verb)).min_by_key(|rest| rest.len());
    verb.is_some_and(|speaker| !HAN_OWN.iter().any(|own| speaker.trim_end().ends_with(own)))
}

/// Whether the words before a quotation say that the speaker, or the user, says it.
pub(super) fn is_own_quotation(before: &str) -> bool {
    let near = before.floor_char_boundary(before.len().saturating_sub(QUOTED_BYTES_MAX));
    let before = before.get(near..).unwrap_or("");
    let line = before.rsplit(['\n', '。']).next().unwrap_or("");
    let lower = line.to_lowercase();
    let words: Vec<String> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let last = words.last().map_or("", String::as_str);
    let is_verb = is_in(REPORTS, last) && is_own(words.get(..words.len() - 1).unwrap_or(&[]));
    let said = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ':' | ','));
    let is_han = HAN_REPORTS
        .iter()
        .filter_map(|verb| said.strip_suffix(verb))
        .chain([said])
        .any(|speaker| HAN_OWN.iter().any(|own| speaker.ends_with(own)));
    is_verb || last == "user" || is_han
}

/// The bytes of a text that stand in quotation marks.
pub(super) fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (at, c) in text.char_indices() {
        let is_inside = found.last().is_some_and(|range| at < range.end);
        let is_free = last.is_none_or(|c: char| !c.is_alphanumeric());
        let close = match c {
            '“' => Some('”'),
            '‘' => Some('’'),
            '「' => Some('」'),
            '『' => Some('』'),
            '«' => Some('»'),
            '"' | '\'' if is_free => Some(c),
            // 他说"提醒我"
            '"' if last.is_some_and(crate::domain::text::is_unspaced) => Some(c),
            _ => None,
        };
        last = Some(c);
        let Some(close) = close.filter(|_| !is_inside) else { continue };
        let start = at + c.len_utf8();
        let end = closing(text.get(start..).unwrap_or(""), close);
        found.extend(end.map(|n| start..start + n));
    }
    found
}

/// Where a quotation ends: at its mark, which is no apostrophe, before the text goes on after a blank
/// line.
fn closing(text: &str, close: char) -> Option<usize> {
    let near = text.get(..text.floor_char_boundary(QUOTED_BYTES_MAX)).unwrap_or("");
    let body = near.split("\n\n").next().unwrap_or("");
    let is_end = |at: usize| {
        let next = body.get(at + close.len_utf8()..).and_then(|rest| rest.chars().next());
        let is_apostrophe = matches!(close, '\'' | '’');
        !is_apostrophe || next.is_none_or(|c| !c.is_alphanumeric())
    };
    body.match_indices(close).map(|(at, _)| at).find(|at| is_end(*at))
}
