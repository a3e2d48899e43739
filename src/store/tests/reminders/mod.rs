//! Reminders and the outbox: all or none of a request, each index in agreement, and nothing left of
//! what goes with a memory.

mod conflicts;
mod copies;
mod model;
mod room;

use jiff::tz::TimeZone;

use super::fixture::{Fixture, at, key};
use crate::domain::change::{NewMemory, Patch, Revise};
use crate::domain::id::{IdReference, MemoryId};
use crate::domain::identity::Actor;
use crate::domain::reminder::{
    Delivery, DeliveryKey, DeliveryState, Enact, Enacted, Entry, EntryQuery, Kind, Lead, Lease,
    Open, Pattern, Reminder, Row, Rule, SinkChange, SinkState, Skipped, SkippedNote, Snooze,
    Source, Standing, Status, Telling,
};
use crate::ports::{Ids as _, Reminders as _, Store as _, StoreError};
use crate::store::tables::Tables;

/// A reminder that is told each day, for the first time `second` seconds after the start.
pub(super) fn entry(id: MemoryId, text: &str, second: i64) -> Entry {
    let start = TimeZone::UTC.to_datetime(at(second));
    let rule = Rule::every(start, TimeZone::UTC, Pattern::Daily).unwrap();
    Entry {
        id,
        version: 1,
        namespace: "user".parse().unwrap(),
        text: text.to_owned(),
        source: Source::Stated,
        memory: None,
        evidence: Vec::new(),
        topic: None,
        sinks: Vec::new(),
        actor: "owner".to_owned(),
        created_at: at(0),
        updated_at: at(0),
        proposed_at: None,
        skipped: None,
        wakes_at: Some(at(second)),
        reminder: Reminder::new(rule, Lead::NONE, Status::Active, at(0)).unwrap(),
    }
}

/// A row that tells an occurrence of a reminder which is due `second` seconds after the start.
pub(super) fn row(entry: &Entry, sink: &str, second: i64) -> Row {
    let (_, occurrence) = entry.reminder.upcoming(1)[0];
    let bytes = entry.id.as_u128().to_be_bytes();
    let civil = TimeZone::UTC.to_datetime(at(second));
    let key = DeliveryKey::new(&bytes, 0, civil, Kind::First, sink);
    let (due_at, end) = (at(second), at(second + 10_000));
    let telling = Telling { occurrence, kind: Kind::First, due_at, n_missed: 0, expires_at: end };
    let delivery = Delivery::new(key, sink.to_owned(), due_at, due_at, end, due_at);
    Row { version: 1, delivery, reminder: entry.id, telling, message: None }
}

/// What is known of a sink from now on.
pub(super) fn sink_change(name: &str, was: SinkState, is: SinkState) -> SinkChange {
    SinkChange { name: name.to_owned(), was, is }
}

fn new(entries: &[&Entry]) -> Enact {
    Enact { new: entries.iter().map(|entry| (*entry).clone()).collect(), ..Enact::default() }
}

fn queued(rows: &[&Row]) -> Enact {
    Enact { queued: rows.iter().map(|row| (*row).clone()).collect(), ..Enact::default() }
}

impl Fixture {
    async fn enact(&self, request: Enact) -> Enacted {
        self.store.enact(request, at(0)).await.unwrap()
    }

    /// Carries it out; it meets no conflict.
    async fn do_all(&self, request: Enact) {
        let enacted = self.enact(request).await;
        assert!(matches!(enacted, Enacted::Done(_)), "{enacted:?}");
    }

    /// It is refused and leaves no trace.
    async fn refuse(&self, request: Enact, why: &str) {
        let before = (self.entries(&[]).await, self.states().await);
        let enacted = self.enact(request).await;
        assert!(matches!(&enacted, Enacted::Conflict(what) if what.contains(why)), "{enacted:?}");
        assert_eq!((self.entries(&[]).await, self.states().await), before);
    }

