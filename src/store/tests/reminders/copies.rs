//! Reminders in backups and exports: nothing that was told is told again, nothing forgotten comes back.

use std::sync::Arc;

use jiff::civil::DateTime;

use super::super::fixture::{Fixture, SETTINGS, at};
use super::{entry, ids, new, row};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::reminder::{
    DeliveryState, Enact, Entry, Lead, Open, Row, Skipped, SkippedNote, Snooze, Standing,
};
use crate::domain::transfer::{ExportPlace, Group, ImportOutcome, Item};
use crate::ports::{Backups as _, Reminders as _, Transfer as _};
use crate::store::{RedbBackups, RedbStore, restore_backup};

/// Makes a backup, does something, and puts the backup back.
async fn restored_after(f: &Fixture, change: impl AsyncFnOnce()) -> Fixture {
    let backups = RedbBackups::new(Arc::clone(&f.store), f.dir.path().join("backups"));
    let made = backups.make(None, at(50)).await.unwrap();
    change().await;
    f.store.close();
    restore_backup(f.dir.path(), &made.path, &[], SETTINGS, at(900)).unwrap();
    let restored = Fixture::new();
    restored.store.close();
    let file = "recalld.redb";
    std::fs::copy(f.dir.path().join(file), restored.dir.path().join(file)).unwrap();
    let mut restored = restored;
    restored.store = Arc::new(RedbStore::open(restored.dir.path(), SETTINGS, at(901)).unwrap());
    restored
}

fn civil(second: i64) -> DateTime {
    jiff::tz::TimeZone::UTC.to_datetime(at(second))
}

#[tokio::test]
async fn a_backup_holds_reminders_and_rows_as_they_were() {
    let f = Fixture::new();
    let one = f.entry("a", 10);
    let told = row(&one, "desk", 10);
    f.do_all(Enact { queued: vec![told.clone()], ..new(&[&one]) }).await;
    let restored = restored_after(&f, async || {}).await;
    assert_eq!(restored.entries(&[]).await, [one]);
    assert_eq!(restored.row_now(&told).await, told);
    restored.finish().await;
}

#[tokio::test]
async fn what_was_told_since_a_backup_is_known_when_it_is_restored() {
    let f = Fixture::new();
    let (kept, changed, called_off) =
        (f.entry("kept", 10), f.entry("changed", 10), f.entry("called off", 10));
    let waits = row(&kept, "desk", 10);
    let all = [&kept, &changed, &called_off];
    f.do_all(Enact { queued: vec![waits.clone()], ..new(&all) }).await;
    let later = row(&kept, "desk", 100);
    let restored = restored_after(&f, async || {
        let done = |entry: &Entry| {
            let mut entry = entry.clone();
            entry.reminder.done_through = Some(civil(100));
            entry
        };
        let mut sent = waits.clone();
        sent.delivery.state = DeliveryState::Sent;
        let mut of_other_rule = done(&changed);
        of_other_rule.reminder.lead = Lead::minutes(1);
        let mut off = called_off.clone();
        off.reminder.cancel().unwrap();
        let new_one = f.entry("new", 60);
        let since = row(&new_one, "desk", 60);
        f.do_all(Enact {
            changed: vec![done(&kept), of_other_rule, off],
            rows: vec![sent],
            queued: vec![later.clone(), since],
            ..new(&[&new_one])
        })
        .await;
        let mut dead = f.row_now(&later).await;
        dead.delivery.state = DeliveryState::Dead;
        f.do_all(Enact { rows: vec![dead], ..Enact::default() }).await;
    })
    .await;
    // Nothing of it is sent again, whatever the engine finds due.
    assert_eq!(restored.row_now(&waits).await.delivery.state, DeliveryState::Sent);
    restored.do_all(Enact { queued: vec![later.clone()], ..Enact::default() }).await;
    assert_eq!(restored.row_now(&later).await.delivery.state, DeliveryState::Dead);
    let now = restored.entry_now(kept.id).await;
    assert_eq!((now.reminder.done_through, now.version), (Some(civil(100)), 2));
    // What people have changed is as it was.
    assert_eq!(restored.entry_now(changed.id).await, changed);
    assert_eq!(restored.entry_now(called_off.id).await, called_off);
    assert_eq!(restored.entries(&[]).await.len(), 3);
    restored.finish().await;
}

#[tokio::test]
async fn a_backup_that_knows_more_than_the_store_keeps_it() {
    let f = Fixture::new();
    let one = f.entry("a", 10);
    let told = row(&one, "desk", 10);
    f.do_all(Enact { queued: vec![told.clone()], ..new(&[&one]) }).await;
    let mut sent = told.clone();
    sent.delivery.state = DeliveryState::Sent;
    f.do_all(Enact { rows: vec![sent], ..Enact::default() }).await;
    let restored = restored_after(&f, async || {
        // As if an older backup had been put back in between.
        let before = Row { version: 2, ..told.clone() };
        f.do_all(Enact { rows: vec![before], ..Enact::default() }).await;
    })
    .await;
    assert_eq!(restored.row_now(&told).await.delivery.state, DeliveryState::Sent);
    restored.finish().await;
}

#[tokio::test]
async fn reminders_of_what_was_forgotten_since_a_backup_stay_gone_when_it_is_restored() {
    let f = Fixture::new();
    let (gone, shown) = f.two_facts().await;
    let about = Entry { memory: Some(gone), ..f.entry("about", 10) };
    let pattern = Entry { evidence: vec![shown, gone], ..f.entry("pattern", 10) };
    let kept = Entry { memory: Some(shown), ..f.entry("kept", 10) };
    let rows = [&about, &pattern, &kept].map(|entry| row(entry, "desk", 10));
    f.do_all(Enact { queued: rows.to_vec(), ..new(&[&about, &pattern, &kept]) }).await;
    let restored = restored_after(&f, async || {
        f.forget(&[gone], Some(5_000), 60).await;
    })
    .await;
    assert_eq!(ids(&restored.entries(&[]).await), [kept.id]);
    assert_eq!(restored.states().await, [(DeliveryState::Queued, 1)]);
    restored.finish().await;
}

