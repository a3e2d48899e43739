//! Rules on hand-made tables.

mod naive;
mod nights;
mod property;

pub(in crate::domain::reminder) use property::any_rule;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;

use super::*;

pub(super) fn zone(name: &str) -> TimeZone {
    zone_named(name).unwrap()
}

pub(super) fn date(text: &str) -> Date {
    text.parse().unwrap()
}

pub(super) fn civil(text: &str) -> DateTime {
    text.parse().unwrap()
}

pub(super) fn parts(start: &str, pattern: Pattern) -> RuleParts {
    let (every, end, except) = (1, End::Never, BTreeSet::new());
    RuleParts { start: civil(start), zone: zone("Europe/Berlin"), pattern, every, end, except }
}

/// The first dates of a rule.
#[track_caller]
fn check_dates(parts: RuleParts, expected: &[&str]) {
    let rule = Rule::new(parts).unwrap();
    let found: Vec<String> =
        (0..expected.len()).filter_map(|n| Some(rule.nth_date(n as u64)?.to_string())).collect();
    assert_eq!(found, expected, "{}", rule.describe());
    let stepped: Vec<String> = rule
        .upcoming(jiff::Timestamp::UNIX_EPOCH, expected.len())
        .iter()
        .map(|occurrence| occurrence.civil.date().to_string())
        .collect();
    assert_eq!(stepped, expected, "{}", rule.describe());
}

#[test]
fn a_day_of_the_month_is_kept_in_months_that_have_it() {
    let on_31 = |short| parts("2027-01-31T09:00", Pattern::MonthlyDay { day: 31, short });
    let clamped = ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"];
    check_dates(on_31(Short::Clamp), &clamped);
    check_dates(on_31(Short::Skip), &["2027-01-31", "2027-03-31", "2027-05-31", "2027-07-31"]);
    check_dates(
        RuleParts {
            every: 12,
            ..parts("2027-02-01T09:00", Pattern::MonthlyDay { day: 29, short: Short::Skip })
        },
        &["2028-02-29", "2032-02-29", "2036-02-29"],
    );
    check_dates(
        parts("2028-01-30T09:00", Pattern::MonthlyDay { day: 29, short: Short::Clamp }),
        &["2028-02-29", "2028-03-29", "2028-04-29"],
    );
    check_dates(parts("2028-01-30T09:00", Pattern::LastDay), &["2028-01-31", "2028-02-29"]);
}

#[test]
fn a_leap_day_has_three_policies() {
    let yearly = |leap| parts("2096-02-01T09:00", Pattern::Yearly { month: 2, day: 29, leap });
    let is_in_2097 = |day| ["2096-02-29", day, "2098-02-28"];
    check_dates(yearly(LeapDay::Feb28), &is_in_2097("2097-02-28"));
    check_dates(yearly(LeapDay::Mar1), &["2096-02-29", "2097-03-01", "2098-03-01"]);
    // 2100 is no leap year.
    check_dates(yearly(LeapDay::Skip), &["2096-02-29", "2104-02-29", "2108-02-29"]);
}

#[test]
fn weekdays_of_a_month_are_counted_from_either_end() {
    let weekday = Weekday::Friday;
    let nth = |nth| parts("2027-01-16T15:00", Pattern::MonthlyNth { nth, weekday });
    check_dates(nth(Nth::From(2)), &["2027-02-12", "2027-03-12", "2027-04-09"]);
    check_dates(nth(Nth::From(5)), &["2027-01-29", "2027-04-30", "2027-07-30", "2027-10-29"]);
    check_dates(nth(Nth::Last), &["2027-01-29", "2027-02-26", "2027-03-26"]);
}

#[test]
fn weeks_are_counted_from_the_monday_of_the_start() {
    let days = Weekdays::one(Weekday::Monday).with(Weekday::Friday).with(Weekday::Sunday);
    let mut weekly = parts("2026-11-27T15:00", Pattern::Weekly(days));
    check_dates(weekly.clone(), &["2026-11-27", "2026-11-29", "2026-11-30", "2026-12-04"]);
    weekly.every = 2;
    check_dates(weekly, &["2026-11-27", "2026-11-29", "2026-12-07", "2026-12-11", "2026-12-13"]);
}

#[test]
fn a_rule_ends_by_count_or_by_day_and_exceptions_count() {
    let mut daily = parts("2026-12-23T09:00", Pattern::Daily);
    daily.except = [date("2026-12-24"), date("2027-06-01")].into();
    daily.end = End::Count(3);
    let rule = Rule::new(daily.clone()).unwrap();
    let days = |rule: &Rule| -> Vec<i8> {
        rule.upcoming(jiff::Timestamp::UNIX_EPOCH, 9).iter().map(|o| o.civil.day()).collect()
    };
    assert_eq!(days(&rule), [23, 25]);
    assert_eq!(rule.parts().except, [date("2026-12-24")].into(), "what has no effect is gone");
    daily.end = End::Until(date("2026-12-26"));
    let rule = Rule::new(daily.clone()).unwrap();
    assert_eq!(days(&rule), [23, 25, 26]);
    assert_eq!(rule.nth_date(3), Some(date("2026-12-26")));
    assert_eq!(rule.nth_date(4), None);
}

