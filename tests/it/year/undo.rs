//! Undoing the last runs of the year: one after another backwards, and each for itself.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use recalld::domain::id::MemoryId;
use recalld::domain::identity::Actor;
use recalld::domain::job::{Left, RunChange, RunId};
use recalld::domain::memory::{Memory, Usage};
use recalld::ports::Ledger as _;
use recalld::store::{RedbStore, StoreSettings};

use super::disk::Disk;
use super::replay::Replay;
use super::world::records;

type Records = BTreeMap<MemoryId, Memory>;

/// A run that changed something, and what there was before it.
pub struct Past {
    pub run: RunId,
    pub before: Records,
    pub changes: Vec<RunChange>,
    /// Where the log ended after it.
    pub sequence: u64,
}

/// Undoes them, the last first: each time everything that only runs have changed is as it was before
/// that run.
pub async fn backwards(disk: &Disk, past: &[Past], replay: &Replay, now: Timestamp) {
    let store = copy(disk, now);
    for one in past.iter().rev() {
        let undone = store.undo(one.run, Actor::Owner, now).await.unwrap().unwrap();
        let touched = replay.touched_since(one.sequence);
        let left = undone.left.iter().find(|(id, _)| !touched.contains(id));
        assert_eq!(left, None, "nobody has changed it since");
        let after = records(&store).await;
        let all = after.keys().chain(one.before.keys()).copied();
        same(&one.before, &after, &all.filter(|id| !touched.contains(id)).collect());
        sound(&store).await;
    }
    store.close();
}

/// Undoes one of them, with the later ones standing.
pub async fn alone(disk: &Disk, one: &Past, now: Timestamp) {
    let store = copy(disk, now);
    let last = records(&store).await;
    let undone = store.undo(one.run, Actor::Owner, now).await.unwrap().unwrap();
    let after = records(&store).await;
    let made: BTreeSet<MemoryId> =
        one.changes.iter().filter(|change| change.is_new).map(|change| change.id).collect();
    // What it made is gone, and what was made of that, and so on; and nothing else.
    let mut goes: BTreeSet<MemoryId> = made
        .iter()
        .copied()
        .filter(|id| last.get(id).is_some_and(|memory| !is_left(&undone.left, memory.id)))
        .collect();
    loop {
        let n = goes.len();
        let is_built = |memory: &&Memory| memory.derived_from.iter().any(|id| goes.contains(id));
        let built: Vec<MemoryId> = last.values().filter(is_built).map(|memory| memory.id).collect();
        goes.extend(built);
        if goes.len() == n {
            break;
        }
    }
    assert_eq!(undone.withdrawn.iter().copied().collect::<BTreeSet<_>>(), goes);
    let there: BTreeSet<MemoryId> = after.keys().copied().collect();
    assert_eq!(there, last.keys().copied().filter(|id| !goes.contains(id)).collect());
    // What it changed and nobody else since is as before, but for links to what is gone.
    let restored: BTreeSet<MemoryId> = undone.restored.iter().copied().collect();
    let changed: BTreeSet<MemoryId> = one.changes.iter().map(|change| change.id).collect();
    assert!(restored.is_subset(&changed), "{undone:?}");
    for id in changed.iter().filter(|id| !made.contains(id)) {
        let is_known = restored.contains(id) || goes.contains(id) || is_left(&undone.left, *id);
        assert!(is_known, "{id}: {undone:?}");
    }
    same(&one.before, &after, &restored);
    for memory in after.values() {
        let links = memory
            .derived_from
            .iter()
            .chain(&memory.consolidated_into)
            .chain(&memory.superseded_by);
        for link in links {
            assert!(!goes.contains(link), "{memory:?} leads to what is gone");
        }
    }
    sound(&store).await;
    store.close();
}

fn is_left(left: &[(MemoryId, Left)], id: MemoryId) -> bool {
    left.iter().any(|(other, _)| *other == id)
}

/// These are equal but for their version, how they were used, and links to what was forgotten since.
fn same(before: &Records, after: &Records, ids: &BTreeSet<MemoryId>) {
    let is_there = |id: &MemoryId| after.contains_key(id);
    let bare = |memory: &Memory, other: &Memory| Memory {
        version: 0,
        usage: Usage { ..other.usage },
        consolidated_into: memory.consolidated_into.filter(is_there),
        contradicts: memory.contradicts.iter().copied().filter(is_there).collect(),
        ..memory.clone()
    };
    for id in ids {
        let (Some(old), Some(new)) = (before.get(id), after.get(id)) else {
            panic!("{id}: {:?} {:?}", before.get(id), after.get(id));
        };
        assert_eq!(bare(old, new), bare(new, new), "was, and is");
    }
}

async fn sound(store: &RedbStore) {
    let found = store.verify().await.unwrap();
    assert_eq!(found.violations, Vec::<String>::new());
}

/// A store on a copy of the disk.
fn copy(disk: &Disk, now: Timestamp) -> RedbStore {
    let settings = StoreSettings { cache_bytes: 16 << 20 };
    RedbStore::open_with_backend(disk.copied(), settings, now).unwrap()
}
