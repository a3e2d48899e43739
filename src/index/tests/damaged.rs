//! Broken files under the text index: whatever lies in its directory, it opens, says why it is built
//! anew if it is, and answers like one that was never touched.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::domain::search::TextCandidates;
use crate::domain::text::query::read;
use crate::index::TextPass;
use crate::index::text::tests::disk::leave_room;

pub(super) const QUESTIONS: [&str; 8] = [
    "common",
    "harbour crane",
    "number7",
    "乌龙茶",
    "the lamp of number12 in round3",
    "round1 common",
    "gone",
    "quay lamp tide",
];
/// Places that are flipped, each in a copy of its own.
const N_FLIPS: usize = 500;
/// Copies looked at side by side.
const N_TASKS: usize = 4;

/// A store with changes and removals, whose closed index lies in several segments.
pub(super) async fn filled() -> World {
    let world = World::loaded().await;
    let words = ["harbour", "crane", "quay", "lamp", "tide", "乌龙茶"];
    let mut ids = Vec::new();
    for round in 0..4 {
        for n in 0..15 {
            let content = format!("common number{n} of round{round} {}", words[(n + round) % 6]);
            ids.push(world.remember(&content, None).await);
        }
        world.revise(ids[round * 7], "common changed lamp", None).await;
        world.forget(ids[round * 15 + 3]).await;
        world.index.shared.text.flush();
    }
    world.index.close();
    world
}

/// A directory in RAM where there is such a thing: thousands of files are written and synced.
pub(super) fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// An index in `dir`, loaded from the store of `writer`.
pub(super) async fn load(writer: &Writer, dir: &Path) -> Arc<EmbeddedIndex> {
    let index = open_index(dir);
    index.load(writer.store.clone(), None).await.unwrap();
    index
}

pub(super) async fn answers(writer: &Writer, index: &EmbeddedIndex) -> Vec<TextCandidates> {
    let snapshot: Arc<dyn Snapshot> = writer.store.snapshot().await.unwrap();
    let mut answers = Vec::new();
    for question in QUESTIONS {
        answers.push(index.by_text(&snapshot, read(question), &user(), 20).await.unwrap());
    }
    answers
}

/// What an index answers that was made from the store just now.
pub(super) async fn fresh_answers(writer: &Writer) -> Vec<TextCandidates> {
    let dir = scratch();
    let index = load(writer, dir.path()).await;
    let answers = answers(writer, &index).await;
    assert!(answers.iter().filter(|answer| !answer.hits.is_empty()).count() > 6);
    answers
}

/// Loads an index from `dir` and proves that it answers like `expected`, agrees with the store and
/// is well. Gives why it was built anew, if it was.
pub(super) async fn check(
    writer: &Writer,
    dir: &Path,
    expected: &[TextCandidates],
    context: &str,
) -> Option<String> {
    let index = load(writer, dir).await;
    assert_eq!(answers(writer, &index).await, expected, "{context}");
    let report = index.report();
    assert!(report.text.ready, "{context}: {report:?}");
    assert!(report.text_rebuilds.n <= 1, "{context}: {report:?}");
    let snapshot: Arc<dyn Snapshot> = writer.store.snapshot().await.unwrap();
    let parity = index.check(&snapshot).await.unwrap();
    let n_compared = parity.n_compared;
    assert_eq!(parity, ParityReport { n_compared, ..ParityReport::default() }, "{context}");
    index.close();
    report.text_rebuilds.last.map(|(_, reason)| reason)
}

pub(super) fn files_of(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The files of `dir`, of those with the same extension only the first.
fn one_of_each_kind(dir: &Path) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    let files = files_of(dir).into_iter();
    files.filter(|path| path.extension().is_none_or(|kind| seen.insert(kind.to_owned()))).collect()
}

