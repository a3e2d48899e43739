//! Random sequences of requests against a model that keeps everything in maps.
//!
//! Texts, namespaces and tags are few, so that equal memories, lost targets and replays are common.
//! proptest prints the failing sequence, shortened; `PROPTEST_RNG_SEED` fixes the seed of a run.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::fixture::{Fixture, at, embedded, key, model, tags};
use crate::domain::change::{
    Forgotten, NewMemory, Patch, Remembered, Revised, StoreStatus, UsageNote, VectorsFor,
};
use crate::domain::embedding::SpaceId;
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::memory::{Anchor, Kind, Memory, Status, Usage};
use crate::ports::{Listing, Store, StoreError};

#[derive(Clone, Debug)]
struct New {
    namespace: u8,
    text: u8,
    tags: u8,
    occurred_at: Option<u8>,
    supersedes: Option<u8>,
    has_vectors: bool,
}

#[derive(Clone, Debug)]
enum Validity {
    Kept,
    Endless,
    /// Ends after so many seconds.
    Ends(i8),
}

/// Targets are places among all ids that were ever stored.
#[derive(Clone, Debug)]
enum Step {
    Remember { new: Vec<New>, key: Option<u8> },
    Revise { target: u8, text: Option<u8>, tags: Option<u8>, validity: Validity },
    Archive { target: u8 },
    Forget { targets: Vec<u8>, grace: Option<u8> },
    Restore { target: u8 },
    Erase,
    Use { target: u8 },
    Embed { target: u8, version: u8 },
    Reopen,
}

fn new() -> impl Strategy<Value = New> {
    let rarely = |strategy| option::weighted(0.2, strategy);
    (0..2_u8, 0..4_u8, 0..8_u8, rarely(0..2_u8), rarely(0..255_u8), any::<bool>()).prop_map(
        |(namespace, text, tags, occurred_at, supersedes, has_vectors)| New {
            namespace,
            text,
            tags,
            occurred_at,
            supersedes,
            has_vectors,
        },
    )
}

fn validity() -> impl Strategy<Value = Validity> {
    prop_oneof![Just(Validity::Kept), Just(Validity::Endless), (-9..90_i8).prop_map(Validity::Ends)]
}

fn step() -> impl Strategy<Value = Step> {
    let target = any::<u8>;
    prop_oneof![
        8 => (vec(new(), 1..4), option::weighted(0.3, 0..3_u8))
            .prop_map(|(new, key)| Step::Remember { new, key }),
        4 => (target(), option::of(0..4_u8), option::of(0..8_u8), validity())
            .prop_map(|(target, text, tags, validity)| {
                Step::Revise { target, text, tags, validity }
            }),
        1 => target().prop_map(|target| Step::Archive { target }),
        3 => (vec(target(), 1..4), option::of(0..60_u8))
            .prop_map(|(targets, grace)| Step::Forget { targets, grace }),
        2 => target().prop_map(|target| Step::Restore { target }),
        1 => Just(Step::Erase),
        1 => target().prop_map(|target| Step::Use { target }),
        2 => (target(), 1..4_u8).prop_map(|(target, version)| Step::Embed { target, version }),
        1 => Just(Step::Reopen),
    ]
}

fn texts(bits: u8) -> Vec<String> {
    let all = ["t0", "t1", "t2"];
    let chosen: Vec<_> = (0..3).filter(|n| bits >> n & 1 == 1).map(|n| all[n]).collect();
    tags(&chosen)
}

fn text(n: u8) -> String {
    format!("text {n}")
}

/// A memory with all its versions, the present one last.
#[derive(Clone, Debug)]
struct Life {
    versions: Vec<Memory>,
    content_version: u64,
    has_vectors: bool,
}

impl Life {
    fn now(&self) -> &Memory {
        self.versions.last().unwrap()
    }

    fn change(&mut self, now: Timestamp, change: impl FnOnce(&mut Memory)) {
        let mut memory = self.now().clone();
        memory.version += 1;
        memory.updated_at = now;
        change(&mut memory);
        self.versions.push(memory);
    }
}

