//! How sinks are said to be, how they are used again, and what is told and done of what did not arrive.

use std::sync::Arc;

use jiff::SignedDuration;

use super::counting::Counting;
use super::fixture::{agent, owner};
use super::recorder::{Answer, Recorder, World, outlet, says, settings, time};
use crate::domain::reminder::{Outcome, Priority};
use crate::service::remind::{
    ChangeReminder, DeadOnes, Outlet, ReminderAction, SetReminder, SinkCondition, SinkReport,
    UpdateReminder,
};
use crate::service::status::PartState;

fn disabled(why: &str) -> Answer {
    Answer::Is(Outcome::Disabled(why.to_owned()))
}

fn refused() -> Answer {
    Answer::Is(Outcome::Refused("no".to_owned()))
}

async fn report(w: &World, name: &str) -> SinkReport {
    let reports = w.service.sink_reports().await.unwrap();
    reports.into_iter().find(|report| report.name == name).unwrap()
}

/// What status says of the reminders, if something is wrong.
async fn trouble(w: &World) -> Option<String> {
    let status = w.service.status().await;
    let part = status.parts.into_iter().find(|part| part.name == "reminders").unwrap();
    match part.state {
        PartState::Degraded { because, .. } | PartState::Down { because, .. } => Some(because),
        PartState::Ok | PartState::Off { .. } => None,
    }
}

#[tokio::test]
async fn a_sink_that_took_nothing_is_used_again_when_its_files_have_changed() {
    let w = World::new().await;
    w.team.answers([disabled("401"), disabled("401 again")]);
    for minute in 0..3 {
        w.set_at(&format!("{minute}"), &format!("2026-11-30T14:0{minute}")).await;
    }
    w.live_until("2026-11-30T15:00+01:00").await;
    assert_eq!(w.team.arrived().len(), 1, "it is left alone");
    assert_eq!(report(&w, "team").await.why.as_deref(), Some("401"));
    w.team.gets_other_files();
    w.look().await;
    assert_eq!(w.team.arrived().len(), 2, "it is tried once");
    assert_eq!(report(&w, "team").await.why.as_deref(), Some("401 again"));
    w.live_until("2026-11-30T16:00+01:00").await;
    assert_eq!(w.team.arrived().len(), 2);
    w.team.gets_other_files();
    w.live_until("2026-11-30T16:30+01:00").await;
    assert_eq!(report(&w, "team").await.condition, SinkCondition::Ok);
    assert_eq!((report(&w, "team").await.n_queued, trouble(&w).await), (0, None));
}

#[tokio::test]
async fn without_messages_too_a_sink_is_open_again_when_its_files_have_changed() {
    let w = World::new().await;
    w.team.answers([disabled("no key")]);
    w.service.test_sink(&owner(), "team").await.unwrap();
    w.look().await;
    assert_eq!(report(&w, "team").await.condition, SinkCondition::Disabled);
    w.team.gets_other_files();
    w.look().await;
    assert_eq!(report(&w, "team").await.condition, SinkCondition::Untried);
    assert!(trouble(&w).await.unwrap().contains("took nothing and was not tried since: no key"));
    w.service.test_sink(&owner(), "team").await.unwrap();
    assert_eq!((report(&w, "team").await.condition, trouble(&w).await), (SinkCondition::Ok, None));
}

#[tokio::test]
async fn a_sink_that_was_tried_again_says_what_came_of_that() {
    let w = World::new().await;
    let reset = Outcome::Retry { after: None, why: "connection reset".to_owned() };
    w.team.answers([disabled("the key can be read by others"), Answer::Is(reset)]);
    w.set_at("tea", "2026-11-30T14:00").await;
    w.live_until("2026-11-30T14:30+01:00").await;
    w.team.gets_other_files();
    w.look().await;
    assert_eq!(w.team.arrived().len(), 2);
    let told = report(&w, "team").await;
    assert_eq!(told.condition, SinkCondition::Failing);
    assert_eq!(told.why.as_deref(), Some("connection reset"));
    assert_eq!(trouble(&w).await, None, "one failure is no trouble");
}

