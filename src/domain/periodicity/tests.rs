//! Meetings that recur, with holes and noise, and what only looks like it.

use jiff::Span;
use jiff::civil::Weekday;
use proptest::prelude::*;

use super::*;
use crate::domain::reminder::{Nth, Short};

const NINE: Time = Time::constant(9, 0, 0, 0);

fn zone() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

fn event(civil: &str) -> Event {
    let at = zone().to_timestamp(civil.parse().unwrap()).unwrap();
    Event { at, is_day: false }
}

fn events(civil: &[&str]) -> Vec<Event> {
    civil.iter().map(|civil| event(civil)).collect()
}

fn found(events: &[Event], now: &str) -> Option<Habit> {
    habit(events, &zone(), event(now).at, NINE)
}

#[track_caller]
fn check(civil: &[&str], now: &str, expected: Option<(Pattern, u32, &str)>) {
    let habit = found(&events(civil), now);
    let told = habit.as_ref().map(|habit| {
        let parts = habit.rule.parts();
        (parts.pattern, parts.every, parts.start.time().strftime("%H:%M").to_string())
    });
    let expected = expected.map(|(pattern, every, time)| (pattern, every, time.to_owned()));
    assert_eq!(told, expected, "{habit:?}");
}

const FRIDAY: Pattern = Pattern::Weekly(Weekdays::one(Weekday::Friday));

#[test]
fn a_meeting_remembered_on_four_fridays_is_weekly() {
    let fridays = ["2026-10-30T15:02", "2026-11-06T14:57", "2026-11-13T15:05", "2026-11-20T15:00"];
    check(&fridays, "2026-11-24T10:00", Some((FRIDAY, 1, "15:00")));
    let habit = found(&events(&fridays), "2026-11-24T10:00").unwrap();
    assert_eq!((habit.n_hits, habit.n_turns), (4, 4));
    assert_eq!(habit.evidence, [0, 1, 2, 3]);
    assert!(habit.has_time);
    assert!(habit.spread < SignedDuration::from_mins(10), "{:?}", habit.spread);
    assert!(habit.concentration > 0.99);
    let next = habit.rule.next_after(event("2026-11-24T10:00").at).unwrap();
    assert_eq!(next.civil, "2026-11-27T15:00".parse().unwrap());
}

#[test]
fn three_events_or_long_silence_show_nothing() {
    let three = ["2026-11-06T15:00", "2026-11-13T15:00", "2026-11-20T15:00"];
    check(&three, "2026-11-24T10:00", None);
    let old = ["2026-09-04T15:00", "2026-09-11T15:00", "2026-09-18T15:00", "2026-09-25T15:00"];
    check(&old, "2026-09-29T10:00", Some((FRIDAY, 1, "15:00")));
    check(&old, "2026-11-24T10:00", None);
}

#[test]
fn every_two_weeks_is_told_from_every_week() {
    let fortnights =
        ["2026-10-02T11:00", "2026-10-16T11:00", "2026-10-30T11:00", "2026-11-13T11:00"];
    check(&fortnights, "2026-11-24T10:00", Some((FRIDAY, 2, "11:00")));
    let habit = found(&events(&fortnights), "2026-11-24T10:00").unwrap();
    assert_eq!(habit.rule.parts().start, "2026-11-27T11:00".parse().unwrap());
}

#[test]
fn days_and_working_days_need_more_than_a_week() {
    let all = [
        "2026-11-09T08:00",
        "2026-11-10T08:10",
        "2026-11-11T07:55",
        "2026-11-12T08:00",
        "2026-11-13T08:05",
        "2026-11-14T08:00",
        "2026-11-15T08:00",
        "2026-11-16T08:00",
        "2026-11-17T08:02",
    ];
    check(&all, "2026-11-17T20:00", Some((Pattern::Daily, 1, "08:00")));
    check(&all[..5], "2026-11-13T20:00", None);
    let working = [
        "2026-11-09T09:30",
        "2026-11-10T09:30",
        "2026-11-11T09:30",
        "2026-11-12T09:30",
        "2026-11-13T09:30",
        "2026-11-16T09:30",
        "2026-11-17T09:30",
        "2026-11-18T09:30",
    ];
    let expected = Some((Pattern::Weekly(Weekdays::WORKING), 1, "09:30"));
    check(&working, "2026-11-18T20:00", expected);
}

