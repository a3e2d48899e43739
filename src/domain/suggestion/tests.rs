//! What is suggested of memories, and what is not.

use jiff::Span;
use jiff::civil::DateTime;

use super::*;
use crate::domain::reminder::Weekdays;

const ZONE: &str = "Europe/Berlin";
const WORDS: &str = "router kettle anna printer invoice server garden bicycle train ticket lunch budget \
    release backup violin doctor parcel window keyboard meeting report planning review team sketch";

fn zone() -> TimeZone {
    TimeZone::get(ZONE).unwrap()
}

fn happened(text: &str, civil: DateTime) -> Happened {
    let at = zone().to_timestamp(civil).unwrap();
    Happened { text: text.to_owned(), event: Event { at, is_day: false } }
}

/// A generator of numbers below a bound, of a printed seed.
fn numbers(seed: u64) -> impl FnMut(i64) -> i64 {
    println!("seed {seed}");
    let mut state = seed;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 33).unwrap() % below
    }
}

/// Eight weeks of a stand-up on Mondays at ten, within ten minutes, without the third and the sixth,
/// and two before that.
fn standups(from: DateTime, random: &mut impl FnMut(i64) -> i64) -> Vec<Happened> {
    (0..10_i64)
        .filter(|week| ![3, 6].contains(week))
        .map(|week| {
            let minutes = week * 7 * 24 * 60 + random(21) - 10;
            let text = format!("Team stand-up: discussed the {}", pick(random));
            happened(&text, from.checked_add(Span::new().minutes(minutes)).unwrap())
        })
        .collect()
}

fn pick(random: &mut impl FnMut(i64) -> i64) -> &'static str {
    let words: Vec<&str> = WORDS.split_ascii_whitespace().collect();
    words[usize::try_from(random(i64::try_from(words.len()).unwrap())).unwrap()]
}

/// Things that happened at any time of ten weeks, in words that they share.
fn noise(from: DateTime, n: usize, random: &mut impl FnMut(i64) -> i64) -> Vec<Happened> {
    (0..n)
        .map(|_| {
            let text =
                format!("The {} of the {} and a {}", pick(random), pick(random), pick(random));
            let minutes = random(10 * 7 * 24 * 60);
            happened(&text, from.checked_add(Span::new().minutes(minutes)).unwrap())
        })
        .collect()
}

fn all(happened: &[Happened], now: DateTime) -> Vec<Suggestion> {
    let now = zone().to_timestamp(now).unwrap();
    suggestions(happened, &zone(), now, Time::constant(9, 0, 0, 0))
}

#[test]
fn stand_ups_among_noise_are_one_suggestion_and_shuffled_ones_none() {
    for seed in 1..=20 {
        let mut random = numbers(seed);
        // Berlin changes its clocks on 29 March 2026, in the sixth week.
        let from: DateTime = "2026-02-23T10:00".parse().unwrap();
        let now: DateTime = "2026-05-01T12:00".parse().unwrap();
        let mut happened = standups(from, &mut random);
        happened.extend(noise(from, 200, &mut random));
        let found = all(&happened, now);
        assert_eq!(found.len(), 1, "seed {seed}: {found:#?}");
        let rule = found[0].habit.rule.parts();
        assert_eq!(rule.pattern, Pattern::Weekly(Weekdays::one(jiff::civil::Weekday::Monday)));
        let off = rule.start.time().until(Time::constant(10, 0, 0, 0)).unwrap();
        assert!(off.total(jiff::Unit::Minute).unwrap().abs() <= 5.0, "{rule:?}");
        assert_eq!(found[0].habit.evidence, (0..8).collect::<Vec<_>>());
        assert_eq!(found[0].name, "Team stand-up discussed");

        for (at, one) in happened.iter_mut().enumerate().take(8) {
            let minutes = random(10 * 7 * 24 * 60) + i64::try_from(at).unwrap();
            let civil = from.checked_add(Span::new().minutes(minutes)).unwrap();
            one.event.at = zone().to_timestamp(civil).unwrap();
        }
        assert_eq!(all(&happened, now), [], "seed {seed}");
    }
}

#[test]
fn a_meeting_on_four_fridays_is_suggested_in_both_languages() {
    for (text, name) in
        [("Sync with the Berlin office", "Sync Berlin office"), ("和王伟开周会", "和王伟开周会")]
    {
        let at = |day: &str| happened(text, format!("2026-04-{day}T15:00").parse().unwrap());
        let four: Vec<Happened> = ["03", "10", "17", "24"].map(at).to_vec();
        let found = all(&four, "2026-04-25T12:00".parse().unwrap());
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].name, name);
        assert_eq!(found[0].habit.rule.describe(), "every Friday at 15:00 Europe/Berlin");
        assert!(all(&four[1..], "2026-04-25T12:00".parse().unwrap()).is_empty(), "three are few");
    }
}

#[test]
fn what_is_said_on_fridays_and_what_is_done_at_work_is_no_rule() {
    let now: DateTime = "2026-05-01T18:00".parse().unwrap();
    let from: DateTime = "2026-03-02T00:00".parse().unwrap();
    let mut random = numbers(7);
    let fridays: Vec<Happened> = (0..8_i64)
        .map(|week| {
            let text = format!("Friday: the {}", pick(&mut random));
            let minutes = (week * 7 + 4) * 24 * 60 + 9 * 60 + random(540);
            happened(&text, from.checked_add(Span::new().minutes(minutes)).unwrap())
        })
        .collect();
    assert_eq!(all(&fridays, now), []);
    let at_work: Vec<Happened> = (0..60_i64)
        .filter(|day| day % 7 < 5)
        .map(|day| {
            let minutes = day * 24 * 60 + 9 * 60 + random(480);
            happened("Worked on recalld", from.checked_add(Span::new().minutes(minutes)).unwrap())
        })
        .collect();
    assert_eq!(all(&at_work, now), []);
}

#[test]
fn what_a_reminder_tells_already_is_known() {
    let at = |day: &str| happened("Sync", format!("2026-04-{day}T15:00").parse().unwrap());
    let four: Vec<Happened> = ["03", "10", "17", "24"].map(at).to_vec();
    let now: DateTime = "2026-04-25T12:00".parse().unwrap();
    let found = all(&four, now);
    let now = zone().to_timestamp(now).unwrap();
    for (time, expected) in [("15:00", true), ("15:45", true), ("17:00", false)] {
        let start: DateTime = format!("2026-01-02T{time}").parse().unwrap();
        let friday = Pattern::Weekly(Weekdays::one(jiff::civil::Weekday::Friday));
        let rule = Rule::every(start, zone(), friday).unwrap();
        assert_eq!(found[0].is_told_by(&rule, now), expected, "{time}");
    }
}
