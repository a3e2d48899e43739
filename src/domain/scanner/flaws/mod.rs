//! What of a sentence belongs to its rule and is not read: without it the rule would be another one.
//!
//! A rule is never taken half read. Words that bound, thin out or multiply what recurs ("until Christmas",
//! "except holidays", "twice", "and 6pm") either became part of it in the grammar or make every time of
//! their sentence one that is neither armed nor proposed.

mod counts;
pub(super) mod days;

use std::ops::Range;

use counts::count;

use super::Unarmed;
use super::asks::Ask;
use super::grammar::{self, Line, Phrase};
use super::length::Unit;
use super::lexemes::Lexeme;
use super::lexicon::Cue;
use super::phrases::{Timed, span};
use super::source::Source;
use super::unarmed::quoted;
use crate::domain::grounding::values::{DateParts, Period};

/// Most lexemes that a reason quotes from an unread word on.
const TAIL_MAX: usize = 6;
/// Most lexemes between "every" and what comes again: "every 2nd and 4th Monday".
const EVERY_MAX: usize = 5;
/// What comes again and is no unit of time here.
const SEASONS: &str = "christmas easter thanksgiving halloween holiday spring summer autumn fall winter season \
    semester sunrise sunset few couple several so now";
/// How often, in words that are not read.
const CYCLES: &str =
    "bimonthly semimonthly semiannually biannually biennially semiweekly triweekly nightly";
/// Words before a day that bound a rule or leave out of it, beside those that the grammar reads.
const BOUNDS: &str = "skip skipping without save minus omitting barring ending ends up between as effective during \
    throughout only no not 跳过 仅 只在 只";
/// The same behind it.
const LEFT_OUT: &str = "excluded excepted off exempt 不 不用 休息 停 免 跳过";

/// The lexemes that say that something comes more often than daily.
pub(super) fn often(line: &Line<'_>, phrases: &[Phrase]) -> Option<Range<usize>> {
    let is_often = |phrase: &&Phrase| {
        let unit = phrase.slots.cycle.map(|(_, unit)| unit);
        // "the hourly report"
        let end = phrase.lexemes.end;
        let is_adjective = line.slice(end - 1).eq_ignore_ascii_case("hourly")
            && line.kind(end) == Some(&Lexeme::Word);
        !is_adjective && matches!(unit, Some(Unit::Second | Unit::Minute | Unit::Hour))
    };
    let by_hours = phrases.iter().find(is_often).map(|phrase| phrase.lexemes.clone());
    let daily = || {
        let counts = (0..line.kinds.len()).filter_map(|at| count(line, at));
        counts.filter(|(_, unit)| *unit == Some(Unit::Day)).map(|(range, _)| range).next()
    };
    // 每天隔两小时
    let apart = || {
        (0..line.kinds.len()).find_map(|at| {
            let is_apart = line.kind(at) == Some(&Lexeme::Cue(Cue::Other));
            let (length, n) = grammar::length(line, at + 1).filter(|_| is_apart)?;
            length.is_short().then_some(at..at + 1 + n)
        })
    };
    by_hours.or_else(daily).or_else(apart)
}

