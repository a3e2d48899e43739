//! The commands of a person, as tables: what they print, for people and for programs, and how they
//! fail.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::daemon::{Home, eventually};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that must succeed; gives what it printed.
#[track_caller]
fn prints(home: &Home, arguments: &[&str]) -> String {
    let output = home.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    text(&output.stdout)
}

/// Runs a command with `--json`; gives its answer.
#[track_caller]
fn json(home: &Home, arguments: &[&str]) -> Value {
    let mut all = vec!["--json"];
    all.extend(arguments);
    let printed = prints(home, &all);
    serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{arguments:?} printed {printed}"))
}

/// A command that must fail: its exit code, and what it must say.
#[track_caller]
fn fails(home: &Home, arguments: &[&str], code: i32, said: &str) {
    let output = home.run(arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(message.contains(said), "{arguments:?}: {message}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
}

fn remember_from_stdin(home: &Home, content: &str) -> Output {
    let mut child = home
        .command(&["--json", "remember", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[tokio::test]
async fn every_command_prints_for_people_and_for_programs() {
    let home = Home::new();
    let _daemon = home.serve().await;

    let arguments = ["remember", "Lunch", "is", "at", "noon", "--tag", "lunch", "--kind", "event"];
    let stored = json(&home, &arguments);
    assert_eq!(stored["memories"][0]["status"], "stored", "{stored}");
    let id = stored["memories"][0]["id"].as_str().unwrap();
    let handle = stored["memories"][0]["handle"].as_str().unwrap();
    assert!(prints(&home, &arguments).contains("deduplicated"));
    let piped = remember_from_stdin(&home, "The canteen is closed\non Fridays\n");
    assert!(piped.status.success());
    let piped: Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(piped["memories"][0]["status"], "stored", "{piped}");
    let again = json(&home, &["remember", "The canteen is closed\non Fridays"]);
    assert_eq!(
        again["memories"][0]["status"], "deduplicated",
        "without the last line feed: {again}"
    );

    let changed = json(&home, &["update", handle, "--content", "Lunch is at two"]);
    assert_eq!(changed["changed"][0], "content", "{changed}");
    let changed = json(&home, &["update", handle, "Lunch", "is at one"]);
    assert_eq!(changed["changed"][0], "content", "{changed}");

    // Each: the command, what people read, where programs find it, and what is there.
    for (arguments, said, pointer, expected) in [
        (&["recall", "lunch"][..], "Lunch is at one", "/memories/0/content", "Lunch is at one"),
        (&["show", id], "Lunch is at one", "/memories/0/id", id),
        (&["show", handle], "event", "/memories/0/kind", "event"),
        (
            &["show", id, "--history"],
            "Lunch is at noon",
            "/memories/0/history/0/content",
            "Lunch is at noon",
        ),
        (&["list", "--tag", "lunch"], "Lunch is at one", "/memories/0/id", id),
        (&["list", "--oldest", "--limit", "1"], "--cursor", "/memories/0/id", id),
        (&["list", "--namespace", "user", "--kind", "event"], handle, "/memories/0/handle", handle),
        (&["update", id, "--tag", "food"], "nothing to change", "/changed/0", "tags"),
        (&["update", id, "--pinned", "true"], "nothing to change", "/changed/0", "pinned"),
        (&["status"], "vectors", "/parts/0/state", "ok"),
        (&["check-config"], "The configuration is valid", "/settings/0/place", "default"),
    ] {
        // For programs first: a change that is asked for twice is made once.
        let answer = json(&home, arguments);
        let found = answer.pointer(pointer).and_then(Value::as_str);
        assert_eq!(found, Some(expected), "{arguments:?}: {answer}");
        let printed = prints(&home, arguments);
        assert!(printed.contains(said), "{arguments:?}: {printed}");
    }

    let piped_id = piped["memories"][0]["id"].as_str().unwrap();
    assert!(prints(&home, &["show", piped_id]).contains("closed\non Fridays"));
    let receipt = json(&home, &["forget", piped_id]);
    assert_eq!(receipt["n_forgotten"], 1, "{receipt}");
    let receipt = prints(&home, &["forget", "--tag", "food", "--yes"]);
    assert!(receipt.contains("forgotten: 1"), "{receipt}");
    assert_eq!(json(&home, &["list"])["n_listed"], 0);
    assert!(prints(&home, &["recall", "lunch"]).contains("nothing remembered"));
    assert!(prints(&home, &["remember", "password", "=", "hunter2hunter2"]).contains("redacted"));
}

#[tokio::test]
async fn forgetting_by_a_filter_shows_what_would_go_and_asks() {
    let home = Home::new();
    let _daemon = home.serve().await;
    prints(&home, &["remember", "The old timetable"]);
    let output = home.run(&["forget", "--query", "old timetable"]);
    let (printed, message) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(64), "{message}");
    assert!(message.contains("--yes"), "{message}");
    assert!(printed.contains("matching: 1"), "{printed}");
    assert!(printed.contains("The old timetable"), "{printed}");
    assert_eq!(json(&home, &["list"])["n_listed"], 1, "nobody said yes");
}

#[tokio::test]
async fn what_cannot_be_read_or_printed_is_a_failure_that_says_so() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let device = |path: &str| File::options().read(true).write(true).open(path).unwrap();
    let noise = home.path("noise");
    fs::write(&noise, b"tea \xff").unwrap();
    for (input, said) in [
        (device("/dev/zero"), "standard input: it is longer than"),
        (File::open(&noise).unwrap(), "standard input: it is not UTF-8"),
    ] {
        let output = home.command(&["remember", "-"]).stdin(input).output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(said), "{message}");
    }
    for arguments in [&["status"][..], &["list", "--json"], &["doctor"], &["completions", "bash"]] {
        let mut command = home.command(arguments);
        let output = command.stdin(Stdio::null()).stdout(device("/dev/full")).output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.contains("standard output: No space left"), "{arguments:?}: {message}");
    }
}

#[tokio::test]
async fn what_cannot_be_done_says_why_with_an_exit_code() {
    let home = Home::new();
    let unanswered: &[&[&str]] = &[
        &["status"],
        &["remember", "x"],
        &["recall", "x"],
        &["show", "01234567"],
        &["list"],
        &["update", "01234567", "--content", "x"],
        &["forget", "01234567"],
        &["forget", "--tag", "x", "--yes"],
    ];
    for arguments in unanswered {
        fails(&home, arguments, 69, "recalld serve");
    }
    let wrong: &[(&[&str], &str)] = &[
        (&[], "Usage"),
        (&["rember", "x"], "remember"),
        (&["remember"], "TEXT"),
        (&["recall"], "QUERY"),
        (&["show"], "ID"),
        (&["recall", "x", "--limit", "many"], "many"),
        (&["completions", "ash"], "bash"),
        (&["update", "01234567"], "say what to change"),
        (&["update", "01234567", "x", "--content", "y"], "cannot be used with"),
        (&["update", "01234567", ""], "TEXT"),
        (&["update", "01234567", "--importance", "-1"], "0 to 1"),
        (&["list", "--limit", "-1"], "1 or more"),
        (&["recall", "x", "--limit", "0"], "1 or more"),
        (&["status", "--timeout", "-1"], "0.1 to 86400"),
        (&["forget"], "by id or by a filter"),
        (&["forget", "01234567", "--tag", "x"], "not both"),
        (&["forget", "01234567", "--query", "x"], "--query"),
        (&["forget", "--namespace", "user", "--query", "", "--yes"], "--query"),
        (&["forget", "--namespace", "user", "--tag", "", "--yes"], "--tag"),
        (&["forget", "--namespace", "", "--kind", "fact", "--yes"], "--namespace"),
        (&["forget", "--namespace", "user", "--kind", " ", "--yes"], "--kind"),
        (&["forget", "--namespace", "user", "--before", "", "--yes"], "--before"),
        (&["list", "--namespace", ""], "--namespace"),
        (&["remember", "x", "--importance", "NaN"], "0 to 1"),
    ];
    for (arguments, said) in wrong {
        fails(&home, arguments, 64, said);
    }

    let _daemon = home.serve().await;
    let refused: &[(&[&str], i32, &str)] = &[
        (&["show", "01234567"], 1, "not found"),
        (&["show", "no id!"], 1, "no id!"),
        (&["forget", "01234567"], 1, "not found"),
        (&["update", "01234567", "--content", "x"], 1, "not found"),
        (&["remember", "x", "--kind", "opinion"], 64, "kind"),
        (&["remember", "x", "--importance", "7"], 64, "importance"),
        (&["remember", "x", "--metadata", "{"], 64, "metadata"),
        (&["remember", "x", "--supersedes", "01234567"], 1, "01234567"),
        (&["recall", "x", "--after", "yesterday"], 64, "after"),
        (&["recall", "x", "--namespace", "../etc"], 64, "namespace"),
        (&["list", "--cursor", "x"], 64, "cursor"),
        (&["list", "--status", "gone"], 64, "status"),
        (&["list", "--after", "-5d"], 64, "after"),
        (&["connect", "--agent", "no name!"], 64, "--agent"),
        (&["model", "use", "gpt-9"], 64, "gpt-9"),
        (&["export", "/"], 1, "/"),
        (&["import", "/none.jsonl"], 1, "none.jsonl"),
    ];
    for (arguments, code, said) in refused {
        fails(&home, arguments, *code, said);
    }
    assert_eq!(json(&home, &["list"])["n_listed"], 0, "nothing was stored");
}

#[test]
fn a_failure_is_one_object_for_programs() {
    let home = Home::new();
    std::fs::write(home.path("bad.toml"), "[store]\ncache = 1\n").unwrap();
    let bad = home.path("bad.toml").display().to_string();
    let cases: &[(&[&str], i32, &str, &str)] = &[
        (&["status"], 69, "no_daemon", "recalld serve"),
        (&["rember", "x"], 64, "usage", "remember"),
        (&["forget"], 64, "usage", "by id or by a filter"),
        (&["--config", &bad, "check-config"], 78, "config", "store.cache"),
        (&["--config", &bad, "status"], 69, "no_daemon", "recalld serve"),
        (&["--config", &bad, "reload"], 78, "config", "bad.toml:2"),
        (&["--config", &bad, "serve"], 78, "config", "store.cache"),
        (&["model", "use", "gpt-9"], 64, "usage", "gpt-9"),
        (&["model", "import", "/none"], 1, "failed", "/none"),
        (&["connect", "--agent", "no name!"], 64, "usage", "--agent"),
        (&["verify", "/none"], 1, "failed", "/none"),
        (&["restore", "/none"], 1, "failed", "/none"),
        (&["import", "/none"], 1, "failed", "/none"),
        (&["eval", "/none"], 1, "failed", "/none"),
    ];
    for (arguments, code, kind, said) in cases {
        let mut all = vec!["--json"];
        all.extend(*arguments);
        let output = home.run(&all);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {told}");
        let told: Value = serde_json::from_str(told.lines().last().unwrap_or_default())
            .unwrap_or_else(|_| panic!("{told}"));
        let error = &told["error"];
        assert_eq!((&error["kind"], &error["exit_code"]), (&(*kind).into(), &(*code).into()));
        assert!(error["message"].as_str().unwrap().contains(said), "{arguments:?}: {error}");
    }
}

#[test]
fn a_model_that_is_not_installed_is_not_waited_for_by_an_evaluation() {
    let home = Home::new();
    let set = home.path("set");
    std::fs::write(
        home.path("set.memories.jsonl"),
        r#"{"conv": "a", "id": "1", "time": "2026-01-02T10:00:00Z", "text": "Rex is our dog"}"#,
    )
    .unwrap();
    std::fs::write(
        home.path("set.queries.jsonl"),
        r#"{"conv": "a", "category": "one", "query": "dog", "evidence_ids": ["1"]}"#,
    )
    .unwrap();
    let output = home.run(&["eval", "--model", "bge-m3", set.to_str().unwrap()]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("bge-m3 is not installed"), "{told}");
}

#[tokio::test]
async fn what_is_configured_is_told_from_what_is_in_use() {
    let home = Home::new();
    let role = |name: &str| {
        let listed = json(&home, &["model", "list"]);
        let all = listed["models"].as_array().unwrap();
        let one = all.iter().find(|model| model["name"] == "bundled").unwrap().clone();
        (listed[name].clone(), one[name].clone())
    };
    assert_eq!(role("configured"), ("bundled".into(), true.into()));
    assert_eq!(role("in_use"), (Value::Null, false.into()));
    assert!(prints(&home, &["model", "list"]).contains("no daemon answers"));
    let _daemon = home.serve().await;
    eventually("the model is loaded", async || {
        (role("in_use") == ("bundled".into(), true.into())).then_some(())
    })
    .await;
    // The daemon keeps what it has until it is started again.
    let mut command = home.command(&["--json", "model", "list"]);
    command.env("RECALLD_EMBED_MODEL", "none");
    let listed: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!((&listed["configured"], &listed["in_use"]), (&"none".into(), &"bundled".into()));
    let listed = prints(&home, &["model", "list"]);
    assert!(listed.contains("configured: bundled; in use: bundled"), "{listed}");
}

#[tokio::test]
async fn an_answer_says_what_an_equal_memory_keeps_and_what_a_correction_corrects() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let first = json(&home, &["remember", "Lunch is at noon", "--kind", "event"]);
    let id = first["memories"][0]["id"].as_str().unwrap();
    let again =
        ["remember", "Lunch is at noon", "--kind", "fact", "--metadata", "{\"a\": 1}", "--pinned"];
    let kept = json(&home, &again)["memories"][0].clone();
    assert_eq!(kept["ignored"], serde_json::json!(["kind", "metadata"]), "{kept}");
    assert_eq!(kept["changed"], serde_json::json!(["pinned"]), "{kept}");
    let said = prints(&home, &again);
    assert!(said.contains("not applied (`recalld update` does it): kind, metadata"), "{said}");

    let second = json(&home, &["remember", "Lunch is at one", "--supersedes", id]);
    let second = &second["memories"][0];
    assert_eq!(second["supersedes"], Value::Null, "{second}");
    let third = json(&home, &["remember", "Lunch is at two", "--supersedes", id]);
    assert_eq!(third["memories"][0]["supersedes"], second["id"], "{third}");
    let said = prints(&home, &["remember", "Lunch is at three", "--supersedes", id]);
    assert!(said.contains("the latest successor of the one named"), "{said}");
    assert_eq!(json(&home, &["list"])["n_listed"], 1, "one of them is true");
}

#[test]
fn help_version_and_completions_need_nothing() {
    let home = Home::new();
    for (arguments, said) in [
        (&["--help"][..], "remember"),
        (&["help", "forget"], "--yes"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
        (&["completions", "bash"], "recalld"),
        (&["completions", "zsh"], "#compdef recalld"),
        (&["completions", "fish"], "complete -c recalld"),
    ] {
        let printed = prints(&home, arguments);
        assert!(printed.contains(said), "{arguments:?}: {printed}");
    }
    assert!(!home.state().exists(), "and they leave nothing behind");
}
