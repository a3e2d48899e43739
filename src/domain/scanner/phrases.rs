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
use super::slots::{Piece, Slots};
use super::source::Source;
use super::{Found, Precision, When};
use crate::domain::grounding::values::{DateParts, Reading};
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
    let sentences = sentences(&reading.text);
    let mut all: Vec<Found> = Vec::new();
    // An ask without a time is about the times of the next sentence: "Remind me to call. Tomorrow at 3pm."
    let mut asked_before: Option<String> = None;
    for range in sentences {
        let (kinds, ranges) = row.within(&range);
        let line = Line { kinds, ranges, reading };
        let ask = asks::read(&line);
        let masked = masked(kinds, ask.as_ref());
        let line = Line { kinds: &masked, ..line };
        let context = Context::of(&line, ask.is_some());
        let times = times(&line, said, context);
        let is_asked = ask.as_ref().is_some_and(|ask| ask.is_asked);
        let is_of_before = !is_asked && asked_before.is_some() && !times.is_empty();
        let context = Context { is_asked: is_asked || is_of_before, ..context };
        let subject = subject(&line, source, &times, ask.as_ref());
        for time in &times {
            let pieces: Vec<_> =
                time.pieces.iter().map(|piece| source.range(&span(&line, piece))).collect();
            let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { continue };
            let carried = asked_before.as_ref().filter(|_| is_of_before && subject.is_empty());
            all.push(Found {
                range: first.start..last.end,
                pieces: pieces.clone(),
                when: time.meaning.when.clone(),
                precision: time.meaning.precision,
                confidence: confidence(time, &context),
                is_asked: is_asked || is_of_before,
                is_deadline: time.slots.is_deadline,
                is_meeting: context.is_meeting,
                lead: ask.as_ref().and_then(|ask| ask.lead),
                subject: carried.unwrap_or(&subject).clone(),
            });
        }
        asked_before = (is_asked && times.is_empty()).then_some(subject);
    }
    let is_crowd = all.len() > CROWD_MIN;
    for time in all.iter_mut().filter(|time| is_crowd && !time.is_asked) {
        time.confidence *= CROWD_DOUBT;
    }
    all
}

