//! Opening: creation, the lock, modes, damaged and newer files, migrations.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use redb::{Database, ReadableDatabase, TableDefinition};

use super::fixture::{Fixture, SETTINGS, at};
use crate::domain::change::Remember;
use crate::domain::identity::Actor;
use crate::ports::{Store, StoreError};
use crate::store::migrations::{self, FORMAT_VERSION};
use crate::store::tables::{META, META_FORMAT, META_IDENTITY, meta};
use crate::store::{OpenError, RedbStore, ails};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn open(dir: &Path) -> Result<RedbStore, OpenError> {
    RedbStore::open(dir, SETTINGS, at(0))
}

#[tokio::test]
async fn only_the_owner_can_read_what_is_made() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("state/recalld");
    drop(open(&dir).unwrap());
    assert_eq!(mode(&dir), 0o700);
    for name in ["recalld.redb", "recalld.lock"] {
        assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
    }
    // A directory and a file that others made readable are closed again.
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(dir.join("recalld.redb"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(&dir).unwrap());
    assert_eq!((mode(&dir), mode(&dir.join("recalld.redb"))), (0o700, 0o600));
}

#[tokio::test]
async fn rights_that_the_owner_took_from_himself_stay_taken() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("state");
    drop(open(&dir).unwrap());
    let file = dir.join("recalld.redb");
    for (of_dir, of_file, expected) in [
        (0o500, 0o600, (0o500, 0o600)),
        (0o700, 0o400, (0o700, 0o400)),
        (0o555, 0o444, (0o500, 0o400)),
    ] {
        fs::set_permissions(&file, fs::Permissions::from_mode(of_file)).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(of_dir)).unwrap();
        // Root opens it all the same.
        drop(open(&dir));
        assert_eq!((mode(&dir), mode(&file)), expected, "{of_dir:o} {of_file:o}");
    }
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn a_pipe_in_place_of_a_file_is_told_and_waited_for_by_nobody() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("state");
    let pipe = |name: &str| {
        let path = dir.join(name);
        drop(fs::remove_file(&path));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
    };
    drop(open(&dir).unwrap());
    pipe("recalld.lock");
    assert!(ails(&dir, SETTINGS).is_none());
    let refused = open(&dir).unwrap_err().to_string();
    assert!(refused.contains("recalld.lock"), "{refused}");
    fs::remove_file(dir.join("recalld.lock")).unwrap();
    pipe("recalld.ballast");
    let store = open(&dir).unwrap();
    store.keep_ballast(1 << 20);
    drop(store);
    pipe("recalld.redb");
    let refused = open(&dir).unwrap_err().to_string();
    assert!(refused.contains("recalld.redb: it is a pipe and no file"), "{refused}");
    assert!(ails(&dir, SETTINGS).is_none(), "no file is no ailing one");
}

#[tokio::test]
async fn a_creation_that_was_killed_is_begun_again() {
    for left_behind in [&b""[..], b"half a file", &vec![0; 73_728]] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("recalld.redb.new"), left_behind).unwrap();
        let store = open(dir.path()).unwrap();
        assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
        assert!(!dir.path().join("recalld.redb.new").exists());
    }
}

#[tokio::test]
async fn a_second_daemon_is_told_who_has_the_store() {
    let f = Fixture::new();
    let error = open(f.dir.path()).unwrap_err();
    let text = error.to_string();
    let pid = format!("process {}", std::process::id());
    assert!(text.contains(&f.dir.path().display().to_string()) && text.contains(&pid), "{text}");
    f.store.close();
    open(f.dir.path()).unwrap();
}

/// Asserts that the store in `dir` is refused with a text that names the file, which stays as it is.
#[track_caller]
fn assert_refused(dir: &Path, case: &str) -> OpenError {
    let path = dir.join("recalld.redb");
    let before = fs::read(&path).unwrap();
    let error = open(dir).unwrap_err();
    assert!(error.to_string().contains(&path.display().to_string()), "{case}: {error}");
    assert!(fs::read(&path).unwrap() == before, "{case}: the file was changed");
    error
}

