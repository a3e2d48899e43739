//! The real daemon on a filled directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use recalld::mcp::client::{Client, Hello};
use rustix::process::{Pid, Signal, kill_process};

use crate::daemon::{self, Agent, WAIT, eventually};

/// A number that the environment may give.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The program with the paths of a filled directory, and the seeded model.
pub fn command(dir: &Path, name: &str) -> Command {
    let log = File::options().create(true).append(true).open(dir.join("daemon.log")).unwrap();
    let mut command = Command::new(daemon::program());
    command
        .env_clear()
        .env("HOME", dir)
        .env("PATH", "/usr/bin:/bin")
        // As in the units.
        .env("MALLOC_ARENA_MAX", "2")
        .env("RECALLD_LOG", "info")
        .arg("--config")
        .arg(dir.join("seeded.toml"))
        .arg("--state-dir")
        .arg(dir.join("state"))
        .arg("--socket")
        .arg(socket(dir))
        .arg(name)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    command
}

/// Its socket.
pub fn socket(dir: &Path) -> PathBuf {
    dir.join("s").join("recalld.sock")
}

/// Every file below `dir`.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// A running daemon; killed at the end.
pub struct Served(Child);

impl Served {
    /// Starts it.
    pub fn start(dir: &Path) -> Self {
        Self(command(dir, "serve").spawn().unwrap())
    }

    /// A client of the person, once it takes one.
    pub async fn client(&self, dir: &Path) -> Agent {
        let client = eventually("the daemon takes a connection", async || {
            Client::connect(&socket(dir), &Hello::owner()).await.ok()
        })
        .await;
        client.initialize(WAIT).await.unwrap();
        Agent { client }
    }

    /// Ends it in order.
    pub fn stop(mut self) {
        kill_process(Pid::from_raw(self.0.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }

    /// What `/proc/<pid>/status` says of its memory, bytes.
    pub fn memory(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Processor time so far, of all threads.
    pub fn cpu(&self) -> Duration {
        /// What the kernel counts these times in (`USER_HZ`).
        const TICKS_PER_SECOND: u64 = 100;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        // The name of the program stands in parentheses before the other fields.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND)
    }

    /// Resident memory, bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