/// Changes one byte of one file of `dir`; says which.
pub(super) fn flip(dir: &Path, random: &mut Seeded) -> String {
    let files: Vec<(PathBuf, usize)> = files_of(dir)
        .into_iter()
        .map(|path| {
            let length = usize::try_from(path.metadata().unwrap().len()).unwrap();
            (path, length)
        })
        .filter(|(_, length)| *length > 0)
        .collect();
    // Any file, so that the small ones have their share.
    let (path, length) = &files[random.below(files.len())];
    let at = random.below(*length);
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= u8::try_from(1 + random.below(255)).unwrap();
    fs::write(path, bytes).unwrap();
    format!("{} at {at} of {length}", path.display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_flipped_byte_is_believed() {
    let world = filled().await;
    let expected = Arc::new(fresh_answers(&world).await);
    let text = world.dir.path().join("text");
    let seed = Seeded::from_environment("flipped bytes");
    let tasks = (0..N_TASKS).map(|task| {
        let (writer, expected, text) = (world.writer.clone(), Arc::clone(&expected), text.clone());
        let mut random = Seeded(seed.0.wrapping_add(task as u64));
        tokio::spawn(async move {
            let mut n_rebuilt = 0;
            for case in 0..N_FLIPS / N_TASKS {
                let copy = scratch();
                copy_dir(&text, copy.path());
                let flipped = flip(copy.path(), &mut random);
                let context = format!("task {task}, case {case}: {flipped}");
                let reason = check(&writer, copy.path(), &expected, &context).await;
                n_rebuilt += usize::from(reason.is_some());
                if case % 10 == 0 {
                    let again = check(&writer, copy.path(), &expected, &context).await;
                    assert_eq!(again, None, "{context}: built anew twice");
                }
            }
            n_rebuilt
        })
    });
    let mut n_rebuilt = 0;
    for task in tasks.collect::<Vec<_>>() {
        n_rebuilt += task.await.unwrap();
    }
    // What is left out names the versions of the library, which nobody reads.
    assert!(n_rebuilt > N_FLIPS * 3 / 4, "{n_rebuilt}");
}

#[tokio::test]
async fn without_a_fault_nothing_is_built_anew() {
    let world = filled().await;
    let expected = fresh_answers(&world).await;
    for _ in 0..2 {
        let reason = check(&world, &world.dir.path().join("text"), &expected, "untouched").await;
        assert_eq!(reason, None);
    }
}

type Fault = fn(&Path, &Path);

/// What may lie in the place of a file (of which it is given the path, and a directory elsewhere).
const FAULTS: [(&str, Fault); 6] = [
    ("missing", |_, _| {}),
    ("a directory", |path, _| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("below"), "something").unwrap();
    }),
    ("a link to a letter", |path, elsewhere| {
        symlink(elsewhere.join("letter.txt"), path).unwrap();
    }),
    ("a link to nowhere", |path, _| symlink("/nonexistent/nowhere", path).unwrap()),
    ("a pipe", |path, _| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
    }),
    ("garbage", |path, _| fs::write(path, "\u{0}garbage".repeat(99)).unwrap()),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_missing_or_foreign_means_a_rebuild() {
    let world = filled().await;
    let expected = Arc::new(fresh_answers(&world).await);
    let elsewhere = tempfile::tempdir().unwrap();
    let letter = elsewhere.path().join("letter.txt");
    fs::write(&letter, "dear diary").unwrap();
    let text = world.dir.path().join("text");
    let mut tasks = Vec::new();
    for file in one_of_each_kind(&text) {
        for (fault, make) in FAULTS {
            let copy = scratch();
            copy_dir(&text, copy.path());
            let name = file.file_name().unwrap();
            let path = copy.path().join(name);
            fs::remove_file(&path).unwrap();
            make(&path, elsewhere.path());
            let context = format!("{}: {fault}", name.display());
            // Locks are only files that are there, and without its seal an index is verified first.
            let is_lock = name.to_string_lossy().ends_with(".lock") || name == "seal";
            let (writer, expected) = (world.writer.clone(), Arc::clone(&expected));
            tasks.push(tokio::spawn(async move {
                let reason = check(&writer, copy.path(), &expected, &context).await;
                assert!(reason.is_some() || is_lock || fault == "missing", "{context}");
                usize::from(reason.is_some())
            }));
        }
    }
    let mut n_rebuilt = 0;
    for task in tasks {
        n_rebuilt += task.await.unwrap();
    }
    assert!(n_rebuilt > 40, "{n_rebuilt}");
    assert_eq!(fs::read_to_string(letter).unwrap(), "dear diary");
}

