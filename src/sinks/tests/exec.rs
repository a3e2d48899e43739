//! Programs: what they are given, and what their exit codes mean.

use std::sync::Arc;
use std::time::Duration;

use super::message;
use crate::clock::SystemClock;
use crate::domain::reminder::Outcome;
use crate::domain::sink::{Message, SinkKind, SinkSettings};
use crate::sinks::open;

async fn run(script: &str, arguments: &[&str], message: &Message, timeout: Duration) -> Outcome {
    let mut settings = SinkSettings::new("hook", SinkKind::Exec);
    settings.timeout = timeout;
    let command = ["/bin/sh", "-c", script, "hook"].into_iter().chain(arguments.iter().copied());
    settings.command = command.map(str::to_owned).collect();
    open(settings, Arc::new(SystemClock::new())).deliver(message).await
}

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_program_reads_the_message_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("got");
    let outcome = run("cat > \"$1\"", &[file.to_str().unwrap()], &message(), LONG).await;
    assert_eq!(outcome, Outcome::Sent { remote_id: None });
    let got: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(got["data"]["id"], "0123456789abcdef0123456789abcdef");
    assert_eq!(got["data"]["text"], "https://example.org/a_b *bold* @here");
}

#[tokio::test]
async fn an_exit_code_is_the_outcome() {
    for (script, expected) in [
        ("exit 0", "Sent"),
        ("exit 1", "Refused"),
        ("exit 75", "Retry"),
        ("exit 78", "Disabled"),
        ("no-such-program", "Disabled"),
        ("kill -9 $$", "Unknown"),
    ] {
        // A message larger than a pipe, which none of them reads.
        let message = Message { text: "words ".repeat(30_000), ..message() };
        let outcome = format!("{:?}", run(script, &[], &message, LONG).await);
        assert!(outcome.starts_with(expected), "{script}: {outcome}");
        assert!(!outcome.contains("words"), "{outcome}");
    }
}

#[tokio::test]
async fn a_program_that_does_not_end_is_ended_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = "sleep 600 & echo $! > \"$1\"; wait";
    let outcome = run(script, &[file.to_str().unwrap()], &message(), Duration::from_secs(2)).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    let child = std::fs::read_to_string(file).unwrap();
    let stat = std::path::PathBuf::from(format!("/proc/{}/stat", child.trim()));
    // Killed, though perhaps not yet taken away by whoever inherited it.
    let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    for _ in 0..500 {
        if is_gone() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the child still runs");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let mut settings = SinkSettings::new("hook", SinkKind::Exec);
    settings.command = vec!["/no/such/program".to_owned()];
    let outcome = open(settings, Arc::new(SystemClock::new())).deliver(&message()).await;
    let Outcome::Disabled(why) = outcome else { panic!("{outcome:?}") };
    assert!(why.starts_with("start /no/such/program"), "{why}");
}
