//! The memories that are near to a new one, and what it is to each of them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::time::{Instant, timeout_at};

use super::super::Service;
use super::super::meaning::OpenSpace;
use crate::domain::change::NewMemory;
use crate::domain::contradiction::{Policy, Read, Statement, Verdict, judge};
use crate::domain::embedding::{ScriptShares, Vector};
use crate::domain::extraction::said_at;
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::limits::{COMPARED_BYTES_MAX, COMPARED_MAX, COMPARED_TERMS_MAX};
use crate::domain::memory::{Kind, Memory, Metadata, Status};
use crate::domain::namespace::Namespace;
use crate::domain::text::query;
use crate::ports::Snapshot;

/// Metadata that says what a memory belongs to.
const CONTEXT_KEYS: &[&str] =
    &["project", "repo", "repository", "workspace", "host", "device", "customer", "person", "user"];

/// What a memory is to those that were there before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bearing {
    /// Memories that say the same.
    pub(super) same: Vec<Memory>,
    /// Memories that it replaces, the nearest first.
    pub(super) corrects: Vec<Memory>,
    /// Memories that say otherwise, without it being clear which is right.
    pub(super) unclear: Vec<Memory>,
    /// Whether both arms were asked: else there may be more.
    pub(super) is_whole: bool,
}

/// A memory as it is compared with others.
#[derive(Clone, Copy)]
pub(super) struct Newcomer<'a> {
    pub(super) id: MemoryId,
    pub(super) content: &'a str,
    pub(super) kind: Kind,
    pub(super) tags: &'a [String],
    pub(super) metadata: &'a Metadata,
    pub(super) namespace: &'a Namespace,
    /// From when on it holds, see [`holds_from`].
    pub(super) event_time: Timestamp,
    /// The vector of its text (of the beginning, if it has several), if there is one.
    pub(super) vector: Option<&'a Vector>,
}

impl<'a> Newcomer<'a> {
    /// One that is about to be stored at `now`.
    pub(super) fn new(memory: &'a NewMemory, now: Timestamp) -> Self {
        Self {
            id: memory.id,
            content: &memory.content,
            kind: memory.kind,
            tags: &memory.tags,
            metadata: &memory.metadata,
            namespace: &memory.namespace,
            event_time: memory.occurred_at.unwrap_or(now),
            vector: memory.embedded.as_ref().and_then(|embedded| embedded.chunks.first()),
        }
    }
}

impl Newcomer<'_> {
    /// Whether it is marked as speaking of another thing than `old` does: both have tags and share
    /// none, or they belong to two projects or the like.
    fn is_elsewhere(&self, old: &Memory) -> bool {
        let shares_no_tag = !self.tags.is_empty()
            && !old.tags.is_empty()
            && !self.tags.iter().any(|tag| old.tags.contains(tag));
        let is_of_another = |key: &str| match (self.metadata.get(key), old.metadata.get(key)) {
            (Some(here), Some(there)) => here != there,
            _ => false,
        };
        shares_no_tag || CONTEXT_KEYS.iter().any(|key| is_of_another(key))
    }
}

impl Service {
    /// What a new memory is to those that are there, as far as that is known by `ready_by`; `None`:
    /// nothing is known.
    pub(super) async fn bearing(
        &self,
        newcomer: &Newcomer<'_>,
        now: Timestamp,
        ready_by: Instant,
    ) -> Option<Bearing> {
        if newcomer.content.len() > COMPARED_BYTES_MAX {
            return Some(Bearing { is_whole: true, ..Bearing::default() });
        }
        let settings = self.settings();
        let snapshot = timeout_at(ready_by, self.store.snapshot()).await.ok()?.ok()?;
        let (near, is_whole) = self.near(&snapshot, newcomer, now, ready_by).await?;
        let mut bearing = Bearing { is_whole, ..Bearing::default() };
        // Reading takes long enough to hold up what else a thread of the runtime has to do.
        let judging = Judging {
            content: newcomer.content.to_owned(),
            kind: newcomer.kind,
            event_time: newcomer.event_time,
            zone: settings.zone.clone(),
            policy: settings.contradiction.policy,
        };
        let judged = tokio::task::spawn_blocking(move || judging.verdicts(near));
        for (old, verdict) in timeout_at(ready_by, judged).await.ok()?.ok()? {
            match verdict {
                Verdict::Same => bearing.same.push(old),
                Verdict::Correction if !is_protected(&old) && !newcomer.is_elsewhere(&old) => {
                    bearing.corrects.push(old);
                }
                Verdict::Correction | Verdict::Unclear => bearing.unclear.push(old),
                Verdict::Unrelated => {}
            }
        }
        Some(bearing)
    }