#[test]
fn parts_out_of_range_are_refused_with_the_reason() {
    let daily = || parts("2026-12-23T09:00", Pattern::Daily);
    let day = |day, short| parts("2026-02-23T09:00", Pattern::MonthlyDay { day, short });
    let yearly =
        |month, day| parts("2026-02-23T09:00", Pattern::Yearly { month, day, leap: LeapDay::Skip });
    let nth = Pattern::MonthlyNth { nth: Nth::From(6), weekday: Weekday::Friday };
    let ends = |end| RuleParts { end, ..daily() };
    let offset = TimeZone::fixed(jiff::tz::offset(2));
    let many = (0..367).map(|n| date("2027-01-01") + jiff::Span::new().days(n)).collect();
    for (parts, reason) in [
        (RuleParts { every: 0, ..daily() }, "every 0: expected 1 to 1000"),
        (RuleParts { every: 1_001, ..daily() }, "every 1001"),
        (ends(End::Count(0)), "0 times: expected 1 to 10000"),
        (ends(End::Count(10_001)), "10001 times"),
        (ends(End::Until(date("2026-12-22"))), "it ends before its first date"),
        (RuleParts { zone: offset, ..daily() }, "named zone"),
        (RuleParts { except: many, ..daily() }, "367 exceptions"),
        (parts("2026-12-23T09:00:00.5", Pattern::Daily), "fraction"),
        (parts("2026-12-23T09:00", Pattern::Weekly(Weekdays::NONE)), "at least one day"),
        (day(32, Short::Clamp), "day 32"),
        (RuleParts { every: 12, ..day(30, Short::Skip) }, "never comes due"),
        (yearly(2, 30), "no year has a day 30 in month 2"),
        (yearly(13, 1), "no year has"),
        (parts("2026-12-23T09:00", nth), "weekday 6 of a month"),
        (
            RuleParts {
                except: [date("2026-12-23")].into(),
                ..parts("2026-12-23T09:00", Pattern::Once)
            },
            "all its dates are excepted",
        ),
    ] {
        let error = Rule::new(parts).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert!(Rule::new(RuleParts { every: 1_000, ..daily() }).is_ok());
    assert!(Rule::new(ends(End::Count(10_000))).is_ok());
}

#[test]
fn an_unknown_zone_names_the_one_that_was_meant() {
    for (name, meant) in [
        ("Asia/Beijing", "Asia/Shanghai"),
        ("Europe/Berlim", "Europe/Berlin"),
        ("china standard time", "Asia/Shanghai"),
        ("Mars", "like Europe/Berlin"),
    ] {
        let error = zone_named(name).unwrap_err().to_string();
        assert!(error.contains(meant), "{error}");
    }
    assert_eq!(zone("europe/berlin").iana_name(), Some("Europe/Berlin"));
}

#[test]
fn a_rule_is_told_in_words() {
    let monthly = |day, short| Pattern::MonthlyDay { day, short };
    let weekdays = Weekdays::one(Weekday::Monday).with(Weekday::Friday);
    let nth = |nth| Pattern::MonthlyNth { nth, weekday: Weekday::Thursday };
    let yearly = Pattern::Yearly { month: 2, day: 29, leap: LeapDay::Mar1 };
    for (every, pattern, words) in [
        (1, Pattern::Once, "once on 15 November 2027 at 15:00 Europe/Berlin"),
        (1, Pattern::Daily, "every day at 15:00 Europe/Berlin"),
        (3, Pattern::Daily, "every 3 days at"),
        (1, Pattern::Weekly(Weekdays::WORKING), "every weekday (Monday to Friday) at"),
        (1, Pattern::Weekly(weekdays), "every Monday and Friday at"),
        (2, Pattern::Weekly(weekdays), "every 2 weeks on Monday and Friday at"),
        (
            1,
            monthly(31, Short::Clamp),
            "every month on the 31st (the last day of a shorter month) at",
        ),
        (2, monthly(30, Short::Skip), "every 2 months on the 30th (not in a shorter month) at"),
        (1, monthly(12, Short::Skip), "every month on the 12th at"),
        (1, nth(Nth::Last), "every month on the last Thursday at"),
        (12, nth(Nth::From(4)), "every year on the 4th Thursday of November at"),
        (6, Pattern::LastDay, "every 6 months on the last day at"),
        (4, yearly, "every 4 years on 29 February (1 March in other years) at"),
    ] {
        let rule = Rule::new(RuleParts { every, ..parts("2027-11-15T15:00", pattern) }).unwrap();
        assert!(rule.describe().starts_with(words), "{} is not {words}", rule.describe());
    }
    let mut daily = parts("2026-12-23T09:00:30", Pattern::Daily);
    daily.end = End::Until(date("2026-12-31"));
    daily.except = (24..=29).map(|day| jiff::civil::date(2026, 12, day)).collect();
    assert_eq!(
        Rule::new(daily).unwrap().describe(),
        "every day at 09:00:30 Europe/Berlin until 31 December 2026, except 24 December 2026, \
         25 December 2026, 26 December 2026, 27 December 2026 and 2 more"
    );
    let at = "2026-12-04T07:00:00Z".parse().unwrap();
    assert_eq!(told(at, &zone("Asia/Shanghai")), "Fri 4 Dec 2026 15:00 +08:00 Asia/Shanghai");
    assert_eq!(told(at, &TimeZone::UTC), "Fri 4 Dec 2026 07:00 +00:00 UTC");
}