/// Marks the times of a sentence that are not to be taken as they stand; `asks`: it asks to be reminded,
/// `why`: what keeps all that it asks for from arming. Answers with what is not read of a sentence without
/// any time.
pub(super) fn mark(
    line: &Line<'_>,
    source: &Source<'_>,
    times: &mut [Timed],
    why: Option<&Unarmed>,
    asks: bool,
    ask: Option<&Ask>,
) -> Option<Unarmed> {
    let is_open = |time: &&mut Timed| time.flaw.is_none() && (asks || time.slots.recurs());
    if let Some(why @ Unarmed::TooOften(_)) = why {
        times.iter_mut().filter(is_open).for_each(|time| time.flaw = Some(why.clone()));
        return None;
    }
    let unread = Sentence::of(line, times, ask).unread(asks);
    if let Some(unread) = unread {
        let unread = quoted(source.slice(&span(line, &unread)));
        let rule = times.iter().find(|time| time.slots.recurs()).or(times.first());
        let read = rule.map_or_else(String::new, |time| time.words(line, source));
        let flaw = Unarmed::Incomplete { read, unread };
        times.iter_mut().filter(is_open).for_each(|time| time.flaw = Some(flaw.clone()));
        return times.is_empty().then_some(flaw);
    }
    let rule = times.iter().find(|time| time.slots.recurs()).map(|time| time.words(line, source));
    let read = rule.filter(|_| asks)?;
    // The rule is what is asked for; a time beside it stands for itself.
    for time in times.iter_mut().filter(|time| !time.slots.recurs()) {
        time.is_aside = true;
        if !time.slots.has_day() && !time.slots.is_moment() && time.flaw.is_none() {
            let unread = time.words(line, source);
            time.flaw = Some(Unarmed::Incomplete { read: read.clone(), unread });
        }
    }
    None
}

/// A sentence and what of it is read.
struct Sentence<'l> {
    line: &'l Line<'l>,
    /// For each lexeme whether it tells a rule.
    in_rule: Vec<bool>,
    /// For each lexeme whether it tells a day of its own.
    in_day: Vec<bool>,
    /// The pieces of the rules.
    rules: Vec<Range<usize>>,
    /// The hours that are told without a day.
    hours: Vec<Range<usize>>,
    /// Where the asking begins, if it does.
    asked_at: Option<usize>,
}

impl<'l> Sentence<'l> {
    fn of(line: &'l Line<'l>, times: &[Timed], ask: Option<&Ask>) -> Self {
        let n = line.kinds.len();
        let covered = |is_in: &dyn Fn(&Timed) -> bool| {
            let mut covered = vec![false; n];
            for piece in times.iter().filter(|time| is_in(time)).flat_map(|time| &time.pieces) {
                if let Some(lexemes) = covered.get_mut(piece.clone()) {
                    lexemes.fill(true);
                }
            }
            covered
        };
        let is_dated = |time: &Timed| {
            let slots = &time.slots;
            let is_bare = slots.month_day.is_some() || slots.weekday.is_some();
            !slots.recurs() && (slots.is_moment() || slots.has_day() && !is_bare)
        };
        let rules = times.iter().filter(|time| time.slots.recurs());
        let is_hour = |time: &&Timed| {
            let slots = &time.slots;
            !slots.recurs() && !slots.has_day() && !slots.is_moment()
        };
        let hours = times.iter().filter(is_hour).filter_map(|time| time.pieces.first().cloned());
        Self {
            hours: hours.collect(),
            line,
            in_rule: covered(&|time| time.slots.recurs()),
            in_day: covered(&is_dated),
            rules: rules.flat_map(|time| time.pieces.iter().cloned()).collect(),
            asked_at: ask.and_then(|ask| ask.cut.first()).map(|range| range.start),
        }
    }

    /// The first words that belong to a rule and are not read.
    fn unread(&self, asks: bool) -> Option<Range<usize>> {
        let has_rule = !self.rules.is_empty();
        if !has_rule && !asks {
            return None;
        }
        let n = self.line.kinds.len();
        let in_cues = (0..n).find_map(|at| {
            let always = self.repeated(at).or_else(|| self.nth_of(at));
            always.or_else(|| self.bound(at).filter(|_| has_rule))
        });
        let beside = || {
            let mut pieces = self.rules.iter();
            pieces.find_map(|piece| self.more_behind(piece).or_else(|| self.more_before(piece)))
        };
        let around = || self.rules.iter().find_map(|piece| self.around(piece));
        let stretch = (0..n).find(|at| has_rule && self.is_stretch(*at)).map(|at| at..at + 3);
        if stretch.is_some() {
            return stretch;
        }
        in_cues
            .or_else(beside)
            .or_else(around)
            .or_else(|| self.hours.iter().find_map(|hour| self.joined(hour)))
    }

