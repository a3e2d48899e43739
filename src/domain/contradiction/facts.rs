//! What is compared of a statement.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Statement;
use super::cues::{self, Cue, FLIP};
use crate::domain::grounding::clauses::{self, Clause};
use crate::domain::grounding::values::{Found, Reading, Support, Value, read, resolve};

/// Values that stand for each other: a weekday for a date, a date for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    When,
    Amount,
    Mark,
    Identifier,
    Name,
}

impl Group {
    const fn of(value: &Value) -> Self {
        match value {
            Value::Date(_) | Value::Weekday { .. } | Value::Relative { .. } | Value::Time(_) => {
                Self::When
            }
            Value::Quantity { .. } | Value::Number { .. } | Value::Ordinal(_) => Self::Amount,
            Value::Version(_)
            | Value::Url(_)
            | Value::Email(_)
            | Value::Path(_)
            | Value::Address(_) => Self::Mark,
            Value::Identifier(_) => Self::Identifier,
            Value::Name(_) => Self::Name,
        }
    }
}

/// What has one value at a time, like where somebody lives.
pub(super) struct Single {
    /// Words and values up to it, itself included.
    pub(super) subject: BTreeSet<String>,
    /// Words and values of what is said.
    pub(super) complement: BTreeSet<String>,
    /// Whether it is what something is called.
    pub(super) is_name: bool,
}

/// Predicates that have one complement at a time.
static SINGLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\b(?:lives? (?:in|at)|living in|based in|resides? in|works? (?:at|for|as)|working (?:at|for)|(?:is|am) called|",
        r"(?:name|birthday|e-?mail|phone|phone number|address|password|time ?zone|budget|deadline|",
        r"employer|capital|title|job|hometown|wifi|default(?: \w+)?|favou?rite(?: \w+){1,2}|preferred \w+|main \w+|primary \w+|current \w+)",
        r"(?: address| now)? (?:is|are))\b|",
        r"住在|名字是|名字叫|叫|生日是|电话是|邮箱是|密码是|(?:最喜欢|最爱|默认|首选|常用)[^，。,是]{0,8}是|",
        r"(?:职位|职业|地址|时区|预算|截止日期|截止日|家乡|语言|数据库|编辑器)是|[最]爱(?:吃|喝|用)|任职于|就职于",
    ))
    .ok()
});

/// Those that say what something is called.
static CALLED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:(?:is|am) called|name (?:is|are))$|名字是$|叫$").ok());

/// Who works where.
static WORKPLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^([^，。,]{1,8})(?:现在|目前)?在([^，。,]{2,12})(?:工作|上班|任职)").ok()
});

/// Predicates that have one complement at a time if it is a name ("my manager is tall" says another thing).
static SINGLE_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:manager|boss|wife|husband|employer|supervisor|team lead) is\b|(?:上司|老板|经理|妻子|老婆|丈夫|老公|雇主|导师)(?:是|叫)").ok()
});

/// A statement, read.
#[expect(clippy::struct_excessive_bools, reason = "each is one independent finding")]
pub(super) struct Facts {
    /// Content words without cues, hedges and values.
    pub(super) words: BTreeSet<String>,
    /// Names and identifiers.
    pub(super) anchors: BTreeSet<String>,
    pub(super) roles: Vec<&'static str>,
    pub(super) cue: Cue,
    pub(super) is_additive: bool,
    pub(super) is_hedged: bool,
    pub(super) is_eventful: bool,
    pub(super) is_question: bool,
    pub(super) is_negative: bool,
    /// Words and characters of negation, whatever they do.
    pub(super) n_negations: usize,
    pub(super) has_pronoun: bool,
    pub(super) contrasts: bool,
    pub(super) single: Option<Single>,
    /// Words with an opposite put as the one of the pair.
    support: Support,
    clauses: Vec<Vec<Clause>>,
}

