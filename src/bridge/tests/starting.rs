//! Starting the daemon. Scripts stand in for `systemctl` and for the daemon's program; what they
//! do not do, listening at the socket, the test does for them.

use std::os::unix::fs::PermissionsExt;

use super::super::start::{is_absent, start};
use super::*;
use crate::domain::limits::DIAL_WAIT_MIN;

impl Place {
    /// An executable script that notes its arguments in `<name>.log` and then runs `body`.
    fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.path(name);
        let log = self.path(&format!("{name}.log"));
        let text = format!("#!/bin/sh\necho \"$@\" >> '{}'\n{body}\n", log.display());
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn runs(&self, name: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    async fn until_run(&self, name: &str, line: &str) {
        soon(async {
            while !self.runs(name).iter().any(|run| run == line) {
                tokio::time::sleep(DIAL_WAIT_MIN).await;
            }
        })
        .await;
    }

    /// Settings that start `program` of this place, if it is a script here, after asking the
    /// script `systemctl`, if `with_unit`.
    fn start_settings(&self, with_unit: bool) -> StartSettings {
        StartSettings {
            unit: with_unit.then(|| UnitSettings {
                systemctl: self.path("systemctl"),
                name: "recalld".into(),
            }),
            program: self.path("daemon"),
            args: vec!["serve".into(), "--detach".into()],
            log: self.path("state/daemon.log"),
        }
    }

    /// A daemon that runs until the test is over.
    fn long_running(&self) -> PathBuf {
        let place = self.dir.path().display();
        self.script("daemon", &format!("while [ -d '{place}' ]; do sleep 0.05; done"))
    }
}

#[tokio::test]
async fn twenty_bridges_start_one_daemon() {
    let place = Place::new();
    place.long_running();
    let starts = (0..20).map(|_| start(place.start_settings(false), place.socket()));
    let starts = tokio::spawn(futures::future::join_all(starts.collect::<Vec<_>>()));
    place.until_run("daemon", "serve --detach").await;
    let _daemon = place.daemon();
    let results: Vec<Started> =
        soon(starts).await.unwrap().into_iter().collect::<Result<_, _>>().unwrap();
    assert!(results.contains(&Started::Now));
    assert_eq!(place.runs("daemon"), ["serve --detach"]);
    // Whoever comes later finds it.
    start(place.start_settings(false), place.socket()).await.unwrap();
    assert_eq!(place.runs("daemon").len(), 1);
}

#[tokio::test]
async fn the_unit_is_started_where_there_is_one() {
    let place = Place::new();
    place.script("systemctl", "exit 0");
    place.long_running();
    let started = tokio::spawn(start(place.start_settings(true), place.socket()));
    place.until_run("systemctl", "--user start recalld").await;
    let _daemon = place.daemon();
    assert_eq!(soon(started).await.unwrap().unwrap(), Started::Now);
    assert_eq!(place.runs("systemctl"), ["--user cat recalld", "--user start recalld"]);
    assert!(place.runs("daemon").is_empty());
}

#[tokio::test]
async fn without_the_unit_the_program_is_started() {
    let place = Place::new();
    place.script("systemctl", "exit 1");
    place.long_running();
    let started = tokio::spawn(start(place.start_settings(true), place.socket()));
    place.until_run("daemon", "serve --detach").await;
    let _daemon = place.daemon();
    assert_eq!(soon(started).await.unwrap().unwrap(), Started::Now);
    assert_eq!(place.runs("systemctl"), ["--user cat recalld"]);
}

#[tokio::test]
async fn failures_to_start_say_where_to_look() {
    let place = Place::new();
    place.script("systemctl", "[ \"$2\" = cat ]");
    let error = start(place.start_settings(true), place.socket()).await.unwrap_err();
    assert!(error.to_string().contains("systemctl --user status recalld"), "{error}");

    place.script("daemon", "echo no config >&2; exit 78");
    let error = start(place.start_settings(false), place.socket()).await.unwrap_err();
    assert!(error.to_string().contains("exit status: 78"), "{error}");
    assert!(error.to_string().contains("daemon.log"), "{error}");
    assert_eq!(std::fs::read_to_string(place.path("state/daemon.log")).unwrap(), "no config\n");
    let mode = std::fs::metadata(place.path("state/daemon.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_bridge_starts_the_daemon_and_uses_it() {
    let place = Place::new();
    place.long_running();
    let settings = BridgeSettings { start: Some(place.start_settings(false)), ..place.settings() };
    let mut client = Client::start(settings);
    client.call(1).await;
    place.until_run("daemon", "serve --detach").await;
    let daemon = place.daemon();
    // The start looks whether something listens, without a word.
    let call = loop {
        let mut connection = daemon.accept_raw().await;
        if soon(connection.read.next_line()).await.unwrap().is_some() {
            let call = connection.receive().await;
            connection.answer(&call, json!({})).await;
            break call;
        }
    };
    assert_eq!(client.receive().await["id"], call["id"]);
}

#[tokio::test]
async fn a_daemon_with_a_full_backlog_is_waited_for() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};

    let place = Place::new();
    place.long_running();
    let fd = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&fd, &SocketAddrUnix::new(place.socket()).unwrap()).unwrap();
    listen(&fd, 0).unwrap();
    let mut waiting = Vec::new();
    let refused = loop {
        match UnixStream::connect(place.socket()).await {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    let settings = BridgeSettings { start: Some(place.start_settings(false)), ..place.settings() };
    let mut client = Client::start(settings);
    client.request(1, "ping", json!({})).await;
    client.call(2).await;
    // The bridge answered this one itself, so it tried and was turned away.
    assert_eq!(client.receive().await["id"], 1);
    assert!(place.runs("daemon").is_empty() && !place.path("recalld.start-lock").exists());

    let listener = std::os::unix::net::UnixListener::from(fd);
    listener.set_nonblocking(true).unwrap();
    let daemon = Daemon { listener: UnixListener::from_std(listener).unwrap() };
    for _ in 0..waiting.len() {
        daemon.accept_raw().await;
    }
    let mut connection = daemon.accept().await;
    let call = connection.receive().await;
    connection.answer(&call, json!({})).await;
    assert_eq!(client.receive().await["id"], 2);
}

#[test]
fn only_an_absent_daemon_is_started() {
    for (kind, expected) in [
        (io::ErrorKind::NotFound, true),
        (io::ErrorKind::ConnectionRefused, true),
        (io::ErrorKind::WouldBlock, false),
        (io::ErrorKind::PermissionDenied, false),
        (io::ErrorKind::TimedOut, false),
    ] {
        assert_eq!(is_absent(&kind.into()), expected, "{kind}");
    }
}