    /// "7 December to 28 December": both ends of a rule at once.
    fn is_stretch(&self, at: usize) -> bool {
        let is_date = |at: usize| matches!(self.line.kind(at), Some(Lexeme::Date(_)));
        let is_to = matches!(
            self.line.kind(at + 1),
            Some(Lexeme::Cue(Cue::To | Cue::Until) | Lexeme::Mark('-' | '–' | '—' | '~'))
        );
        is_to && is_date(at) && is_date(at + 2)
    }

    /// A week, a month or a place in one right beside a rule: "every Friday this month", 下周每天, 每月最后两天.
    fn around(&self, piece: &Range<usize>) -> Option<Range<usize>> {
        let line = self.line;
        let is_whole = |at: &usize| match line.kind(*at) {
            Some(Lexeme::Shift { period, .. }) => *period != Period::Day,
            Some(Lexeme::Date(parts)) => parts.day.is_none(),
            _ => false,
        };
        let before = piece.start.checked_sub(1).filter(|at| is_whole(at) && self.is_free(*at));
        let behind = Some(piece.end).filter(|at| {
            let is_place = line.slice(*at) == "最"
                || matches!(line.kind(*at), Some(Lexeme::Cue(Cue::Nth(_) | Cue::LastDay)));
            let is_end = line.kind(*at) == Some(&Lexeme::Cue(Cue::To)) && is_day(line, at + 1);
            // "every Friday the 13th"
            let is_place = is_place
                || matches!(line.from(*at), [Lexeme::Cue(Cue::The), Lexeme::Ordinal(_), ..]);
            self.is_free(*at) && (is_whole(at) || is_place || is_end)
        });
        before.map(|at| at..at + 1).or(behind.map(|at| at..self.tail(at)))
    }

    /// An hour that something joins to the rest: "every day at 9am to take the pills and at 6pm".
    fn joined(&self, hour: &Range<usize>) -> Option<Range<usize>> {
        let before = hour.start.checked_sub(1).filter(|_| !self.rules.is_empty())?;
        grammar::joint(self.line, before).map(|_| before..hour.end)
    }

    fn is_free(&self, at: usize) -> bool {
        self.in_rule.get(at) == Some(&false)
    }

    /// "twice a week", "every few days", "every 2nd and 4th Monday".
    fn repeated(&self, at: usize) -> Option<Range<usize>> {
        if !self.is_free(at) {
            return None;
        }
        if let Some((range, unit)) = count(self.line, at) {
            return (unit.is_some() || !self.rules.is_empty()).then_some(range);
        }
        if is_in(CYCLES, self.line.slice(at)) {
            return Some(at..at + 1);
        }
        if let [Lexeme::Cue(Cue::For), Lexeme::Cue(Cue::The), Lexeme::Cue(Cue::Next), ..] =
            self.line.from(at)
        {
            return Some(at..self.tail(at));
        }
        let is_whole = matches!(self.line.slice(at).to_lowercase().as_str(), "all" | "whole");
        if is_whole
            && matches!(self.line.kind(at + 1), Some(Lexeme::Unit(Unit::Week | Unit::Month)))
        {
            return Some(at..at + 2);
        }
        if !matches!(self.line.kind(at), Some(Lexeme::Cue(Cue::Every | Cue::Skipping))) {
            return None;
        }
        let is_season = is_in(SEASONS, self.line.slice(at + 1));
        let end = (at + 1..=at + EVERY_MAX).find(|at| {
            let is_unit = matches!(
                self.line.kind(*at),
                Some(
                    Lexeme::Unit(_)
                        | Lexeme::Weekday { .. }
                        | Lexeme::Length(_)
                        | Lexeme::Cue(Cue::WorkingDays | Cue::Weekend)
                )
            );
            is_unit && self.is_free(*at) && !self.in_day.get(*at).is_some_and(|is_in| *is_in)
        });
        end.map(|end| end + 1).or(is_season.then_some(at + 2)).map(|end| at..end)
    }