/// The groups of an export, in pages of about so many bytes.
async fn exported(f: &Fixture, bytes_max: usize) -> Vec<Group> {
    let (mut groups, mut place) = (Vec::new(), ExportPlace::Start);
    loop {
        let page = f.store.export(place, bytes_max).await.unwrap();
        groups.extend(page.items.into_iter().map(|item| vec![item]));
        match page.next {
            Some(next) => place = next,
            None => return groups,
        }
    }
}

async fn import(f: &Fixture, groups: Vec<Group>, is_dry: bool) -> Vec<ImportOutcome> {
    f.store.import(groups, Actor::Owner, at(50), is_dry).await.unwrap()
}

/// The reminders of an export, in the order of what they say.
fn reminders(groups: &[Group]) -> Vec<Group> {
    let text = |group: &Group| {
        if let Item::Reminder(entry) = &group[0] { Some(entry.text.clone()) } else { None }
    };
    let mut reminders: Vec<Group> =
        groups.iter().filter(|group| text(group).is_some()).cloned().collect();
    reminders.sort_by_key(text);
    reminders
}

#[tokio::test]
async fn reminders_go_out_and_come_in_with_what_was_told() {
    let f = Fixture::new();
    let about = f.store_fact("a", 1).await;
    let mut whole = Entry {
        memory: Some(about),
        topic: Some("t".to_owned()),
        skipped: Some(SkippedNote { n: 2, last_due_at: at(1), why: Skipped::Over, at: at(2) }),
        ..f.entry("whole", 10)
    };
    let (_, occurrence) = whole.reminder.upcoming(1)[0];
    whole.reminder.done_through = Some(civil(100));
    whole.reminder.generation = 1;
    whole.reminder.open = Some(Open {
        occurrence,
        told_at: at(1),
        last_told_at: at(2),
        n_repeats: 1,
        is_escalated: false,
        n_snoozes: 2,
    });
    whole.reminder.snoozed = vec![Snooze { occurrence, until: at(900), n: 1 }];
    let mut over = f.entry("over", 10);
    over.reminder.cancel().unwrap();
    let plain = f.entry("plain", 20);
    let all = [&whole, &over, &plain];
    f.do_all(Enact { queued: vec![row(&whole, "desk", 10)], ..new(&all) }).await;
    let groups = exported(&f, usize::MAX).await;
    assert_eq!((groups.len(), reminders(&groups).len()), (4, 3));
    for bytes_max in [0, 1, 400] {
        assert_eq!(exported(&f, bytes_max).await, groups, "pages of {bytes_max} bytes");
    }
    let other = Fixture::at_second(5);
    let dry = import(&other, groups.clone(), true).await;
    assert_eq!(dry, [ImportOutcome::Added; 4]);
    assert_eq!(exported(&other, usize::MAX).await, Vec::<Group>::new());
    assert_eq!(import(&other, groups.clone(), false).await, dry);
    assert_eq!(exported(&other, usize::MAX).await, groups);
    assert_eq!(other.states().await, []);
    // The engine looks at once at what is not over.
    assert_eq!(other.store.next_wake().await.unwrap(), Some(at(50)));
    let mut woken: Vec<MemoryId> = ids(&other.store.due_entries(at(50), 9).await.unwrap());
    woken.sort_unstable();
    assert_eq!(woken, [whole.id.min(plain.id), whole.id.max(plain.id)]);
    // How far it is by now does not make it another one.
    let mut further = other.entry_now(plain.id).await;
    further.reminder.done_through = Some(civil(500));
    let mut changed = other.entry_now(whole.id).await;
    changed.text = "changed".to_owned();
    other.do_all(Enact { changed: vec![further, changed], ..Enact::default() }).await;
    let again = import(&other, reminders(&groups), false).await;
    let (same, different) = (ImportOutcome::Same, ImportOutcome::Different);
    assert_eq!(again, [same, same, different]);
    other.finish().await;
    f.finish().await;
}

#[tokio::test]
async fn a_reminder_does_not_come_in_without_its_memory() {
    let f = Fixture::new();
    let (gone, elsewhere) = f.two_facts().await;
    let of_gone = Entry { evidence: vec![gone], ..f.entry("a", 10) };
    let of_elsewhere = Entry { memory: Some(elsewhere), ..f.entry("b", 10) };
    let topical = Entry { topic: Some("t".to_owned()), ..f.entry("c", 10) };
    f.do_all(new(&[&of_gone, &of_elsewhere, &topical])).await;
    let all = exported(&f, usize::MAX).await;
    let here = Fixture::at_second(5);
    let memory_of = |group: &&Group| matches!(&group[0], Item::Memory { version, .. } if version.memory.id == gone);
    import(&here, all.iter().filter(memory_of).cloned().collect(), false).await;
    here.forget(&[gone], None, 20).await;
    let holder = Entry { topic: Some("t".to_owned()), ..entry(f.unknown_id(), "d", 10) };
    here.do_all(new(&[&holder])).await;
    let outcomes = import(&here, reminders(&all), false).await;
    assert_eq!(
        outcomes,
        [ImportOutcome::ForgottenHere, ImportOutcome::WithoutMemory, ImportOutcome::Different]
    );
    assert_eq!(ids(&here.entries(&[Standing::Upcoming]).await), [holder.id]);
    here.finish().await;
}
