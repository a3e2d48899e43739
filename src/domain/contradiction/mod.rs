//! How a new statement stands to an old one that is near to it: the same, a correction, unclear, or
//! simply another one.
//!
//! A high cosine proves nothing: "router is 192.168.7.1" and "router is 192.168.9.1" are nearly equal to a
//! model. So numbers, identifiers, negations and dates decide, and the rules are conservative: two
//! routers, two meetings and two events stay two memories unless the new one says that it replaces the old.

mod cues;
mod facts;

use jiff::civil::DateTime;

use super::memory::{Kind, Layer};
use cues::Cue;
use facts::{Facts, Group};

/// What a new statement is to an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It says what the old one says, and nothing more.
    Same,
    /// It replaces the old one.
    Correction,
    /// They contradict each other, and nothing tells which holds.
    Unclear,
    /// Both may hold.
    Unrelated,
}

impl Verdict {
    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Correction => "correction",
            Self::Unclear => "unclear",
            Self::Unrelated => "unrelated",
        }
    }
}

/// A memory as it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// What it says.
    pub text: &'a str,
    /// What sort of statement it is.
    pub kind: Kind,
    /// When what it says was so or happened, in the zone of its user.
    pub event_time: DateTime,
}

/// How near statements must be, as cosines on the scale of
/// [`Likeness::REFERENCE`](super::likeness::Likeness::REFERENCE).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Below it statements have nothing to do with each other.
    pub related_min: f64,
    /// From it on a statement that leaves out words of the old one may still be the same.
    pub same_min: f64,
}

impl Default for Policy {
    /// Chosen; the words decide, the cosine only guards.
    fn default() -> Self {
        Self { related_min: 0.3, same_min: 0.9 }
    }
}

/// A statement, read once to be compared with many.
pub struct Read<'a> {
    statement: Statement<'a>,
    facts: Facts,
}

impl<'a> Read<'a> {
    /// Reads a statement.
    pub fn of(statement: Statement<'a>) -> Self {
        Self { statement, facts: Facts::of(&statement) }
    }
}

/// What `new` is to `old`; `cosine` is `None` if no model reads both.
pub fn judge(old: &Read<'_>, new: &Read<'_>, cosine: Option<f64>, policy: &Policy) -> Verdict {
    if cosine.is_some_and(|cosine| cosine < policy.related_min) {
        return Verdict::Unrelated;
    }
    let (old_facts, new_facts) = (&old.facts, &new.facts);
    let (old, new) = (&old.statement, &new.statement);
    let pair = Pair { old, new, old_facts, new_facts };
    let is_near = cosine.is_some_and(|cosine| cosine >= policy.same_min);
    if pair.is_same(is_near) {
        return Verdict::Same;
    }
    let cue = pair.cue();
    match pair.contradiction() {
        Contradiction::None => Verdict::Unrelated,
        Contradiction::Partial if cue == Cue::None => Verdict::Unclear,
        // What else it says would be hidden with it.
        _ if pair.old_says_more() => Verdict::Unclear,
        // What is said to have been so earlier does not replace what is said of later.
        _ if new.event_time < old.event_time => Verdict::Unclear,
        _ if new.event_time == old.event_time && cue != Cue::Strong => Verdict::Unclear,
        Contradiction::Partial | Contradiction::Plain => Verdict::Correction,
    }
}

/// How two statements contradict each other.
enum Contradiction {
    None,
    /// Both may hold: one says more than the other, or they may speak of two things.
    Partial,
    Plain,
}

/// Two statements, read.
struct Pair<'a> {
    old: &'a Statement<'a>,
    new: &'a Statement<'a>,
    old_facts: &'a Facts,
    new_facts: &'a Facts,
}

