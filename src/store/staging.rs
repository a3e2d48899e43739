//! Changes of several memories that end as one new version each, with the links between them kept in
//! agreement.
//!
//! `contradicts` stands in both memories or in neither, and a memory is spoken for only by a summary
//! that was made of it.

use std::collections::BTreeMap;

use crate::domain::change::{Operation, Patch};
use crate::domain::embedding::Embedded;
use crate::domain::id::MemoryId;
use crate::domain::memory::Status;
use crate::ports::StoreError;

use super::batch::{Batch, By, NewText, StoredMemory};
use super::errors::Result;
use super::records::{IdText, MemoryRecord, id_texts};

/// Memories that are being changed.
#[derive(Default)]
pub(super) struct Staging {
    staged: BTreeMap<MemoryId, Staged>,
}

struct Staged {
    old: StoredMemory,
    new: StoredMemory,
    /// Whether it gets an earlier record back: then that record keeps its time.
    is_undone: bool,
}

impl Staging {
    /// A memory, to be changed; `None` if it is not there.
    pub(super) fn edit(
        &mut self,
        batch: &Batch<'_>,
        id: MemoryId,
    ) -> Result<Option<&mut StoredMemory>> {
        if !self.staged.contains_key(&id)
            && let Some(old) = batch.load(id)?
        {
            let new = old.clone();
            self.staged.insert(id, Staged { old, new, is_undone: false });
        }
        Ok(self.staged.get_mut(&id).map(|staged| &mut staged.new))
    }

    /// Gives a memory an earlier record again, but for links to what is not there any more.
    pub(super) fn bring_back(
        &mut self,
        batch: &Batch<'_>,
        id: MemoryId,
        mut earlier: MemoryRecord,
    ) -> Result<()> {
        let Some(present) = self.edit(batch, id)? else { return Ok(()) };
        earlier.contradicts = batch.those_there(&earlier.contradicts)?;
        earlier.version = present.record.version;
        earlier.content_version = present.record.content_version;
        let after = earlier.contradicts.clone();
        let before = std::mem::replace(&mut present.record, earlier).contradicts;
        self.link_back(batch, id, &before, &after)?;
        if let Some(staged) = self.staged.get_mut(&id) {
            staged.is_undone = true;
        }
        Ok(())
    }

    /// Applies a patch; `false` if the memory is not there. Links must have been checked.
    pub(super) fn patch(
        &mut self,
        batch: &Batch<'_>,
        id: MemoryId,
        patch: &Patch,
        at: jiff::Timestamp,
    ) -> Result<bool> {
        let Some(memory) = self.edit(batch, id)? else { return Ok(false) };
        let before = memory.record.contradicts.clone();
        apply_patch(memory, patch, at)?;
        let after = memory.record.contradicts.clone();
        self.link_back(batch, id, &before, &after)?;
        Ok(true)
    }

    /// Has the memories that `id` contradicts name it too, and those that it no longer contradicts
    /// not any more.
    pub(super) fn link_back(
        &mut self,
        batch: &Batch<'_>,
        id: MemoryId,
        before: &[IdText],
        after: &[IdText],
    ) -> Result<()> {
        for other in before.iter().filter(|other| !after.contains(other)) {
            if let Some(memory) = self.edit(batch, other.0)? {
                memory.record.contradicts.retain(|named| named.0 != id);
            }
        }
        for other in after.iter().filter(|other| !before.contains(other)) {
            if let Some(memory) = self.edit(batch, other.0)?
                && !memory.record.contradicts.contains(&IdText(id))
            {
                memory.record.contradicts.push(IdText(id));
            }
        }
        Ok(())
    }

    /// Names of the fields of a memory that have changed so far.
    pub(super) fn changed(&self, id: MemoryId) -> Vec<&'static str> {
        self.staged
            .get(&id)
            .map(|staged| changed_fields(&staged.old.record, &staged.new.record))
            .unwrap_or_default()
    }

    /// Writes one new version of each memory that has changed. `embedded` are the vectors of the new
    /// text of one of them.
    pub(super) fn write(
        mut self,
        batch: &mut Batch<'_>,
        by: By<'_>,
        embedded: Option<(MemoryId, &Embedded)>,
    ) -> Result<()> {
        self.agree_on_summaries(batch)?;
        for (id, Staged { old, mut new, is_undone }) in self.staged {
            let changed = changed_fields(&old.record, &new.record);
            // An earlier record may differ in its time alone.
            let is_same = !is_undone || old.record.says_the_same(&new.record);
            if changed.is_empty() && is_same {
                continue;
            }
            let record = &mut new.record;
            record.version += 1;
            if !is_undone {
                record.updated_at = by.at.as_microsecond();
            }
            let is_new_text = changed.contains(&"content");
            if is_new_text {
                record.content_version = record.version;
            }
            batch.replace(&old, &new)?;
            let text = if is_new_text {
                batch.await_vectors(id)?;
                let embedded = embedded.filter(|(of, _)| *of == id).map(|(_, embedded)| embedded);
                NewText::Yes(batch.attach_new(&new, embedded)?)
            } else {
                NewText::of_same(&old.record, &new.record)?
            };
            let operation = if is_undone { Operation::Undo } else { Operation::Update };
            batch.announce(by, operation, &new, &changed, text)?;
        }
        Ok(())
    }
}

