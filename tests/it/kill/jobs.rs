//! Kills in the middle of jobs: a run that was cut off is taken up or repeated, and in the end all is as
//! if it had not been: no memory lost, none summarised twice, none forgotten that no rule takes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write as _;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use serde_json::{Value, json};

use super::ledger::{self, Known, Ledger};
use crate::daemon::{Agent, Daemon, Home, WAIT, eventually};
use crate::random::Random;

/// Jobs run when they are asked for alone; old memories go at once where they may go.
const CONFIG: &str = "[embed]\nmodel = \"none\"\n[jobs]\nzone = \"UTC\"\n[mcp]\ntoolset = \"full\"\n\
    [contradiction]\nautomatic = false\n[archive]\nunused_days = 30\n\
    [[retention.rules]]\nnamespace = \"scratch\"\nolder_than_days = 60\n";

/// Rounds after which a new directory is taken.
const ROUNDS_PER_HOME: u64 = 10;
/// Old memories that are brought in each round, in each of two namespaces.
const OLD: u64 = 30;
/// Facts about one thing that are new in each round, and how many things there are.
const NEW: (u64, u64) = (6, 3);

/// Counts of all rounds.
#[derive(Clone, Debug, Default)]
pub struct JobSummary {
    n_rounds: u64,
    /// Kills during each job, and how many of them cut a run off.
    kills: BTreeMap<String, (u64, u64)>,
    n_checked: u64,
    faults: Vec<String>,
}

impl JobSummary {
    /// Whether every promise was kept.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// Kills that cut a run off.
    pub fn n_cut_off(&self) -> u64 {
        self.kills.values().map(|(_, n)| n).sum()
    }
}

impl fmt::Display for JobSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, n_cut_off) = (self.n_rounds, self.n_cut_off());
        writeln!(f, "{n} rounds, each with a kill; {n_cut_off} cut a run off")?;
        for (job, (n, n_cut_off)) in &self.kills {
            writeln!(f, "  {n} during {job}, of which {n_cut_off} cut a run off")?;
        }
        writeln!(f, "{} checks by id, {} faults", self.n_checked, self.faults.len())?;
        for fault in &self.faults {
            writeln!(f, "  {fault}")?;
        }
        Ok(())
    }
}

/// Runs the rounds, the jobs in turns.
pub async fn job_rounds(n_rounds: u64, random: &mut Random) -> JobSummary {
    let mut summary = JobSummary::default();
    while summary.n_rounds < n_rounds {
        let n_here = ROUNDS_PER_HOME.min(n_rounds - summary.n_rounds);
        let mut world = World::new(Random::new(random.next()), summary).await;
        for _ in 0..n_here {
            world.round().await;
        }
        summary = world.summary;
        eprintln!("{} of {n_rounds} rounds in jobs", summary.n_rounds);
    }
    summary
}

struct World {
    home: Rc<Home>,
    clock: SystemClock,
    random: Random,
    ledger: Ledger,
    /// Old memories that a rule of retention takes.
    scratch: BTreeSet<String>,
    /// How long the last whole run of each job took.
    times: BTreeMap<String, Duration>,
    summary: JobSummary,
}

impl World {
    async fn new(random: Random, summary: JobSummary) -> Self {
        let home = Home::with_config(CONFIG).expect_log("indexes repaired");
        let home = Rc::new(home.expect_log("runs were cut off by the end of the daemon"));
        let world = Self {
            home: Rc::clone(&home),
            clock: SystemClock::new(),
            random,
            ledger: Ledger::new(),
            scratch: BTreeSet::new(),
            times: BTreeMap::new(),
            summary,
        };
        let daemon = home.serve().await;
        // The first run of a purge shows what the rules take, and takes nothing.
        run(&home.owner().await, "purge").await;
        assert!(daemon.stop().await.success());
        world
    }

