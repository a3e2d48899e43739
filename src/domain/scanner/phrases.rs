//! From the phrases of a sentence to the times of a text: joins what belongs together, resolves it and
//! weighs it.

use std::ops::Range;

use super::asks::{self, Ask, Heard};
use super::context::Context;
use super::flaws::{self, days};
use super::grammar::{self, Line, Phrase};
use super::joining::{joined, shared};
use super::leads;
use super::length::Unit;
use super::lexemes::{self, Lexeme};
use super::lexicon::Cue;
use super::resolve::{self, Meaning, Said};
use super::slots::Slots;
use super::source::Source;
use super::speech;
use super::subject::subject;
use super::unarmed::{Asking, quoted};
use super::weigh::confidence;
use super::{Found, Scan, Unarmed, When};
use crate::domain::grounding::values::Reading;
use crate::domain::limits::SCANNED_TIMES_MAX;
use crate::domain::reminder::Lead;
use crate::domain::text::sentences::sentences;

/// Factor on the confidence of a time that is denied.
const DENIED_DOUBT: f64 = 0.4;
/// Factor on the confidence of a time that nobody wants to be reminded of.
const UNWANTED_DOUBT: f64 = 0.2;
/// A text with more times than this is a plan, a table or a log; chosen.
const CROWD_MIN: usize = 5;
/// Factor on the confidence of each of its times.
const CROWD_DOUBT: f64 = 0.8;

/// The times of a text and what asks for them.
pub(super) fn read(reading: &Reading, source: &Source<'_>, said: Said<'_>, is_asked: bool) -> Scan {
    let row = lexemes::read(reading);
    let quotations = speech::quotations(&reading.text);
    let mut scan = Scan::default();
    // An ask without a time is about the times of the next sentence: "Remind me to call. Tomorrow at 3pm."
    let mut asked_before: Option<String> = None;
    for range in sentences(&reading.text) {
        let (kinds, ranges) = row.within(&range);
        let line = Line { kinds, ranges, reading };
        let heard = asks::read(&line, &quotations, is_asked);
        let masked = masked(&line, heard.ask.as_ref());
        let line = Line { kinds: &masked, ..line };
        asked_before = sentence(&line, source, said, &heard, asked_before, &mut scan);
        if scan.times.len() >= SCANNED_TIMES_MAX {
            scan.times.truncate(SCANNED_TIMES_MAX);
            break;
        }
    }
    let n_times = scan.times.len();
    let mut asked =
        scan.times.iter_mut().filter(|time| time.is_asked && time.flaw.is_none()).peekable();
    if asked.peek().is_some()
        && let Some(cue) = taken_back(&reading.text, n_times)
    {
        asked.for_each(|time| time.flaw = Some(Unarmed::Corrected(cue.to_owned())));
    }
    let is_crowd = scan.times.len() > CROWD_MIN;
    for time in scan.times.iter_mut().filter(|time| is_crowd && !time.is_asked) {
        time.confidence *= CROWD_DOUBT;
    }
    scan
}

/// Words with which somebody corrects what they have just asked for, or tells what was moved.
fn taken_back(text: &str, n_times: usize) -> Option<&'static str> {
    const TAKEN_BACK: [&str; 11] = [
        "no wait",
        "wait, no",
        "i mean ",
        "i meant ",
        "scratch that",
        "never mind",
        "nevermind",
        "no thanks",
        "不对",
        "算了",
        "我是说",
    ];
    const MOVED_TO: [&str; 6] =
        ["moved to", "rescheduled to", "postponed to", "改到", "推迟到", "挪到"];
    let text = text.to_lowercase();
    let cue = TAKEN_BACK.iter().find(|cue| text.contains(**cue));
    let moved = || MOVED_TO.iter().find(|cue| n_times > 1 && text.contains(**cue));
    cue.or_else(moved).copied()
}

/// The lead that a reading of one sentence is.
pub(super) fn lead(reading: &Reading) -> Option<Lead> {
    let row = lexemes::read(reading);
    let range = sentences(&reading.text).into_iter().next()?;
    let (kinds, ranges) = row.within(&range);
    let (lead, at) = leads::find(&Line { kinds, ranges, reading })?;
    (at == (0..row.kinds.len())).then_some(lead)
}

