//! What arrives at a sink, when, and how often: rules, lateness, quiet hours, digests.

use jiff::SignedDuration;

use super::fixture::{agent, draft, owner};
use super::recorder::{Recorder, World, outlet, says, time};
use crate::domain::reminder::{OnMissed, Priority, Repeat, View};
use crate::service::forget::ForgetRequest;
use crate::service::remind::{
    ChangeReminder, HOOK, ListReminders, Outlet, ReminderAction, SetReminder, UpdateReminder,
};

async fn act(w: &World, reference: &str, action: ReminderAction) {
    let update = UpdateReminder { reference: reference.to_owned(), action };
    w.service.update_reminder(&owner(), update).await.unwrap();
}

/// The texts of what arrived, title first.
fn words(sink: &Recorder) -> Vec<String> {
    let texts = |arrived: &super::recorder::Arrived| {
        format!("{}\n{}", arrived.message.title, arrived.message.text)
    };
    sink.arrived().iter().map(texts).collect()
}

#[tokio::test]
async fn a_weekly_meeting_arrives_an_hour_before_once_a_week_whatever_is_restarted() {
    let mut w = World::new().await;
    let asked = SetReminder {
        rule: Some("every Friday 15:00".to_owned()),
        zone: Some("Asia/Shanghai".to_owned()),
        ..says("weekly team meeting")
    };
    w.set(asked).await;
    for restart in ["2026-12-03T12:00+08:00", "2026-12-04T14:00+08:00", "2026-12-04T14:00:01+08:00"]
    {
        w.live_until(restart).await;
        w.restart().await;
    }
    w.live_until("2026-12-18T13:59:59+08:00").await;
    assert_eq!(w.team.times(), ["2026-12-04T06:00:00Z", "2026-12-11T06:00:00Z"]);
    let words = words(&w.team);
    assert!(
        words[0]
            .starts_with("weekly team meeting\nFri 4 Dec 2026 15:00 +08:00 Asia/Shanghai, in 1 h"),
        "{}",
        words[0]
    );
}

#[tokio::test]
async fn the_time_on_the_wall_stays_over_both_changes_of_clocks() {
    let w = World::new().await;
    w.set_rule("morning", "every day at 09:00", "PT0S").await;
    w.set_rule("night", "every day at 02:30", "PT0S").await;
    w.live_until("2027-03-26T12:00+01:00").await;
    let before = w.team.arrived().len();
    w.live_until("2027-03-29T12:00+02:00").await;
    assert_eq!(
        w.team.times()[before..],
        [
            "2027-03-27T01:30:00Z",
            "2027-03-27T08:00:00Z",
            // 02:30 is skipped that night and comes an hour later.
            "2027-03-28T01:30:00Z",
            "2027-03-28T07:00:00Z",
            "2027-03-29T00:30:00Z",
            "2027-03-29T07:00:00Z",
        ]
    );
    w.f.clock.set(time("2027-10-29T12:00+02:00"));
    w.look().await;
    let before = w.team.arrived().len();
    w.live_until("2027-11-01T12:00+01:00").await;
    assert_eq!(
        w.team.times()[before..],
        [
            "2027-10-30T00:30:00Z",
            "2027-10-30T07:00:00Z",
            "2027-10-31T00:30:00Z",
            "2027-10-31T08:00:00Z",
            "2027-11-01T01:30:00Z",
            "2027-11-01T08:00:00Z",
        ]
    );
}

#[tokio::test]
async fn a_snooze_is_one_more_telling_and_leaves_the_rule_alone() {
    let w = World::new().await;
    let view = w.set_rule("report", "every Friday 15:00", "PT0S").await;
    w.live_until("2026-12-04T15:00+01:00").await;
    let wait = Some("3h".to_owned());
    act(&w, &view.entry.id.handle(), ReminderAction::Snooze { wait, until: None }).await;
    w.live_until("2026-12-11T18:00+01:00").await;
    assert_eq!(
        w.team.times(),
        ["2026-12-04T14:00:00Z", "2026-12-04T17:00:00Z", "2026-12-11T14:00:00Z"]
    );
    assert!(words(&w.team)[1].contains("snoozed until now"));
}

