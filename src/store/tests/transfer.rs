//! Everything out and into another store, without a loss.

use super::fixture::{Fixture, at, embedded, model, tags};
use crate::domain::change::{Patch, UsageNote};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::memory::Anchor;
use crate::domain::transfer::{ExportPlace, Group, ImportOutcome, Item};
use crate::ports::{Store as _, Transfer as _};

/// Every page of an export, of about so many bytes.
async fn exported(f: &Fixture, bytes_max: usize) -> Vec<Item> {
    let mut items = Vec::new();
    let mut place = ExportPlace::Start;
    loop {
        let page = f.store.export(place, bytes_max).await.unwrap();
        items.extend(page.items);
        match page.next {
            Some(next) => place = next,
            None => return items,
        }
    }
}

fn grouped(items: &[Item]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for item in items {
        match (item, groups.last_mut()) {
            (Item::Earlier(_), Some(group)) => group.push(item.clone()),
            _ => groups.push(vec![item.clone()]),
        }
    }
    groups
}

async fn import(f: &Fixture, groups: Vec<Group>, is_dry: bool) -> Vec<ImportOutcome> {
    f.store.import(groups, Actor::Owner, at(50), is_dry).await.unwrap()
}

async fn filled() -> (Fixture, Vec<MemoryId>) {
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let mut ids = Vec::new();
    for n in 0..12_u16 {
        let mut new = f.fact(&format!("memory {n}, 乌龙茶"));
        new.tags = tags(&["a", &format!("t{n}")]);
        new.metadata.insert("n".to_owned(), format!("{{\"x\":{n}.10}}"));
        new.supersedes = ids.last().copied().filter(|_| n % 4 == 3);
        new.occurred_at = (n % 2 == 0).then(|| at(-i64::from(n)));
        new.importance = f64::from(n) / 13.0;
        new.embedded = (n % 3 == 0).then(|| embedded(space, n, 2));
        ids.push(f.remember_one(new, 1).await.id);
    }
    for second in 2..6 {
        let content = Some(format!("memory 5 at {second}").into());
        f.revise(ids[5], Patch { content, ..Patch::default() }, second).await;
    }
    let later = serde_json::json!({ "trust": 0.1, "related": ["x", null, -3] });
    let serde_json::Value::Object(later) = later else { unreachable!() };
    f.rewrite(ids[6], move |record| record.unknown = later.clone()).await;
    let anchor = Some(Anchor { value: 1.0 / 3.0, at: at(7) });
    let used = UsageNote { id: ids[7], at: at(7), recalls: 3, anchor };
    f.store.note_usage(vec![used]).await.unwrap();
    f.forget(&ids[8..9], None, 8).await;
    f.forget(&ids[9..10], Some(500), 9).await;
    (f, ids)
}

#[tokio::test]
async fn what_goes_out_comes_in_whole_however_it_is_paged() {
    let (f, _) = filled().await;
    let whole = exported(&f, usize::MAX).await;
    assert_eq!(whole.len(), 10 + 3 + 4 + 1 + 2, "memories, earlier versions, forgotten");
    for bytes_max in [0, 1, 300, 2_000] {
        assert_eq!(exported(&f, bytes_max).await, whole, "pages of {bytes_max} bytes");
    }
    let other = Fixture::at_second(5);
    let groups = grouped(&whole);
    let dry = import(&other, groups.clone(), true).await;
    assert!(dry.iter().all(|outcome| *outcome == ImportOutcome::Added), "{dry:?}");
    assert_eq!(exported(&other, usize::MAX).await, []);
    assert_eq!(import(&other, groups.clone(), false).await, dry);
    assert_eq!(exported(&other, usize::MAX).await, whole);
    let again = import(&other, groups, false).await;
    assert!(again.iter().all(|outcome| *outcome == ImportOutcome::Same), "{again:?}");
    other.finish().await;
    f.finish().await;
}

#[tokio::test]
async fn nothing_that_is_there_changes_and_nothing_forgotten_comes_back() {
    let (f, ids) = filled().await;
    let groups = grouped(&exported(&f, usize::MAX).await);
    f.revise(ids[0], Patch { pinned: Some(true), ..Patch::default() }, 20).await;
    f.forget(&ids[1..2], None, 21).await;
    assert!(f.store.restore(ids[9], Actor::Owner, at(22)).await.unwrap());
    let before = exported(&f, usize::MAX).await;
    let outcomes = import(&f, groups.clone(), false).await;
    assert_eq!(exported(&f, usize::MAX).await, before);
    let place = |id: MemoryId| {
        groups.iter().position(|group| match &group[0] {
            Item::Memory { version, .. } | Item::Earlier(version) => version.memory.id == id,
            Item::Forgotten(item) => item.id == id,
            Item::Session(_) | Item::Turn(_) | Item::Reminder(_) => false,
        })
    };
    for (id, expected) in [
        (ids[0], ImportOutcome::Different),
        (ids[1], ImportOutcome::ForgottenHere),
        (ids[2], ImportOutcome::Same),
        (ids[8], ImportOutcome::Same),
        (ids[9], ImportOutcome::RememberedHere),
    ] {
        assert_eq!(outcomes[place(id).unwrap()], expected, "{id}");
    }
    let orphan = groups.iter().find(|group| group.len() > 1).unwrap()[1..].to_vec();
    let empty = Fixture::new();
    assert_eq!(import(&empty, vec![orphan], false).await, [ImportOutcome::WithoutMemory]);
    empty.finish().await;
    f.finish().await;
}

#[tokio::test]
async fn an_import_that_was_cut_within_a_history_is_finished_by_the_next() {
    let (f, ids) = filled().await;
    let whole = exported(&f, usize::MAX).await;
    let groups = grouped(&whole);
    let long = groups.iter().find(|group| group.len() == 5).unwrap();
    let other = Fixture::new();
    assert_eq!(import(&other, vec![long[..2].to_vec()], false).await, [ImportOutcome::Added]);
    assert_eq!(other.get(ids[5]).await.unwrap().version, 5);
    assert_eq!(import(&other, vec![long[2..].to_vec()], false).await, [ImportOutcome::Same]);
    import(&other, groups, false).await;
    assert_eq!(exported(&other, usize::MAX).await, whole);
    other.finish().await;
}
