//! Storing memories: new ones, equal ones, and those that replace another.

use std::collections::BTreeSet;

use crate::domain::change::{NewMemory, Operation, Remember, Remembered, StoreStatus};
use crate::domain::dedupe::dedupe_key;
use crate::domain::id::MemoryId;
use crate::domain::limits::TAGS_MAX;
use crate::domain::memory::{Origin, Status};
use crate::ports::StoreError;

use super::batch::{Batch, By, NewText, StoredMemory};
use super::errors::{Result, damaged};
use super::indexes::equal_memories;
use super::records::{IdText, MemoryRecord, UsageRecord, id_texts};
use super::reminders::{follow_text, hear_again};
use super::requests::{Keyed, RequestItem, RequestRecord, field_names, stored_names};
use super::staging::Staging;
use super::tables::status_code;

/// Carries out a [`Remember`].
pub(super) fn remember(batch: &mut Batch<'_>, request: &Remember) -> Result<Vec<Remembered>> {
    let key = request.request.as_ref();
    if let Some(first) = batch.first_answer(Keyed::Remember, key, request.at)? {
        return first.items.iter().map(|item| replayed(batch, item)).collect();
    }
    if request.memories.is_empty() {
        return Ok(Vec::new());
    }
    batch.may_grow()?;
    check(batch, &request.memories)?;
    let by = By::new(&request.actor, request.at);
    let answers = request
        .memories
        .iter()
        .map(|new| remember_one(batch, new, by))
        .collect::<Result<Vec<_>>>()?;
    let answer = RequestRecord {
        items: answers.iter().map(request_item).collect(),
        ..RequestRecord::at(request.at)
    };
    batch.keep_answer(Keyed::Remember, key, &answer, request.at)?;
    Ok(answers)
}

/// Finds what makes the request impossible before anything of it is written.
pub(super) fn check(batch: &Batch<'_>, memories: &[NewMemory]) -> Result<()> {
    for (place, new) in memories.iter().enumerate() {
        let comes_before =
            |id: MemoryId| memories.iter().take(place).any(|earlier| earlier.id == id);
        let is_taken =
            batch.is_there(new.id)? || batch.forgotten(new.id)?.is_some() || comes_before(new.id);
        if is_taken {
            return Err(damaged(format!("the new id {} was given before", new.id)));
        }
        if let Some(old) = new.supersedes
            && !comes_before(old)
            && !batch.is_there(old)?
        {
            return Err(StoreError::SupersedesMissing(old));
        }
        let links = new.derived_from.iter().chain(&new.contradicts).copied();
        batch.check_links(new.id, links.filter(|link| !comes_before(*link)))?;
    }
    Ok(())
}

/// Stores one of several memories, all of which [`check`] has found possible.
pub(super) fn remember_one(
    batch: &mut Batch<'_>,
    new: &NewMemory,
    by: By<'_>,
) -> Result<Remembered> {
    let supersedes = new.supersedes.map(|old| latest(batch, old)).transpose()?;
    let new = &NewMemory { supersedes, ..new.clone() };
    let mut answer = match find_equal(batch, new)? {
        Some(equal) => unite(batch, &equal, new, by)?,
        None => store(batch, new, by)?,
    };
    if answer.id == new.id {
        let before: Vec<MemoryId> = new.supersedes.into_iter().collect();
        follow_text(batch, &before, &new.reminders, by.at)?;
    } else {
        hear_again(batch, answer.id, &new.reminders, by.at)?;
    }
    contradict(batch, answer.id, &new.contradicts, by)?;
    if let Some(old) = new.supersedes.filter(|old| *old != answer.id) {
        supersede(batch, old, answer.id, new, by)?;
        answer.supersedes = Some(old);
        if answer.status == StoreStatus::Stored {
            answer.status = StoreStatus::Superseded;
        }
    }
    Ok(answer)
}

/// The memory at the end of the chain of successors of `id`; `id` itself where it has none. Who corrects
/// a memory that another one has corrected meanwhile corrects the correction: one memory has one
/// successor.
fn latest(batch: &Batch<'_>, id: MemoryId) -> Result<MemoryId> {
    let mut chain = BTreeSet::from([id]);
    let mut latest = id;
    while let Some(memory) = batch.load(latest)? {
        let is_superseded = memory.record.status()? == Status::Superseded;
        let Some(IdText(next)) = memory.record.superseded_by.filter(|_| is_superseded) else {
            break;
        };
        if !batch.is_there(next)? || !chain.insert(next) {
            break;
        }
        latest = next;
    }
    Ok(latest)
}

/// The memory that says the same: an active one, else an archived one. What is made of memories is
/// never one with what somebody said: it goes when they go.
pub(super) fn find_equal(batch: &Batch<'_>, new: &NewMemory) -> Result<Option<StoredMemory>> {
    if !new.derived_from.is_empty() {
        return Ok(None);
    }
    let key = dedupe_key(&new.namespace, &new.content, new.occurred_at);
    for status in [Status::Active, Status::Archived] {
        for id in equal_memories(&batch.tables().dedupe, &key.0, status_code(status))? {
            let equal = batch.load(id?)?;
            if equal.as_ref().is_some_and(|equal| equal.record.derived_from.is_empty()) {
                return Ok(equal);
            }
        }
    }
    Ok(None)
}