    /// "the last working day", "the first weekend", beside a rule "the last day of the year".
    fn nth_of(&self, at: usize) -> Option<Range<usize>> {
        let (_, n) = grammar::nth(self.line, at).filter(|_| self.is_free(at))?;
        let end = at + n;
        let is_working = grammar::is_working_day(self.line, end);
        let is_group =
            matches!(self.line.kind(end), Some(Lexeme::Cue(Cue::WorkingDays | Cue::Weekend)));
        let is_unit = matches!(self.line.kind(end), Some(Lexeme::Unit(Unit::Day | Unit::Week)))
            && self
                .rules
                .iter()
                .any(|rule| end < rule.end + EVERY_MAX && rule.start < end + EVERY_MAX);
        (is_working || is_group || is_unit).then(|| at..end + 1 + usize::from(is_working))
    }

    /// "until Christmas", "except holidays", "from January", "for two weeks".
    fn bound(&self, at: usize) -> Option<Range<usize>> {
        let line = self.line;
        let word = line.slice(at);
        if !self.is_free(at) {
            return None;
        }
        let next = (at + 1..line.kinds.len()).find(|at| {
            !matches!(
                line.kind(*at),
                Some(Lexeme::Cue(Cue::On | Cue::The | Cue::In | Cue::From | Cue::Of | Cue::To))
            )
        });
        let is_day_next = next.is_some_and(|next| is_day(line, next));
        let is_bound = match line.kind(at) {
            Some(Lexeme::Cue(Cue::Except)) => true,
            Some(Lexeme::Cue(Cue::Excepted)) => return Some(self.head(at)..at + 1),
            Some(Lexeme::Cue(Cue::Until)) => !word.eq_ignore_ascii_case("through") || is_day_next,
            Some(Lexeme::Cue(Cue::From | Cue::Start)) => {
                let is_past = |at: usize| {
                    matches!(
                        line.kind(at),
                        Some(
                            Lexeme::Shift { by: ..0, .. } | Lexeme::Weekday { week: Some(..0), .. }
                        )
                    )
                };
                is_day_next && !next.is_some_and(is_past)
            }
            // "every Friday in December"
            Some(Lexeme::Cue(Cue::In)) => matches!(
                line.kind(at + 1),
                Some(Lexeme::Date(DateParts { month: Some(_), day: None, .. }))
            ),
            Some(Lexeme::Cue(Cue::For)) => {
                grammar::length(line, at + 1).is_some_and(|(length, _)| !length.is_short())
            }
            _ if is_in(LEFT_OUT, word) && at.checked_sub(1).is_some_and(|at| is_day(line, at)) => {
                return Some(self.head(at)..at + 1);
            }
            _ => {
                let is_span = word.eq_ignore_ascii_case("between")
                    && matches!(line.kind(at + 1), Some(Lexeme::Number { .. }));
                let is_part = matches!(word, "早晚" | "早中晚" | "为止")
                    || word.eq_ignore_ascii_case("during")
                    || word.eq_ignore_ascii_case("but")
                        && (at + 1..at + EVERY_MAX).any(|at| is_day(line, at));
                let is_bound = is_day_next && is_in(BOUNDS, word);
                if let Some(next) = next.filter(|_| is_bound) {
                    return Some(at..next + 1);
                }
                is_part || is_span || self.is_not(at)
            }
        };
        is_bound.then(|| at..self.tail(at))
    }

    /// Where the words begin that an unread one ends: 节假日除外.
    fn head(&self, at: usize) -> usize {
        let is_mark = |at: &usize| matches!(self.line.kind(*at), Some(Lexeme::Mark(_)));
        let words = (0..at).rev().take(TAIL_MAX).take_while(|at| !is_mark(at));
        words.last().unwrap_or(at)
    }

