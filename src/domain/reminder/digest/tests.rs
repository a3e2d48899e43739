//! Tests of digests.

use jiff::SignedDuration;

use super::*;

/// What is ready at these minutes, urgent where the second says so, in messages.
#[track_caller]
fn check(ready: &[(i64, bool)], expected: &[&[usize]]) {
    let ready: Vec<(Timestamp, Priority)> = ready
        .iter()
        .map(|(minute, is_urgent)| {
            let at = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(*minute);
            (at, if *is_urgent { Priority::Urgent } else { Priority::Normal })
        })
        .collect();
    assert_eq!(messages(&ready), expected, "{ready:?}");
}

#[test]
fn three_within_five_minutes_share_a_message() {
    check(&[], &[]);
    check(&[(0, false), (1, false)], &[&[0], &[1]]);
    check(&[(0, false), (5, false), (1, false)], &[&[0, 2, 1]]);
    check(&[(0, false), (1, false), (6, false)], &[&[0], &[1], &[2]]);
    // The first is alone; the others have company.
    check(&[(0, false), (4, false), (6, false), (9, false)], &[&[0], &[1, 2, 3]]);
}

#[test]
fn a_backlog_of_a_night_is_one_message() {
    check(&[(600, false); 14], &[&(0..14).collect::<Vec<_>>()]);
}

#[test]
fn what_is_urgent_is_told_first_and_by_itself() {
    check(&[(0, false), (0, true), (1, false), (1, false)], &[&[1], &[0, 2, 3]]);
    check(&[(0, true), (0, true), (0, true)], &[&[0], &[1], &[2]]);
}

#[test]
fn a_digest_that_is_too_long_says_how_many_more_there_are() {
    let lines: Vec<String> = ["09:00 tea", "09:30 call", "10:00 lunch"].map(String::from).into();
    let fit = |room| fitting(&lines, room, |text| text.chars().count());
    assert_eq!(fit(32), "09:00 tea\n09:30 call\n10:00 lunch");
    assert_eq!(fit(31), "09:00 tea\n09:30 call\n+ 1 more");
    assert_eq!(fit(28), "09:00 tea\n+ 2 more");
    assert_eq!(fit(10), "+ 3 more");
    assert_eq!(fit(3), "");
}
