//! Phrases that tell parts of one time, bound a rule, or share what one of them says, whatever stands
//! between them.

use std::ops::Range;

use super::grammar::{self, Line, Phrase};
use super::lexemes::Lexeme;
use super::lexicon::Cue;
use super::slots::Slots;

/// Most lexemes between two phrases that are joined; chosen.
const GAP_MAX: usize = 12;
/// Factor on the confidence where a comma or an "and" stands between them.
const GAP_DOUBT: f64 = 0.85;

/// The phrases, those made one that tell parts of one time: "tomorrow I see Bob at 3pm".
pub(super) fn joined(line: &Line<'_>, phrases: Vec<Phrase>) -> Vec<(Slots, Vec<Range<usize>>)> {
    let mut all: Vec<(Slots, Vec<Range<usize>>)> = Vec::new();
    for phrase in phrases {
        if let Some((slots, pieces)) = all.last_mut()
            && let Some(both) = bounded(slots, &phrase.slots)
        {
            *slots = both;
            pieces.push(phrase.lexemes);
            continue;
        }
        if let Some((slots, pieces)) = all.last_mut()
            && let Some(gap) = pieces.last().map(|piece| piece.end..phrase.lexemes.start)
            && gap.len() <= GAP_MAX
            && let Some(both) = joint(slots, &phrase.slots)
        {
            let is_apart = line.kinds.get(gap).is_some_and(|between| {
                between.iter().any(|kind| {
                    matches!(kind, Lexeme::Mark(',' | ';' | ':') | Lexeme::Cue(Cue::And))
                })
            });
            *slots = both;
            if is_apart {
                slots.doubt *= GAP_DOUBT;
            }
            pieces.push(phrase.lexemes);
            continue;
        }
        all.push((phrase.slots, vec![phrase.lexemes]));
    }
    all
}

/// The same, where several share what one of them says: "tomorrow at 9am and 6pm", "on Monday and Friday at
/// 3pm".
pub(super) fn shared(
    line: &Line<'_>,
    mut all: Vec<(Slots, Vec<Range<usize>>)>,
) -> Vec<(Slots, Vec<Range<usize>>)> {
    for at in 1..all.len() {
        let Some([(first, before), (second, behind)]) = all.get_mut(at - 1..=at) else { continue };
        let from = before.last().map_or(0, |piece| piece.end);
        let n_gap = behind.first().map_or(0, |piece| piece.start - from);
        if grammar::joint(line, from) != Some((n_gap, true)) {
            continue;
        }
        let is_or = n_gap == 1 && line.kind(from) == Some(&Lexeme::Word);
        let whole =
            |slots: &Slots| slots.clock.is_some() && (slots.has_day() || slots.recurs() && !is_or);
        if second.is_hour() && whole(first) {
            *second = Slots { clock: second.clock, part: second.part, ..first.clone() };
        } else if first.is_hour() && whole(second) {
            *first = Slots { clock: first.clock, part: first.part, ..second.clone() };
        } else if first.is_bare_day() && whole(second) && !second.recurs() {
            (first.clock, first.part) = (second.clock, second.part);
        }
        if is_or {
            second.doubt *= GAP_DOUBT;
        }
    }
    all
}

/// A rule and what bounds it, whatever stands between them: "every Monday I water the plants until 20
/// December", "starting on Friday, remind me every day".
fn bounded(first: &Slots, second: &Slots) -> Option<Slots> {
    if first.recurs() {
        first.clone().with(&second.bound()?)
    } else {
        second.clone().with(&first.bound()?)
    }
}

/// Two phrases as one, if each tells what the other leaves out.
fn joint(first: &Slots, second: &Slots) -> Option<Slots> {
    let is_hour = |slots: &Slots| {
        (slots.clock.is_some() || slots.part.is_some())
            && !slots.has_day()
            && !slots.recurs()
            && !slots.is_moment()
    };
    let is_day = |slots: &Slots| {
        slots.clock.is_none() && !slots.is_moment() && (slots.has_day() || slots.recurs())
    };
    let is_cycle = |slots: &Slots| {
        slots.cycle.is_some() && slots.days.is_empty() && !slots.has_day() && slots.clock.is_none()
    };
    // "weekly team meeting every Friday": the second says it whole.
    if is_cycle(first)
        && !second.days.is_empty()
        && second.cycle.is_some_and(|cycle| Some(cycle) == first.cycle)
    {
        return Some(second.clone());
    }
    let is_whole = |slots: &Slots| slots.has_day() || !slots.days.is_empty();
    let fits = is_day(first) && is_hour(second)
        || is_hour(first) && is_day(second)
        || is_cycle(first) && is_whole(second)
        || is_cycle(second) && is_whole(first);
    // "at 2 PM, which saves me 30 minutes daily"
    let is_afterthought = is_hour(first) && is_cycle(second);
    // The part of the day alone ("morning, see you Friday") joins nothing.
    let is_part = |slots: &Slots| is_hour(slots) && slots.clock.is_none();
    if !fits || is_afterthought || is_part(first) || is_part(second) {
        return None;
    }
    // The one that recurs goes first: a weekday becomes one of its days.
    let (base, more) =
        if second.recurs() && !first.recurs() { (second, first) } else { (first, second) };
    more.pieces().iter().try_fold(base.clone(), Slots::with)
}
