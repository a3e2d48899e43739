//! Reading and writing rules as text.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use super::*;
use crate::domain::reminder::Weekdays;

fn berlin() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

/// Reads what stands behind `RRULE:`, starting on a Friday at 15:00 in Berlin.
fn read(text: &str) -> Result<Rule, RuleError> {
    let start = Some("2026-11-27T15:00".parse().unwrap());
    Rule::from_ical(text, Given { start, zone: Some(&berlin()) })
}

#[test]
fn the_same_pattern_is_read_from_all_its_spellings() {
    let monthly = |day, short| Pattern::MonthlyDay { day, short };
    let nth = |nth, weekday| Pattern::MonthlyNth { nth, weekday };
    let yearly = |month, day, leap| Pattern::Yearly { month, day, leap };
    let friday = Weekdays::one(Weekday::Friday);
    for (text, pattern, every) in [
        ("FREQ=DAILY", Pattern::Daily, 1),
        ("RRULE:FREQ=DAILY;INTERVAL=3", Pattern::Daily, 3),
        ("freq=daily;byday=MO,TU,WE,TH,FR", Pattern::Weekly(Weekdays::WORKING), 1),
        ("FREQ=WEEKLY", Pattern::Weekly(friday), 1),
        ("FREQ=WEEKLY;WKST=SU;BYDAY=FR;INTERVAL=2", Pattern::Weekly(friday), 2),
        ("FREQ=WEEKLY;WKST=SU;BYDAY=SA,SU", Pattern::Weekly(Weekdays::WEEKEND), 1),
        ("FREQ=MONTHLY", monthly(27, Short::Clamp), 1),
        ("FREQ=MONTHLY;BYMONTHDAY=31", monthly(31, Short::Skip), 1),
        ("FREQ=MONTHLY;BYMONTHDAY=31;RSCALE=GREGORIAN;SKIP=BACKWARD", monthly(31, Short::Clamp), 1),
        ("FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1", monthly(30, Short::Clamp), 1),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", Pattern::LastDay, 1),
        ("FREQ=MONTHLY;BYDAY=2TU", nth(Nth::From(2), Weekday::Tuesday), 1),
        ("FREQ=MONTHLY;BYDAY=+2TU", nth(Nth::From(2), Weekday::Tuesday), 1),
        ("FREQ=MONTHLY;BYDAY=TU;BYSETPOS=2", nth(Nth::From(2), Weekday::Tuesday), 1),
        ("FREQ=MONTHLY;BYDAY=-1FR", nth(Nth::Last, Weekday::Friday), 1),
        ("FREQ=YEARLY", yearly(11, 27, LeapDay::Feb28), 1),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", yearly(2, 29, LeapDay::Skip), 1),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;SKIP=FORWARD", yearly(2, 29, LeapDay::Mar1), 1),
        ("FREQ=YEARLY;BYYEARDAY=60", yearly(2, 29, LeapDay::Mar1), 1),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=28,29;BYSETPOS=-1", yearly(2, 29, LeapDay::Feb28), 1),
        ("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", nth(Nth::From(4), Weekday::Thursday), 12),
    ] {
        let rule = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((rule.parts().pattern, rule.parts().every), (pattern, every), "{text}");
    }
}

#[test]
fn the_fourth_thursday_of_november_is_in_the_years_that_count() {
    let first = |text| read(text).unwrap().parts().start.to_string();
    assert_eq!(first("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"), "2027-11-25T15:00:00");
    assert_eq!(first("FREQ=YEARLY;BYMONTH=12;BYDAY=1TU"), "2026-12-01T15:00:00");
    assert_eq!(first("FREQ=YEARLY;INTERVAL=2;BYMONTH=3;BYDAY=-1SU"), "2028-03-26T15:00:00");
}

