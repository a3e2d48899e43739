//! Backups: what is in them, that every altered byte is noticed, and that a restoration changes nothing
//! unless all of it succeeds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fixture::{Fixture, SETTINGS, at, embedded, model, tags};
use crate::domain::change::Patch;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::memory::Memory;
use crate::ports::{Backup, BackupError, Backups, Snapshot, Store};
use crate::store::{
    Forgets, RedbBackups, RedbStore, RestoreError, Restored, newest_backup, restore_backup,
    verify_backup,
};

/// The words in the memory that gets forgotten.
const SECRET: &str = "the combination of the safe is vermilion";

fn backups(f: &Fixture) -> RedbBackups {
    RedbBackups::new(Arc::clone(&f.store), f.dir.path().join("backups"))
}

async fn make(f: &Fixture, second: i64) -> Backup {
    backups(f).make(None, at(second)).await.unwrap()
}

/// A store with vectors, versions, links, tags and something forgotten.
async fn filled() -> (Fixture, Vec<MemoryId>) {
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let mut ids = Vec::new();
    for n in 0..60_u16 {
        let mut new = f.fact(&format!("memory {n} 乌龙茶 {}", "x".repeat(usize::from(n) * 20)));
        new.tags = tags(&["a", &format!("t{n}")]);
        new.supersedes = ids.last().copied().filter(|_| n % 9 == 8);
        new.embedded = (n % 3 == 0).then(|| embedded(space, n, 2));
        ids.push(f.remember_one(new, 1).await.id);
    }
    for id in &ids[..20] {
        f.revise(*id, Patch { pinned: Some(true), ..Patch::default() }, 2).await;
    }
    f.forget(&ids[58..59], None, 3).await;
    (f, ids)
}

/// Everything that can be read of a store.
async fn everything(store: &RedbStore) -> (Vec<Memory>, Vec<Vec<Memory>>, Vec<String>, u64) {
    let snapshot: Arc<dyn Snapshot> = store.snapshot().await.unwrap();
    let memories = snapshot.scan(None, usize::MAX).await.unwrap();
    let mut histories = Vec::new();
    for memory in &memories {
        histories.push(snapshot.history(memory.id).await.unwrap());
    }
    let log = snapshot.log(0, usize::MAX).await.unwrap();
    let log = log.iter().map(|entry| format!("{entry:?}")).collect();
    (memories, histories, log, snapshot.sequence())
}

fn restore(dir: &Path, backup: &Path) -> Result<Restored, RestoreError> {
    restore_backup(dir, backup, &["index"], SETTINGS, at(900))
}

fn open(dir: &Path) -> RedbStore {
    RedbStore::open(dir, SETTINGS, at(901)).unwrap()
}

#[tokio::test]
async fn a_restored_backup_is_the_store_as_it_was() {
    let (f, _) = filled().await;
    let before = everything(&f.store).await;
    let made = make(&f, 4).await;
    assert_eq!((made.n_memories, made.n_forgotten, made.created_at), (59, 1, at(4)));
    assert_eq!(verify_backup(&made.path), Ok(made.clone()));
    // What comes later is not in it, and the writer was never held up.
    f.store_fact("later", 5).await;
    let dir = tempfile::tempdir().unwrap();
    let restored = restore(dir.path(), &made.path).unwrap();
    assert_eq!(restored, Restored { backup: made, kept_as: None, forgets: Forgets::NoStore });
    let store = open(dir.path());
    assert_eq!(everything(&store).await, before);
    assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
    let space = store.space(model("m"), Vec::new(), at(9)).await.unwrap();
    let vectors = store.snapshot().await.unwrap().scan_vectors(space, None, 99).await.unwrap();
    assert_eq!(vectors, f.snapshot().await.scan_vectors(space, None, 99).await.unwrap());
    assert_eq!(vectors.len(), 20);
    f.finish().await;
}

