//! The indexes on a real store: loading, commits meanwhile, restarts, the parity check.

mod archived;
mod damaged;
mod interrupted;
mod unproven;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use tempfile::TempDir;

use self::interrupted::{Hook, Interrupted};
use super::fixtures::{Seeded, memory};
use super::{EmbeddedIndex, IndexSettings};
use crate::clock::{ManualClock, SeededIds};
use crate::domain::change::{Forget, NewMemory, Patch, Remember, Revise, VectorsFor};
use crate::domain::embedding::{Embedded, ModelIdentity, Scripts, SpaceId, Vector};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::memory::{Memory, Metadata, Origin};
use crate::domain::search::VectorCandidates;
use crate::ports::{Candidates, Ids, IndexError, ParityReport, Snapshot, Store, StoreError};
use crate::store::{RedbStore, StoreSettings};

const DIMENSION: usize = 16;

/// Who writes to a store.
#[derive(Clone)]
struct Writer {
    store: Arc<RedbStore>,
    space: SpaceId,
    ids: Arc<SeededIds>,
}

/// A store and its index in a directory of their own.
struct World {
    writer: Writer,
    index: Arc<EmbeddedIndex>,
    dir: TempDir,
}

impl std::ops::Deref for World {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl World {
    async fn new() -> Self {
        Self::open(tempfile::tempdir().unwrap(), Arc::new(SeededIds::new(7))).await
    }

    /// Opens both, the index not yet loaded.
    async fn open(dir: TempDir, ids: Arc<SeededIds>) -> Self {
        let at = Timestamp::UNIX_EPOCH;
        let settings = StoreSettings { cache_bytes: 1 << 20 };
        let store = Arc::new(RedbStore::open(&dir.path().join("db"), settings, at).unwrap());
        let index = open_index(&dir.path().join("text"));
        store.subscribe(index.clone());
        let space = store.space(model("bundled"), Vec::new(), at).await.unwrap();
        Self { writer: Writer { store, space, ids }, index, dir }
    }

    async fn loaded() -> Self {
        let world = Self::new().await;
        world.load().await;
        world
    }

    async fn load(&self) {
        self.index.load(self.store.clone(), Some(self.space)).await.unwrap();
    }

    /// Stops without committing the text index, as a crash would, and starts again.
    async fn crash(self) -> Self {
        let Self { writer: Writer { store, ids, .. }, index, dir } = self;
        // A copy of what is on disk now; what closing would add is not in it.
        let copy = tempfile::tempdir().unwrap();
        copy_dir(&dir.path().join("text"), &copy.path().join("text"));
        index.close();
        store.close();
        copy_dir(&dir.path().join("db"), &copy.path().join("db"));
        drop((index, store));
        Self::open(copy, ids).await
    }

    async fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.store.snapshot().await.unwrap()
    }

    async fn by_words(&self, words: &str) -> HashSet<MemoryId> {
        let query = crate::domain::text::query::read(words);
        let snapshot = self.snapshot().await;
        let found = self.index.by_text(&snapshot, query, &user(), 1_000).await.unwrap();
        found.hits.into_iter().map(|hit| hit.id).collect()
    }

    async fn by_vector(
        &self,
        vector: &Vector,
        k: usize,
        also: &[MemoryId],
    ) -> Result<VectorCandidates, IndexError> {
        let snapshot = self.snapshot().await;
        let vector = Arc::clone(vector);
        self.index.by_vector(&snapshot, self.space, vector, &user(), k, also.to_vec()).await
    }

    async fn nearest(&self, vector: &Vector) -> HashSet<MemoryId> {
        let found = self.by_vector(vector, 1_000, &[]).await.unwrap();
        found.hits.into_iter().map(|hit| hit.id).collect()
    }

    /// What the RAM rows say, without the store.
    async fn cosine_of(&self, id: MemoryId, vector: &Vector) -> f64 {
        let found = self.by_vector(vector, 0, &[id]).await.unwrap();
        found.hits[0].cosine
    }

    async fn check(&self) -> ParityReport {
        self.index.check(&self.snapshot().await).await.unwrap()
    }

    /// The indexes hold exactly these, in words ("common") and vectors.
    async fn holds(&self, expected: &[MemoryId]) {
        let expected: HashSet<MemoryId> = expected.iter().copied().collect();
        assert_eq!(self.by_words("common").await, expected);
        assert_eq!(self.nearest(&axis(0)).await, expected);
        let n_compared = expected.len() as u64;
        assert_eq!(self.check().await, ParityReport { n_compared, ..ParityReport::default() });
    }
}