/// Adds what a sentence says; answers with what it is about if it asks and leaves the time to the next.
fn sentence(
    line: &Line<'_>,
    source: &Source<'_>,
    said: Said<'_>,
    heard: &Heard,
    asked_before: Option<String>,
    scan: &mut Scan,
) -> Option<String> {
    let ask = heard.ask.as_ref();
    let phrases = grammar::phrases(line);
    let often = flaws::often(line, &phrases).map(|words| quoted(source.slice(&span(line, &words))));
    if phrases.is_empty() && ask.is_none() && !heard.is_told {
        scan.often = scan.often.take().or(often);
        return None;
    }
    let context = Context::of(line, ask.is_some_and(|ask| !ask.is_implied));
    let mut times = times(line, phrases, said, context);
    let carried = asked_before.filter(|_| ask.is_none());
    let asks = ask.is_some() || carried.is_some();
    let is_implied = ask.is_some_and(|ask| ask.is_implied);
    let why = match &often {
        Some(words) => Some(Unarmed::TooOften(words.clone())),
        None => (ask.is_none() && heard.is_told).then_some(Unarmed::Quoted),
    };
    scan.often = scan.often.take().or(often);
    let unread = flaws::mark(line, source, &mut times, why.as_ref(), asks, ask);
    let about = subject(line, source, &times, ask);
    let from = scan.times.len();
    let asking = Asking { times: from..from + times.len(), why: why.or(unread) };
    let is_open = asking.why.is_none();
    match scan.asks.last_mut().filter(|_| carried.is_some() && !times.is_empty()) {
        Some(last) => *last = asking,
        None if ask.is_some() && !is_implied || heard.is_told => scan.asks.push(asking),
        None => {}
    }
    if times.is_empty() {
        return ask.filter(|ask| is_open && !ask.is_implied).map(|_| about);
    }
    let context = Context { is_asked: asks && is_open && !is_implied, ..context };
    let about = carried.filter(|_| about.is_empty()).unwrap_or(about);
    for time in &times {
        let Some(mut found) = told(line, source, time, context) else { continue };
        if time.pieces.first().is_some_and(|piece| heard.denies(piece.start)) {
            found =
                Found { is_asked: false, confidence: found.confidence * UNWANTED_DOUBT, ..found };
        }
        let lead = ask.and_then(|ask| ask.lead);
        scan.times.push(Found { lead, subject: about.clone(), ..found });
    }
    None
}

/// A time of a sentence, without what the sentence is about.
fn told(line: &Line<'_>, source: &Source<'_>, time: &Timed, context: Context) -> Option<Found> {
    let pieces: Vec<Range<usize>> =
        time.pieces.iter().map(|piece| source.range(&span(line, piece))).collect();
    let context = Context { is_asked: context.is_asked && !time.is_aside, ..context };
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
        words: time.words(line, source),
        is_guess: time.meaning.is_guess,
        flaw: time.flaw.clone(),
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
    /// Whether it only stands beside the rule that is asked for.
    pub(super) is_aside: bool,
    /// Why it is not to be taken as it stands.
    pub(super) flaw: Option<Unarmed>,
}

impl Timed {
    /// The words that tell it.
    pub(super) fn words(&self, line: &Line<'_>, source: &Source<'_>) -> String {
        let words: Vec<&str> =
            self.pieces.iter().map(|piece| source.slice(&span(line, piece))).collect();
        quoted(&words.join(" \u{2026} "))
    }
}

/// Lexemes without those that tell the lead or what was so before, which are no times themselves.
fn masked(line: &Line<'_>, ask: Option<&Ask>) -> Vec<Lexeme> {
    let mut kinds = line.kinds.to_vec();
    let lead = ask.and_then(|ask| ask.lead_at.clone());
    for range in lead.into_iter().chain(moved_from(line)) {
        if let Some(kinds) = kinds.get_mut(range) {
            kinds.fill(Lexeme::Opaque);
        }
    }
    kinds
}

