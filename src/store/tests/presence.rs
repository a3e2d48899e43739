//! A file that is removed or replaced while it is open: nothing more is acknowledged, and what was is
//! not lost.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::fixture::{Fixture, SETTINGS, at, forget_request};
use crate::domain::change::{Committed, Remember};
use crate::domain::identity::Actor;
use crate::ports::{Backups as _, CommitListener, Store, StoreError};
use crate::store::{FILE_NAME, RedbBackups, RedbStore, restore_backup};

impl Fixture {
    fn file(&self) -> PathBuf {
        self.dir.path().join(FILE_NAME)
    }

    /// Whether a memory is taken; a refusal must be the one of a file that is gone.
    async fn takes(&self, content: &str) -> bool {
        match self.try_remember(vec![self.fact(content)], None, 2).await {
            Ok(_) => true,
            Err(StoreError::Gone(why)) => {
                assert!(why.contains("recalld backup"), "{why}");
                let trouble = self.store.trouble().unwrap();
                assert!(trouble.is_down && trouble.because == why, "{trouble:?}");
                false
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_removed_file_takes_nothing_more_and_is_saved_whole_by_a_backup() {
    let f = Fixture::new();
    let id = f.store_fact("kept", 1).await;
    fs::remove_file(f.file()).unwrap();
    assert!(!f.takes("lost").await);
    let forgotten = f.store.forget(forget_request(&[id], None, 2)).await;
    assert!(matches!(forgotten, Err(StoreError::Gone(_))), "{forgotten:?}");
    assert_eq!(f.store.fatal(), None, "it is still needed");
    assert_eq!(&*f.get(id).await.unwrap().content, "kept");

    let backups = RedbBackups::new(Arc::clone(&f.store), f.dir.path().join("backups"));
    let made = backups.make(None, at(3)).await.unwrap();
    f.store.close();
    restore_backup(f.dir.path(), &made.path, &[], SETTINGS, at(4)).unwrap();
    let restored = RedbStore::open(f.dir.path(), SETTINGS, at(5)).unwrap();
    let memories = restored.snapshot().await.unwrap().memories(vec![id]).await.unwrap();
    assert_eq!(&*memories[0].as_ref().unwrap().content, "kept");
}

#[tokio::test]
async fn a_replaced_file_takes_nothing_and_one_that_is_put_back_everything() {
    let f = Fixture::new();
    f.store_fact("kept", 1).await;
    let aside = f.dir.path().join("aside");
    fs::rename(f.file(), &aside).unwrap();
    fs::copy(&aside, f.file()).unwrap();
    assert!(!f.takes("into the one that is open").await);
    assert!(matches!(f.store.look_for_file().await, Err(StoreError::Gone(_))));
    fs::rename(&aside, f.file()).unwrap();
    assert_eq!(f.store.look_for_file().await, Ok(()));
    assert_eq!(f.store.trouble(), None);
    assert!(f.takes("as before").await);
    f.finish().await;
}

#[tokio::test]
async fn a_file_that_something_else_writes_into_takes_nothing_more() {
    for truncates in [true, false] {
        let f = Fixture::new();
        let old = fs::read(f.file()).unwrap();
        let id = f.store_fact("kept", 1).await;
        assert!(f.takes("as ever").await);
        let written_at = fs::metadata(f.file()).unwrap().modified().unwrap();
        assert_eq!(f.store.look_for_file().await, Ok(()));
        let looked_at = fs::metadata(f.file()).unwrap().modified().unwrap();
        assert_eq!(looked_at, written_at, "a look writes nothing");
        if truncates {
            fs::File::options().write(true).open(f.file()).unwrap().set_len(0).unwrap();
        } else {
            fs::write(f.file(), &old).unwrap();
        }
        let looked = f.store.look_for_file().await;
        assert!(
            matches!(looked, Err(StoreError::Gone(_))),
            "before anything is written: {looked:?}"
        );
        assert!(!f.takes("into a file that is lost").await);
        assert_eq!(&*f.get(id).await.unwrap().content, "kept");
        let backups = RedbBackups::new(Arc::clone(&f.store), f.dir.path().join("backups"));
        let made = backups.make(None, at(3)).await.unwrap();
        assert_eq!(made.n_memories, 2);
    }
}

/// Removes the file between the commit and its acknowledgement.
struct Remover(PathBuf);

impl CommitListener for Remover {
    fn committed(&self, _: &[Committed]) {
        fs::remove_file(&self.0).unwrap();
    }
}

#[tokio::test]
async fn a_commit_into_a_file_that_goes_meanwhile_is_not_acknowledged() {
    let f = Fixture::new();
    let dir = tempfile::tempdir().unwrap();
    let store = RedbStore::open(dir.path(), SETTINGS, at(0)).unwrap();
    store.subscribe(Arc::new(Remover(dir.path().join(FILE_NAME))));
    let memories = vec![f.fact("committed too late")];
    let request = Remember { memories, request: None, actor: Actor::Owner, at: at(1) };
    let outcome = store.remember(request).await;
    assert!(matches!(outcome, Err(StoreError::Gone(_))), "{outcome:?}");
}