    /// Brings memories of long ago: some that fade and are archived, some that a rule takes.
    fn import_old(&mut self) {
        let (round, mut lines) = (self.summary.n_rounds, String::new());
        for n in 0..2 * OLD {
            let is_scratch = n >= OLD;
            let id = format!("0190a000-0000-7000-8000-{:012x}", round << 16 | n);
            let namespace = if is_scratch { "scratch" } else { "user" };
            let content =
                format!("Parcel {n} came to the door, label {}", self.random.clone().next() ^ n);
            let at = "2024-07-01T00:00:00Z";
            let line = json!({ "memory": {
                "id": id, "namespace": namespace, "content": content, "kind": "event",
                "created_at": at, "updated_at": at, "importance": 0.4, "pinned": n % 50 == 0,
                "status": "active", "origin": "stated", "version": 1, "content_version": 1,
                "usage": { "recalls": 0, "anchor": 0.4, "anchor_at": at },
            }});
            lines.push_str(&format!("{line}\n"));
            self.ledger.insert(id.clone(), Known::stored(content));
            if is_scratch && n % 50 != 0 {
                self.scratch.insert(id);
            }
        }
        let created_at = "2026-01-01T00:00:00Z";
        let header = json!({ "version": 1, "created_at": created_at, "n_memories": 2 * OLD });
        let digest = blake3::hash(lines.as_bytes()).to_hex();
        let footer = json!({
            "n_memories": 2 * OLD, "n_forgotten": 0, "n_lines": 2 * OLD, "blake3": digest.as_str(),
        });
        let (header, footer) = (json!({ "recalld_export": header }), json!({ "end": footer }));
        let text = format!("{header}\n{lines}{footer}\n");
        let mut command = self.home.command(&["import", "-"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// One kill in the middle of a job, and what must be true after the next start.
    async fn round(&mut self) {
        let home = Rc::clone(&self.home);
        let daemon = home.serve().await;
        let owner = home.owner().await;
        let names = names(&owner).await;
        let job = names[usize::try_from(self.summary.n_rounds).unwrap() % names.len()].clone();
        self.import_old();
        self.say_more(&owner).await;
        drop(owner);
        self.kill_in(daemon, &job).await;
        // It would be a fault of the purge if it took anything that no rule takes.
        if job == "purge" {
            for id in &self.scratch {
                self.ledger.get_mut(id).unwrap().may_be_gone = true;
            }
        }
        let daemon = home.serve().await;
        let owner = home.owner().await;
        let counts = self.summary.kills.entry(job.clone()).or_default();
        counts.0 += 1;
        counts.1 += u64::from(was_cut_off(&owner, &job).await);
        self.compare(&owner).await;
        for job in &names {
            let started = self.clock.monotonic();
            let ran = run(&owner, job).await;
            self.times.insert(job.clone(), self.clock.monotonic().saturating_sub(started));
            if ran["outcome"] != "done" {
                self.fault(&format!("after a kill in {job}: {ran}"));
            }
        }
        for id in std::mem::take(&mut self.scratch) {
            let known = self.ledger.get_mut(&id).unwrap();
            (known.may_be_there, known.may_be_gone) = (false, true);
        }
        self.compare(&owner).await;
        self.compare_summaries();
        for job in &names {
            let again = run(&owner, job).await;
            if again["n_changed"] != 0 {
                self.fault(&format!("{job} has something to do twice: {again}"));
            }
        }
        drop(owner);
        self.verify();
        assert!(daemon.stop().await.success());
        self.summary.n_rounds += 1;
    }

    /// New facts, so that there is something to consolidate.
    async fn say_more(&mut self, owner: &Agent) {
        let round = self.summary.n_rounds;
        for thing in 0..NEW.1 {
            for n in 0..NEW.0 {
                let content = format!(
                    "The lighthouse keeper of rock{round}x{thing} noted sail{round}x{thing} \
                     and storm{round}x{thing} beside gull{round}x{thing}, line {n}"
                );
                let id = owner.store(&content).await;
                self.ledger.insert(id, Known::stored(content));
            }
        }
    }

    /// Asks for the job and kills the daemon at some moment of the time that it takes.
    async fn kill_in(&mut self, daemon: Daemon<'_>, job: &str) {
        let client = self.home.owner().await.client;
        let usual = self.times.get(job).copied().unwrap_or(Duration::from_millis(60));
        let life = Duration::from_micros(self.random.below(usual.as_micros().try_into().unwrap()));
        let arguments = json!({ "job": job });
        let asking = client.call_tool("maintenance_run", arguments, WAIT);
        let killing = async {
            tokio::time::sleep(life).await;
            daemon.kill();
        };
        // It is answered, or the daemon goes away before.
        drop(futures::join!(asking, killing).0);
    }

    async fn compare(&mut self, owner: &Agent) {
        let findings = ledger::compare(owner, &mut self.ledger).await;
        self.summary.n_checked += findings.n_checked;
        for fault in findings.lost.into_iter().chain(findings.back) {
            self.fault(&fault);
        }
    }

    /// Each memory is in one current summary at most, and names that one.
    fn compare_summaries(&mut self) {
        let output = self.home.run(&["export"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let memories: Vec<Value> =
            lines.filter_map(|mut line| line.get_mut("memory").map(Value::take)).collect();
        let is_live = |memory: &&Value| memory["kind"] == "summary" && memory["status"] == "active";
        let mut of: BTreeMap<&str, &Value> = BTreeMap::new();
        let mut faults = Vec::new();
        for summary in memories.iter().filter(is_live) {
            for source in summary["derived_from"].as_array().unwrap() {
                if let Some(other) = of.insert(source.as_str().unwrap(), &summary["id"]) {
                    faults.push(format!("{source} is in {other} and in {}", summary["id"]));
                }
            }
        }
        for memory in memories.iter().filter(|memory| memory["kind"] != "summary") {
            let named = memory.get("consolidated_into");
            if named != of.get(memory["id"].as_str().unwrap()).copied() {
                faults.push(format!("{} names {named:?}", memory["id"]));
            }
        }
        if of.is_empty() {
            faults.push(format!("nothing is summarised: {output:?}"));
        }
        for fault in faults {
            self.fault(&fault);
        }
    }

    /// All tables of the store agree: a backup of it says so.
    fn verify(&mut self) {
        let file = self.home.path(&format!("{}.backup", self.summary.n_rounds));
        for command in ["backup", "verify"] {
            let output = self.home.run(&[command, file.to_str().unwrap()]);
            if !output.status.success() {
                self.fault(&String::from_utf8_lossy(&output.stderr));
            }
        }
        std::fs::remove_file(&file).unwrap();
    }

    fn fault(&mut self, fault: &str) {
        self.summary.faults.push(format!("round {}: {fault}", self.summary.n_rounds));
    }
}

/// Every job there is.
async fn names(owner: &Agent) -> Vec<String> {
    let list = owner.must("maintenance_list", json!({})).await;
    let jobs = list["jobs"].as_array().unwrap();
    jobs.iter().map(|job| job["job"].as_str().unwrap().to_owned()).collect()
}

/// A run to its end.
async fn run(owner: &Agent, job: &str) -> Value {
    let mut run = eventually("the job runs", async || {
        let reply = owner.call("maintenance_run", json!({ "job": job })).await;
        // At the start, their state may not have been read yet.
        reply.structured.filter(|_| !reply.is_error)
    })
    .await;
    while run.get("finished_at").is_none() {
        run = owner.must("maintenance_report", json!({ "run": run["run"] })).await;
    }
    run
}

/// Whether the last run of this job was.
async fn was_cut_off(owner: &Agent, job: &str) -> bool {
    let list = owner.must("maintenance_list", json!({})).await;
    let runs = list["runs"].as_array().unwrap();
    let last = runs.iter().find(|run| run["job"] == job);
    last.is_some_and(|run| run["outcome"] == "interrupted")
}