#[tokio::test]
async fn something_else_in_place_of_the_directory_gives_way_unharmed() {
    let world = filled().await;
    let expected = fresh_answers(&world).await;
    let home = tempfile::tempdir().unwrap();
    let (text, theirs) = (home.path().join("text"), home.path().join("theirs"));
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("letter.txt"), "dear diary").unwrap();

    symlink(&theirs, &text).unwrap();
    assert!(check(&world, &text, &expected, "a link to a directory").await.is_some());
    assert_eq!(fs::read_to_string(theirs.join("letter.txt")).unwrap(), "dear diary");
    assert_eq!(files_of(&theirs).len(), 1);

    fs::remove_dir_all(&text).unwrap();
    fs::write(&text, "a file").unwrap();
    assert!(check(&world, &text, &expected, "a file").await.is_some());

    fs::remove_dir_all(&text).unwrap();
    symlink("/nonexistent/nowhere", &text).unwrap();
    assert!(check(&world, &text, &expected, "a link to nowhere").await.is_some());

    // A link that somebody made on purpose goes on to be used.
    let moved = home.path().join("moved");
    fs::rename(&text, &moved).unwrap();
    symlink(&moved, &text).unwrap();
    assert_eq!(check(&world, &text, &expected, "a link to the index").await, None);
}

#[tokio::test]
async fn the_index_of_another_store_is_not_taken_for_its_own() {
    let (world, other) = (World::loaded().await, World::loaded().await);
    let id = world.remember("common tea", None).await;
    let same = other.remember("common coffee", None).await;
    // Nothing but the identity tells them apart.
    assert_eq!(id, same);
    assert_eq!(world.snapshot().await.sequence(), other.snapshot().await.sequence());
    world.index.close();
    other.index.close();
    let copy = scratch();
    copy_dir(&other.dir.path().join("text"), copy.path());
    let index = load(&world, copy.path()).await;
    let (_, reason) = index.report().text_rebuilds.last.unwrap();
    assert_eq!(reason, "its files belong to another store");
    let snapshot = world.snapshot().await;
    let found = index.by_text(&snapshot, read("coffee"), &user(), 9).await.unwrap();
    assert!(found.hits.is_empty());
    let found = index.by_text(&snapshot, read("tea"), &user(), 9).await.unwrap();
    assert_eq!(found.hits[0].id, id);
    index.close();
    assert_eq!(check(&world, copy.path(), &answers(&world, &index).await, "again").await, None);
}

/// Changes bytes of a file that is open, and mapped.
fn scribble(path: &Path, random: &mut Seeded, n_bytes: usize) {
    let mut file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    for _ in 0..n_bytes {
        let at = random.below(length) as u64;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&[byte[0] ^ 0x55]).unwrap();
    }
}

#[tokio::test]
async fn a_file_that_changes_under_an_open_index_is_noticed_by_the_check() {
    let world = filled().await;
    let expected = fresh_answers(&world).await;
    let text = world.dir.path().join("text");
    let index = load(&world, &text).await;
    let mut random = Seeded::from_environment("scribbled bytes");
    let files = files_of(&text);
    // Not one that a search reads: nobody would notice otherwise.
    let store = files.iter().find(|path| path.extension().is_some_and(|name| name == "store"));
    scribble(store.unwrap(), &mut random, 1);
    let snapshot = world.snapshot().await;
    index.check(&snapshot).await.unwrap();
    let (_, reason) = index.report().text_rebuilds.last.unwrap();
    assert!(reason.contains(".store"), "{reason}");
    assert_eq!(answers(&world, &index).await, expected);
    assert!(index.report().text.ready);
    index.close();
    assert_eq!(check(&world, &text, &expected, "after it").await, None);
}