#[tokio::test]
async fn every_altered_byte_of_a_backup_is_noticed() {
    let seed: u64 = std::env::var("RECALLD_SEED").map_or(7, |text| text.parse().unwrap());
    eprintln!("backup flips: RECALLD_SEED={seed}");
    let (f, _) = filled().await;
    let made = make(&f, 4).await;
    let whole = fs::read(&made.path).unwrap();
    let copy = f.dir.path().join("copy.backup");
    let check = |bytes: &[u8]| {
        fs::write(&copy, bytes).unwrap();
        let verdict = verify_backup(&copy);
        assert!(fs::read(&copy).unwrap() == bytes, "verifying changed the file");
        verdict
    };
    let mut state = seed;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % below
    };
    for n in 0..200 {
        let mut bytes = whole.clone();
        // A third of them in the trailer, which is small.
        let place = if n % 3 == 0 { whole.len() - 1 - random(104) } else { random(whole.len()) };
        bytes[place] ^= 1 << random(8);
        assert!(check(&bytes).is_err(), "a flip at {place} went unnoticed");
    }
    let mut newer = whole.clone();
    let version = newer.len() - 20;
    newer[version] = 2;
    let store = fs::read(f.dir.path().join("recalld.redb")).unwrap();
    for (case, bytes, said) in [
        ("empty", &b""[..], "empty"),
        ("one byte", b"x", "another file"),
        ("a text", &b"no backup at all ".repeat(50), "another file"),
        ("a store", &store, "store file"),
        ("cut in half", &whole[..whole.len() / 2], "store file"),
        ("cut by one byte", &whole[..whole.len() - 1], "store file"),
        ("its middle cut out", &[&whole[..8_192], &whole[whole.len() - 104..]].concat(), "cut off"),
        ("something added", &[&whole[..], &whole[whole.len() - 104..]].concat(), "was added"),
        ("a byte added", &[&whole[..], b"\n"].concat(), "was added"),
        ("much added", &[&whole[..], &vec![7; 3 << 20]].concat(), "was added"),
        ("newer", &newer, "newer recalld"),
    ] {
        let reason = check(bytes).unwrap_err();
        assert!(reason.contains(said), "{case}: {reason}");
    }
    assert!(verify_backup(&f.dir.path().join("none")).unwrap_err().contains("cannot read"));
    assert!(check(&whole).is_ok());
}

#[tokio::test]
async fn a_backup_holds_nothing_that_was_forgotten() {
    let f = Fixture::new();
    let (restorable, gone) = (f.store_fact(SECRET, 1).await, f.store_fact(SECRET, 2).await);
    assert_eq!(restorable, gone, "they say the same");
    f.forget(&[restorable], Some(500), 3).await;
    let made = make(&f, 4).await;
    let bytes = fs::read(&made.path).unwrap();
    let holds = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
    assert!(!holds(&bytes), "it is still in the backup");
    let dir = tempfile::tempdir().unwrap();
    restore(dir.path(), &made.path).unwrap();
    let store = open(dir.path());
    assert!(!store.restore(restorable, Actor::Owner, at(5)).await.unwrap());
    assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
    // In the store itself the person can still have it back.
    assert!(f.store.restore(restorable, Actor::Owner, at(5)).await.unwrap());
    f.finish().await;
}

#[tokio::test]
async fn what_was_forgotten_since_a_backup_stays_forgotten_when_it_is_restored() {
    let (f, ids) = filled().await;
    let made = make(&f, 4).await;
    f.forget(&ids[..2], None, 5).await;
    f.forget(&ids[2..3], Some(5_000), 6).await;
    let short_lived = f.store_fact("came and went", 7).await;
    f.forget(&[short_lived], None, 8).await;
    let later = make(&f, 9).await;
    f.store.close();
    fs::create_dir(f.dir.path().join("index")).unwrap();
    fs::write(f.dir.path().join("index/meta.json"), "of the old store").unwrap();
    let old = fs::read(f.dir.path().join("recalld.redb")).unwrap();

    let restored = restore(f.dir.path(), &made.path).unwrap();
    assert_eq!(restored.forgets, Forgets::Applied(3));
    let kept = restored.kept_as.unwrap();
    assert!(
        kept.file_name().unwrap().to_str().unwrap().starts_with("recalld.redb.before-restore-")
    );
    assert!(fs::read(&kept).unwrap() == old, "the old store was changed");
    assert!(!f.dir.path().join("index").exists());
    assert!(!f.dir.path().join("recalld.redb.restored").exists());

    let store = Arc::new(open(f.dir.path()));
    assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
    let snapshot = store.snapshot().await.unwrap();
    let present = snapshot.memories(ids[..4].to_vec()).await.unwrap();
    let is_there: Vec<bool> = present.iter().map(Option::is_some).collect();
    assert_eq!(is_there, [false, false, false, true]);
    // What an agent had forgotten can still be brought back, what the person had not.
    assert!(!store.restore(ids[0], Actor::Owner, at(10)).await.unwrap());
    assert!(store.restore(ids[2], Actor::Owner, at(10)).await.unwrap());
    // It knows the backup that it came from, and those made since.
    let known = RedbBackups::new(Arc::clone(&store), f.dir.path().join("backups")).list().await;
    let paths: Vec<PathBuf> = known.unwrap().into_iter().map(|backup| backup.path).collect();
    assert_eq!(paths, [made.path, later.path]);
}

#[tokio::test]
async fn a_restoration_that_fails_leaves_the_store_untouched() {
    let (mut f, _) = filled().await;
    let made = make(&f, 4).await;
    let whole = fs::read(&made.path).unwrap();
    // A daemon has it.
    let error = restore(f.dir.path(), &made.path).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    f.store.close();
    let path = f.dir.path().join("recalld.redb");
    let before = fs::read(&path).unwrap();
    fs::create_dir(f.dir.path().join("index")).unwrap();
    let bad = f.dir.path().join("bad.backup");
    let mut flipped = whole.clone();
    flipped[10_000] ^= 4;
    for bytes in [&flipped[..], &whole[..whole.len() - 7], b"", &before] {
        fs::write(&bad, bytes).unwrap();
        let error = restore(f.dir.path(), &bad).unwrap_err().to_string();
        assert!(error.contains("bad.backup is not restored"), "{error}");
        assert!(fs::read(&path).unwrap() == before, "the store was changed");
        assert!(f.dir.path().join("index").exists());
        assert!(!f.dir.path().join("recalld.redb.restored").exists());
    }
    f.reopen();
    f.finish().await;
}

