//! Random requests against a model that keeps reminders and rows in maps and says what holds after a
//! request, not how it is carried out.
//!
//! Memories, topics and sinks are few, so that conflicts are common. proptest prints the failing
//! sequence, shortened; `PROPTEST_RNG_SEED` fixes the seed of a run.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::fixture::{Fixture, at};
use super::{entry, row, sink_change};
use crate::domain::id::MemoryId;
use crate::domain::reminder::{
    DeliveryKey, DeliveryState, Enact, Enacted, Entry, Row, SinkState, Standing, Status,
};
use crate::ports::Reminders as _;

const SINKS: [&str; 2] = ["desk", "team"];

/// A part of a request. Targets are places among all reminders, or rows, that ever were.
#[derive(Clone, Debug)]
enum Part {
    New { memory: Option<u8>, evidence: Vec<u8>, topic: Option<u8>, wakes: Option<u8> },
    Again { target: u8 },
    Change { target: u8, status: u8, topic: Option<u8>, wakes: Option<u8>, is_stale: bool },
    Remove { target: u8 },
    Queue { target: u8, sink: u8, due: u8 },
    Row { target: u8, state: u8, due: u8, is_stale: bool },
    Sink { sink: u8, n_failures: u32, is_stale: bool },
}

#[derive(Clone, Debug)]
enum Step {
    Enact(Vec<Part>),
    Forget { memory: u8, is_restorable: bool },
    Trim { before: u8 },
    Reopen,
}

fn part() -> impl Strategy<Value = Part> {
    let (target, rarely) = (any::<u8>, || option::weighted(0.3, 0..4_u8));
    let wakes = || option::of(0..60_u8);
    let is_stale = || prop::bool::weighted(0.05);
    prop_oneof![
        4 => (rarely(), vec(0..4_u8, 0..3), rarely(), wakes()).prop_map(
            |(memory, evidence, topic, wakes)| Part::New { memory, evidence, topic, wakes }
        ),
        1 => target().prop_map(|target| Part::Again { target }),
        3 => (target(), 0..6_u8, rarely(), wakes(), is_stale()).prop_map(
            |(target, status, topic, wakes, is_stale)| {
                Part::Change { target, status, topic, wakes, is_stale }
            }
        ),
        1 => target().prop_map(|target| Part::Remove { target }),
        4 => (target(), 0..2_u8, 0..4_u8)
            .prop_map(|(target, sink, due)| Part::Queue { target, sink, due }),
        3 => (target(), 0..6_u8, 0..4_u8, is_stale()).prop_map(
            |(target, state, due, is_stale)| Part::Row { target, state, due, is_stale }
        ),
        1 => (0..2_u8, 0..2_u32, is_stale()).prop_map(
            |(sink, n_failures, is_stale)| Part::Sink { sink, n_failures, is_stale }
        ),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => vec(part(), 1..4).prop_map(Step::Enact),
        1 => (0..4_u8, any::<bool>())
            .prop_map(|(memory, is_restorable)| Step::Forget { memory, is_restorable }),
        1 => any::<u8>().prop_map(|before| Step::Trim { before }),
        1 => Just(Step::Reopen),
    ]
}

/// What is there.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    memories: BTreeSet<MemoryId>,
    entries: BTreeMap<MemoryId, Entry>,
    rows: BTreeMap<DeliveryKey, Row>,
    sinks: BTreeMap<String, SinkState>,
}

fn memories_of(entry: &Entry) -> impl Iterator<Item = &MemoryId> {
    entry.memory.iter().chain(&entry.evidence)
}

impl Model {
    /// What is there after a request; `None`: it cannot be carried out.
    fn after(&self, request: &Enact) -> Option<Self> {
        let mut after = self.clone();
        let mut touched: BTreeSet<MemoryId> = request.removed.iter().copied().collect();
        after.remove(|entry| touched.contains(&entry.id));
        for entry in &request.changed {
            let is_same = self.entries.get(&entry.id)?.version == entry.version;
            let changed = Entry { version: entry.version + 1, ..entry.clone() };
            after.entries.insert(entry.id, changed);
            (is_same && touched.insert(entry.id)).then_some(())?;
        }
        for entry in &request.new {
            let is_new = !self.entries.contains_key(&entry.id) && touched.insert(entry.id);
            after.entries.insert(entry.id, entry.clone());
            is_new.then_some(())?;
        }
        let mut keys = BTreeSet::new();
        for row in &request.rows {
            let is_same = self.rows.get(&row.delivery.key)?.version == row.version;
            let is_first = keys.insert(row.delivery.key);
            let is_there = after.entries.contains_key(&row.reminder);
            (is_same && is_first && is_there).then_some(())?;
            after.rows.insert(row.delivery.key, Row { version: row.version + 1, ..row.clone() });
        }
        for row in &request.queued {
            after.entries.get(&row.reminder)?;
            after.rows.entry(row.delivery.key).or_insert_with(|| row.clone());
        }
        for change in &request.sinks {
            let known = self.sinks.get(&change.name).cloned().unwrap_or_default();
            (known == change.was).then_some(())?;
            after.sinks.insert(change.name.clone(), change.is.clone());
        }
        after.sinks.retain(|_, state| *state != SinkState::default());
        after.is_sound().then_some(after)
    }