#[derive(Default)]
struct Model {
    lives: BTreeMap<MemoryId, Life>,
    /// Forgotten, with the time from which they cannot come back.
    forgotten: BTreeMap<MemoryId, (Life, Timestamp)>,
    answers: BTreeMap<u8, Vec<Remembered>>,
    n_logged: u64,
}

impl Model {
    fn remember(
        &mut self,
        new: &[NewMemory],
        key: Option<u8>,
        now: Timestamp,
    ) -> Result<Vec<Remembered>, StoreError> {
        if let Some(first) = key.and_then(|key| self.answers.get(&key)) {
            return Ok(first.iter().map(|answer| self.replayed(answer)).collect());
        }
        for new in new {
            if let Some(old) = new.supersedes.filter(|old| !self.lives.contains_key(old)) {
                return Err(StoreError::SupersedesMissing(old));
            }
        }
        let answers: Vec<_> = new.iter().map(|new| self.remember_one(new, now)).collect();
        if let Some(key) = key {
            self.answers.insert(key, answers.clone());
        }
        Ok(answers)
    }

    fn replayed(&self, first: &Remembered) -> Remembered {
        match self.lives.get(&first.id) {
            Some(life) => {
                Remembered { embedded: life.has_vectors, supersedes: None, ..first.clone() }
            }
            None => Remembered {
                id: first.id,
                status: StoreStatus::Forgotten,
                embedded: false,
                changed: Vec::new(),
                supersedes: None,
            },
        }
    }

    /// The last successor that is there.
    fn latest(&self, id: MemoryId) -> MemoryId {
        let memory = self.lives[&id].now();
        let next = memory
            .superseded_by
            .filter(|next| memory.status == Status::Superseded && self.lives.contains_key(next));
        next.map_or(id, |next| self.latest(next))
    }

    fn remember_one(&mut self, new: &NewMemory, now: Timestamp) -> Remembered {
        let supersedes = new.supersedes.map(|old| self.latest(old));
        let new = &NewMemory { supersedes, ..new.clone() };
        let find = |status| {
            self.lives.iter().find(|(_, life)| {
                let memory = life.now();
                memory.status == status
                    && memory.namespace == new.namespace
                    && memory.content == new.content
                    && memory.occurred_at == new.occurred_at
            })
        };
        let equal = find(Status::Active).or_else(|| find(Status::Archived)).map(|(id, _)| *id);
        let mut answer = match equal {
            Some(id) => self.unite(id, new, now),
            None => self.store(new, now),
        };
        if let Some(old) = new.supersedes.filter(|old| *old != answer.id) {
            self.n_logged += 1;
            self.lives.get_mut(&old).unwrap().change(now, |memory| {
                memory.status = Status::Superseded;
                memory.superseded_by = Some(answer.id);
                memory.valid_to = Some(new.occurred_at.unwrap_or(now));
            });
            answer.supersedes = Some(old);
            if equal.is_none() {
                answer.status = StoreStatus::Superseded;
            }
        }
        answer
    }

    fn unite(&mut self, id: MemoryId, new: &NewMemory, now: Timestamp) -> Remembered {
        let life = self.lives.get_mut(&id).unwrap();
        let before = life.now().clone();
        let mut changed = Vec::new();
        let union: BTreeSet<_> = before.tags.iter().chain(&new.tags).cloned().collect();
        let union: Vec<_> = union.into_iter().collect();
        if union != before.tags {
            changed.push("tags");
        }
        if before.status == Status::Archived {
            changed.push("status");
        }
        let supersedes = new.supersedes.filter(|old| *old != id);
        if before.supersedes.is_none() && supersedes.is_some() {
            changed.push("supersedes");
        }
        if !changed.is_empty() {
            self.n_logged += 1;
            life.change(now, |memory| {
                memory.tags = union;
                memory.status = Status::Active;
                memory.supersedes = before.supersedes.or(supersedes);
            });
        }
        if new.embedded.is_some() && !life.has_vectors {
            self.n_logged += 1;
            life.has_vectors = true;
        }
        let status = StoreStatus::Deduplicated;
        Remembered { id, status, embedded: life.has_vectors, changed, supersedes: None }
    }

