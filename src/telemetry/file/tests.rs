//! Files that grow, move, go and cannot be written.

use super::*;
use crate::clock::ManualClock;

fn file(dir: &Path, bytes_max: u64, files_keep: usize) -> (Arc<Target>, LogFile) {
    let settings = FileSettings { dir: dir.join("logs"), bytes_max, files_keep };
    let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
    let target = Arc::new(Target::new(clock, Some(settings)));
    (Arc::clone(&target), LogFile::new(target))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join("logs")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_set_aside_at_their_size_and_only_our_own_old_ones_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut file) = file(dir.path(), 20, 2);
    fs::create_dir(dir.path().join("logs")).unwrap();
    let neighbours = ["recalld.log.gz", "recalld.log.01", "recalld.log.2.bak", "recalld.notes.log"];
    for name in neighbours {
        fs::write(dir.path().join("logs").join(name), "kept").unwrap();
    }
    for number in 0..9 {
        file.write_all(format!("line {number}...\n").as_bytes()).unwrap();
    }
    let mut expected = vec!["recalld.log", "recalld.log.1", "recalld.log.2"];
    expected.extend(neighbours);
    expected.sort_unstable();
    assert_eq!(names(dir.path()), expected);
    let read = |name: &str| fs::read_to_string(dir.path().join("logs").join(name)).unwrap();
    assert_eq!(read("recalld.log"), "line 8...\n");
    assert_eq!(read("recalld.log.1"), "line 6...\nline 7...\n");
    assert_eq!(read("recalld.log.2"), "line 4...\nline 5...\n");
}

#[test]
fn a_file_that_was_moved_or_deleted_is_opened_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (target, mut file) = file(dir.path(), 1_000, 2);
    let path = dir.path().join("logs/recalld.log");
    file.write_all(b"one\n").unwrap();
    fs::rename(&path, dir.path().join("logs/moved")).unwrap();
    file.write_all(b"two\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
    fs::remove_file(&path).unwrap();
    target.set(target.settings());
    file.write_all(b"three\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
}

#[test]
fn lines_that_cannot_be_written_are_counted_until_they_can_be_again() {
    let dir = tempfile::tempdir().unwrap();
    let (target, mut file) = file(dir.path(), 1_000, 2);
    fs::write(dir.path().join("logs"), "no directory").unwrap();
    file.write_all(b"one\n").unwrap();
    file.write_all(b"two\n").unwrap();
    assert_eq!(target.n_failed(), 2);
    let (_, because) = target.trouble().unwrap();
    assert!(because.contains("recalld.log is not written"), "{because}");
    fs::remove_file(dir.path().join("logs")).unwrap();
    file.write_all(b"three\n").unwrap();
    assert_eq!(target.trouble(), None);
    assert_eq!(fs::read_to_string(dir.path().join("logs/recalld.log")).unwrap(), "three\n");
}
