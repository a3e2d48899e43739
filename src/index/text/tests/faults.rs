//! Crashes, replays, rebuilds, damaged files and directories that cannot be written.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use super::super::disk::FORMAT_VERSION;
use super::*;
use crate::domain::limits::TEXT_COMMIT_CHANGES;
use crate::domain::text::TOKENS_VERSION;

/// A world with a committed history of several segments, changes and removals.
fn committed() -> World {
    let mut world = World::new();
    for round in 0..4 {
        for n in 1..=40 {
            world.put(n, &format!("red house number{n} of round{round} 乌龙茶"));
        }
        world.remove(round + 1);
        world.index.flush();
    }
    world
}

fn files_of(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn the_watermark_is_the_last_committed_change() {
    let mut world = World::new();
    assert_eq!(world.index.watermark(), 0);
    world.put(1, "red house");
    assert_eq!(world.index.watermark(), 0, "not committed yet");
    world.index.flush();
    assert_eq!(world.index.watermark(), 1);
    world.put(2, "red boat");
    world.remove(1);
    world.reopen();
    assert_eq!(world.index.watermark(), 3, "closing commits");
    assert!(!world.index.needs_rebuild());
    let report = world.index.report();
    assert_eq!((report.ready, report.n_memories, report.watermark), (true, 1, 3));
    assert!(report.disk_bytes > 0);
}

#[test]
fn many_changes_are_committed_before_their_time() {
    let mut world = World::new();
    for n in 1..=TEXT_COMMIT_CHANGES as u64 {
        world.put(n, "red house");
    }
    while world.index.watermark() == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn after_a_crash_the_replay_from_the_watermark_brings_back_the_rest() {
    let mut world = committed();
    let watermark = world.index.watermark();
    world.put(50, "green tea");
    world.put(7, "green boat");
    world.remove(8);
    let crashed = copy_of(&world.dir);
    world.index = open(crashed.path());
    assert!(!world.index.needs_rebuild());
    assert_eq!(world.index.watermark(), watermark);
    assert_eq!(world.find("green"), [0; 0]);

    // The replay starts early and repeats what is in already.
    let numbers = [(watermark - 1, 40), (watermark + 1, 50), (watermark + 2, 7)];
    for (sequence, n) in numbers {
        world.index.put(&world.memories[&id(n)], sequence);
    }
    world.index.remove(id(8), watermark + 3);
    for _ in 0..2 {
        assert_eq!(world.find("green"), [7, 50]);
        assert_eq!(world.find("number8"), [0; 0]);
        assert_eq!(world.find("number40"), [40]);
        assert_eq!(world.index.ids().unwrap(), world.memories.keys().copied().collect());
        world.index.flush();
    }
    assert_eq!(world.index.watermark(), watermark + 3);
}

#[test]
fn a_crash_in_a_rebuild_needs_another_one() {
    let mut world = committed();
    world.index.start_rebuild(IDENTITY);
    assert!(world.index.needs_rebuild());
    assert_eq!(world.index.watermark(), 0);
    world.index.put(&world.memories[&id(7)], world.sequence);
    assert_eq!(world.find("red"), [7], "what is there is searched");
    world.index.flush();
    assert_eq!(world.index.watermark(), 0);
    assert!(!world.index.report().ready);
    world.reopen();
    assert!(world.index.needs_rebuild());
    world.rebuild();
    assert_eq!(world.find("red").len(), world.memories.len());
    world.reopen();
    assert!(!world.index.needs_rebuild());
    assert_eq!(world.index.watermark(), world.sequence);
    assert_eq!(world.find("red").len(), world.memories.len());
}

#[test]
fn changes_during_a_rebuild_win_over_the_older_state_it_reads() {
    for flush in [false, true] {
        let mut world = World::new();
        world.put(1, "red house");
        world.put(2, "red boat");
        world.put(3, "red tea");
        world.index.start_rebuild(IDENTITY);
        let (read_at, old) = (world.sequence, world.memories.clone());
        world.put(1, "green house");
        world.remove(2);
        world.put(4, "green car");
        if flush {
            world.index.flush();
        }
        for memory in old.values() {
            world.index.put(memory, read_at);
        }
        world.index.finish_rebuild(read_at);
        world.index.flush();
        assert_eq!(world.find("red"), [3], "{flush}");
        assert_eq!(world.find("green"), [1, 4], "{flush}");
        assert_eq!(world.index.ids().unwrap(), world.memories.keys().copied().collect());
        assert_eq!(world.index.watermark(), world.sequence);
    }
}

#[test]
fn an_index_of_another_tokenizer_or_format_is_rebuilt() {
    let mut world = committed();
    world.index.close();
    let meta = fs::read_to_string(world.dir.join("meta.json")).unwrap();
    let stamp = format!("\"{FORMAT_VERSION}:{TOKENS_VERSION}:");
    assert!(meta.contains(&stamp));
    for to in [
        format!("\"{FORMAT_VERSION}:{}:", TOKENS_VERSION - 1),
        format!("\"{}:{TOKENS_VERSION}:", FORMAT_VERSION + 1),
        "\"".to_owned(),
    ] {
        fs::write(world.dir.join("meta.json"), meta.replace(&stamp, &to)).unwrap();
        let copy = copy_of(&world.dir);
        let index = open(copy.path());
        assert!(index.needs_rebuild(), "{to}");
        assert!(index.ids().unwrap().is_empty());
    }
    fs::write(world.dir.join("meta.json"), &meta).unwrap();
    world.reopen();
    assert!(!world.index.needs_rebuild());
}

#[test]
fn a_foreign_directory_and_a_file_in_its_place_are_wiped() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("text");
    fs::create_dir_all(dir.join("below")).unwrap();
    fs::write(dir.join("below/letter.txt"), "hello").unwrap();
    fs::write(dir.join("meta.json"), "{}").unwrap();
    assert!(open(&dir).needs_rebuild());
    assert!(!dir.join("below").exists());
    fs::remove_dir_all(&dir).unwrap();
    fs::write(&dir, "a file").unwrap();
    assert!(open(&dir).needs_rebuild());
    assert!(dir.is_dir());
}

#[test]
fn damaged_files_are_noticed_when_they_are_opened() {
    let mut world = committed();
    world.index.close();
    let filter = in_namespaces(&["user"]);
    let sound = world.search("red number7", &filter, 99);
    let mut random = Random(5);
    let mut n_rebuilds = 0;
    for file in files_of(&world.dir) {
        let name = file.file_name().unwrap().to_owned();
        for damage in ["removed", "emptied", "halved", "scattered", "random"] {
            let copy = copy_of(&world.dir);
            let path = copy.path().join(&name);
            let mut bytes = fs::read(&path).unwrap();
            let half = bytes.len() / 2;
            match damage {
                "removed" => fs::remove_file(&path).unwrap(),
                "emptied" => bytes.clear(),
                "halved" => bytes.truncate(half),
                "scattered" if bytes.is_empty() => {}
                "scattered" => {
                    for _ in 0..8 {
                        let at = random.below(bytes.len());
                        bytes[at] ^= 1 << random.below(8);
                    }
                }
                _ => bytes.iter_mut().for_each(|byte| *byte = random.next().to_le_bytes()[0]),
            }
            if damage != "removed" {
                fs::write(&path, bytes).unwrap();
            }
            let context = format!("{} {damage}", name.display());
            world.index = open(copy.path());
            if world.index.needs_rebuild() {
                n_rebuilds += 1;
                world.rebuild();
            }
            // Locks and lists of files hold no memory.
            match world.try_search(&read("red number7"), &filter, 99) {
                Ok(found) => assert_eq!(found, sound, "{context}"),
                Err(error) => panic!("{error}: {context}"),
            }
            world.put(7, "red number7 again");
            world.index.flush();
            assert_eq!(world.find("again"), [7], "{context}");
            world.put(7, "red house number7 of round3 乌龙茶");
        }
    }
    assert!(n_rebuilds > 20, "{n_rebuilds}");
}

#[test]
fn damage_under_an_open_index_fails_searches_until_it_is_rebuilt() {
    let mut world = committed();
    world.reopen();
    let mut random = Random(9);
    for file in files_of(&world.dir) {
        let extension = file.extension().and_then(|extension| extension.to_str());
        if extension == Some("idx") {
            // In place, because the file is mapped.
            let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
            let noise: Vec<u8> = (0..length).map(|_| random.next().to_le_bytes()[0]).collect();
            let mut open = OpenOptions::new().write(true).open(&file).unwrap();
            open.write_all(&noise).unwrap();
        }
    }
    let filter = in_namespaces(&["user"]);
    let answers: Vec<Answer> = (1..=40)
        .map(|n| world.try_search(&read(&format!("red number{n} 乌龙茶")), &filter, 99))
        .collect();
    assert!(answers.iter().any(Result::is_err), "noise was read without a complaint");
    assert!(matches!(answers.last(), Some(Err(IndexError::Failed { arm: "text", .. }))));
    assert!(world.index.needs_rebuild());
    assert!(!world.index.report().ready);
    let crashed = copy_of(&world.dir);
    assert!(open(crashed.path()).needs_rebuild(), "trusted again");

    // Changes go on; nothing more is written to what is damaged.
    world.put(60, "red tea");
    world.index.flush();
    world.rebuild();
    assert_eq!(world.find("red").len(), world.memories.len());
    assert!(world.index.report().ready);
}

#[test]
fn a_failed_commit_is_served_from_the_tail_and_tried_again() {
    let mut world = committed();
    let away = world.dir.with_extension("away");
    fs::rename(&world.dir, &away).unwrap();
    world.put(50, "green tea");
    world.index.flush();
    let report = world.index.report();
    assert!(!report.ready, "{report:?}");
    assert!(!world.index.needs_rebuild());
    assert_eq!(world.find("green"), [50]);
    assert_eq!(world.find("number9"), [9]);

    fs::rename(&away, &world.dir).unwrap();
    world.index.flush();
    assert!(world.index.report().ready, "{:?}", world.index.report());
    assert_eq!(world.index.watermark(), world.sequence);
    world.reopen();
    assert_eq!(world.find("green"), [50]);
}

#[test]
fn files_that_vanish_are_searched_on_and_then_rebuilt() {
    let mut world = committed();
    fs::remove_dir_all(&world.dir).unwrap();
    world.put(50, "green tea");
    world.index.flush();
    world.index.flush();
    assert!(world.index.needs_rebuild());
    assert_eq!(world.find("green"), [50]);
    assert_eq!(world.find("number9"), [9]);
    world.rebuild();
    world.reopen();
    assert_eq!(world.find("green"), [50]);
    assert_eq!(world.find("number9"), [9]);
}

#[test]
fn without_a_directory_everything_is_served_from_memory() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "not a directory").unwrap();
    let mut world = World::new();
    world.index = open(&file.join("text"));
    assert!(world.index.needs_rebuild());
    world.put(1, "red house");
    world.rebuild();
    world.index.flush();
    assert_eq!(world.find("red"), [1]);
    assert!(!world.index.report().ready);
    assert_eq!(world.index.watermark(), 0);
    fs::remove_file(&file).unwrap();
    world.index.flush();
    assert!(world.index.report().ready);
    assert_eq!(world.index.watermark(), world.sequence);
    assert_eq!(world.find("red"), [1]);
}

#[test]
fn the_lock_of_a_dead_process_blocks_nobody() {
    let mut world = committed();
    world.index.close();
    for lock in [".tantivy-writer.lock", ".tantivy-meta.lock"] {
        fs::write(world.dir.join(lock), "").unwrap();
    }
    world.reopen();
    world.put(50, "green tea");
    world.index.flush();
    assert!(world.index.report().ready, "{:?}", world.index.report());
}

#[test]
fn what_a_dead_process_was_writing_is_swept_away() {
    let mut world = committed();
    world.index.close();
    let unfinished = world.dir.join(".tmpAbCdEf");
    fs::write(&unfinished, "half a").unwrap();
    world.reopen();
    assert!(!unfinished.exists());
    assert!(!world.index.needs_rebuild());
}

#[test]
fn a_closed_index_still_answers() {
    let mut world = committed();
    world.index.close();
    world.index.close();
    world.index.flush();
    world.put(50, "green tea");
    assert_eq!(world.find("green"), [50]);
    assert_eq!(world.find("number9"), [9]);
}
