//! What both arms know of each memory: the attributes that filters ask for, in RAM.
//!
//! Filled from the store at start and kept by the commit listener. Tags, metadata, sessions and
//! agents are kept as 64-bit hashes: a collision can only let a stale candidate through, and every
//! hit is checked against its record by the caller.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::embedding::ScriptShares;
use crate::domain::filter::{Filter, TagMatch, is_true_at, is_valid_at};
use crate::domain::id::MemoryId;
use crate::domain::memory::{Kind, Memory, Status};
use crate::domain::namespace::Namespace;
use crate::domain::search::Attributes;

/// Place of a memory in the catalog; used again after a removal.
pub(crate) type Slot = u32;

/// Place of a namespace in the catalog; never used again.
pub(crate) type NamespaceSlot = u32;

/// The attributes of one memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Which memory.
    pub(crate) id: MemoryId,
    /// Where it lives.
    pub(crate) namespace: NamespaceSlot,
    /// Version of the record these attributes are of.
    pub(crate) version: u64,
    kind: Kind,
    status: Status,
    event_time: jiff::Timestamp,
    valid_to: Option<jiff::Timestamp>,
    importance: f64,
    scripts: ScriptShares,
    session: Option<u64>,
    agent: Option<u64>,
    tags: Box<[u64]>,
    metadata: Box<[u64]>,
}

/// The attributes of all memories.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    entries: Vec<Option<Entry>>,
    free: Vec<Slot>,
    by_id: HashMap<MemoryId, Slot>,
    namespaces: Vec<Namespace>,
    namespace_slots: HashMap<Namespace, NamespaceSlot>,
    counts: Vec<u64>,
    n_archived: u64,
}

impl Catalog {
    /// Adds a memory or replaces its attributes; its slot stays the same.
    pub(crate) fn put(&mut self, memory: &Memory) -> Slot {
        let namespace = self.intern(&memory.namespace);
        let entry = Entry::of(memory, namespace);
        if let Some(slot) = self.by_id.get(&memory.id).copied() {
            if let Some(place) = self.entries.get_mut(slot as usize) {
                let is_archived = !entry.is_hot();
                if let Some(old) = place.replace(entry) {
                    self.count(old.namespace, !old.is_hot(), false);
                }
                self.count(namespace, is_archived, true);
            }
            return slot;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            Slot::try_from(self.entries.len() - 1).unwrap_or(Slot::MAX)
        });
        let is_archived = !entry.is_hot();
        if let Some(place) = self.entries.get_mut(slot as usize) {
            *place = Some(entry);
        }
        self.by_id.insert(memory.id, slot);
        self.count(namespace, is_archived, true);
        slot
    }

    /// Removes a memory; `None` if it was not there.
    pub(crate) fn remove(&mut self, id: MemoryId) -> Option<(Slot, Entry)> {
        let slot = self.by_id.remove(&id)?;
        let entry = self.entries.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        self.count(entry.namespace, !entry.is_hot(), false);
        Some((slot, entry))
    }

    /// The slot of a memory.
    pub(crate) fn slot(&self, id: MemoryId) -> Option<Slot> {
        self.by_id.get(&id).copied()
    }

    /// The attributes in a slot.
    pub(crate) fn entry(&self, slot: Slot) -> Option<&Entry> {
        self.entries.get(slot as usize)?.as_ref()
    }

    /// The attributes of a memory.
    pub(crate) fn get(&self, id: MemoryId) -> Option<&Entry> {
        self.entry(self.slot(id)?)
    }

    /// The slot and the attributes of a memory.
    pub(crate) fn find(&self, id: MemoryId) -> Option<(Slot, &Entry)> {
        let slot = self.slot(id)?;
        Some((slot, self.entry(slot)?))
    }

    /// All slots in use, in no order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.by_id.values().copied()
    }

    /// What the caller of a search is told of a memory.
    pub(crate) fn attributes(&self, entry: &Entry) -> Option<Attributes> {
        Some(Attributes {
            namespace: self.namespaces.get(entry.namespace as usize)?.clone(),
            event_time: entry.event_time,
            scripts: entry.scripts,
        })
    }

    /// The slot of a namespace that has ever held a memory.
    pub(crate) fn namespace_slot(&self, namespace: &Namespace) -> Option<NamespaceSlot> {
        self.namespace_slots.get(namespace).copied()
    }

    /// Memories in all.
    pub(crate) fn n_memories(&self) -> u64 {
        self.by_id.len() as u64
    }

    /// Whether no memory can pass `filter`, as far as that is known without looking at any: nothing
    /// is archived.
    pub(crate) fn is_hopeless(&self, filter: &Filter) -> bool {
        filter.statuses == [Status::Archived] && self.n_archived == 0
    }

    /// Memories in a namespace.
    pub(crate) fn n_in(&self, namespace: NamespaceSlot) -> u64 {
        self.counts.get(namespace as usize).copied().unwrap_or(0)
    }

    /// All ids, in no order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = MemoryId> + '_ {
        self.by_id.keys().copied()
    }

    /// Whether the attributes kept are those of `memory` (used by the parity check).
    pub(crate) fn agrees_with(&self, memory: &Memory) -> bool {
        self.get(memory.id).is_some_and(|entry| {
            self.namespace_slot(&memory.namespace) == Some(entry.namespace)
                && Entry::of(memory, entry.namespace) == *entry
        })
    }

    /// Translates a filter into slots and hashes.
    pub(crate) fn compile(&self, filter: &Filter) -> CompiledFilter {
        let mut namespaces: Vec<NamespaceSlot> =
            filter.namespaces.iter().filter_map(|name| self.namespace_slot(name)).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        let mask =
            |bits: &mut dyn Iterator<Item = u32>| match bits.fold(0, |mask, bit| mask | 1 << bit) {
                0 => u16::MAX,
                mask => mask,
            };
        CompiledFilter {
            namespaces,
            kinds: mask(&mut filter.kinds.iter().map(|kind| *kind as u32)),
            statuses: mask(&mut filter.statuses.iter().map(|status| *status as u32)),
            tags: filter.tags.iter().map(hash_of).collect(),
            tag_match: filter.tag_match,
            metadata: filter.metadata.iter().map(hash_of).collect(),
            session: filter.session.as_ref().map(hash_of),
            agent: filter.agent.as_ref().map(hash_of),
            after: filter.after,
            before: filter.before,
            importance_min: filter.importance_min,
            valid_at: filter.valid_at,
            as_of: filter.as_of,
        }
    }

    /// The slot of a namespace, a new one for one not seen before.
    fn intern(&mut self, namespace: &Namespace) -> NamespaceSlot {
        if let Some(slot) = self.namespace_slot(namespace) {
            return slot;
        }
        let slot = NamespaceSlot::try_from(self.namespaces.len()).unwrap_or(NamespaceSlot::MAX);
        self.namespaces.push(namespace.clone());
        self.counts.push(0);
        self.namespace_slots.insert(namespace.clone(), slot);
        slot
    }

    fn count(&mut self, namespace: NamespaceSlot, is_archived: bool, up: bool) {
        let archived = is_archived.then_some(&mut self.n_archived);
        for count in self.counts.get_mut(namespace as usize).into_iter().chain(archived) {
            *count = if up { *count + 1 } else { count.saturating_sub(1) };
        }
    }
}

