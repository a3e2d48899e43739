//! Messages on their way: failures, pauses, doubts, dead letters, sinks that go.

use std::time::Duration;

use jiff::SignedDuration;

use super::fixture::{agent, owner};
use super::recorder::{Answer, Recorder, World, outlet, says, time};
use crate::domain::id::MemoryId;
use crate::domain::reminder::{DeliveryKey, DeliveryState, Outcome};
use crate::ports::Reminders;
use crate::service::remind::{
    DeadOnes, ReminderAction, SetReminder, SinkCondition, SinkReport, UpdateReminder,
};
use crate::service::status::{PartState, StatusReport};

fn retry(after: Option<i64>, why: &str) -> Answer {
    let after = after.map(SignedDuration::from_secs);
    Answer::Is(Outcome::Retry { after, why: why.to_owned() })
}

/// The message whose key begins with these digits.
fn one(key: &str) -> DeadOnes {
    DeadOnes::Keys(vec![key.to_owned()])
}

async fn report(w: &World, name: &str) -> SinkReport {
    let reports = w.service.sink_reports().await.unwrap();
    reports.into_iter().find(|report| report.name == name).unwrap()
}

async fn count(w: &World, state: DeliveryState) -> u64 {
    let port: &dyn Reminders = &*w.f.store;
    let counts = port.row_counts().await.unwrap();
    counts.into_iter().filter(|(known, ..)| *known == state).map(|(.., n)| n).sum()
}

#[tokio::test]
async fn a_sink_that_asks_for_a_pause_gets_it_and_loses_nothing() {
    let w = World::new().await;
    w.team.answers([retry(Some(7), "429"), retry(Some(7), "429"), retry(Some(7), "429")]);
    for at in ["14:00", "14:01"] {
        w.set_at(at, &format!("2026-11-30T{at}")).await;
    }
    w.live_until("2026-11-30T16:00+01:00").await;
    let times = w.team.arrived();
    let refused: Vec<_> = times.iter().take(3).map(|arrived| arrived.at).collect();
    for (refused, next) in refused.iter().zip(times.iter().skip(1)) {
        assert!(next.at.duration_since(*refused) >= SignedDuration::from_secs(7), "{times:?}");
    }
    assert_eq!(count(&w, DeliveryState::Sent).await, 2);
    assert_eq!(times.len(), 5, "two that were taken and three that were not");
}

#[tokio::test]
async fn what_is_refused_is_dead_at_once_with_the_reason_and_can_be_sent_again_or_dropped() {
    let w = World::new().await;
    w.team.answers([
        Answer::Is(Outcome::Refused("code 19021: sign match fail".to_owned())),
        Answer::Is(Outcome::Refused("code 19021: sign match fail".to_owned())),
    ]);
    w.set_at("tea", "2026-11-30T14:00").await;
    w.set_at("cake", "2026-11-30T15:00").await;
    w.live_until("2026-11-30T16:00+01:00").await;
    let dead = w.service.dead_letters(&owner(), 10).await.unwrap();
    let texts: Vec<&str> =
        dead.iter().map(|letter| letter.entry.as_ref().unwrap().text.as_str()).collect();
    assert_eq!(texts, ["cake", "tea"]);
    assert!(dead[0].row.delivery.why.as_ref().unwrap().contains("19021"));
    assert_eq!(report(&w, "team").await.n_dead, 2);
    let key = |at: usize| dead[at].row.delivery.key.to_string();
    w.service.retry_dead(&owner(), &one(&key(0))).await.unwrap();
    w.service.drop_dead(&owner(), &one(&key(1)[..8])).await.unwrap();
    w.live_until("2026-11-30T16:01+01:00").await;
    assert_eq!(w.team.arrived().len(), 3);
    assert_eq!(report(&w, "team").await.n_dead, 0);
    for (key, caller) in [
        ("00000000", owner()),
        ("0", owner()),
        (key(0).as_str(), owner()),
        (key(0).as_str(), agent("a")),
    ] {
        assert!(w.service.retry_dead(&caller, &one(key)).await.is_err(), "{key}");
    }
    assert!(w.service.dead_letters(&agent("a"), 10).await.is_err());
}

