//! Clauses: the words that carry their content, and whether they are negated.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::values::Reading;
use crate::domain::text::sentences::sentences;
use crate::domain::text::tokens::{Token, TokenKind, tokens};
use crate::domain::text::{normalise, query};

/// English words that turn a statement round, without apostrophes.
const NEGATORS: &str = "not no never none nobody nothing neither nor without cannot cant wont dont doesnt didnt isnt \
    arent wasnt werent hasnt havent hadnt wouldnt couldnt shouldnt mustnt neednt aint unable refuse refused refuses \
    declined declines stopped quit lack lacks lacked lacking";
/// English phrases with such a word that turn nothing round.
const NO_NEGATIONS: &[&str] = &[
    "not only",
    "not just",
    "no doubt",
    "no problem",
    "no worries",
    "no matter",
    "why not",
    "no. ",
];
/// The same in Chinese.
const HAN_NEGATORS: &[&str] = &["不", "没", "未", "无", "并非", "别", "勿", "莫", "無"];
/// Chinese words that hold such a character and turn nothing round.
const HAN_NO_NEGATIONS: &[&str] = &[
    "不得不",
    "不能不",
    "不好意思",
    "对不起",
    "差不多",
    "不仅",
    "不但",
    "不只",
    "不光",
    "不同",
    "不错",
    "不少",
    "不久",
    "不断",
    "不止",
    "不管",
    "不论",
    "无论",
    "没关系",
    "没问题",
    "没事",
    "是不是",
    "有没有",
    "能不能",
    "会不会",
    "要不要",
    "好不好",
    "可不可以",
    "要不",
    "无线",
    "无锡",
    "无限",
    "无人机",
    "未来",
    "别人",
    "别的",
    "别墅",
    "特别",
    "分别",
    "级别",
    "区别",
    "性别",
    "个别",
    "告别",
    "鉴别",
    "识别",
    "类别",
    "派别",
    "莫名",
    "不锈钢",
    "不动产",
];
/// Chinese negations that begin like one of those.
const HAN_NEGATIONS: &[&str] = &[
    "不过敏",
    "不过期",
    "不过关",
    "不过夜",
    "不同意",
    "不同步",
    "不错过",
    "不少于",
    "不管用",
    "不断电",
    "不止痛",
    "未来得及",
    "没事先",
    "特别不",
    "没问题目",
];
/// Words for failure: with a negation they say that something worked.
const FAILURES: &str = "fail failed fails failing failure failures unsuccessful unsuccessfully";
const HAN_FAILURES: &[&str] = &["失败", "失敗"];

/// Where a sentence falls apart into clauses.
static BREAKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)[,;:]\s|[,;，；：]|\s[-–—]\s|——|",
        r"\s(?:without|and|but|while|although|though|because|whereas|so|then|which|since|however)\s|",
        r"但是|但|而且|然而|因为|所以|然后|并且|虽然|同时",
    ))
    .ok()
});

/// A clause, or several neighbouring ones taken as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clause {
    /// Bytes of [`Reading::text`].
    pub(crate) range: Range<usize>,
    /// Its text, normalised, without outer marks.
    text: String,
    /// Its content words outside values: stems, and single characters of unspaced scripts.
    pub(crate) words: BTreeSet<String>,
    /// Its names and identifiers.
    pub(crate) anchors: BTreeSet<String>,
    has_negator: bool,
    has_failure: bool,
}

impl Clause {
    /// This clause with other words.
    pub(crate) fn with_words(self, words: BTreeSet<String>) -> Self {
        Self { words, ..self }
    }

    /// This clause, or what says the opposite of it.
    pub(crate) fn turned(self, is_opposite: bool) -> Self {
        Self { has_failure: self.has_failure != is_opposite, ..self }
    }

    /// Whether it says that something is not so, or failed, but not both.
    pub(crate) fn is_negative(&self) -> bool {
        self.has_negator != self.has_failure
    }

    /// Words and anchors.
    fn len(&self) -> usize {
        self.words.len() + self.anchors.len()
    }

    /// Both as one.
    fn with(&self, other: &Self) -> Self {
        Self {
            range: self.range.start..other.range.end,
            text: format!("{} {}", self.text, other.text),
            words: self.words.union(&other.words).cloned().collect(),
            anchors: self.anchors.union(&other.anchors).cloned().collect(),
            has_negator: self.has_negator || other.has_negator,
            has_failure: self.has_failure || other.has_failure,
        }
    }