    fn is_sound(&self) -> bool {
        let topics: Vec<&String> =
            self.entries.values().filter_map(|entry| entry.topic.as_ref()).collect();
        let is_there = |entry: &Entry| memories_of(entry).all(|id| self.memories.contains(id));
        topics.iter().collect::<BTreeSet<_>>().len() == topics.len()
            && self.entries.values().all(is_there)
    }

    fn remove(&mut self, fits: impl Fn(&Entry) -> bool) {
        self.entries.retain(|_, entry| !fits(entry));
        self.rows.retain(|_, row| self.entries.contains_key(&row.reminder));
    }

    fn forget(&mut self, memory: MemoryId) {
        self.memories.remove(&memory);
        self.remove(|entry| memories_of(entry).any(|id| *id == memory));
    }

    fn trim(&mut self, before: i64) -> u64 {
        let n_before = self.rows.len() + self.entries.len();
        let is_queued = |row: &Row| row.delivery.state == DeliveryState::Queued;
        self.rows.retain(|_, row| is_queued(row) || row.delivery.due_at >= at(before));
        let with_rows: BTreeSet<MemoryId> = self.rows.values().map(|row| row.reminder).collect();
        self.entries.retain(|id, entry| {
            let is_over = entry.reminder.standing() == Standing::Past;
            let is_declined = entry.reminder.status == Status::Declined && entry.topic.is_some();
            let is_young = entry.updated_at >= at(before);
            !is_over || is_declined || is_young || with_rows.contains(id)
        });
        (n_before - self.rows.len() - self.entries.len()) as u64
    }
}

struct Run {
    f: Fixture,
    model: Model,
    memories: Vec<MemoryId>,
    ids: Vec<MemoryId>,
    keys: Vec<DeliveryKey>,
}

fn pick<T: Copy>(all: &[T], place: u8) -> Option<T> {
    all.get(usize::from(place) % all.len().max(1)).copied()
}

fn topic(n: Option<u8>) -> Option<String> {
    n.map(|n| format!("topic {n}"))
}

impl Run {
    fn request(&mut self, parts: &[Part]) -> Enact {
        let mut request = Enact::default();
        for part in parts {
            self.add(part, &mut request);
        }
        request
    }

