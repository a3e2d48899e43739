//! Backups: at a word of the person, and on schedule.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::status::{PartState, PartStatus};
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

/// Remembers the attempts that failed, until one succeeds.
#[derive(Debug, Default)]
pub(super) struct BackupTrouble(Mutex<Option<Failure>>);

/// A row of failed attempts.
#[derive(Clone, Debug)]
struct Failure {
    /// When the first was.
    since: Timestamp,
    /// When the last was.
    last_at: Timestamp,
    /// Why the last failed.
    because: String,
}

impl BackupTrouble {
    fn lock(&self) -> MutexGuard<'_, Option<Failure>> {
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
        Ok(self.make_backup(to).await?)
    }

    async fn make_backup(&self, to: Option<PathBuf>) -> Result<Backup, BackupError> {
        let is_regular = to.is_none();
        let made = self.backups.make(to, self.clock.now()).await;
        if is_regular {
            self.note_attempt(made.as_ref().err());
        }
        made
    }

    /// Makes a backup of a store whose file is gone, which would end with the process. `None`: the
    /// place where the backups lie is gone, too, which looks as if somebody meant it.
    ///
    /// # Errors
    /// Why it could not be made.
    pub async fn rescue(&self) -> Result<Option<Backup>, BackupError> {
        let place = self.backups.place();
        if !place.exists() && !place.parent().is_some_and(std::path::Path::exists) {
            return Ok(None);
        }
        self.make_backup(None).await.map(Some)
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
        let now = self.clock.now();
        let mut trouble = self.backup_trouble.lock();
        let since = trouble.as_ref().map_or(now, |failure| failure.since);
        *trouble = error.filter(|error| **error != BackupError::Running).map(|error| Failure {
            since,
            last_at: now,
            because: error.to_string(),
        });
    }

    fn next_backup(&self, known: &[Backup], now: Timestamp) -> Option<Timestamp> {
        let every = self.settings().backup.every;
        let failed_at = self.backup_trouble.lock().as_ref().map(|failure| failure.last_at);
        // One from the future was made while the clock was wrong and says nothing.
        // A copy that somebody took elsewhere may be gone when it is needed.
        let kept = known.iter().filter(|backup| self.is_kept(backup));
        let last = kept.map(|backup| backup.created_at).filter(|at| *at <= now).max();
        let history = BackupHistory { last, failed_at, started_at: self.started_at };
        (!every.is_zero()).then(|| next_backup(history, every))
    }

    /// Whether a backup lies in the directory of the backups.
    fn is_kept(&self, backup: &Backup) -> bool {
        backup.path.parent() == Some(self.backups.place())
    }

    /// State of the backups in their directory, in numbers and as a part.
    pub(super) async fn backup_report(&self, now: Timestamp) -> (BackupReport, PartStatus) {
        let mut trouble = self.backup_trouble.lock().clone();
        let known = match self.backups.list().await {
            Ok(known) => known,
            // That is the store's own trouble.
            Err(BackupError::Store(_)) => Vec::new(),
            Err(error) => {
                let new = || Failure { since: now, last_at: now, because: error.to_string() };
                trouble = Some(trouble.unwrap_or_else(new));
                Vec::new()
            }
        };
        let next = self.next_backup(&known, now);
        let kept: Vec<Backup> = known.into_iter().filter(|backup| self.is_kept(backup)).collect();
        let report = BackupReport {
            place: self.backups.place().to_owned(),
            next,
            n_backups: kept.len(),
            last: kept.into_iter().next_back(),
        };
        let state = match trouble {
            Some(Failure { since, because, .. }) => PartState::Degraded { since, because },
            None if report.next.is_some() => PartState::Ok,
            None => PartState::Off {
                because: "no backup is made on schedule: `backup.every_hours` is 0".to_owned(),
            },
        };
        (report, PartStatus { name: "backup", state })
    }

    /// The names (the paths of those elsewhere) of the backups that were made while a memory of this receipt existed, and may so
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
        // One in the usual place is known by its name, another by where it lies.
        let name = |backup: Backup| {
            let name = backup.path.file_name().filter(|_| self.is_kept(&backup));
            name.unwrap_or(backup.path.as_os_str()).to_string_lossy().into_owned()
        };
        Ok(known.into_iter().filter(holds).map(name).collect())
    }
}
