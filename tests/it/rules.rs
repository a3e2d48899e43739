//! Rules of recurrence against programs that nobody here wrote: python-dateutil reads what is
//! exported, and `systemd-analyze calendar` evaluates the same days in its own words.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::civil::{Date, Time, Weekday};
use jiff::{Span, Timestamp};
use recalld::domain::reminder::{
    End, LeapDay, Nth, Pattern, Rule, RuleParts, Short, Weekdays, zone_named,
};

use crate::random::Random;
use crate::skip::skip;

/// Zones with changes of an hour and of half an hour, in both hemispheres, and without any.
const ZONES: [&str; 6] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Asia/Shanghai",
    "UTC",
];
/// Rules that are compared, and occurrences of each.
const N_RULES: usize = 600;
/// See [`N_RULES`].
const N_OCCURRENCES: usize = 25;

/// A Python with python-dateutil, kept below the target directory; `None` where it cannot be had.
fn python() -> Option<PathBuf> {
    const PACKAGES: [&str; 2] = ["python-dateutil==2.9.0.post0", "tzdata"];
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dateutil-2.9.0");
    let python = environment.join("bin/python");
    let has_package = || {
        let probe = "import dateutil.rrule, zoneinfo; zoneinfo.ZoneInfo('Europe/Berlin')";
        Command::new(&python).args(["-c", probe]).output().is_ok_and(|out| out.status.success())
    };
    if !has_package() {
        Command::new("python3").args(["-m", "venv"]).arg(&environment).output().ok()?;
        let install = ["-m", "pip", "install", "--quiet"];
        Command::new(&python).args(install).args(PACKAGES).output().ok()?;
    }
    has_package().then_some(python)
}

fn weekday(random: &mut Random) -> Weekday {
    Weekday::from_monday_zero_offset(i8::try_from(random.below(7)).unwrap()).unwrap()
}

/// A number from `from` to `to`.
fn between(random: &mut Random, from: i8, to: i8) -> i8 {
    from + i8::try_from(random.below(u64::from((to - from + 1).unsigned_abs()))).unwrap()
}

/// Fewer than `n` days.
fn days(random: &mut Random, n: u64) -> Span {
    Span::new().days(i64::try_from(random.below(n)).unwrap())
}

fn pick<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[usize::try_from(random.below(choices.len() as u64)).unwrap()]
}

fn pattern(random: &mut Random) -> Pattern {
    match random.below(7) {
        0 => Pattern::Daily,
        1 => Pattern::Weekly((0..=random.below(4)).map(|_| weekday(random)).collect()),
        2 => Pattern::MonthlyDay {
            day: between(random, 1, 31),
            short: if random.below(2) == 0 { Short::Clamp } else { Short::Skip },
        },
        3 => Pattern::MonthlyNth {
            nth: match between(random, 0, 5) {
                0 => Nth::Last,
                nth => Nth::From(nth),
            },
            weekday: weekday(random),
        },
        4 => Pattern::LastDay,
        5 => Pattern::Yearly {
            month: between(random, 1, 12),
            day: between(random, 1, 28),
            leap: LeapDay::Skip,
        },
        _ => Pattern::Yearly {
            month: 2,
            day: 29,
            leap: pick(random, &[LeapDay::Feb28, LeapDay::Mar1, LeapDay::Skip]),
        },
    }
}

/// A rule that starts in 2020 to 2029, half of them at an hour at which clocks change.
fn rule(random: &mut Random) -> Rule {
    loop {
        let day = Date::constant(2020, 1, 1) + days(random, 3_650);
        let last_hour = if random.below(2) == 0 { 3 } else { 23 };
        let time = Time::constant(0, 0, 0, 0)
            .with()
            .hour(between(random, 0, last_hour))
            .minute(between(random, 0, 59))
            .build()
            .unwrap();
        let end = match random.below(3) {
            0 => End::Never,
            1 => End::Count(u32::from(between(random, 1, 40).unsigned_abs())),
            _ => End::Until(day + days(random, 4_000)),
        };
        let except: BTreeSet<Date> = (0..random.below(6)).map(|_| day + days(random, 60)).collect();
        let parts = RuleParts {
            start: day.to_datetime(time),
            zone: zone_named(pick(random, &ZONES)).unwrap(),
            pattern: pattern(random),
            every: if random.below(2) == 0 {
                1
            } else {
                u32::from(between(random, 1, 14).unsigned_abs())
            },
            end,
            except,
        };
        // Some never come due.
        if let Ok(rule) = Rule::new(parts) {
            return rule;
        }
    }
}