#[tokio::test]
async fn a_file_that_is_no_store_is_refused_and_left_as_it_is() {
    let mut f = Fixture::new();
    f.store_fact("a", 1).await;
    f.store.close();
    let path = f.dir.path().join("recalld.redb");
    let whole = fs::read(&path).unwrap();
    let mut wrong_header = whole.clone();
    wrong_header[9..200].fill(0xff);
    let cases: [(&str, &[u8]); 6] = [
        ("empty", b""),
        ("text", b"this is a text and no store"),
        ("zeros", &vec![0; 73_728]),
        ("cut to a page", &whole[..4_096]),
        ("cut in half", &whole[..whole.len() / 2]),
        ("wrong header", &wrong_header),
    ];
    for (case, bytes) in cases {
        fs::write(&path, bytes).unwrap();
        let error = assert_refused(f.dir.path(), case);
        assert!(matches!(error, OpenError::Damaged { .. }), "{case}: {error:?}");
    }
    fs::write(&path, whole).unwrap();
    f.reopen();
    f.finish().await;
}

#[tokio::test]
async fn a_file_of_another_program_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::create(dir.path().join("recalld.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(TableDefinition::<u64, u64>::new("other")).unwrap();
    transaction.commit().unwrap();
    drop(database);
    fs::set_permissions(dir.path().join("recalld.redb"), fs::Permissions::from_mode(0o600))
        .unwrap();
    let error = assert_refused(dir.path(), "another program");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_of_a_newer_format_is_refused_and_left_as_it_is() {
    let f = Fixture::new();
    f.store.close();
    let database = Database::open(f.dir.path().join("recalld.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    let newer = u64::from(FORMAT_VERSION + 1);
    transaction.open_table(META).unwrap().insert(META_FORMAT, newer).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = assert_refused(f.dir.path(), "newer");
    assert!(
        matches!(error, OpenError::Newer { found, known, .. } if found == known + 1),
        "{error:?}"
    );
}

const ADDED: TableDefinition<'_, u64, u64> = TableDefinition::new("added_by_a_migration");

fn note(transaction: &redb::WriteTransaction, step: u64) -> Result<(), StoreError> {
    let mut table = transaction.open_table(ADDED)?;
    let n_before = redb::ReadableTableMetadata::len(&table)?;
    table.insert(n_before, step)?;
    Ok(())
}

#[tokio::test]
async fn migrations_run_in_order_from_the_version_of_the_file_and_only_once() {
    let f = Fixture::new();
    f.store.close();
    let database = Database::open(f.dir.path().join("recalld.redb")).unwrap();
    let steps: &[migrations::Migration] = &[
        |t| note(t, 1),
        |t| note(t, 2),
        |t| note(t, 3),
        |_| Err(StoreError::Damaged("no".to_owned())),
    ];
    migrations::migrate(&database, 1, &steps[..1]).unwrap();
    migrations::migrate(&database, 2, &steps[..3]).unwrap();
    migrations::migrate(&database, 4, &steps[..3]).unwrap();
    // One that fails leaves the file at its version.
    assert!(migrations::migrate(&database, 4, steps).is_err());
    let transaction = database.begin_read().unwrap();
    let version = meta(&transaction.open_table(META).unwrap(), META_FORMAT).unwrap();
    let table = transaction.open_table(ADDED).unwrap();
    let noted: Vec<_> = table.range::<u64>(..).unwrap().map(|row| row.unwrap().1.value()).collect();
    assert_eq!((version, noted), (4, vec![1, 2, 3]));
}

#[tokio::test]
async fn a_file_that_was_not_closed_opens_with_all_that_was_acknowledged() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    // The bytes on the disk while the store is open are those that a killed process leaves.
    let copy = tempfile::tempdir().unwrap();
    fs::copy(f.dir.path().join("recalld.redb"), copy.path().join("recalld.redb")).unwrap();
    let store = open(copy.path()).unwrap();
    let snapshot = store.snapshot().await.unwrap();
    assert!(snapshot.memories(vec![id]).await.unwrap()[0].is_some());
    assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
}

/// Bits of a file, chosen by a seed (Knuth's linear congruential generator).
struct Flips(u64);

impl Flips {
    fn flip(&mut self, bytes: &mut [u8]) {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let n_bits = bytes.len() as u64 * 8;
        let bit = usize::try_from((self.0 >> 16) % n_bits).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[tokio::test]
async fn a_file_with_flipped_bits_never_takes_the_process_down() {
    let f = Fixture::new();
    for n in 0..30 {
        f.store_fact(&format!("memory {n}"), 1).await;
    }
    f.store.close();
    let path = f.dir.path().join("recalld.redb");
    let whole = fs::read(&path).unwrap();
    let mut n_refused = 0;
    for seed in 0..30 {
        let mut bytes = whole.clone();
        let mut flips = Flips(seed);
        for _ in 0..20 {
            flips.flip(&mut bytes);
        }
        fs::write(&path, &bytes).unwrap();
        let store = match open(f.dir.path()) {
            Ok(store) => store,
            Err(error) => {
                assert!(fs::read(&path).unwrap() == bytes, "seed {seed}: the file was changed");
                assert!(error.to_string().contains("recalld.redb"), "seed {seed}: {error}");
                n_refused += 1;
                continue;
            }
        };
        // Only what nothing reads was hit.
        let found = store.verify().await.unwrap();
        assert_eq!(found.violations, Vec::<String>::new(), "seed {seed}");
        let memories = vec![f.fact("new")];
        let request = Remember { memories, request: None, actor: Actor::Owner, at: at(3) };
        store.remember(request).await.unwrap();
        store.close();
    }
    assert!(n_refused > 0);
}

#[tokio::test]
async fn a_flip_in_a_store_is_refused_or_changes_nothing_that_is_read() {
    let f = Fixture::new();
    for n in 0..40 {
        f.store_fact(&format!("memory {n} {}", "text ".repeat(n)), 1).await;
    }
    let path = f.dir.path().join("recalld.redb");
    // The bytes on the disk while the store is open are those that a killed process leaves.
    let killed = fs::read(&path).unwrap();
    let expected = f.snapshot().await.scan(None, 99).await.unwrap();
    let sequence = f.snapshot().await.sequence();
    f.store.close();
    let closed = fs::read(&path).unwrap();
    for (state, whole) in [("closed", &closed), ("killed", &killed)] {
        let mut n_refused = 0;
        let mut flips = Flips(0x5eed);
        for place in 0..150 {
            let mut bytes = whole.clone();
            flips.flip(&mut bytes);
            // Every third in the header, which is small.
            if place % 3 == 0 {
                bytes.clone_from(whole);
                flips.flip(&mut bytes[..320]);
            }
            fs::write(&path, &bytes).unwrap();
            match open(f.dir.path()) {
                Ok(store) => {
                    let snapshot = store.snapshot().await.unwrap();
                    let found = snapshot.scan(None, 99).await.unwrap();
                    assert_eq!(found, expected, "{state}, place {place}");
                    assert_eq!(snapshot.sequence(), sequence, "{state}, place {place}");
                    store.close();
                }
                Err(error) => {
                    n_refused += 1;
                    assert!(fs::read(&path).unwrap() == bytes, "{state}, place {place}");
                    let text = error.to_string();
                    assert!(text.contains("recalld.redb"), "{state}, place {place}: {text}");
                }
            }
        }
        assert!(n_refused > 0, "{state}: nothing was refused");
    }
}

#[tokio::test]
async fn a_store_keeps_its_identity_and_one_without_gets_a_new_one() {
    let identity = async |dir: &Path| {
        let store = RedbStore::open(dir, SETTINGS, at(0)).unwrap();
        let identity = store.snapshot().await.unwrap().identity();
        store.close();
        identity
    };
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = identity(dir.path()).await;
    assert_ne!(first, 0);
    assert_eq!(identity(dir.path()).await, first);
    assert_ne!(identity(other.path()).await, first);

    let database = Database::open(dir.path().join("recalld.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    let mut table = transaction.open_table(META).unwrap();
    assert_eq!(table.remove(META_IDENTITY).unwrap().unwrap().value(), first);
    drop(table);
    transaction.commit().unwrap();
    drop(database);
    let second = identity(dir.path()).await;
    assert!(second != 0 && second != first);
}
