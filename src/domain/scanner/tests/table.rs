//! The tables: a phrase a line, and the times that are right, or rightly none.

use jiff::ZonedDateTime;

use super::super::{ARM_MIN, Found, Moment, PROPOSE_MIN, Precision, When};
use super::{found, moment};
use crate::domain::reminder::{End, Nth, Pattern, Rule, Weekdays};

/// Fewest phrases a language.
const ROWS_MIN: usize = 150;

/// Checks a table and prints precision and recall over the times that are proposed.
#[track_caller]
fn check(name: &str, table: &str, now: &ZonedDateTime) {
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut n_rows, mut n_right, mut n_said, mut n_due) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for row in rows {
        let (text, expected) = row.split_once('\t').unwrap();
        let times: Vec<String> = found(text, now).iter().map(|time| shown(time, now)).collect();
        let is_proposed = |time: &&str| !time.starts_with(['(', '?']) && *time != "-";
        let right: Vec<&str> = expected.split(" | ").collect();
        n_rows += 1;
        n_due += right.iter().filter(|time| is_proposed(time)).count();
        for time in times.iter().map(String::as_str).filter(|time| is_proposed(time)) {
            n_said += 1;
            n_right += usize::from(right.contains(&time));
        }
        let got = if times.is_empty() { "-".to_owned() } else { times.join(" | ") };
        if got != expected {
            wrong.push(format!("{text}: {got}, expected {expected}"));
        }
    }
    let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    println!(
        "{name}: {n_rows} phrases, precision {:.1} %, recall {:.1} % of {n_due} times",
        share(n_right, n_said),
        share(n_right, n_due),
    );
    assert!(n_rows >= ROWS_MIN, "{name}: {n_rows} phrases");
    assert!(wrong.is_empty(), "{} of {n_rows} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!((n_right, n_right), (n_said, n_due), "{name}");
}

#[test]
fn the_english_phrases_have_their_times() {
    check("English", include_str!("english.tsv"), &moment("2026-11-29T10:00", "Europe/Berlin"));
}

#[test]
fn the_chinese_phrases_have_their_times() {
    check("Chinese", include_str!("chinese.tsv"), &moment("2026-11-29T10:00", "Asia/Shanghai"));
}

/// A time as the tables write it.
fn shown(time: &Found, now: &ZonedDateTime) -> String {
    let when = match &time.when {
        When::At(at) => {
            let at = Moment { civil: now.time_zone().to_datetime(at.at), ..at.clone() };
            let hour = hour(at.civil.time(), time.precision);
            format!("{}{hour}", at.civil.date())
        }
        When::Every(rule) => rule_shown(rule, time.precision, now),
    };
    if time.arms(now.timestamp()) {
        assert!(time.confidence >= ARM_MIN);
        format!("!{when}")
    } else if time.is_proposal(now.timestamp()) {
        assert!(time.confidence >= PROPOSE_MIN);
        when
    } else if time.flaw.is_some() {
        format!("?{when}")
    } else {
        format!("({when})")
    }
}

fn hour(time: jiff::civil::Time, precision: Precision) -> String {
    let form = if time.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
    match precision {
        Precision::Minute => time.strftime(&format!(" {form}")).to_string(),
        Precision::Part => time.strftime(&format!(" ~{form}")).to_string(),
        Precision::Day => String::new(),
    }
}

fn rule_shown(rule: &Rule, precision: Precision, now: &ZonedDateTime) -> String {
    let parts = rule.parts();
    let days = |days: Weekdays| {
        let names: Vec<String> = days.iter().map(short).collect();
        names.join(",")
    };
    let (name, day) = match parts.pattern {
        Pattern::Once => ("once", String::new()),
        Pattern::Daily => ("daily", String::new()),
        Pattern::Weekly(of) => ("weekly", format!(" {}", days(of))),
        Pattern::MonthlyDay { day, .. } => ("monthly", format!(" {day}")),
        Pattern::MonthlyNth { nth, weekday } => {
            let nth = match nth {
                Nth::From(1) => "1st".to_owned(),
                Nth::From(3) => "3rd".to_owned(),
                Nth::From(n) => format!("{n}th"),
                Nth::Last => "last".to_owned(),
            };
            ("monthly", format!(" {nth}-{}", short(weekday)))
        }
        Pattern::LastDay => ("monthly", " last-day".to_owned()),
        Pattern::Yearly { month, day, .. } => ("yearly", format!(" {month}-{day}")),
    };
    let every = if parts.every > 1 { format!("{}-", parts.every) } else { String::new() };
    // What the same rule that starts now has first.
    let at_once = now.date().to_datetime(parts.start.time());
    let at_once = Rule::every(at_once, parts.zone.clone(), parts.pattern).unwrap();
    let next = |rule: &Rule| rule.next_after(now.timestamp()).unwrap().civil.date();
    let is_later = parts.every > 1 || next(rule) != next(&at_once);
    let from = if is_later { format!(" from {}", next(rule)) } else { String::new() };
    let until = match parts.end {
        End::Until(day) => format!(" until {day}"),
        End::Never | End::Count(_) => String::new(),
    };
    let hour = hour(parts.start.time(), precision);
    format!("{every}{name}{day}{hour}{from}{until}")
}

fn short(day: jiff::civil::Weekday) -> String {
    format!("{day:?}").chars().take(3).collect::<String>().to_lowercase()
}