#[test]
fn what_could_run_away_or_is_not_ours_is_refused_with_the_reason() {
    for (text, reason) in [
        ("FREQ=HOURLY", "could run away"),
        ("FREQ=MINUTELY;INTERVAL=5", "could run away"),
        ("FREQ=SECONDLY;COUNT=1", "could run away"),
        ("FREQ=DAILY;INTERVAL=0", "every 0"),
        ("FREQ=DAILY;INTERVAL=5000", "every 5000"),
        ("FREQ=DAILY;COUNT=0", "0 times"),
        ("FREQ=DAILY;COUNT=4000000000", "4000000000 times"),
        ("FREQ=DAILY;COUNT=x", "COUNT=X: expected one whole number"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20270101", "exclude each other"),
        ("FREQ=DAILY;UNTIL=20260101", "ends before its first date"),
        ("FREQ=DAILY;UNTIL=tomorrow", "expected a time like"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "no year has a day 30 in month 2"),
        ("FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=31", "never comes due"),
        ("FREQ=DAILY;BYHOUR=9,18", "BYHOUR=9,18"),
        ("FREQ=DAILY;BYHOUR=24", "no time"),
        ("FREQ=DAILY;INTERVAL=2;BYHOUR=9", "set DTSTART"),
        ("FREQ=DAILY;BYSETPOS=1", "BYSETPOS is not supported with FREQ=DAILY"),
        ("FREQ=DAILY;INTERVAL=2;BYDAY=MO", "use FREQ=WEEKLY"),
        ("FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=SU,MO", "Monday"),
        ("FREQ=WEEKLY;BYDAY=2MO", "expected MO"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,15", "expected one day"),
        ("FREQ=MONTHLY;BYMONTHDAY=-2", "expected one day"),
        ("FREQ=MONTHLY;BYMONTHDAY=31;SKIP=FORWARD", "BACKWARD"),
        ("FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1", "expected one weekday"),
        ("FREQ=MONTHLY;BYDAY=6MO", "1 to 5 or -1"),
        ("FREQ=MONTHLY;BYDAY=MO", "1 to 5 or -1"),
        ("FREQ=YEARLY;BYWEEKNO=20", "BYWEEKNO is not supported"),
        ("FREQ=YEARLY;BYMONTHDAY=3", "needs its BYMONTH"),
        ("FREQ=YEARLY;RSCALE=CHINESE", "GREGORIAN"),
        ("FREQ=FORTNIGHTLY", "expected DAILY"),
        ("INTERVAL=2", "expected DTSTART, RRULE or EXDATE"),
        ("RRULE:INTERVAL=2", "expected FREQ="),
        ("RRULE:FREQ=DAILY;FREQ=WEEKLY", "FREQ is there twice"),
        ("RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", "RRULE is there twice"),
        ("RRULE:FREQ=DAILY\nRDATE:20270101T000000Z", "RDATE is not supported"),
        ("SUMMARY:lunch", "expected DTSTART"),
        ("DTSTART;TZID=Asia/Beijing:20261127T150000", "did you mean Asia/Shanghai?"),
        ("DTSTART;TZID=Asia/Shanghai:20261127T150000Z", "has a TZID"),
        ("DTSTART;RANGE=ALL:20261127T150000", "`RANGE=ALL` is not supported"),
    ] {
        let error = read(text).map(|rule| rule.to_string()).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    let long = "FREQ=DAILY;".repeat(2_000);
    assert!(read(&long).unwrap_err().to_string().contains("16384 bytes"));
    let no_start = "FREQ=DAILY".parse::<Rule>().unwrap_err();
    assert!(no_start.to_string().contains("expected a start"), "{no_start}");
    let no_zone = "DTSTART:20261127T150000".parse::<Rule>().unwrap_err();
    assert!(no_zone.to_string().contains("expected a zone"), "{no_zone}");
}

#[test]
fn what_is_written_is_what_other_programs_read() {
    let text = "DTSTART;TZID=Europe/Berlin:20261127T150000\n\
                RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;UNTIL=20261231T140000Z\n\
                EXDATE;TZID=Europe/Berlin:20261225T150000";
    let rule: Rule = text.parse().unwrap();
    assert_eq!(rule.to_string(), text);
    assert_eq!(rule.parts().end, End::Until("2026-12-31".parse().unwrap()));
    let once: Rule = "DTSTART:20261127T150000Z".parse().unwrap();
    assert!(once.is_once());
    assert_eq!(once.to_string(), "DTSTART:20261127T150000Z");
}

#[test]
fn an_end_in_utc_is_the_last_day_whose_occurrence_it_leaves() {
    // 15:00 in Berlin is 14:00 in UTC that day.
    for (until, last) in [
        ("20261231T140000Z", "2026-12-31"),
        ("20261231T135959Z", "2026-12-30"),
        ("20261231T235959Z", "2026-12-31"),
        ("20261231T150000", "2026-12-31"),
        ("20261231T145959", "2026-12-30"),
        ("20261231", "2026-12-31"),
    ] {
        let rule = read(&format!("FREQ=DAILY;UNTIL={until}")).unwrap();
        assert_eq!(rule.parts().end, End::Until(last.parse().unwrap()), "{until}");
    }
}

#[test]
fn a_time_of_day_in_the_rule_is_taken_and_never_before_the_start() {
    let start = |text| read(text).unwrap().parts().start.to_string();
    assert_eq!(start("FREQ=DAILY;BYHOUR=18;BYMINUTE=30"), "2026-11-27T18:30:00");
    assert_eq!(start("FREQ=DAILY;BYHOUR=9"), "2026-11-28T09:00:00");
    assert_eq!(start("FREQ=WEEKLY;BYHOUR=9;BYMINUTE=0;BYSECOND=0"), "2026-12-04T09:00:00");
}

#[test]
fn a_bare_date_is_its_midnight_and_exceptions_are_days_of_the_zone() {
    let rule: Rule = "DTSTART;VALUE=DATE;TZID=Asia/Shanghai:20261127\nRRULE:FREQ=DAILY\n\
                      EXDATE;VALUE=DATE:20261128\nEXDATE:20261129T160000Z"
        .parse()
        .unwrap();
    assert_eq!(rule.parts().start.to_string(), "2026-11-27T00:00:00");
    let except: Vec<String> = rule.parts().except.iter().map(ToString::to_string).collect();
    assert_eq!(except, ["2026-11-28", "2026-11-30"]);
}