    async fn entries(&self, standings: &[Standing]) -> Vec<Entry> {
        let query =
            EntryQuery { standings: standings.to_vec(), limit: 99, ..EntryQuery::default() };
        self.store.entries(query).await.unwrap()
    }

    /// State and version of each row, in the order in which they were due.
    async fn states(&self) -> Vec<(DeliveryState, u64)> {
        let mut states = Vec::new();
        for state in DeliveryState::ALL {
            let rows = self.store.rows(*state, None, None, 99).await.unwrap();
            states.extend(rows.iter().map(|row| (row.delivery.state, row.version)));
        }
        states
    }

    async fn entry_now(&self, id: MemoryId) -> Entry {
        self.store.entry(id).await.unwrap().unwrap()
    }

    async fn row_now(&self, row: &Row) -> Row {
        self.store.row(row.delivery.key).await.unwrap().unwrap()
    }

    fn entry(&self, text: &str, second: i64) -> Entry {
        entry(self.unknown_id(), text, second)
    }
}

fn ids(entries: &[Entry]) -> Vec<MemoryId> {
    entries.iter().map(|entry| entry.id).collect()
}

#[tokio::test]
async fn everything_of_a_reminder_and_a_row_is_read_back() {
    let f = Fixture::new();
    let (about, shown) = f.two_facts().await;
    let mut whole = f.entry("Weekly meeting", 3_600);
    let (_, occurrence) = whole.reminder.upcoming(1)[0];
    whole.reminder.open = Some(Open {
        occurrence,
        told_at: at(1),
        last_told_at: at(2),
        n_repeats: 3,
        is_escalated: true,
        n_snoozes: 4,
    });
    whole.reminder.snoozed = vec![Snooze { occurrence, until: at(9), n: 2 }];
    let whole = Entry {
        source: Source::Pattern,
        memory: Some(about),
        evidence: vec![about, shown],
        topic: Some("user/meeting".to_owned()),
        sinks: vec!["team".to_owned(), "desk".to_owned()],
        proposed_at: Some(at(5)),
        skipped: Some(SkippedNote { n: 7, last_due_at: at(3), why: Skipped::TooLate, at: at(4) }),
        ..whole
    };
    let plain = f.entry("Tea", 60);
    let mut rows = Vec::new();
    for (n, kind) in
        [Kind::First, Kind::Snoozed(2), Kind::Repeated(3), Kind::Escalated].into_iter().enumerate()
    {
        let mut row = row(&whole, &format!("sink{n}"), 10 + i64::try_from(n).unwrap());
        row.telling.kind = kind;
        row.telling.n_missed = 5;
        row.message = Some(row.delivery.key);
        row.delivery.claim(Lease { owner: u128::MAX, until: at(99) }, at(50)).unwrap();
        row.delivery.call(u128::MAX, at(51)).unwrap();
        rows.push(row);
    }
    let sink = SinkState { n_failures: 2, paused_until: Some(at(7)), ..SinkState::default() };
    f.do_all(Enact {
        new: vec![whole.clone(), plain.clone()],
        queued: rows.clone(),
        sinks: vec![
            sink_change("team", SinkState::default(), sink.clone()),
            sink_change("desk", SinkState::default(), SinkState::default()),
        ],
        ..Enact::default()
    })
    .await;
    assert_eq!(f.entry_now(whole.id).await, whole);
    assert_eq!(f.entry_now(plain.id).await, plain);
    assert_eq!(f.store.rows_of(whole.id).await.unwrap(), rows);
    assert_eq!(f.row_now(&rows[2]).await, rows[2]);
    assert_eq!(f.store.sink_states().await.unwrap(), [("team".to_owned(), sink.clone())]);
    assert_eq!(f.store.entry(f.unknown_id()).await.unwrap(), None);
    assert_eq!(
        f.store.entry_of_topic("user/meeting".to_owned()).await.unwrap(),
        Some(whole.clone())
    );
    assert_eq!(f.store.entry_of_topic("user".to_owned()).await.unwrap(), None);
    for memory in [about, shown] {
        assert_eq!(ids(&f.store.entries_of(memory).await.unwrap()), [whole.id]);
    }
    let Ok(IdReference::Handle(handle)) = plain.id.handle().parse() else { panic!("no handle") };
    assert_eq!(f.store.entries_named(handle).await.unwrap(), [plain.id]);
    // It is of no use that a sink did well once.
    let sinks = vec![sink_change("team", sink, SinkState::default())];
    f.do_all(Enact { sinks, ..Enact::default() }).await;
    assert_eq!(f.store.sink_states().await.unwrap(), []);
    f.finish().await;
}

