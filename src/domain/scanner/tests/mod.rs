//! The tables of phrases, and what holds for every text.

mod meanings;
mod reasons;
mod table;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

use super::{Found, scan};

/// A time on the wall of a zone.
pub(super) fn moment(civil: &str, zone: &str) -> ZonedDateTime {
    let zone = TimeZone::get(zone).unwrap();
    let at: Timestamp = zone.to_timestamp(civil.parse().unwrap()).unwrap();
    at.to_zoned_datetime(zone)
}

/// What is found in a text, days without a time at nine.
pub(super) fn found(text: &str, now: &ZonedDateTime) -> Vec<Found> {
    scan(text, now, Time::constant(9, 0, 0, 0))
}
