//! Finds the times that a text names, in English and Chinese, and says what they mean for someone who
//! reads it now: a moment, or a rule of recurrence.
//!
//! The typed values of [`crate::domain::grounding::values`] are the words of a small grammar here:
//! versions, ports, prices, ratios, addresses and sizes are values of their own there and never become
//! times. From each place the longest phrase counts, whatever its order. Nothing is invented: a day
//! without a time stays a day and gets the time that the caller gives for such days.
//!
//! The confidence weighs how openly the text names a time (a day and an hour more than a day alone),
//! whether it speaks of something to come (a meeting, a deadline, "remind me"), and what had to be
//! guessed (the half of the day, the year). Its steps were chosen on tables of phrases and on dialogues.

mod asks;
mod context;
mod flaws;
mod grammar;
mod joining;
mod leads;
mod length;
mod lexemes;
mod lexicon;
mod phrases;
mod resolve;
mod slots;
mod source;
mod speech;
mod subject;
mod unarmed;
mod weigh;
mod zones;

use std::ops::Range;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

use crate::domain::grounding::values;
use crate::domain::reminder::{Lead, Rule, RuleError};

pub use unarmed::{Scan, Unarmed};

/// Least confidence of a time that is proposed as a reminder; chosen.
pub const PROPOSE_MIN: f64 = 0.6;
/// Least confidence of a time at which a reminder arms by itself, if the text asks for it; chosen.
pub const ARM_MIN: f64 = 0.9;

/// A time that a text names.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent finding")]
pub struct Found {
    /// The bytes of the text from the first to the last word that tells the time.
    pub range: Range<usize>,
    /// The words that tell it, more than one range if others stand between ("tomorrow I see Bob at 3pm").
    pub pieces: Vec<Range<usize>>,
    /// When it is.
    pub when: When,
    /// How exactly the text tells it.
    pub precision: Precision,
    /// How sure it is that the text means this time and means it to come, 0.0..=1.0.
    pub confidence: f64,
    /// Whether the text asks to be reminded.
    pub is_asked: bool,
    /// Whether something is due by it.
    pub is_deadline: bool,
    /// Whether people meet then.
    pub is_meeting: bool,
    /// How long before it the text asks to be reminded, if it says.
    pub lead: Option<Lead>,
    /// What it is about: the sentence without the words for the time and the asking; may be empty.
    pub subject: String,
    /// The words that tell the time, cut where they are long.
    pub words: String,
    /// Whether the half of the day is a guess: "at 7", "7:45".
    pub is_guess: bool,
    /// Why it is not to be taken as it stands, whatever the confidence: it is neither armed nor proposed.
    pub flaw: Option<Unarmed>,
}

/// When something is.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// Once.
    At(Moment),
    /// Again and again.
    Every(Box<Rule>),
}

/// A moment and how it reads on the wall of its zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// The time on the wall.
    pub civil: DateTime,
    /// The moment; it tells which of the two a time is that comes twice.
    pub at: Timestamp,
    /// The zone that the text names, else the caller's.
    pub zone: TimeZone,
}

/// How exactly a text tells a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// An hour or better.
    Minute,
    /// A part of the day: the time is the usual one of it.
    Part,
    /// A day: the time is the one that was given for such days.
    Day,
}

impl When {
    /// The first time after `now`.
    pub fn next_after(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::At(moment) => (moment.at > now).then_some(moment.at),
            Self::Every(rule) => rule.next_after(now).map(|occurrence| occurrence.at),
        }
    }

    /// It as a rule.
    ///
    /// # Errors
    /// [`RuleError`]: the zone has no name.
    pub fn rule(&self) -> Result<Rule, RuleError> {
        match self {
            Self::At(moment) => Rule::once(moment.civil, moment.zone.clone()),
            Self::Every(rule) => Ok(Rule::clone(rule)),
        }
    }
}

