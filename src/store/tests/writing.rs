//! The writer: groups, limits of its queue, failing storage, closing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use super::fixture::{Fixture, SETTINGS, at};
use crate::domain::change::{Committed, Remember};
use crate::domain::identity::Actor;
use crate::domain::limits::{GROUP_COMMIT_MAX, WRITE_QUEUE_MAX};
use crate::ports::{CommitListener, Store, StoreError};
use crate::store::RedbStore;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_wait_together_share_commits() {
    let f = Arc::new(Fixture::new());
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..64 {
        let f = Arc::clone(&f);
        tasks.spawn(async move {
            for n in 0..5 {
                let id = f.store_fact(&format!("{task} {n}"), 1).await;
                // Acknowledged is visible.
                assert!(f.get(id).await.is_some());
            }
        });
    }
    while let Some(outcome) = tasks.join_next().await {
        outcome.unwrap();
    }
    assert_eq!(f.n_memories().await, 320);
    assert!(f.store.n_commits() < 320, "{} commits", f.store.n_commits());
    let told: Vec<_> = f.listener.0.lock().unwrap().iter().map(|c| c.sequence).collect();
    assert_eq!(told, (1..=320).collect::<Vec<_>>());
    let Ok(f) = Arc::try_unwrap(f).map_err(drop) else { panic!("still used") };
    f.finish().await;
}

/// Holds the writer up at its first commit until it is let go.
struct Gate {
    entered: mpsc::Sender<()>,
    go: Mutex<mpsc::Receiver<()>>,
    is_first: AtomicBool,
}

