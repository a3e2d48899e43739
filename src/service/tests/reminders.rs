//! Setting, listing and changing reminders.

use super::fixture::{agent, draft, draft_in, key, owner, reader};
use super::recorder::{World, says, time};
use crate::domain::id::MemoryId;
use crate::domain::reminder::{Priority, Standing, Status, View};
use crate::service::remind::{
    ChangeReminder, ListReminders, ReminderAction, ReminderView, SetReminder, UpdateReminder,
};
use crate::service::{Service, ServiceError};

fn next(view: &ReminderView) -> Vec<String> {
    view.next.iter().map(|next| view.told(next.told_at)).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "every field of a request may be left out")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn listing(view: View) -> ListReminders {
    ListReminders { view, namespaces: Vec::new(), limit: None, cursor: None }
}

async fn listed(service: &Service, view: View) -> Vec<String> {
    let page = service.reminders(&owner(), listing(view)).await.unwrap();
    page.reminders.into_iter().map(|view| view.entry.text).collect()
}

async fn act(
    service: &Service,
    view: &ReminderView,
    action: ReminderAction,
) -> Result<ReminderView, ServiceError> {
    let reference = view.entry.id.handle();
    service.update_reminder(&owner(), UpdateReminder { reference, action }).await
}

async fn changed(
    service: &Service,
    view: &ReminderView,
    change: ChangeReminder,
) -> Result<ReminderView, ServiceError> {
    act(service, view, ReminderAction::Change(change)).await
}

#[tokio::test]
async fn a_meeting_that_recurs_is_told_an_hour_before_and_every_answer_names_the_next_three_times()
{
    let w = World::new().await;
    let view = w.set(says("weekly team meeting every Friday 15:00")).await;
    assert_eq!(view.entry.text, "team meeting");
    assert_eq!(view.entry.reminder.lead.to_string(), "PT1H");
    assert_eq!(
        next(&view),
        [
            "Fri 4 Dec 2026 14:00 +01:00 Europe/Berlin",
            "Fri 11 Dec 2026 14:00 +01:00 Europe/Berlin",
            "Fri 18 Dec 2026 14:00 +01:00 Europe/Berlin",
        ]
    );
    assert!(view.notes.iter().any(|note| note.contains("an hour before")), "{:?}", view.notes);
    let meeting = SetReminder { rule: some("every Friday 15:00"), ..says("team meeting") };
    assert_eq!(w.set(meeting).await.entry.reminder.lead.to_string(), "PT1H");
    let with = SetReminder { lead: some("PT0S"), ..says("team meeting every Friday 15:00") };
    assert_eq!(w.set(with).await.entry.reminder.lead.to_string(), "PT0S");
    let once = w.set(says("team meeting on Friday 15:00")).await;
    assert_eq!(once.entry.reminder.lead.to_string(), "PT0S");
}

#[tokio::test]
async fn times_are_given_in_iso_in_words_and_as_rules() {
    let w = World::new().await;
    for (at, rule, zone, expected) in [
        (some("2026-12-04T15:00"), None, None, "Fri 4 Dec 2026 15:00 +01:00 Europe/Berlin"),
        (some("2026-12-04T15:00Z"), None, None, "Fri 4 Dec 2026 16:00 +01:00 Europe/Berlin"),
        (
            some("2026-12-04T15:00+08:00[Asia/Shanghai]"),
            None,
            None,
            "Fri 4 Dec 2026 15:00 +08:00 Asia/Shanghai",
        ),
        (some("tomorrow 3pm"), None, None, "Tue 1 Dec 2026 15:00 +01:00 Europe/Berlin"),
        (
            some("明天下午三点"),
            None,
            some("Asia/Shanghai"),
            "Tue 1 Dec 2026 15:00 +08:00 Asia/Shanghai",
        ),
        (some("2026-12-04"), None, None, "Fri 4 Dec 2026 09:00 +01:00 Europe/Berlin"),
        (some("every Monday at 10"), None, None, "Mon 7 Dec 2026 10:00 +01:00 Europe/Berlin"),
        (None, some("every Friday 15:00"), None, "Fri 4 Dec 2026 15:00 +01:00 Europe/Berlin"),
        (some("15:00"), some("every Friday"), None, "Fri 4 Dec 2026 15:00 +01:00 Europe/Berlin"),
        (
            some("2026-12-11T15:30"),
            some("every Friday"),
            None,
            "Fri 11 Dec 2026 15:30 +01:00 Europe/Berlin",
        ),
        (
            some("2026-12-11T15:30"),
            some("FREQ=WEEKLY;BYDAY=FR"),
            None,
            "Fri 11 Dec 2026 15:30 +01:00 Europe/Berlin",
        ),
        (
            None,
            some("RRULE:FREQ=DAILY;BYHOUR=7"),
            None,
            "Tue 1 Dec 2026 07:00 +01:00 Europe/Berlin",
        ),
        (
            None,
            some("DTSTART;TZID=Asia/Tokyo:20261127T080000\nRRULE:FREQ=DAILY"),
            None,
            "Tue 1 Dec 2026 08:00 +09:00 Asia/Tokyo",
        ),
    ] {
        let what = format!("{at:?} {rule:?}");
        let view = w.set(SetReminder { at, rule, zone, ..says("tea") }).await;
        assert_eq!(next(&view)[0], expected, "{what}");
    }
    // The second time that a wall shows is no other moment.
    w.f.clock.set(time("2027-10-30T12:00+02:00"));
    let second = w.set_at("tea", "2027-10-31T02:30+01:00").await;
    assert_eq!(second.next[0].told_at, time("2027-10-31T02:30+01:00"));
}