impl Found {
    /// Whether it is worth proposing: sure enough, without a flaw, and still to come.
    pub fn is_proposal(&self, now: Timestamp) -> bool {
        let is_sure = self.confidence >= PROPOSE_MIN && self.flaw.is_none();
        is_sure && self.when.next_after(now).is_some()
    }

    /// Whether a reminder may arm by itself: the text asks for it and leaves nothing open.
    pub fn arms(&self, now: Timestamp) -> bool {
        self.is_asked && self.confidence >= ARM_MIN && self.is_proposal(now)
    }
}

/// The times that a text names, in order, those that have passed included; words like "tomorrow" are
/// those of `now` and its zone, and a day without a time is at `all_day_at`. At most
/// [`SCANNED_TIMES_MAX`](crate::domain::limits::SCANNED_TIMES_MAX).
pub fn scan(text: &str, now: &ZonedDateTime, all_day_at: Time) -> Vec<Found> {
    read(text, now, all_day_at).times
}

/// The same with what asks for them: [`Scan::unarmed`] says why a text that asks arms nothing.
pub fn read(text: &str, now: &ZonedDateTime, all_day_at: Time) -> Scan {
    scanned(text, now, all_day_at, false)
}

/// The same of a text that somebody gives to be reminded of: each sentence may name a lead, and a rule of
/// which something is left unread is never taken for a single time.
pub fn read_asked(text: &str, now: &ZonedDateTime, all_day_at: Time) -> Scan {
    scanned(text, now, all_day_at, true)
}

fn scanned(text: &str, now: &ZonedDateTime, all_day_at: Time, is_asked: bool) -> Scan {
    let text = source::readable(text);
    let reading = values::read(&text);
    let Some(source) = source::Source::new(&text, &reading.text) else { return Scan::default() };
    phrases::read(&reading, &source, resolve::Said { now, all_day_at }, is_asked)
}

/// The lead that a text is and nothing else: "an hour before", "the day before at 18:00", 提前半小时.
pub fn lead(text: &str) -> Option<Lead> {
    let text = source::readable(text);
    let reading = values::read(&text);
    phrases::lead(&reading)
}

/// Whether a text names an occasion on which people meet.
pub fn names_meeting(text: &str) -> bool {
    context::names_meeting(&source::readable(text))
}

/// Text that is not one time and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotATime {
    /// No time is read in it.
    #[error(
        "expected a time like \"tomorrow 3pm\", \"in two hours\", \"every Monday at 10\", 每周五下午三点 or 2026-12-04T15:00, got `{0}`"
    )]
    Unread(String),
    /// What is read is not to be taken as it stands.
    #[error(transparent)]
    Flawed(#[from] Unarmed),
    /// A time is read in it, and more that is not.
    #[error("read `{time}` in `{text}`, but not the rest: expected a time alone")]
    More {
        /// What is read.
        time: String,
        /// The text.
        text: String,
    },
    /// Several times are read in it.
    #[error("`{0}` names several times: expected one")]
    Several(String),
}

/// The one time that a text is.
///
/// # Errors
/// [`NotATime`].
pub fn whole(text: &str, now: &ZonedDateTime, all_day_at: Time) -> Result<Found, NotATime> {
    let shown = || unarmed::quoted(text);
    let mut scan = read(text, now, all_day_at);
    if let Some(flaw) = scan.flaw() {
        return Err(flaw.into());
    }
    let Some(first) = scan.times.pop() else { return Err(NotATime::Unread(shown())) };
    if !scan.times.is_empty() {
        return Err(NotATime::Several(shown()));
    }
    let is_more = |rest: Option<&str>| {
        asks::trimmed(rest.unwrap_or_default()).chars().any(char::is_alphanumeric)
    };
    let has_more = first.subject.chars().any(char::is_alphanumeric)
        || is_more(text.get(..first.range.start))
        || is_more(text.get(first.range.end..));
    if first.pieces.len() > 1 || has_more {
        return Err(NotATime::More { time: first.words, text: shown() });
    }
    Ok(first)
}

#[cfg(test)]
mod tests;
