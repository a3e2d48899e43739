//! The reminders that are read in the texts of memories.

use std::time::Duration;

use jiff::Timestamp;

use super::fixture::{Fixture, agent, draft, draft_in, owner};
use crate::domain::change::Patch;
use crate::domain::id::MemoryId;
use crate::domain::reminder::{Source, Standing, Status};
use crate::domain::scanner::Unarmed;
use crate::ports::Clock as _;
use crate::service::forget::ForgetRequest;
use crate::service::remember::Draft;
use crate::service::remind::{ReminderAction, ReminderView, SetReminder, UpdateReminder};
use crate::service::update::UpdateRequest;

/// How a reminder is, what it says, and when it is told next, as the clock on the wall of UTC has it.
/// The clock of these tests begins on Tuesday, 14 November 2023 at 22:13.
fn told(views: &[ReminderView]) -> Vec<(Status, String, String)> {
    let next = |view: &ReminderView| {
        let at: Option<Timestamp> = view.next.first().map(|next| next.told_at);
        at.map_or_else(String::new, |at| at.strftime("%Y-%m-%d %H:%M").to_string())
    };
    let one =
        |view: &ReminderView| (view.entry.reminder.status, view.entry.text.clone(), next(view));
    views.iter().map(one).collect()
}

async fn stored(f: &Fixture, content: &str) -> (MemoryId, Vec<ReminderView>) {
    let kept = f.remember(&agent("a"), draft(content)).await;
    (kept.id, kept.reminders)
}

async fn edited(f: &Fixture, id: MemoryId, content: &str) -> Vec<ReminderView> {
    let patch = Patch { content: Some(content.into()), ..Patch::default() };
    let request = UpdateRequest { reference: id.to_string(), patch, request: None };
    f.service.update(&agent("a"), request).await.unwrap().reminders
}