/// A phrase with its meaning.
struct Timed {
    slots: Slots,
    meaning: Meaning,
    /// Lexemes.
    pieces: Vec<Range<usize>>,
    /// Whether it is the day of saying it.
    is_today: bool,
    /// Whether "at" or the like leads it.
    is_led: bool,
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

fn times(line: &Line<'_>, said: Said<'_>, context: Context) -> Vec<Timed> {
    joined(line, grammar::phrases(line))
        .into_iter()
        .filter_map(|(mut slots, pieces)| {
            if context.is_birthday && slots.is_yearless() {
                slots.cycle = Some((1, Unit::Year));
            }
            let is_adjective = pieces.iter().map(|piece| piece.len()).sum::<usize>() <= 2
                && slots.is_cycle_alone()
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
    // The part of the day alone ("morning, see you Friday") joins nothing.
    let is_part = |slots: &Slots| is_hour(slots) && slots.clock.is_none();
    if !fits || is_part(first) || is_part(second) {
        return None;
    }
    // The one that recurs goes first: a weekday becomes one of its days.
    let (base, more) =
        if second.recurs() && !first.recurs() { (second, first) } else { (first, second) };
    more.pieces().iter().try_fold(base.clone(), Slots::with)
}

/// The bytes of the reading that lexemes cover.
fn span(line: &Line<'_>, lexemes: &Range<usize>) -> Range<usize> {
    let covered = line.ranges.get(lexemes.clone()).unwrap_or(&[]);
    let (Some(first), Some(last)) = (covered.first(), covered.last()) else { return 0..0 };
    // The full stop of "19 February." is read as that of an abbreviation.
    let is_line_end = lexemes.end == line.kinds.len();
    let text = line.reading.slice(last);
    let stop = if is_line_end && text.ends_with('.') { 1 } else { 0 };
    first.start..last.end - stop
}

/// How sure a time is.
fn confidence(time: &Timed, context: &Context) -> f64 {
    let slots = &time.slots;
    // What stands for the asking or the occasion: the same time weighs more beside it.
    let by = |asked: f64, occasion: f64, bare: f64| {
        if context.is_asked {
            asked
        } else if context.is_occasion || slots.is_deadline {
            occasion
        } else {
            bare
        }
    };
    let base = if slots.instant.is_some() {
        by(0.98, 0.95, 0.9)
    } else if slots.elapsed.is_some() {
        by(0.96, 0.85, 0.7)
    } else if slots.recurs() && time.meaning.precision == Precision::Day {
        let is_named = slots.has_day() || !slots.days.is_empty();
        by(0.93, if is_named { 0.72 } else { 0.5 }, 0.45)
    } else if slots.recurs() || slots.has_day() {
        match time.meaning.precision {
            Precision::Minute => 0.96,
            Precision::Part => by(0.93, 0.8, 0.65),
            Precision::Day if time.is_today => by(0.6, 0.4, 0.3),
            Precision::Day => by(0.93, 0.72, 0.5),
        }
    } else if time.is_led {
        by(0.94, 0.8, 0.62)
    } else {
        by(0.93, 0.55, 0.35)
    };
    let is_open = slots.instant.is_none()
        && !matches!(slots.shift, Some((_, 1.., _)))
        && !slots.date.is_some_and(|date| date.year.is_some())
        && !matches!(slots.weekday, Some((_, Some(1..))))
        && !slots.is_deadline;
    let told = if context.is_past && is_open && !context.is_asked { 0.4 } else { 1.0 };
    let asked_back = if context.is_question && !context.is_asked { 0.75 } else { 1.0 };
    let behind = if slots.is_behind { 0.3 } else { 1.0 };
    (base * time.meaning.sureness * told * asked_back * behind).clamp(0.0, 1.0)
}

/// The sentence without its times and the asking.
fn subject(line: &Line<'_>, source: &Source<'_>, times: &[Timed], ask: Option<&Ask>) -> String {
    let n = line.kinds.len();
    let mut is_kept = vec![true; n];
    let cut = times.iter().flat_map(|time| time.pieces.iter().cloned());
    let asking = ask.into_iter().flat_map(|ask| ask.cut.iter().cloned());
    for range in cut.chain(asking) {
        if let Some(kept) = is_kept.get_mut(range) {
            kept.fill(false);
        }
    }
    let is_kept = |at: usize| is_kept.get(at).copied().unwrap_or(false);
    let mut text = String::new();
    let mut at = 0;
    while at < n {
        if !is_kept(at) {
            at += 1;
            continue;
        }
        let end = (at..n).find(|at| !is_kept(*at)).unwrap_or(n);
        let part = source.slice(&span(line, &(at..end))).trim();
        if asks::needs_blank(&text, part) {
            text.push(' ');
        }
        text.push_str(part);
        at = end;
    }
    asks::trimmed(&text)
}

/// Words that say how often, and also what something is like: a daily report.
fn is_adjective(word: &str) -> bool {
    const WORDS: [&str; 7] =
        ["daily", "everyday", "weekly", "biweekly", "monthly", "quarterly", "yearly"];
    WORDS.iter().any(|adjective| word.eq_ignore_ascii_case(adjective))
}

impl Slots {
    /// Whether it is a day and a month and nothing else.
    fn is_yearless(&self) -> bool {
        let is_day =
            matches!(self.date, Some(DateParts { year: None, month: Some(_), day: Some(_) }));
        is_day
            && self.clock.is_none()
            && !self.recurs()
            && self.weekday.is_none()
            && self.shift.is_none()
    }

    /// Whether it only says how often.
    fn is_cycle_alone(&self) -> bool {
        self.cycle.is_some()
            && self.days.is_empty()
            && !self.has_day()
            && self.clock.is_none()
            && self.part.is_none()
    }

    /// All that it says, piece by piece.
    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        pieces.extend(self.cycle.map(|(n, unit)| Piece::Cycle(n, unit)));
        pieces.extend((!self.days.is_empty()).then_some(Piece::Days(self.days)));
        pieces.extend(self.weekday.map(|(day, week)| Piece::Weekday(day, week)));
        pieces.extend(self.weekend.map(Piece::Weekend));
        pieces.extend(self.nth.map(|(nth, weekday)| Piece::Nth(nth, weekday)));
        pieces.extend(self.month_day.map(Piece::MonthDay));
        pieces.extend(self.is_last_day.then_some(Piece::LastDay));
        pieces.extend(self.date.map(Piece::Date));
        let shift = |(period, by, is_counted)| Piece::Shift { period, by, is_counted };
        pieces.extend(self.shift.map(shift));
        pieces.extend(self.plus.map(Piece::Plus));
        pieces.extend(self.part.map(Piece::Part));
        pieces.extend(self.clock.map(Piece::Clock));
        pieces.extend(self.zone.clone().map(Piece::Zone));
        pieces.extend(self.start.clone().map(Piece::Start));
        pieces.extend(self.until.clone().map(Piece::Until));
        pieces.extend(self.lasting.map(Piece::Lasting));
        pieces.extend(self.is_deadline.then_some(Piece::Deadline));
        pieces.extend(self.is_behind.then_some(Piece::Behind));
        pieces.push(Piece::Doubt(self.doubt));
        pieces
    }
}