#[tokio::test]
async fn a_part_of_a_digest_that_was_refused_is_sent_again_under_its_own_key() {
    let w = World::new().await;
    w.team.may(|abilities| abilities.knows_keys = true);
    w.team.answers([Answer::Is(Outcome::Refused("too long".to_owned()))]);
    for text in ["tea", "cake", "milk"] {
        w.set_at(text, "2026-11-30T14:00").await;
    }
    w.live_until("2026-11-30T14:01+01:00").await;
    let dead = w.service.dead_letters(&owner(), 10).await.unwrap();
    assert_eq!((w.team.arrived().len(), dead.len()), (1, 3));
    for (n, letter) in dead.iter().enumerate() {
        let key = letter.row.delivery.key;
        w.service.retry_dead(&owner(), &one(&key.to_string())).await.unwrap();
        w.live_until(&format!("2026-11-30T14:{:02}+01:00", n + 5)).await;
        assert_eq!(w.team.arrived().last().unwrap().message.key, key);
    }
    assert_eq!(count(&w, DeliveryState::Sent).await, 3);
}

async fn act(w: &World, reminder: MemoryId, action: ReminderAction) {
    let update = UpdateReminder { reference: reminder.to_string(), action };
    w.service.update_reminder(&owner(), update).await.unwrap();
}

#[tokio::test]
async fn what_waits_for_a_failing_sink_is_held_while_its_reminder_is_paused_and_goes_after() {
    let w = World::new().await;
    w.team.answers([retry(None, "500")]);
    let id = w.set_at("tea", "2026-11-30T14:00").await.entry.id;
    w.live_until("2026-11-30T14:00+01:00").await;
    act(&w, id, ReminderAction::Pause).await;
    w.live_until("2026-11-30T15:00+01:00").await;
    assert_eq!(w.team.arrived().len(), 1, "paused");
    let waiting = w.service.waiting_messages(&owner()).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].next_try), (1, None));
    assert_eq!(waiting[0].why.as_deref(), Some("held until the reminder is resumed"));
    act(&w, id, ReminderAction::Resume).await;
    w.live_until("2026-11-30T15:01+01:00").await;
    let arrived = w.team.arrived();
    assert_eq!(arrived.len(), 2);
    assert_eq!(arrived[0].message.key, arrived[1].message.key);
    assert!(arrived[1].message.text.contains("late"), "{}", arrived[1].message.text);
    assert_eq!(count(&w, DeliveryState::Sent).await, 1);
}

#[tokio::test]
async fn a_part_of_a_digest_that_is_held_does_not_hold_the_others_and_goes_under_another_key() {
    let w = World::new().await;
    w.team.may(|abilities| abilities.knows_keys = true);
    w.team.answers([retry(None, "500")]);
    let mut ids = Vec::new();
    for text in ["tea", "cake", "milk"] {
        ids.push(w.set_at(text, "2026-11-30T14:00").await.entry.id);
    }
    w.live_until("2026-11-30T14:00+01:00").await;
    let digest = w.team.arrived()[0].message.key;
    let keys: Vec<DeliveryKey> = {
        let port: &dyn Reminders = &*w.f.store;
        let mut keys = Vec::new();
        for id in &ids {
            keys.extend(port.rows_of(*id).await.unwrap().into_iter().map(|row| row.delivery.key));
        }
        keys
    };
    // The one whose own key the digest went under is the one that would be taken for it.
    let first = keys.iter().position(|key| *key == digest).unwrap();
    act(&w, ids[first], ReminderAction::Pause).await;
    w.live_until("2026-11-30T14:30+01:00").await;
    let arrived = w.team.arrived();
    assert_eq!((arrived.len(), arrived[1].message.key), (2, digest));
    assert_eq!(arrived[1].message.reminders.len(), 2);
    act(&w, ids[first], ReminderAction::Resume).await;
    w.live_until("2026-11-30T14:31+01:00").await;
    let last = w.team.arrived().pop().unwrap().message;
    assert_ne!(last.key, digest);
    assert_eq!(last.reminders.len(), 1);
    assert_eq!(count(&w, DeliveryState::Sent).await, 3);
}