#[tokio::test]
async fn a_listing_is_by_age_namespace_and_standing_and_goes_on_where_it_stopped() {
    let f = Fixture::new();
    let mut all = Vec::new();
    for n in 0..6 {
        let mut entry = f.entry("x", 60);
        match n {
            1 => entry.reminder.pause().unwrap(),
            2 => entry.reminder.cancel().unwrap(),
            3 => entry.namespace = "shared/team".parse().unwrap(),
            _ => {}
        }
        all.push(entry);
    }
    all.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    f.do_all(new(&all.iter().collect::<Vec<_>>())).await;
    assert_eq!(f.entries(&[]).await, all);
    let of = |standings: &[Standing]| {
        let is_of = |entry: &&Entry| standings.contains(&entry.reminder.standing());
        all.iter().filter(is_of).cloned().collect::<Vec<_>>()
    };
    for standings in [
        &[Standing::Upcoming][..],
        &[Standing::Paused],
        &[Standing::Past, Standing::Paused],
        &[Standing::Upcoming, Standing::Upcoming, Standing::Past],
        &[Standing::Due],
    ] {
        assert_eq!(f.entries(standings).await, of(standings), "{standings:?}");
    }
    for standings in [vec![], vec![Standing::Upcoming, Standing::Paused, Standing::Past]] {
        let (mut paged, mut after) = (Vec::new(), None);
        loop {
            let namespaces = Some(vec!["user".parse().unwrap()]);
            let query = EntryQuery { namespaces, standings: standings.clone(), after, limit: 2 };
            let page = f.store.entries(query).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            paged.extend(page);
        }
        let of_user: Vec<Entry> =
            all.iter().filter(|entry| entry.namespace.as_str() == "user").cloned().collect();
        assert_eq!(of_user.len(), 5);
        assert_eq!(paged, of_user);
    }
    f.finish().await;
}

#[tokio::test]
async fn what_is_due_is_found_earliest_first() {
    let f = Fixture::new();
    let entries = [f.entry("b", 20), f.entry("a", 10), f.entry("c", 30), f.entry("-", 5)];
    let never = Entry { wakes_at: None, ..entries[3].clone() };
    f.do_all(new(&[&entries[0], &entries[1], &entries[2], &never])).await;
    let due = |second, limit| f.store.due_entries(at(second), limit);
    assert_eq!(ids(&due(9, 9).await.unwrap()), []);
    assert_eq!(ids(&due(20, 9).await.unwrap()), [entries[1].id, entries[0].id]);
    assert_eq!(ids(&due(99, 1).await.unwrap()), [entries[1].id]);
    assert_eq!(f.store.next_wake().await.unwrap(), Some(at(10)));
    let later = Entry { wakes_at: Some(at(40)), ..entries[1].clone() };
    f.do_all(Enact { changed: vec![later], ..Enact::default() }).await;
    assert_eq!(f.store.next_wake().await.unwrap(), Some(at(20)));
    f.do_all(Enact { removed: ids(&entries), ..Enact::default() }).await;
    assert_eq!(f.store.next_wake().await.unwrap(), None);
    f.finish().await;
}

