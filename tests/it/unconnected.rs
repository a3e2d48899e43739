//! A first start with an empty home and no network: it serves, says what is reduced, and tries to
//! reach nobody.
//!
//! Two witnesses: the counters that the kernel keeps for a network namespace that holds the daemon
//! alone, which also count attempts that came to nothing, and the system calls that strace saw.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use recalld::mcp::client::{Client, Hello};
use serde_json::{Value, json};

use crate::daemon::{Agent, WAIT, eventually, program};
use crate::skip::skip;

/// Kernel counters that grow when a program tries to reach somebody: by TCP, by UDP, or by anything
/// for which there is no route.
const COUNTERS: &[(&str, &str)] = &[
    ("snmp", "Tcp ActiveOpens"),
    ("snmp", "Udp OutDatagrams"),
    ("snmp", "Ip OutRequests"),
    ("snmp", "Ip OutNoRoutes"),
    ("snmp6", "Udp6OutDatagrams"),
    ("snmp6", "Ip6OutRequests"),
    ("snmp6", "Ip6OutNoRoutes"),
];

/// Tables of the sockets of a network namespace.
const TABLES: &[&str] = &["tcp", "tcp6", "udp", "udp6", "raw", "raw6"];

/// The command that runs another in a network namespace of its own, if that is allowed here.
fn namespace() -> Option<&'static [&'static str]> {
    // Root may; others only as the root of a user namespace, where that is allowed.
    [&["unshare", "--net"][..], &["unshare", "--map-root-user", "--net"]].into_iter().find(
        |command| {
            let mut probe = Command::new(command[0]);
            probe.args(&command[1..]).arg("true").output().is_ok_and(|out| out.status.success())
        },
    )
}

fn can_trace() -> bool {
    let mut probe = Command::new("strace");
    probe.args(["-f", "-o", "/dev/null", "true"]);
    probe.output().is_ok_and(|output| output.status.success())
}

/// What the kernel counted in the network namespace of a process, by name, without the zeros.
fn attempts(pid: u32) -> Vec<(&'static str, u64)> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/net/{file}")).unwrap();
    let mut attempts: Vec<(&str, u64)> = COUNTERS
        .iter()
        .map(|(file, name)| (*name, counter(&read(file), name).unwrap_or(0)))
        .collect();
    attempts.extend(TABLES.iter().map(|table| {
        let n_sockets = fs::read_to_string(format!("/proc/{pid}/net/{table}"))
            .map_or(0, |text| text.lines().skip(1).count());
        (*table, n_sockets as u64)
    }));
    attempts.retain(|(_, n)| *n > 0);
    attempts
}

/// A counter: either on a line of its own, or in a line of values below one of names.
fn counter(text: &str, name: &str) -> Option<u64> {
    let Some((protocol, name)) = name.split_once(' ') else {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
        return line.split_whitespace().nth(1)?.parse().ok();
    };
    let mut lines = text.lines().filter(|line| line.starts_with(&format!("{protocol}:")));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|found| found == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

/// A daemon cut off from every network; killed at the end.
struct CutOff {
    child: Child,
    is_traced: bool,
}

impl CutOff {
    /// Starts it with an empty home, no configuration and no flags.
    fn start(namespace: &[&str], home: &Path) -> Self {
        let is_traced = can_trace();
        if !is_traced {
            skip("system calls of a first start", "no strace, or tracing is not allowed");
        }
        let mut command = Command::new(namespace[0]);
        command.args(&namespace[1..]);
        if is_traced {
            command.args(["strace", "-f", "-qq", "-e", "trace=%network", "-o"]);
            command.arg(home.with_extension("trace"));
        }
        let log = fs::File::create(home.with_extension("log")).unwrap();
        let child = command
            .arg(program())
            .arg("serve")
            .env_clear()
            .env("HOME", home)
            .env("XDG_RUNTIME_DIR", home.join("run"))
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { child, is_traced }
    }

    /// The daemon's own process.
    fn pid(&self) -> u32 {
        let pid = self.child.id();
        if !self.is_traced {
            return pid;
        }
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Stops it in order.
    async fn stop(mut self) {
        let pid = rustix::process::Pid::from_raw(self.pid().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = eventually("the daemon stops", async || self.child.try_wait().unwrap()).await;
        assert!(status.success(), "{status}");
    }
}

impl Drop for CutOff {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[tokio::test]
async fn a_first_start_without_a_network_serves_and_reaches_out_to_nobody() {
    let Some(namespace) = namespace() else {
        skip("a first start without a network", "network namespaces are not allowed");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    fs::create_dir(&home).unwrap();
    let daemon = CutOff::start(namespace, &home);
    let socket = home.join("run/recalld/recalld.sock");
    let client = eventually("the daemon answers", async || {
        Client::connect(&socket, &Hello::owner()).await.ok()
    })
    .await;
    client.initialize(WAIT).await.unwrap();
    let agent = Agent { client };

    // The model comes up behind the start; it needs no download, so it does come up.
    let status = eventually("every part is well", async || {
        let status = agent.must("memory_status", json!({})).await;
        (status["ok"] == json!(true)).then_some(status)
    })
    .await;
    let notes = status["notes"].to_string();
    assert!(notes.contains("Latin script only"), "what is reduced is not said: {status}");
    agent.store("The cat was sleeping on the sofa all afternoon").await;
    agent.store("The quarterly report is due on Friday").await;
    let found = agent.must("memory_search", json!({ "query": "a kitten napping" })).await;
    let contents: Vec<&Value> =
        found["memories"].as_array().unwrap().iter().map(|hit| &hit["content"]).collect();
    assert_eq!(contents, [&json!("The cat was sleeping on the sofa all afternoon")]);
    assert_eq!(found["degraded"], Value::Null, "{found}");

    assert_eq!(attempts(daemon.pid()), [], "somebody was to be reached");
    let is_traced = daemon.is_traced;
    daemon.stop().await;
    if is_traced {
        let trace = fs::read_to_string(home.with_extension("trace")).unwrap();
        assert!(trace.contains("AF_UNIX"), "the trace is empty: {trace}");
        let outward: Vec<&str> = trace.lines().filter(|line| reaches_out(line)).collect();
        assert!(outward.is_empty(), "{outward:#?}");
    }
}

/// Whether a traced system call makes or uses a socket that is not local.
fn reaches_out(line: &str) -> bool {
    line.contains("AF_") && !line.contains("AF_UNIX") && !line.contains("AF_UNSPEC")
}

/// The witnesses see what they must: a program that does try to reach somebody.
#[test]
fn an_attempt_to_reach_somebody_is_seen() {
    let Some(namespace) = namespace() else {
        skip("an attempt to reach somebody", "network namespaces are not allowed");
        return;
    };
    let mut tries = Command::new(namespace[0])
        .args(&namespace[1..])
        .args(["bash", "-c", ": > /dev/udp/192.0.2.1/53; echo tried; read -r _"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(tries.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut String::new()).unwrap();
    let attempts = attempts(tries.id());
    drop(tries.stdin.take());
    tries.wait().unwrap();
    assert!(!attempts.is_empty(), "the attempt was not counted");
    assert!(reaches_out("socket(AF_INET6, SOCK_STREAM, IPPROTO_IP) = 3"));
    assert!(reaches_out("connect(3, {sa_family=AF_INET, sin_port=htons(53)}, 16) = 0"));
}