#[tokio::test]
async fn edits_and_reloads_make_no_second_message() {
    let w = World::new().await;
    let view = w.set_at("draft 0", "tomorrow 3pm").await;
    for n in 1..=10 {
        let change =
            ChangeReminder { text: Some(format!("draft {n}")), ..ChangeReminder::default() };
        act(&w, &view.entry.id.handle(), ReminderAction::Change(change)).await;
        if n % 2 == 0 {
            w.service.use_sinks(vec![outlet(&w.team)]);
            w.service.see_to_reminders(w.now()).await.unwrap();
        }
    }
    w.live_until("2026-12-03T12:00+01:00").await;
    assert_eq!(w.team.times(), ["2026-12-01T14:00:00Z"]);
    assert!(words(&w.team)[0].starts_with("draft 10\n"));
}

#[tokio::test]
async fn what_was_missed_while_nothing_ran_goes_by_its_policy_and_says_so() {
    let w = World::new().await;
    let missed = |text: &str, at: &str, on_missed| SetReminder {
        rule: Some(format!("every day at {at}")),
        on_missed: Some(on_missed),
        ..says(text)
    };
    for (text, on_missed) in
        [("skipped", OnMissed::Skip), ("coalesced", OnMissed::Coalesce), ("late", OnMissed::Late)]
    {
        w.set(missed(text, "08:00", on_missed)).await;
    }
    w.set_at("once", "2026-12-03T09:00").await;
    // The machine sleeps over three mornings.
    w.f.clock.set(time("2026-12-03T11:42+01:00"));
    w.look().await;
    let told = words(&w.team);
    assert_eq!(told.len(), 1, "{told:?}");
    let digest = &told[0];
    for part in [
        "3 reminders",
        "- coalesced: Thu 3 Dec 2026 08:00 +01:00 Europe/Berlin, 3 h 42 min ago",
        "told 3 h 42 min late; 2 earlier ones were missed",
        "- late: Thu 3 Dec 2026 08:00",
        "- once: Thu 3 Dec 2026 09:00 +01:00 Europe/Berlin, 2 h 42 min ago",
        "- skipped [",
        "3 were not told (missed): the last was due Thu 3 Dec 2026 08:00",
        "2 were not told (missed for too long)",
    ] {
        assert!(digest.contains(part), "{part}: {digest}");
    }
    // It is said once.
    w.live_until("2026-12-04T12:00+01:00").await;
    let next = &words(&w.team)[1..];
    assert!(!next.is_empty() && next.iter().all(|words| !words.contains("not told")), "{next:?}");
}

#[tokio::test]
async fn what_is_over_is_not_told_but_said_with_the_next_of_it() {
    let w = World::new().await;
    w.set_rule("meeting", "every day at 09:00", "PT1H").await;
    w.f.clock.set(time("2026-12-02T11:00+01:00"));
    w.look().await;
    assert_eq!(w.team.times(), [""; 0]);
    w.live_until("2026-12-03T12:00+01:00").await;
    let told = words(&w.team);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("2 were not told (missed, and over by now)"), "{}", told[0]);
    w.live_until("2026-12-04T12:00+01:00").await;
    assert!(!words(&w.team)[1].contains("not told"));
}

#[tokio::test]
async fn what_falls_into_quiet_hours_comes_at_their_end_in_one_message() {
    let w = World::new().await;
    let quiet = |quiet: &str| Outlet { quiet: Some(quiet.parse().unwrap()), ..outlet(&w.team) };
    w.service.use_sinks(vec![quiet("20:00-10:00")]);
    for n in 0..14 {
        // No hour was named: a day, told some hours before it begins.
        let at = time("2026-11-30T20:00+01:00")
            .checked_add(SignedDuration::from_hours(n))
            .unwrap()
            .to_zoned_datetime(jiff::tz::TimeZone::get("Europe/Berlin").unwrap());
        let lead = time("2026-12-02T00:00+01:00").duration_since(at.timestamp());
        let asked = SetReminder {
            at: Some("2026-12-02".to_owned()),
            lead: Some(lead.to_string()),
            ..says(&format!("matter {n}"))
        };
        w.set(asked).await;
    }
    w.live_until("2026-12-01T15:00+01:00").await;
    assert_eq!(w.team.times(), ["2026-12-01T09:00:00Z"]);
    let arrived = &w.team.arrived()[0].message;
    assert_eq!((arrived.title.as_str(), arrived.reminders.len()), ("14 reminders", 14));
}

