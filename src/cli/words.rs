//! Numbers and times in words.

use jiff::Timestamp;
use serde_json::Value;

/// A size, in the largest unit that leaves it at least 1.
pub(super) fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut size = n as f64;
    let mut shown = "B";
    for unit in UNITS {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        shown = unit;
    }
    format!("{size:.1} {shown}")
}

/// The time from `since` to `now`, in its largest unit.
pub(super) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A time as an answer has it.
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_are_told_in_their_largest_unit() {
        for (n, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_572_864, "1.5 MiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(bytes(n), expected);
        }
        let now = Timestamp::from_second(1_000_000).unwrap();
        for (seconds, expected) in
            [(-5, "0 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (172_800, "2 d")]
        {
            let since = Timestamp::from_second(1_000_000 - seconds).unwrap();
            assert_eq!(age(since, now), expected);
        }
    }
}