impl Writer {
    /// Stores a memory.
    async fn remember(&self, content: &str, vector: Option<&Vector>) -> MemoryId {
        let at = Timestamp::UNIX_EPOCH;
        let id = self.ids.next_id(at);
        let plain = memory(id, "user", content);
        let new = NewMemory {
            id,
            namespace: plain.namespace,
            content: plain.content,
            kind: plain.kind,
            tags: Vec::new(),
            metadata: Metadata::new(),
            session: None,
            agent: None,
            occurred_at: None,
            importance: 0.5,
            pinned: false,
            origin: Origin::Stated,
            supersedes: None,
            derived_from: Vec::new(),
            contradicts: Vec::new(),
            embedded: vector.map(|vector| embedded(self.space, vector)),
            reminders: Vec::new(),
        };
        let request = Remember { memories: vec![new], request: None, actor: Actor::Owner, at };
        self.store.remember(request).await.unwrap()[0].id
    }

    /// Gives a memory a new text.
    async fn revise(&self, id: MemoryId, content: &str, vector: Option<&Vector>) {
        let patch = Patch { content: Some(Arc::from(content)), ..Patch::default() };
        let embedded = vector.map(|vector| embedded(self.space, vector));
        let (request, actor, at) = (None, Actor::Owner, Timestamp::UNIX_EPOCH);
        let request = Revise { id, patch, embedded, reminders: None, request, actor, at };
        self.store.revise(request).await.unwrap();
    }

    async fn forget(&self, id: MemoryId) {
        let at = Timestamp::UNIX_EPOCH;
        let (ids, restorable_until, request, actor) = (vec![id], None, None, Actor::Owner);
        let request = Forget { ids, restorable_until, erase_by: at, request, actor, at };
        assert_eq!(self.store.forget(request).await.unwrap().ids, [id]);
    }
}

fn open_index(dir: &std::path::Path) -> Arc<EmbeddedIndex> {
    let settings = IndexSettings {
        graph_from: usize::MAX,
        // Longer than a test: what is on disk is there because somebody asked.
        text_commit: Duration::from_hours(1),
        text_buffer_bytes: 15_000_000,
    };
    EmbeddedIndex::open(dir, settings, Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH)))
}

fn model(name: &str) -> ModelIdentity {
    ModelIdentity {
        name: name.to_owned(),
        dimension: DIMENSION,
        tokens_max: 128,
        pooling: "mean".to_owned(),
        normalised: true,
        query_prefix: String::new(),
        document_prefix: String::new(),
        weights_hash: String::new(),
        tokenizer_hash: String::new(),
        text_template: String::new(),
        scripts: Scripts::ALL,
    }
}

fn user() -> Filter {
    Filter { namespaces: vec!["user".parse().unwrap()], ..Filter::default() }
}

fn embedded(space: SpaceId, vector: &Vector) -> Embedded {
    Embedded { space, chunks: vec![Arc::clone(vector)] }
}

/// The unit vector along an axis.
fn axis(number: usize) -> Vector {
    (0..DIMENSION).map(|at| if at == number { 1.0 } else { 0.0 }).collect()
}

