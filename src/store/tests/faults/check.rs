//! What a store may hold after a run was interrupted: what the same steps leave without a fault.

use std::ops::RangeInclusive;
use std::path::Path;

use futures::future::join_all;

use super::super::fixture::{SETTINGS, at};
use super::disk::Disk;
use super::dump::{Dump, difference, dump};
use super::workload::{STEPS, Step, TOGETHER, World};
use crate::domain::id::MemoryId;
use crate::ports::{IndexError, StoreError};
use crate::service::ServiceError;
use crate::store::RedbStore;

/// What a run without faults answers and leaves.
pub(super) struct Reference {
    /// The file before the first step.
    pub(super) base: Vec<u8>,
    /// The file after the last one.
    pub(super) whole: Vec<u8>,
    /// What each step answered.
    answers: Vec<String>,
    /// What the store held before the first step and after each.
    pub(super) states: Vec<State>,
}

/// What a store holds.
pub(super) struct State {
    dump: Dump,
    /// What it held in between, if the step was more than one commit.
    between: Vec<Dump>,
    /// What the questions find; empty before the indexes are there.
    recalls: Vec<Vec<MemoryId>>,
}

impl Reference {
    /// Runs all steps and keeps what they leave.
    pub(super) async fn run() -> Self {
        let disk = Disk::new(Vec::new());
        // A new store gets its name only when it is whole, so that the first fault meets one.
        RedbStore::open_with_backend(disk.clone(), SETTINGS, at(0)).unwrap().close();
        let base = disk.image();
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::new(base.clone());
        let world = World::open(&disk, Some(dir.path())).unwrap();
        let first = dump(&world.store).await.unwrap();
        let mut states = vec![State { dump: first, between: Vec::new(), recalls: Vec::new() }];
        let mut answers = Vec::new();
        for step in STEPS {
            let (n_ops, n_commits) = (disk.n_ops(), world.store.n_commits());
            answers.push(world.take(step).await.unwrap());
            let between = if world.store.n_commits() > n_commits + 1 {
                synced_states(&disk, n_ops).await
            } else {
                Vec::new()
            };
            let (dump, recalls) = (dump(&world.store).await.unwrap(), world.recalls().await);
            states.push(State { dump, between, recalls });
        }
        assert_sound(&world.store).await;
        world.close();
        Self { base, whole: disk.image(), answers, states }
    }

    /// Takes the steps until one fails, as it must: with an error that says why, after which
    /// nothing is written any more. Every answer before it is the one that is due.
    pub(super) async fn run_until_it_fails(&self, world: &World) -> Progress {
        let mut progress = Progress { n_done: 0, n_begun: 0 };
        while let Some(step) = STEPS.get(progress.n_done) {
            let group = if TOGETHER.contains(step) { &TOGETHER[..] } else { &[*step] };
            progress.n_begun += group.len();
            let outcomes = if let [alone] = group {
                vec![world.take(*alone).await]
            } else {
                world.begin(*step);
                join_all(group.iter().map(|step| world.together(*step))).await
            };
            // Of calls at a time the first are done: the later ones share its commit or come after.
            assert!(outcomes.is_sorted_by_key(Result::is_err), "{outcomes:?}");
            for outcome in outcomes {
                match outcome {
                    Ok(answer) => {
                        let n = progress.n_done;
                        assert_eq!(answer, self.answers[n], "{:?}", STEPS[n]);
                        progress.n_done += 1;
                    }
                    Err(error) => assert_storage_error(&error, world),
                }
            }
            if progress.n_done < progress.n_begun {
                let refused = world.store_more("after the fault").await;
                assert!(refused.is_err(), "a write after a fault of the file: {refused:?}");
                break;
            }
        }
        progress
    }

    /// Opens what is left on `image` and finds out which of the states it is; an error tells what
    /// was lost, or came back, or is half there.
    pub(super) async fn state_of(
        &self,
        image: Vec<u8>,
        allowed: RangeInclusive<usize>,
    ) -> Result<usize, String> {
        let store = RedbStore::open_with_backend(Disk::new(image), SETTINGS, at(0))
            .map_err(|error| format!("does not open: {error}"))?;
        let state = self.state_in(&store, allowed).await;
        store.close();
        state
    }

