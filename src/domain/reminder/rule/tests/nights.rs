//! A hand table of the nights on which clocks change.

use super::*;

/// The occurrences of a daily rule on three days around a night, as instants with their offset.
#[track_caller]
fn check(zone_name: &str, start: &str, expected: [&str; 3]) {
    let rule = Rule::every(civil(start), zone(zone_name), Pattern::Daily).unwrap();
    let shown: Vec<String> = rule
        .upcoming(rule.first().unwrap().at - jiff::SignedDuration::from_secs(1), 3)
        .iter()
        .map(|occurrence| {
            let zoned = occurrence.at.to_zoned_datetime(rule.zone().clone());
            zoned.strftime("%d %H:%M%:z").to_string()
        })
        .collect();
    assert_eq!(shown, expected, "{zone_name} {start}");
}

#[test]
fn a_skipped_time_moves_forward_that_night_alone() {
    let gap = ["27 02:30+01:00", "28 03:30+02:00", "29 02:30+02:00"];
    check("Europe/Berlin", "2027-03-27T02:30", gap);
    check(
        "Europe/Berlin",
        "2027-03-27T02:00",
        ["27 02:00+01:00", "28 03:00+02:00", "29 02:00+02:00"],
    );
    let gap = ["13 02:30-05:00", "14 03:30-04:00", "15 02:30-04:00"];
    check("America/New_York", "2027-03-13T02:30", gap);
    // Half an hour.
    let gap = ["03 02:15+10:30", "04 02:45+11:00", "05 02:15+11:00"];
    check("Australia/Lord_Howe", "2026-10-03T02:15", gap);
    // The only years in which Shanghai changed its clocks lately are 1986 to 1991.
    let gap = ["03 02:30+08:00", "04 03:30+09:00", "05 02:30+09:00"];
    check("Asia/Shanghai", "1986-05-03T02:30", gap);
}

#[test]
fn a_time_that_comes_twice_counts_the_first_time() {
    let fold = ["24 02:30+02:00", "25 02:30+02:00", "26 02:30+01:00"];
    check("Europe/Berlin", "2026-10-24T02:30", fold);
    check(
        "Europe/Berlin",
        "2026-10-24T03:00",
        ["24 03:00+02:00", "25 03:00+01:00", "26 03:00+01:00"],
    );
    let fold = ["31 01:30-04:00", "01 01:30-04:00", "02 01:30-05:00"];
    check("America/New_York", "2026-10-31T01:30", fold);
    let fold = ["03 01:45+11:00", "04 01:45+11:00", "05 01:45+10:30"];
    check("Australia/Lord_Howe", "2027-04-03T01:45", fold);
    let fold = ["14 01:30+09:00", "15 01:30+09:00", "16 01:30+08:00"];
    check("Asia/Shanghai", "1991-09-14T01:30", fold);
}

#[test]
fn other_times_stay_where_they_are_on_the_wall() {
    check(
        "Europe/Berlin",
        "2027-03-27T09:00",
        ["27 09:00+01:00", "28 09:00+02:00", "29 09:00+02:00"],
    );
    check(
        "Europe/Berlin",
        "2026-10-24T09:00",
        ["24 09:00+02:00", "25 09:00+01:00", "26 09:00+01:00"],
    );
    check(
        "America/New_York",
        "2027-03-13T15:00",
        ["13 15:00-05:00", "14 15:00-04:00", "15 15:00-04:00"],
    );
    check(
        "Australia/Lord_Howe",
        "2027-04-03T00:00",
        ["03 00:00+11:00", "04 00:00+11:00", "05 00:00+10:30"],
    );
    check(
        "Asia/Shanghai",
        "2027-03-27T02:30",
        ["27 02:30+08:00", "28 02:30+08:00", "29 02:30+08:00"],
    );
}

#[test]
fn a_day_that_a_zone_leaves_out_is_no_second_occurrence() {
    // Samoa crossed the date line: there was no 30 December 2011.
    check(
        "Pacific/Apia",
        "2011-12-29T09:00",
        ["29 09:00-10:00", "31 09:00+14:00", "01 09:00+14:00"],
    );
}

#[test]
fn looking_from_within_a_night_finds_each_occurrence_once() {
    let rule =
        Rule::every(civil("2026-10-24T02:30"), zone("Europe/Berlin"), Pattern::Daily).unwrap();
    let next = |after: &str| rule.next_after(after.parse().unwrap()).unwrap().at.to_string();
    assert_eq!(next("2026-10-25T00:29:59Z"), "2026-10-25T00:30:00Z");
    // It has been 02:30 and is going to be 02:30 again.
    assert_eq!(next("2026-10-25T00:30:00Z"), "2026-10-26T01:30:00Z");
    assert_eq!(next("2026-10-25T01:10:00Z"), "2026-10-26T01:30:00Z");
    let last = |until: &str| rule.last_until(until.parse().unwrap()).unwrap().at.to_string();
    assert_eq!(last("2026-10-25T01:29:00Z"), "2026-10-25T00:30:00Z");
    assert_eq!(last("2026-10-25T00:30:00Z"), "2026-10-25T00:30:00Z");
    assert_eq!(last("2026-10-25T00:29:59Z"), "2026-10-24T00:30:00Z");
}