impl Facts {
    pub(super) fn of(statement: &Statement<'_>) -> Self {
        let text = cues::with_bases(statement.text);
        let support = Support::of(&text, Some(statement.event_time.date()));
        let stripped = read(&cues::without_cues(&text));
        let whole = 0..stripped.text.len();
        let clauses: Vec<Vec<Clause>> = clauses::clauses(&support.reading)
            .into_iter()
            .map(|sentence| {
                sentence
                    .into_iter()
                    .map(|clause| stripped_clause(clause, &support.reading))
                    .collect()
            })
            .collect();
        let is_negative = clauses.iter().flatten().any(Clause::is_negative);
        Self {
            words: clauses::content_words(&stripped, &whole).into_iter().collect(),
            anchors: anchors(&support.reading),
            roles: cues::roles(statement.text),
            cue: cues::cue(statement.text),
            is_additive: cues::is_additive(statement.text),
            is_hedged: cues::is_hedged(statement.text),
            is_eventful: cues::is_eventful(statement.text),
            is_question: statement.text.trim_end().ends_with(['?', '？', '吗']),
            is_negative,
            n_negations: clauses::n_negations(statement.text),
            has_pronoun: cues::has_pronoun(statement.text),
            contrasts: cues::contrasts(statement.text),
            single: single(&support.reading),
            support,
            clauses,
        }
    }

    /// Whether there is anything to compare.
    pub(super) fn says_something(&self) -> bool {
        !self.words.is_empty() || !self.support.reading.values.is_empty()
    }

    /// Whether each states every value of the other.
    pub(super) fn values_agree(&self, other: &Self) -> bool {
        let all = |left: &Self, right: &Self| {
            left.support.reading.values.iter().all(|found| right.states(found, left))
        };
        all(self, other) && all(other, self)
    }

    /// The groups in which each states a value that the other does not.
    pub(super) fn differing(&self, other: &Self) -> Vec<Group> {
        let missing = |left: &Self, right: &Self| -> BTreeSet<Group> {
            left.support
                .reading
                .values
                .iter()
                .filter(|found| !right.states(found, left))
                .map(|found| Group::of(&found.value))
                .collect()
        };
        missing(self, other).intersection(&missing(other, self)).copied().collect()
    }

    /// Whether a value of another statement stands here; its relative dates are those of its own day.
    fn states(&self, found: &Found, owner: &Self) -> bool {
        self.support.states(&found.value)
            || resolve(&found.value, owner.support.event_date)
                .into_iter()
                .any(|date| self.support.states(&Value::Date(date)))
    }

    pub(super) fn names_a_day(&self) -> bool {
        self.support
            .reading
            .values
            .iter()
            .any(|found| matches!(&found.value, Value::Date(date) if date.day.is_some()))
    }

    /// Whether a value of a group is what the statement speaks about, rather than what it says.
    pub(super) fn has_subject(&self, group: Group) -> bool {
        let reading = &self.support.reading;
        reading.values.iter().filter(|found| Group::of(&found.value) == group).any(|found| {
            let after = reading.slice(&(found.range.end..reading.text.len()));
            let before = reading.slice(&(0..found.range.start));
            let is_first = !before.chars().any(char::is_alphanumeric);
            let next = after.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
            let is_told_of = matches!(
                next.to_lowercase().as_str(),
                "is" | "are"
                    | "was"
                    | "were"
                    | "has"
                    | "have"
                    | "had"
                    | "will"
                    | "can"
                    | "does"
                    | "likes"
                    | "runs"
                    | "uses"
                    | "lives"
                    | "works"
                    | "wants"
                    | "needs"
            ) || after
                .starts_with(['是', '有', '在', '已', '被', '会', '喜', '用', '负', '住', '跑']);
            is_told_of && group != Group::When
                || is_first && !after.trim().is_empty()
                || is_label(&found.value, before)
        })
    }

    /// Whether it has several clauses, of one of which another says less than half.
    pub(super) fn has_clause_beside(&self, other: &Self) -> bool {
        let clauses: Vec<&Clause> =
            self.clauses.iter().flatten().filter(|clause| !clause.words.is_empty()).collect();
        clauses.len() > 1
            && clauses.iter().any(|clause| {
                let n_shared = clause.words.intersection(&other.words).count();
                2 * n_shared < clause.words.len()
            })
    }