#[test]
fn months_go_by_their_day_or_by_their_weekday() {
    let rent = ["2026-07-31T10:00", "2026-08-31T10:00", "2026-09-30T10:00", "2026-10-31T10:00"];
    let last = Pattern::MonthlyDay { day: 31, short: Short::Clamp };
    check(&rent, "2026-11-10T10:00", Some((last, 1, "10:00")));
    let review = ["2026-07-06T10:00", "2026-08-03T10:00", "2026-09-07T10:00", "2026-10-05T10:00"];
    let monday = |nth| Pattern::MonthlyNth { nth, weekday: Weekday::Monday };
    check(&review, "2026-10-20T10:00", Some((monday(Nth::From(1)), 1, "10:00")));
    let retro = ["2026-06-29T10:00", "2026-07-27T10:00", "2026-08-31T10:00", "2026-09-28T10:00"];
    check(&retro, "2026-10-20T10:00", Some((monday(Nth::Last), 1, "10:00")));
}

#[test]
fn a_day_without_a_time_gets_the_usual_one() {
    let days: Vec<Event> = ["2026-10-30", "2026-11-06", "2026-11-13", "2026-11-20"]
        .map(|day| Event { is_day: true, ..event(&format!("{day}T00:00")) })
        .to_vec();
    let habit = found(&days, "2026-11-24T10:00").unwrap();
    assert!(!habit.has_time);
    assert_eq!(habit.rule.parts().start.time(), NINE);
}

#[test]
fn what_came_in_one_import_is_left_out() {
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    let mut stored: Vec<Timestamp> = (0..7).map(|n| at(1_000 + n * 5)).collect();
    stored.extend([at(5_000), at(90_000), at(90_001)]);
    let apart = stored_apart(&stored);
    assert_eq!(apart, [[false; 7].as_slice(), &[true; 3]].concat());
    assert!(stored_apart(&stored[..6]).iter().all(|apart| *apart), "five others are no import");
}

/// Eight stand-ups a week apart within ten minutes, without two of them, across a change of clocks.
fn standups(random: &mut impl FnMut(i64) -> i64) -> Vec<Event> {
    (0..10)
        .filter(|week| ![3, 6].contains(week))
        .map(|week| {
            let minutes = random(21) - 10;
            let day: DateTime = "2026-09-25T15:00".parse().unwrap();
            let civil = day
                .checked_add(Span::new().weeks(week))
                .unwrap()
                .checked_add(SignedDuration::from_mins(minutes))
                .unwrap();
            Event { at: zone().to_timestamp(civil).unwrap(), is_day: false }
        })
        .collect()
}

#[test]
fn stand_ups_among_noise_give_one_suggestion_and_shuffled_ones_none() {
    let seed: u64 = std::env::var("RECALLD_SEED").map_or(20_261_130, |seed| seed.parse().unwrap());
    println!("RECALLD_SEED={seed}");
    let mut state = seed;
    let mut random = move |below: i64| {
        // Knuth's MMIX generator; its high bits.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 33).unwrap() % below
    };
    let now = "2026-11-30T10:00";
    let day = event("2026-09-25T00:00").at;
    let anywhere = |random: &mut dyn FnMut(i64) -> i64| Event {
        at: day.checked_add(SignedDuration::from_secs(random(66 * 86_400))).unwrap(),
        is_day: false,
    };
    let mut n_suggestions = 0;
    // Two hundred memories of forty other topics.
    for _ in 0..40 {
        let topic: Vec<Event> = (0..5).map(|_| anywhere(&mut random)).collect();
        n_suggestions += usize::from(found(&topic, now).is_some());
    }
    assert_eq!(n_suggestions, 0, "noise is no habit");
    let habit = found(&standups(&mut random), now).unwrap();
    assert_eq!(habit.rule.parts().pattern, FRIDAY);
    assert_eq!((habit.n_hits, habit.n_turns, habit.evidence.len()), (8, 10, 8));
    let hour = habit.rule.parts().start.time();
    assert!((seconds_of(hour) - 15 * 3_600).abs() <= 600, "{hour}");
    for _ in 0..40 {
        let shuffled: Vec<Event> = (0..8).map(|_| anywhere(&mut random)).collect();
        assert_eq!(found(&shuffled, now), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_events_make_it_panic_and_their_order_is_nothing(
        seconds in prop::collection::vec(any::<(i32, bool)>(), 0..12),
        now in any::<i32>(),
    ) {
        let events: Vec<Event> = seconds
            .iter()
            .map(|(second, is_day)| Event {
                at: Timestamp::from_second(i64::from(*second)).unwrap(),
                is_day: *is_day,
            })
            .collect();
        let now = Timestamp::from_second(i64::from(now)).unwrap();
        let forward = habit(&events, &zone(), now, NINE);
        let mut turned = events.clone();
        turned.reverse();
        let backward = habit(&turned, &zone(), now, NINE);
        prop_assert_eq!(forward.map(|habit| habit.rule), backward.map(|habit| habit.rule));
    }
}