impl Staging {
    /// A memory that a summary is no longer made of is not spoken for by it either. To name a summary
    /// that was not made of it is an error, unless an earlier record did.
    fn agree_on_summaries(&mut self, batch: &Batch<'_>) -> Result<()> {
        let dropped: Vec<(MemoryId, IdText)> = self
            .staged
            .iter()
            .flat_map(|(id, Staged { old, new, .. })| {
                let is_dropped = |source: &&IdText| !new.record.derived_from.contains(source);
                old.record.derived_from.iter().filter(is_dropped).map(|source| (*id, *source))
            })
            .collect();
        for (summary, source) in dropped {
            if let Some(memory) = self.edit(batch, source.0)?
                && memory.record.consolidated_into == Some(IdText(summary))
            {
                memory.record.consolidated_into = None;
            }
        }
        let mut denied = Vec::new();
        for (id, Staged { old, new, is_undone }) in &self.staged {
            let Some(summary) = new.record.consolidated_into else { continue };
            if old.record.consolidated_into == Some(summary)
                || self.is_made_of(batch, summary.0, *id)?
            {
                continue;
            }
            if !is_undone {
                return Err(StoreError::BadLink(summary.0));
            }
            denied.push(*id);
        }
        for id in denied {
            if let Some(memory) = self.edit(batch, id)? {
                memory.record.consolidated_into = None;
            }
        }
        Ok(())
    }

    /// Whether a memory is made of another, with what has changed so far.
    pub(super) fn is_made_of(
        &self,
        batch: &Batch<'_>,
        product: MemoryId,
        source: MemoryId,
    ) -> Result<bool> {
        let is_of_it = |memory: &StoredMemory| memory.record.derived_from.contains(&IdText(source));
        match self.staged.get(&product) {
            Some(staged) => Ok(is_of_it(&staged.new)),
            None => Ok(batch.load(product)?.as_ref().is_some_and(is_of_it)),
        }
    }
}

/// The links of a patch.
pub(super) fn links(patch: &Patch) -> impl Iterator<Item = MemoryId> + '_ {
    let Patch { consolidated_into, superseded_by, supersedes, contradicts, derived_from, .. } =
        patch;
    [consolidated_into, superseded_by, supersedes]
        .into_iter()
        .filter_map(|link| link.flatten())
        .chain(contradicts.iter().flatten().copied())
        .chain(derived_from.iter().flatten().copied())
}

fn apply_patch(memory: &mut StoredMemory, patch: &Patch, at: jiff::Timestamp) -> Result<()> {
    // Destructured, so that a new field of the patch cannot be left out.
    let Patch { content, kind, tags, metadata, importance, pinned, occurred_at, valid_to, .. } =
        patch;
    let Patch { status, consolidated_into, superseded_by, supersedes, .. } = patch;
    let Patch { contradicts, derived_from, .. } = patch;
    let record = &mut memory.record;
    set(&mut record.content, content.as_ref().map(ToString::to_string));
    set(&mut record.kind, kind.map(|kind| kind.to_string()));
    set(&mut record.tags, tags.clone());
    set(&mut record.metadata, metadata.clone());
    if let Some(value) = importance.filter(|new| new.to_bits() != record.importance.to_bits()) {
        record.importance = value;
        memory.usage.anchor = value;
        memory.usage.anchor_at = at.as_microsecond();
    }
    set(&mut record.pinned, *pinned);
    let microseconds = |time: Option<jiff::Timestamp>| time.map(jiff::Timestamp::as_microsecond);
    set(&mut record.occurred_at, occurred_at.map(microseconds));
    set(&mut record.valid_to, valid_to.map(microseconds));
    if valid_to.is_some() {
        record.status = status_by_validity(record.status()?, record.valid_to, at).to_string();
    }
    set(&mut record.status, status.map(|status| status.to_string()));
    let text = |link: Option<MemoryId>| link.map(IdText);
    set(&mut record.consolidated_into, consolidated_into.map(text));
    set(&mut record.superseded_by, superseded_by.map(text));
    set(&mut record.supersedes, supersedes.map(text));
    set(&mut record.contradicts, contradicts.as_deref().map(id_texts));
    set(&mut record.derived_from, derived_from.as_deref().map(id_texts));
    Ok(())
}

fn set<T>(field: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *field = new;
    }
}

/// A memory whose validity has ended is invalidated, one that is valid (again) is not. A superseded
/// one stays what it is.
fn status_by_validity(status: Status, valid_to: Option<i64>, at: jiff::Timestamp) -> Status {
    let has_ended = valid_to.is_some_and(|end| end <= at.as_microsecond());
    match status {
        Status::Active | Status::Archived if has_ended => Status::Invalidated,
        Status::Invalidated if !has_ended => Status::Active,
        Status::Active | Status::Archived | Status::Invalidated | Status::Superseded => status,
    }
}

/// Names of the fields in which two versions of a memory differ.
fn changed_fields(old: &MemoryRecord, new: &MemoryRecord) -> Vec<&'static str> {
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