#[tokio::test]
async fn a_telling_is_queued_once_whatever_has_become_of_it() {
    let f = Fixture::new();
    let entry = f.entry("a", 10);
    let told = row(&entry, "desk", 10);
    f.do_all(Enact { queued: vec![told.clone(), told.clone()], ..new(&[&entry]) }).await;
    let mut dropped = told.clone();
    dropped.delivery.drop_it().unwrap();
    f.do_all(Enact { rows: vec![dropped], ..Enact::default() }).await;
    let elsewhere = row(&entry, "team", 10);
    f.do_all(queued(&[&told, &elsewhere])).await;
    assert_eq!(f.states().await, [(DeliveryState::Queued, 1), (DeliveryState::Dropped, 2)]);
    // A row without its reminder could not say anything.
    let unknown = f.entry("b", 10);
    f.refuse(queued(&[&row(&unknown, "desk", 10)]), "is gone").await;
    let goes = Enact { removed: vec![entry.id], ..queued(&[&row(&entry, "desk", 11)]) };
    f.refuse(goes, "is gone").await;
    f.finish().await;
}

#[tokio::test]
async fn rows_are_listed_by_state_and_sink_in_the_order_in_which_they_were_due() {
    let f = Fixture::new();
    let entry = f.entry("a", 10);
    let rows: Vec<Row> = [(30, "desk"), (10, "team"), (20, "desk"), (-5, "team"), (20, "team")]
        .map(|(second, sink)| row(&entry, sink, second))
        .to_vec();
    f.do_all(Enact { queued: rows.clone(), ..new(&[&entry]) }).await;
    let mut sent = rows[1].clone();
    sent.delivery.state = DeliveryState::Sent;
    f.do_all(Enact { rows: vec![sent.clone()], ..Enact::default() }).await;
    let mut waiting: Vec<Row> = [0, 2, 3, 4].map(|n| rows[n].clone()).to_vec();
    waiting.sort_by_key(|row| (row.delivery.due_at, row.delivery.key));
    let list = |sink: Option<&str>, after, limit| {
        f.store.rows(DeliveryState::Queued, sink.map(ToOwned::to_owned), after, limit)
    };
    assert_eq!(list(None, None, 9).await.unwrap(), waiting);
    let of_desk = list(Some("desk"), None, 9).await.unwrap();
    assert_eq!(of_desk, [rows[2].clone(), rows[0].clone()]);
    let (mut paged, mut after) = (Vec::new(), None);
    while let [row] = &list(None, after, 1).await.unwrap()[..] {
        after = Some((row.delivery.due_at, row.delivery.key));
        paged.push(row.clone());
    }
    assert_eq!(paged, waiting);
    let (queued, sent_state) = (DeliveryState::Queued, DeliveryState::Sent);
    assert_eq!(
        f.store.row_counts().await.unwrap(),
        [
            (queued, "desk".to_owned(), 2),
            (queued, "team".to_owned(), 2),
            (sent_state, "team".to_owned(), 1),
        ]
    );
    let report = f.store.report().await.unwrap();
    assert_eq!((report.n_reminders, report.n_deliveries), (1, 5));
    f.do_all(Enact { removed: vec![entry.id], ..Enact::default() }).await;
    assert_eq!(f.store.row_counts().await.unwrap(), []);
    f.finish().await;
}

#[tokio::test]
async fn a_call_that_is_sent_twice_sets_one_reminder() {
    let f = Fixture::new();
    let (first, again) = (f.entry("a", 10), f.entry("a", 10));
    let set = |entry: &Entry| Enact { request: Some(key("set")), ..new(&[entry]) };
    assert_eq!(f.enact(set(&first)).await, Enacted::Done(vec![first.id]));
    assert_eq!(f.enact(set(&again)).await, Enacted::Done(vec![first.id]));
    assert_eq!(ids(&f.entries(&[]).await), [first.id]);
    // What was refused was not answered for good.
    let other = Enact { request: Some(key("other")), ..new(&[&first]) };
    f.refuse(other, "is there already").await;
    let other = Enact { request: Some(key("other")), ..new(&[&again]) };
    assert_eq!(f.enact(other).await, Enacted::Done(vec![again.id]));
    f.finish().await;
}