#[tokio::test]
async fn what_is_called_off_while_it_waits_is_not_told() {
    let w = World::new().await;
    w.team.answers([retry(Some(3_600), "429")]);
    let [cancelled, acknowledged] = [
        w.set_at("tea", "2026-11-30T14:00").await.entry.id,
        w.set_at("cake", "2026-11-30T14:01").await.entry.id,
    ];
    w.live_until("2026-11-30T14:01+01:00").await;
    act(&w, acknowledged, ReminderAction::Pause).await;
    act(&w, cancelled, ReminderAction::Cancel).await;
    act(&w, acknowledged, ReminderAction::Ack).await;
    act(&w, acknowledged, ReminderAction::Done).await;
    w.live_until("2026-11-30T16:00+01:00").await;
    assert_eq!(count(&w, DeliveryState::Dropped).await, 2);
    assert_eq!(count(&w, DeliveryState::Sent).await, 0);
}

#[tokio::test]
async fn failures_are_tried_again_until_the_attempts_are_used_up() {
    let w = World::with(|settings| settings.reminders.attempts_max = 4).await;
    w.team.answers((0..10).map(|_| retry(None, "502")));
    w.set_at("tea", "2026-11-30T14:00").await;
    w.live_until("2026-12-01T16:00+01:00").await;
    assert_eq!(w.team.arrived().len(), 4);
    let keys: Vec<_> = w.team.arrived().iter().map(|arrived| arrived.message.key).collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "one message is one key");
    let dead = w.service.dead_letters(&owner(), 10).await.unwrap();
    let why = dead[0].row.delivery.why.clone().unwrap();
    assert_eq!(why, "given up after 4 attempts: 502");
}

#[tokio::test]
async fn a_sink_that_fails_again_and_again_is_left_alone_and_then_told_together() {
    let w = World::new().await;
    w.team.answers((0..5).map(|_| retry(None, "502")));
    for minute in 0..10 {
        w.set_at(&format!("{minute}"), &format!("2026-11-30T14:0{minute}")).await;
    }
    w.live_until("2026-11-30T14:03+01:00").await;
    assert!(report(&w, "team").await.waits_until.is_some());
    w.live_until("2026-11-30T15:00+01:00").await;
    assert_eq!(count(&w, DeliveryState::Sent).await, 10);
    assert!(w.team.arrived().len() < 15, "{:?}", w.team.times());
    assert_eq!(report(&w, "team").await.n_failures, 0);
}

#[tokio::test]
async fn status_says_what_is_wrong_with_the_sinks() {
    let w = World::new().await;
    let part = |report: &StatusReport| {
        let part = report.parts.iter().find(|part| part.name == "reminders").unwrap();
        part.state.clone()
    };
    assert_eq!(part(&w.service.status().await), PartState::Ok);
    w.team.answers([Answer::Is(Outcome::Refused("code 19021".to_owned()))]);
    w.team.answers([Answer::Is(Outcome::Disabled("404: no such webhook".to_owned()))]);
    w.set_at("tea", "2026-11-30T14:00").await;
    w.set_at("cake", "2026-11-30T15:00").await;
    w.live_until("2026-11-30T16:00+01:00").await;
    let report = w.service.status().await;
    let PartState::Degraded { because, .. } = part(&report) else { panic!("{report:?}") };
    assert_eq!(
        because,
        "sink team takes nothing since Mon 30 Nov 2026 15:00 +01:00 Europe/Berlin: 404: no such \
         webhook (see to it, then `recalld sinks test team`; a change of its files is noticed by \
         itself); messages that did not get through: 1 (`recalld remind dead`)"
    );
    assert_eq!(report.reminders.unwrap().sinks[0].n_queued, 1);
    w.service.use_sinks(Vec::new());
    let dead = w.service.dead_letters(&owner(), 10).await.unwrap();
    let key = dead[0].row.delivery.key.to_string();
    w.service.drop_dead(&owner(), &one(&key)).await.unwrap();
    w.live_until("2026-11-30T16:01+01:00").await;
    w.service.drop_dead(&owner(), &DeadOnes::Sink("team".to_owned())).await.unwrap();
    assert!(matches!(part(&w.service.status().await), PartState::Off { .. }));
}