impl Pair<'_> {
    /// How plainly the new one says that it replaces the old: one that has the same cue does not say
    /// so of it, the cue belongs to what both of them say.
    fn cue(&self) -> Cue {
        let cue = self.new_facts.cue;
        if cue == self.old_facts.cue { Cue::None } else { cue }
    }

    /// Whether the new one only says again what the old one says.
    fn is_same(&self, is_near: bool) -> bool {
        let (old, new) = (self.old_facts, self.new_facts);
        let is_same_day = self.old.event_time.date() == self.new.event_time.date();
        let is_one_event =
            !self.is_eventful() || is_same_day || old.names_a_day() && new.names_a_day();
        let n_shared = new.words.intersection(&old.words).count();
        let adds_nothing = n_shared == new.words.len();
        let leaves_out_little = n_shared == old.words.len()
            || is_near && n_shared as f64 >= 0.7 * old.words.len() as f64;
        is_one_event
            && new.says_something()
            && adds_nothing
            && leaves_out_little
            && old.values_agree(new)
            && old.anchors == new.anchors
            && old.roles == new.roles
            && old.is_hedged == new.is_hedged
            && !old.is_reversed_by(new)
            && !new.is_reversed_by(old)
            && old.is_negative == new.is_negative
            && old.n_negations == new.n_negations
    }

    /// Events, and what reads like one whatever its kind.
    fn is_eventful(&self) -> bool {
        let is_event = |statement: &Statement<'_>, facts: &Facts| {
            statement.kind.layer() == Layer::Episodic || facts.is_eventful
        };
        is_event(self.old, self.old_facts) || is_event(self.new, self.new_facts)
    }

    fn contradiction(&self) -> Contradiction {
        let (old, new) = (self.old_facts, self.new_facts);
        if old.is_question || new.is_question {
            return Contradiction::None;
        }
        if old.roles != new.roles || new.is_additive || new.is_hedged && new.cue != Cue::Strong {
            return Contradiction::None;
        }
        // An event stays one event more, whatever the next one says, unless that says it was changed.
        let is_settled = self.is_eventful() && new.cue != Cue::Strong;
        if is_settled {
            return Contradiction::None;
        }
        let flip = self.flip();
        if !matches!(flip, Contradiction::None) {
            return flip;
        }
        if self.is_replaced_slot() || self.is_replaced_by_word() {
            return Contradiction::Plain;
        }
        match self.is_replaced_complement() {
            true if self.may_be_two() => Contradiction::Partial,
            true => Contradiction::Plain,
            false => Contradiction::None,
        }
    }

    /// The same said with the opposite sign.
    fn flip(&self) -> Contradiction {
        let (old, new) = (self.old_facts, self.new_facts);
        let is_reversed = old.is_reversed_by(new) || new.is_reversed_by(old);
        let adds = new.words.difference(&old.words).count();
        let drops = old.words.difference(&new.words).count();
        let n_shared = new.words.intersection(&old.words).count();
        if !is_reversed || n_shared == 0 || !self.is_one_subject() || !self.values_do_not_differ() {
            return Contradiction::None;
        }
        // Each has words of its own: they speak of different things unless the new one says otherwise.
        if adds > 0 && drops > 0 && !(new.cue >= Cue::Weak && n_shared >= adds.min(drops)) {
            return Contradiction::None;
        }
        let is_whole = adds == 0 || new.contrasts || new.cue >= Cue::Weak;
        if is_whole { Contradiction::Plain } else { Contradiction::Partial }
    }

    /// Another value in the same place of the same sentence.
    fn is_replaced_slot(&self) -> bool {
        let (old, new) = (self.old_facts, self.new_facts);
        let differing = old.differing(new);
        let [group] = differing.as_slice() else {
            // Several values at once: only if the new one says that it changes them.
            return differing.len() == 2
                && self.cue() == Cue::Strong
                && self.shares_most_of_both()
                && !differing.contains(&Group::Name)
                && !differing.contains(&Group::Identifier);
        };
        let shares_all = old.words == new.words && !old.words.is_empty();
        let is_subject = old.has_subject(*group) || new.has_subject(*group);
        if is_subject || old.is_negative || new.is_negative {
            return false;
        }
        let is_named = matches!(group, Group::Name | Group::Identifier);
        match (is_named, self.cue() >= Cue::Weak) {
            (true, is_told) => is_told && self.shares_most_of_both(),
            (false, true) => self.is_one_subject() && self.shares_most_of_both(),
            (false, false) => self.is_one_subject() && shares_all,
        }
    }

    /// "I live in ..." and the like: what can have one value only has another.
    fn is_replaced_complement(&self) -> bool {
        match (&self.old_facts.single, &self.new_facts.single) {
            (Some(old), Some(new)) => {
                old.subject == new.subject
                    && !old.complement.is_empty()
                    && !new.complement.is_empty()
                    && !old.complement.is_subset(&new.complement)
                    && !new.complement.is_subset(&old.complement)
                    && self.old_facts.is_negative == self.new_facts.is_negative
            }
            _ => false,
        }
    }

    /// "We use A" and "we use B instead": the cue says what the words alone do not.
    fn is_replaced_by_word(&self) -> bool {
        let (old, new) = (self.old_facts, self.new_facts);
        let is_other = old.words.difference(&new.words).count() > 0
            && new.words.difference(&old.words).count() > 0;
        self.cue() == Cue::Strong
            && is_other
            && self.shares_most_of_both()
            && old.differing(new).is_empty()
            && self.is_one_subject()
    }

    /// Whether what has one value each may be two all the same: names, which hardly ever change, and
    /// people of whom one has several.
    fn may_be_two(&self) -> bool {
        let names = self.new_facts.single.as_ref().is_some_and(|single| single.is_name);
        names || self.new_facts.roles.iter().any(|role| cues::has_several(role))
    }

    /// Whether the old one has a clause of which the new one says nothing.
    fn old_says_more(&self) -> bool {
        self.old_facts.has_clause_beside(self.new_facts)
    }

    /// Whether at least half of the words of the longer one stand in the other.
    fn shares_most_of_both(&self) -> bool {
        let (old, new) = (&self.old_facts.words, &self.new_facts.words);
        let n_shared = old.intersection(new).count();
        n_shared > 0 && 2 * n_shared >= old.len().max(new.len())
    }

    /// Whether both name the same, or the new one refers to the old one's by a pronoun.
    fn is_one_subject(&self) -> bool {
        let (old, new) = (self.old_facts, self.new_facts);
        old.anchors == new.anchors
            || new.has_pronoun && new.anchors.is_empty()
            || new.cue == Cue::Strong && old.anchors.is_subset(&new.anchors)
    }

    /// Whether no group of values is one thing here and another there.
    fn values_do_not_differ(&self) -> bool {
        self.old_facts.differing(self.new_facts).is_empty()
    }
}

#[cfg(test)]
mod tests;