/// The time from which something is moved to another: "moved from 3pm to 4pm", 从三点改到四点.
fn moved_from(line: &Line<'_>) -> Option<Range<usize>> {
    const MOVED: [&str; 9] = [
        "moved",
        "rescheduled",
        "changed",
        "shifted",
        "postponed",
        "delayed",
        "pushed",
        "moves",
        "move",
    ];
    const HAN: [char; 7] = ['改', '推', '延', '调', '挪', '移', '换'];
    let word = |at: usize| line.slice(at).to_lowercase();
    let n = line.kinds.len();
    let from = (0..n).find(|at| {
        word(*at) == "从"
            || word(*at) == "from"
                && (at.saturating_sub(3)..*at).any(|at| MOVED.contains(&word(at).as_str()))
    })?;
    let is_han = word(from) == "从";
    let to = (from + 1..n)
        .find(|at| if is_han { word(*at).starts_with(HAN) } else { word(*at) == "to" })?;
    Some(from..to)
}

fn times(line: &Line<'_>, phrases: Vec<Phrase>, said: Said<'_>, context: Context) -> Vec<Timed> {
    let all = shared(line, joined(line, phrases));
    let n_times = all.len();
    all.into_iter()
        .filter_map(|(mut slots, pieces)| {
            if context.is_birthday && slots.is_yearless() {
                slots.cycle = Some((1, Unit::Year));
            }
            // "the weekly report"
            let end = pieces.last().map_or(0, |piece| piece.end);
            let is_of_word = n_times > 1 && line.kind(end) == Some(&Lexeme::Word);
            let is_adjective = slots.is_cycle_alone()
                && (!context.is_asked || is_of_word)
                && pieces.iter().any(|piece| is_adjective(line.slice(piece.end - 1)));
            if is_adjective {
                return None;
            }
            let first = pieces.first().map(|piece| piece.start)?;
            if is_denied(line, first) {
                slots.doubt *= DENIED_DOUBT;
            }
            let meaning = resolve::meaning(&slots, said)?;
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
            let no_zone = || no_zone(line, &slots, &pieces);
            let unread = days::unread(line, &slots, &pieces);
            let flaw =
                unread.or_else(|| two_days(line, &slots, &meaning, &pieces)).or_else(no_zone);
            let is_aside = false;
            Some(Timed { slots, meaning, pieces, is_today, is_led, is_aside, flaw })
        })
        .collect()
}

/// "Friday 5 December", if that is no Friday.
fn two_days(
    line: &Line<'_>,
    slots: &Slots,
    meaning: &Meaning,
    pieces: &[Range<usize>],
) -> Option<Unarmed> {
    let (weekday, _) = slots.weekday?;
    let When::At(moment) = &meaning.when else { return None };
    let has_date = slots.date.is_some() || slots.month_day.is_some();
    let is_other = has_date && moment.civil.date().weekday() != weekday;
    let first = pieces.first()?.start;
    let last = pieces.last()?.end;
    let words = line.reading.text.get(span(line, &(first..last)))?;
    is_other.then(|| Unarmed::TwoDays(quoted(words)))
}

/// What stands for the zone of a time and names none.
fn no_zone(line: &Line<'_>, slots: &Slots, pieces: &[Range<usize>]) -> Option<Unarmed> {
    let hours = 60;
    let is_broken = |minutes: &i32| slots.recurs() && minutes % hours != 0;
    let offset = slots.offset.filter(is_broken).map(|minutes| {
        format!(
            "{}{:02}:{:02}",
            if minutes < 0 { '-' } else { '+' },
            minutes.abs() / hours,
            minutes.abs() % hours
        )
    });
    let word = slots.no_zone.clone().or(offset)?;
    let time = pieces.last().map_or("", |piece| line.reading.slice(&span(line, piece)));
    let time = time.replacen(&word, "", 1);
    let time = time.trim_matches(|c: char| !c.is_alphanumeric());
    Some(Unarmed::Zone { time: quoted(time), word })
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

/// Whether the words before a phrase say that it is not then: "instead of Friday".
fn is_denied(line: &Line<'_>, first: usize) -> bool {
    let before = |n: usize| first.checked_sub(n).map_or("", |at| line.slice(at)).to_lowercase();
    let (near, far) = (before(1), before(2));
    near == "not"
        || near == "than"
        || near == "of" && far == "instead"
        || near == "是" && far == "不"
}

/// Words that say how often, and also what something is like: a daily report.
fn is_adjective(word: &str) -> bool {
    const WORDS: [&str; 7] =
        ["daily", "everyday", "weekly", "biweekly", "monthly", "quarterly", "yearly"];
    WORDS.iter().any(|adjective| word.eq_ignore_ascii_case(adjective))
}