#[tokio::test]
async fn what_a_person_set_for_the_night_and_what_is_urgent_come_in_quiet_hours() {
    let w = World::new().await;
    let quiet = Outlet { quiet: Some("20:00-10:00".parse().unwrap()), ..outlet(&w.team) };
    w.service.use_sinks(vec![quiet]);
    w.set_at("meant", "2026-12-01T01:30").await;
    let urgent = SetReminder {
        at: Some("2026-12-02".to_owned()),
        lead: Some("PT21H".to_owned()),
        priority: Some(Priority::Urgent),
        ..says("urgent")
    };
    w.set(urgent).await;
    w.live_until("2026-12-01T12:00+01:00").await;
    assert_eq!(w.team.times(), ["2026-12-01T00:30:00Z", "2026-12-01T02:00:00Z"]);
    assert!(w.team.arrived()[1].message.is_urgent);
}

#[tokio::test]
async fn a_whole_day_in_another_zone_is_told_before_it_begins_there() {
    let w = World::new().await;
    let asked = SetReminder {
        at: Some("2026-12-05".to_owned()),
        lead: Some("PT2H".to_owned()),
        zone: Some("Asia/Shanghai".to_owned()),
        ..says("moving day")
    };
    w.set(asked).await;
    w.live_until("2026-12-06T12:00+08:00").await;
    assert_eq!(w.team.times(), ["2026-12-04T14:00:00Z"], "22:00 in Shanghai the day before");
}

#[tokio::test]
async fn acknowledging_ends_the_telling_of_what_still_waits() {
    let w = World::new().await;
    let quiet = Outlet { quiet: Some("20:00-10:00".parse().unwrap()), ..outlet(&w.team) };
    w.service.use_sinks(vec![quiet]);
    let asked = SetReminder {
        at: Some("2026-12-02".to_owned()),
        lead: Some("PT25H".to_owned()),
        ..says("tax")
    };
    let view = w.set(asked).await;
    w.live_until("2026-11-30T23:30+01:00").await;
    act(&w, &view.entry.id.handle(), ReminderAction::Ack).await;
    w.live_until("2026-12-03T12:00+01:00").await;
    assert_eq!(w.team.times(), [""; 0]);
}

#[tokio::test]
async fn what_is_forgotten_is_not_told() {
    let w = World::new().await;
    let said = w.f.remember(&agent("a"), draft("The dentist is on Thursday at 3pm.")).await;
    let asked = SetReminder { memory: Some(said.id.handle()), ..SetReminder::default() };
    w.set(asked).await;
    let forget = ForgetRequest::Ids { references: vec![said.id.handle()], request: None };
    w.service.forget(&owner(), forget).await.unwrap();
    w.live_until("2026-12-05T12:00+01:00").await;
    assert_eq!(w.team.times(), [""; 0]);
    let all = ListReminders { view: View::All, namespaces: Vec::new(), limit: None, cursor: None };
    assert_eq!(w.service.reminders(&owner(), all).await.unwrap().reminders, []);
}

