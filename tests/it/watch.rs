//! `recalld status --watch`: across restarts, into a pipe that closes, on a terminal.

use std::io::{BufRead as _, BufReader, Lines, Read as _};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::daemon::{Home, eventually};
use crate::skip::skip;

/// A running watch and what it prints.
struct Watch {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let mut command = home.command(arguments);
        command.args(["status", "--watch", "--interval", "0.1"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads on until a line says this.
    fn until(&mut self, said: &str) -> String {
        let mut lines = self.lines.by_ref().map(Result::unwrap);
        lines.find(|line| line.contains(said)).unwrap_or_else(|| panic!("never: {said}"))
    }

    async fn ended(mut self) -> ExitStatus {
        eventually("the watch ends", async || self.child.try_wait().unwrap()).await
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_outlives_daemons_and_ends_in_order() {
    let home = Home::new();
    let mut watch = Watch::start(&home, &[]);
    watch.until("no daemon");
    for _ in 0..2 {
        let daemon = home.serve().await;
        let line = watch.until(" well: ");
        assert!(line.contains("store ok") && line.contains("0 memories"), "{line}");
        daemon.kill();
        watch.until("no daemon");
    }
    watch.signal(Signal::INT);
    let status = watch.ended().await;
    assert!(status.success(), "{status}");
}

#[tokio::test]
async fn a_watch_ends_when_nobody_reads_it_any_more() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let mut watch = Watch::start(&home, &["--json"]);
    let line = watch.lines.next().unwrap().unwrap();
    let status: Value = serde_json::from_str(&line).unwrap();
    assert!(status["parts"].is_array(), "each look is one line of JSON: {line}");
    let Watch { mut child, lines } = watch;
    drop(lines);
    let status = eventually("the watch ends", async || child.try_wait().unwrap()).await;
    assert!(status.success(), "{status}");
}

#[tokio::test]
async fn on_a_terminal_the_screen_is_drawn_anew() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let watch = home.command(&["status", "--watch", "--interval", "0.1"]);
    let words: Vec<String> = std::iter::once(watch.get_program())
        .chain(watch.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    // `script` gives its command a terminal.
    let spawned = Command::new("script")
        .args(["--quiet", "--return", "--command", &words.join(" "), "/dev/null"])
        .env_clear()
        .env("HOME", home.path(""))
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut script) = spawned else {
        skip("the screen of a watch", "no `script` to make a terminal");
        return;
    };
    let mut output = script.stdout.take().unwrap();
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    let n_drawn = |seen: &[u8]| String::from_utf8_lossy(seen).matches("\x1b[H\x1b[2J").count();
    while n_drawn(&seen) < 2 {
        let n = output.read(&mut buffer).unwrap();
        assert_ne!(n, 0, "it ended: {}", String::from_utf8_lossy(&seen));
        seen.extend(&buffer[..n]);
    }
    drop(output);
    script.kill().unwrap();
    script.wait().unwrap();
    assert!(String::from_utf8_lossy(&seen).contains("vectors"), "the parts are shown");
}

#[test]
fn an_interval_is_some_seconds_and_needs_a_watch() {
    let home = Home::new();
    for (arguments, said) in [
        (&["status", "--interval", "3"][..], "--watch"),
        (&["status", "--watch", "--interval", "0"], "0.1 to 3600"),
        (&["status", "--watch", "--interval", "often"], "0.1 to 3600"),
    ] {
        let output = home.run(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(said), "{arguments:?}: {message}");
    }
}