    /// "but not on Friday", "apart from holidays".
    fn is_not(&self, at: usize) -> bool {
        let word = |at: usize| self.line.slice(at).to_lowercase();
        let is_not = matches!(
            (word(at).as_str(), word(at + 1).as_str()),
            ("but" | "and", "not")
                | ("not", "on")
                | ("apart" | "aside", "from")
                | ("other", "than")
        );
        let is_small = |at: usize| {
            matches!(self.line.kind(at), Some(Lexeme::Cue(Cue::On | Cue::The | Cue::In)))
        };
        let next = (at + 2..self.line.kinds.len()).find(|at| !is_small(*at));
        is_not && next.is_some_and(|at| is_day(self.line, at) || word(at).starts_with("holiday"))
    }

    /// Where the words end that an unread one leads.
    fn tail(&self, at: usize) -> usize {
        let n = self.line.kinds.len();
        let is_other = |at: &usize| {
            let is_mark = matches!(self.line.kind(*at), Some(Lexeme::Mark(_)));
            is_mark || !self.is_free(*at) || self.asked_at == Some(*at)
        };
        let end = (at + 1..n).find(is_other);
        end.unwrap_or(n).min(at + TAIL_MAX)
    }

    /// One more hour or day behind a rule: "daily at 9am and 6pm".
    fn more_behind(&self, piece: &Range<usize>) -> Option<Range<usize>> {
        let (n_joint, is_and) = grammar::joint(self.line, piece.end)?;
        let at = self.past_small(piece.end + n_joint);
        self.is_more(at, is_and).then_some(piece.end..at + 1)
    }

    /// The same before it: "the 1st and the 15th of each month".
    fn more_before(&self, piece: &Range<usize>) -> Option<Range<usize>> {
        let is_small = |at: usize| {
            matches!(self.line.kind(at), Some(Lexeme::Cue(Cue::The | Cue::On | Cue::At | Cue::In)))
        };
        let joint_at = (0..piece.start).rev().find(|at| !is_small(*at))?;
        let (_, is_and) = grammar::joint(self.line, joint_at)?;
        let at = joint_at.checked_sub(1)?;
        self.is_more(at, is_and).then_some(at..piece.start)
    }

    fn past_small(&self, at: usize) -> usize {
        let is_small = |at: &usize| {
            let kind = self.line.kind(*at);
            matches!(kind, Some(Lexeme::Cue(Cue::The | Cue::On | Cue::At | Cue::By | Cue::In)))
        };
        at + (at..self.line.kinds.len()).take_while(is_small).count()
    }

    /// Whether what is joined to a rule is one more of its hours or days.
    fn is_more(&self, at: usize, is_and: bool) -> bool {
        if !self.is_free(at) || self.in_day.get(at) == Some(&true) {
            return false;
        }
        let is_word = matches!(self.line.kind(at + 1), Some(Lexeme::Word | Lexeme::Opaque));
        match self.line.kind(at) {
            Some(Lexeme::Clock(_)) => true,
            Some(Lexeme::Date(parts)) => parts.month.is_none() && parts.year.is_none(),
            Some(Lexeme::Ordinal(_)) => !is_word,
            Some(Lexeme::Number { number, is_counted: false }) => {
                let is_listed = is_and || at + 1 == self.line.kinds.len();
                *number <= 31
                    && !is_word
                    && (is_listed || grammar::joint(self.line, at + 1).is_some())
            }
            Some(Lexeme::Part(_) | Lexeme::Weekday { .. } | Lexeme::Cue(Cue::Nth(_))) => is_and,
            _ => false,
        }
    }
}

/// Whether a place names a day.
fn is_day(line: &Line<'_>, at: usize) -> bool {
    matches!(
        line.kind(at),
        Some(
            Lexeme::Date(_)
                | Lexeme::Weekday { .. }
                | Lexeme::Shift { .. }
                | Lexeme::Ordinal(_)
                | Lexeme::Instant(_)
                | Lexeme::Cue(Cue::Weekend | Cue::WorkingDays)
        )
    )
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| word.eq_ignore_ascii_case(known))
}