#[tokio::test]
async fn a_pattern_has_one_reminder() {
    let f = Fixture::new();
    let of = |topic: &str| Entry { topic: Some(topic.to_owned()), ..f.entry("a", 10) };
    let (a, b) = (of("a"), of("b"));
    f.do_all(new(&[&a, &b])).await;
    f.refuse(new(&[&of("a")]), "pattern").await;
    f.refuse(new(&[&of("c"), &of("c")]), "pattern").await;
    let named =
        |entry: &Entry, topic: &str| Entry { topic: Some(topic.to_owned()), ..entry.clone() };
    f.refuse(Enact { changed: vec![named(&a, "b")], ..Enact::default() }, "pattern").await;
    // Two that change places are one change.
    f.do_all(Enact { changed: vec![named(&a, "b"), named(&b, "a")], ..Enact::default() }).await;
    f.check().await;
    let instead = of("b");
    f.do_all(Enact { removed: vec![a.id], ..new(&[&instead]) }).await;
    assert_eq!(f.store.entry_of_topic("b".to_owned()).await.unwrap(), Some(instead));
    assert_eq!(f.store.entry_of_topic("a".to_owned()).await.unwrap().map(|it| it.id), Some(b.id));
    f.finish().await;
}

#[tokio::test]
async fn a_reminder_goes_with_a_memory_that_it_is_about_or_that_shows_it() {
    let f = Fixture::new();
    let (about, shown) = f.two_facts().await;
    let other = f.store_fact("c", 1).await;
    let one = Entry { memory: Some(about), ..f.entry("one", 10) };
    let two = Entry { evidence: vec![other, shown], ..f.entry("two", 10) };
    let kept = Entry { memory: Some(other), ..f.entry("kept", 10) };
    let rows = [&one, &two, &kept].map(|entry| row(entry, "desk", 10));
    f.do_all(Enact { queued: rows.to_vec(), ..new(&[&one, &two, &kept]) }).await;
    f.forget(&[about], Some(500), 20).await;
    assert_eq!(ids(&f.store.entries_of(shown).await.unwrap()), [two.id]);
    f.forget(&[shown], None, 21).await;
    assert_eq!(ids(&f.entries(&[]).await), [kept.id]);
    assert_eq!(f.states().await, [(DeliveryState::Queued, 1)]);
    // Whoever is sending it learns that it is gone.
    f.refuse(Enact { rows: vec![rows[0].clone()], ..Enact::default() }, "has changed").await;
    // The memory comes back alone.
    assert!(f.store.restore(about, Actor::Owner, at(30)).await.unwrap());
    assert_eq!(f.store.entries_of(about).await.unwrap(), []);
    f.refuse(new(&[&Entry { memory: Some(shown), ..f.entry("x", 9) }]), "is gone").await;
    let late = Entry { evidence: vec![shown], ..kept };
    f.refuse(Enact { changed: vec![late], ..Enact::default() }, "is gone").await;
    f.finish().await;
}

#[tokio::test]
async fn a_reminder_of_a_summary_goes_when_its_run_is_undone_and_others_stay() {
    let f = Fixture::new();
    let (a, b) = f.two_facts().await;
    let (set, summary) = f.summarised("both", &[a, b]).await;
    let run = f.run(set, 5).await;
    let of_summary = Entry { memory: Some(summary), ..f.entry("both", 10) };
    let of_source = Entry { memory: Some(a), ..f.entry("a", 10) };
    f.do_all(new(&[&of_summary, &of_source])).await;
    f.undo(run, 9).await;
    assert_eq!(f.entries(&[]).await, [of_source]);
    f.finish().await;
}

