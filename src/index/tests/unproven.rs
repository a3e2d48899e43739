//! Text index files that are served before their checksums were verified: they answer like any
//! others, and what the disk has lost behind an unbroken seal is found out.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use super::damaged::{
    QUESTIONS, answers, check, files_of, filled, flip, fresh_answers, load, scratch,
};
use super::*;
use crate::domain::search::TextCandidates;
use crate::domain::text::query::read;
use crate::index::text::tests::disk::reseal;

/// Flipped bytes that no identity shows.
const N_ROTTEN: usize = 250;
/// Tells the process that looks at them the directory to work in.
const ROT_DIR: &str = "RECALLD_TEST_ROT_DIR";
/// Memory that the process may have: damage makes the library ask for more than there is.
const ROT_MEMORY_MAX: u64 = 4 << 30;

/// An index in `dir` that answers searches, nothing of it proven yet.
async fn serve(writer: &Writer, dir: &std::path::Path) -> Arc<EmbeddedIndex> {
    let index = open_index(dir);
    begin_to_serve(writer, &index).await;
    index
}

/// What [`EmbeddedIndex::load_words`] begins with.
async fn begin_to_serve(writer: &Writer, index: &EmbeddedIndex) {
    index.load_catalog(writer.store.as_ref()).await.unwrap();
    index.recover_text(writer.store.as_ref()).await.unwrap();
}

fn is_unproven(index: &EmbeddedIndex) -> bool {
    index.report().text.detail.contains("being verified")
}

#[tokio::test]
async fn an_unproven_index_answers_as_a_proven_one() {
    let world = filled().await;
    let text = world.dir.path().join("text");
    let expected = fresh_answers(&world).await;
    let index = serve(&world, &text).await;
    assert!(is_unproven(&index));
    let report = index.report().text;
    assert!(report.ready, "{report:?}");
    let snapshot = world.snapshot().await;
    let known = index.by_text(&snapshot, read("harbour crane"), &user(), 20).await.unwrap();
    assert_eq!(known, expected[1]);
    assert!(is_unproven(&index), "a search that finds something waits for nothing");
    assert_eq!(answers(&world, &index).await, expected);
    assert!(!is_unproven(&index), "that nothing holds a word is not said without proof");
    assert_eq!(index.report().text_rebuilds.n, 0);
    index.close();
    assert_eq!(check(&world, &text, &expected, "afterwards").await, None);
}

#[tokio::test]
async fn a_commit_that_is_faster_than_a_search_costs_it_a_proof_and_no_more() {
    let World { writer: Writer { store, ids, .. }, dir, index } = filled().await;
    store.close();
    drop((store, index));
    let world = World::open(dir, ids).await;
    begin_to_serve(&world, &world.index).await;
    let before = world.snapshot().await;
    let id = world.remember("a new lighthouse", None).await;
    assert!(is_unproven(&world.index));
    let found = world.index.by_text(&before, read("lighthouse"), &user(), 9).await.unwrap();
    assert_eq!(found.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id]);
    assert!(!is_unproven(&world.index));
    assert_eq!(world.index.report().text_rebuilds.n, 0);
}

#[tokio::test]
async fn a_search_that_meets_rot_has_the_index_built_anew() {
    let world = filled().await;
    let text = world.dir.path().join("text");
    let expected = fresh_answers(&world).await;
    let mut random = Seeded::from_environment("rotten postings");
    for file in files_of(&text) {
        if file.extension().is_some_and(|name| name == "idx") {
            // Not the end, which tells what is where and is read when the file is opened.
            let mut bytes = std::fs::read(&file).unwrap();
            let half = bytes.len() / 2;
            bytes[..half].fill_with(|| random.next().to_le_bytes()[0]);
            std::fs::write(&file, bytes).unwrap();
        }
    }
    reseal(&text);
    let index = serve(&world, &text).await;
    assert!(is_unproven(&index), "{:?}", index.report());
    let snapshot = world.snapshot().await;
    let met = index.by_text(&snapshot, read("common lamp 乌龙茶 round1"), &user(), 20).await;
    assert!(met.is_err(), "{met:?}");
    assert!(index.has_lost_text() && !index.report().text.ready);
    index.text_lost().await;
    index.load(world.store.clone(), None).await.unwrap();
    assert_eq!(answers(&world, &index).await, expected);
    assert_eq!(index.report().text_rebuilds.n, 1);
    index.close();
    assert_eq!(check(&world, &text, &expected, "afterwards").await, None);
}

/// What each question has to find.
struct Expected {
    answers: Vec<TextCandidates>,
    matching: Vec<HashSet<MemoryId>>,
}

impl Expected {
    /// Of an index that was made from the store just now.
    async fn of(writer: &Writer) -> Self {
        let dir = scratch();
        let index = load(writer, dir.path()).await;
        let answers = answers(writer, &index).await;
        let mut matching = Vec::new();
        for question in QUESTIONS {
            matching.push(matching_ids(writer, &index, question).await.unwrap());
        }
        Self { answers, matching }
    }
}