#[tokio::test]
async fn what_else_a_text_names_is_told() {
    let w = World::new().await;
    let view = w.set(says("Flight on Friday at 14:00; leave home on Friday at 11:30")).await;
    assert_eq!(next(&view), ["Fri 4 Dec 2026 14:00 +01:00 Europe/Berlin"]);
    let note = "the text names other times, for which nothing is set: `on Friday at 11:30`";
    assert!(view.notes.iter().any(|told| told == note), "{:?}", view.notes);
    let view = w.set(says("Flight on Friday at 14:00")).await;
    assert!(!view.notes.iter().any(|note| note.contains("other times")), "{:?}", view.notes);
}

#[tokio::test]
async fn what_has_passed_today_is_none_of_a_count() {
    let w = World::new().await;
    for (rule, count, days) in [
        ("FREQ=DAILY;COUNT=3", None, vec!["1 Dec", "2 Dec", "3 Dec"]),
        ("FREQ=DAILY", Some(2), vec!["1 Dec", "2 Dec"]),
        ("FREQ=WEEKLY;BYDAY=MO;COUNT=2", None, vec!["7 Dec", "14 Dec"]),
        ("FREQ=DAILY;COUNT=1", None, vec!["1 Dec"]),
        ("FREQ=DAILY;BYHOUR=18;BYMINUTE=0;COUNT=2", None, vec!["30 Nov", "1 Dec"]),
        ("every day at 09:00", Some(2), vec!["1 Dec", "2 Dec"]),
    ] {
        let view = w.set(SetReminder { rule: some(rule), count, ..says("tea") }).await;
        let told = next(&view);
        assert_eq!(told.len(), days.len(), "{rule}: {told:?}");
        for (told, day) in told.iter().zip(days) {
            assert!(told.contains(&format!(" {day} 2026")), "{rule}: {told}");
        }
    }
    let at = some("2026-12-24T18:00-05:00[Europe/Berlin]");
    let refused = w.service.set_reminder(&owner(), SetReminder { at, ..says("tea") }).await;
    assert!(refused.unwrap_err().to_string().contains("`at`"));
}

#[tokio::test]
async fn a_guessed_half_of_the_day_is_told() {
    let w = World::new().await;
    for (at, told_at, is_guess) in [
        ("tomorrow at 7", "Tue 1 Dec 2026 19:00", true),
        ("tomorrow 7:45", "Tue 1 Dec 2026 19:45", true),
        ("tomorrow 07:45", "Tue 1 Dec 2026 07:45", false),
        ("tomorrow 7:45am", "Tue 1 Dec 2026 07:45", false),
        ("2026-12-03 7:45", "Thu 3 Dec 2026 07:45", false),
    ] {
        let view = w.set_at("bus", at).await;
        assert!(next(&view)[0].starts_with(told_at), "{at}: {:?}", next(&view));
        let is_told = view.notes.iter().any(|note| note.contains("half of the day"));
        assert_eq!(is_told, is_guess, "{at}: {:?}", view.notes);
    }
}