#[tokio::test]
async fn a_sink_that_takes_nothing_holds_its_messages_until_somebody_sees_to_it() {
    let w = World::new().await;
    w.team.answers([Answer::Is(Outcome::Disabled("404: no such webhook".to_owned()))]);
    for minute in 0..3 {
        w.set_at(&format!("{minute}"), &format!("2026-11-30T14:0{minute}")).await;
    }
    w.live_until("2026-11-30T16:00+01:00").await;
    assert_eq!(w.team.arrived().len(), 1, "it is not asked again");
    let team = report(&w, "team").await;
    assert_eq!(team.condition, SinkCondition::Disabled);
    assert_eq!(team.why.as_deref(), Some("404: no such webhook"));
    assert_eq!(team.since, Some(time("2026-11-30T14:00+01:00")));
    assert_eq!(team.n_queued, 3);
    w.service.see_to_reminders(w.now()).await.unwrap();
    // Nobody knows yet whether it works.
    let team = report(&w, "team").await;
    assert_eq!(team.condition, SinkCondition::Untried);
    assert_eq!(team.why.as_deref(), Some("404: no such webhook"));
    assert_eq!(w.service.sink_troubles().await.unwrap().len(), 1);
    w.live_until("2026-11-30T16:30+01:00").await;
    assert_eq!(count(&w, DeliveryState::Sent).await, 3);
    assert_eq!(report(&w, "team").await.condition, SinkCondition::Ok);
    assert_eq!(w.service.sink_troubles().await.unwrap(), [""; 0]);
    // What waits for too long is given up, with the reason.
    w.team.answers([Answer::Is(Outcome::Disabled("gone".to_owned()))]);
    w.set_at("late", "2026-11-30T17:00").await;
    w.live_until("2026-12-02T16:30+01:00").await;
    let dead = w.service.dead_letters(&owner(), 10).await.unwrap();
    assert_eq!(dead[0].row.delivery.why.as_deref(), Some("expired: gone"));
    // A test that gets through shows that somebody has seen to it.
    w.service.test_sink(&owner(), "team").await.unwrap();
    assert_eq!(report(&w, "team").await.condition, SinkCondition::Ok);
    // One that does not shows that nobody has.
    w.team.answers([Answer::Is(Outcome::Disabled("401".to_owned()))]);
    w.service.test_sink(&owner(), "team").await.unwrap();
    assert_eq!(report(&w, "team").await.condition, SinkCondition::Disabled);
    assert!(w.service.test_sink(&owner(), "tema").await.is_err());
    assert!(w.service.test_sink(&agent("a"), "team").await.is_err());
}

#[tokio::test]
async fn that_a_sink_takes_nothing_is_told_through_another_one_once() {
    let w = World::new().await;
    let phone = Recorder::new("phone", &w.f.clock);
    w.service.use_sinks(vec![outlet(&w.team), outlet(&phone)]);
    w.team.answers([Answer::Is(Outcome::Disabled("404: no such webhook".to_owned()))]);
    for at in ["2026-11-30T14:00", "2026-11-30T15:00"] {
        let sinks = vec!["team".to_owned()];
        w.set(SetReminder { at: Some(at.to_owned()), sinks, ..says("dentist") }).await;
    }
    w.live_until("2026-11-30T16:00+01:00").await;
    let told = phone.arrived();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].message.title, "Sink team takes no reminders");
    assert!(told[0].message.text.starts_with("404: no such webhook\n"), "{told:?}");
    assert!(told[0].message.text.contains("recalld sinks test team"), "{told:?}");
    assert!(!told[0].message.text.contains("dentist"));
}

#[tokio::test]
async fn messages_for_a_sink_that_is_gone_end_there_with_the_reason() {
    let w = World::new().await;
    w.team.answers([retry(Some(600), "later")]);
    let asked = SetReminder {
        at: Some("2026-11-30T14:00".to_owned()),
        sinks: vec!["team".to_owned()],
        ..says("tea")
    };
    w.set(asked).await;
    w.live_until("2026-11-30T14:05+01:00").await;
    let phone = Recorder::new("phone", &w.f.clock);
    w.service.use_sinks(vec![outlet(&phone)]);
    w.live_until("2026-11-30T15:00+01:00").await;
    let dead = w.service.dead_letters(&owner(), 10).await.unwrap();
    let why = dead[0].row.delivery.why.clone().unwrap();
    assert_eq!(why, "the configuration has no sink team any more");
    assert_eq!((report(&w, "team").await.place, phone.arrived().len()), (None, 0));
}