    /// Share of this clause's words and anchors that stand in another, 0.0..=1.0.
    pub(crate) fn covered_by(&self, other: &Self) -> f64 {
        let n_all = self.len();
        let n_held = self.words.intersection(&other.words).count()
            + self.anchors.intersection(&other.anchors).count();
        if n_all == 0 { 0.0 } else { n_held as f64 / n_all as f64 }
    }
}

/// The clauses of each sentence.
pub(crate) fn clauses(reading: &Reading) -> Vec<Vec<Clause>> {
    sentences(&reading.text)
        .into_iter()
        .map(|sentence| {
            split(reading, &sentence).into_iter().map(|range| read(reading, range)).collect()
        })
        .collect()
}

/// What a clause of another text may be compared with: every clause, every pair of neighbours and every
/// whole sentence.
pub(crate) fn candidates(sentences: &[Vec<Clause>]) -> Vec<Clause> {
    let mut all = Vec::new();
    for sentence in sentences {
        all.extend(sentence.iter().cloned());
        for pair in sentence.windows(2) {
            if let [left, right] = pair {
                all.push(left.with(right));
            }
        }
        if sentence.len() > 2 {
            all.extend(sentence.iter().cloned().reduce(|whole, clause| whole.with(&clause)));
        }
    }
    all
}

/// Whether the candidates that hold most of a clause's words, with the fewest others, all say the opposite
/// of it; `None` if none holds at least half of them or the clause says too little. What one that agrees
/// says word by word is not reversed.
pub(crate) fn is_reversed<C: Borrow<Clause>>(clause: &Clause, candidates: &[C]) -> Option<bool> {
    let candidates = || candidates.iter().map(Borrow::borrow);
    if clause.words.is_empty() || clause.len() < 2 {
        return None;
    }
    let best = candidates().map(|other| clause.covered_by(other)).fold(0.0, f64::max);
    if best < 0.5 {
        return None;
    }
    let nearest: Vec<&Clause> =
        candidates().filter(|other| clause.covered_by(other) > best - 1e-9).collect();
    let least = nearest.iter().map(|other| other.len()).min();
    let agrees = |other: &Clause| other.is_negative() == clause.is_negative();
    let is_quoted = candidates().any(|other| agrees(other) && other.text.contains(&clause.text));
    let is_near = nearest.iter().any(|other| agrees(other) && Some(other.len()) == least);
    Some(!is_quoted && !is_near)
}

/// Whether a piece of a text is negated.
pub(crate) fn is_negative(text: &str) -> bool {
    let (has_negator, has_failure) = marks(text);
    has_negator != has_failure
}

/// How many words and characters of negation a text holds, whatever they are part of.
pub(crate) fn n_negations(text: &str) -> usize {
    tokens(text)
        .iter()
        .filter(|token| match token.kind {
            TokenKind::Word => is_in(NEGATORS, &token.surface),
            TokenKind::Character => HAN_NEGATORS.contains(&token.text.as_str()),
            TokenKind::Pair | TokenKind::Identifier => false,
        })
        .count()
}

/// Whether a token carries content: no stop word, no negation.
pub(crate) fn is_content(token: &Token) -> bool {
    matches!(token.kind, TokenKind::Word | TokenKind::Character)
        && !query::is_stop_word(token)
        && !is_in(NEGATORS, &token.surface)
}

/// The content words of a range, values left out.
pub(crate) fn content_words(reading: &Reading, range: &Range<usize>) -> Vec<String> {
    let mut bare = String::new();
    let mut at = range.start;
    for found in reading.values_in(range) {
        bare.push_str(reading.slice(&(at..found.range.start.max(at))));
        bare.push(' ');
        at = at.max(found.range.end);
    }
    bare.push_str(reading.slice(&(at..range.end.max(at))));
    tokens(&bare).into_iter().filter(is_content).map(|token| token.text).collect()
}

/// The ranges of the clauses of a sentence: cut at its breaks, never inside a value.
fn split(reading: &Reading, sentence: &Range<usize>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = sentence.start;
    let breaks = BREAKS.as_ref().map_or_else(Vec::new, |regex| {
        regex.find_iter(reading.slice(sentence)).map(|found| found.range()).collect()
    });
    for found in breaks {
        let (from, to) = (sentence.start + found.start, sentence.start + found.end);
        let is_inside = reading
            .values_in(sentence)
            .any(|value| value.range.start < to && from < value.range.end);
        if !is_inside && start < from {
            ranges.push(start..from);
            // "without" belongs to what follows: it negates that and nothing before it.
            let is_kept = reading.slice(&(from..to)).trim().eq_ignore_ascii_case("without");
            start = if is_kept { from } else { to };
        }
    }
    ranges.push(start..sentence.end);
    ranges
}

