//! The clock: fading, schedules and "yesterday" need a right one.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Finding;
use super::units::ask;
use crate::clock::SystemClock;
use crate::ports::Clock as _;

/// Years that a clock may show (from the first release to one that nobody here will see).
const YEARS: std::ops::RangeInclusive<i16> = 2026..=2125;

/// The time, and the zone of calendar questions.
pub(super) async fn findings() -> [Finding; 2] {
    let synchronised = ask("timedatectl", &["show", "--property=NTPSynchronized", "--value"]).await;
    [judge(SystemClock::new().now(), synchronised.as_deref().ok()), zone(&TimeZone::system())]
}

/// `synchronised` is what `timedatectl` says: `yes` or `no`.
fn judge(now: Timestamp, synchronised: Option<&str>) -> Finding {
    let part = "clock";
    let shown = now.strftime("%Y-%m-%d %H:%M:%S UTC");
    if !YEARS.contains(&TimeZone::UTC.to_datetime(now).year()) {
        let advice = "set it (`timedatectl set-time`): memories would get this date";
        return Finding::down(part, format!("it shows {shown}"), advice);
    }
    match synchronised {
        Some("yes") => Finding::ok(part, format!("{shown}, synchronised")),
        Some("no") => Finding::degraded(
            part,
            format!("{shown}, not synchronised with any other"),
            "`timedatectl set-ntp true`, where the network allows it",
        ),
        Some(_) | None => {
            Finding::ok(part, format!("{shown}; whether it is synchronised nobody here tells"))
        }
    }
}

fn zone(zone: &TimeZone) -> Finding {
    match zone.iana_name() {
        Some(name) if !zone.is_unknown() => Finding::ok("time zone", name),
        _ => Finding::degraded(
            "time zone",
            "unknown: dates in questions are read as those of UTC",
            "`timedatectl set-timezone NAME`, or set TZ where the daemon starts",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_wrong_or_lonely_clock_is_told() {
        for (now, synchronised, expected) in [
            ("2026-11-29T12:00:00Z", Some("yes"), State::Ok),
            ("2026-11-29T12:00:00Z", None, State::Ok),
            ("2026-11-29T12:00:00Z", Some("no"), State::Degraded),
            ("1970-01-01T00:00:10Z", Some("yes"), State::Down),
            ("2200-01-01T00:00:00Z", None, State::Down),
        ] {
            assert_eq!(judge(now.parse().unwrap(), synchronised).state, expected, "{now}");
        }
        assert_eq!(zone(&TimeZone::unknown()).state, State::Degraded);
        assert_eq!(zone(&TimeZone::get("Europe/Berlin").unwrap()).state, State::Ok);
    }
}