impl CommitListener for Gate {
    fn committed(&self, _: &[Committed]) {
        if self.is_first.swap(false, Ordering::Relaxed) {
            self.entered.send(()).unwrap();
            self.go.lock().unwrap().recv().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_answers_busy_and_the_rest_is_done_in_groups() {
    let f = Fixture::new();
    f.store.close();
    let store = Arc::new(RedbStore::open(f.dir.path(), SETTINGS, at(0)).unwrap());
    let ((entered, has_entered), (go, may_go)) = (mpsc::channel(), mpsc::channel());
    store.subscribe(Arc::new(Gate {
        entered,
        go: Mutex::new(may_go),
        is_first: AtomicBool::new(true),
    }));
    let remember = |n: usize| {
        let (store, new) = (Arc::clone(&store), f.fact(&n.to_string()));
        let (memories, actor) = (vec![new], Actor::Owner);
        async move { store.remember(Remember { memories, request: None, actor, at: at(1) }).await }
    };
    let first = tokio::spawn(remember(0));
    tokio::task::spawn_blocking(move || has_entered.recv().unwrap()).await.unwrap();
    let mut waiting = Vec::new();
    for n in 0..WRITE_QUEUE_MAX {
        let mut write = Box::pin(remember(n % 8));
        assert!(futures::poll!(&mut write).is_pending());
        waiting.push(write);
    }
    assert_eq!(store.report().await.unwrap().n_waiting, WRITE_QUEUE_MAX);
    assert_eq!(remember(0).await, Err(StoreError::Busy));
    go.send(()).unwrap();
    first.await.unwrap().unwrap();
    for write in waiting {
        write.await.unwrap();
    }
    assert_eq!(store.report().await.unwrap().n_memories, 8);
    assert!(store.n_commits() <= 2 + (WRITE_QUEUE_MAX / GROUP_COMMIT_MAX) as u64);
}

#[tokio::test]
async fn what_changes_nothing_makes_no_commit() {
    let f = Fixture::new();
    let id = f.unknown_id();
    f.forget(&[id], None, 1).await;
    f.store.note_usage(Vec::new()).await.unwrap();
    assert_eq!(f.store.erase_due(at(9)).await.unwrap(), 0);
    assert_eq!(f.store.n_commits(), 0);
    f.finish().await;
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let mut f = Fixture::new();
    f.store_fact("a", 1).await;
    let snapshot = f.snapshot().await;
    f.store.close();
    f.store.close();
    assert_eq!(f.try_remember(vec![f.fact("b")], None, 2).await, Err(StoreError::Closed));
    assert!(matches!(f.store.snapshot().await, Err(StoreError::Closed)));
    // What a snapshot has not read yet, it cannot read any more.
    assert!(matches!(snapshot.log(0, 9).await, Err(StoreError::Closed) | Ok(_)));
    f.reopen();
    f.finish().await;
}

#[tokio::test]
async fn closing_carries_out_what_waits() {
    let mut f = Fixture::new();
    let mut writes: Vec<_> =
        (0..50).map(|n| Box::pin(f.try_remember(vec![f.fact(&n.to_string())], None, 1))).collect();
    for write in &mut writes {
        assert!(futures::poll!(write).is_pending());
    }
    f.store.close();
    for write in writes {
        write.await.unwrap();
    }
    f.reopen();
    assert_eq!(f.n_memories().await, 50);
    f.finish().await;
}

/// Storage in memory that fails from a given operation on.
#[derive(Debug, Clone)]
struct Failing {
    inner: Arc<InMemoryBackend>,
    n_left: Arc<AtomicU64>,
    kind: std::io::ErrorKind,
}

impl Failing {
    fn new(kind: std::io::ErrorKind) -> Self {
        let n_left = Arc::new(AtomicU64::new(u64::MAX));
        Self { inner: Arc::new(InMemoryBackend::new()), n_left, kind }
    }

    fn operation(&self) -> std::io::Result<()> {
        let n_left = self.n_left.load(Ordering::SeqCst);
        if n_left == 0 {
            return Err(self.kind.into());
        }
        self.n_left.store(n_left - 1, Ordering::SeqCst);
        Ok(())
    }
}

impl StorageBackend for Failing {
    fn len(&self) -> std::io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.operation()?;
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.operation()?;
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.operation()?;
        self.inner.write(offset, data)
    }
}

#[tokio::test]
async fn after_a_failed_commit_nothing_is_acknowledged_and_reads_go_on() {
    use std::io::ErrorKind;
    for (kind, is_full) in [(ErrorKind::Other, false), (ErrorKind::StorageFull, true)] {
        let f = Fixture::new();
        let backend = Failing::new(kind);
        let store = RedbStore::open_with_backend(backend.clone(), SETTINGS, at(0)).unwrap();
        let remember = |text: &str| Remember {
            memories: vec![f.fact(text)],
            request: None,
            actor: Actor::Owner,
            at: at(1),
        };
        let kept = store.remember(remember("kept")).await.unwrap()[0].id;
        let mut fatal = store.watch_fatal();
        assert_eq!(store.fatal(), None);
        backend.n_left.store(2, Ordering::SeqCst);
        let (a, b) = tokio::join!(store.remember(remember("a")), store.remember(remember("b")));
        for outcome in [a, b] {
            let error = outcome.unwrap_err();
            assert!(
                matches!(error, StoreError::Full(_)) == is_full
                    || matches!(error, StoreError::Io(_)),
                "{error:?}"
            );
        }
        fatal.changed().await.unwrap();
        assert!(store.fatal().is_some());
        let later = store.remember(remember("c")).await.unwrap_err();
        assert!(matches!(later, StoreError::Io(_)), "{later:?}");
        let read = store.snapshot().await.unwrap().memories(vec![kept]).await.unwrap();
        assert!(read[0].is_some());
        store.close();
    }
}

#[tokio::test]
async fn a_store_on_a_backend_opens_again() {
    let f = Fixture::new();
    let backend = Failing::new(std::io::ErrorKind::Other);
    let new = f.fact("a");
    {
        let store = RedbStore::open_with_backend(backend.clone(), SETTINGS, at(0)).unwrap();
        let memories = vec![new.clone()];
        let request = Remember { memories, request: None, actor: Actor::Owner, at: at(1) };
        store.remember(request).await.unwrap();
    }
    let store = RedbStore::open_with_backend(backend, SETTINGS, at(0)).unwrap();
    let read = store.snapshot().await.unwrap().memories(vec![new.id]).await.unwrap();
    assert!(read[0].is_some());
    assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
}