#[tokio::test]
async fn a_backup_replaces_a_store_that_cannot_be_read_and_says_what_that_costs() {
    let (f, ids) = filled().await;
    let made = make(&f, 4).await;
    f.forget(&ids[..1], None, 5).await;
    f.store.close();
    let path = f.dir.path().join("recalld.redb");
    fs::write(&path, vec![0x5a; 100_000]).unwrap();
    assert_eq!(newest_backup(&f.dir.path().join("backups")), Some(made.clone()));
    let restored = restore(f.dir.path(), &made.path).unwrap();
    assert!(matches!(restored.forgets, Forgets::Unknown(_)), "{restored:?}");
    assert!(fs::read(restored.kept_as.unwrap()).unwrap() == vec![0x5a; 100_000]);
    let store = open(f.dir.path());
    assert!(
        store.snapshot().await.unwrap().memories(ids[..1].to_vec()).await.unwrap()[0].is_some()
    );
}

#[tokio::test]
async fn what_a_killed_restoration_left_goes_with_the_next_start() {
    let (mut f, _) = filled().await;
    let copy = f.dir.path().join("recalld.redb.restored");
    let half = f.dir.path().join("index.removed");
    fs::write(&copy, "what is forgotten later").unwrap();
    fs::create_dir(&half).unwrap();
    fs::write(half.join("segment"), "what is forgotten later").unwrap();
    f.reopen();
    assert!(!copy.exists() && !half.exists());
    f.finish().await;
}

#[tokio::test]
async fn only_the_oldest_of_its_own_backups_are_removed() {
    let f = Fixture::new();
    f.store_fact("a", 1).await;
    let dir = f.dir.path().join("backups");
    let elsewhere = f.dir.path().join("elsewhere.backup");
    backups(&f).make(Some(elsewhere.clone()), at(2)).await.unwrap();
    for second in 3..8 {
        make(&f, second).await;
    }
    // Files of somebody else, and a backup of another store under a name like ours.
    let other = Fixture::at_second(50);
    let stranger = make(&other, 1).await;
    fs::copy(&stranger.path, dir.join("recalld-20200101T000000.000Z.backup")).unwrap();
    for name in ["recalld-20200102T000000.000Z.backup", "before-upgrade.backup", "notes.txt"] {
        fs::write(dir.join(name), "mine").unwrap();
    }
    let own = dir.join("my-own.backup");
    backups(&f).make(Some(own.clone()), at(8)).await.unwrap();
    assert_eq!(backups(&f).prune(2).await, Ok(3));
    assert_eq!(backups(&f).prune(2).await, Ok(0));
    let mut left: Vec<String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(
        left,
        [
            "before-upgrade.backup",
            "my-own.backup",
            "notes.txt",
            "recalld-20200101T000000.000Z.backup",
            "recalld-20200102T000000.000Z.backup",
            "recalld-20231114T221326.000Z.backup",
            "recalld-20231114T221327.000Z.backup",
        ]
    );
    let times = |known: Vec<Backup>| -> Vec<_> { known.iter().map(|b| b.created_at).collect() };
    let known = backups(&f).list().await.unwrap();
    assert_eq!(times(known), [at(2), at(6), at(7), at(8)]);
    fs::remove_file(elsewhere).unwrap();
    assert_eq!(times(backups(&f).list().await.unwrap()), [at(6), at(7), at(8)]);
    f.finish().await;
}

#[tokio::test]
async fn a_backup_overwrites_nothing_and_leaves_nothing_behind_when_it_fails() {
    let f = Fixture::new();
    f.store_fact("a", 1).await;
    let to = f.dir.path().join("there.txt");
    fs::write(&to, "mine").unwrap();
    let refused = backups(&f).make(Some(to.clone()), at(2)).await;
    assert_eq!(refused, Err(BackupError::Exists(to.clone())));
    assert_eq!(fs::read_to_string(&to).unwrap(), "mine");
    let nowhere = f.dir.path().join("no/such/dir/x.backup");
    let refused = backups(&f).make(Some(nowhere), at(2)).await;
    assert!(matches!(refused, Err(BackupError::File { .. })), "{refused:?}");
    // What a killed daemon left is removed before the next backup.
    let dir = f.dir.path().join("backups");
    fs::create_dir(&dir).unwrap();
    let left = dir.join("recalld-20200101T000000.000Z.backup.partial");
    fs::write(&left, "half").unwrap();
    make(&f, 3).await;
    assert!(!left.exists());
    let names: Vec<_> = fs::read_dir(&dir).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    f.finish().await;
}