    fn store(&mut self, new: &NewMemory, now: Timestamp) -> Remembered {
        let memory = Memory {
            id: new.id,
            namespace: new.namespace.clone(),
            content: new.content.clone(),
            kind: new.kind,
            tags: new.tags.clone(),
            metadata: new.metadata.clone(),
            session: None,
            agent: None,
            occurred_at: new.occurred_at,
            created_at: now,
            updated_at: now,
            importance: new.importance,
            pinned: false,
            status: Status::Active,
            supersedes: new.supersedes,
            superseded_by: None,
            valid_to: None,
            derived_from: Vec::new(),
            consolidated_into: None,
            contradicts: Vec::new(),
            origin: new.origin,
            version: 1,
            usage: Usage {
                last_recalled_at: None,
                recalls: 0,
                anchor: Anchor { value: new.importance, at: now },
            },
        };
        self.n_logged += 1;
        let has_vectors = new.embedded.is_some();
        let life = Life { versions: vec![memory], content_version: 1, has_vectors };
        self.lives.insert(new.id, life);
        let status = StoreStatus::Stored;
        Remembered {
            id: new.id,
            status,
            embedded: has_vectors,
            changed: Vec::new(),
            supersedes: None,
        }
    }

    fn revise(&mut self, id: MemoryId, patch: &Patch, now: Timestamp) -> Revised {
        let Some(life) = self.lives.get_mut(&id) else { return Revised::Missing };
        let before = life.now().clone();
        let mut after = before.clone();
        after.content = patch.content.clone().unwrap_or(after.content);
        after.tags = patch.tags.clone().unwrap_or(after.tags);
        if let Some(valid_to) = patch.valid_to {
            after.valid_to = valid_to;
            after.status = match (before.status, valid_to.is_some_and(|end| end <= now)) {
                (Status::Superseded, _) => Status::Superseded,
                (_, true) => Status::Invalidated,
                (Status::Invalidated, false) => Status::Active,
                (other, false) => other,
            };
        }
        let differs = [
            ("content", before.content != after.content),
            ("tags", before.tags != after.tags),
            ("valid_to", before.valid_to != after.valid_to),
            ("status", before.status != after.status),
        ];
        let changed: Vec<_> = differs.iter().filter(|(_, d)| *d).map(|(name, _)| *name).collect();
        if !changed.is_empty() {
            self.n_logged += 1;
            life.change(now, |memory| {
                *memory = Memory { version: memory.version, updated_at: now, ..after };
            });
        }
        if changed.contains(&"content") {
            life.content_version = life.now().version;
            life.has_vectors = false;
        }
        Revised::Done { memory: Box::new(life.now().clone()), changed }
    }

    fn forget(&mut self, ids: &[MemoryId], until: Option<Timestamp>, now: Timestamp) -> Forgotten {
        let erase_by = now.checked_add(jiff::SignedDuration::from_secs(1_000)).unwrap();
        let (mut done, mut missing) = (Vec::new(), Vec::new());
        for id in ids.iter().copied().collect::<BTreeSet<_>>() {
            let life = self.lives.remove(&id);
            let is_cut_short = until.is_none() && self.forgotten.remove(&id).is_some();
            let is_forgotten = life.is_some() || is_cut_short;
            self.n_logged += u64::from(is_forgotten);
            if let (Some(life), Some(until)) = (life, until) {
                self.forgotten.insert(id, (life, until.min(erase_by)));
            }
            if is_forgotten { &mut done } else { &mut missing }.push(id);
        }
        Forgotten {
            ids: done,
            withdrawn: Vec::new(),
            missing,
            forgotten_at: now,
            erase_by,
            restorable_until: until,
        }
    }