    /// Which of the allowed states an open store is in.
    pub(super) async fn state_in(
        &self,
        store: &RedbStore,
        allowed: RangeInclusive<usize>,
    ) -> Result<usize, String> {
        let found = store.verify().await.map_err(|error| error.to_string())?;
        if !found.violations.is_empty() {
            return Err(format!("tables disagree: {:?}", found.violations));
        }
        let dump = dump(store).await.map_err(|error| error.to_string())?;
        let difference_to = |n: usize| difference(&dump, &self.states[n].dump);
        let (first, last) = (*allowed.start(), *allowed.end());
        let is_between = |n: &usize| self.states[n + 1].between.contains(&dump);
        let is_after = |n: &usize| difference_to(*n).is_none();
        match allowed.clone().find(is_after).or_else(|| (first..last).find(is_between)) {
            Some(n) => Ok(n),
            None => Err(allowed
                .map(|n| format!("not the state after {n} steps: {:?}", difference_to(n)))
                .collect::<Vec<_>>()
                .join("; ")),
        }
    }

    /// Goes on with what an interruption left, on the same index files: the same recall as without
    /// it, and new memories are taken and kept.
    pub(super) async fn assert_goes_on(&self, image: Vec<u8>, dir: &Path, state: usize) {
        let disk = Disk::new(image);
        let world = World::open(&disk, Some(dir)).unwrap();
        world.take(Step::Begin).await.unwrap();
        let n_done = state.max(1);
        world.begin(STEPS[n_done - 1]);
        assert_eq!(world.recalls().await, self.states[n_done].recalls, "after {n_done} steps");
        let id = world.store_more("stored after the interruption").await.unwrap();
        world.close();
        let world = World::open(&Disk::new(disk.image()), None).unwrap();
        let snapshot = crate::ports::Store::snapshot(&*world.store).await.unwrap();
        let memory = snapshot.memories(vec![id]).await.unwrap().remove(0).unwrap();
        assert_eq!(&*memory.content, "stored after the interruption");
        drop(snapshot);
        assert_sound(&world.store).await;
        world.close();
    }
}

/// What the store on `image` holds, if it opens and is sound.
pub(super) async fn held(image: Vec<u8>) -> Result<Dump, String> {
    let store = RedbStore::open_with_backend(Disk::new(image), SETTINGS, at(0))
        .map_err(|error| format!("does not open: {error}"))?;
    let found = store.verify().await.map_err(|error| error.to_string())?;
    let held = dump(&store).await.map_err(|error| error.to_string());
    store.close();
    if found.violations.is_empty() {
        held
    } else {
        Err(format!("tables disagree: {:?}", found.violations))
    }
}

/// What the disk held at each sync since operation `n_ops`.
async fn synced_states(disk: &Disk, n_ops: u64) -> Vec<Dump> {
    let mut cuts = disk.cuts();
    let mut states = Vec::new();
    for at in n_ops..disk.n_ops() {
        cuts.advance(at);
        if let Some(image) = cuts.synced() {
            let store = RedbStore::open_with_backend(
                Disk::new(image),
                SETTINGS,
                super::super::fixture::at(0),
            );
            states.push(dump(&store.unwrap()).await.unwrap());
        }
    }
    states
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Steps that were acknowledged.
    pub(super) n_done: usize,
    /// Steps that were begun.
    pub(super) n_begun: usize,
}

impl Progress {
    /// The states that may be left.
    pub(super) fn allowed(self) -> RangeInclusive<usize> {
        self.n_done..=self.n_begun
    }
}

/// The error is one of the storage, and the store knows that its file has failed.
fn assert_storage_error(error: &ServiceError, world: &World) {
    let (ServiceError::Store(store_error) | ServiceError::Index(IndexError::Store(store_error))) =
        error
    else {
        panic!("not an error of the storage: {error}")
    };
    assert!(matches!(store_error, StoreError::Io(_) | StoreError::Full(_)), "{store_error:?}");
    assert!(world.store.fatal().is_some(), "the process is not told to end after: {error}");
}

/// The tables agree.
pub(super) async fn assert_sound(store: &RedbStore) {
    assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
}
