//! The change log, replayed: it must explain every version of every memory.

use std::collections::{BTreeMap, BTreeSet};

use recalld::domain::change::LogEntry;
use recalld::domain::id::MemoryId;
use recalld::domain::job::{Run, RunChange, RunId};
use recalld::domain::memory::Memory;
use recalld::ports::{Ledger as _, Store as _};
use recalld::store::RedbStore;

const PAGE: usize = 10_000;

/// What the log has told so far.
#[derive(Default)]
pub struct Replay {
    sequence: u64,
    lives: BTreeMap<MemoryId, Life>,
    /// What each run changed.
    runs: BTreeMap<RunId, BTreeSet<(MemoryId, u64)>>,
    /// What was changed by no run, by the place in the log.
    touched: BTreeMap<u64, MemoryId>,
}

#[derive(Default)]
struct Life {
    version: u64,
    is_there: bool,
    /// What changed at each version.
    changes: BTreeMap<u64, LogEntry>,
}

impl Replay {
    /// Follows the log to its end.
    pub async fn follow(&mut self, store: &RedbStore) {
        let snapshot = store.snapshot().await.unwrap();
        assert_eq!(snapshot.log_start(), 0, "the log is whole");
        loop {
            let page = snapshot.log(self.sequence, PAGE).await.unwrap();
            if page.is_empty() {
                return;
            }
            for entry in page {
                assert!(entry.sequence > self.sequence);
                self.sequence = entry.sequence;
                self.note(entry);
            }
        }
    }

    fn note(&mut self, entry: LogEntry) {
        let life = self.lives.entry(entry.id).or_default();
        let is_expected = match entry.operation.as_str() {
            "store" => life.version == 0 && entry.version == 1,
            "update" | "supersede" | "undo" => life.is_there && entry.version == life.version + 1,
            "restore" => !life.is_there && entry.version == life.version + 1,
            "embed" | "forget" | "withdraw" => life.is_there && entry.version == life.version,
            "erase" => !life.is_there && entry.version == life.version,
            _ => false,
        };
        assert!(is_expected, "version {}, {}: {entry:?}", life.version, life.is_there);
        if entry.run.is_none() && entry.operation != "embed" {
            self.touched.insert(entry.sequence, entry.id);
        }
        match entry.operation.as_str() {
            "forget" | "withdraw" => life.is_there = false,
            "embed" | "erase" => {}
            _ => {
                life.is_there = true;
                life.version = entry.version;
                if let Some(run) = entry.run {
                    self.runs.entry(run).or_default().insert((entry.id, entry.version));
                }
                life.changes.insert(entry.version, entry);
            }
        }
    }

    /// Memories that somebody has changed after this place in the log.
    pub fn touched_since(&self, sequence: u64) -> BTreeSet<MemoryId> {
        self.touched.range(sequence + 1..).map(|(_, id)| *id).collect()
    }

    /// What the log says of a run is what the run is said to have done.
    pub async fn agrees_with(&self, store: &RedbStore, run: &Run) -> Vec<RunChange> {
        let changes = store.run_changes(run.id, PAGE).await.unwrap();
        let told: BTreeSet<(MemoryId, u64)> =
            changes.iter().map(|change| (change.id, change.version)).collect();
        let logged = self.runs.get(&run.id).cloned().unwrap_or_default();
        assert_eq!(told, logged, "{run:?}");
        changes
    }

    /// What is there is what the log has told of, version by version and field by field.
    pub async fn explains(&self, store: &RedbStore, records: &BTreeMap<MemoryId, Memory>) {
        let there: BTreeSet<MemoryId> =
            self.lives.iter().filter(|(_, life)| life.is_there).map(|(id, _)| *id).collect();
        assert_eq!(there, records.keys().copied().collect());
        let snapshot = store.snapshot().await.unwrap();
        for (id, memory) in records {
            let life = &self.lives[id];
            assert_eq!(life.version, memory.version, "{id}");
            let mut versions = snapshot.history(*id).await.unwrap();
            versions.push(memory.clone());
            assert_eq!(versions.len() as u64, memory.version, "{id}");
            for pair in versions.windows(2) {
                let entry = &life.changes[&pair[1].version];
                if entry.operation == "restore" {
                    continue;
                }
                let told: BTreeSet<&str> = entry.fields.iter().map(String::as_str).collect();
                assert_eq!(told, differences(&pair[0], &pair[1]), "{entry:?}");
                // What is linked in the background belongs to no run.
                let is_of_run = entry.actor.starts_with("job/") && entry.actor != "job/contradict";
                assert_eq!(entry.run.is_some(), is_of_run, "{entry:?}");
            }
        }
    }
}

/// Names of the fields in which two versions differ.
fn differences(old: &Memory, new: &Memory) -> BTreeSet<&'static str> {
    [
        ("content", old.content != new.content),
        ("kind", old.kind != new.kind),
        ("tags", old.tags != new.tags),
        ("metadata", old.metadata != new.metadata),
        ("importance", old.importance.to_bits() != new.importance.to_bits()),
        ("pinned", old.pinned != new.pinned),
        ("occurred_at", old.occurred_at != new.occurred_at),
        ("valid_to", old.valid_to != new.valid_to),
        ("status", old.status != new.status),
        ("consolidated_into", old.consolidated_into != new.consolidated_into),
        ("superseded_by", old.superseded_by != new.superseded_by),
        ("supersedes", old.supersedes != new.supersedes),
        ("contradicts", old.contradicts != new.contradicts),
        ("derived_from", old.derived_from != new.derived_from),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect()
}