#[tokio::test]
async fn what_is_over_is_trimmed_and_what_waits_or_was_declined_is_kept() {
    let f = Fixture::new();
    let over = |text: &str, second| {
        let mut entry = Entry { updated_at: at(second), ..f.entry(text, 10) };
        entry.reminder.cancel().unwrap();
        entry
    };
    let mut declined = Entry { topic: Some("t".to_owned()), ..f.entry("declined", 10) };
    declined.reminder.status = Status::Proposed;
    declined.reminder.decline().unwrap();
    let (old, young) = (over("old", 50), over("young", 150));
    let (waits, told, lasts) = (over("waits", 50), over("told", 50), f.entry("lasts", 10));
    let state = |entry: &Entry, sink: &str, state, sent: i64| {
        let mut row = row(entry, sink, 10);
        row.delivery.state = state;
        row.delivery.sent_at = Some(at(sent));
        row
    };
    let rows = vec![
        row(&waits, "desk", 10),
        state(&told, "desk", DeliveryState::Sent, 20),
        state(&lasts, "a", DeliveryState::Dead, 20),
        state(&lasts, "b", DeliveryState::Uncertain, 20),
        state(&lasts, "c", DeliveryState::Sent, 150),
    ];
    let all = [&declined, &old, &young, &waits, &told, &lasts];
    f.do_all(Enact { queued: rows, ..new(&all) }).await;
    assert_eq!(f.store.trim_reminders(at(100)).await.unwrap(), 5);
    let mut left: Vec<String> = f.entries(&[]).await.into_iter().map(|entry| entry.text).collect();
    left.sort();
    assert_eq!(left, ["declined", "lasts", "waits", "young"]);
    assert_eq!(f.states().await, [(DeliveryState::Queued, 1), (DeliveryState::Sent, 1)]);
    assert_eq!(f.store.trim_reminders(at(100)).await.unwrap(), 0);
    f.finish().await;
}

#[tokio::test]
async fn more_than_a_page_is_trimmed() {
    let f = Fixture::new();
    let entry = f.entry("a", 10);
    f.do_all(new(&[&entry])).await;
    let rows: Vec<Row> = (0..2_500)
        .map(|second| {
            let mut row = row(&entry, "desk", second);
            row.delivery.state = DeliveryState::Sent;
            row
        })
        .collect();
    f.do_all(Enact { queued: rows, ..Enact::default() }).await;
    assert_eq!(f.store.trim_reminders(at(2_400)).await.unwrap(), 2_400);
    assert_eq!(f.states().await.len(), 99);
    f.finish().await;
}