#[test]
fn python_dateutil_finds_the_same_occurrences_in_what_is_exported() {
    let Some(python) = python() else {
        skip("rules against python-dateutil", "no python3 with venv, or no package registry");
        return;
    };
    let mut random = Random::from_environment("rules against python-dateutil");
    let rules: Vec<Rule> = (0..N_RULES).map(|_| rule(&mut random)).collect();
    let texts: Vec<String> = rules.iter().map(ToString::to_string).collect();
    let mut child = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rules/oracle.py"))
        .arg(N_OCCURRENCES.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(serde_json::to_string(&texts).unwrap().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Vec<i64>> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), rules.len());
    let mut n_compared = 0;
    for ((rule, text), expected) in rules.iter().zip(&texts).zip(&answers) {
        let found: Vec<i64> = rule
            .upcoming(Timestamp::UNIX_EPOCH, N_OCCURRENCES)
            .iter()
            .map(|occurrence| occurrence.at.as_second())
            .collect();
        assert_eq!(&found, expected, "{} as {text}", rule.describe());
        n_compared += found.len();
    }
    eprintln!("{n_compared} occurrences of {N_RULES} rules are the same");
}

/// What systemd finds after `base`: instants, in UTC.
fn systemd(expression: &str, base: &str) -> Option<Vec<String>> {
    let output = Command::new("systemd-analyze")
        .args(["calendar", "--iterations=12", "--base-time", base, expression])
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{expression}: {}", String::from_utf8_lossy(&output.stderr));
    let times = text.lines().filter_map(|line| {
        let (label, time) = line.split_once(':')?;
        let label = label.trim();
        let is_time = label == "Next elapse" || label.starts_with("Iter. #");
        is_time.then(|| time.trim().to_owned())
    });
    Some(times.collect())
}

#[test]
fn systemd_finds_the_same_days_for_the_same_words() {
    let Ok(version) = Command::new("systemd-analyze").arg("--version").output() else {
        skip("rules against systemd-analyze calendar", "there is no systemd-analyze");
        return;
    };
    assert!(version.status.success());
    let weekdays = Weekdays::one(Weekday::Monday).with(Weekday::Friday);
    let nth = |nth, weekday| Pattern::MonthlyNth { nth, weekday };
    let day = |day| Pattern::MonthlyDay { day, short: Short::Skip };
    let yearly = |month, day| Pattern::Yearly { month, day, leap: LeapDay::Skip };
    for (days, pattern, every) in [
        ("*-*-*", Pattern::Daily, 1),
        ("Mon,Fri *-*-*", Pattern::Weekly(weekdays), 1),
        ("Mon..Fri *-*-*", Pattern::Weekly(Weekdays::WORKING), 1),
        ("*-*-15", day(15), 1),
        ("*-*-31", day(31), 1),
        ("*-03/4-30", day(30), 4),
        ("*-*~01", Pattern::LastDay, 1),
        ("Fri *-*-08..14", nth(Nth::From(2), Weekday::Friday), 1),
        ("Wed *-*-29..31", nth(Nth::From(5), Weekday::Wednesday), 1),
        ("Sun *-*~07/1", nth(Nth::Last, Weekday::Sunday), 1),
        ("*-07-04", yearly(7, 4), 1),
        ("*-02-29", yearly(2, 29), 1),
    ] {
        for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai"] {
            // No time of these clocks is skipped or comes twice at nine in the morning.
            let expression = format!("{days} 09:00:00 {zone}");
            let Some(expected) = systemd(&expression, "2027-03-01 00:00:00 UTC") else {
                panic!("systemd-analyze does not run");
            };
            let start = "2027-03-01T09:00".parse().unwrap();
            let zone = zone_named(zone).unwrap();
            let (end, except) = (End::Never, BTreeSet::new());
            let parts = RuleParts { start, zone, pattern, every, end, except };
            let rule = Rule::new(parts).unwrap();
            let base: Timestamp = "2027-03-01T00:00:00Z".parse().unwrap();
            let found: Vec<String> = rule
                .upcoming(base, expected.len())
                .iter()
                .map(|occurrence| occurrence.at.strftime("%a %F %T UTC").to_string())
                .collect();
            assert!(expected.len() >= 8, "{expression}: {expected:?}");
            assert_eq!(found, expected, "{expression}");
        }
    }
}
