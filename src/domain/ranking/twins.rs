//! Near-twins: memories that say the same, of which one is enough in an answer.
//!
//! A high cosine alone proves nothing: "router is 192.168.7.1" and "router is 192.168.9.1" are
//! nearly equal to a model. So names, numbers, identifiers, dates and negations must agree too, and
//! in doubt both are shown.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::rank::{Candidate, Hit, View};
use super::reason::Reason;
use crate::domain::dates::{self, AskedDate};
use crate::domain::embedding::Vector;
use crate::domain::text::{query, tokens};

/// Words that turn a statement round.
const NEGATIONS: &str = "not no never none nobody nothing neither nor without cannot cant wont dont \
    doesnt didnt isnt arent wasnt werent hasnt havent hadnt wouldnt couldnt shouldnt mustnt unlike \
    stopped quit lacks instead";
/// The same in Chinese.
const CHINESE_NEGATIONS: &str = "不没無无非别未勿否莫";
/// Words that count, order or date without a digit or a capital.
const COUNTING_WORDS: &str = "one two three four five six seven eight nine ten eleven twelve twenty \
    thirty forty fifty hundred thousand million half once twice first second third fourth fifth \
    last next today yesterday tomorrow monday tuesday wednesday thursday friday saturday sunday \
    morning noon evening night left right north south east west";

/// A hit that is kept, with what is compared, and how many were collapsed into it.
struct Kept<'a> {
    hit: Hit,
    candidate: &'a Candidate<'a>,
    /// Its content, normalised.
    normal: &'a str,
    /// Read only for those that are near to another.
    facts: OnceCell<Facts>,
    n_twins: usize,
}

impl Kept<'_> {
    fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::of(&self.candidate.memory.content))
    }
}

/// Keeps one hit of those that say the same, and counts the others in its reasons: one that is exact
/// before others, then the newest, then the strongest (the best-scored of equals). Each is compared
/// with those kept so far, in the order given. `normals` are the contents of the candidates.
pub(super) fn collapse(
    hits: Vec<Hit>,
    candidates: &[Candidate<'_>],
    normals: &[String],
    view: &View<'_>,
) -> Vec<Hit> {
    let mut kept: Vec<Kept<'_>> = Vec::new();
    for hit in hits {
        let (Some(candidate), Some(normal)) = (candidates.get(hit.index), normals.get(hit.index))
        else {
            continue;
        };
        let new = Kept { hit, candidate, normal, facts: OnceCell::new(), n_twins: 0 };
        match kept.iter_mut().find(|old| are_twins(old, &new, view)) {
            Some(old) => {
                let n_twins = old.n_twins + 1;
                if precedes(&new, old) {
                    *old = new;
                }
                old.n_twins = n_twins;
            }
            None => kept.push(new),
        }
    }
    kept.into_iter()
        .map(|Kept { mut hit, n_twins, .. }| {
            if n_twins > 0 {
                hit.reasons.push(Reason::Twins(n_twins));
            }
            hit
        })
        .collect()
}

/// Whether `new` is shown instead of `old`.
fn precedes(new: &Kept<'_>, old: &Kept<'_>) -> bool {
    let key = |kept: &Kept<'_>| -> (bool, Timestamp) {
        let is_exact = kept.hit.reasons.iter().any(|reason| reason.exactness() > 0.0);
        (is_exact, kept.candidate.memory.event_time())
    };
    let strength = |kept: &Kept<'_>| {
        kept.hit.reasons.iter().find_map(|reason| {
            if let Reason::Strength { strength, .. } = reason { Some(*strength) } else { None }
        })
    };
    key(new).cmp(&key(old)).is_gt() || (key(new) == key(old) && strength(new) > strength(old))
}

fn are_twins(left: &Kept<'_>, right: &Kept<'_>, view: &View<'_>) -> bool {
    let readable = |kept: &Kept<'_>| {
        let scripts = &kept.candidate.fused.attributes.scripts;
        view.reader.reads(scripts, view.ranking.memory_readable_min)
    };
    let share = |kept: &Kept<'_>| kept.candidate.fused.attributes.scripts.latin();
    let spread = view.reader.likeness.between(share(left), share(right));
    let near = || {
        cosine(left.candidate.vectors, right.candidate.vectors)
            .map(|cosine| spread.on_reference(cosine))
            .is_some_and(|cosine| cosine >= view.ranking.twin_cosine)
    };
    left.normal == right.normal
        || readable(left) && readable(right) && near() && left.facts().agree(right.facts())
}

/// What must agree in two texts that say the same.
#[derive(Clone, Debug, PartialEq)]
struct Facts {
    negations: usize,
    exact: BTreeSet<String>,
    dates: Vec<AskedDate>,
    names: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl Facts {
    fn of(content: &str) -> Self {
        let all = tokens::tokens(content);
        let mut facts = Self {
            negations: 0,
            exact: tokens::identifiers(content).into_iter().collect(),
            dates: dates::asked(content),
            names: names(content),
            words: BTreeSet::new(),
        };
        for token in all {
            let is_in =
                |list: &str| list.split_ascii_whitespace().any(|word| word == token.surface);
            if is_in(NEGATIONS) || token.surface.chars().all(|c| CHINESE_NEGATIONS.contains(c)) {
                facts.negations += 1;
            } else if is_in(COUNTING_WORDS) || token.surface.chars().any(char::is_numeric) {
                facts.exact.insert(token.surface);
            } else if !query::is_stop_word(&token) {
                facts.words.insert(token.surface);
            }
        }
        facts
    }

    /// Whether nothing in one text contradicts the other.
    fn agree(&self, other: &Self) -> bool {
        self.negations == other.negations
            && self.exact == other.exact
            && self.dates == other.dates
            && self.names.is_subset(&other.words)
            && other.names.is_subset(&self.words)
    }
}

/// The capitalised words of a text that are no stop words, in lower case.
fn names(content: &str) -> BTreeSet<String> {
    content
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| word.chars().next().is_some_and(char::is_uppercase))
        .flat_map(tokens::tokens)
        .filter(|token| token.counts() && !query::is_stop_word(token))
        .filter(|token| !token.surface.chars().any(char::is_numeric))
        .map(|token| token.surface)
        .collect()
}

/// The cosine of two memories: the least over their chunks, pair by pair; `None` if they have not
/// the same number of chunks, or none.
fn cosine(left: &[Vector], right: &[Vector]) -> Option<f64> {
    if left.len() != right.len() {
        return None;
    }
    left.iter()
        .zip(right)
        .map(|(left, right)| left.iter().zip(right.iter()).map(|(l, r)| f64::from(l * r)).sum())
        .reduce(f64::min)
}
