//! Properties of every rule.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;

/// Zones of both hemispheres, with changes of an hour, half an hour and none.
pub(in crate::domain::reminder) const ZONES: [&str; 8] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Shanghai",
    "America/Santiago",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "UTC",
];

/// Years in which dates are compared.
const YEARS: i16 = 24;

fn any_weekday() -> impl Strategy<Value = Weekday> {
    (0..7_i8).prop_map(|day| Weekday::from_monday_zero_offset(day).unwrap())
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    let short = prop_oneof![Just(Short::Clamp), Just(Short::Skip)];
    let leap = prop_oneof![Just(LeapDay::Feb28), Just(LeapDay::Mar1), Just(LeapDay::Skip)];
    let nth = prop_oneof![4 => (1..=5_i8).prop_map(Nth::From), 1 => Just(Nth::Last)];
    let days = proptest::collection::vec(any_weekday(), 1..5);
    let month_day = prop_oneof![1 => 1..=28_i8, 2 => 29..=31_i8];
    let year_day = prop_oneof![2 => (1..=12_i8, 1..=31_i8), 1 => Just((2, 29))];
    prop_oneof![
        1 => Just(Pattern::Once),
        2 => Just(Pattern::Daily),
        3 => days.prop_map(|days| Pattern::Weekly(days.into_iter().collect())),
        3 => (month_day, short).prop_map(|(day, short)| Pattern::MonthlyDay { day, short }),
        3 => (nth, any_weekday()).prop_map(|(nth, weekday)| Pattern::MonthlyNth { nth, weekday }),
        1 => Just(Pattern::LastDay),
        3 => (year_day, leap)
            .prop_map(|((month, day), leap)| Pattern::Yearly { month, day, leap }),
    ]
}

fn any_start() -> impl Strategy<Value = DateTime> {
    let day = (1990..2100_i16, 1..=12_i8, 1..=31_i8);
    // Half of the times lie where clocks change.
    let time = (prop_oneof![0..24_i8, 0..4_i8], 0..60_i8);
    (day, time).prop_filter_map("no such day", |((year, month, day), (hour, minute))| {
        Some(Date::new(year, month, day).ok()?.at(hour, minute, 0, 0))
    })
}

fn any_end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Never),
        (1..60_u32).prop_map(End::Count),
        (1990..2110_i16, 1..=12_i8)
            .prop_map(|(year, month)| { End::Until(Date::new(year, month, 15).unwrap()) }),
    ]
}

/// Parts of which not all make a rule: some never come due.
pub(super) fn any_parts() -> impl Strategy<Value = RuleParts> {
    let zone = (0..ZONES.len()).prop_map(|place| zone(ZONES[place]));
    let every = prop_oneof![Just(1), 1..5_u32, Just(12), 1..50_u32];
    let except = proptest::collection::vec(0..600_i64, 0..6);
    (any_start(), zone, any_pattern(), every, any_end(), except).prop_map(
        |(start, zone, pattern, every, end, except)| {
            let except = except
                .into_iter()
                .filter_map(|days| start.date().checked_add(jiff::Span::new().days(days)).ok())
                .collect();
            RuleParts { start, zone, pattern, every, end, except }
        },
    )
}

/// A rule and what it was made of.
pub(in crate::domain::reminder) fn any_rule() -> impl Strategy<Value = (RuleParts, Rule)> {
    any_parts().prop_filter_map("never comes due", |mut parts| {
        let rule = Rule::new(parts.clone()).ok()?;
        if rule.is_once() {
            (parts.every, parts.end) = (1, End::Never);
        }
        Some((parts, rule))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_nth_date_by_arithmetic_is_the_one_that_is_walked_to((parts, rule) in any_rule()) {
        let dates = naive::dates(&parts, YEARS);
        for n in [0, 1, 2, 3, 7, 20, 55, 400, 3_000] {
            if let Some(date) = dates.get(n) {
                prop_assert_eq!(rule.nth_date(n as u64), Some(*date), "{}", n);
            }
        }
        let mut stepped = rule.next_date(parts.start.date());
        for date in &dates {
            prop_assert_eq!(stepped, Some(*date));
            stepped = rule.next_date(date.tomorrow().unwrap());
        }
        let mut stepped = dates.last().copied();
        for date in dates.iter().rev() {
            prop_assert_eq!(stepped, Some(*date));
            stepped = rule.previous_date(date.yesterday().unwrap());
        }
        prop_assert_eq!(stepped, None);
    }

    #[test]
    fn occurrences_between_two_moments_are_counted_by_arithmetic(
        (parts, rule) in any_rule(),
        from in 0..3_000_i64,
        days in 0..3_000_i64,
        hour in 0..24_i8,
    ) {
        let hours = |n: i64| jiff::Span::new().hours(n);
        let after = parts.start.checked_add(hours(24 * from)).unwrap();
        let after = after.date().at(hour, 0, 0, 0);
        let until = after.checked_add(hours(24 * days + 5)).unwrap();
        let is_counted = |date: &&Date| {
            let civil = date.to_datetime(parts.start.time());
            civil > after && civil <= until && !parts.except.contains(*date)
        };
        let dates = naive::dates(&parts, YEARS);
        prop_assert_eq!(rule.n_between(after, until), dates.iter().filter(is_counted).count() as u64);
    }

    #[test]
    fn the_next_occurrence_is_always_later(
        (_, rule) in any_rule(),
        days in -400..4_000_i64,
        minutes in 0..1_440_i64,
    ) {
        let start = rule.first().unwrap();
        let mut at = start.at + SignedDuration::from_hours(24 * days) + SignedDuration::from_mins(minutes);
        for _ in 0..8 {
            let Some(next) = rule.next_after(at) else { break };
            prop_assert!(next.at > at);
            // Nothing lies between, from either side.
            prop_assert_eq!(rule.last_until(next.at).unwrap().at, next.at);
            let before = rule.last_until(next.at - SignedDuration::from_secs(1));
            prop_assert!(before.is_none_or(|before| before.at <= at));
            prop_assert_eq!(instant(next.civil, rule.zone()), Some(next.at));
            at = next.at;
        }
    }

    #[test]
    fn the_next_by_the_wall_is_the_next_by_the_clock((_, rule) in any_rule(), n in 0..50_u64) {
        let Some(date) = rule.nth_date(n) else { return Ok(()) };
        let civil = date.to_datetime(rule.parts().start.time());
        let at = instant(civil, rule.zone()).unwrap();
        prop_assert_eq!(rule.next_after_civil(civil), rule.next_after(at));
    }

    #[test]
    fn a_rule_that_is_written_is_read_back((_, rule) in any_rule()) {
        let text = rule.to_string();
        let read: Rule = text.parse().map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert_eq!(&read, &rule, "{}", text);
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn no_text_breaks_the_reader(text in "(DTSTART|RRULE|EXDATE|;|:|=|FREQ=[A-Z]{3,7}|BY[A-Z]{3,8}|[0-9TZ,-]{0,16}|\n| |é)*") {
        // Reading ends, and what is read is a rule with an occurrence.
        if let Ok(rule) = text.parse::<Rule>() {
            prop_assert!(rule.next_after(Timestamp::MIN).is_some());
        }
    }
}
