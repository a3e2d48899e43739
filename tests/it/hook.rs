//! Hooks of a harness: what they print, and what wakes a session, through the real binary.

use std::io::Write as _;
use std::process::{Child, Output, Stdio};

use jiff::{SignedDuration, Timestamp};
use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use serde_json::json;

use crate::daemon::{Home, eventually};

/// Starts a hook as a harness does: an event of this session on its standard input.
fn start(home: &Home, arguments: &[&str], session: &str, prompt: &str) -> Child {
    let mut hook = home
        .command(&[&["hook"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let event = json!({ "session_id": session, "hook_event_name": "x", "prompt": prompt });
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    hook
}

fn run(home: &Home, arguments: &[&str], prompt: &str) -> (Option<i32>, String) {
    let output: Output = start(home, arguments, "s", prompt).wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// In two seconds.
fn soon() -> Timestamp {
    SystemClock::new().now() + SignedDuration::from_secs(2)
}

/// Waits for its end; how it ended, and what it said on standard error.
async fn end(mut hook: Child) -> (Option<i32>, String) {
    eventually("the hook ends", async || hook.try_wait().unwrap()).await;
    let output = hook.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test]
async fn a_session_and_a_prompt_begin_with_what_is_remembered() {
    let home = Home::with_config("[embed]\nmodel = \"none\"\n");
    let (code, told) = run(&home, &["session-start"], "");
    assert_eq!(code, Some(0), "a hook never holds up its harness");
    assert!(told.contains("the memory cannot be asked"), "{told}");
    let _daemon = home.serve().await;
    let owner = home.owner().await;
    owner
        .must("memory_store", json!({ "content": "Answer in German", "kind": "instruction" }))
        .await;
    owner.store("Anna drinks oolong tea").await;
    let private = json!({ "content": "a secret of codex", "namespace": "agent/codex" });
    owner.must("memory_store", private).await;
    let (code, told) = run(&home, &["session-start"], "");
    assert_eq!(code, Some(0));
    for fact in ["Answer in German", "oolong tea"] {
        assert!(told.contains(fact), "{told}");
    }
    assert!(!told.contains("secret"), "an agent is told what it may read: {told}");
    let (_, told) = run(&home, &["session-start", "--agent", "codex"], "");
    assert!(told.contains("a secret of codex"), "{told}");
    let (code, told) = run(&home, &["prompt-submit"], "what does Anna drink?");
    assert_eq!(code, Some(0));
    assert!(told.contains("oolong tea") && !told.contains("German"), "{told}");
    let (code, told) = run(&home, &["prompt-submit"], "volcano");
    assert_eq!((code, told.as_str()), (Some(0), ""), "nothing to say is nothing said");
}

#[tokio::test]
async fn an_idle_session_is_woken_once_by_what_becomes_due() {
    let home = Home::with_config("[embed]\nmodel = \"none\"\n");
    let _daemon = home.serve().await;
    let owner = home.owner().await;
    let waiting = start(&home, &["wait"], "s", "");
    let held = home.path("s/hooks");
    eventually("the hook waits", async || held.exists().then_some(())).await;
    // A second one for the same session, however it came to be, ends at once and wakes nobody.
    assert_eq!(end(start(&home, &["wait"], "s", "")).await, (Some(0), String::new()));
    let at = soon();
    let set = json!({ "text": "stretch \"now\"", "at": at.to_string() });
    let set = owner.must("reminder_set", set).await;
    let (code, told) = end(waiting).await;
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains(r#""stretch \"now\"""#) && told.contains("reminder_update"), "{told}");

    // The same telling wakes neither this session again, nor is it lost to another.
    let again = start(&home, &["wait", "--gap", "0.1"], "s", "");
    let (code, told) = end(start(&home, &["wait"], "other", "")).await;
    assert_eq!(code, Some(2), "{told}");
    let at = soon();
    owner.must("reminder_set", json!({ "text": "drink", "at": at.to_string() })).await;
    let (code, told) = end(again).await;
    assert_eq!(code, Some(2));
    assert!(told.contains("drink") && !told.contains("stretch"), "{told}");
    let id = set["reminder"]["id"].clone();
    owner.must("reminder_update", json!({ "id": id, "action": "ack" })).await;
}

#[tokio::test]
async fn what_nobody_acknowledges_does_not_hide_what_becomes_due() {
    let home = Home::with_config("[embed]\nmodel = \"none\"\n");
    let _daemon = home.serve().await;
    let owner = home.owner().await;
    for n in 1..=14 {
        let at = soon().to_string();
        owner.must("reminder_set", json!({ "text": format!("matter {n}"), "at": at })).await;
    }
    let mut told = String::new();
    while (1..=14).any(|n| !told.contains(&format!("\"matter {n}\""))) {
        let (code, more) = end(start(&home, &["wait", "--gap", "0.1"], "s", "")).await;
        assert_eq!(code, Some(2), "{more}");
        told.push_str(&more);
    }
    let at = soon().to_string();
    owner.must("reminder_set", json!({ "text": "one more", "at": at })).await;
    let (code, told) = end(start(&home, &["wait", "--gap", "0.1"], "s", "")).await;
    assert_eq!((code, told.contains("one more"), told.contains("matter")), (Some(2), true, false));
}

#[tokio::test]
async fn a_waiting_hook_ends_with_its_harness() {
    let home = Home::with_config("[embed]\nmodel = \"none\"\n");
    let _daemon = home.serve().await;
    // A shell stands for the harness; it says which process it started.
    let hook = home.command(&["hook", "wait"]);
    let line: Vec<String> = std::iter::once(hook.get_program())
        .chain(hook.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let script = format!("echo '{{\"session_id\":\"s\"}}' | {} & echo $!; wait", line.join(" "));
    let mut shell = std::process::Command::new("sh")
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut output = std::io::BufReader::new(shell.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut first).unwrap();
    let held = home.path("s/hooks");
    eventually("the hook waits", async || held.exists().then_some(())).await;
    shell.kill().unwrap();
    shell.wait().unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{}", first.trim()));
    eventually("the hook ends", async || (!process.exists()).then_some(())).await;
}