fn read(reading: &Reading, range: Range<usize>) -> Clause {
    let words = content_words(reading, &range).into_iter().collect();
    let anchors = reading
        .values_in(&range)
        .filter_map(|found| found.value.anchor())
        .map(str::to_owned)
        .collect();
    let slice = reading.slice(&range);
    let (has_negator, has_failure) = marks(slice);
    let text = normalise(slice).trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    Clause { range, text, words, anchors, has_negator, has_failure }
}

/// Whether a text holds a negation, and whether a word for failure.
fn marks(text: &str) -> (bool, bool) {
    let mut normal = normalise(text);
    let is_negation = HAN_NEGATIONS.iter().any(|word| normal.contains(word));
    // "However", unless it begins one of those.
    if let Some(rest) = normal.strip_prefix("不过").filter(|_| !is_negation) {
        normal = rest.to_owned();
    }
    for phrase in HAN_NO_NEGATIONS.iter().chain(NO_NEGATIONS) {
        if normal.contains(phrase) {
            normal = normal.replace(phrase, " ");
        }
    }
    let has_han = |list: &[&str]| list.iter().any(|word| normal.contains(word));
    let mut has_negator = is_negation || has_han(HAN_NEGATORS);
    let mut has_failure = has_han(HAN_FAILURES);
    for token in tokens(&normal).iter().filter(|token| token.kind == TokenKind::Word) {
        has_negator |= is_in(NEGATORS, &token.surface);
        has_failure |= is_in(FAILURES, &token.surface);
    }
    (has_negator, has_failure)
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::grounding::values;

    #[test]
    fn negation_is_told_from_what_only_looks_like_it() {
        for (text, expected) in [
            ("The backup ran", false),
            ("The backup did not run", true),
            ("it didn't work", true),
            ("it never worked", true),
            ("it works without a key", true),
            ("The deploy failed", true),
            ("The deploy did not fail", false),
            ("not only tea", false),
            ("no problem at all", false),
            ("I no longer smoke", true),
            ("备份没有完成", true),
            ("还未部署", true),
            ("我不喝咖啡", true),
            ("部署失败了", true),
            ("部署没有失败", false),
            ("他不得不走", false),
            ("特别喜欢，差不多每天", false),
            ("未来的计划", false),
            ("有没有时间", false),
            ("不过今天很好", false),
            ("我对花生不过敏", true),
            ("他不同意这个方案", true),
            ("还未来得及部署", true),
        ] {
            assert_eq!(is_negative(text), expected, "{text}");
        }
    }

    #[test]
    fn clauses_break_at_marks_and_conjunctions_but_not_in_values() {
        let reading = values::read("It cost 1,000 EUR, but Ann paid and left; 他来了，但没说话。");
        let found: Vec<Vec<&str>> = clauses(&reading)
            .iter()
            .map(|sentence| sentence.iter().map(|clause| reading.slice(&clause.range)).collect())
            .collect();
        let expected = ["It cost 1,000 EUR", "but Ann paid", "left", "他来了", "但没说话。"];
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_clause_is_compared_with_the_nearest_one() {
        for (source, stated, expected) in [
            ("The deploy failed on Friday.", "The deploy worked", Some(true)),
            ("The deploy did not fail, it was slow.", "The deploy failed", Some(true)),
            ("Backups work on alpha, but not on beta.", "Backups work on beta", Some(true)),
            ("Backups work on alpha, but not on beta.", "Backups work on alpha", Some(false)),
            ("Alice approved the plan. Bob did not.", "Alice approved the plan", Some(false)),
            ("Alice did not approve the budget.", "Alice approved the budget", Some(true)),
            ("The harbour is closed.", "Nobody likes tea", None),
            ("备份没有完成，磁盘满了。", "备份完成了", Some(true)),
            ("备份没有完成，磁盘满了。", "磁盘满了", Some(false)),
        ] {
            let candidates = candidates(&clauses(&values::read(source)));
            let stated_clauses = clauses(&values::read(stated));
            assert_eq!(is_reversed(&stated_clauses[0][0], &candidates), expected, "{stated}");
        }
    }
}
