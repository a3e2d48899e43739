//! SIGKILL at random moments, in every phase in which a daemon can be: nothing acknowledged is lost,
//! nothing forgotten comes back. The same rounds run as an example program.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::{Agent, Daemon, Home, eventually};
use crate::random::Random;

mod backups;
mod jobs;
mod ledger;
mod writers;

pub use jobs::job_rounds;
use ledger::Ledger;

/// Longest time until a kill, counted from a daemon that answers, milliseconds.
const LIFE_MS_MAX: u64 = 400;
/// Longest time until a kill, counted from the start of a process, milliseconds.
const START_MS_MAX: u64 = 500;
/// Longest time until the kill of the first start on an empty directory, microseconds.
const FIRST_START_US_MAX: u64 = 60_000;
/// Rounds after which a new directory is taken, so that one run has small and large stores.
const ROUNDS_PER_HOME: u64 = 60;
/// Memories that are searched for by their words when a directory is left.
const SEARCHES: usize = 50;

/// What the daemon is at when it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// The first start on an empty directory.
    FirstStart,
    /// Stores, updates and forgets.
    Writing,
    /// The same, while the index is made anew after its directory was deleted.
    Rebuild,
    /// The same, while every memory is embedded anew by another model.
    Reembed,
    /// The same, while one backup after another is made.
    Backup,
    /// A backup is put in the place of the store.
    Restore,
}

impl Phase {
    const ALL: [Self; 6] = [
        Self::FirstStart,
        Self::Writing,
        Self::Rebuild,
        Self::Reembed,
        Self::Backup,
        Self::Restore,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::FirstStart => "first start",
            Self::Writing => "writing",
            Self::Rebuild => "index rebuild",
            Self::Reembed => "re-embedding",
            Self::Backup => "backup",
            Self::Restore => "restore",
        }
    }
}

/// Counts of a whole run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    n_rounds: u64,
    kills: BTreeMap<Phase, u64>,
    /// Acknowledged writes.
    pub n_acknowledged: u64,
    n_checked: u64,
    n_searched: u64,
    n_verified: u64,
    n_restored: u64,
    lost: Vec<String>,
    back: Vec<String>,
    not_found: Vec<String>,
    unsound: Vec<String>,
}

impl Summary {
    /// Whether every promise was kept.
    pub fn is_clean(&self) -> bool {
        self.faults().all(|(_, faults)| faults.is_empty())
    }

    fn faults(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        [
            ("lost", self.lost.as_slice()),
            ("back from the dead", &self.back),
            ("not found by their words", &self.not_found),
            ("failed verifies", &self.unsound),
        ]
        .into_iter()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} rounds, each with a kill", self.n_rounds)?;
        for (phase, n) in &self.kills {
            writeln!(f, "  {n} during {}", phase.name())?;
        }
        writeln!(f, "{} acknowledged writes", self.n_acknowledged)?;
        writeln!(f, "{} checks by id, {} by words", self.n_checked, self.n_searched)?;
        writeln!(f, "{} backups verified, {} restored", self.n_verified, self.n_restored)?;
        for (name, faults) in self.faults() {
            writeln!(f, "{} {name}", faults.len())?;
            for fault in faults {
                writeln!(f, "  {fault}")?;
            }
        }
        Ok(())
    }
}

/// Runs the rounds.
pub async fn rounds(n_rounds: u64, random: &mut Random) -> Summary {
    let mut summary = Summary::default();
    while summary.n_rounds < n_rounds {
        let n_here = ROUNDS_PER_HOME.min(n_rounds - summary.n_rounds);
        let mut world = World::new(Random::new(random.next()), summary);
        for _ in 0..n_here {
            world.round().await;
        }
        summary = world.leave().await;
        eprintln!("{} of {n_rounds} rounds", summary.n_rounds);
    }
    summary
}

/// A directory, what is known of its memories, and what was found so far.
struct World {
    home: Rc<Home>,
    model: &'static str,
    ledger: Ledger,
    random: Random,
    summary: Summary,
}

