//! When a scheduled backup is due, and what its file is called.

use std::time::Duration;

use jiff::Timestamp;

use super::limits::{BACKUP_RETRY, BACKUP_START_DELAY};

/// Ends the name of a backup.
const SUFFIX: &str = ".backup";
/// Begins the name of a backup in the usual place.
const PREFIX: &str = "recalld-";
/// Time in such a name; names sort by age.
const TIME: &str = "%Y%m%dT%H%M%S.%3fZ";

/// What is known when the next backup is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupHistory {
    /// The newest backup there is.
    pub last: Option<Timestamp>,
    /// The last attempt since then that failed.
    pub failed_at: Option<Timestamp>,
    /// When the daemon started.
    pub started_at: Timestamp,
}

/// When the next backup is due: `every` after the last one, soon after the start if that was missed
/// while the daemon was down, and a while after an attempt that failed.
pub fn next_backup(history: BackupHistory, every: Duration) -> Timestamp {
    let BackupHistory { last, failed_at, started_at } = history;
    let later = |time: Timestamp, by: Duration| time.checked_add(by).unwrap_or(Timestamp::MAX);
    let regular = last.map_or(started_at, |last| later(last, every));
    let retry = failed_at.map_or(started_at, |failed_at| later(failed_at, BACKUP_RETRY.min(every)));
    regular.max(retry).max(later(started_at, BACKUP_START_DELAY))
}

/// The name of a backup made at `at` in the usual place.
pub fn backup_name(at: Timestamp) -> String {
    format!("{PREFIX}{}{SUFFIX}", at.strftime(TIME))
}

/// Whether a file of this name may be one that [`backup_name`] named.
pub fn is_backup_name(name: &str) -> bool {
    let time = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    time.is_some_and(|time| {
        time.len() == "20260102T030405.678Z".len()
            && time.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'T' | b'.' | b'Z'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    #[track_caller]
    fn check(last: Option<i64>, failed_at: Option<i64>, started_at: i64, due: i64) {
        let history = BackupHistory {
            last: last.map(at),
            failed_at: failed_at.map(at),
            started_at: at(started_at),
        };
        assert_eq!(next_backup(history, Duration::from_hours(24)), at(due), "{history:?}");
    }

    #[test]
    fn a_backup_is_due_a_day_after_the_last_and_soon_after_a_start_that_comes_too_late() {
        let delay = i64::try_from(BACKUP_START_DELAY.as_secs()).unwrap();
        let retry = i64::try_from(BACKUP_RETRY.as_secs()).unwrap();
        // The first one ever.
        check(None, None, 0, delay);
        // Started an hour after the last one: on time.
        check(Some(0), None, HOUR, 24 * HOUR);
        // The daemon was down when it was due.
        check(Some(0), None, 24 * HOUR + 5, 24 * HOUR + 5 + delay);
        check(Some(0), None, 100 * HOUR, 100 * HOUR + delay);
        // It is due while the daemon is starting.
        check(Some(0), None, 24 * HOUR - 5, 24 * HOUR - 5 + delay);
        // An attempt failed: not again at once, and not later than it would be anyway.
        check(Some(0), Some(24 * HOUR), HOUR, 24 * HOUR + retry);
        check(None, Some(delay), 0, delay + retry);
        check(Some(0), Some(HOUR), 0, 24 * HOUR);
    }

    #[test]
    fn a_name_tells_its_time_and_is_known_again() {
        let name = backup_name(Timestamp::from_millisecond(1_700_000_000_123).unwrap());
        assert_eq!(name, "recalld-20231114T221320.123Z.backup");
        assert!(is_backup_name(&name));
        let mine =
            ["recalld-.backup", "recalld-20231114.backup", "before-upgrade.backup", "x.redb"];
        for name in mine {
            assert!(!is_backup_name(name), "{name}");
        }
    }
}
