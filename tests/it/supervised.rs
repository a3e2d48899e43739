//! The daemon under a service manager: a real notify socket, a real activated socket.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::daemon::{Daemon, Home, WAIT, eventually, program};
use crate::skip::skip;

/// The socket that a service manager would read.
struct Manager {
    socket: UnixDatagram,
    path: std::path::PathBuf,
}

impl Manager {
    fn new(home: &Home) -> Self {
        let path = home.path("notify.sock");
        let socket = UnixDatagram::bind(&path).unwrap();
        Self { socket, path }
    }

    /// Makes a daemon speak to this manager.
    fn supervise(&self, command: &mut Command) {
        command.env("NOTIFY_SOCKET", &self.path);
    }

    /// The next message within some time.
    fn next(&self, within: Duration) -> Option<String> {
        let mut buffer = [0; 4096];
        self.socket.set_read_timeout(Some(within)).unwrap();
        let n = self.socket.recv(&mut buffer).ok()?;
        Some(String::from_utf8(buffer[..n].to_vec()).unwrap().trim_end().to_owned())
    }

    /// Waits for a message that holds `part`; gives all messages up to it.
    #[track_caller]
    fn until(&self, part: &str) -> Vec<String> {
        let mut heard = Vec::new();
        loop {
            match self.next(WAIT) {
                Some(message) => heard.push(message),
                None => panic!("never heard {part}, but {heard:#?}"),
            }
            if heard.last().unwrap().contains(part) {
                return heard;
            }
        }
    }
}

fn is_ready(message: &String) -> bool {
    message == "READY=1"
}

