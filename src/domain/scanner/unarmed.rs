//! Why a time is not taken as it stands, and why a text that asks to be reminded arms nothing.

use std::ops::Range;

use jiff::Timestamp;

use super::Found;

/// Longest piece of a text that a reason quotes, characters.
const QUOTED_CHARS_MAX: usize = 64;

/// What a text says of times, and whether it asks to be reminded of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scan {
    /// The times that it names, in order, those that have passed included.
    pub times: Vec<Found>,
    /// The sentences that ask to be reminded.
    pub(super) asks: Vec<Asking>,
    /// The first words that say that something comes more often than daily.
    pub(super) often: Option<String>,
}

/// A sentence that asks to be reminded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asking {
    /// Which of the times it asks for.
    pub(super) times: Range<usize>,
    /// What keeps it from arming any of them, whatever they are.
    pub(super) why: Option<Unarmed>,
}

/// Why nothing is armed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unarmed {
    /// The sentence that asks names no time, and the next one neither.
    #[error("no time is named in the sentence that asks, nor in the one behind it")]
    NoTime,
    /// The time is over.
    #[error("`{0}` is over")]
    Past(String),
    /// Something comes more often than a reminder can.
    #[error("`{0}` comes more often than daily: a reminder comes once a day at most")]
    TooOften(String),
    /// Words that belong to a rule are not understood.
    #[error(
        "`{unread}` is not understood{}: expected one rule of days, weeks, months or years with one time of \
         day, like \"every Friday 15:00 until 20 December\"",
        as_part_of(read)
    )]
    Incomplete {
        /// What is understood; empty: nothing.
        read: String,
        /// What is not.
        unread: String,
    },
    /// A word says in which zone a time is, but not which one that is.
    #[error(
        "`{word}` beside `{time}` names no zone that is known, or several: expected an IANA name like \
         Asia/Shanghai, or an offset of -12:00 to +14:00"
    )]
    Zone {
        /// The time.
        time: String,
        /// What stands for the zone.
        word: String,
    },
    /// Words beside a time name its day, and are not understood.
    #[error(
        "`{word}` beside `{time}` names a day that is not understood: expected a date like 4 December or \
         2026-12-04"
    )]
    Day {
        /// The time.
        time: String,
        /// What names the day.
        word: String,
    },
    /// A word beside a day may be an hour, and is not understood.
    #[error("`{word}` beside `{day}` may be an hour: expected one like 14:00 or 2pm")]
    Hour {
        /// The day.
        day: String,
        /// What may be an hour.
        word: String,
    },
    /// A weekday and a date that are not the same day.
    #[error("`{0}` names two days that are not the same: expected one of them")]
    TwoDays(String),
    /// Words that take something back.
    #[error("`{0}` takes something back: say it once, as it is meant")]
    Corrected(String),
    /// Somebody's words are told.
    #[error("the words that ask are quoted or told of somebody")]
    Quoted,
    /// The words leave open when it is, or whether it is meant.
    #[error("`{0}` leaves open which day or hour it is")]
    Unsure(String),
}

impl Scan {
    /// Why they arm nothing at `now`: one reason for each sentence that asks to be reminded and arms
    /// nothing. Empty if no sentence asks, or each arms something.
    pub fn unarmed(&self, now: Timestamp) -> Vec<Unarmed> {
        self.asks.iter().filter_map(|ask| self.why(ask, now)).collect()
    }

    /// Why the times in it are not to be taken as they stand, if one of them is not, or if it says that
    /// something comes more often than a reminder can.
    pub fn flaw(&self) -> Option<Unarmed> {
        let often = self.often.clone().map(Unarmed::TooOften);
        often.or_else(|| self.times.iter().find_map(|time| time.flaw.clone()))
    }

    fn why(&self, ask: &Asking, now: Timestamp) -> Option<Unarmed> {
        let end = ask.times.end.min(self.times.len());
        let times = self.times.get(ask.times.start..end).unwrap_or(&[]);
        if times.iter().any(|time| time.arms(now)) {
            return None;
        }
        if let Some(why) = &ask.why {
            return Some(why.clone());
        }
        let flaw = times.iter().find_map(|time| time.flaw.clone());
        let open = times.iter().find(|time| time.when.next_after(now).is_some());
        let unsure = open.map(|time| Unarmed::Unsure(time.words.clone()));
        let past = times.first().map(|time| Unarmed::Past(time.words.clone()));
        Some(flaw.or(unsure).or(past).unwrap_or(Unarmed::NoTime))
    }
}

fn as_part_of(read: &str) -> String {
    if read.is_empty() { String::new() } else { format!(" as a part of `{read}`") }
}

/// A piece of a text as a reason quotes it.
pub(super) fn quoted(text: &str) -> String {
    text.trim().chars().take(QUOTED_CHARS_MAX).collect()
}
