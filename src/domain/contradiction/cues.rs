//! Words that tell how a statement stands to an earlier one, in English and Chinese.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::text::normalise;

/// How plainly a statement says that it replaces another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cue {
    /// Nothing says so.
    None,
    /// "now", "actually", 现在: it may.
    Weak,
    /// "no longer", "changed to", 改成: it does.
    Strong,
}

static STRONG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\bno longer\b|\bany ?more\b|\binstead\b|\brather than\b|\bcorrection\b|\breplace[sd]?\b|\brenamed?\b|",
        r"\b(?:chang|switch|mov|updat|increas|decreas|rais|reduc|lower|upgrad|downgrad|migrat|postpon|reschedul|push|delay)(?:e|ed|es|ing)?\b.{0,30}\bto\b|",
        r"\bused to\b|\bi was wrong\b|\bgave up\b|\bas of\b|",
        r"改成|改为|改到|改用|改叫|不再|换成|换到|换为|换了|更正|纠正|搬到|搬去|更新为|更新到|调整为|调整到|推迟到|提前到|升级到|变成|变为|",
        r"已经不|改名|涨到|降到|增加到|减少到|转到|迁移到|而不是|不是.{1,20}而是",
    ))
    .ok()
});
static WEAK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\bnow\b|\bactually\b|\bcurrently\b|\bagain\b|\bfrom now on\b|\bnowadays\b|\bin fact\b|\bupdate:|现在|目前|其实|实际上|如今|又开始|重新|从现在起|(?:^|[,;，；。\s])以后",
    )
    .ok()
});
/// What adds to an earlier statement and leaves it true.
static ADDITIVE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\balso\b|\banother\b|\badditional(?:ly)?\b|\btoo\b|\bas well\b|\bin addition\b|\bsecond\b|\bother\b|\bextra\b|另一|另外|还有|此外|第二|也有|也是|也喜欢|还喜欢|其他",
    )
    .ok()
});
/// What says that a statement is a guess.
static HEDGES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:probably|maybe|perhaps|possibly|likely|might|may be|could be|i think|i guess|guess|suspects?|suspected|hypothesis|assume|assumed|seems?|apparently|almost|nearly|plans? to|planned|wants? to|hopes? to|considers?|considering)\b|可能|也许|大概|估计|猜|怀疑|似乎|好像|应该是|假设|打算|计划|想要|差点|考虑",
    )
    .ok()
});
/// What happened once: a later such statement tells of something else.
static EVENTFUL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\b(?:went|bought|met|ran|visited|paid|saw|ate|drank|got|took|sent|called|spent|drove|walked|flew|finished|",
        r"completed|deployed|released|fixed|found|wrote|read|watched|attended|ordered|received|slept|played|cooked|",
        r"meeting|meetings|appointment|lunch|dinner|breakfast|flight|trip|visit|interview|party|meetup|concert|exam|dentist)\b|",
        // Who asks to be reminded twice asks for two times.
        r"\bremind (?:me|us)\b|\blet me forget\b|提醒|",
        r"[去买见吃喝花跑看写做收订睡玩][了过]|参加了|完成了|发布了|会议|开会|约会|航班|聚餐|面试|聚会|考试|旅行|出差|看牙|看病",
    ))
    .ok()
});
/// People somebody has: a statement about one of them is none about oneself or another.
const ROLES: &[&str] = &[
    "wife",
    "husband",
    "partner",
    "brother",
    "sister",
    "mother",
    "father",
    "mom",
    "mum",
    "dad",
    "son",
    "daughter",
    "friend",
    "colleague",
    "boss",
    "manager",
    "neighbour",
    "neighbor",
    "uncle",
    "aunt",
    "cousin",
    "roommate",
    "cat",
    "dog",
    "妻子",
    "老婆",
    "丈夫",
    "老公",
    "哥哥",
    "弟弟",
    "姐姐",
    "妹妹",
    "妈妈",
    "母亲",
    "爸爸",
    "父亲",
    "儿子",
    "女儿",
    "朋友",
    "同事",
    "老板",
    "上司",
    "邻居",
    "室友",
    "叔叔",
    "阿姨",
    "表哥",
];
/// Of these one has one; of the others perhaps several.
const ONLY_ONE: &[&str] = &[
    "wife", "husband", "partner", "mother", "father", "mom", "mum", "dad", "boss", "manager",
    "妻子", "老婆", "丈夫", "老公", "妈妈", "母亲", "爸爸", "父亲", "老板", "上司",
];
/// Pronouns that may stand for a name said before.
const PRONOUNS: &[&str] = &["he", "she", "it", "they", "他", "她", "它"];

/// What replaces a word by its opposite: the pattern, and the base that [`FLIP`] follows.
const OPPOSITES: &[(&str, &str)] = &[
    (r"(?i)\b(?:hates?|dislikes?|detests?)\b", "like"),
    (r"(?i)\b(?:loves?|enjoys?|is fond of)\b", "+like"),
    (r"(?i)\b(?:vegetarian|vegan)s?\b", "eat meat"),
    (r"(?i)\b(?:disabled|deactivated)\b", "enabled"),
    (r"(?i)\bdisables?\b", "enable"),
    (r"(?i)\bclosed\b", "open"),
    (r"(?i)\b(?:forbidden|prohibited|banned)\b", "allowed"),
    (r"(?i)\boffline\b", "online"),
    (r"(?i)\b(?:unmarried|divorced)\b", "married"),
    (r"(?i)\bincorrect\b|\bwrong\b|\bfalse\b", "correct"),
    (r"(?i)\btrue\b|\bright\b", "+correct"),
    (r"(?i)\bunavailable\b", "available"),
    ("素食主义者|素食者|吃素|素食", "吃肉"),
    ("讨厌|厌恶", "喜欢"),
    ("热爱", "+喜欢"),
    ("禁用|停用|关闭", "启用"),
    ("开启|打开", "+启用"),
    ("戒烟|戒了烟", "抽烟"),
    ("吸烟", "+抽烟"),
    ("单身|离婚", "结婚"),
    ("已婚", "+结婚"),
    ("禁止", "允许"),
];
/// Follows what was put for its opposite.
pub(super) const FLIP: char = '∅';