/// Waits for the end of a daemon.
async fn end(daemon: &mut Daemon<'_>) -> std::process::ExitStatus {
    eventually("the daemon ends", async || daemon.exited()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn start_and_stop_are_told_in_their_order() {
    let home = Home::new();
    let manager = Manager::new(&home);
    let mut daemon = home.spawn_with(|command| manager.supervise(command));
    // Handlers are there before the store is opened, so what is asked early is done later.
    manager.until("EXTEND_TIMEOUT_USEC=");
    daemon.signal(Signal::USR1);
    assert!(is_ready(manager.until("READY=1").last().unwrap()));
    assert!(home.socket().exists(), "ready means that the socket is bound");
    let path = home.state().join("status.json");
    eventually("the early question is answered", async || path.exists().then_some(())).await;
    manager.until("STATUS=0 memories; all parts ok; next: ");
    daemon.signal(Signal::TERM);
    let heard = manager.until("EXTEND_TIMEOUT_USEC=");
    assert!(heard.contains(&"STOPPING=1".to_owned()), "{heard:#?}");
    assert!(heard.contains(&"STATUS=stopping".to_owned()), "{heard:#?}");
    assert!(end(&mut daemon).await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_during_the_start_is_obeyed() {
    let home = Home::new();
    let manager = Manager::new(&home);
    let mut daemon = home.spawn_with(|command| manager.supervise(command));
    manager.until("EXTEND_TIMEOUT_USEC=");
    daemon.signal(Signal::TERM);
    manager.until("STOPPING=1");
    assert!(end(&mut daemon).await.success());
    assert!(!home.socket().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_is_told_from_its_beginning_to_its_end_also_when_it_fails() {
    let home = Home::with_config("[recall]\nlimit = 5\n").expect_log("configuration refused");
    let manager = Manager::new(&home);
    let daemon = home.spawn_with(|command| manager.supervise(command));
    manager.until("READY=1");
    for (config, is_good) in
        [("[recall]\nlimit = 6\n", true), ("[recall]\nlimit = 600\n", false), ("", true)]
    {
        fs::write(home.path("config.toml"), config).unwrap();
        daemon.signal(Signal::HUP);
        let began = manager.until("RELOADING=1").pop().unwrap();
        assert!(began.contains("MONOTONIC_USEC="), "{began}");
        let heard = manager.until("READY=1");
        let failed = heard.iter().any(|message| {
            message.starts_with("STATUS=reload failed: ")
                && message.contains("config.toml:2:9: recall.limit")
        });
        assert_eq!(failed, !is_good, "{config}: {heard:#?}");
    }
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_configuration_is_told_and_the_unit_is_not_to_be_started_again() {
    let home = Home::with_config("[store]\ncache_mb = 1\n");
    let manager = Manager::new(&home);
    let mut daemon = home.spawn_with(|command| manager.supervise(command));
    let heard = manager.until("STATUS=bad configuration: ").pop().unwrap();
    assert!(heard.contains("store.cache_mb"), "{heard}");
    assert_eq!(end(&mut daemon).await.code(), Some(78));
}

/// Systemd's limit in these tests: short, but so long that a busy machine answers within it.
const LIMIT: Duration = Duration::from_millis(400);

fn with_watchdog(command: &mut Command) {
    command.env("WATCHDOG_USEC", LIMIT.as_micros().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_stands_still_gives_no_sign_of_life() {
    let home = Home::new();
    let manager = Manager::new(&home);
    let daemon = home
        .serve_with(|command| {
            manager.supervise(command);
            with_watchdog(command);
        })
        .await;
    manager.until("WATCHDOG=1");
    manager.until("WATCHDOG=1");
    let status = home.owner().await.must("memory_status", json!({})).await;
    assert_eq!(status["watchdog"]["limit_ms"], 400, "{status}");
    assert!(status["watchdog"]["last_at"].is_string(), "{status}");
    daemon.signal(Signal::STOP);
    eventually("silence", async || manager.next(LIMIT * 3).is_none().then_some(())).await;
    daemon.signal(Signal::CONT);
    manager.until("WATCHDOG=1");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_stuck_loop_is_enough_for_no_sign_of_life() {
    let home = Home::new();
    let manager = Manager::new(&home);
    let (mut log, writer) = std::io::pipe().unwrap();
    let daemon = home
        .serve_with(|command| {
            manager.supervise(command);
            with_watchdog(command);
            command.env("RECALLD_LOG", "info").stderr(writer.try_clone().unwrap());
        })
        .await;
    manager.until("WATCHDOG=1");
    // Nobody reads the log any more: the loop that takes signals is stuck at its next line, while
    // every other loop goes round.
    fill(&writer);
    drop(writer);
    daemon.signal(Signal::USR1);
    eventually("silence", async || manager.next(LIMIT * 3).is_none().then_some(())).await;
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        log.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    });
    manager.until("WATCHDOG=1");
    assert!(daemon.stop().await.success());
    let text = reader.join().unwrap();
    assert!(text.contains("no sign of life stuck=\"signals"), "{text}");
}

/// Fills a pipe to its last byte, through a description of its own that does not block.
fn fill(pipe: &std::io::PipeWriter) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut own = fs::OpenOptions::new()
        .write(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(format!("/proc/self/fd/{}", pipe.as_raw_fd()))
        .unwrap();
    for size in [1024, 1] {
        while own.write_all(&b".".repeat(size)).is_ok() {}
    }
}

#[tokio::test]
async fn a_socket_of_the_manager_outlives_kills_and_its_callers_wait() {
    let home = Home::new();
    fs::create_dir(home.path("s")).unwrap();
    let listener = UnixListener::bind(home.socket()).unwrap();
    // As systemd hands it over, but for the number of the descriptor.
    let activate = |command: &mut Command| {
        let listener: OwnedFd = listener.try_clone().unwrap().into();
        command.stdin(Stdio::from(listener)).env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", "0");
    };
    let daemon = home.serve_with(activate).await;
    home.agent("a").await.store("The first daemon took this").await;
    daemon.kill();
    // Whoever calls while nobody runs is answered by the next.
    let waiting = home.agent("b");
    tokio::pin!(waiting);
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut waiting).await.is_err());
    let daemon = home.spawn_with(activate);
    assert_eq!(waiting.await.recall("first daemon").await.len(), 1);
    let second = home.command(&["serve", "--socket"]).arg(home.path("other.sock")).output();
    assert!(!second.unwrap().status.success(), "one daemon a store");
    assert!(daemon.stop().await.success());
    assert!(home.socket().exists(), "the socket is the manager's");
    assert!(!home.path("s/recalld.sock.lock").exists(), "nothing is made beside it");
}

#[tokio::test]
async fn systemd_socket_activate_starts_the_daemon_at_the_first_call() {
    const TOOL: &str = "/usr/bin/systemd-socket-activate";
    if !std::path::Path::new(TOOL).exists() {
        skip("activation by systemd-socket-activate", "it is not installed (package systemd)");
        return;
    }
    let home = Home::new();
    fs::create_dir(home.path("s")).unwrap();
    let serve = home.command(&["serve"]);
    let daemon = home.spawn_with(|command| {
        // The tool hands on only the variables it is told to.
        let mut activated = Command::new(TOOL);
        activated.env_clear().arg("--fdname=control").arg("-l").arg(home.socket());
        for (name, value) in serve.get_envs() {
            let mut pair = name.to_owned();
            pair.push("=");
            pair.push(value.unwrap_or_default());
            activated.arg("-E").arg(pair);
        }
        activated.arg(program()).args(serve.get_args()).stdin(Stdio::null());
        let log = fs::File::create(home.path("daemon.log")).unwrap();
        activated.stdout(Stdio::null()).stderr(log);
        *command = activated;
    });
    eventually("the tool listens", async || home.socket().exists().then_some(())).await;
    assert!(!home.state().exists(), "nobody has called yet");
    home.agent("a").await.store("The first call started the daemon").await;
    assert!(home.log().contains("ready"), "{}", home.log());
    assert!(daemon.stop().await.success());
    assert!(home.socket().exists(), "the socket is not the daemon's to remove");
}