    /// The memories that are near to a new one, the nearest first, each with its cosine if a model
    /// reads both; and whether both arms were asked.
    async fn near(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        newcomer: &Newcomer<'_>,
        now: Timestamp,
        ready_by: Instant,
    ) -> Option<(Vec<(Memory, Option<f64>)>, bool)> {
        let filter = Filter {
            namespaces: vec![newcomer.namespace.clone()],
            statuses: vec![Status::Active],
            valid_at: Some(now),
            ..Filter::default()
        };
        let mut terms = query::read(newcomer.content);
        terms.clauses.truncate(1);
        terms.clauses.iter_mut().for_each(|clause| clause.truncate(COMPARED_TERMS_MAX));
        let text = self.candidates.by_text(snapshot, terms, &filter, COMPARED_MAX);
        let text = timeout_at(ready_by, text).await.ok()?.ok()?;
        let mut ids: Vec<MemoryId> = text.hits.iter().map(|hit| hit.id).collect();
        let mut cosines = BTreeMap::new();
        let space = self.meaning.open().filter(|space| space.is_complete());
        let mut is_whole = self.embedder.is_none();
        if let (Some(space), Some(vector)) = (space, newcomer.vector) {
            let vector = Arc::clone(vector);
            let also = ids.clone();
            let arm =
                self.candidates.by_vector(snapshot, space.id, vector, &filter, COMPARED_MAX, also);
            if let Ok(Ok(found)) = timeout_at(ready_by, arm).await {
                is_whole = true;
                let scripts = ScriptShares::of(newcomer.content);
                for hit in found.hits {
                    let other = &hit.attributes.scripts;
                    let cosine = self.comparable(&space, hit.cosine, &scripts, other);
                    cosines.insert(hit.id, cosine);
                    if !ids.contains(&hit.id) {
                        ids.push(hit.id);
                    }
                }
            }
        }
        let is_whole = is_whole && text.incomplete.is_none();
        let memories = timeout_at(ready_by, snapshot.memories(ids)).await.ok()?.ok()?;
        let is_comparable = |old: &Memory| {
            old.id != newcomer.id
                && old.derived_from.is_empty()
                && old.content.len() <= COMPARED_BYTES_MAX
                && filter.matches(old)
        };
        let mut near: Vec<(Memory, Option<f64>)> = memories
            .into_iter()
            .flatten()
            .filter(is_comparable)
            .map(|old| {
                let cosine = cosines.get(&old.id).copied().flatten();
                (old, cosine)
            })
            .collect();
        near.sort_by(|(a, near_a), (b, near_b)| {
            near_b.partial_cmp(near_a).unwrap_or(Ordering::Equal).then(b.id.cmp(&a.id))
        });
        Some((near, is_whole))
    }

    /// A cosine on the scale of the verdicts; `None` if the model does not read both texts.
    fn comparable(
        &self,
        space: &OpenSpace,
        cosine: f64,
        scripts: &ScriptShares,
        other: &ScriptShares,
    ) -> Option<f64> {
        let least = self.settings().ranking.memory_readable_min;
        let reader = space.reader();
        let spread = reader.likeness.between(scripts.latin(), other.latin());
        let reads_both = reader.reads(scripts, least) && reader.reads(other, least);
        reads_both.then(|| spread.on_reference(cosine))
    }
}

/// From when on a memory holds: what was said in a conversation holds from then, however long it took
/// to become a memory.
pub(super) fn holds_from(memory: &Memory) -> Timestamp {
    memory.occurred_at.unwrap_or_else(|| said_at(memory))
}

/// What nothing replaces by itself.
fn is_protected(memory: &Memory) -> bool {
    memory.pinned || memory.importance >= 1.0 || memory.kind == Kind::Instruction
}

/// A new memory, to be compared.
struct Judging {
    content: String,
    kind: Kind,
    event_time: Timestamp,
    zone: TimeZone,
    policy: Policy,
}

impl Judging {
    /// What it is to the first of those that are near to it.
    fn verdicts(&self, near: Vec<(Memory, Option<f64>)>) -> Vec<(Memory, Verdict)> {
        let new = self.read(&self.content, self.kind, self.event_time);
        let is_related = |(_, cosine): &(Memory, Option<f64>)| {
            cosine.is_none_or(|cosine| cosine >= self.policy.related_min)
        };
        near.into_iter()
            .filter(is_related)
            .take(COMPARED_MAX)
            .map(|(old, cosine)| {
                let read = self.read(&old.content, old.kind, holds_from(&old));
                let verdict = judge(&read, &new, cosine, &self.policy);
                drop(read);
                (old, verdict)
            })
            .collect()
    }

    fn read<'a>(&self, text: &'a str, kind: Kind, event_time: Timestamp) -> Read<'a> {
        Read::of(Statement { text, kind, event_time: self.zone.to_datetime(event_time) })
    }
}