fn copy_dir(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[tokio::test]
async fn what_is_stored_is_found_and_what_is_forgotten_is_not() {
    let world = World::loaded().await;
    let first = world.remember("common tea", Some(&axis(1))).await;
    let second = world.remember("common coffee", Some(&axis(2))).await;
    world.holds(&[first, second]).await;
    assert_eq!(world.by_words("coffee").await, [second].into());
    world.revise(second, "common water", Some(&axis(3))).await;
    assert!(world.by_words("coffee").await.is_empty());
    assert_eq!(world.by_vector(&axis(3), 1, &[]).await.unwrap().hits[0].id, second);
    world.forget(first).await;
    world.holds(&[second]).await;
}

// Paused: time stands still while the load is at work.
#[tokio::test(start_paused = true)]
async fn searches_wait_until_the_index_is_loaded() {
    let world = World::new().await;
    let id = world.remember("common tea", Some(&axis(1))).await;
    let query = axis(1);
    let mut words = Box::pin(world.by_words("tea"));
    let mut meaning = Box::pin(world.nearest(&query));
    assert_eq!((&mut words).now_or_never(), None);
    assert_eq!((&mut meaning).now_or_never(), None);
    world.load().await;
    assert_eq!(words.await, [id].into());
    assert_eq!(meaning.await, [id].into());
}

#[tokio::test(start_paused = true)]
async fn a_search_by_meaning_does_not_wait_long_for_rows() {
    let world = World::new().await;
    world.remember("common tea", Some(&axis(1))).await;
    let answer = world.by_vector(&axis(1), 10, &[]).await;
    assert_eq!(answer, Err(IndexError::NotReady("vector")));
}

#[tokio::test]
async fn only_the_loaded_space_is_searched() {
    let world = World::new().await;
    let id = world.remember("common tea", Some(&axis(1))).await;
    world.index.load(world.store.clone(), None).await.unwrap();
    assert_eq!(world.by_words("tea").await, [id].into());
    let refused = Err(IndexError::NotReady("vector"));
    assert_eq!(world.by_vector(&axis(1), 10, &[]).await, refused);
    let report = world.index.report();
    assert_eq!((report.vectors.ready, report.text.ready), (false, true));
    // The model comes up, then is changed for another.
    world.load().await;
    assert_eq!(world.nearest(&axis(1)).await, [id].into());
    let other = world.store.space(model("other"), Vec::new(), Timestamp::UNIX_EPOCH).await.unwrap();
    world.index.load(world.store.clone(), Some(other)).await.unwrap();
    assert_eq!(world.by_vector(&axis(1), 10, &[]).await, refused);
    assert_eq!(world.index.report().n_pending_vectors, 1);
}

#[tokio::test]
async fn vectors_that_come_later_end_the_waiting() {
    let world = World::loaded().await;
    let id = world.remember("common tea", None).await;
    let found = world.by_vector(&axis(1), 10, &[id]).await.unwrap();
    assert_eq!((found.hits.len(), found.n_pending), (0, 1));
    let vectors = VectorsFor { id, version: 1, embedded: embedded(world.space, &axis(1)) };
    world.store.attach_vectors(vec![vectors], Timestamp::UNIX_EPOCH).await.unwrap();
    let found = world.by_vector(&axis(1), 10, &[]).await.unwrap();
    assert_eq!((found.hits.len(), found.n_pending), (1, 0));
    world.revise(id, "common coffee", None).await;
    assert_eq!(world.by_vector(&axis(1), 10, &[]).await.unwrap().n_pending, 1);
    assert_eq!(world.check().await, ParityReport { n_compared: 1, ..ParityReport::default() });
}

#[tokio::test]
async fn hits_are_ranked_by_the_stored_vectors_and_the_asked_for_follow() {
    let world = World::loaded().await;
    let mut random = Seeded(11);
    let query = axis(0);
    let mut cosines = Vec::new();
    for number in 0..60 {
        // Closer together than int8 can tell.
        let vector = random.near(&axis(0), 0.02);
        let id = world.remember(&format!("common {number}"), Some(&vector)).await;
        cosines.push((id, vector[0]));
    }
    cosines.sort_by(|a, b| b.1.total_cmp(&a.1));
    let last = cosines[59].0;
    let found = world.by_vector(&query, 5, &[last, cosines[0].0]).await.unwrap();
    let ids: Vec<MemoryId> = found.hits.iter().map(|hit| hit.id).collect();
    let expected: Vec<MemoryId> = cosines[..5].iter().map(|(id, _)| *id).chain([last]).collect();
    assert_eq!(ids, expected);
    for (hit, (_, cosine)) in found.hits[..5].iter().zip(&cosines) {
        assert!((hit.cosine - f64::from(*cosine)).abs() < 1e-6);
    }
    assert!((found.hits[5].cosine - f64::from(cosines[59].1)).abs() < 0.01);
}

/// Reads of one load that are followed by commits.
const READS: usize = 12;

/// Memories for [`load_interrupted`]: after each read one is changed and one forgotten.
async fn memories_to_change(world: &World) -> Vec<(MemoryId, MemoryId)> {
    let mut pairs = Vec::new();
    for n in 0..READS {
        let changed = world.remember(&format!("common old{n}"), Some(&axis(2))).await;
        let gone = world.remember(&format!("common gone{n}"), Some(&axis(3))).await;
        pairs.push((changed, gone));
    }
    pairs
}

/// Loads while after each read a memory is added, one changed and one forgotten, and checks that
/// the index knows of it all.
async fn load_interrupted(world: &World, kinds: &[&str], pairs: &[(MemoryId, MemoryId)]) {
    let reads: Arc<Mutex<Vec<(&str, MemoryId)>>> = Arc::default();
    let (writer, noted) = (world.writer.clone(), Arc::clone(&reads));
    let (to_change, count) = (pairs.to_vec(), AtomicUsize::new(0));
    let hook: Hook = Arc::new(move |read| {
        let (writer, noted) = (writer.clone(), Arc::clone(&noted));
        // The arms are loaded at the same time: each read takes a number of its own.
        let n = count.fetch_add(1, Ordering::Relaxed);
        let pair = to_change.get(n).copied();
        Box::pin(async move {
            let added = writer.remember(&format!("common added{n}"), Some(&axis(4))).await;
            noted.lock().unwrap().push((read, added));
            if let Some((changed, gone)) = pair {
                writer.revise(changed, &format!("common new{n}"), Some(&axis(5))).await;
                writer.forget(gone).await;
            }
            Ok(())
        })
    });
    let store = Arc::new(Interrupted { inner: world.store.clone() as Arc<dyn Store>, hook });
    world.index.load(store, Some(world.space)).await.unwrap();
    let reads = std::mem::take(&mut *reads.lock().unwrap());
    assert!(reads.len() <= READS, "{reads:?}");
    for kind in kinds {
        assert!(reads.iter().any(|(read, _)| read == kind), "{kind} was not interrupted");
    }
    let mut expected: Vec<MemoryId> = reads.iter().map(|(_, added)| *added).collect();
    for (n, (changed, gone)) in pairs.iter().enumerate() {
        expected.push(*changed);
        if n < reads.len() {
            assert_eq!(world.by_words(&format!("new{n}")).await, [*changed].into(), "{reads:?}");
            let cosine = world.cosine_of(*changed, &axis(5)).await;
            assert!(cosine > 0.99, "{n} of {reads:?}: {cosine}");
        } else {
            expected.push(*gone);
        }
    }
    world.holds(&expected).await;
}

#[tokio::test]
async fn commits_during_a_first_load_are_neither_lost_nor_overwritten() {
    let world = World::new().await;
    let pairs = memories_to_change(&world).await;
    load_interrupted(&world, &["scan", "scan_vectors"], &pairs).await;
}

#[tokio::test]
async fn commits_during_a_replay_are_neither_lost_nor_overwritten() {
    let world = World::loaded().await;
    let pairs = memories_to_change(&world).await;
    let world = world.crash().await;
    load_interrupted(&world, &["scan", "scan_vectors", "log", "memories"], &pairs).await;
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_replay_loses_nothing() {
    let world = World::loaded().await;
    let old = world.remember("common old", Some(&axis(1))).await;
    let world = world.crash().await;
    let (writer, index) = (world.writer.clone(), Arc::clone(&world.index));
    let added = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&added);
    // The text index commits a change that arrives before the log up to it has been replayed.
    let hook: Hook = Arc::new(move |read| {
        let (writer, index, noted) = (writer.clone(), Arc::clone(&index), Arc::clone(&noted));
        Box::pin(async move {
            if read == "log" {
                let added = writer.remember("common added", Some(&axis(2))).await;
                *noted.lock().unwrap() = Some(added);
                index.shared.text.flush();
                return Err(StoreError::Io("torn".to_owned()));
            }
            Ok(())
        })
    });
    let store = Arc::new(Interrupted { inner: world.store.clone() as Arc<dyn Store>, hook });
    assert!(world.index.load(store, Some(world.space)).await.is_err());
    let added = added.lock().unwrap().unwrap();
    let world = world.crash().await;
    world.index.shared.text.wait_until_open();
    assert!(!world.index.shared.text.needs_rebuild());
    world.load().await;
    world.holds(&[old, added]).await;
}

#[tokio::test]
async fn after_a_crash_the_log_is_replayed() {
    let world = World::loaded().await;
    let old = world.remember("common old", Some(&axis(1))).await;
    let forgotten = world.remember("common forgotten", Some(&axis(1))).await;
    world.index.shared.text.flush();
    let new = world.remember("common new", Some(&axis(2))).await;
    world.forget(forgotten).await;
    let world = world.crash().await;
    world.index.shared.text.wait_until_open();
    assert!(!world.index.shared.text.needs_rebuild());
    world.load().await;
    world.holds(&[old, new]).await;
}

#[tokio::test]
async fn a_log_that_does_not_reach_back_means_a_rebuild() {
    let world = World::loaded().await;
    let old = world.remember("common old", Some(&axis(1))).await;
    world.index.shared.text.flush();
    let new = world.remember("common new", Some(&axis(2))).await;
    let last = world.remember("common last", Some(&axis(2))).await;
    let sequence = world.snapshot().await.sequence();
    let later = Timestamp::from_second(10).unwrap();
    world.store.trim_log(sequence - 1, later).await.unwrap();
    let world = world.crash().await;
    world.load().await;
    world.holds(&[old, new, last]).await;
    assert!(world.index.report().text.ready);
}

#[tokio::test]
async fn a_load_that_fails_says_so_and_can_be_repeated() {
    let world = World::new().await;
    let id = world.remember("common tea", Some(&axis(1))).await;
    let hook: Hook = Arc::new(|_| Box::pin(async { Err(StoreError::Io("torn".to_owned())) }));
    let broken = Arc::new(Interrupted { inner: world.store.clone() as Arc<dyn Store>, hook });
    assert!(world.index.load(broken, Some(world.space)).await.is_err());
    assert!(matches!(world.by_vector(&axis(1), 10, &[]).await, Err(IndexError::Store(_))));
    assert!(!world.index.report().text.ready);
    world.load().await;
    world.holds(&[id]).await;
}

/// Makes every index differ from the store in every way.
fn damage(world: &World, ids: &[MemoryId], sequence: u64) {
    let shared = &world.index.shared;
    let ghost = memory(MemoryId::from_u128(1), "user", "common ghost");
    let mut known = shared.write();
    let (slot, entry) = known.catalog.remove(ids[0]).unwrap();
    shared.vectors.remove(slot, &entry);
    let (slot, entry) = known.catalog.find(ids[1]).unwrap();
    shared.vectors.put(slot, entry, true, None);
    let (slot, entry) = known.catalog.find(ids[2]).unwrap();
    shared.vectors.put(slot, entry, false, Some(&embedded(world.space, &axis(9))));
    let stale = Memory { importance: 0.9, ..memory(ids[3], "user", "common 3") };
    known.catalog.put(&stale);
    known.catalog.put(&ghost);
    drop(known);
    shared.text.remove(ids[4], sequence);
    shared.text.put(&ghost, sequence);
}

#[tokio::test]
async fn the_parity_check_finds_and_repairs_every_difference() {
    let world = World::loaded().await;
    let mut ids = Vec::new();
    for number in 0..6 {
        ids.push(world.remember(&format!("common {number}"), Some(&axis(number))).await);
    }
    damage(&world, &ids, world.snapshot().await.sequence());
    assert_eq!(
        world.check().await,
        ParityReport { n_compared: 6, n_missing: 4, n_surplus: 2, n_different: 2 }
    );
    world.holds(&ids).await;
}

#[tokio::test]
async fn the_parity_check_neither_counts_nor_undoes_what_was_committed_meanwhile() {
    let world = World::loaded().await;
    let forgotten = world.remember("common forgotten", Some(&axis(1))).await;
    let changed = world.remember("common old", Some(&axis(2))).await;
    let before = world.snapshot().await;
    world.forget(forgotten).await;
    world.revise(changed, "common new", Some(&axis(3))).await;
    let added = world.remember("common added", Some(&axis(4))).await;
    let report = world.index.check(&before).await.unwrap();
    assert_eq!(report, ParityReport { n_compared: 2, ..ParityReport::default() });
    world.holds(&[changed, added]).await;
}

/// Takes a memory out of the words and the rows.
fn lose(world: &World, id: MemoryId, sequence: u64) {
    let shared = &world.index.shared;
    shared.text.remove(id, sequence);
    let known = shared.read();
    let (slot, entry) = known.catalog.find(id).unwrap();
    shared.vectors.put(slot, entry, true, None);
    drop(known);
}

#[tokio::test]
async fn a_commit_during_a_repair_has_the_last_word() {
    let world = World::new().await;
    let forgotten = world.remember("common forgotten", Some(&axis(1))).await;
    let changed = world.remember("common old", Some(&axis(2))).await;
    let missing = world.remember("common missing", Some(&axis(3))).await;
    let writer = world.writer.clone();
    let is_repair = Arc::new(AtomicBool::new(false));
    let repairs = Arc::clone(&is_repair);
    let hook: Hook = Arc::new(move |read| {
        let (writer, repairs) = (writer.clone(), repairs.load(Ordering::Relaxed));
        Box::pin(async move {
            if repairs && read == "memories" {
                writer.forget(forgotten).await;
                writer.revise(changed, "common new", Some(&axis(4))).await;
            }
            Ok(())
        })
    });
    let store = Arc::new(Interrupted { inner: world.store.clone() as Arc<dyn Store>, hook });
    world.index.load(store.clone(), Some(world.space)).await.unwrap();
    // All three are missing from the words and the rows when the check begins.
    let sequence = world.snapshot().await.sequence();
    for id in [forgotten, changed, missing] {
        lose(&world, id, sequence);
    }
    is_repair.store(true, Ordering::Relaxed);
    let report = world.check().await;
    assert_eq!((report.n_missing, report.n_surplus, report.n_different), (2, 0, 0));
    is_repair.store(false, Ordering::Relaxed);
    assert!(world.by_words("old").await.is_empty());
    assert!(world.cosine_of(changed, &axis(4)).await > 0.99);
    world.holds(&[changed, missing]).await;
}