#[tokio::test]
async fn a_search_that_meets_damage_tells_of_it() {
    let world = filled().await;
    let expected = fresh_answers(&world).await;
    let text = world.dir.path().join("text");
    let index = load(&world, &text).await;
    let mut random = Seeded::from_environment("noise");
    for file in files_of(&text) {
        if file.extension().is_some_and(|name| name == "idx") {
            scribble(&file, &mut random, 20_000);
        }
    }
    let snapshot = world.snapshot().await;
    let mut answers_met = Vec::new();
    for n in 0..15 {
        let question = read(&format!("number{n} common lamp 乌龙茶 round{n}"));
        answers_met.push(index.by_text(&snapshot, question, &user(), 20).await);
    }
    assert!(answers_met.iter().any(Result::is_err), "noise was read without a complaint");
    index.text_lost().await;
    assert!(index.has_lost_text() && !index.report().text.ready);
    index.check(&snapshot).await.unwrap();
    assert!(!index.has_lost_text());
    assert_eq!(index.report().text_rebuilds.n, 1);
    assert_eq!(answers(&world, &index).await, expected);
}

#[tokio::test]
async fn a_full_disk_costs_no_memory_and_is_recovered_from() {
    let world = World::loaded().await;
    let text = world.dir.path().join("text");
    let mut ids = Vec::new();
    // Little room, then a little more: the commit fails in one file after another.
    for round in 0..40 {
        leave_room(&text, Some(round * 150));
        for n in 0..3 {
            ids.push(world.remember(&format!("common number{n} of round{round}"), None).await);
        }
        world.index.shared.text.flush();
        let found = world.by_words("common").await;
        assert_eq!(found, ids.iter().copied().collect(), "round {round}");
        if round == 0 {
            let report = world.index.report().text;
            assert!(!report.ready && !report.detail.is_empty(), "{report:?}");
        }
    }
    leave_room(&text, None);
    world.index.shared.text.flush();
    world.index.shared.text.flush();
    let report = world.index.report();
    assert!(report.text.ready, "{report:?}");
    let expected = answers_to(&world, &["common", "number1", "round39"]).await;
    assert_eq!(expected.len(), 3);
    let world = world.crash().await;
    world.load().await;
    assert_eq!(answers_to(&world, &["common", "number1", "round39"]).await, expected);
    assert_eq!(world.index.report().text_rebuilds.n, 0);
}

/// What the index of `world` answers to other questions.
async fn answers_to(world: &World, questions: &[&str]) -> Vec<TextCandidates> {
    let snapshot = world.snapshot().await;
    let mut answers = Vec::new();
    for question in questions {
        let query = read(question);
        answers.push(world.index.by_text(&snapshot, query, &user(), 99).await.unwrap());
    }
    answers
}

#[tokio::test]
async fn a_long_rebuild_is_searched_and_says_how_far_it_is() {
    let world = World::new().await;
    let id = world.remember("common tea", None).await;
    let seen: Arc<Mutex<Option<TextCandidates>>> = Arc::default();
    let (index, noted) = (Arc::clone(&world.index), Arc::clone(&seen));
    let snapshot = world.snapshot().await;
    // After the page is read that follows the last, everything was put.
    let hook: Hook = Arc::new(move |read_now| {
        let (index, noted) = (Arc::clone(&index), Arc::clone(&noted));
        let snapshot = Arc::clone(&snapshot);
        Box::pin(async move {
            let pass = index.progress.borrow().text.pass();
            if read_now == "scan" && pass.is_some_and(|pass| pass.n_done == 1) {
                index.report_text(TextPass { what: "memories", n_done: 1, n_total: 20_000 });
                let found = index.by_text(&snapshot, read("tea"), &user(), 9).await.unwrap();
                *noted.lock().unwrap() = Some(found);
                let report = index.report().text;
                assert!(!report.ready && report.detail.contains("1 of 20000"), "{report:?}");
            }
            Ok(())
        })
    });
    let store = Arc::new(Interrupted { inner: world.store.clone() as Arc<dyn Store>, hook });
    world.index.load(store, None).await.unwrap();
    let found = seen.lock().unwrap().take().unwrap();
    assert_eq!(found.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id]);
    let why = found.incomplete.unwrap();
    assert!(why.contains("1 of 20000 memories"), "{why}");
    let found = answers_to(&world, &["tea"]).await;
    assert_eq!((found[0].hits.len(), &found[0].incomplete), (1, &None));
}