impl World {
    fn new(random: Random, summary: Summary) -> Self {
        let home = Home::new().expect_log("is for tests").expect_log("indexes repaired");
        Self { home: Rc::new(home), model: "bundled", ledger: Ledger::new(), random, summary }
    }

    /// One kill, and the check after it.
    async fn round(&mut self) {
        let at = usize::try_from(self.summary.n_rounds).unwrap() % Phase::ALL.len();
        let phase = Phase::ALL[at];
        match phase {
            Phase::FirstStart => self.kill_a_first_start().await,
            Phase::Writing => self.kill_writing().await,
            Phase::Rebuild => {
                drop(std::fs::remove_dir_all(self.home.state().join("index")));
                self.kill_starting().await;
            }
            Phase::Reembed => {
                self.model = if self.model == "bundled" { "seeded" } else { "bundled" };
                let home = Rc::get_mut(&mut self.home).unwrap();
                home.configure(&format!("[embed]\nmodel = \"{}\"\n", self.model));
                self.kill_starting().await;
            }
            Phase::Backup => self.kill_backing_up().await,
            Phase::Restore => self.kill_restoring().await,
        }
        self.summary.n_rounds += 1;
        *self.summary.kills.entry(phase).or_default() += 1;
    }

    /// A start on an empty directory of its own; a second start there must serve.
    async fn kill_a_first_start(&mut self) {
        let home = Home::new();
        let daemon = home.spawn();
        let life = Duration::from_micros(self.random.below(FIRST_START_US_MAX));
        tokio::time::sleep(life).await;
        daemon.kill();
        let daemon = home.serve().await;
        home.agent("first").await.store("stored after an interrupted first start").await;
        assert!(daemon.stop().await.success());
    }

    /// Checks what is there, then kills under writes.
    async fn kill_writing(&mut self) {
        let home = Rc::clone(&self.home);
        let daemon = home.serve().await;
        self.compare().await;
        let life = Duration::from_millis(self.random.below(LIFE_MS_MAX));
        let round = self.summary.n_rounds;
        self.summary.n_acknowledged +=
            kill_under_writes(daemon, life, round, &mut self.ledger, &mut self.random).await;
    }

    /// Kills under writes, some time after the start of the process; checks at the next start.
    async fn kill_starting(&mut self) {
        let home = Rc::clone(&self.home);
        let life = Duration::from_millis(self.random.below(START_MS_MAX));
        let round = self.summary.n_rounds;
        let daemon = home.spawn();
        self.summary.n_acknowledged +=
            kill_under_writes(daemon, life, round, &mut self.ledger, &mut self.random).await;
        let daemon = home.serve().await;
        self.compare().await;
        daemon.kill();
    }

    /// Compares the daemon with what is known, and adds what was found to the summary.
    async fn compare(&mut self) {
        let findings = ledger::compare(&self.home.owner().await, &mut self.ledger).await;
        self.summary.n_checked += findings.n_checked;
        let round = self.summary.n_rounds;
        let told = |fault: String| format!("round {round}: {fault}");
        self.summary.lost.extend(findings.lost.into_iter().map(told));
        self.summary.back.extend(findings.back.into_iter().map(told));
    }

    /// The last check of a directory: by id, and by words once everything is well.
    async fn leave(mut self) -> Summary {
        let home = Rc::clone(&self.home);
        let daemon = home.serve().await;
        let owner = home.owner().await;
        self.compare().await;
        settled(&owner).await;
        search(&owner, &self.ledger, &mut self.random, &mut self.summary).await;
        assert!(daemon.stop().await.success());
        self.summary
    }
}

