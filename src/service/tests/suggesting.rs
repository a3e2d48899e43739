//! Suggesting what memories show to happen again and again.

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::fixture::{Fixture, agent, draft, owner};
use crate::domain::memory::Kind;
use crate::domain::reminder::{Source, Standing, Status, View};
use crate::ports::Clock as _;
use crate::service::remember::Draft;
use crate::service::remind::{
    ListReminders, ReminderAction, ReminderView, SetReminder, UpdateReminder,
};
use crate::service::suggest::Suggested;

const DAY: i64 = 24 * 60;

async fn happened(f: &Fixture, text: &str, minutes_ago: i64) {
    let at = f.clock.now().checked_sub(SignedDuration::from_mins(minutes_ago)).unwrap();
    let draft = Draft { kind: Some(Kind::Event), occurred_at: Some(at), ..draft(text) };
    f.remember(&agent("a"), draft).await;
}

/// The clock begins on a Tuesday at 22:13. Eight stand-ups on Mondays at that time, a week apart, within ten minutes, without the third and the sixth of ten, and other
/// things between them.
async fn standups(f: &Fixture) {
    for week in (0..10_i64).filter(|week| ![3, 6].contains(week)) {
        let minutes = (10 - week) * 7 * DAY - 6 * DAY + (week * 7) % 21 - 10;
        happened(f, &format!("Team stand-up {week}"), minutes).await;
    }
    for n in 0..40_i64 {
        let words = ["router", "kettle", "printer", "invoice", "garden", "violin", "doctor"];
        let word = |by: i64| words[usize::try_from((n * by) % 7).unwrap()];
        let minutes = (n * 2_503 + 977) % (70 * DAY);
        happened(f, &format!("Saw the {} and the {} again", word(3), word(5)), minutes).await;
    }
}

async fn suggest(f: &Fixture) -> Suggested {
    f.service.suggest(f.clock.now(), false, &CancellationToken::new()).await.unwrap()
}

async fn listed(f: &Fixture, view: View) -> Vec<ReminderView> {
    let asked = ListReminders { view, namespaces: Vec::new(), limit: None, cursor: None };
    f.service.reminders(&owner(), asked).await.unwrap().reminders
}

#[tokio::test(start_paused = true)]
async fn weekly_stand_ups_are_suggested_once_with_their_evidence() {
    let f = Fixture::of_words(None).await;
    standups(&f).await;
    let dry = f.service.suggest(f.clock.now(), true, &CancellationToken::new()).await.unwrap();
    assert_eq!(dry.reminders.len(), 1, "{dry:#?}");
    assert_eq!(listed(&f, View::All).await, [], "a dry run proposes nothing");
    let first = suggest(&f).await;
    assert_eq!(first.reminders.len(), 1, "{first:#?}");
    let proposed = listed(&f, View::Proposed).await;
    assert_eq!(proposed.len(), 1);
    let entry = &proposed[0].entry;
    assert_eq!((entry.source, entry.evidence.len()), (Source::Pattern, 8));
    assert_eq!(entry.text, "Team stand-up");
    assert!(entry.reminder.rule.describe().starts_with("every Monday at 22:1"), "{entry:#?}");
    let again = suggest(&f).await;
    assert_eq!((again.reminders.len(), again.n_known), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_no_is_remembered_and_a_yes_is_a_reminder() {
    let f = Fixture::of_words(None).await;
    standups(&f).await;
    suggest(&f).await;
    let reference = listed(&f, View::Proposed).await[0].entry.id.to_string();
    let decline = UpdateReminder { reference, action: ReminderAction::Decline };
    f.service.update_reminder(&owner(), decline).await.unwrap();
    f.clock.advance(std::time::Duration::from_hours(24));
    assert_eq!(suggest(&f).await.reminders, []);
    assert_eq!(listed(&f, View::Proposed).await, []);

    let f = Fixture::of_words(None).await;
    standups(&f).await;
    suggest(&f).await;
    let reference = listed(&f, View::Proposed).await[0].entry.id.to_string();
    let accept = UpdateReminder { reference, action: ReminderAction::Accept };
    let view = f.service.update_reminder(&agent("a"), accept).await.unwrap();
    assert_eq!((view.standing, view.entry.reminder.status), (Standing::Upcoming, Status::Active));
    let next: Timestamp = view.next[0].occurrence.at;
    assert!(next > f.clock.now());
}

#[tokio::test(start_paused = true)]
async fn what_a_reminder_tells_already_is_not_suggested() {
    let f = Fixture::of_words(None).await;
    standups(&f).await;
    let asked = SetReminder {
        text: Some("Stand-up".to_owned()),
        rule: Some("every Monday 22:00".to_owned()),
        ..SetReminder::default()
    };
    f.service.set_reminder(&agent("a"), asked).await.unwrap();
    let suggested = suggest(&f).await;
    assert_eq!((suggested.reminders.len(), suggested.n_known), (0, 1));
}
