//! Kills while a backup is made and while one is restored.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::ledger::{self, Known, Ledger};
use super::{World, kill_after, writers};
use crate::daemon::{Home, WAIT};

/// Longest time until the kill of a daemon that makes backups, milliseconds.
const BACKUP_MS_MAX: u64 = 400;
/// Longest time until the kill of a restore, milliseconds.
const RESTORE_MS_MAX: u64 = 100;
/// Time for writes between a backup and its restore, milliseconds.
const WRITE_MS: u64 = 60;

impl World {
    /// Kills a daemon that makes one backup after another under writes. What then bears the name of
    /// a backup must be one.
    pub(super) async fn kill_backing_up(&mut self) {
        let home = Rc::clone(&self.home);
        let dir = home.path("backups");
        fs::create_dir_all(&dir).unwrap();
        let daemon = home.serve().await;
        self.compare().await;
        let life = Duration::from_millis(self.random.below(BACKUP_MS_MAX));
        let round = self.summary.n_rounds;
        let is_over = AtomicBool::new(false);
        let socket = home.socket();
        let backing_up = async {
            for n in 0.. {
                let file = dir.join(format!("{n}.backup"));
                let arguments = ["backup", file.to_str().unwrap()];
                let made = run(&home, &arguments).output().await.unwrap();
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            }
        };
        let writing = writers::write(&socket, round, &mut self.ledger, &mut self.random, &is_over);
        let killing = kill_after(daemon, life, &is_over);
        let (n_acknowledged, (), ()) = futures::join!(writing, backing_up, killing);
        self.summary.n_acknowledged += n_acknowledged;
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "backup") {
                self.verify(&path).await;
            }
        }
        fs::remove_dir_all(&dir).unwrap();
    }

    /// Kills a restore. The store is then the one that was there, or the one of the backup with
    /// everything forgotten that was forgotten meanwhile; never a mixture, never none.
    pub(super) async fn kill_restoring(&mut self) {
        let home = Rc::clone(&self.home);
        let file = home.path("restored.backup");
        let daemon = home.serve().await;
        self.compare().await;
        let made = run(&home, &["backup", file.to_str().unwrap()]).output().await.unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        self.verify(&file).await;
        let backed_up = self.ledger.clone();
        self.write_for(Duration::from_millis(WRITE_MS)).await;
        assert!(daemon.stop().await.success());

        // One in four ends in peace, and the daemon is killed after its first start with the result.
        let life = match self.random.below(4) {
            0 => WAIT,
            _ => Duration::from_millis(self.random.below(RESTORE_MS_MAX)),
        };
        let mut restoring = run(&home, &["restore", file.to_str().unwrap()]).spawn().unwrap();
        let ended = tokio::time::timeout(life, restoring.wait()).await;
        restoring.kill().await.unwrap();
        let is_done = ended.is_ok_and(|status| status.unwrap().success());
        fs::remove_file(&file).unwrap();

        let daemon = home.serve().await;
        self.take_one_of(restored(&backed_up, &self.ledger), is_done).await;
        daemon.kill();
    }

    async fn write_for(&mut self, time: Duration) {
        let round = self.summary.n_rounds;
        let is_over = AtomicBool::new(false);
        let socket = self.home.socket();
        let writing = writers::write(&socket, round, &mut self.ledger, &mut self.random, &is_over);
        let ending = async {
            tokio::time::sleep(time).await;
            is_over.store(true, Ordering::Relaxed);
        };
        self.summary.n_acknowledged += futures::join!(writing, ending).0;
    }

    /// Compares with both stores that may be there now, and goes on with the one that is.
    async fn take_one_of(&mut self, mut restored: Ledger, must_be_restored: bool) {
        let owner = self.home.owner().await;
        let findings = ledger::compare(&owner, &mut restored).await;
        if findings.is_clean() {
            self.summary.n_restored += 1;
            self.summary.n_checked += findings.n_checked;
            self.ledger = restored;
        } else if must_be_restored {
            let (lost, back) = (findings.lost.len(), findings.back.len());
            let fault = format!("a restore that ended well is {lost} lost, {back} back");
            self.summary.lost.push(fault);
        } else {
            self.compare().await;
        }
    }

    async fn verify(&mut self, file: &Path) {
        let output = run(&self.home, &["verify", file.to_str().unwrap()]).output().await.unwrap();
        self.summary.n_verified += 1;
        if !output.status.success() {
            let round = self.summary.n_rounds;
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            self.summary.unsound.push(format!("round {round}: {why}"));
        }
    }
}

fn run(home: &Home, arguments: &[&str]) -> tokio::process::Command {
    let mut command = tokio::process::Command::from(home.command(arguments));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// What is there after a restore: the memories of the backup, without those forgotten since then.
fn restored(backed_up: &Ledger, now: &Ledger) -> Ledger {
    let one = |(id, known): (&String, &Known)| {
        let known = match backed_up.get(id) {
            Some(earlier) if known.may_be_there => earlier.clone(),
            _ => Known { may_be_there: false, may_be_gone: true, ..known.clone() },
        };
        (id.clone(), known)
    };
    now.iter().map(one).collect()
}
