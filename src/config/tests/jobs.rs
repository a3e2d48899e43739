//! The timetable of the jobs.

use jiff::tz::TimeZone;

use super::*;
use crate::domain::job::JobName;

fn now() -> jiff::Timestamp {
    "2027-03-27T12:00:00Z".parse().unwrap()
}

#[test]
fn jobs_have_a_timetable_in_the_zone_that_is_set() {
    let text = "[jobs]\nzone = \"Europe/Berlin\"\n[jobs.decay]\nschedule = \"30 2 * * *\"\n";
    let loaded = Machine::with_file(text).load();
    let jobs = &loaded.config.jobs;
    assert_eq!(jobs.zone, TimeZone::get("Europe/Berlin").unwrap());
    let upcoming = jobs.upcoming(now());
    let decay = upcoming.iter().find(|(job, _)| *job == JobName::Decay).unwrap();
    let expected = [
        "2027-03-28T03:00:00+02:00[Europe/Berlin]",
        "2027-03-29T02:30:00+02:00[Europe/Berlin]",
        "2027-03-30T02:30:00+02:00[Europe/Berlin]",
    ];
    assert_eq!(decay.1, expected);
    let shown = render_check(&loaded, now());
    let line = format!("job     decay next runs {}", expected.join(", "));
    assert!(shown.contains(&line), "{shown}");
    let (_, as_file) = shown.split_once("\n\n").unwrap();
    assert_eq!(Machine::with_file(as_file).load().config, loaded.config);
    let json = check_json(&loaded, now());
    let decay = json["jobs"].as_array().unwrap().iter().find(|job| job["job"] == "decay");
    assert_eq!(decay.unwrap()["next_runs"][0], expected[0]);
}

#[test]
fn a_job_that_is_switched_off_has_no_next_runs() {
    let loaded = Machine::with_file("jobs.decay.enabled = false").load();
    assert!(loaded.config.jobs.upcoming(now()).iter().all(|(job, _)| *job != JobName::Decay));
    assert!(!render_check(&loaded, now()).contains("decay next runs"));
}

#[test]
fn a_schedule_that_is_none_is_told_with_its_key_and_the_reason() {
    for (text, place, found) in [
        ("jobs.zone = 'Asia/Beijing'", "FILE:1:13: jobs.zone", "\"Asia/Beijing\""),
        ("jobs.decay.schedule = 'nightly'", "jobs.decay.schedule", "5 or 6 fields, not 1"),
        ("jobs.decay.schedule = '0 4 31 2 *'", "jobs.decay.schedule", "never comes due"),
        ("jobs.decay.schedule = '0 25 * * *'", "jobs.decay.schedule", "hour 25: "),
        ("jobs.decay.schedule = 4", "jobs.decay.schedule", "the number 4"),
        ("jobs.decay.enabled = 'yes'", "jobs.decay.enabled", "the string \"yes\""),
        ("jobs.decay.max_runtime_s = 0", "jobs.decay.max_runtime_s", "the number 0"),
    ] {
        let problems = Machine::with_file(text).problems();
        assert!(problems.contains(place) && problems.contains(found), "{text}: {problems}");
        assert!(problems.ends_with("1 problem in the configuration"), "{problems}");
    }
    let problems = Machine::with_file("jobs.zone = 'Asia/Beijing'").problems();
    assert!(problems.contains("Asia/Shanghai"), "{problems}");
}