    fn restore(&mut self, id: MemoryId, now: Timestamp) -> bool {
        if self.forgotten.get(&id).is_none_or(|(_, due)| *due <= now) {
            return false;
        }
        let (mut life, _) = self.forgotten.remove(&id).unwrap();
        life.change(now, |_| {});
        life.has_vectors = false;
        self.lives.insert(id, life);
        self.n_logged += 1;
        true
    }

    fn erase_due(&mut self, now: Timestamp) -> u64 {
        let before = self.forgotten.len();
        self.forgotten.retain(|_, (_, due)| *due > now);
        let n_erased = (before - self.forgotten.len()) as u64;
        self.n_logged += n_erased;
        n_erased
    }
}

/// A store and its model, driven together.
struct Run {
    f: Fixture,
    space: SpaceId,
    model: Model,
    ids: Vec<MemoryId>,
}

impl Run {
    fn target(&self, place: u8) -> MemoryId {
        match self.ids.len() {
            0 => MemoryId::from_u128(1),
            n => self.ids[usize::from(place) % n],
        }
    }

    fn new_memory(&self, new: &New) -> NewMemory {
        let mut memory = self.f.fact(&text(new.text));
        memory.namespace = ["user", "agent/a"][usize::from(new.namespace)].parse().unwrap();
        memory.kind = if new.text == 0 { Kind::Event } else { Kind::Fact };
        memory.tags = texts(new.tags);
        memory.occurred_at = new.occurred_at.map(|n| at(i64::from(n)));
        memory.supersedes = new.supersedes.map(|place| self.target(place));
        memory.embedded = new.has_vectors.then(|| embedded(self.space, 1, 2));
        memory
    }

    async fn step(&mut self, step: Step, second: i64) {
        let now = at(second);
        match step {
            Step::Remember { new, key: n } => {
                let new: Vec<_> = new.iter().map(|new| self.new_memory(new)).collect();
                self.ids.extend(new.iter().map(|new| new.id));
                let expected = self.model.remember(&new, n, now);
                let request = n.map(|n| key(&n.to_string()));
                assert_eq!(self.f.try_remember(new, request, second).await, expected);
            }
            Step::Revise { target, text: n, tags, validity } => {
                let valid_to = match validity {
                    Validity::Kept => None,
                    Validity::Endless => Some(None),
                    Validity::Ends(seconds) => Some(Some(at(second + i64::from(seconds)))),
                };
                let patch = Patch {
                    content: n.map(|n| text(n).into()),
                    tags: tags.map(texts),
                    valid_to,
                    ..Patch::default()
                };
                let id = self.target(target);
                let expected = self.model.revise(id, &patch, now);
                assert_eq!(self.f.revise(id, patch, second).await, expected);
            }
            Step::Archive { target } => self.archive(self.target(target), now).await,
            Step::Forget { targets, grace } => {
                let mut ids: Vec<_> = targets.iter().map(|n| self.target(*n)).collect();
                ids.sort();
                let grace = grace.map(i64::from);
                let until = grace.map(|grace| at(second + grace));
                let expected = self.model.forget(&ids, until, now);
                assert_eq!(self.f.forget(&ids, grace, second).await, expected);
            }
            Step::Restore { target } => {
                let id = self.target(target);
                let expected = self.model.restore(id, now);
                assert_eq!(self.f.store.restore(id, Actor::Owner, now).await, Ok(expected));
            }
            Step::Erase => {
                let expected = self.model.erase_due(now);
                assert_eq!(self.f.store.erase_due(now).await, Ok(expected));
            }
            Step::Use { target } => self.note_use(self.target(target), now).await,
            Step::Embed { target, version } => {
                self.embed(self.target(target), u64::from(version), now).await;
            }
            Step::Reopen => self.f.reopen(),
        }
    }

