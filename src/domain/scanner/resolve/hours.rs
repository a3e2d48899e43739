//! The time of day of a phrase.

use jiff::civil::Time;

use super::super::lexemes::{Clock, Part};
use super::super::slots::Slots;

/// Of an hour from eight to twelve without its half of the day: mostly the one before noon.
const MORNING_SURENESS: f64 = 0.97;
/// Of any other such hour.
const VAGUE_SURENESS: f64 = 0.82;
/// Hours up to this one are taken as those after noon.
const AFTERNOON_UNTIL: u8 = 7;

/// A time of day as far as it is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hour {
    None,
    /// The usual time of a part of the day.
    Part(Time),
    Exact {
        time: Time,
        /// Whether it is after the midnight that ends the day.
        is_late: bool,
    },
    Vague {
        time: Time,
        /// Twelve hours away.
        other: Time,
        sureness: f64,
    },
}

impl Hour {
    /// Whether the half of the day is a guess.
    pub(super) fn is_guess(self) -> bool {
        matches!(self, Self::Vague { sureness, .. } if sureness < MORNING_SURENESS)
    }

    /// The time that is meant, if one is told.
    pub(super) const fn time(self) -> Option<Time> {
        match self {
            Self::None => None,
            Self::Part(time) | Self::Exact { time, .. } | Self::Vague { time, .. } => Some(time),
        }
    }
}

/// The time of day of a phrase.
pub(super) fn hour(slots: &Slots) -> Hour {
    let Some(clock) = slots.clock else {
        return slots.part.map_or(Hour::None, |part| Hour::Part(usual(part)));
    };
    of(clock, slots.part)
}

/// The likeliest time of a clock, in this part of the day if one is named.
pub(in super::super) fn time_of(clock: Clock, part: Option<Part>) -> Option<Time> {
    of(clock, part).time()
}

fn of(clock: Clock, part: Option<Part>) -> Hour {
    if !clock.is_vague {
        // "tonight at 1am" is past midnight.
        let is_night = matches!(part, Some(Part::Evening | Part::Night)) && clock.hour < 5;
        return exact(clock, clock.hour, clock.is_late || is_night);
    }
    let noon_hour = clock.hour % 12;
    match part {
        Some(Part::Dawn) => exact(clock, noon_hour, false),
        Some(Part::Morning) => exact(clock, clock.hour, false),
        Some(Part::Noon | Part::Afternoon) => {
            // 中午十一点 is before noon.
            let is_before = part == Some(Part::Noon) && (10..12).contains(&clock.hour);
            exact(clock, if is_before { clock.hour } else { noon_hour + 12 }, false)
        }
        // 今晚十二点, "tonight at one": the night goes on past midnight.
        Some(Part::Evening | Part::Night) if noon_hour < 4 => exact(clock, noon_hour, true),
        Some(Part::Evening | Part::Night) => exact(clock, noon_hour + 12, false),
        // "10:00" is before noon, however late it is; "3:00" is mostly after it.
        None if clock.is_written && clock.hour > AFTERNOON_UNTIL => exact(clock, clock.hour, false),
        None => {
            let is_afternoon = clock.hour <= AFTERNOON_UNTIL || clock.hour == 12;
            let (first, second) = if is_afternoon {
                (noon_hour + 12, noon_hour)
            } else {
                (noon_hour, noon_hour + 12)
            };
            let is_sure = clock.hour > AFTERNOON_UNTIL;
            let sureness = if is_sure { MORNING_SURENESS } else { VAGUE_SURENESS };
            match (time(clock, first), time(clock, second)) {
                (Some(time), Some(other)) => Hour::Vague { time, other, sureness },
                _ => Hour::None,
            }
        }
    }
}

/// When a part of the day usually is; chosen.
pub(in super::super) fn usual(part: Part) -> Time {
    match part {
        Part::Dawn => Time::constant(5, 0, 0, 0),
        Part::Morning => Time::constant(9, 0, 0, 0),
        Part::Noon => Time::constant(12, 0, 0, 0),
        Part::Afternoon => Time::constant(15, 0, 0, 0),
        Part::Evening => Time::constant(19, 0, 0, 0),
        Part::Night => Time::constant(20, 0, 0, 0),
    }
}

fn exact(clock: Clock, hour: u8, is_late: bool) -> Hour {
    time(clock, hour).map_or(Hour::None, |time| Hour::Exact { time, is_late })
}

fn time(clock: Clock, hour: u8) -> Option<Time> {
    let part = |number: u8| i8::try_from(number).ok();
    Time::new(part(hour)?, part(clock.minute)?, part(clock.second)?, 0).ok()
}