fn store(batch: &mut Batch<'_>, new: &NewMemory, by: By<'_>) -> Result<Remembered> {
    // What is imported has been fading since it happened.
    let anchor_at = match new.origin {
        Origin::Imported => new.occurred_at.unwrap_or(by.at),
        Origin::Stated | Origin::Extracted | Origin::Consolidated => by.at,
    };
    let stored = StoredMemory {
        id: new.id,
        record: MemoryRecord {
            supersedes: new.supersedes.map(IdText),
            contradicts: id_texts(&new.contradicts),
            ..MemoryRecord::first(new, by.at)
        },
        usage: UsageRecord::unused(new.importance, anchor_at.as_microsecond()),
    };
    batch.insert(&stored)?;
    let embedded = batch.attach_new(&stored, new.embedded.as_ref())?;
    let is_embedded = embedded.is_some();
    batch.announce(by, Operation::Store, &stored, &[], NewText::Yes(embedded))?;
    Ok(Remembered {
        id: new.id,
        status: StoreStatus::Stored,
        embedded: is_embedded,
        changed: Vec::new(),
        supersedes: None,
    })
}

/// Links a memory with those that say otherwise, in both directions.
fn contradict(batch: &mut Batch<'_>, id: MemoryId, others: &[MemoryId], by: By<'_>) -> Result<()> {
    let others: Vec<IdText> = id_texts(others).into_iter().filter(|other| other.0 != id).collect();
    let mut staging = Staging::default();
    if let Some(memory) = staging.edit(batch, id)? {
        let named = &mut memory.record.contradicts;
        named.extend(
            others.iter().filter(|other| !named.contains(other)).copied().collect::<Vec<_>>(),
        );
    }
    staging.link_back(batch, id, &[], &others)?;
    staging.write(batch, by, None)
}

/// Gives an equal memory the tags and the pin of the new one, its activity back, and vectors if it
/// waits for them.
fn unite(
    batch: &mut Batch<'_>,
    old: &StoredMemory,
    new: &NewMemory,
    by: By<'_>,
) -> Result<Remembered> {
    let mut united = old.clone();
    let mut changed = Vec::new();
    let tags = united_tags(&old.record.tags, &new.tags);
    if tags != old.record.tags {
        united.record.tags = tags;
        changed.push("tags");
    }
    if old.record.status()? != Status::Active {
        united.record.status = Status::Active.to_string();
        changed.push("status");
    }
    // A pin can only keep it; what it would lower or overwrite is left to an update.
    if new.pinned && !old.record.pinned {
        united.record.pinned = true;
        changed.push("pinned");
    }
    let replaces_another = new.supersedes.is_some_and(|replaced| replaced != old.id);
    if replaces_another && old.record.supersedes.is_none() {
        united.record.supersedes = new.supersedes.map(IdText);
        changed.push("supersedes");
    }
    if !changed.is_empty() {
        united.record.version += 1;
        united.record.updated_at = by.at.as_microsecond();
        batch.replace(old, &united)?;
        let text = NewText::of_same(&old.record, &united.record)?;
        batch.announce(by, Operation::Update, &united, &changed, text)?;
    }
    let embedded = match &new.embedded {
        Some(vectors) if batch.has_vectors(vectors.space.0, old.id)? => true,
        Some(vectors) => {
            let version = united.record.version;
            let is_attached = batch.attach(old.id, version, vectors)?;
            if is_attached {
                batch.announce_vectors(by, old.id, version, vectors)?;
            }
            is_attached
        }
        None => batch.has_present_vectors(old.id)?,
    };
    let status = StoreStatus::Deduplicated;
    Ok(Remembered { id: old.id, status, embedded, changed, supersedes: None })
}

/// All old tags, and of the new ones as many as a memory may have.
fn united_tags(old: &[String], new: &[String]) -> Vec<String> {
    let mut tags = old.to_vec();
    let room = TAGS_MAX.saturating_sub(tags.len());
    tags.extend(new.iter().filter(|tag| !old.contains(tag)).take(room).cloned());
    tags.sort();
    tags.dedup();
    tags
}

fn supersede(
    batch: &mut Batch<'_>,
    old: MemoryId,
    successor: MemoryId,
    new: &NewMemory,
    by: By<'_>,
) -> Result<()> {
    let old = batch.load(old)?.ok_or(StoreError::SupersedesMissing(old))?;
    let mut superseded = old.clone();
    let record = &mut superseded.record;
    record.status = Status::Superseded.to_string();
    record.superseded_by = Some(IdText(successor));
    record.valid_to = Some(new.occurred_at.unwrap_or(by.at).as_microsecond());
    record.updated_at = by.at.as_microsecond();
    record.version += 1;
    batch.replace(&old, &superseded)?;
    let fields = ["status", "superseded_by", "valid_to"];
    batch.announce(by, Operation::Supersede, &superseded, &fields, NewText::No)
}

fn request_item(answer: &Remembered) -> RequestItem {
    RequestItem {
        id: IdText(answer.id),
        status: answer.status.as_str().to_owned(),
        changed: stored_names(&answer.changed),
    }
}

/// The first answer, as far as it still stands.
fn replayed(batch: &Batch<'_>, item: &RequestItem) -> Result<Remembered> {
    let id = item.id.0;
    if !batch.is_there(id)? {
        let status = StoreStatus::Forgotten;
        let changed = Vec::new();
        return Ok(Remembered { id, status, embedded: false, changed, supersedes: None });
    }
    let status = [StoreStatus::Stored, StoreStatus::Deduplicated, StoreStatus::Superseded]
        .into_iter()
        .find(|status| status.as_str() == item.status)
        .ok_or_else(|| damaged(format!("the unknown answer `{}`", item.status)))?;
    let embedded = batch.has_present_vectors(id)?;
    let changed = field_names(&item.changed);
    Ok(Remembered { id, status, embedded, changed, supersedes: None })
}