#[tokio::test]
async fn what_its_files_lack_now_is_how_a_sink_is_said_to_be_everywhere() {
    let w = World::new().await;
    w.team.lacks("read the key in /k: No such file");
    w.service.see_to_reminders(w.now()).await.unwrap();
    let team = report(&w, "team").await;
    assert_eq!(team.condition, SinkCondition::Disabled);
    assert_eq!(team.why.as_deref(), Some("read the key in /k: No such file"));
    assert!(team.advice.unwrap().contains("recalld sinks test team"));
    let told = w.service.sink_troubles().await.unwrap();
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("sink team takes nothing: read the key in /k"), "{told:?}");
    assert_eq!(trouble(&w).await.as_ref(), Some(&told[0]));
}

#[tokio::test]
async fn what_waits_is_told_with_its_sink_since_when_and_the_next_try() {
    let w = World::new().await;
    let later =
        Outcome::Retry { after: Some(SignedDuration::from_mins(10)), why: "503".to_owned() };
    w.team.answers([Answer::Is(later)]);
    let [phone, desk] = ["phone", "desk"].map(|name| Recorder::new(name, &w.f.clock));
    phone.answers([disabled("401")]);
    let quiet = Outlet { quiet: Some("13:00-15:00".parse().unwrap()), ..outlet(&desk) };
    w.service.use_sinks(vec![outlet(&w.team), outlet(&phone), quiet]);
    assert_eq!(w.service.waiting_messages(&owner()).await.unwrap(), []);
    let day = SetReminder { lead: Some("PT34H".to_owned()), ..says("tea") };
    w.set(SetReminder { at: Some("2026-12-02".to_owned()), ..day }).await;
    w.live_until("2026-11-30T14:05+01:00").await;
    let waiting = w.service.waiting_messages(&owner()).await.unwrap();
    let told: Vec<_> = waiting
        .iter()
        .map(|one| (one.sink.name.as_str(), one.sink.n_queued, one.next_try, one.why.as_deref()))
        .collect();
    let at = |text: &str| Some(time(text));
    assert_eq!(
        told,
        [
            ("team", 1, at("2026-11-30T14:10+01:00"), Some("503")),
            ("phone", 1, None, Some("401")),
            ("desk", 1, at("2026-11-30T15:00+01:00"), None),
        ]
    );
    assert!(waiting.iter().all(|one| one.since == time("2026-11-30T14:00+01:00")));
    assert!(w.service.waiting_messages(&agent("a")).await.is_err());
    phone.gets_other_files();
    w.live_until("2026-11-30T15:01+01:00").await;
    assert_eq!(w.service.waiting_messages(&owner()).await.unwrap(), []);
}

#[tokio::test]
async fn what_a_sink_that_is_gone_left_is_told_with_how_it_is_dropped_and_then_all_is_well() {
    let w = World::new().await;
    // More than a listing shows, so that they make two messages.
    w.team.answers([refused(), refused()]);
    for n in 0..205 {
        w.set_at(&format!("matter {n}"), "2026-11-30T14:00").await;
    }
    let phone = Recorder::new("phone", &w.f.clock);
    w.live_until("2026-11-30T14:05+01:00").await;
    w.service.use_sinks(vec![outlet(&phone)]);
    let told = trouble(&w).await.unwrap();
    assert_eq!(
        told,
        "sink team is not configured any more, messages for it that did not get through: 205 \
         (`recalld remind dead drop --sink team` drops them)"
    );
    assert_eq!(report(&w, "team").await.condition, SinkCondition::Gone);
    let of = |name: &str| DeadOnes::Sink(name.to_owned());
    assert!(w.service.drop_dead(&owner(), &of("phone")).await.is_err());
    assert!(w.service.drop_dead(&agent("a"), &of("team")).await.is_err());
    assert_eq!(w.service.drop_dead(&owner(), &of("team")).await.unwrap().len(), 205);
    assert_eq!(trouble(&w).await, None);
    assert_eq!(w.service.drop_dead(&owner(), &DeadOnes::All).await.unwrap(), []);
}

