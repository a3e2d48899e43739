//! Backups: at a word of the person, and on schedule.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::{Service, ServiceError};
use crate::domain::backup::{BackupHistory, next_backup};
use crate::domain::change::Forgotten;
use crate::domain::identity::Caller;
use crate::ports::{Backup, BackupError};

/// How often, and how many are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupPolicy {
    /// Time from one backup to the next; zero: none is made on schedule.
    pub every: Duration,
    /// Backups kept in the usual place, at least 1.
    pub keep: usize,
}

/// What `status` says of backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// The usual place.
    pub place: PathBuf,
    /// The newest that is known.
    pub last: Option<Backup>,
    /// How many are known.
    pub n_backups: usize,
    /// When the next one is due; `None`: none is made on schedule.
    pub next: Option<Timestamp>,
}

/// Remembers the last attempt, if it failed.
#[derive(Debug, Default)]
pub(super) struct BackupTrouble(Mutex<Option<(Timestamp, String)>>);

impl BackupTrouble {
    fn lock(&self) -> MutexGuard<'_, Option<(Timestamp, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Makes a backup now: at `to`, which must not exist, or in the usual place.
    ///
    /// # Errors
    /// `Invalid` for who is not the person and for a path that is not absolute; `Backup`.
    pub async fn back_up(
        &self,
        caller: &Caller,
        to: Option<PathBuf>,
    ) -> Result<Backup, ServiceError> {
        if !caller.is_owner() {
            let expected = "the person whose memory it is";
            return Err(ServiceError::invalid("caller", expected, &caller.actor));
        }
        if let Some(to) = to.as_ref().filter(|to| !to.is_absolute()) {
            return Err(ServiceError::invalid("file", "an absolute path", to.display()));
        }
        let is_regular = to.is_none();
        let made = self.backups.make(to, self.clock.now()).await;
        if is_regular {
            self.note_attempt(made.as_ref().err());
        }
        Ok(made?)
    }

    /// Makes the backup that is due, if one is, and then removes the oldest of too many. `None`: none
    /// is due.
    ///
    /// # Errors
    /// Why it could not be made; `status` shows it until one is.
    pub async fn back_up_if_due(&self) -> Result<Option<Backup>, BackupError> {
        let now = self.clock.now();
        let outcome = async {
            let known = self.backups.list().await?;
            match self.next_backup(&known, now) {
                Some(due) if due <= now => {}
                Some(_) | None => return Ok(None),
            }
            let made = self.backups.make(None, now).await?;
            self.backups.prune(self.settings().backup.keep).await?;
            Ok(Some(made))
        }
        .await;
        match &outcome {
            Ok(None) => {}
            // Somebody is making one right now.
            Err(BackupError::Running) => return Ok(None),
            Ok(Some(_)) => self.note_attempt(None),
            Err(error) => self.note_attempt(Some(error)),
        }
        outcome
    }

    fn note_attempt(&self, error: Option<&BackupError>) {
        *self.backup_trouble.lock() = error
            .filter(|error| **error != BackupError::Running)
            .map(|error| (self.clock.now(), error.to_string()));
    }

    fn next_backup(&self, known: &[Backup], now: Timestamp) -> Option<Timestamp> {
        let every = self.settings().backup.every;
        let failed_at = self.backup_trouble.lock().as_ref().map(|(at, _)| *at);
        // One from the future was made while the clock was wrong and says nothing.
        let last = known.iter().map(|backup| backup.created_at).filter(|at| *at <= now).max();
        let history = BackupHistory { last, failed_at, started_at: self.started_at };
        (!every.is_zero()).then(|| next_backup(history, every))
    }

    /// State of the backups, and what is wrong with them.
    pub(super) async fn backup_report(&self, now: Timestamp) -> (BackupReport, Option<String>) {
        let mut trouble = self.backup_trouble.lock().as_ref().map(|(_, reason)| reason.clone());
        let known = match self.backups.list().await {
            Ok(known) => known,
            // That is the store's own trouble.
            Err(BackupError::Store(_)) => Vec::new(),
            Err(error) => {
                trouble = trouble.or_else(|| Some(error.to_string()));
                Vec::new()
            }
        };
        let report = BackupReport {
            place: self.backups.place().to_owned(),
            next: self.next_backup(&known, now),
            n_backups: known.len(),
            last: known.into_iter().next_back(),
        };
        (report, trouble)
    }

    /// The names of the backups that were made while a memory of this receipt existed, and may so
    /// still hold it.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub(super) async fn backups_holding(
        &self,
        receipt: &Forgotten,
    ) -> Result<Vec<String>, BackupError> {
        let Some(oldest) = receipt.ids.iter().map(|id| id.created_at_ms()).min() else {
            return Ok(Vec::new());
        };
        let known = self.backups.list().await?;
        let holds = |backup: &Backup| {
            backup.created_at <= receipt.forgotten_at
                && u64::try_from(backup.created_at.as_millisecond()).is_ok_and(|at| at >= oldest)
        };
        let name = |backup: Backup| {
            let name = backup.path.file_name().unwrap_or(backup.path.as_os_str());
            name.to_string_lossy().into_owned()
        };
        Ok(known.into_iter().filter(holds).map(name).collect())
    }
}