async fn matching_ids(
    writer: &Writer,
    index: &EmbeddedIndex,
    question: &str,
) -> Result<HashSet<MemoryId>, IndexError> {
    let snapshot: Arc<dyn Snapshot> = writer.store.snapshot().await.unwrap();
    let found = index.by_text(&snapshot, read(question), &user(), 1_000).await?;
    Ok(found.hits.into_iter().map(|hit| hit.id).collect())
}

/// Serves a rotten copy, unproven: whatever is found is right. Then proves it: all is found.
async fn check_rotten(
    writer: &Writer,
    copy: &std::path::Path,
    expected: &Expected,
    context: &str,
) -> bool {
    let index = serve(writer, copy).await;
    // Once at least the process ends while rotten files are served, as it does when the library asks
    // for more memory than there is.
    if is_unproven(&index) && !copy.join("seal").exists() && !context.contains("/seal at") {
        let dir = copy.parent().unwrap();
        if !dir.join("ended").exists() {
            std::fs::write(dir.join("ended"), context).unwrap();
            std::process::abort();
        }
    }
    for (question, expected) in QUESTIONS.into_iter().zip(&expected.matching) {
        if let Ok(found) = matching_ids(writer, &index, question).await {
            assert!(found.is_subset(expected), "{context}: {question}");
        }
    }
    index.load(writer.store.clone(), None).await.unwrap();
    assert_eq!(answers(writer, &index).await, expected.answers, "{context}");
    let rebuilds = index.report().text_rebuilds;
    index.close();
    rebuilds.n > 0
}

/// The cases from where the last process has ended, that one first.
async fn look_at_rot(dir: &std::path::Path) {
    let limit =
        rustix::process::Rlimit { current: Some(ROT_MEMORY_MAX), maximum: Some(ROT_MEMORY_MAX) };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
    let settings = StoreSettings { cache_bytes: 1 << 20 };
    let store = RedbStore::open(&dir.join("db"), settings, Timestamp::UNIX_EPOCH).unwrap();
    let space = SpaceId(0);
    let writer = Writer { store: Arc::new(store), space, ids: Arc::new(SeededIds::new(7)) };
    let expected = Expected::of(&writer).await;
    let seed = Seeded::from_environment("rot").0;
    let number = |name: &str| -> usize {
        std::fs::read_to_string(dir.join(name)).map_or(0, |text| text.parse().unwrap())
    };
    let note = |name: &str, n: usize| std::fs::write(dir.join(name), n.to_string()).unwrap();
    for case in number("done")..N_ROTTEN {
        let copy = dir.join(format!("case-{case}"));
        let is_rebuilt = if copy.exists() {
            // Served unproven it has ended the process: now it is verified first.
            let context = format!("case {case}, again");
            let reason = check(&writer, &copy, &expected.answers, &context).await;
            assert!(reason.is_some(), "case {case} was not found out");
            true
        } else {
            copy_dir(&dir.join("text"), &copy);
            let flipped = flip(&copy, &mut Seeded(seed.wrapping_add(case as u64)));
            reseal(&copy);
            check_rotten(&writer, &copy, &expected, &format!("case {case}: {flipped}")).await
        };
        note("rebuilt", number("rebuilt") + usize::from(is_rebuilt));
        std::fs::remove_dir_all(copy).unwrap();
        note("done", case + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rot_behind_an_unbroken_seal_is_found_out_even_if_it_ends_the_process() {
    if let Some(dir) = std::env::var_os(ROT_DIR) {
        return look_at_rot(dir.as_ref()).await;
    }
    let world = filled().await;
    world.store.close();
    let dir = scratch();
    for part in ["db", "text"] {
        copy_dir(&world.dir.path().join(part), &dir.path().join(part));
    }
    let seed = Seeded::from_environment("rot").0;
    let name = std::thread::current().name().unwrap().to_owned();
    let mut ended_at = Vec::new();
    loop {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name, "--nocapture"])
            .env(ROT_DIR, dir.path())
            .env("RECALLD_SEED", seed.to_string())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        if child.status.success() {
            break;
        }
        let said = String::from_utf8_lossy(&child.stderr);
        // An assertion that fails ends it otherwise.
        assert!(child.status.signal().is_some(), "{}: {said}", child.status);
        let case = std::fs::read_to_string(dir.path().join("done")).unwrap_or_default();
        assert_ne!(ended_at.last(), Some(&case), "it ends the process again and again: {said}");
        ended_at.push(case);
    }
    let n_rebuilt = std::fs::read_to_string(dir.path().join("rebuilt")).unwrap();
    assert!(!ended_at.is_empty());
    println!("{N_ROTTEN} cases, {n_rebuilt} rebuilt, {} processes ended", ended_at.len());
    assert!(n_rebuilt.parse::<usize>().unwrap() > N_ROTTEN * 3 / 4, "{n_rebuilt}");
}