/// A world whose store counts, with so many messages that go one by one.
async fn counted(n: usize) -> (World, Arc<Counting>) {
    let mut w = World::new().await;
    let counting = Counting::new(&w.f.store);
    w.service = w.f.restarted_on(counting.clone(), settings());
    w.service.use_sinks(vec![outlet(&w.team)]);
    w.team.may(|abilities| abilities.pace.every = SignedDuration::ZERO);
    for n in 0..n {
        let at = Some("2026-11-30T14:00".to_owned());
        let priority = Some(Priority::Urgent);
        w.set(SetReminder { at, priority, ..says(&format!("matter {n}")) }).await;
    }
    w.f.clock.set(time("2026-11-30T14:00+01:00"));
    w.service.advance_reminders(w.now()).await.unwrap();
    counting.counted();
    (w, counting)
}

#[tokio::test]
async fn a_round_reads_what_waits_once_and_each_message_again_alone() {
    let n = 60;
    let (w, counting) = counted(n).await;
    w.service.deliver_reminders().await.unwrap();
    assert_eq!(w.team.arrived().len(), n);
    let [n_pages, n_single, n_written] = counting.counted();
    assert!(n_pages <= 2, "{n_pages} pages");
    // Each reminder with the queue and before its call, each row after it.
    assert!(n_single <= 3 * n, "{n_single} reads");
    assert_eq!(n_written, 3 * n, "claimed, called, settled");
}

#[tokio::test]
async fn all_that_is_dead_is_read_once_to_be_sent_again_or_dropped() {
    let n = 60;
    let (w, counting) = counted(n).await;
    w.team.answers((0..2 * n).map(|_| refused()));
    w.service.deliver_reminders().await.unwrap();
    counting.counted();
    assert_eq!(w.service.retry_dead(&owner(), &DeadOnes::All).await.unwrap().len(), n);
    assert_eq!(counting.counted(), [2, 0, 1]);
    w.service.deliver_reminders().await.unwrap();
    assert_eq!(w.team.arrived().len(), 2 * n);
    let letters = w.service.dead_letters(&owner(), n).await.unwrap();
    let keys = letters.iter().map(|letter| letter.row.delivery.key.to_string()).collect();
    counting.counted();
    assert_eq!(w.service.drop_dead(&owner(), &DeadOnes::Keys(keys)).await.unwrap().len(), n);
    assert_eq!(counting.counted(), [2, 0, 1]);
}

#[tokio::test]
async fn what_changes_while_a_round_goes_on_is_told_as_it_is_then() {
    let (w, _) = counted(3).await;
    let answers = Arc::new(tokio::sync::Notify::new());
    w.team.answers([Answer::Waits(Arc::clone(&answers))]);
    let service = Arc::clone(&w.service);
    let round = tokio::spawn(async move { service.deliver_reminders().await });
    while w.team.arrived().is_empty() {
        tokio::task::yield_now().await;
    }
    let first = w.team.arrived()[0].message.reminders[0].clone();
    let due = w.service.due_reminders(&owner()).await.unwrap();
    let rest: Vec<String> =
        due.iter().map(|view| view.entry.id.handle()).filter(|handle| *handle != first).collect();
    let change = ChangeReminder { text: Some("another matter".to_owned()), ..Default::default() };
    for (reference, action) in
        [(&rest[0], ReminderAction::Ack), (&rest[1], ReminderAction::Change(change))]
    {
        let update = UpdateReminder { reference: reference.clone(), action };
        w.service.update_reminder(&owner(), update).await.unwrap();
    }
    let asked = SetReminder { at: Some("2026-11-30T14:00:01".to_owned()), ..says("new") };
    w.set(SetReminder { priority: Some(Priority::Urgent), ..asked }).await;
    w.f.clock.advance(std::time::Duration::from_secs(1));
    w.service.advance_reminders(w.now()).await.unwrap();
    answers.notify_one();
    round.await.unwrap().unwrap();
    let titles: Vec<String> =
        w.team.arrived().iter().skip(1).map(|arrived| arrived.message.title.clone()).collect();
    assert_eq!(titles, ["another matter", "new"]);
}
