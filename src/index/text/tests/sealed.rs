//! The seal on the files: who may be served before its checksums were verified, and how that is
//! compared with the store.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::super::seal::SEAL_FILE;
use super::*;
use crate::index::text::Found;

/// A world in two segments, closed.
fn closed() -> World {
    let mut world = World::new();
    world.put(1, "red house");
    world.put(2, "green tea");
    world.index.flush();
    world.put(3, "red boat in the harbour");
    world.index.close();
    world
}

fn is_unproven(index: &TextIndex) -> bool {
    let report = index.report();
    assert!(report.ready || index.needs_rebuild(), "{report:?}");
    report.detail.contains("being verified")
}

fn found(world: &World, query: &str) -> Found {
    let filter = in_namespaces(&["user"]);
    let compiled = world.catalog.compile(&filter);
    let query = read(query);
    world.index.search(&world.catalog, &query, &compiled, &filter.namespaces, 9).unwrap()
}

/// A file of a segment.
fn segment_file(dir: &Path) -> PathBuf {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|kind| kind == "store")).min().unwrap()
}

/// Does something to a file until its ctime shows it: some clocks of file systems tick slowly.
fn until_it_shows(path: &Path, change: impl Fn()) {
    let ctime = || {
        let file = path.metadata().unwrap();
        (file.ctime(), file.ctime_nsec())
    };
    let before = ctime();
    while ctime() == before {
        change();
    }
}

#[test]
fn what_nobody_touched_is_served_before_it_is_verified() {
    let mut world = closed();
    for _ in 0..2 {
        assert!(world.dir.join(SEAL_FILE).exists());
        world.reopen();
        assert!(is_unproven(&world.index));
        assert!(!world.dir.join(SEAL_FILE).exists(), "it is off while nothing is proven");
        assert_eq!(world.find("red"), [1, 3]);
        assert!(is_unproven(&world.index));
        world.index.prove();
        assert!(!is_unproven(&world.index));
        assert!(world.dir.join(SEAL_FILE).exists());
        assert_eq!(world.find("red"), [1, 3]);
    }
}

#[test]
fn a_crash_while_unproven_files_are_served_has_them_verified_first() {
    let mut world = closed();
    world.reopen();
    assert!(is_unproven(&world.index));
    // Moved away as they are, the files stay what they were.
    let crashed = world.dir.with_extension("crashed");
    fs::rename(&world.dir, &crashed).unwrap();
    let index = open(&crashed);
    assert!(!is_unproven(&index) && !index.needs_rebuild());
    index.close();
    assert!(is_unproven(&open(&crashed)), "it was verified");
}

#[test]
fn files_that_were_touched_or_copied_are_verified_first() {
    let mut world = closed();
    let copy = copy_of(&world.dir);
    let index = open(copy.path());
    assert!(!is_unproven(&index) && !index.needs_rebuild());
    let file = segment_file(&world.dir);
    let modified = file.metadata().unwrap().modified().unwrap();
    until_it_shows(&file, || {
        let open = File::options().write(true).open(&file).unwrap();
        open.set_modified(modified + Duration::from_secs(1)).unwrap();
        open.set_modified(modified).unwrap();
    });
    world.reopen();
    assert!(!is_unproven(&world.index) && !world.index.needs_rebuild());
    world.reopen();
    assert!(is_unproven(&world.index));
}

#[test]
fn a_later_commit_does_not_bless_what_was_touched_before() {
    let mut world = closed();
    world.reopen();
    world.index.prove();
    let file = segment_file(&world.dir);
    let bytes = fs::read(&file).unwrap();
    until_it_shows(&file, || fs::write(&file, &bytes).unwrap());
    world.put(4, "red lamp");
    world.reopen();
    assert!(!is_unproven(&world.index), "touched under an open index");
}

#[test]
fn merged_segments_are_sealed_too() {
    let mut world = World::new();
    for n in 1..=30 {
        world.put(n, &format!("red house number{n}"));
        world.index.flush();
    }
    world.reopen();
    assert!(is_unproven(&world.index));
    assert_eq!(world.find("red").len(), 30);
}

#[test]
fn nothing_is_written_before_the_files_are_proven() {
    let mut world = closed();
    world.reopen();
    world.put(4, "red lamp");
    assert!(is_unproven(&world.index));
    assert_eq!(world.find("lamp"), [4]);
    world.index.flush();
    assert!(!is_unproven(&world.index));
    assert_eq!(world.index.watermark(), world.sequence);
}

#[test]
fn only_what_the_store_holds_stands_the_comparison() {
    let mut world = closed();
    let same = || memory("user", 2, "green tea");
    let compared = |world: &World, query: &str, memories: &[Option<Memory>]| {
        let found = found(world, query);
        assert!(!found.is_certain());
        found.compared_with(memories).is_some_and(|found| found.is_certain())
    };
    world.reopen();
    assert!(compared(&world, "tea", &[Some(same())]));
    for other in ["green coffee", "tea, green tea", "green tea ".repeat(40).as_str()] {
        assert!(!compared(&world, "tea", &[Some(memory("user", 2, other))]), "{other}");
    }
    assert!(!compared(&world, "tea", &[Some(memory("shared/a", 2, "green tea"))]));
    assert!(!compared(&world, "tea", &[None]));
    assert!(!compared(&world, "tea", &[]));
    // Who asks for what is nowhere waits for the proof; who asks for nothing does not.
    assert!(!compared(&world, "coffee", &[]));
    assert!(compared(&world, "", &[]));
    assert!(compared(&world, "coffee tea", &[Some(same())]));
    world.index.prove();
    assert!(found(&world, "coffee").is_certain());
}
