//! Backups with the real program: made under load, proven, restored, refused; and a store file that
//! something has damaged.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::{Agent, Home, eventually};
use crate::random::Random;
use crate::skip::skip;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that must succeed; gives its structured answer.
#[track_caller]
fn json(home: &Home, arguments: &[&str]) -> Value {
    let mut all = vec!["--json"];
    all.extend(arguments);
    let output = home.run(&all);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A command that must fail; gives what it said.
#[track_caller]
fn fails(home: &Home, arguments: &[&str], code: i32) -> String {
    let output = home.run(arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert_no_panic(&message);
    message
}

#[track_caller]
fn assert_no_panic(message: &str) {
    for sign in ["panicked at", "stack backtrace", "RUST_BACKTRACE"] {
        assert!(!message.contains(sign), "{message}");
    }
}

fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A home whose daemon makes no vectors, which takes most of the time elsewhere.
fn quick() -> Home {
    // The comparison at the start may meet a memory between its commit and its index.
    Home::with_config("[embed]\nmodel = \"none\"\n[mcp]\ntoolset = \"full\"\n")
        .expect_log("indexes repaired")
}

/// Every memory by id: content and version.
async fn everything(owner: &Agent) -> BTreeMap<String, (String, u64)> {
    let mut all = BTreeMap::new();
    let mut cursor = Value::Null;
    loop {
        let page = json!({ "limit": 200, "cursor": cursor, "order": "oldest" });
        let page = owner.must("memory_list", page).await;
        for memory in page["memories"].as_array().unwrap() {
            let id = memory["id"].as_str().unwrap().to_owned();
            let whole = owner.must("memory_get", json!({ "ids": [id] })).await;
            let whole = &whole["memories"][0];
            let content = whole["content"].as_str().unwrap().to_owned();
            all.insert(id, (content, whole["version"].as_u64().unwrap()));
        }
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            return all;
        }
    }
}

/// What the writers were answered: content and version of each id; every version it ever had.
#[derive(Default)]
struct Acknowledged {
    now: BTreeMap<String, (String, u64)>,
    ever: BTreeMap<String, Vec<(String, u64)>>,
}

impl Acknowledged {
    fn note(&mut self, id: &str, content: &str, version: u64) {
        self.now.insert(id.to_owned(), (content.to_owned(), version));
        self.ever.entry(id.to_owned()).or_default().push((content.to_owned(), version));
    }
}

/// Stores, and changes every third of what it stored, until it is told to stop.
async fn write(home: &Home, writer: usize, stop: &AtomicBool, known: &Mutex<Acknowledged>) {
    let agent = home.agent(&format!("writer{writer}")).await;
    let mut step = 0;
    while !stop.load(Ordering::SeqCst) {
        let content = format!("writer {writer} notes step {step} while a backup is made");
        let id = agent.store(&content).await;
        known.lock().unwrap().note(&id, &content, 1);
        if step % 3 == 0 {
            let content = format!("{content}, and has changed it");
            // Known before it is answered: the backup may see it before we do.
            known.lock().unwrap().ever.get_mut(&id).unwrap().push((content.clone(), 2));
            agent.must("memory_update", json!({ "id": id, "content": content })).await;
            known.lock().unwrap().note(&id, &content, 2);
        }
        step += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_made_while_four_writers_go_on_holds_all_that_was_acknowledged() {
    let home = quick();
    let daemon = home.serve().await;
    let known = Mutex::new(Acknowledged::default());
    let stop = AtomicBool::new(false);
    let file = home.path("made under load.backup");
    let backing_up = async {
        while known.lock().unwrap().now.len() < 60 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let before = known.lock().unwrap().now.clone();
        let arguments = ["--json", "backup", path_text(&file)];
        let mut command = tokio::process::Command::from(home.command(&arguments));
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        stop.store(true, Ordering::SeqCst);
        let made: Value = serde_json::from_slice(&output.stdout).unwrap();
        (before, made)
    };
    let writers = (0..4).map(|writer| write(&home, writer, &stop, &known));
    let ((before, made), _) = futures::join!(backing_up, futures::future::join_all(writers));
    let live = everything(&home.owner().await).await;
    assert_eq!(live, known.lock().unwrap().now, "the live store has all of it");

    let verified = json(&home, &["verify", path_text(&file)]);
    assert_eq!(verified["sound"], true, "{verified}");
    assert_eq!(verified["n_memories"], made["n_memories"]);
    // A daemon that runs elsewhere does not care.
    let fresh = quick();
    let restored = json(&fresh, &["restore", path_text(&file)]);
    assert_eq!(restored["n_memories"], made["n_memories"], "{restored}");
    let _fresh_daemon = fresh.serve().await;
    let found = everything(&fresh.owner().await).await;
    assert_eq!(json!(found.len()), made["n_memories"]);
    let ever = known.into_inner().unwrap().ever;
    for (id, memory) in &found {
        assert!(ever[id].contains(memory), "{id} is {memory:?}, which nobody ever wrote");
    }
    for (id, (content, version)) in &before {
        let (_, restored) = found.get(id).unwrap_or_else(|| panic!("{id} ({content}) is missing"));
        assert!(restored >= version, "{id} went back to version {restored}");
    }
    let recalled = fresh.owner().await.recall("writer 2 notes step 3").await;
    assert!(!recalled.is_empty(), "the indexes were made anew");
    drop(daemon);
}

/// A store of some memories, closed, with a backup of it.
async fn backed_up(home: &Home) -> String {
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    for n in 0..20 {
        agent.store(&format!("Locker {n} has the key {}", n * 37)).await;
    }
    let made = json(home, &["backup"]);
    assert!(daemon.stop().await.success());
    made["path"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_damaged_backup_is_never_restored_and_the_live_store_stays_as_it_is() {
    let home = quick();
    let backup = backed_up(&home).await;
    assert!(backup.contains("/state/backups/recalld-"), "{backup}");
    let store = home.state().join("recalld.redb");
    let before = fs::read(&store).unwrap();
    let whole = fs::read(&backup).unwrap();
    let mut random = Random::from_environment("damaged backups");
    for _ in 0..8 {
        let mut bytes = whole.clone();
        let place = usize::try_from(random.below(bytes.len() as u64)).unwrap();
        bytes[place] ^= 1 << random.below(8);
        let bad = home.path("bad.backup");
        fs::write(&bad, &bytes).unwrap();
        let said = fails(&home, &["verify", path_text(&bad)], 1);
        assert!(said.contains("is not sound"), "{said}");
        let said = fails(&home, &["restore", path_text(&bad)], 1);
        assert!(said.contains("the store is as it was"), "{said}");
        assert!(fs::read(&bad).unwrap() == bytes, "the backup was changed");
        assert!(fs::read(&store).unwrap() == before, "the store was changed");
    }
    for (bytes, said) in [
        (&b""[..], "it is empty"),
        (b"some notes of mine", "another file"),
        (&whole[..whole.len() / 3], "cut short"),
        (&before, "store file"),
    ] {
        let bad = home.path("bad.backup");
        fs::write(&bad, bytes).unwrap();
        let message = fails(&home, &["verify", path_text(&bad)], 1);
        assert!(message.contains(said), "{message}");
    }
    let message = fails(&home, &["restore", "0198c0de-0000-7000-8000-000000000001"], 64);
    assert!(message.contains("recalld unforget"), "{message}");
    let message = fails(&home, &["restore", path_text(&home.path("none"))], 1);
    assert!(message.contains("none"), "{message}");

    // While the daemon runs nothing is restored, and what was said says how to stop it.
    let daemon = home.serve().await;
    home.agent("a").await.store("Locker 20 has no key").await;
    let message = fails(&home, &["restore", &backup], 1);
    assert!(message.contains("systemctl --user stop recalld"), "{message}");
    let found = home.agent("a").await.recall("locker 20").await;
    assert!(found.contains(&"Locker 20 has no key".to_owned()), "{found:?}");
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_restored_store_forgets_what_was_forgotten_since_and_is_found_by_its_own_words() {
    let home = quick();
    let backup = backed_up(&home).await;
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    agent.store("Locker 99 is new").await;
    let listed = agent.must("memory_list", json!({ "limit": 1, "order": "oldest" })).await;
    let first = listed["memories"][0]["id"].clone();
    let receipt = home.owner().await.must("memory_forget", json!({ "ids": [first] })).await;
    let name = Path::new(&backup).file_name().unwrap().to_str().unwrap();
    assert_eq!(receipt["backups"], json!([name]), "{receipt}");
    assert!(daemon.stop().await.success());
    let old = fs::read(home.state().join("recalld.redb")).unwrap();

    let restored = json(&home, &["restore", &backup]);
    assert_eq!(restored["n_forgotten_again"], 1, "{restored}");
    assert!(fs::read(restored["kept_as"].as_str().unwrap()).unwrap() == old);
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    assert_eq!(agent.must("memory_list", json!({ "limit": 50 })).await["n_listed"], 19);
    assert!(agent.recall("locker 99 is new").await.iter().all(|found| !found.contains("99")));
    assert!(agent.recall("Locker 7").await.contains(&"Locker 7 has the key 259".to_owned()));
    let status = home.owner().await.must("memory_status", json!({})).await;
    assert_eq!(status["ok"], true, "{status}");
    assert_eq!(status["backup"]["n_backups"], 1, "{status}");
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_restoration_that_is_killed_leaves_the_old_store_or_the_restored_one() {
    let home = quick();
    let backup = backed_up(&home).await;
    let daemon = home.serve().await;
    home.agent("a").await.store("Locker 20 came later").await;
    assert!(daemon.stop().await.success());
    let mut random = Random::from_environment("killed restorations");
    for round in 0..10 {
        let mut restoring = home
            .command(&["restore", &backup])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        tokio::time::sleep(Duration::from_micros(random.below(120_000))).await;
        restoring.kill().unwrap();
        restoring.wait().unwrap();
        let daemon = home.serve().await;
        let n_listed = home.owner().await.must("memory_list", json!({ "limit": 50 })).await;
        let n_listed = n_listed["n_listed"].as_u64().unwrap();
        assert!([20, 21].contains(&n_listed), "round {round}: {n_listed} memories");
        assert!(daemon.stop().await.success());
    }
}

/// Runs the daemon on a damaged store; gives what it said if it was refused.
async fn refused(home: &Home) -> Option<Output> {
    let mut serving = home
        .command(&["serve"])
        .env("RECALLD_LOG", "info")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_refused = eventually("it serves or ends", async || {
        let is_over = serving.try_wait().unwrap().is_some();
        (is_over || home.socket().exists()).then_some(is_over)
    })
    .await;
    if is_refused {
        return Some(serving.wait_with_output().unwrap());
    }
    serving.kill().unwrap();
    serving.wait().unwrap();
    fs::remove_file(home.socket()).unwrap();
    None
}

#[tokio::test]
async fn a_damaged_store_is_refused_in_one_clear_error_and_left_as_it_is() {
    let home = quick();
    let backup = backed_up(&home).await;
    let store = home.state().join("recalld.redb");
    let whole = fs::read(&store).unwrap();
    let mut random = Random::from_environment("damaged stores");
    let mut n_refused = 0;
    for round in 0..16 {
        let mut bytes = whole.clone();
        let range = if round % 4 == 0 { 320 } else { bytes.len() as u64 };
        // Most of the file is room that nothing lies in; its first byte is always looked at.
        let place = if round == 0 { 0 } else { usize::try_from(random.below(range)).unwrap() };
        bytes[place] ^= 1 << random.below(8);
        fs::write(&store, &bytes).unwrap();
        let Some(output) = refused(&home).await else { continue };
        n_refused += 1;
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert_no_panic(&message);
        for said in [path_text(&store), "recalld restore", "recalld verify", &*backup] {
            assert!(message.contains(said), "a flip at {place}: {said} is missing in {message}");
        }
        assert_eq!(message.trim().lines().count(), 1, "{message}");
        assert!(fs::read(&store).unwrap() == bytes, "a flip at {place}: the file was changed");
    }
    assert!(n_refused > 0, "nothing was refused");
    fs::write(&store, b"this is no store").unwrap();
    json(&home, &["restore", &backup]);
    let _daemon = home.serve().await;
    let listed = home.agent("a").await.must("memory_list", json!({ "limit": 50 })).await;
    assert_eq!(listed["n_listed"], 20);
}

/// A file system of one mebibyte at `dir`, unmounted at the end; `None` where none can be mounted.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(dir: &'a Path) -> Option<Self> {
        fs::create_dir(dir).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", path_text(dir)];
        let mounted = Command::new("mount").args(options).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(dir))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0).status().unwrap();
    }
}

#[tokio::test]
async fn a_full_disk_ends_a_backup_and_nothing_else() {
    let home = quick().expect_log("No space left");
    let dir = home.path("small");
    let Some(_disk) = SmallDisk::mount(&dir) else {
        return skip("a_full_disk_ends_a_backup", "no tmpfs can be mounted here");
    };
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    for n in 0..60 {
        agent.store(&format!("Crate {n}: {}", "heavy load ".repeat(2_500))).await;
    }
    let file = dir.join("x.backup");
    let message = fails(&home, &["backup", path_text(&file)], 1);
    assert!(message.contains("No space left"), "{message}");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "something was left behind");
    agent.store("The disk of the backups is full, ours is not").await;
    let made = json(&home, &["backup"]);
    assert_eq!(made["n_memories"], 61, "{made}");
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_flip_that_is_met_at_a_read_is_an_error_and_shows_in_the_status() {
    let home = quick().expect_log("damaged").expect_log("defect").expect_log("reading the store");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let needle = "The unmistakable word of this memory is xylophonist";
    let id = agent.store(needle).await;
    for n in 0..300 {
        agent.store(&format!("Filler {n} {}", "so that pages are many ".repeat(20))).await;
    }
    assert!(daemon.stop().await.success());
    let store = home.state().join("recalld.redb");
    let daemon = home.serve().await;
    // The file is altered while the daemon has it open: nothing at the start could tell.
    let bytes = fs::read(&store).unwrap();
    let file = fs::File::options().write(true).open(&store).unwrap();
    for (place, _) in bytes.windows(8).enumerate().filter(|(_, part)| part == b"updated_") {
        file.write_at(b"upd\xffted_", place as u64).unwrap();
    }
    let owner = home.owner().await;
    let reply = owner.call("memory_get", json!({ "ids": [id] })).await;
    if reply.is_error {
        let status = owner.must("memory_status", json!({})).await;
        assert_eq!(status["parts"][0]["state"], "degraded", "{status}");
    } else {
        // It came from the cache, as it was stored.
        assert_eq!(reply.structured.unwrap()["memories"][0]["content"], needle);
    }
    drop(daemon);
}