    /// Whether a clause of this statement is said with the opposite sign in another.
    pub(super) fn is_reversed_by(&self, other: &Self) -> bool {
        let candidates = clauses::candidates(&other.clauses);
        self.clauses.iter().flatten().any(|clause| {
            // A single word is compared with the same word alone.
            if clause.words.len() == 1 && clause.words == other.words {
                let mut equals =
                    other.clauses.iter().flatten().filter(|own| own.words == clause.words);
                return !equals.any(|own| own.is_negative() == clause.is_negative());
            }
            clauses::is_reversed(clause, &candidates) == Some(true)
                && candidates.iter().any(|candidate| clause.covered_by(candidate) >= 0.6)
        })
    }
}

/// Words after which a number says how many or which, instead of being part of a name ("round 3").
const BEFORE_NUMBERS: &str = "is are was were be been has have had to at by for from over under above \
    below about around than only exactly port costs cost takes take needs need holds hold uses use \
    allows contains counts equals lasts and or";

/// Whether a number tells one thing from others like it: the third draft, round 3, 第3号.
fn is_label(value: &Value, before: &str) -> bool {
    if before.ends_with('第') || matches!(value, Value::Ordinal(_)) {
        return true;
    }
    let word = before.trim_end().rsplit(|c: char| !c.is_alphanumeric()).next();
    let word = word.unwrap_or_default().to_lowercase();
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_name = is_word && !BEFORE_NUMBERS.split_ascii_whitespace().any(|known| known == word);
    is_name && matches!(value, Value::Number { .. })
}

/// A clause with the words of its statement that count, its sign turned by every opposite in it.
fn stripped_clause(clause: Clause, reading: &Reading) -> Clause {
    let text = reading.slice(&clause.range);
    let n_flips = text.matches(FLIP).count();
    let stripped = read(&cues::without_cues(text));
    let words = clauses::content_words(&stripped, &(0..stripped.text.len()));
    clause.turned(n_flips % 2 == 1).with_words(words.into_iter().collect())
}

fn anchors(reading: &Reading) -> BTreeSet<String> {
    reading.values.iter().filter_map(|found| found.value.anchor()).map(str::to_owned).collect()
}

fn single(reading: &Reading) -> Option<Single> {
    if let Some(found) = WORKPLACE.as_ref().and_then(|regex| regex.captures(&reading.text)) {
        let group = |at: usize| found.get(at).map_or("", |group| group.as_str());
        let words = |text: &str| -> BTreeSet<String> {
            let text = read(&cues::without_cues(text));
            clauses::content_words(&text, &(0..text.text.len())).into_iter().collect()
        };
        let (subject, complement) = (words(group(1)), words(group(2)));
        return Some(Single { subject, complement, is_name: false });
    }
    let find = |regex: &LazyLock<Option<Regex>>| regex.as_ref()?.find(&reading.text);
    let (found, asks_for_name) = match find(&SINGLE_NAME) {
        Some(found) => (found, true),
        None => (find(&SINGLE)?, false),
    };
    let clause_end = reading
        .slice(&(found.end()..reading.text.len()))
        .find(['.', ',', ';', '。', '\n'])
        .map_or(reading.text.len(), |at| found.end() + at);
    let all = |range: std::ops::Range<usize>| -> BTreeSet<String> {
        let values =
            reading.values_in(&range).map(|found| reading.slice(&found.range).to_lowercase());
        let text = read(&cues::without_cues(reading.slice(&range)));
        let words = clauses::content_words(&text, &(0..text.text.len()));
        values.chain(words).collect()
    };
    let is_named = reading
        .values_in(&(found.end()..clause_end))
        .any(|found| matches!(found.value, Value::Name(_)));
    let is_name = CALLED.as_ref().is_some_and(|regex| regex.is_match(found.as_str()));
    (is_named || !asks_for_name).then(|| Single {
        subject: all(0..found.end()),
        complement: all(found.end()..clause_end),
        is_name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_predicates_of_one_complement_compile() {
        assert!(
            SINGLE.is_some() && SINGLE_NAME.is_some() && WORKPLACE.is_some() && CALLED.is_some()
        );
    }
}
