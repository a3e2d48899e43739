//! Crontab lines as administrators write them, and the nights on which clocks change.

use super::*;

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

/// The moments after `after` (local, with offset) at which `line` is due, on the wall with offset.
#[track_caller]
fn check(line: &str, name: &str, after: &str, expected: &[&str]) {
    let schedule = Schedule::parse(line, &zone(name)).unwrap();
    let after: Timestamp = after.parse().unwrap();
    let shown: Vec<String> = schedule
        .upcoming(after, expected.len())
        .iter()
        .map(|at| at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
        .collect();
    assert_eq!(shown, expected, "{line}");
}

#[test]
fn five_fields_six_fields_and_names_are_read() {
    let after = "2026-12-01T12:00:00Z";
    check("30 3 * * *", "UTC", after, &["2026-12-02T03:30:00+00:00", "2026-12-03T03:30:00+00:00"]);
    check("15 30 3 * * *", "UTC", after, &["2026-12-02T03:30:15+00:00"]);
    check("@daily", "UTC", after, &["2026-12-02T00:00:00+00:00"]);
    check("@hourly", "UTC", after, &["2026-12-01T13:00:00+00:00"]);
    check("0 4 * * sun", "UTC", after, &["2026-12-06T04:00:00+00:00"]);
    check("0 4 * * 7", "UTC", after, &["2026-12-06T04:00:00+00:00"]);
    check("0 4 L * *", "UTC", after, &["2026-12-31T04:00:00+00:00", "2027-01-31T04:00:00+00:00"]);
    check("0 4 29 2 *", "UTC", after, &["2028-02-29T04:00:00+00:00", "2032-02-29T04:00:00+00:00"]);
    check(
        "*/20 * * * *",
        "UTC",
        after,
        &["2026-12-01T12:20:00+00:00", "2026-12-01T12:40:00+00:00"],
    );
    check("0 9 * * *", "Asia/Shanghai", after, &["2026-12-02T09:00:00+08:00"]);
}

#[test]
fn of_two_kinds_of_day_either_fits() {
    check(
        "0 4 13 * FRI",
        "UTC",
        "2026-12-01T00:00:00Z",
        &[
            "2026-12-04T04:00:00+00:00",
            "2026-12-11T04:00:00+00:00",
            "2026-12-13T04:00:00+00:00",
            "2026-12-18T04:00:00+00:00",
        ],
    );
}

#[test]
fn a_part_of_a_second_neither_repeats_nor_skips_an_occurrence() {
    check("0 4 * * *", "UTC", "2026-12-01T04:00:00Z", &["2026-12-02T04:00:00+00:00"]);
    check("0 4 * * *", "UTC", "2026-12-01T04:00:00.000001Z", &["2026-12-02T04:00:00+00:00"]);
    check("0 4 * * *", "UTC", "2026-12-01T03:59:59.999999Z", &["2026-12-01T04:00:00+00:00"]);
}

#[test]
fn a_daily_job_keeps_its_time_of_day_through_both_changes_of_the_clock() {
    check(
        "0 9 * * *",
        "Europe/Berlin",
        "2027-03-27T00:00:00Z",
        &["2027-03-27T09:00:00+01:00", "2027-03-28T09:00:00+02:00", "2027-03-29T09:00:00+02:00"],
    );
    check(
        "0 9 * * *",
        "America/New_York",
        "2026-10-31T00:00:00-04:00",
        &["2026-10-31T09:00:00-04:00", "2026-11-01T09:00:00-05:00", "2026-11-02T09:00:00-05:00"],
    );
}

#[test]
fn a_time_that_the_clock_skips_comes_due_at_the_end_of_the_gap_once() {
    check(
        "30 2 * * *",
        "Europe/Berlin",
        "2027-03-27T00:00:00Z",
        &["2027-03-27T02:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"],
    );
    // Half an hour is skipped on Lord Howe Island.
    check(
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T00:00:00+10:30",
        &["2026-10-03T02:15:00+10:30", "2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"],
    );
}

#[test]
fn a_time_that_comes_twice_counts_once_and_steps_count_each_time() {
    check(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T12:00:00Z",
        &["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
    );
    check(
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-10-25T01:30:00+02:00",
        &[
            "2026-10-25T02:00:00+02:00",
            "2026-10-25T02:30:00+02:00",
            "2026-10-25T02:00:00+01:00",
            "2026-10-25T02:30:00+01:00",
            "2026-10-25T03:00:00+01:00",
        ],
    );
    check(
        "*/30 * * * *",
        "Europe/Berlin",
        "2027-03-28T01:30:00+01:00",
        &["2027-03-28T03:00:00+02:00", "2027-03-28T03:30:00+02:00"],
    );
}

#[test]
fn occurrences_only_go_forward_through_five_years_of_changes_of_the_clock() {
    for name in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai"] {
        for line in ["30 2 * * *", "*/30 1-3 * * *", "0 0 * * *", "59 23 L * *"] {
            let schedule = Schedule::parse(line, &zone(name)).unwrap();
            let mut at: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
            let end: Timestamp = "2031-01-01T00:00:00Z".parse().unwrap();
            let mut n = 0;
            while at < end {
                let next = schedule.next_after(at).unwrap();
                assert!(next > at, "{line} in {name}: {next} after {at}");
                (at, n) = (next, n + 1);
            }
            assert!(n >= 60, "{line} in {name}: {n}");
        }
    }
}

#[test]
fn what_is_no_schedule_is_refused_with_the_reason() {
    for (line, said) in [
        ("", "not 0"),
        ("   ", "not 0"),
        ("daily", "not 1"),
        ("0 4 * *", "not 4"),
        ("0 0 4 * * * 2027", "not 7"),
        ("@reboot", "@daily"),
        ("60 4 * * *", "minute 60: "),
        ("0 24 * * *", "hour 24: "),
        ("0 4 32 * *", "day 32: "),
        ("0 4 * 13 *", "month 13: "),
        ("every day at four o'clock", "minute every: "),
        ("0 4 31 2 *", "never comes due"),
        ("0 4 30 2 *", "never comes due"),
        ("0 4 31 4,6,9,11 *", "never comes due"),
        ("* * * * * ; rm", "not 7"),
    ] {
        let error = Schedule::parse(line, &TimeZone::UTC).unwrap_err().to_string();
        assert!(error.contains(said), "{line}: {error}");
    }
    let long = format!("0 4 * * {}", "1,".repeat(SCHEDULE_BYTES_MAX));
    assert!(Schedule::parse(&long, &TimeZone::UTC).is_err());
}

#[test]
fn schedules_are_equal_if_line_and_zone_are() {
    let parse = |line, name| Schedule::parse(line, &zone(name)).unwrap();
    assert_eq!(parse("0 4 * * *", "UTC"), parse(" 0 4 * * * ", "UTC"));
    assert_ne!(parse("0 4 * * *", "UTC"), parse("0 5 * * *", "UTC"));
    assert_ne!(parse("0 4 * * *", "UTC"), parse("0 4 * * *", "Asia/Shanghai"));
}