    async fn archive(&mut self, id: MemoryId, now: Timestamp) {
        let Some(life) = self.model.lives.get_mut(&id) else { return };
        if life.now().status != Status::Active {
            return;
        }
        life.change(now, |memory| memory.status = Status::Archived);
        let archive = move |record: &mut crate::store::records::MemoryRecord| {
            record.status = Status::Archived.to_string();
            record.updated_at = now.as_microsecond();
        };
        self.f.rewrite(id, archive).await;
    }

    async fn note_use(&mut self, id: MemoryId, now: Timestamp) {
        let anchor = Anchor { value: 0.75, at: now };
        if let Some(life) = self.model.lives.get_mut(&id) {
            // Usage has no versions: every version shows the present one.
            for memory in &mut life.versions {
                let recalls = memory.usage.recalls + 1;
                let last_recalled_at = Some(now);
                memory.usage = Usage { last_recalled_at, recalls, anchor };
            }
        }
        let note = UsageNote { id, at: now, recalls: 1, anchor: Some(anchor) };
        self.f.store.note_usage(vec![note]).await.unwrap();
    }

    async fn embed(&mut self, id: MemoryId, version: u64, now: Timestamp) {
        let life = self.model.lives.get_mut(&id);
        let fresh =
            life.filter(|life| (life.content_version..=life.now().version).contains(&version));
        let n_expected = u64::from(fresh.is_some());
        if let Some(life) = fresh {
            life.has_vectors = true;
            self.model.n_logged += 1;
        }
        let late = vec![VectorsFor { id, version, embedded: embedded(self.space, 1, 1) }];
        assert_eq!(self.f.store.attach_vectors(late, now).await, Ok(n_expected));
    }

    /// Compares everything a reader can see.
    async fn compare(&self) {
        let snapshot = self.f.snapshot().await;
        let expected: Vec<_> = self.model.lives.values().map(|life| life.now().clone()).collect();
        assert_eq!(snapshot.scan(None, usize::MAX).await.unwrap(), expected);
        for id in &self.ids {
            let history = snapshot.history(*id).await.unwrap();
            let versions = self.model.lives.get(id).map_or(&[][..], |life| &life.versions);
            let earlier = versions.len().saturating_sub(1);
            assert_eq!(history, versions[..earlier]);
        }
        let mut by_time = expected;
        by_time.sort_by_key(|memory| (memory.event_time(), memory.id));
        let namespaces = vec!["user".parse().unwrap(), "agent/a".parse().unwrap()];
        let all = Filter { namespaces, ..Filter::default() };
        for filter in [
            all.clone(),
            Filter { tags: tags(&["t0", "t2"]), ..all.clone() },
            Filter { kinds: vec![Kind::Event], ..all.clone() },
            Filter { statuses: vec![Status::Active, Status::Archived], ..all },
        ] {
            let expected: Vec<_> = by_time.iter().filter(|m| filter.matches(m)).cloned().collect();
            let limit = usize::MAX;
            let listing = Listing { filter, newest_first: false, after: None, limit };
            assert_eq!(snapshot.list(listing).await.unwrap(), expected);
        }
        let waiting = self.model.lives.iter().filter(|(_, life)| !life.has_vectors);
        let waiting: Vec<_> = waiting.map(|(id, _)| *id).collect();
        assert_eq!(snapshot.without_vectors(self.space, usize::MAX).await.unwrap(), waiting);
        assert_eq!(snapshot.sequence(), self.model.n_logged);
        let report = self.f.store.report().await.unwrap();
        assert_eq!(report.n_forgotten_pending, self.model.forgotten.len() as u64);
    }
}

async fn run(steps: Vec<Step>) {
    let f = Fixture::new();
    let space = f.store.space(model("m"), Vec::new(), at(0)).await.unwrap();
    let mut run = Run { f, space, model: Model::default(), ids: Vec::new() };
    for (second, step) in (1..).map(|n| n * 10).zip(steps) {
        run.step(step, second).await;
    }
    run.compare().await;
    run.f.reopen();
    run.compare().await;
    run.f.finish().await;
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_store_does_what_the_model_does(steps in vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(steps));
    }
}
