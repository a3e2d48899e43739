//! What a phrase means when it is said at a given moment.

mod days;
mod hours;
mod recurring;

pub(super) use hours::{time_of, usual};

use jiff::civil::{DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ZonedDateTime};

use super::slots::Slots;
use super::{Moment, Precision, When};

/// When a text was said.
#[derive(Clone, Copy)]
pub(super) struct Said<'n> {
    pub(super) now: &'n ZonedDateTime,
    /// The time of what has a day only.
    pub(super) all_day_at: Time,
}

/// What a phrase means, and how sure that is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Meaning {
    pub(super) when: When,
    /// How exactly the text tells the time.
    pub(super) precision: Precision,
    /// Factor on the confidence, 0.0..=1.0.
    pub(super) sureness: f64,
    /// Whether it is tomorrow's only because today's has passed.
    pub(super) is_next: bool,
    /// Whether the half of the day is a guess.
    pub(super) is_guess: bool,
}

/// What the slots mean; `None` if they are too few to tell.
pub(super) fn meaning(slots: &Slots, said: Said<'_>) -> Option<Meaning> {
    let zone = match (&slots.zone, slots.offset) {
        (Some(name), _) => TimeZone::get(name).ok()?,
        (None, Some(minutes)) => fixed(minutes, slots.recurs())?,
        (None, None) => said.now.time_zone().clone(),
    };
    if let Some(at) = slots.instant {
        return Some(Meaning {
            when: When::At(at_instant(at, said.now.time_zone().clone())),
            precision: Precision::Minute,
            sureness: slots.doubt,
            is_next: false,
            is_guess: false,
        });
    }
    if let Some(length) = slots.elapsed.filter(|length| length.is_short()) {
        let at = length.after(said.now)?.timestamp();
        return Some(Meaning {
            when: When::At(at_instant(at, zone)),
            precision: Precision::Minute,
            sureness: slots.doubt,
            is_next: false,
            is_guess: false,
        });
    }
    if slots.recurs() {
        return recurring::meaning(slots, said, zone);
    }
    once(slots, said, zone)
}

fn at_instant(at: Timestamp, zone: TimeZone) -> Moment {
    // Seconds are the finest part of a time here, as they are of a rule.
    let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
    Moment { civil: zone.to_datetime(at), at, zone }
}

/// A single time.
fn once(slots: &Slots, said: Said<'_>, zone: TimeZone) -> Option<Meaning> {
    let today = said.now.date();
    let hour = hours::hour(slots);
    let is_open = !slots.has_day() && slots.elapsed.is_none();
    let (day, day_sureness) = if is_open {
        (today, 1.0)
    } else {
        let named = days::day(slots, said.now, hour.time())?;
        (named.date, named.sureness)
    };
    let (time, precision, hour_sureness) = match hour {
        hours::Hour::None | hours::Hour::Part(_) if is_open => return None,
        hours::Hour::None => (said.all_day_at, Precision::Day, 1.0),
        hours::Hour::Part(time) => (time, Precision::Part, 1.0),
        hours::Hour::Exact { time, .. } => (time, Precision::Minute, 1.0),
        hours::Hour::Vague { time, other, sureness } => {
            // At two in the afternoon "at 3" is an hour away and "at 9" is tonight.
            let is_past = |time: Time| day == today && day.to_datetime(time) <= said.now.datetime();
            if is_past(time) && !is_past(other) {
                (other, Precision::Minute, sureness * OTHER_HALF_SURENESS)
            } else {
                (time, Precision::Minute, sureness)
            }
        }
    };
    let is_late = matches!(hour, hours::Hour::Exact { is_late: true, .. });
    let day = if is_late { day.tomorrow().ok()? } else { day };
    let mut civil = day.to_datetime(time);
    let sureness = slots.doubt * day_sureness * hour_sureness;
    let is_next = is_open && to_instant(civil, &zone)? <= said.now.timestamp();
    if is_next {
        civil = day.tomorrow().ok()?.to_datetime(time);
    }
    let at = to_instant(civil, &zone)?;
    // An offset has no name that a rule could bear.
    let is_named = zone.iana_name().is_some();
    let moment = if is_named {
        Moment { civil, at, zone }
    } else {
        at_instant(at, said.now.time_zone().clone())
    };
    let is_guess = hour.is_guess();
    Some(Meaning { when: When::At(moment), precision, sureness, is_next, is_guess })
}

/// Of the less usual half of the day, taken because the usual one has passed.
const OTHER_HALF_SURENESS: f64 = 0.9;
/// The zone of an offset: one without a name for a single time, of whole hours for what recurs.
fn fixed(minutes: i32, recurs: bool) -> Option<TimeZone> {
    if !recurs {
        return Some(TimeZone::fixed(Offset::from_seconds(minutes.checked_mul(60)?).ok()?));
    }
    // The sign is the other way round in these names.
    let hours = minutes / 60;
    TimeZone::get(&format!("Etc/GMT{}{}", if hours > 0 { '-' } else { '+' }, hours.abs())).ok()
}

fn to_instant(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    zone.to_timestamp(civil).ok()
}