impl Entry {
    /// Whether its vectors are kept in RAM: those of archived memories are not.
    pub(crate) fn is_hot(&self) -> bool {
        self.status != Status::Archived
    }

    fn of(memory: &Memory, namespace: NamespaceSlot) -> Self {
        Self {
            id: memory.id,
            namespace,
            version: memory.version,
            kind: memory.kind,
            status: memory.status,
            event_time: memory.event_time(),
            valid_to: memory.valid_to,
            importance: memory.importance,
            scripts: ScriptShares::of(&memory.content),
            session: memory.session.as_ref().map(hash_of),
            agent: memory.agent.as_ref().map(hash_of),
            tags: memory.tags.iter().map(hash_of).collect(),
            metadata: memory.metadata.iter().map(|pair| hash_of(&pair)).collect(),
        }
    }
}

/// A filter in terms of the catalog.
#[derive(Clone, Debug)]
pub(crate) struct CompiledFilter {
    /// Slots of the namespaces searched, sorted; those without memories are left out.
    pub(crate) namespaces: Vec<NamespaceSlot>,
    kinds: u16,
    statuses: u16,
    tags: Vec<u64>,
    tag_match: TagMatch,
    metadata: Vec<u64>,
    session: Option<u64>,
    agent: Option<u64>,
    after: Option<jiff::Timestamp>,
    before: Option<jiff::Timestamp>,
    importance_min: Option<f64>,
    valid_at: Option<jiff::Timestamp>,
    as_of: Option<jiff::Timestamp>,
}

impl CompiledFilter {
    /// Whether the memory passes, up to hash collisions (see [`Filter::matches`]).
    pub(crate) fn matches(&self, entry: &Entry) -> bool {
        let has_tag = |tag: &u64| entry.tags.contains(tag);
        self.namespaces.binary_search(&entry.namespace).is_ok()
            && self.kinds & 1 << (entry.kind as u32) != 0
            && self.statuses & 1 << (entry.status as u32) != 0
            && (self.tags.is_empty()
                || match self.tag_match {
                    TagMatch::Any => self.tags.iter().any(has_tag),
                    TagMatch::All => self.tags.iter().all(has_tag),
                })
            && self.metadata.iter().all(|pair| entry.metadata.contains(pair))
            && (self.session.is_none() || self.session == entry.session)
            && (self.agent.is_none() || self.agent == entry.agent)
            && self.after.is_none_or(|after| entry.event_time >= after)
            && self.before.is_none_or(|before| entry.event_time < before)
            && self.importance_min.is_none_or(|least| entry.importance >= least)
            && self.valid_at.is_none_or(|now| is_valid_at(entry.status, entry.valid_to, now))
            && self
                .as_of
                .is_none_or(|at| is_true_at(entry.event_time, entry.status, entry.valid_to, at))
    }
}

fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