#[tokio::test]
async fn a_text_that_is_half_a_rule_sets_nothing() {
    let w = World::new().await;
    for (text, why) in [
        ("every six months on 1 June at 9am dentist", "`every six months` recurs"),
        ("every Friday the 13th at 9:00 be careful", "`the 13th at 9:00 be careful` is not"),
        ("每月第二个和第四个周二上午10点开会", "`每月` recurs"),
        ("every 2nd and 4th Tuesday at 10:00 review", "`every 2nd and 4th Tuesday` is not"),
        ("pills every day at 8am until Christmas", "`until Christmas` is not understood"),
        ("Easter Sunday at 10:00 brunch", "`easter` beside `Sunday at 10:00` names a day"),
        ("24.12. 18:00 tree", "`24.12.` beside `18:00` names a day"),
        ("call on 4/12/2026 at 15:00", "`4/12/2026` beside `at 15:00` names a day"),
    ] {
        let refused = w.service.set_reminder(&owner(), says(text)).await.unwrap_err().to_string();
        assert!(refused.contains("`at`") && refused.contains(why), "{text}: {refused}");
    }
    assert_eq!(listed(&w.service, View::All).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_lead_is_given_in_words_and_read_in_what_is_set() {
    let w = World::new().await;
    for (lead, told_at) in [
        ("the day before at 18:00", "Thu 3 Dec 2026 18:00 +01:00 Europe/Berlin"),
        ("提前半小时", "Fri 4 Dec 2026 14:30 +01:00 Europe/Berlin"),
        ("PT1H", "Fri 4 Dec 2026 14:00 +01:00 Europe/Berlin"),
    ] {
        let at = some("2026-12-04T15:00");
        let view = w.set(SetReminder { at, lead: some(lead), ..says("tea") }).await;
        assert_eq!(next(&view), [told_at], "{lead}");
    }
    let view = w.set(says("two hours before the flight on Friday at 14:00")).await;
    assert_eq!(next(&view), ["Fri 4 Dec 2026 12:00 +01:00 Europe/Berlin"]);
    assert_eq!(view.entry.text, "flight");
    let asked = SetReminder { lead: some("soon"), ..says("tea tomorrow at 15:00") };
    let refused = w.service.set_reminder(&owner(), asked).await.unwrap_err().to_string();
    assert!(refused.contains("`lead`") && refused.contains("the day before at 18:00"), "{refused}");
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let w = World::new().await;
    let at = |at: &str| SetReminder { at: some(at), ..says("tea") };
    let rule = |rule: &str| SetReminder { rule: some(rule), ..says("tea") };
    let weekly = || rule("every Friday 15:00");
    for (asked, argument) in [
        (SetReminder::default(), "text"),
        (SetReminder { at: some("tomorrow 3pm"), ..says(" ") }, "text"),
        (SetReminder { at: some("tomorrow 3pm"), ..says(&"x".repeat(2_001)) }, "text"),
        (says("buy milk, version 2.15"), "at"),
        (at("2026-11-29T15:00"), "at"),
        (at("soon"), "at"),
        (at("tomorrow 3pm or 4pm"), "at"),
        (rule("2026-12-04T15:00"), "rule"),
        (rule("every Friday of the moon"), "rule"),
        (rule("FREQ=SECONDLY"), "rule"),
        (rule("FREQ=WEEKLY;BYDAY=FR;UNTIL=20200101T000000Z"), "rule"),
        (SetReminder { zone: some("Asia/Beijing"), ..at("tomorrow 3pm") }, "zone"),
        (SetReminder { lead: some("a while"), ..at("tomorrow 3pm") }, "lead"),
        (SetReminder { sinks: vec!["tema".to_owned()], ..at("tomorrow 3pm") }, "sinks"),
        (SetReminder { until: some("2026-12-24"), ..at("tomorrow 3pm") }, "until"),
        (SetReminder { count: Some(0), ..weekly() }, "count"),
        (SetReminder { count: Some(3), until: some("2026-12-24"), ..weekly() }, "until"),
        (SetReminder { namespace: some("No!"), ..at("tomorrow 3pm") }, "namespace"),
        (SetReminder { memory: some("0000000a"), ..at("tomorrow 3pm") }, "memory"),
    ] {
        let what = format!("{asked:?}");
        let error = w.service.set_reminder(&owner(), asked).await.unwrap_err().to_string();
        assert!(error.contains(argument), "{what}: {error}");
    }
    let error = w.service.set_reminder(&owner(), at("2026-11-29T15:00")).await.unwrap_err();
    assert!(error.to_string().contains("Sun 29 Nov 2026 15:00 +01:00 Europe/Berlin"), "{error}");
    let zone = SetReminder { zone: some("Asia/Beijing"), ..at("tomorrow 3pm") };
    let error = w.service.set_reminder(&owner(), zone).await.unwrap_err().to_string();
    assert!(error.contains("Asia/Shanghai"), "{error}");
    assert_eq!(listed(&w.service, View::All).await, [""; 0]);
}

#[tokio::test]
async fn words_about_a_time_that_are_not_understood_are_quoted() {
    let w = World::new().await;
    let at = |at: &str| SetReminder { at: some(at), ..says("tea") };
    let rule = |rule: &str| SetReminder { rule: some(rule), ..says("tea") };
    for (asked, parts) in [
        (at("tomorrow 10:00 CST"), ["at", "`CST` beside `tomorrow 10:00`"]),
        (at("2026-12-04T15:00+25:00"), ["at", "`+25:00`"]),
        (at("today at 9:30"), ["at", "is over"]),
        (rule("every weekday until Christmas"), ["rule", "`until Christmas`"]),
        (rule("daily at 9am and 6pm"), ["rule", "several times"]),
        (rule("daily at 9am, 1pm and 6pm"), ["rule", "`, 1pm`"]),
        (rule("每月最后一个工作日"), ["rule", "`最后一个工作日`"]),
        (rule("twice a day"), ["rule", "`twice a day` comes more often than daily"]),
        (rule("every 5 minutes"), ["rule", "once a day at most"]),
        (says("the meeting is today at 9:30"), ["at", "`today at 9:30` is over"]),
        (says("remind me every other day except Sunday"), ["at", "`except Sunday`"]),
        (says("remind me hourly to drink"), ["at", "`hourly`"]),
    ] {
        let what = format!("{asked:?}");
        let error = w.service.set_reminder(&owner(), asked).await.unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{what}: {error}");
    }
    let view = w.set(rule("every weekday except Friday at 9am")).await;
    assert_eq!(next(&view)[2], "Thu 3 Dec 2026 09:00 +01:00 Europe/Berlin");
}

#[tokio::test]
async fn an_end_may_be_a_day_or_a_count() {
    let w = World::new().await;
    let weekly = || SetReminder { rule: some("every Friday 15:00"), ..says("tea") };
    for asked in [
        SetReminder { until: some("2026-12-11"), ..weekly() },
        SetReminder { until: some("11 December"), ..weekly() },
        SetReminder { count: Some(2), ..weekly() },
    ] {
        assert_eq!(w.set(asked).await.next.len(), 2);
    }
}

#[tokio::test]
async fn a_memory_is_read_as_of_the_day_on_which_it_was_said() {
    let w = World::new().await;
    let said = w.f.remember(&agent("a"), draft("Remind me to call Bob on Thursday at 3pm.")).await;
    w.f.clock.set(time("2026-12-02T12:00+01:00"));
    let asked = SetReminder { memory: some(&said.id.handle()), ..SetReminder::default() };
    let view = w.set(asked).await;
    assert_eq!((view.entry.text.as_str(), view.entry.memory), ("call Bob", Some(said.id)));
    assert_eq!(next(&view), ["Thu 3 Dec 2026 15:00 +01:00 Europe/Berlin"]);
    let private = w.f.remember(&agent("a"), draft_in("agent/a", "The door code is 4711.")).await;
    let asked = SetReminder {
        memory: some(&private.id.handle()),
        at: some("tomorrow 3pm"),
        ..SetReminder::default()
    };
    let view = w.set(asked.clone()).await;
    assert_eq!(view.entry.namespace.as_str(), "agent/a");
    assert_eq!(view.entry.text, "The door code is 4711.");
    let refused = w.service.set_reminder(&agent("b"), asked).await.unwrap_err();
    assert!(matches!(refused, ServiceError::NotFound { .. }), "{refused}");
}

#[tokio::test]
async fn secrets_are_redacted_and_a_key_sets_one_reminder() {
    let w = World::new().await;
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL";
    let caller = agent("a");
    let asked = SetReminder {
        at: some("tomorrow 3pm"),
        request: Some(key(&caller, "one")),
        ..says(&format!("rotate {secret}"))
    };
    let first = w.service.set_reminder(&caller, asked.clone()).await.unwrap();
    assert!(!first.entry.text.contains(secret) && !first.redacted.is_empty(), "{first:?}");
    let again = w.service.set_reminder(&caller, asked).await.unwrap();
    assert_eq!(first.entry.id, again.entry.id);
    assert_eq!(listed(&w.service, View::Upcoming).await.len(), 1);
}

#[tokio::test]
async fn a_reminder_is_for_who_may_read_its_namespace() {
    let w = World::new().await;
    let asked = SetReminder {
        at: some("tomorrow 3pm"),
        namespace: some("agent/a"),
        ..says("water the plants")
    };
    let view = w.service.set_reminder(&agent("a"), asked.clone()).await.unwrap();
    let w = &w;
    let seen = |caller| async move {
        let page = w.service.reminders(&caller, listing(View::All)).await.unwrap();
        page.reminders.len()
    };
    assert_eq!((seen(agent("a")).await, seen(agent("b")).await, seen(owner()).await), (1, 0, 1));
    let update =
        UpdateReminder { reference: view.entry.id.to_string(), action: ReminderAction::Cancel };
    let error = w.service.update_reminder(&agent("b"), update.clone()).await.unwrap_err();
    assert!(error.to_string().contains("`reminder`"), "{error}");
    let error = w.service.set_reminder(&agent("b"), asked).await.unwrap_err();
    assert!(matches!(error, ServiceError::NotWritable { .. }), "{error}");
    // Who may read may not change.
    let shared = SetReminder { at: some("tomorrow 3pm"), ..says("tea") };
    let shared = w.service.set_reminder(&agent("a"), shared).await.unwrap();
    let update =
        UpdateReminder { reference: shared.entry.id.handle(), action: ReminderAction::Pause };
    let error = w.service.update_reminder(&reader("r"), update).await.unwrap_err();
    assert!(matches!(error, ServiceError::NotWritable { .. }), "{error}");
    let unreadable = ListReminders { namespaces: vec!["agent/a".to_owned()], ..listing(View::All) };
    let error = w.service.reminders(&agent("b"), unreadable).await.unwrap_err();
    assert!(matches!(error, ServiceError::NotReadable { .. }), "{error}");
}

#[tokio::test]
async fn views_are_in_order_of_time_and_come_in_pages() {
    let w = World::new().await;
    for hour in [18, 15, 16, 17] {
        w.set_at(&format!("at {hour}"), &format!("2026-11-30T{hour}:00")).await;
        w.f.clock.advance(std::time::Duration::from_millis(1));
    }
    let daily = w.set_rule("daily", "every day at 15:30", "PT0S").await;
    assert_eq!(
        listed(&w.service, View::Upcoming).await,
        ["at 15", "daily", "at 16", "at 17", "at 18"]
    );
    w.live_until("2026-11-30T16:10+01:00").await;
    assert_eq!(listed(&w.service, View::Due).await, ["at 15", "daily", "at 16"]);
    // What recurs is due and upcoming.
    assert_eq!(listed(&w.service, View::Upcoming).await, ["at 17", "at 18", "daily"]);
    act(&w.service, &daily, ReminderAction::Cancel).await.unwrap();
    assert_eq!(listed(&w.service, View::Past).await, ["daily"]);
    assert_eq!(listed(&w.service, View::All).await.len(), 5);
    let mut page = ListReminders { limit: Some(2), ..listing(View::All) };
    let mut texts = Vec::new();
    loop {
        let answer = w.service.reminders(&owner(), page.clone()).await.unwrap();
        texts.extend(answer.reminders.into_iter().map(|view| view.entry.text));
        page.cursor = answer.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    assert_eq!(texts, ["daily", "at 17", "at 16", "at 15", "at 18"], "newest first");
    for (page, argument) in [
        (ListReminders { limit: Some(0), ..listing(View::All) }, "limit"),
        (ListReminders { cursor: some("x"), ..listing(View::All) }, "cursor"),
    ] {
        let error = w.service.reminders(&owner(), page).await.unwrap_err().to_string();
        assert!(error.contains(argument), "{error}");
    }
}

#[tokio::test]
async fn what_is_done_to_a_reminder_fits_its_life() {
    let w = World::new().await;
    let view = w.set_rule("tea", "every day at 16:00", "PT0S").await;
    let s = &w.service;
    let refused = act(s, &view, ReminderAction::Ack).await.unwrap_err().to_string();
    assert!(refused.contains("no occurrence has been told"), "{refused}");
    let paused = act(s, &view, ReminderAction::Pause).await.unwrap();
    assert_eq!(paused.standing, Standing::Paused);
    w.live_until("2026-12-01T12:00+01:00").await;
    assert_eq!(w.team.times(), [""; 0]);
    let resumed = act(s, &view, ReminderAction::Resume).await.unwrap();
    assert_eq!(resumed.standing, Standing::Upcoming);
    w.live_until("2026-12-01T16:00+01:00").await;
    assert_eq!(
        s.reminder(&owner(), &view.entry.id.to_string()).await.unwrap().standing,
        Standing::Due
    );
    for (wait, until, argument) in [
        (None, None, "for"),
        (some("10m"), some("17:00"), "for"),
        (some("-10m"), None, "for"),
        (some("a while"), None, "for"),
        (None, some("whenever"), "until"),
        (None, some("2026-11-30T10:00"), "snooze"),
    ] {
        let error = act(s, &view, ReminderAction::Snooze { wait, until }).await.unwrap_err();
        assert!(error.to_string().contains(argument), "{argument}: {error}");
    }
    let until = ReminderAction::Snooze { wait: None, until: some("17:00") };
    let snoozed = act(s, &view, until).await.unwrap();
    assert_eq!(snoozed.next[0].told_at, time("2026-12-01T17:00+01:00"));
    assert!(snoozed.next[0].is_snoozed && snoozed.standing == Standing::Snoozed);
    let acked = act(s, &view, ReminderAction::Ack).await.unwrap();
    assert_eq!(acked.standing, Standing::Upcoming);
    let done = act(s, &view, ReminderAction::Done).await.unwrap();
    assert_eq!(done.entry.reminder.status, Status::Done);
    assert_eq!(done.next, []);
    let error = act(s, &view, ReminderAction::Resume).await.unwrap_err().to_string();
    assert!(error.contains("cannot resume a reminder that is done"), "{error}");
    let change = ChangeReminder { text: some("coffee"), ..ChangeReminder::default() };
    let error = changed(s, &view, change).await.unwrap_err().to_string();
    assert!(error.contains("cannot change a reminder that is done"), "{error}");
    let unknown = MemoryId::new(1, 7).to_string();
    let update = UpdateReminder { reference: unknown, action: ReminderAction::Ack };
    assert!(s.update_reminder(&owner(), update).await.is_err());
}

#[tokio::test]
async fn everything_about_a_reminder_can_be_changed() {
    let w = World::new().await;
    let s = &w.service;
    let view = w.set_rule("tea", "every day at 16:00", "PT0S").await;
    let none = ChangeReminder::default;
    assert!(changed(s, &view, none()).await.is_err());
    for (change, expected) in [
        (
            ChangeReminder { text: some("coffee"), ..none() },
            "Mon 30 Nov 2026 16:00 +01:00 Europe/Berlin",
        ),
        (
            ChangeReminder { lead: some("PT1H"), ..none() },
            "Mon 30 Nov 2026 15:00 +01:00 Europe/Berlin",
        ),
        (
            ChangeReminder { zone: some("Asia/Shanghai"), ..none() },
            "Tue 1 Dec 2026 15:00 +08:00 Asia/Shanghai",
        ),
        (
            ChangeReminder { rule: some("every Friday 10:00"), ..none() },
            "Fri 4 Dec 2026 09:00 +08:00 Asia/Shanghai",
        ),
        (ChangeReminder { count: Some(1), ..none() }, "Fri 4 Dec 2026 09:00 +08:00 Asia/Shanghai"),
        (
            ChangeReminder { at: some("2026-12-24T18:00"), lead: some("P1D@18:00"), ..none() },
            "Wed 23 Dec 2026 18:00 +08:00 Asia/Shanghai",
        ),
        (
            ChangeReminder {
                priority: Some(Priority::Urgent),
                sinks: Some(vec!["team".to_owned()]),
                ..none()
            },
            "Wed 23 Dec 2026 18:00 +08:00 Asia/Shanghai",
        ),
    ] {
        let what = format!("{change:?}");
        let view = changed(s, &view, change).await.unwrap();
        assert_eq!(next(&view)[0], expected, "{what}");
    }
    let kept = s.reminder(&owner(), &view.entry.id.handle()).await.unwrap().entry;
    assert_eq!((kept.text.as_str(), kept.reminder.priority), ("coffee", Priority::Urgent));
    assert_eq!(kept.sinks, ["team"]);
    let past = ChangeReminder { at: some("2026-11-24T18:00"), ..none() };
    assert!(changed(s, &view, past).await.unwrap_err().to_string().contains("`at`"));
}
