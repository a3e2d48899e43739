//! Reads times as callers write them.

use std::ops::RangeInclusive;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ZonedDateTime};

/// Text that is not a time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an ISO 8601 time (2024-05-08T13:56:00Z, 2024-05-08T13:56, or a date 2024-05-08), got `{0}`"
)]
pub struct InvalidTime(String);

/// Reads an ISO 8601 time: with offset or zone as it says, without one in `zone`; a bare date is
/// the start of that day there. Whole microseconds are kept.
///
/// # Errors
/// [`InvalidTime`] for anything else.
pub fn parse(text: &str, zone: &TimeZone) -> Result<Timestamp, InvalidTime> {
    let trimmed = text.trim();
    let parsed = trimmed
        .parse::<Timestamp>()
        .ok()
        .or_else(|| trimmed.parse::<ZonedDateTime>().ok().map(|zoned| zoned.timestamp()))
        .or_else(|| {
            let civil = if trimmed.contains([':', 'T', 't']) {
                trimmed.parse::<DateTime>().ok()?
            } else {
                trimmed.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight())
            };
            zone.to_timestamp(civil).ok()
        });
    parsed
        .filter(|_| has_real_offset(trimmed))
        .and_then(|time| Timestamp::from_microsecond(time.as_microsecond()).ok())
        .ok_or_else(|| InvalidTime(text.chars().take(64).collect()))
}

/// Minutes that zones lie behind UTC and ahead of it at most.
const OFFSET_MINUTES: RangeInclusive<i32> = -12 * 60..=14 * 60;

/// Whether the offset at the end of a time (`10:00+02:00`, `T10:00-0530[Asia/Tokyo]`), if it has one, is
/// such that a zone can have it: -12:00 to +14:00.
pub fn has_real_offset(time: &str) -> bool {
    let time = time.split('[').next().unwrap_or("").trim();
    let Some(at) =
        time.find(':').and_then(|from| Some(from + time.get(from..)?.rfind(['+', '-'])?))
    else {
        return true;
    };
    time.get(at..).and_then(offset_minutes).is_none_or(|minutes| OFFSET_MINUTES.contains(&minutes))
}

/// The minutes of an offset from UTC: `+8`, `+08`, `-0530`, `+05:30`. `None` for what is none.
pub fn offset_minutes(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-'])?;
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) => (hours, minutes.split(':').next()?),
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let is_number =
        |part: &str| matches!(part.len(), 1 | 2) && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(hours) || !is_number(minutes) {
        return None;
    }
    let total = hours.parse::<i32>().ok()?.checked_mul(60)?.checked_add(minutes.parse().ok()?)?;
    Some(if text.starts_with('-') { -total } else { total })
}

/// The offset that a zone has, as a text says it: minutes ahead of UTC.
pub fn real_offset(text: &str) -> Option<i32> {
    offset_minutes(text).filter(|minutes| OFFSET_MINUTES.contains(minutes))
}

/// Reads a moment up to which something counts: a bare date is the last microsecond of that day,
/// everything else as in [`parse`].
///
/// # Errors
/// As [`parse`].
pub fn parse_end(text: &str, zone: &TimeZone) -> Result<Timestamp, InvalidTime> {
    let is_date = !text.trim().contains([':', 'T', 't']);
    let next_day = text.trim().parse::<Date>().and_then(Date::tomorrow);
    match next_day {
        Ok(next_day) if is_date => {
            let end = zone.to_timestamp(next_day.to_datetime(jiff::civil::Time::midnight()));
            end.and_then(|end| end.checked_sub(SignedDuration::from_micros(1)))
                .map_err(|_| InvalidTime(text.chars().take(64).collect()))
        }
        _ => parse(text, zone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_the_zone_they_name_or_the_callers() {
        let shanghai = TimeZone::get("Asia/Shanghai").unwrap();
        for (text, expected) in [
            ("2024-05-08T13:56:00Z", "2024-05-08T13:56:00Z"),
            ("2024-05-08T13:56:00+02:00", "2024-05-08T11:56:00Z"),
            ("2024-05-08T13:56", "2024-05-08T05:56:00Z"),
            ("2024-05-08 13:56:30", "2024-05-08T05:56:30Z"),
            (" 2024-05-08 ", "2024-05-07T16:00:00Z"),
            ("2024-05-08T13:56[Europe/Berlin]", "2024-05-08T11:56:00Z"),
        ] {
            assert_eq!(parse(text, &shanghai).unwrap(), expected.parse().unwrap(), "{text}");
        }
    }

    #[test]
    fn a_date_ends_with_its_day() {
        let shanghai = TimeZone::get("Asia/Shanghai").unwrap();
        for (text, expected) in [
            ("2024-05-08", "2024-05-08T15:59:59.999999Z"),
            ("2024-05-08T13:56", "2024-05-08T05:56:00Z"),
            ("2024-05-08T13:56:00Z", "2024-05-08T13:56:00Z"),
        ] {
            let found = parse_end(text, &shanghai).unwrap();
            assert_eq!(found, expected.parse().unwrap(), "{text}");
        }
        assert!(parse_end("May", &shanghai).is_err());
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        let offset = "2024-05-08T13:56:00+25:00";
        for text in ["", "yesterday", "2024", "13:56", "2024-13-01", "08/05/2024", offset] {
            let error = parse(text, &TimeZone::UTC).unwrap_err();
            assert!(error.to_string().contains("ISO 8601"), "{text}: {error}");
        }
    }
}