/// Puts a row where none belongs, or takes one away.
type Damage = fn(&mut Tables<'_>, u128) -> Result<(), StoreError>;

#[tokio::test]
async fn an_index_that_disagrees_is_found() {
    let f = Fixture::new();
    let about = f.store_fact("a", 1).await;
    let entry = Entry { memory: Some(about), topic: Some("t".to_owned()), ..f.entry("a", 10) };
    f.do_all(Enact { queued: vec![row(&entry, "desk", 10)], ..new(&[&entry]) }).await;
    let id = entry.id.as_u128();
    let breakages: [(&str, Damage); 8] = [
        ("reminder_wakes", |t, id| Ok(t.reminder_wakes.insert((0, id), ()).map(drop)?)),
        ("reminder_standings", |t, id| Ok(t.reminder_standings.insert((5, id), ()).map(drop)?)),
        ("reminder_handles", |t, id| Ok(t.reminder_handles.insert((0, id), ()).map(drop)?)),
        ("reminders_of", |t, id| Ok(t.reminders_of.insert((0, id), ()).map(drop)?)),
        ("reminder_topics", |t, id| Ok(t.reminder_topics.insert("u", id).map(drop)?)),
        ("outbox_by_state", |t, id| Ok(t.outbox_by_state.insert((0, 0, id), "x").map(drop)?)),
        ("outbox_of", |t, id| Ok(t.outbox_of.insert((id, 0, 0), ()).map(drop)?)),
        ("its reminder is gone", |t, id| Ok(t.reminders.remove(id).map(drop)?)),
    ];
    for (n, (table, damage)) in breakages.into_iter().enumerate() {
        f.store.writer.write(move |batch| damage(batch.change(), id)).await.unwrap();
        let found = f.store.verify().await.unwrap().violations;
        assert!(found.iter().any(|what| what.contains(table)), "{found:?}");
        assert!(found.len() > n, "{found:?}");
    }
}

/// A reminder that was read in the text of a memory, told once `second` seconds after the start.
fn read_in(f: &Fixture, memory: MemoryId, second: i64) -> Entry {
    let start = TimeZone::UTC.to_datetime(at(second));
    let rule = Rule::once(start, TimeZone::UTC).unwrap();
    Entry {
        source: Source::Found,
        memory: Some(memory),
        reminder: Reminder::new(rule, Lead::NONE, Status::Proposed, at(0)).unwrap(),
        ..entry(f.ids.next_id(at(0)), "read", second)
    }
}

/// The reminders about a memory: how each is and when it is told.
async fn about(f: &Fixture, memory: MemoryId) -> Vec<(Status, Option<i64>)> {
    let entries = f.store.entries_of(memory).await.unwrap();
    let when = |entry: &Entry| {
        let is_over = entry.reminder.standing() == Standing::Past;
        let next = entry.reminder.upcoming(usize::from(!is_over));
        next.first().map(|(told_at, _)| told_at.duration_since(at(0)).as_secs())
    };
    entries.iter().map(|entry| (entry.reminder.status, when(entry))).collect()
}

#[tokio::test]
async fn reminders_that_are_read_in_a_text_come_and_change_with_it() {
    let f = Fixture::new();
    let mut new = f.fact("lunch at noon");
    let id = new.id;
    new.reminders = vec![read_in(&f, id, 1_000)];
    f.remember_one(new.clone(), 1).await;
    assert_eq!(about(&f, id).await, [(Status::Proposed, Some(1_000))]);
    // The same memory once more brings no second one.
    let again = NewMemory { id: f.ids.next_id(at(2)), ..new };
    assert_eq!(f.remember_one(again, 2).await.id, id);
    for n in 0..10 {
        let revise = Revise {
            id,
            patch: Patch { content: Some(format!("lunch {n}").into()), ..Patch::default() },
            embedded: None,
            reminders: Some(vec![read_in(&f, id, 2_000 + n)]),
            request: None,
            actor: Actor::Owner,
            at: at(3),
        };
        f.store.revise(revise).await.unwrap();
    }
    assert_eq!(about(&f, id).await, [(Status::Proposed, Some(2_009))]);
    assert_eq!(
        f.store.entries(EntryQuery { limit: 99, ..EntryQuery::default() }).await.unwrap().len(),
        1
    );
    f.finish().await;
}

#[tokio::test]
async fn a_successor_takes_its_reminders_over_and_what_is_wrong_has_none() {
    let f = Fixture::new();
    let mut old = f.fact("lunch at noon");
    old.reminders = vec![read_in(&f, old.id, 1_000), read_in(&f, old.id, 1_500)];
    let mut new = f.fact("lunch at one");
    new.supersedes = Some(old.id);
    new.reminders = vec![read_in(&f, new.id, 2_000)];
    let (old_id, new_id) = (old.id, new.id);
    f.remember_one(old, 1).await;
    f.remember_one(new, 2).await;
    assert_eq!(about(&f, old_id).await, [(Status::Cancelled, None)]);
    assert_eq!(about(&f, new_id).await, [(Status::Proposed, Some(2_000))]);
    let patch = Patch { valid_to: Some(Some(at(2))), ..Patch::default() };
    f.revise(new_id, patch, 3).await;
    assert_eq!(about(&f, new_id).await, [(Status::Cancelled, None)]);
    f.forget(&[old_id, new_id], None, 4).await;
    assert!(
        f.store
            .entries(EntryQuery { limit: 99, ..EntryQuery::default() })
            .await
            .unwrap()
            .is_empty()
    );
    f.finish().await;
}