static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    OPPOSITES
        .iter()
        .filter_map(|(pattern, base)| Some((Regex::new(pattern).ok()?, *base)))
        .collect()
});

/// A text in which words with an opposite are put as the one of the pair, marked where it was the other.
pub(super) fn with_bases(text: &str) -> String {
    COMPILED.iter().fold(text.to_owned(), |text, (regex, base)| {
        let put = match base.strip_prefix('+') {
            Some(same) => same.to_owned(),
            None => format!("{base}{FLIP}"),
        };
        regex.replace_all(&text, put.as_str()).into_owned()
    })
}

/// How plainly a text says that it replaces an earlier one.
pub(super) fn cue(text: &str) -> Cue {
    if has(&STRONG, text) {
        Cue::Strong
    } else if has(&WEAK, text) {
        Cue::Weak
    } else {
        Cue::None
    }
}

/// A text without its cues and hedges: what it is about.
pub(super) fn without_cues(text: &str) -> String {
    // The words of change go, what stands between them stays.
    const CHANGE: &str = r"(?i)\b(?:chang|switch|mov|updat|increas|decreas|rais|reduc|lower|upgrad|downgrad|migrat|postpon|reschedul|push|delay)(?:e|ed|es|ing)?\b|\b(?:no longer|any ?more|instead|correction|now|actually|currently|again|used to|from now on|nowadays|in fact|update|still|already|really|very|new|user|users|called|address|ip|number|value|time|date|set|remind(?:ing)? (?:me|us))\b|提醒我们?|改成|改为|改到|改用|改叫|不再|换成|换到|换为|更正|纠正|更新为|更新到|调整为|调整到|推迟到|提前到|升级到|变成|变为|已经|已|现在|目前|其实|实际上|如今|又开始|开始|重新|从现在起|以后|用户|真的|非常|很|地址|而不是|而是|改|到|为|又|又";
    static CHANGES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(CHANGE).ok());
    let strip = |text: &str, regex: &LazyLock<Option<Regex>>| {
        regex
            .as_ref()
            .map_or_else(|| text.to_owned(), |regex| regex.replace_all(text, " ").into_owned())
    };
    let text = strip(text, &CHANGES);
    HEDGES.as_ref().map_or_else(|| text.clone(), |regex| regex.replace_all(&text, " ").into_owned())
}

pub(super) fn is_additive(text: &str) -> bool {
    has(&ADDITIVE, text)
}

pub(super) fn is_hedged(text: &str) -> bool {
    has(&HEDGES, text)
}

pub(super) fn is_eventful(text: &str) -> bool {
    has(&EVENTFUL, text)
}

/// Whether a text sets what is so against what is not.
pub(super) fn contrasts(text: &str) -> bool {
    let normal = normalise(text);
    [", not ", " not by ", " but ", "rather than", "instead of", "而不是", "而是", "不是"]
        .iter()
        .any(|mark| normal.contains(mark))
}

/// The people other than the speaker that a text speaks of by what they are.
pub(super) fn roles(text: &str) -> Vec<&'static str> {
    let normal = normalise(text);
    ROLES.iter().copied().filter(|role| holds(&normal, role)).collect()
}

/// Whether somebody may have several people of a role.
pub(super) fn has_several(role: &str) -> bool {
    !ONLY_ONE.contains(&role)
}

pub(super) fn has_pronoun(text: &str) -> bool {
    let normal = normalise(text);
    PRONOUNS.iter().any(|pronoun| holds(&normal, pronoun))
}

/// Whether a normalised text holds a word: between borders if it is ASCII.
fn holds(normal: &str, word: &str) -> bool {
    if word.is_ascii() {
        normal.split(|c: char| !c.is_alphanumeric()).any(|piece| piece == word)
    } else {
        normal.contains(word)
    }
}

fn has(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(&normalise(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for regex in [&STRONG, &WEAK, &ADDITIVE, &HEDGES, &EVENTFUL] {
            assert!(regex.is_some());
        }
        assert_eq!(COMPILED.len(), OPPOSITES.len());
        assert_eq!(without_cues("I now like tea"), "I   like tea");
    }

    #[test]
    fn cues_are_told_by_their_strength() {
        for (text, expected) in [
            ("We use Postgres", Cue::None),
            ("We now use Postgres", Cue::Weak),
            ("We changed the database to Postgres", Cue::Strong),
            ("I no longer smoke", Cue::Strong),
            ("会议改到周五", Cue::Strong),
            ("现在用的是 Postgres", Cue::Weak),
            ("I know it", Cue::None),
        ] {
            assert_eq!(cue(text), expected, "{text}");
        }
    }
}
