//! Export and import with the real program: nothing is lost on the way, and nothing that was cut or
//! altered is taken in.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::daemon::Home;

fn quick() -> Home {
    // The comparison at the start may meet a memory between its commit and its index.
    Home::with_config("[embed]\nmodel = \"none\"\n").expect_log("indexes repaired")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn succeeds(home: &Home, arguments: &[&str]) -> String {
    let output = home.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn json(home: &Home, arguments: &[&str]) -> Value {
    let mut all = vec!["--json"];
    all.extend(arguments);
    serde_json::from_str(&succeeds(home, &all)).unwrap()
}

fn import(home: &Home, export: &str, more: &[&str]) -> Output {
    let mut arguments = vec!["--json", "import", "-"];
    arguments.extend(more);
    let mut child = home
        .command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(export.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What follows the header, whose time differs.
fn body(export: &str) -> &str {
    export.split_once('\n').unwrap().1
}

/// A store with versions, links, labels, usage and forgotten memories; ends with a long history.
async fn fill(home: &Home) {
    let agent = home.agent("a").await;
    let first = agent.store("The office is in Ahornweg").await;
    let new = json!({
        "content": "The office is in Buchenallee", "supersedes": first, "kind": "fact",
        "tags": ["office", "乌龙茶"], "importance": 0.37, "session": "move",
        "metadata": "{\"floor\": 3, \"doors\": [\"a\", 1.25]}", "occurred_at": "2026-03-04T05:06:07.000123Z",
    });
    agent.must("memory_store", new).await;
    let changing = agent.store("The kettle is \"red\"\nand\tloud").await;
    for colour in ["green", "blue"] {
        let patch = json!({ "id": changing, "content": format!("The kettle is {colour}") });
        agent.must("memory_update", patch).await;
    }
    let private = json!({ "content": "Only a knows this", "namespace": "agent/a", "pinned": true });
    agent.must("memory_store", private).await;
    for text in ["Renew the lease", "Call the landlord"] {
        let set = json!({ "text": text, "at": "2099-04-01T09:00", "zone": "Europe/Berlin" });
        agent.must("reminder_set", set).await;
    }
    let gone = agent.store("This gets forgotten").await;
    agent.must("memory_forget", json!({ "ids": [gone] })).await;
    agent.recall("kettle").await;
    agent.must("memory_get", json!({ "ids": [changing] })).await;
}

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/export-v1.jsonl")
}

#[tokio::test]
async fn an_export_comes_back_whole_and_goes_out_the_same() {
    let home = quick();
    let daemon = home.serve().await;
    fill(&home).await;
    // What was used is written by the time of the stop.
    assert!(daemon.stop().await.success());
    let _daemon = home.serve().await;
    let export = succeeds(&home, &["export"]);
    let file = home.path("all.jsonl");
    let told = json(&home, &["export", file.to_str().unwrap()]);
    assert_eq!((&told["n_memories"], &told["n_forgotten"]), (&json!(4), &json!(1)), "{told}");
    assert_eq!(told["n_reminders"], 2, "{told}");
    assert_eq!(body(&fs::read_to_string(&file).unwrap()), body(&export));
    assert!(!export.contains("gets forgotten"), "{export}");
    assert!(!home.path("all.jsonl.partial").exists());
    let output = home.run(&["export", file.to_str().unwrap()]);
    assert!(text(&output.stderr).contains("exists already"), "{output:?}");

    let other = quick();
    let _other_daemon = other.serve().await;
    let dry = json(&other, &["import", "--dry-run", file.to_str().unwrap()]);
    assert_eq!((&dry["n_added"], &dry["dry_run"]), (&json!(4), &json!(true)), "{dry}");
    assert_eq!(json(&other, &["list"])["n_listed"], 0);
    let done = json(&other, &["import", file.to_str().unwrap()]);
    // The same counts as those of the export.
    assert_eq!((&done["n_added"], &done["n_forgotten"]), (&json!(4), &json!(1)), "{done}");
    assert_eq!(body(&succeeds(&other, &["export"])), body(&export));
    assert_eq!(other.agent("a").await.recall("kettle").await, ["The kettle is blue"]);
    let again = json(&other, &["import", file.to_str().unwrap()]);
    assert_eq!((&again["n_added"], &again["n_same"]), (&json!(0), &json!(4)), "{again}");
    assert_eq!((&again["n_forgotten"], &again["n_reminders"]), (&json!(1), &json!(2)), "{again}");
    let reminders = json(&other, &["remind", "list"]);
    assert_eq!(reminders["reminders"].as_array().unwrap().len(), 2, "{reminders}");

    // What is another memory here stays, and is told of.
    let kettle = json(&other, &["recall", "kettle"])["memories"][0]["id"].clone();
    json(&other, &["update", kettle.as_str().unwrap(), "--content", "The kettle is broken"]);
    let output = other.run(&["import", file.to_str().unwrap()]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("another memory has this id"), "{message}");
    assert_eq!(other.agent("a").await.recall("kettle").await, ["The kettle is broken"]);
}

#[tokio::test]
async fn a_file_that_is_not_as_it_was_written_is_not_imported_at_all() {
    let home = quick();
    let _daemon = home.serve().await;
    let export = fs::read_to_string(fixture()).unwrap();
    let lines: Vec<&str> = export.lines().collect();
    let n_lines = lines.len();
    let without = |place: usize| {
        let mut lines = lines.clone();
        lines.remove(place);
        lines.join("\n")
    };
    let kettle = lines.iter().position(|line| line.contains("kettle is blue")).unwrap();
    for (case, altered, said) in [
        ("empty", String::new(), "it is empty"),
        ("another file", "{\"a\": 1}\n".to_owned(), "line 1: it does not begin"),
        ("no header", without(0), "line 1: it does not begin"),
        (
            "newer",
            export.replace("\"version\":1,\"created_at\"", "\"version\":99,\"created_at\""),
            "newer recalld",
        ),
        ("no footer", without(n_lines - 1), "its end is missing"),
        ("cut within a line", export[..export.len() / 2].to_owned(), "its end is missing"),
        ("a line less", without(kettle + 1), &*format!("line {}", kettle + 2)),
        ("a word changed", export.replace("kettle is blue", "kettle is grey"), "the hash differs"),
        ("more behind", format!("{export}{{}}\n"), "follows the end"),
        ("no JSON", export.replace("{\"memory\"", "{memory\""), "line 2: no JSON"),
        ("a field unknown", export.replace("\"pinned\":true", "\"pined\":true"), "pined"),
        ("a field wrong", export.replace("\"recalls\":", "\"recalls\":-"), "expected u64"),
    ] {
        let output = import(&home, &altered, &[]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{case}: {message}");
        assert!(message.contains(said), "{case}: {message}");
        assert!(message.contains("nothing was imported"), "{case}: {message}");
        assert!(!message.contains("Ahornweg"), "{case}: content in {message}");
    }
    // Bytes that are no text, and more that is wrong than is told line by line.
    fs::write(home.path("bytes.jsonl"), [&export.as_bytes()[..200], b"\xff\n"].concat()).unwrap();
    let output = home.run(&["import", home.path("bytes.jsonl").to_str().unwrap()]);
    let message = text(&output.stderr);
    assert!(message.contains("not UTF-8") && message.contains("nothing was imported"), "{message}");
    let many = format!("{}\n{}", lines[0], "no item\n".repeat(25));
    let message = text(&import(&home, &many, &[]).stderr);
    // 25 lines, and the end that is missing; 20 are told.
    assert!(message.contains("and 6 more"), "{message}");
    assert!(message.contains("nothing was imported"), "{message}");
    assert_eq!(json(&home, &["list"])["n_listed"], 0);
    // Exports of every released version are read.
    let output = import(&home, &export, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(body(&succeeds(&home, &["export", "-"])), body(&export));
    let missing = home.run(&["import", Path::new("none.jsonl").to_str().unwrap()]);
    assert!(text(&missing.stderr).contains("none.jsonl"), "{missing:?}");
}

#[tokio::test]
async fn a_history_larger_than_a_message_comes_back_whole() {
    let home = quick();
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let id = agent.store("The minutes are empty").await;
    for n in 0..60 {
        let content = format!("Minutes {n}: {}", "\"said\" ".repeat(4_500));
        agent.must("memory_update", json!({ "id": id, "content": content })).await;
    }
    agent.store("Something small behind it").await;
    let export = succeeds(&home, &["export"]);
    let other = quick();
    let daemon = other.serve().await;
    let output = import(&other, &export, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(body(&succeeds(&other, &["export"])), body(&export));
    let backup = json(&other, &["backup"]);
    assert_eq!(backup["n_memories"], 2, "and the store is sound");
    assert!(daemon.stop().await.success());
}