#[tokio::test]
async fn what_nobody_acknowledges_is_repeated_within_the_budget_and_goes_to_a_second_sink() {
    let w = World::with(|settings| {
        let policy = &mut settings.reminders.policy;
        policy.repeat = Some(Repeat { every: SignedDuration::from_mins(30), times: 2 });
        policy.escalate_after = Some(SignedDuration::from_mins(45));
        settings.reminders.escalate_to = Some("phone".to_owned());
        settings.reminders.sinks = vec!["team".to_owned()];
        settings.reminders.nag.per_day = 1;
    })
    .await;
    let phone = Recorder::new("phone", &w.f.clock);
    w.service.use_sinks(vec![outlet(&w.team), outlet(&phone)]);
    w.set_at("tea", "2026-11-30T14:00").await;
    w.live_until("2026-11-30T18:00+01:00").await;
    // One repetition a day; without a way to acknowledge it there nobody else is told.
    assert_eq!(w.team.times(), ["2026-11-30T13:00:00Z", "2026-11-30T13:30:00Z"]);
    assert_eq!(phone.times(), [""; 0]);
    assert!(words(&w.team)[1].contains("nobody acknowledged it"));
    w.team.may(|abilities| abilities.has_ack = true);
    w.f.clock.set(time("2026-12-02T12:00+01:00"));
    w.set_at("cake", "2026-12-02T14:00").await;
    w.live_until("2026-12-02T14:50+01:00").await;
    assert_eq!(phone.times(), ["2026-12-02T13:45:00Z"]);
    // Acknowledged where it was shown: nothing more comes.
    let shown = w.team.arrived().last().unwrap().message.key;
    w.team.acknowledge(shown);
    let key = w.service.acknowledged().await;
    assert_eq!(w.service.acknowledge_message(key).await.unwrap(), 1);
    let n_before = w.team.arrived().len();
    w.live_until("2026-12-02T20:00+01:00").await;
    assert_eq!((w.team.arrived().len(), phone.arrived().len()), (n_before, 1));
}

#[tokio::test]
async fn a_digest_tells_suggestions_once() {
    let w = World::new().await;
    let suggested = w.set_rule("stand-up", "every Monday at 10", "PT0S").await;
    // As the job that finds patterns leaves it.
    let mut entry = suggested.entry.clone();
    entry.reminder.status = crate::domain::reminder::Status::Proposed;
    let enact = crate::domain::reminder::Enact { changed: vec![entry], ..Default::default() };
    let port: &dyn crate::ports::Reminders = &*w.f.store;
    port.enact(enact, w.now()).await.unwrap();
    for day in ["2026-12-01", "2026-12-02"] {
        for n in 0..3 {
            w.set_at(&format!("matter {n}"), &format!("{day}T14:00")).await;
        }
    }
    w.live_until("2026-12-02T20:00+01:00").await;
    let told = words(&w.team);
    assert_eq!(told.len(), 2);
    assert!(
        told[0]
            .contains("- Suggested: stand-up: every Monday at 10:00 Europe/Berlin, next Mon 7 Dec"),
        "{}",
        told[0]
    );
    assert!(!told[1].contains("Suggested"), "{}", told[1]);
}

#[tokio::test]
async fn a_program_may_be_started_for_everything_that_is_due() {
    let w = World::with(|settings| settings.reminders.on_due = vec!["/bin/wake".to_owned()]).await;
    let hook = Recorder::new(HOOK, &w.f.clock);
    let phone = Recorder::new("phone", &w.f.clock);
    w.service.use_sinks(vec![outlet(&w.team), outlet(&phone), outlet(&hook)]);
    let asked = SetReminder {
        at: Some("tomorrow 3pm".to_owned()),
        sinks: vec!["phone".to_owned()],
        ..says("tea")
    };
    w.set(asked).await;
    w.live_until("2026-12-02T12:00+01:00").await;
    let n = |sink: &Recorder| sink.arrived().len();
    assert_eq!((n(&w.team), n(&phone), n(&hook)), (0, 1, 1));
}

#[tokio::test]
async fn a_clock_that_was_far_ahead_loses_nothing_when_it_is_set_right() {
    let w = World::new().await;
    w.set_rule("tea", "every day at 14:00", "PT0S").await;
    w.f.clock.set(time("2027-06-01T12:00+02:00"));
    w.look().await;
    w.f.clock.set(time("2026-11-30T13:00+01:00"));
    w.service.review_reminders(w.now()).await.unwrap();
    let before = w.team.arrived().len();
    w.live_until("2026-12-01T20:00+01:00").await;
    assert_eq!(w.team.times()[before..], ["2026-11-30T13:00:00Z", "2026-12-01T13:00:00Z"]);
    // Set back a little, it brings nothing again.
    w.f.clock.set(time("2026-12-01T13:30+01:00"));
    w.service.review_reminders(w.now()).await.unwrap();
    w.live_until("2026-12-01T20:00+01:00").await;
    assert_eq!(w.team.arrived().len(), before + 2);
}
