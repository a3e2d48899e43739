//! What a language model is asked to write from memories, and what it hands in.
//!
//! Texts go to it under labels that mean nothing outside the call, and what it hands in is a draft:
//! nothing of it is believed before [`super::grounding`] has proven it.

use std::ops::RangeInclusive;

use jiff::civil::Date;

use super::scoring::{Role, Scores};
use super::text::is_unspaced;

use super::memory::Kind;

/// A text that a model may draw from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// How the model cites it; of this call alone.
    pub label: String,
    /// What it says.
    pub text: String,
    /// The day on which that happened, in the zone of its user.
    pub event_date: Option<Date>,
}

/// What is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// What the memories say together.
    Summary,
    /// Who the user is: preferences, constraints, ways of doing things.
    Profile,
}

/// A request for a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRequest {
    /// What is to be written.
    pub aim: Aim,
    /// What from, in the order of time.
    pub passages: Vec<Passage>,
    /// How long, characters.
    pub chars: RangeInclusive<usize>,
    /// What was wrong with an earlier draft, if there was one.
    pub repair: Option<Repair>,
}

/// A summary that a model hands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The text.
    pub text: String,
    /// The labels that it cites.
    pub citations: Vec<String>,
}

/// Why a draft was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// It; `None` if the answer held none.
    pub draft: Option<Draft>,
    /// What is wrong, a sentence each.
    pub faults: Vec<String>,
}

/// A turn of a conversation, to be scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoredTurn {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub passage: Passage,
}

/// A statement that a model holds to be worth remembering.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredFact {
    /// The statement, one fact.
    pub text: String,
    /// The label of the turn that it is taken from: one of those given.
    pub label: String,
    /// What sort it is.
    pub kind: Kind,
    /// What it is worth.
    pub scores: Scores,
    /// The day on which it happened or is due, if the model names one.
    pub event_date: Option<Date>,
}

/// What makes an answer of a model useless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unusable {
    /// There is no JSON object in it.
    NotJson,
    /// There is nothing in it.
    Empty,
    /// It ends before it is complete.
    Cut,
    /// The object is not of the form asked for.
    Form,
    /// The model will not.
    Declined,
    /// The endpoint does not take the request.
    Refused,
    /// The endpoint read only a part of what it was sent.
    PromptCut,
    /// The texts do not fit into the window of the model.
    TooLong,
}

impl Unusable {
    /// The name under which it is counted.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::Empty => "empty",
            Self::Cut => "cut",
            Self::Form => "form",
            Self::Declined => "declined",
            Self::Refused => "refused",
            Self::PromptCut => "prompt_cut",
            Self::TooLong => "too_long_to_read",
        }
    }

    /// What to tell the model, if telling can help.
    pub const fn advice(self) -> Option<&'static str> {
        match self {
            Self::NotJson | Self::Form => {
                Some("the answer was no JSON object of the form asked for; answer with it alone")
            }
            Self::Empty => Some("the answer was empty; answer with the JSON object"),
            Self::Cut => Some("the answer was cut off because it was too long; be shorter"),
            Self::Declined | Self::Refused | Self::PromptCut | Self::TooLong => None,
        }
    }
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotJson => "its answer holds no JSON object",
            Self::Empty => "its answer is empty",
            Self::Cut => "its answer is cut off",
            Self::Form => "its answer is not of the form asked for",
            Self::Declined => "it declines to answer",
            Self::Refused => "the endpoint refuses every form of the request",
            Self::PromptCut => "the endpoint reads only a part of what it is sent",
            Self::TooLong => "the texts do not fit into its window",
        })
    }
}

/// The language that most of the letters of some texts belong to, as a model is told it: by the
/// script, so Latin and Cyrillic texts are only told apart from the others.
pub fn language<'a>(texts: impl IntoIterator<Item = &'a str>) -> &'static str {
    let (mut n_han, mut n_kana, mut n_hangul, mut n_other) = (0_usize, 0_usize, 0_usize, 0_usize);
    for c in texts.into_iter().flat_map(str::chars).filter(|c| c.is_alphabetic()) {
        match u32::from(c) {
            0x3040..=0x30ff | 0x31f0..=0x31ff => n_kana += 1,
            0x1100..=0x11ff | 0xac00..=0xd7af => n_hangul += 1,
            0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff => n_han += 1,
            _ => n_other += 1,
        }
    }
    // A character of Han says about as much as three letters.
    let n_unspaced = 3 * (n_han + n_kana + n_hangul);
    if n_unspaced <= n_other {
        "the language of the sources"
    } else if n_hangul > n_han + n_kana {
        "Korean"
    } else if 10 * n_kana > n_han {
        "Japanese"
    } else {
        "Chinese"
    }
}

/// The text as a model or a reader may see it: without control characters and without those that
/// are invisible or turn the direction of writing, in which instructions are hidden.
pub fn visible(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' => Some(c),
            _ if c.is_control() => Some(' '),
            _ if is_hidden(c) => None,
            _ => Some(c),
        })
        .collect()
}

/// Marks of direction, zero-width characters (but the joiners that scripts and emoji need), tags.
const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Most tokens that a text may cost with any common model: bytes / 3, and 1.5 a character of the
/// unspaced scripts. Chosen on the safe side of [`super::budget::tokens_estimate`]: what fits by this fits.
pub fn tokens_most(text: &str) -> usize {
    let (mut n_thirds, mut n_halves) = (0_usize, 0_usize);
    for c in text.chars() {
        if is_unspaced(c) {
            n_halves += 3;
        } else {
            n_thirds += c.len_utf8();
        }
    }
    n_thirds.div_ceil(3) + n_halves.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_most_letters() {
        for (texts, expected) in [
            (vec!["The backup ran.", "It failed twice."], "the language of the sources"),
            (vec!["备份在凌晨三点运行", "The disk was full."], "Chinese"),
            (vec!["db-prod-2 的备份失败了两次"], "Chinese"),
            (vec!["バックアップは午前三時に失敗した"], "Japanese"),
            (vec!["백업이 새벽 세 시에 실패했다"], "Korean"),
            (vec!["Резервная копия не удалась"], "the language of the sources"),
            (vec!["12345"], "the language of the sources"),
            (vec![], "the language of the sources"),
        ] {
            assert_eq!(language(texts.iter().copied()), expected, "{texts:?}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_taken_out() {
        let hidden: String =
            "obey".chars().map(|c| char::from_u32(0xe0000 + u32::from(c)).unwrap()).collect();
        let text =
            format!("a\u{202e}b\u{200b}c{hidden}\u{1b}[31m\nd\te \u{1f468}\u{200d}\u{1f469}");
        assert_eq!(visible(&text), "abc [31m\nd\te \u{1f468}\u{200d}\u{1f469}");
    }

    #[test]
    fn no_estimate_of_the_most_is_below_the_usual_one() {
        for text in ["", "a", "The backup ran for 45 minutes.", "备份运行了45分钟", "чай и кофе"]
        {
            assert!(tokens_most(text) >= super::super::budget::tokens_estimate(text), "{text}");
        }
        assert_eq!(tokens_most("备份失败"), 6);
        assert_eq!(tokens_most("twelve bytes"), 4);
    }
}