/// Waits until every part is well. Embedding some thousand memories anew takes its time, so as long
/// as one was embedded within [`WAIT`](crate::daemon::WAIT) there is no hurry.
async fn settled(owner: &Agent) {
    let mut pending = u64::MAX;
    while pending > 0 {
        pending = eventually("every part is well, or a memory less is waiting", async || {
            let status = owner.must("memory_status", json!({})).await;
            let pass = &status["reembedding"];
            let n = |value: &Value| value.as_u64().unwrap_or(0);
            let left =
                n(&status["n_pending_vectors"]).max(n(&pass["n_total"]) - n(&pass["n_done"]));
            let left = left.max(1);
            if status["ok"] == json!(true) { Some(0) } else { (left < pending).then_some(left) }
        })
        .await;
    }
}

/// Lets agents write for this long, then kills the daemon under them; returns the number of
/// acknowledged writes.
async fn kill_under_writes(
    daemon: Daemon<'_>,
    life: Duration,
    round: u64,
    ledger: &mut Ledger,
    random: &mut Random,
) -> u64 {
    let is_over = AtomicBool::new(false);
    let socket = daemon.home().socket();
    let writing = writers::write(&socket, round, ledger, random, &is_over);
    let killing = kill_after(daemon, life, &is_over);
    futures::join!(writing, killing).0
}

/// Kills a daemon after this time, and says so.
async fn kill_after(daemon: Daemon<'_>, life: Duration, is_over: &AtomicBool) {
    tokio::time::sleep(life).await;
    // First: whoever sees a daemon go away must find that it was to be.
    is_over.store(true, Ordering::Relaxed);
    daemon.kill();
}

/// Looks for some of the memories by the one word that is theirs alone.
async fn search(owner: &Agent, ledger: &Ledger, random: &mut Random, summary: &mut Summary) {
    let there: Vec<_> = ledger.iter().filter(|(_, known)| known.is_certain()).collect();
    for _ in 0..SEARCHES.min(there.len()) {
        let (id, known) = there[usize::try_from(random.below(there.len() as u64)).unwrap()];
        let word = known.contents[0].split(' ').next().unwrap();
        let answer = owner.must("memory_search", json!({ "query": word })).await;
        let hits = answer["memories"].as_array().unwrap();
        if !hits.iter().any(|hit| hit["id"] == json!(id)) {
            summary.not_found.push(format!("{id} by {word}: {answer}"));
        }
        summary.n_searched += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::ledger::Known;
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_acknowledged_is_lost_and_nothing_forgotten_comes_back() {
        let n_rounds =
            std::env::var("RECALLD_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
        let mut random = Random::from_environment("kill rounds");
        let summary = rounds(n_rounds, &mut random).await;
        eprintln!("{summary}");
        assert!(summary.is_clean());
        assert!(summary.n_acknowledged > 0, "the rounds wrote nothing");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_that_was_cut_off_is_repeated_without_loss_or_duplicates() {
        let n_rounds =
            std::env::var("RECALLD_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
        let mut random = Random::from_environment("kill rounds in jobs");
        let summary = job_rounds(n_rounds, &mut random).await;
        eprintln!("{summary}");
        assert!(summary.is_clean());
    }

    #[tokio::test]
    async fn a_loss_and_a_return_are_noticed() {
        let home = Home::new();
        let _daemon = home.serve().await;
        let owner = home.owner().await;
        let id = owner.store("the one memory that is there").await;
        let forgotten = Known {
            contents: vec!["the one memory that is there".to_owned()],
            may_be_there: false,
            may_be_gone: true,
        };
        let changed = Known::stored("what was acknowledged later".to_owned());
        let sound = Known::stored("the one memory that is there".to_owned());
        let nowhere = "00000000-0000-7000-8000-000000000001".to_owned();
        for (id, known, n_lost, n_back) in [
            (&id, &sound, 0, 0),
            (&id, &forgotten, 0, 1),
            (&id, &changed, 1, 0),
            (&nowhere, &sound, 1, 0),
            (&nowhere, &forgotten, 0, 0),
        ] {
            let mut ledger = Ledger::from([(id.clone(), known.clone())]);
            let findings = ledger::compare(&owner, &mut ledger).await;
            assert_eq!((findings.lost.len(), findings.back.len()), (n_lost, n_back), "{known:?}");
        }
    }
}
