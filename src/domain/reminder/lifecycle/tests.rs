//! The life of reminders, as stories in Shanghai and Berlin.

mod property;

use jiff::SignedDuration;

use super::*;
use crate::domain::reminder::{Pattern, zone_named};

/// Five minutes are late, a day is too late; nothing is repeated.
pub(super) const POLICY: Policy = Policy {
    late_after: SignedDuration::from_mins(5),
    grace: SignedDuration::from_hours(24),
    open_for: SignedDuration::from_hours(24),
    repeat: None,
    escalate_after: None,
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn rule(start: &str, zone: &str, pattern: Pattern) -> Rule {
    Rule::every(start.parse().unwrap(), zone_named(zone).unwrap(), pattern).unwrap()
}

/// Every Friday at 15:00 in Shanghai, 07:00 UTC, told an hour before.
fn meeting(now: &str) -> Reminder {
    let friday =
        Pattern::Weekly(crate::domain::reminder::Weekdays::one(jiff::civil::Weekday::Friday));
    let rule = rule("2026-11-27T15:00", "Asia/Shanghai", friday);
    Reminder::new(rule, Lead::minutes(60), Status::Active, at(now)).unwrap()
}

/// Every day at 09:00 in Berlin, told then.
fn pill(now: &str) -> Reminder {
    let rule = rule("2026-11-01T09:00", "Europe/Berlin", Pattern::Daily);
    Reminder::new(rule, Lead::NONE, Status::Active, at(now)).unwrap()
}

fn dentist(now: &str) -> Reminder {
    let rule = rule("2026-11-27T15:00", "Europe/Berlin", Pattern::Once);
    Reminder::new(rule, Lead::minutes(60), Status::Active, at(now)).unwrap()
}

/// Effects in short: what is told (`tell 27 15:00 first, 0 s late`), what is not.
fn shown(effects: &[Effect], now: Timestamp) -> Vec<String> {
    let day = |occurrence: Occurrence| occurrence.civil.strftime("%d %H:%M").to_string();
    effects
        .iter()
        .map(|effect| match *effect {
            Effect::Tell(telling) => {
                let kind = match telling.kind {
                    Kind::First => "first".to_owned(),
                    Kind::Snoozed(n) => format!("snoozed {n}"),
                    Kind::Repeated(n) => format!("repeated {n}"),
                    Kind::Escalated => "escalated".to_owned(),
                };
                let missed = match telling.n_missed {
                    0 => String::new(),
                    n => format!(", {n} missed"),
                };
                let late = match telling.lateness(now).as_mins() {
                    0 => String::new(),
                    minutes => format!(", {minutes} min late"),
                };
                format!("tell {} {kind}{late}{missed}", day(telling.occurrence))
            }
            Effect::Skip { first, last, n, why } => {
                format!("skip {n} from {} to {}: {}", day(first), day(last), why.as_str())
            }
        })
        .collect()
}

#[track_caller]
fn check(reminder: &mut Reminder, now: &str, policy: &Policy, expected: &[&str]) {
    let effects = reminder.tick(at(now), policy);
    assert_eq!(shown(&effects, at(now)), expected, "at {now}");
}

#[test]
fn a_weekly_meeting_is_told_an_hour_before_each_friday_and_once() {
    let mut meeting = meeting("2026-11-25T00:00:00Z");
    check(&mut meeting, "2026-11-27T05:59:59Z", &POLICY, &[]);
    check(&mut meeting, "2026-11-27T06:00:00Z", &POLICY, &["tell 27 15:00 first"]);
    check(&mut meeting, "2026-11-27T06:00:00Z", &POLICY, &[]);
    // A clock that is set back brings nothing again.
    check(&mut meeting, "2026-11-26T12:00:00Z", &POLICY, &[]);
    check(&mut meeting, "2026-11-27T06:00:01Z", &POLICY, &[]);
    check(&mut meeting, "2026-12-04T06:00:20Z", &POLICY, &["tell 04 15:00 first"]);
    assert_eq!(meeting.generation, 0);
}

#[test]
fn what_is_set_after_its_moment_and_before_its_event_is_told_at_once() {
    let mut meeting = meeting("2026-11-27T06:35:00Z");
    let effects = meeting.tick(at("2026-11-27T06:35:00Z"), &POLICY);
    let [Effect::Tell(telling)] = effects[..] else { panic!("{effects:?}") };
    assert_eq!(telling.until_event(at("2026-11-27T06:35:00Z")).as_mins(), 25);
    assert_eq!(telling.lateness(at("2026-11-27T06:35:00Z")), SignedDuration::ZERO);
    assert_eq!(telling.expires_at, at("2026-11-28T07:00:00Z"));
}

#[test]
fn what_was_missed_goes_by_its_policy() {
    let daily = |on_missed| Reminder { on_missed, ..pill("2026-11-26T12:00:00Z") };
    let until_28 = |why| format!("skip 2 from 27 09:00 to 28 09:00: {why}");
    // Back at 11:42 in Berlin on the third day.
    let now = "2026-11-29T10:42:00Z";
    let late = ["tell 29 09:00 first, 162 min late"];
    let told = |on_missed| {
        let mut reminder = daily(on_missed);
        let effects = reminder.tick(at(now), &POLICY);
        assert_eq!(reminder.tick(at(now), &POLICY), [], "once");
        check(&mut reminder, "2026-11-30T08:00:00Z", &POLICY, &["tell 30 09:00 first"]);
        shown(&effects, at(now))
    };
    assert_eq!(told(OnMissed::Late), [&until_28("missed for too long"), late[0]]);
    assert_eq!(
        told(OnMissed::Coalesce),
        [&until_28("superseded by a later one"), "tell 29 09:00 first, 162 min late, 2 missed"]
    );
    assert_eq!(told(OnMissed::Skip), ["skip 3 from 27 09:00 to 29 09:00: missed"]);
}

#[test]
fn a_moment_after_a_long_absence_is_on_time_for_every_policy() {
    for (on_missed, last) in [
        (OnMissed::Late, "tell 29 09:00 first"),
        (OnMissed::Skip, "tell 29 09:00 first"),
        (OnMissed::Coalesce, "tell 29 09:00 first, 2 missed"),
    ] {
        let mut reminder = Reminder { on_missed, ..pill("2026-11-26T12:00:00Z") };
        let now = at("2026-11-29T08:00:30Z");
        let effects = shown(&reminder.tick(now, &POLICY), now);
        assert_eq!(effects.last().unwrap(), last, "{on_missed}");
    }
}

#[test]
fn a_meeting_that_is_over_is_skipped_and_one_that_is_ahead_is_told_late() {
    let mut ahead = meeting("2026-11-25T00:00:00Z");
    check(&mut ahead, "2026-11-27T06:40:00Z", &POLICY, &["tell 27 15:00 first, 40 min late"]);
    let mut over = meeting("2026-11-25T00:00:00Z");
    let skipped = ["skip 1 from 27 15:00 to 27 15:00: missed, and over by now"];
    check(&mut over, "2026-11-27T09:00:00Z", &POLICY, &skipped);
    // One that takes place once is told late all the same, for a day.
    let mut late = dentist("2026-11-25T00:00:00Z");
    check(&mut late, "2026-11-28T12:00:00Z", &POLICY, &["tell 27 15:00 first, 1380 min late"]);
    let mut lost = dentist("2026-11-25T00:00:00Z");
    let skipped = ["skip 1 from 27 15:00 to 27 15:00: missed for too long"];
    check(&mut lost, "2026-11-28T14:00:00Z", &POLICY, &skipped);
    assert_eq!(lost.status, Status::Done);
}

#[test]
fn ten_years_of_absence_cost_one_telling() {
    let mut reminder = pill("2016-11-26T12:00:00Z");
    reminder.rule = rule("2016-11-01T09:00", "Europe/Berlin", Pattern::Daily);
    let effects = reminder.tick(at("2026-11-29T08:00:00Z"), &POLICY);
    let expected = [
        "skip 3654 from 27 09:00 to 28 09:00: superseded by a later one",
        "tell 29 09:00 first, 3654 missed",
    ];
    assert_eq!(shown(&effects, at("2026-11-29T08:00:00Z")), expected);
    reminder.on_missed = OnMissed::Late;
    reminder.done_through = None;
    let forever = Policy { grace: SignedDuration::from_hours(24 * 9_999), ..POLICY };
    let effects = reminder.tick(at("2026-11-29T08:00:00Z"), &forever);
    assert_eq!(effects.len(), 1 + REMINDER_LATE_TOLD);
}

const REMINDER_LATE_TOLD: usize = crate::domain::limits::REMINDER_LATE_TOLD_MAX;

#[test]
fn snoozing_a_weekly_reminder_sends_it_once_more_and_leaves_next_week_alone() {
    let mut meeting = meeting("2026-11-25T00:00:00Z");
    check(&mut meeting, "2026-11-27T06:00:00Z", &POLICY, &["tell 27 15:00 first"]);
    meeting.snooze(at("2026-11-27T09:00:00Z"), at("2026-11-27T06:00:10Z")).unwrap();
    assert_eq!(meeting.standing(), Standing::Snoozed);
    check(&mut meeting, "2026-11-27T08:59:59Z", &POLICY, &[]);
    check(&mut meeting, "2026-11-27T09:00:00Z", &POLICY, &["tell 27 15:00 snoozed 1"]);
    check(&mut meeting, "2026-11-27T09:00:00Z", &POLICY, &[]);
    meeting.snooze(at("2026-11-28T09:00:00Z"), at("2026-11-27T09:00:10Z")).unwrap();
    // Thinking again replaces it.
    meeting.snooze(at("2026-11-27T10:00:00Z"), at("2026-11-27T09:00:20Z")).unwrap();
    check(&mut meeting, "2026-11-27T10:00:00Z", &POLICY, &["tell 27 15:00 snoozed 3"]);
    meeting.acknowledge().unwrap();
    check(&mut meeting, "2026-12-04T06:00:00Z", &POLICY, &["tell 04 15:00 first"]);
}

#[test]
fn what_was_snoozed_survives_the_next_occurrence_and_an_absence() {
    let mut pill = pill("2026-11-26T12:00:00Z");
    check(&mut pill, "2026-11-27T08:00:00Z", &POLICY, &["tell 27 09:00 first"]);
    pill.snooze(at("2026-11-28T12:00:00Z"), at("2026-11-27T08:00:00Z")).unwrap();
    check(&mut pill, "2026-11-28T08:00:00Z", &POLICY, &["tell 28 09:00 first"]);
    let later = "2026-11-28T15:00:00Z";
    check(&mut pill, later, &POLICY, &["tell 27 09:00 snoozed 1, 180 min late"]);
}

#[test]
fn what_nobody_acknowledges_is_repeated_and_escalated_and_an_acknowledgement_ends_that() {
    let policy = Policy {
        repeat: Some(Repeat { every: SignedDuration::from_mins(30), times: 1 }),
        escalate_after: Some(SignedDuration::from_mins(45)),
        ..POLICY
    };
    let told = || {
        let mut dentist = dentist("2026-11-25T00:00:00Z");
        check(&mut dentist, "2026-11-27T13:00:00Z", &policy, &["tell 27 15:00 first"]);
        dentist
    };
    let mut open = told();
    assert_eq!(open.standing(), Standing::Due);
    check(&mut open, "2026-11-27T13:29:59Z", &policy, &[]);
    check(&mut open, "2026-11-27T13:30:00Z", &policy, &["tell 27 15:00 repeated 1"]);
    check(&mut open, "2026-11-27T13:45:00Z", &policy, &["tell 27 15:00 escalated"]);
    check(&mut open, "2026-11-27T18:00:00Z", &policy, &[]);
    assert_eq!(open.status, Status::Active);
    check(&mut open, "2026-11-28T13:00:00Z", &policy, &[]);
    assert_eq!(open.status, Status::Done, "it closes by itself");
    let mut acknowledged = told();
    acknowledged.acknowledge().unwrap();
    assert_eq!(acknowledged.status, Status::Done);
    check(&mut acknowledged, "2026-11-27T13:45:00Z", &policy, &[]);
}

#[test]
fn one_message_on_each_of_the_nights_on_which_clocks_change() {
    let nights = |start: &str, now: &str| {
        let rule = rule(start, "Europe/Berlin", Pattern::Daily);
        let mut reminder = Reminder::new(rule, Lead::NONE, Status::Active, at(now)).unwrap();
        let told: Vec<String> = (0..3 * 24 * 60)
            .flat_map(|minute| {
                let now = at(now) + SignedDuration::from_mins(minute);
                reminder.tick(now, &POLICY).into_iter().map(move |_| now.to_string())
            })
            .collect();
        told
    };
    assert_eq!(
        nights("2026-10-24T02:30", "2026-10-23T22:00:00Z"),
        ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
    );
    assert_eq!(
        nights("2027-03-27T02:30", "2027-03-26T23:00:00Z"),
        ["2027-03-27T01:30:00Z", "2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"]
    );
}

#[test]
fn a_clock_that_was_years_ahead_loses_nothing() {
    let mut pill = pill("2026-11-26T12:00:00Z");
    check(&mut pill, "2026-11-27T08:00:00Z", &POLICY, &["tell 27 09:00 first"]);
    assert_eq!(pill.tick(at("2031-01-01T00:00:00Z"), &POLICY).len(), 2);
    check(&mut pill, "2026-11-27T20:00:00Z", &POLICY, &[]);
    assert_eq!(pill.generation, 1, "what is told again is something else");
    check(&mut pill, "2026-11-28T08:00:00Z", &POLICY, &["tell 28 09:00 first"]);
}

#[test]
fn a_changed_rule_tells_what_was_not_told() {
    let now = at("2026-11-27T06:10:00Z");
    let told = || {
        let mut meeting = meeting("2026-11-25T00:00:00Z");
        check(&mut meeting, "2026-11-27T06:00:00Z", &POLICY, &["tell 27 15:00 first"]);
        meeting
    };
    // The same meeting with another lead has been told.
    let mut same = told();
    same.change(same.rule.clone(), Lead::minutes(30), now).unwrap();
    check(&mut same, "2026-11-27T06:30:00Z", &POLICY, &[]);
    check(&mut same, "2026-12-04T06:30:00Z", &POLICY, &["tell 04 15:00 first"]);
    // At another time it is another one, even an earlier one, or the same wall in another zone.
    for (start, zone, told_at, expected) in [
        ("2026-11-27T14:30", "Asia/Shanghai", "2026-11-27T06:10:00Z", "tell 27 14:30 first"),
        ("2026-11-27T09:00", "Europe/Berlin", "2026-11-27T07:00:00Z", "tell 27 09:00 first"),
    ] {
        let mut moved = told();
        moved.change(rule(start, zone, Pattern::Daily), Lead::minutes(60), now).unwrap();
        check(&mut moved, told_at, &POLICY, &[expected]);
    }
    let over = rule("2026-11-26T09:00", "Europe/Berlin", Pattern::Once);
    assert_eq!(told().change(over, Lead::NONE, now), Err(ActionError::Passed));
}

#[test]
fn a_reminder_whose_time_passed_while_it_was_paused_says_so_when_it_is_to_go_on() {
    let mut once = dentist("2026-11-26T09:00:00Z");
    once.pause().unwrap();
    assert_eq!(once.resume(at("2026-11-27T15:00:00Z")), Err(ActionError::Passed));
    assert_eq!(once.status, Status::Paused);
    // What was told before and is open goes on.
    let mut told = dentist("2026-11-26T09:00:00Z");
    assert_eq!(told.tick(at("2026-11-27T13:00:00Z"), &POLICY).len(), 1);
    told.pause().unwrap();
    told.resume(at("2026-11-27T15:00:00Z")).unwrap();
    assert_eq!(told.standing(), Standing::Due);
}

#[test]
fn a_paused_reminder_tells_nothing_and_goes_on_from_when_it_is_resumed() {
    let mut pill = pill("2026-11-26T12:00:00Z");
    pill.pause().unwrap();
    check(&mut pill, "2026-11-28T09:00:00Z", &POLICY, &[]);
    assert_eq!((pill.standing(), pill.wakes_at(&POLICY)), (Standing::Paused, None));
    pill.resume(at("2026-11-28T09:00:00Z")).unwrap();
    check(&mut pill, "2026-11-28T09:00:00Z", &POLICY, &[]);
    check(&mut pill, "2026-11-29T08:00:00Z", &POLICY, &["tell 29 09:00 first"]);
}

#[test]
fn a_proposal_is_told_only_once_it_is_accepted() {
    let mut proposed = dentist("2026-11-25T00:00:00Z");
    proposed.status = Status::Proposed;
    let mut expired = proposed.clone();
    let mut declined = proposed.clone();
    check(&mut proposed, "2026-11-27T13:10:00Z", &POLICY, &[]);
    proposed.accept(at("2026-11-27T13:10:00Z")).unwrap();
    check(&mut proposed, "2026-11-27T13:10:00Z", &POLICY, &["tell 27 15:00 first"]);
    assert_eq!(expired.wakes_at(&POLICY), Some(at("2026-11-27T14:00:00Z")));
    assert_eq!(expired.accept(at("2026-11-27T14:00:00Z")), Err(ActionError::Passed));
    check(&mut expired, "2026-11-27T14:00:00Z", &POLICY, &[]);
    assert_eq!(expired.status, Status::Expired);
    declined.decline().unwrap();
    assert_eq!(declined.standing(), Standing::Past);
}

#[test]
fn the_next_times_are_told_with_what_they_are_about() {
    let meeting = meeting("2026-11-27T06:30:00Z");
    let upcoming: Vec<String> = meeting.upcoming(3).iter().map(|(at, _)| at.to_string()).collect();
    // The first is due by now.
    let expected = ["2026-11-27T06:30:00Z", "2026-12-04T06:00:00Z", "2026-12-11T06:00:00Z"];
    assert_eq!(upcoming, expected);
    assert_eq!(dentist("2026-11-25T00:00:00Z").upcoming(3).len(), 1);
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason() {
    let now = at("2026-11-27T14:00:00Z");
    let mut meeting = meeting("2026-11-25T00:00:00Z");
    let nothing = meeting.acknowledge().unwrap_err().to_string();
    assert!(nothing.contains("cannot acknowledge: no occurrence has been told"), "{nothing}");
    assert_eq!(meeting.snooze(now, now), Err(ActionError::NothingOpen("snooze")));
    check(&mut meeting, "2026-11-27T06:00:00Z", &POLICY, &["tell 27 15:00 first"]);
    assert_eq!(meeting.snooze(now, now), Err(ActionError::Until(now)));
    let too_long = now + SignedDuration::from_hours(24 * 366 + 1);
    assert_eq!(meeting.snooze(too_long, now), Err(ActionError::Until(too_long)));
    let resumed = meeting.resume(now).unwrap_err().to_string();
    assert_eq!(resumed, "cannot resume a reminder that is active");
    meeting.cancel().unwrap();
    assert_eq!(meeting.open, None);
    for (action, result) in [
        ("accept", meeting.clone().accept(now)),
        ("decline", meeting.clone().decline()),
        ("pause", meeting.clone().pause()),
        ("resume", meeting.clone().resume(now)),
        ("cancel", meeting.clone().cancel()),
        ("finish", meeting.clone().finish()),
        ("acknowledge", meeting.clone().acknowledge()),
        ("snooze", meeting.clone().snooze(too_long, now)),
        ("change", meeting.clone().change(meeting.rule.clone(), Lead::NONE, now)),
    ] {
        assert_eq!(result, Err(ActionError::Status { action, status: Status::Cancelled }));
    }
    let past = rule("2026-11-27T15:00", "Europe/Berlin", Pattern::Once);
    assert_eq!(
        Reminder::new(past, Lead::NONE, Status::Active, now),
        Err(ActionError::Passed),
        "15:00 in Berlin is now"
    );
}

#[test]
fn only_so_many_occurrences_can_be_snoozed() {
    let mut pill = pill("2026-11-26T12:00:00Z");
    for day in 0..=8 {
        let now = at("2026-11-27T08:00:00Z") + SignedDuration::from_hours(24 * day);
        assert_eq!(pill.tick(now, &POLICY).len(), 1);
        let snoozed = pill.snooze(at("2027-01-01T00:00:00Z"), now);
        assert_eq!(snoozed, if day < 8 { Ok(()) } else { Err(ActionError::Snoozed) }, "{day}");
    }
}
