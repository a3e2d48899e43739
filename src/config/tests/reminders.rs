//! `[reminders]`, and the quiet hours of sinks.

use jiff::SignedDuration;
use jiff::civil::time;
use jiff::tz::TimeZone;

use super::Machine;
use crate::domain::reminder::{QuietHours, ReminderSettings, Repeat, Weekdays};

const SINKS: &str = "[sinks.team]\nkind = \"log\"\n[sinks.phone]\nkind = \"log\"\n";

#[test]
fn the_defaults_are_those_of_the_example() {
    let mut settings = Machine::with_file("").load().config.reminders;
    // Nobody is told a second time without a sink for that.
    assert_eq!(settings.escalate_to, None);
    settings.policy.escalate_after = None;
    assert_eq!(settings, ReminderSettings::default());
}

#[test]
fn every_key_is_read() {
    let text = format!(
        "{SINKS}[reminders]\nsinks = [\"team\"]\nzone = \"Asia/Shanghai\"\nall_day_at = \"08:30\"\n\
         late_after_s = 60\ngrace_h = 2\nopen_for_h = 3\nrepeats = 2\nrepeat_after_m = 45\n\
         escalate_to = \"phone\"\nescalate_after_m = 20\nnag_per_day = 1\nnag_apart_s = 5\n\
         attempts = 3\nbackoff_s = 2\nbackoff_max_m = 4\nrepeat_uncertain = false\n\
         agent_gap_m = 7\non_due = [\"/bin/wake\", \"-q\"]\nkeep_days = 9\n"
    );
    let read = Machine::with_file(&text).load().config.reminders;
    let minutes = SignedDuration::from_mins;
    assert_eq!(read.sinks, ["team"]);
    assert_eq!(read.zone, Some(TimeZone::get("Asia/Shanghai").unwrap()));
    assert_eq!(read.all_day_at, time(8, 30, 0, 0));
    assert_eq!(read.policy.late_after, minutes(1));
    assert_eq!(read.policy.grace, SignedDuration::from_hours(2));
    assert_eq!(read.policy.open_for, SignedDuration::from_hours(3));
    assert_eq!(read.policy.repeat, Some(Repeat { every: minutes(45), times: 2 }));
    assert_eq!(read.policy.escalate_after, Some(minutes(20)));
    assert_eq!(read.escalate_to.as_deref(), Some("phone"));
    assert_eq!((read.nag.per_day, read.nag.apart.as_secs()), (1, 5));
    assert_eq!((read.backoff.base.as_secs(), read.backoff.max), (2, minutes(4)));
    assert_eq!((read.attempts_max, read.repeats_uncertain), (3, false));
    assert_eq!((read.agent_gap, read.keep), (minutes(7), SignedDuration::from_hours(9 * 24)));
    assert_eq!(read.on_due, ["/bin/wake", "-q"]);
}

#[test]
fn a_sink_has_quiet_hours() {
    let text = "[sinks.team]\nkind = \"log\"\nquiet = \"22:00-07:00\"\n\
                quiet_days = [\"Fri\", \"sat\"]\nzone = \"Europe/Berlin\"\n";
    let sinks = Machine::with_file(text).load().config.sinks;
    let days: Weekdays =
        [jiff::civil::Weekday::Friday, jiff::civil::Weekday::Saturday].into_iter().collect();
    let hours: QuietHours = "22:00-07:00".parse().unwrap();
    assert_eq!(sinks[0].quiet, Some(hours.on(days)));
    assert_eq!(sinks[0].zone, Some(TimeZone::get("Europe/Berlin").unwrap()));
}

#[test]
fn what_is_wrong_is_a_problem_of_the_configuration_with_line_and_key() {
    let sink = |key: &str| format!("[sinks.team]\nkind = \"log\"\n{key}\n");
    let all = |key: &str| format!("[reminders]\n{key}\n{SINKS}");
    for (text, place, said) in [
        (sink("quiet = \"25:99\""), "FILE:3:9: sinks.team.quiet", "22:00-07:00"),
        (sink("quiet = \"22:00\""), "FILE:3:9: sinks.team.quiet", "\"22:00\""),
        (sink("quiet = \"22:00-22:00\""), "FILE:3:9: sinks.team.quiet", "two different times"),
        (sink("quiet = \"00:00-00:00\""), "FILE:3:9: sinks.team.quiet", "\"00:00-00:00\""),
        (sink("quiet_days = [\"fri\"]"), "sinks.team.quiet", "nothing"),
        (
            sink("quiet = \"22:00-07:00\"\nquiet_days = [\"friday\"]"),
            "FILE:4:14: sinks.team.quiet_days",
            "friday",
        ),
        (sink("zone = \"Asia/Beijing\""), "FILE:3:8: sinks.team.zone", "Asia/Beijing"),
        (all("sinks = [\"tema\"]"), "reminders.sinks", "\"phone\", \"team\""),
        (all("escalate_to = \"tema\""), "reminders.escalate_to", "\"tema\""),
        (all("zone = \"Asia/Beijing\""), "FILE:2:8: reminders.zone", "Asia/Beijing"),
        (all("all_day_at = \"9am\""), "reminders.all_day_at", "09:00"),
        (all("late_after_s = 0"), "reminders.late_after_s", "1 to 86400"),
        (all("grace_h = 721"), "reminders.grace_h", "0 to 720"),
        (all("on_due = [\"wake\"]"), "reminders.on_due", "absolute path"),
        (all("colour = 1"), "reminders.colour", "unknown key"),
        ("[reminders]\nsinks = [\"team\"]\n".to_owned(), "reminders.sinks", "no [sinks.NAME]"),
    ] {
        let problems = Machine::with_file(&text).problems();
        assert!(problems.contains(place) && problems.contains(said), "{text}: {problems}");
    }
}
