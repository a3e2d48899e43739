//! Backups on schedule, what `status` says of them, and the receipts that name them.

use std::fs;
use std::time::Duration;

use super::fixture::{Fixture, agent, owner};
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::{BACKUP_RETRY, BACKUP_START_DELAY};
use crate::ports::{BackupError, Clock as _};
use crate::service::ServiceError;
use crate::service::forget::{ForgetAnswer, ForgetRequest};
use crate::service::status::{PartState, StatusReport};

const DAY: Duration = Duration::from_hours(24);
const SECOND: Duration = Duration::from_secs(1);

impl Fixture {
    /// Looks whether a backup is due, and makes it; whether it was.
    async fn look(&self) -> bool {
        self.service.back_up_if_due().await.unwrap().is_some()
    }

    fn backup_names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.dir.path().join("backups"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Forgets a memory; gives the names of the backups on the receipt.
    async fn forget_naming(&self, caller: &Caller, id: MemoryId) -> Vec<String> {
        let request = ForgetRequest::Ids { references: vec![id.to_string()], request: None };
        match self.service.forget(caller, request).await.unwrap() {
            ForgetAnswer::Receipt { backups, backups_unknown: None, .. } => backups,
            other @ (ForgetAnswer::Receipt { .. } | ForgetAnswer::Preview { .. }) => {
                panic!("{other:?}")
            }
        }
    }
}

fn backup_part(report: &StatusReport) -> &PartState {
    &report.parts.iter().find(|part| part.name == "backup").unwrap().state
}

#[tokio::test(start_paused = true)]
async fn a_backup_is_made_when_it_is_due_and_the_oldest_of_too_many_goes() {
    let fixture = Fixture::new().await;
    fixture.store("Rex is our dog").await;
    assert!(!fixture.look().await, "it is too early after the start");
    let report = fixture.service.status().await;
    assert_eq!((report.backup.last, report.backup.n_backups), (None, 0));
    assert_eq!(report.backup.next, Some(report.started_at + BACKUP_START_DELAY));
    fixture.clock.advance(BACKUP_START_DELAY);
    assert!(fixture.look().await);
    assert!(!fixture.look().await, "once is enough");
    let made_at = fixture.clock.now();
    fixture.clock.advance(SECOND * 86_399);
    assert!(!fixture.look().await, "a second too early");
    fixture.clock.advance(SECOND);
    assert!(fixture.look().await);
    let first = fixture.backup_names();
    assert_eq!(first.len(), 2);
    fixture.clock.advance(DAY * 3);
    assert!(fixture.look().await);
    let names = fixture.backup_names();
    assert_eq!((names.len(), &names[0]), (2, &first[1]), "two are kept");
    let report = fixture.service.status().await;
    let last = report.backup.last.as_ref().unwrap();
    assert_eq!((last.n_memories, report.backup.n_backups), (1, 2));
    assert_eq!(last.created_at, made_at + DAY * 4);
    assert_eq!(report.backup.next, Some(last.created_at + DAY));
    assert_eq!(*backup_part(&report), PartState::Ok);
}

#[tokio::test(start_paused = true)]
async fn a_copy_elsewhere_puts_off_no_backup_and_is_not_counted_as_kept() {
    let fixture = Fixture::new().await;
    fixture.store("Rex is our dog").await;
    let copy = fixture.dir.path().join("mine.backup");
    fixture.service.back_up(&owner(), Some(copy)).await.unwrap();
    let report = fixture.service.status().await;
    assert_eq!((report.backup.last, report.backup.n_backups), (None, 0));
    fixture.clock.advance(BACKUP_START_DELAY);
    assert!(fixture.look().await);
    assert_eq!(fixture.service.status().await.backup.n_backups, 1);
}

#[tokio::test(start_paused = true)]
async fn a_backup_that_fails_is_told_of_and_tried_again_after_a_while() {
    let fixture = Fixture::new().await;
    let place = fixture.dir.path().join("backups");
    fs::write(&place, "no directory").unwrap();
    fixture.clock.advance(BACKUP_START_DELAY);
    let failed = fixture.service.back_up_if_due().await;
    assert!(matches!(failed, Err(BackupError::File { .. })), "{failed:?}");
    let report = fixture.service.status().await;
    let since = fixture.clock.now();
    let (told, because) = backup_part(&report).trouble().unwrap();
    assert!(told == since && because.contains("backups"), "{told}: {because}");
    fixture.clock.advance(BACKUP_RETRY);
    let failed = fixture.service.back_up_if_due().await;
    assert!(matches!(failed, Err(BackupError::File { .. })), "{failed:?}");
    let report = fixture.service.status().await;
    assert_eq!(backup_part(&report).trouble().unwrap().0, since, "it still is the same failure");
    fs::remove_file(&place).unwrap();
    assert!(!fixture.look().await, "not again at once");
    fixture.clock.advance(BACKUP_RETRY);
    assert!(fixture.look().await);
    assert_eq!(*backup_part(&fixture.service.status().await), PartState::Ok);
}

#[tokio::test(start_paused = true)]
async fn a_receipt_names_the_backups_made_while_the_memory_was_there() {
    let fixture = Fixture::new().await;
    let early = fixture.service.back_up(&owner(), None).await.unwrap();
    fixture.clock.advance(SECOND);
    let [id, other] = [fixture.store("a zebra").await, fixture.store("a gnu").await];
    fixture.clock.advance(SECOND);
    let own = fixture.dir.path().join("mine.backup");
    fixture.service.back_up(&owner(), Some(own.clone())).await.unwrap();
    fixture.clock.advance(SECOND);
    let usual = fixture.service.back_up(&owner(), None).await.unwrap();
    let usual = usual.path.file_name().unwrap().to_str().unwrap().to_owned();
    fixture.clock.advance(SECOND);
    let expected = [own.display().to_string(), usual];
    assert_eq!(fixture.forget_naming(&agent("a"), id).await, expected);
    assert!(early.path.exists());
    // What was made after the memory was forgotten does not hold it.
    fixture.clock.advance(SECOND);
    fixture.service.back_up(&owner(), None).await.unwrap();
    let forgotten_after_it = fixture.forget_naming(&owner(), other).await;
    assert_eq!(forgotten_after_it.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn only_the_person_backs_up_and_only_to_a_whole_path() {
    let fixture = Fixture::new().await;
    for (caller, to) in [(agent("a"), None), (owner(), Some("relative.backup".into()))] {
        let refused = fixture.service.back_up(&caller, to).await;
        assert!(matches!(refused, Err(ServiceError::Invalid { .. })), "{refused:?}");
    }
    assert!(!fixture.dir.path().join("backups").exists());
}