/// Lets the process end while the sink has the message and has not answered.
async fn die_before_the_answer(w: &mut World) {
    w.team.answers([Answer::Hangs]);
    w.f.clock.set(time("2026-11-30T14:00+01:00"));
    w.service.advance_reminders(w.now()).await.unwrap();
    let service = std::sync::Arc::clone(&w.service);
    let sending = tokio::spawn(async move { service.deliver_reminders().await });
    while w.team.arrived().is_empty() {
        tokio::task::yield_now().await;
    }
    sending.abort();
    assert!(sending.await.unwrap_err().is_cancelled());
    w.f.clock.advance(Duration::from_secs(2));
    w.restart().await;
}

#[tokio::test]
async fn a_message_without_an_answer_is_repeated_once_and_marked_so() {
    let mut w = World::new().await;
    w.set_at("tea", "2026-11-30T14:00").await;
    die_before_the_answer(&mut w).await;
    w.live_until("2026-11-30T16:00+01:00").await;
    let arrived = w.team.arrived();
    assert_eq!(arrived.len(), 2);
    assert_eq!(arrived[0].message.key, arrived[1].message.key);
    assert!(!arrived[0].message.may_repeat && arrived[1].message.may_repeat);
    // No third time.
    w.restart().await;
    w.live_until("2026-11-30T18:00+01:00").await;
    assert_eq!(w.team.arrived().len(), 2);
}

#[tokio::test]
async fn doubts_are_left_alone_where_that_is_asked_for_and_do_not_matter_to_a_sink_that_knows_keys()
{
    let mut w = World::new().await;
    w.set_at("tea", "2026-11-30T14:00").await;
    w.team.may(|abilities| abilities.knows_keys = true);
    die_before_the_answer(&mut w).await;
    w.live_until("2026-11-30T16:00+01:00").await;
    let arrived = w.team.arrived();
    assert_eq!((arrived.len(), arrived[0].message.key), (2, arrived[1].message.key));
    assert!(!arrived[1].message.may_repeat);

    let w = World::with(|settings| settings.reminders.repeats_uncertain = false).await;
    w.team.answers([Answer::Is(Outcome::Unknown("no answer".to_owned()))]);
    w.set_at("tea", "2026-11-30T14:00").await;
    w.live_until("2026-11-30T16:00+01:00").await;
    assert_eq!(w.team.arrived().len(), 1);
    let uncertain = w.service.dead_letters(&owner(), 10).await.unwrap();
    assert_eq!(uncertain[0].row.delivery.state, DeliveryState::Uncertain);
    let key = uncertain[0].row.delivery.key.to_string();
    w.service.retry_dead(&owner(), &one(&key)).await.unwrap();
    w.live_until("2026-11-30T16:01+01:00").await;
    assert!(w.team.arrived()[1].message.may_repeat);
}

#[tokio::test]
async fn a_digest_is_sent_again_with_the_same_parts_under_the_same_key() {
    let w = World::new().await;
    w.team.answers([retry(Some(60), "later")]);
    for n in 0..3 {
        w.set_at(&format!("matter {n}"), "2026-11-30T14:00").await;
    }
    w.set_at("another", "2026-11-30T14:00:30").await;
    w.live_until("2026-11-30T15:00+01:00").await;
    let arrived = w.team.arrived();
    assert_eq!(arrived.len(), 3, "{arrived:?}");
    assert_eq!(arrived[0].message.key, arrived[1].message.key);
    assert_eq!(arrived[0].message.reminders, arrived[1].message.reminders);
    assert_eq!(arrived[2].message.reminders.len(), 1);
}

#[tokio::test]
async fn one_sink_does_not_wait_for_another_and_old_rows_are_removed() {
    let w = World::new().await;
    let phone = Recorder::new("phone", &w.f.clock);
    w.service.use_sinks(vec![outlet(&w.team), outlet(&phone)]);
    phone.answers([retry(Some(3_000), "later")]);
    let view = w.set_at("tea", "2026-11-30T14:00").await;
    w.live_until("2026-11-30T14:00:01+01:00").await;
    assert_eq!((w.team.arrived().len(), phone.arrived().len()), (1, 1));
    w.live_until("2026-11-30T16:00+01:00").await;
    assert_eq!(phone.arrived().len(), 2);
    assert_eq!(w.service.trim_reminders().await.unwrap(), 0);
    w.live_until("2027-01-15T12:00+01:00").await;
    assert!(w.service.trim_reminders().await.unwrap() >= 2);
    assert!(w.service.reminder(&owner(), &view.entry.id.to_string()).await.is_err());
}