async fn about(f: &Fixture, id: MemoryId) -> Vec<ReminderView> {
    f.service.foreseen(id).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_a_text_asks_for_is_armed_and_what_it_names_is_proposed() {
    let f = Fixture::of_words(None).await;
    for (content, status, next) in [
        ("Remind me to call Bob tomorrow at 3pm", Status::Active, "2023-11-15 15:00"),
        ("提醒我明天下午三点给王伟打电话", Status::Active, "2023-11-15 15:00"),
        ("Weekly team meeting every Friday at 15:00", Status::Proposed, "2023-11-17 14:00"),
        ("Dentist appointment on 4 December 2023 at 10:30", Status::Proposed, "2023-12-04 10:30"),
    ] {
        let (_, views) = stored(&f, content).await;
        assert_eq!(views.len(), 1, "{content}: {views:#?}");
        let (its_status, _, its_next) = told(&views).remove(0);
        assert_eq!((its_status, its_next.as_str()), (status, next), "{content}");
        let is_asked = views[0].entry.source == Source::Asked;
        assert_eq!(is_asked, status == Status::Active, "{content}");
    }
    for content in [
        "The router runs firmware 3.15.2 on port 8080",
        "We paid 12.50 for two tickets",
        "Anna was here last Monday at 10",
    ] {
        assert_eq!(told(&stored(&f, content).await.1), [], "{content}");
    }
}

#[tokio::test(start_paused = true)]
async fn ten_edits_leave_one_reminder() {
    let f = Fixture::of_words(None).await;
    let (id, first) = stored(&f, "Remind me to call Bob tomorrow at 3pm").await;
    for hour in 1..=10 {
        edited(&f, id, &format!("Remind me to call Bob on 20 November 2023 at {hour}:00 pm")).await;
    }
    let views = about(&f, id).await;
    assert_eq!(views.len(), 1, "{views:#?}");
    assert_eq!(views[0].entry.id, first[0].entry.id);
    assert_eq!(told(&views)[0].2, "2023-11-20 22:00");
    // Another wording of the same time leaves what somebody made of it.
    let shifted =
        UpdateReminder { reference: views[0].entry.id.to_string(), action: ReminderAction::Pause };
    f.service.update_reminder(&agent("a"), shifted).await.unwrap();
    edited(&f, id, "Remind me to phone Bob Miller on 20 November 2023 at 10:00 pm").await;
    assert_eq!(told(&about(&f, id).await)[0].0, Status::Paused);
    edited(&f, id, "Bob is a friend of Anna").await;
    assert_eq!(told(&about(&f, id).await)[0].0, Status::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_text_that_is_stored_again_asks_again_once_the_first_was_told() {
    let f = Fixture::of_words(None).await;
    let content = "Remind me in 10 minutes to look after the oven";
    let (id, first) = stored(&f, content).await;
    assert_eq!(told(&first)[0].2, "2023-11-14 22:23");
    f.clock.advance(Duration::from_mins(5));
    // A call that is sent twice, or an agent that says it twice: one reminder.
    let (same, again) = stored(&f, content).await;
    assert_eq!((same, told(&again)), (id, told(&first)));
    f.clock.advance(Duration::from_mins(5));
    f.service.advance_reminders(f.clock.now()).await.unwrap();
    let (_, again) = stored(&f, content).await;
    let next: Vec<String> = told(&again).into_iter().map(|one| one.2).collect();
    assert_eq!(next, ["", "2023-11-14 22:33"]);
    // So it is whatever somebody made of the first.
    for action in [ReminderAction::Done, ReminderAction::Cancel] {
        let is_to_come = |view: &&ReminderView| !view.next.is_empty();
        let views = about(&f, id).await;
        let reference = views.iter().find(is_to_come).unwrap().entry.id.to_string();
        let update = UpdateReminder { reference, action };
        f.service.update_reminder(&agent("a"), update).await.unwrap();
        assert_eq!(about(&f, id).await.iter().filter(is_to_come).count(), 0);
        let (_, again) = stored(&f, content).await;
        assert_eq!(again.iter().filter(is_to_come).count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_proposal_that_was_declined_is_not_made_again_for_a_text_that_is_stored_again() {
    let f = Fixture::of_words(None).await;
    let content = "Team meeting tomorrow at 15:00";
    let (_, views) = stored(&f, content).await;
    let reference = views[0].entry.id.to_string();
    let decline = UpdateReminder { reference, action: ReminderAction::Decline };
    f.service.update_reminder(&agent("a"), decline).await.unwrap();
    f.clock.advance(Duration::from_hours(72));
    let (_, views) = stored(&f, content).await;
    assert_eq!((views.len(), told(&views)[0].0), (1, Status::Declined));
}

#[tokio::test(start_paused = true)]
async fn a_text_that_asks_in_vain_is_stored_with_the_reason() {
    let f = Fixture::of_words(None).await;
    let reasons =
        |unarmed: &[Unarmed]| -> Vec<String> { unarmed.iter().map(ToString::to_string).collect() };
    for (content, why) in [
        ("Remind me to call Bob on 3 November 2023 at 3pm", "3 November 2023 at 3pm` is over"),
        ("Remind me every 5 minutes to drink water", "more often than daily"),
        ("Remind me to call Bob", "no time is named"),
        ("提醒我给王伟打电话", "no time is named"),
    ] {
        let kept = f.remember(&agent("a"), draft(content)).await;
        assert_eq!(told(&kept.reminders), [], "{content}");
        let found = reasons(&kept.unarmed);
        assert_eq!(found.len(), 1, "{content}: {found:?}");
        assert!(found[0].contains(why), "{content}: {found:?}");
        // So it is when it is stored again, and when a text becomes it.
        let again = f.remember(&agent("a"), draft(content)).await;
        assert_eq!(reasons(&again.unarmed), found);
        let other = f.remember(&agent("a"), draft(&format!("Nothing of: {why}"))).await.id;
        let patch = Patch { content: Some(format!("{content}.").into()), ..Patch::default() };
        let request = UpdateRequest { reference: other.to_string(), patch, request: None };
        let updated = f.service.update(&agent("a"), request).await.unwrap();
        assert_eq!(reasons(&updated.unarmed), found, "{content}");
    }
    let content = "Remind me to call Bob tomorrow at 3pm";
    assert_eq!(f.remember(&agent("a"), draft(content)).await.unarmed, []);
    let content = "The dentist is on 3 November 2023 at 3pm";
    assert_eq!(f.remember(&agent("a"), draft(content)).await.unarmed, []);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_two_times_gets_two_reminders_unless_one_is_moved() {
    for (first, second) in [
        (
            "Remind me tomorrow at 9am to take the pills",
            "Remind me tomorrow at 5pm to take the pills",
        ),
        ("提醒我明天上午九点吃维生素", "提醒我明天下午五点吃维生素"),
        ("Remind me every Monday at 9am to run", "Remind me every Thursday at 9am to run"),
    ] {
        let f = Fixture::of_words(None).await;
        let (one, _) = stored(&f, first).await;
        let (other, _) = stored(&f, second).await;
        for id in [one, other] {
            let views = about(&f, id).await;
            assert_eq!((views.len(), told(&views)[0].0), (1, Status::Active), "{first}");
        }
    }
    // That both ask makes them none of one matter.
    let f = Fixture::of_words(None).await;
    let (id, _) = stored(&f, "Remind me every Monday at 9am to report").await;
    f.clock.advance(Duration::from_mins(1));
    stored(&f, "You no longer need to remind me every Monday at 9am about timesheets").await;
    assert_eq!(told(&about(&f, id).await)[0].0, Status::Active);
    let f = Fixture::of_words(None).await;
    stored(&f, "Remind me tomorrow at 9am to take the pills").await;
    f.clock.advance(Duration::from_mins(1));
    let moved = "Actually, remind me tomorrow at 5pm to take the pills instead";
    let (id, _) = stored(&f, moved).await;
    assert_eq!(told(&about(&f, id).await)[0].2, "2023-11-15 17:00");
    let all = f.service.all_entries(vec![Standing::Upcoming]).await.unwrap();
    assert_eq!(all.len(), 1, "the first was moved");
}

#[tokio::test(start_paused = true)]
async fn a_no_outlives_an_edit() {
    let f = Fixture::of_words(None).await;
    let (id, views) = stored(&f, "Lunch with Anna on 20 November 2023 at 12:30").await;
    let decline = UpdateReminder {
        reference: views[0].entry.id.to_string(),
        action: ReminderAction::Decline,
    };
    f.service.update_reminder(&agent("a"), decline).await.unwrap();
    edited(&f, id, "Lunch with Anna Bauer on 20 November 2023 at 12:30, on 3rd Street").await;
    let statuses: Vec<Status> = told(&about(&f, id).await).into_iter().map(|one| one.0).collect();
    assert_eq!(statuses, [Status::Declined]);
}

#[tokio::test(start_paused = true)]
async fn what_is_set_takes_the_place_of_what_was_proposed() {
    let f = Fixture::of_words(None).await;
    let (id, _) = stored(&f, "Weekly team meeting every Friday at 15:00").await;
    let (other, _) = stored(&f, "Dentist appointment on 4 December 2023 at 10:30").await;
    let asked = SetReminder { memory: Some(id.to_string()), ..SetReminder::default() };
    f.service.set_reminder(&agent("a"), asked).await.unwrap();
    assert_eq!(told(&about(&f, id).await)[0].0, Status::Cancelled);
    assert_eq!(told(&about(&f, other).await)[0].0, Status::Proposed);
}

#[tokio::test(start_paused = true)]
async fn a_successor_takes_over_and_a_forgotten_memory_takes_along() {
    let f = Fixture::of_words(None).await;
    let (old, _) = stored(&f, "Remind me to call Bob tomorrow at 3pm").await;
    let moved = Draft {
        supersedes: Some(old.to_string()),
        ..draft("The call with Bob is on 21 November 2023 at 11:00")
    };
    let new = f.remember(&agent("a"), moved).await;
    let views = about(&f, new.id).await;
    assert_eq!(told(&views).len(), 1, "{views:#?}");
    assert_eq!(
        (told(&views)[0].0, told(&views)[0].2.as_str()),
        (Status::Active, "2023-11-21 11:00")
    );
    assert_eq!(about(&f, old).await, []);
    let request = ForgetRequest::Ids { references: vec![new.id.to_string()], request: None };
    f.service.forget(&agent("a"), request).await.unwrap();
    assert_eq!(about(&f, new.id).await, []);
    let context = f.service.pending_reminders(&owner(), 10).await.unwrap();
    assert!(context.upcoming.is_empty() && context.due.is_empty(), "{context:#?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_pending_is_told_to_who_may_read_it() {
    let f = Fixture::of_words(None).await;
    let private = "Remind me to water the plants tomorrow at 8am";
    f.remember(&agent("b"), draft_in("agent/b", private)).await;
    stored(&f, "Remind me to feed the cat tomorrow at 7am").await;
    stored(&f, "Weekly team meeting every Friday at 15:00").await;
    let texts = |views: &[ReminderView]| -> Vec<String> {
        views.iter().map(|view| view.entry.text.clone()).collect()
    };
    let pending = f.service.pending_reminders(&agent("a"), 10).await.unwrap();
    assert_eq!(texts(&pending.upcoming), ["feed the cat"]);
    assert_eq!(pending.proposed.len(), 1);
    let pending = f.service.pending_reminders(&agent("b"), 10).await.unwrap();
    assert_eq!(texts(&pending.upcoming), ["feed the cat", "water the plants"]);
    f.clock.advance(std::time::Duration::from_hours(12));
    f.service.advance_reminders(f.clock.now()).await.unwrap();
    let pending = f.service.pending_reminders(&agent("a"), 10).await.unwrap();
    assert_eq!(texts(&pending.due), ["feed the cat"]);
}