    fn add(&mut self, part: &Part, request: &mut Enact) {
        match part {
            Part::New { memory, evidence, topic: topic_number, wakes } => {
                let of = |n: &u8| self.memories[usize::from(*n)];
                let new = Entry {
                    memory: memory.as_ref().map(of),
                    evidence: evidence
                        .iter()
                        .map(of)
                        .collect::<BTreeSet<_>>()
                        .into_iter()
                        .collect(),
                    topic: topic(*topic_number),
                    wakes_at: wakes.map(|second| at(i64::from(second))),
                    ..entry(self.f.unknown_id(), "new", 60)
                };
                self.ids.push(new.id);
                request.new.push(new);
            }
            Part::Again { target } => {
                request.new.extend(pick(&self.ids, *target).map(|id| entry(id, "again", 60)));
            }
            Part::Change { target, status, topic: topic_number, wakes, is_stale } => {
                let Some(id) = pick(&self.ids, *target) else { return };
                let gone = entry(id, "gone", 60);
                let mut entry = self.model.entries.get(&id).cloned().unwrap_or(gone);
                entry.reminder.status = Status::ALL[usize::from(*status)];
                entry.topic = topic(*topic_number);
                entry.wakes_at = wakes.map(|second| at(i64::from(second)));
                entry.version -= u64::from(*is_stale);
                request.changed.push(entry);
            }
            Part::Remove { target } => request.removed.extend(pick(&self.ids, *target)),
            Part::Queue { target, sink, due } => {
                let Some(id) = pick(&self.ids, *target) else { return };
                let sink = SINKS[usize::from(*sink)];
                let row = row(&entry(id, "told", 60), sink, i64::from(*due));
                self.keys.push(row.delivery.key);
                request.queued.push(row);
            }
            Part::Row { target, state, due, is_stale } => {
                let Some(key) = pick(&self.keys, *target) else { return };
                let Some(mut row) = self.model.rows.get(&key).cloned() else { return };
                row.delivery.state = DeliveryState::ALL[usize::from(*state)];
                row.delivery.due_at = at(i64::from(*due));
                row.delivery.created_at = row.delivery.due_at;
                row.version -= u64::from(*is_stale);
                request.rows.push(row);
            }
            Part::Sink { sink, n_failures, is_stale } => {
                let name = SINKS[usize::from(*sink)];
                let mut was = self.model.sinks.get(name).cloned().unwrap_or_default();
                was.n_failures += u32::from(*is_stale);
                let is = SinkState { n_failures: *n_failures, ..SinkState::default() };
                request.sinks.push(sink_change(name, was, is));
            }
        }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Enact(parts) => {
                let request = self.request(&parts);
                let enacted = self.f.store.enact(request.clone(), at(0)).await.unwrap();
                if let Some(after) = self.model.after(&request) {
                    let new = request.new.iter().map(|entry| entry.id).collect();
                    assert_eq!(enacted, Enacted::Done(new));
                    self.model = after;
                } else {
                    assert!(matches!(enacted, Enacted::Conflict(_)), "{enacted:?}");
                }
            }
            Step::Forget { memory, is_restorable } => {
                let memory = self.memories[usize::from(memory)];
                self.f.forget(&[memory], is_restorable.then_some(500), 1).await;
                self.model.forget(memory);
            }
            Step::Trim { before } => {
                let before = i64::from(before);
                let n_trimmed = self.f.store.trim_reminders(at(before)).await.unwrap();
                assert_eq!(n_trimmed, self.model.trim(before));
            }
            Step::Reopen => self.f.reopen(),
        }
    }

    /// Compares everything that a reader can see.
    async fn compare(&self) {
        let store = &self.f.store;
        let entries: Vec<&Entry> = self.model.entries.values().rev().collect();
        let of = |fits: &dyn Fn(&Entry) -> bool| {
            entries.iter().filter(|entry| fits(entry)).map(|entry| (*entry).clone()).collect()
        };
        let all: Vec<Entry> = of(&|_| true);
        assert_eq!(self.f.entries(&[]).await, all);
        for standing in Standing::ALL {
            let expected: Vec<Entry> = of(&|entry| entry.reminder.standing() == *standing);
            assert_eq!(self.f.entries(&[*standing]).await, expected);
        }
        let mut wakes: Vec<_> =
            entries.iter().filter_map(|entry| Some((entry.wakes_at?, entry.id))).collect();
        wakes.sort_unstable();
        let due = store.due_entries(at(30), 99).await.unwrap();
        let expected = wakes.iter().filter(|wake| wake.0 <= at(30)).map(|wake| wake.1);
        assert_eq!(super::ids(&due), expected.collect::<Vec<_>>());
        assert_eq!(store.next_wake().await.unwrap(), wakes.first().map(|wake| wake.0));
        for memory in &self.memories {
            let mut expected: Vec<Entry> = of(&|entry| memories_of(entry).any(|id| id == memory));
            expected.reverse();
            assert_eq!(store.entries_of(*memory).await.unwrap(), expected);
        }
        for n in 0..4 {
            let name = topic(Some(n)).unwrap();
            let expected: Vec<Entry> = of(&|entry| entry.topic.as_ref() == Some(&name));
            let found = store.entry_of_topic(name.clone()).await.unwrap();
            assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
        }
        self.compare_rows().await;
    }

    async fn compare_rows(&self) {
        let store = &self.f.store;
        let sorted = |fits: &dyn Fn(&Row) -> bool| {
            let mut rows: Vec<Row> =
                self.model.rows.values().filter(|row| fits(row)).cloned().collect();
            rows.sort_by_key(|row| (row.delivery.due_at, row.delivery.key));
            rows
        };
        for state in DeliveryState::ALL {
            for sink in [None, Some("desk")] {
                let expected = sorted(&|row| {
                    row.delivery.state == *state
                        && sink.is_none_or(|sink| sink == row.delivery.sink)
                });
                let sink = sink.map(ToOwned::to_owned);
                assert_eq!(store.rows(*state, sink, None, 99).await.unwrap(), expected);
            }
        }
        for id in &self.ids {
            let expected = sorted(&|row| row.reminder == *id);
            assert_eq!(store.rows_of(*id).await.unwrap(), expected);
        }
        let sinks: Vec<_> = self.model.sinks.clone().into_iter().collect();
        assert_eq!(store.sink_states().await.unwrap(), sinks);
    }
}

async fn run(steps: Vec<Step>) {
    let f = Fixture::new();
    let mut memories = Vec::new();
    for text in ["a", "b", "c", "d"] {
        memories.push(f.store_fact(text, 0).await);
    }
    let model = Model { memories: memories.iter().copied().collect(), ..Model::default() };
    let (ids, keys) = (Vec::new(), Vec::new());
    let mut run = Run { f, model, memories, ids, keys };
    for step in steps {
        run.step(step).await;
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
    fn reminders_are_what_the_model_says(steps in vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(steps));
    }
}
