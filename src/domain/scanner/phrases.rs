//! From the phrases of a sentence to the times of a text: joins what belongs together, resolves it and
//! weighs it.

use std::ops::Range;

use super::asks::{self, Ask};
use super::context::Context;
use super::grammar::{self, Line, Phrase};
use super::length::Unit;
use super::lexemes::{self, Lexeme};
use super::lexicon::Cue;
use super::resolve::{self, Meaning, Said};
use super::slots::Slots;
use super::source::Source;
use super::subject::subject;
use super::weigh::confidence;
use super::{Found, When};
use crate::domain::grounding::values::Reading;
use crate::domain::limits::SCANNED_TIMES_MAX;
use crate::domain::text::sentences::sentences;

/// Most lexemes between two phrases that are joined; chosen.
const GAP_MAX: usize = 12;
/// Factor on the confidence where a comma or an "and" stands between them.
const GAP_DOUBT: f64 = 0.85;
/// A text with more times than this is a plan, a table or a log; chosen.
const CROWD_MIN: usize = 5;
/// Factor on the confidence of each of its times.
const CROWD_DOUBT: f64 = 0.8;

/// The times of a text.
pub(super) fn found(reading: &Reading, source: &Source<'_>, said: Said<'_>) -> Vec<Found> {
    let row = lexemes::read(reading);
    let mut all: Vec<Found> = Vec::new();
    // An ask without a time is about the times of the next sentence: "Remind me to call. Tomorrow at 3pm."
    let mut asked_before: Option<String> = None;
    for range in sentences(&reading.text) {
        let (kinds, ranges) = row.within(&range);
        let line = Line { kinds, ranges, reading };
        let ask = asks::read(&line);
        let masked = masked(kinds, ask.as_ref());
        let line = Line { kinds: &masked, ..line };
        let phrases = grammar::phrases(&line);
        if phrases.is_empty() && ask.is_none() {
            asked_before = None;
            continue;
        }
        let context = Context::of(&line, ask.is_some());
        let times = times(&line, phrases, said, context);
        let about = subject(&line, source, &times, ask.as_ref());
        if times.is_empty() {
            asked_before = ask.map(|_| about);
            continue;
        }
        let carried = asked_before.take().filter(|_| ask.is_none());
        let context = Context { is_asked: ask.is_some() || carried.is_some(), ..context };
        let about = carried.filter(|_| about.is_empty()).unwrap_or(about);
        let lead = ask.and_then(|ask| ask.lead);
        all.extend(times.iter().filter_map(|time| {
            let found = told(&line, source, time, context)?;
            Some(Found { lead, subject: about.clone(), ..found })
        }));
        if all.len() >= SCANNED_TIMES_MAX {
            all.truncate(SCANNED_TIMES_MAX);
            break;
        }
    }
    let is_crowd = all.len() > CROWD_MIN;
    for time in all.iter_mut().filter(|time| is_crowd && !time.is_asked) {
        time.confidence *= CROWD_DOUBT;
    }
    all
}

/// A time of a sentence, without what the sentence is about.
fn told(line: &Line<'_>, source: &Source<'_>, time: &Timed, context: Context) -> Option<Found> {
    let pieces: Vec<Range<usize>> =
        time.pieces.iter().map(|piece| source.range(&span(line, piece))).collect();
    Some(Found {
        range: pieces.first()?.start..pieces.last()?.end,
        pieces,
        when: time.meaning.when.clone(),
        precision: time.meaning.precision,
        confidence: confidence(time, context),
        is_asked: context.is_asked,
        is_deadline: time.slots.is_deadline,
        is_meeting: context.is_meeting,
        lead: None,
        subject: String::new(),
    })
}

/// Whether a text says that something comes more often than daily.
pub(super) fn is_often(reading: &Reading) -> bool {
    let row = lexemes::read(reading);
    let line = Line { kinds: &row.kinds, ranges: &row.ranges, reading };
    grammar::phrases(&line).iter().any(|phrase| {
        let unit = phrase.slots.cycle.map(|(_, unit)| unit);
        matches!(unit, Some(Unit::Second | Unit::Minute | Unit::Hour))
    })
}

/// A phrase with its meaning.
pub(super) struct Timed {
    pub(super) slots: Slots,
    pub(super) meaning: Meaning,
    /// Lexemes.
    pub(super) pieces: Vec<Range<usize>>,
    /// Whether it is the day of saying it.
    pub(super) is_today: bool,
    /// Whether "at" or the like leads it.
    pub(super) is_led: bool,
}

/// Lexemes without those that tell the lead, which are no times themselves.
fn masked(kinds: &[Lexeme], ask: Option<&Ask>) -> Vec<Lexeme> {
    let mut kinds = kinds.to_vec();
    if let Some(range) = ask.and_then(|ask| ask.lead_at.clone())
        && let Some(kinds) = kinds.get_mut(range)
    {
        kinds.fill(Lexeme::Opaque);
    }
    kinds
}

fn times(line: &Line<'_>, phrases: Vec<Phrase>, said: Said<'_>, context: Context) -> Vec<Timed> {
    joined(line, phrases)
        .into_iter()
        .filter_map(|(mut slots, pieces)| {
            if context.is_birthday && slots.is_yearless() {
                slots.cycle = Some((1, Unit::Year));
            }
            let is_adjective = slots.is_cycle_alone()
                && !context.is_asked
                && pieces.iter().any(|piece| is_adjective(line.slice(piece.end - 1)));
            if is_adjective {
                return None;
            }
            let meaning = resolve::meaning(&slots, said)?;
            let first = pieces.first().map(|piece| piece.start)?;
            let lead = |at: Option<usize>| {
                matches!(
                    at.and_then(|at| line.kind(at)),
                    Some(Lexeme::Cue(Cue::At | Cue::By | Cue::Until | Cue::From))
                )
            };
            // Chinese needs no "at".
            let is_han = !line.slice(first).is_ascii();
            let is_led = is_han || lead(Some(first)) || lead(first.checked_sub(1));
            let is_today =
                matches!(&meaning.when, When::At(at) if at.civil.date() == said.now.date());
            Some(Timed { slots, meaning, pieces, is_today, is_led })
        })
        .collect()
}

/// The phrases, those made one that tell parts of one time: "tomorrow I see Bob at 3pm".
fn joined(line: &Line<'_>, phrases: Vec<Phrase>) -> Vec<(Slots, Vec<Range<usize>>)> {
    let mut all: Vec<(Slots, Vec<Range<usize>>)> = Vec::new();
    for phrase in phrases {
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

/// The bytes of the reading that lexemes cover.
pub(super) fn span(line: &Line<'_>, lexemes: &Range<usize>) -> Range<usize> {
    let covered = line.ranges.get(lexemes.clone()).unwrap_or(&[]);
    let (Some(first), Some(last)) = (covered.first(), covered.last()) else { return 0..0 };
    // The full stop of "19 February." is read as that of an abbreviation.
    let is_line_end = lexemes.end == line.kinds.len();
    let text = line.reading.slice(last);
    let stop = usize::from(is_line_end && text.ends_with('.'));
    first.start..last.end - stop
}

/// Words that say how often, and also what something is like: a daily report.
fn is_adjective(word: &str) -> bool {
    const WORDS: [&str; 7] =
        ["daily", "everyday", "weekly", "biweekly", "monthly", "quarterly", "yearly"];
    WORDS.iter().any(|adjective| word.eq_ignore_ascii_case(adjective))
}
