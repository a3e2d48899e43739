//! Carrying out changes that belong together, all or none.

use std::collections::BTreeMap;

use crate::domain::change::{Applied, Change, ChangeSet, NewMemory, Patch};
use crate::domain::id::MemoryId;

use super::batch::{Batch, By};
use super::errors::Result;
use super::remember::{check, find_equal, remember_one};
use super::staging::{Staging, links};

/// Carries out a [`ChangeSet`].
pub(super) fn apply(batch: &mut Batch<'_>, set: &ChangeSet) -> Result<Applied> {
    if let Some(run) = set.run {
        batch.takes_changes(run)?;
    }
    let conflicts = conflicts(batch, set)?;
    if !conflicts.is_empty() {
        return Ok(Applied { stored: Vec::new(), conflicts });
    }
    batch.may_grow()?;
    check(batch, &set.new)?;
    let by = By { actor: &set.actor, at: set.at, run: set.run };
    let mut stored = Vec::with_capacity(set.new.len());
    // Where a new memory is, if one that was there says the same.
    let mut instead = BTreeMap::new();
    for new in &set.new {
        let answer = remember_one(batch, &relinked(new, &instead), by)?;
        if answer.id != new.id {
            instead.insert(new.id, answer.id);
        }
        stored.push(answer);
    }
    let mut staging = Staging::default();
    for change in &set.changes {
        let patch = relinked_patch(&change.patch, &instead);
        batch.check_links(change.id, links(&patch))?;
        staging.patch(batch, change.id, &patch, set.at)?;
    }
    staging.write(batch, by, None)?;
    for (name, value) in &set.marks {
        batch.change().marks.insert(name.as_str(), value.as_slice())?;
    }
    Ok(Applied { stored, conflicts: Vec::new() })
}

/// Memories that are not what the set was made for: changed, or gone.
fn conflicts(batch: &Batch<'_>, set: &ChangeSet) -> Result<Vec<MemoryId>> {
    let mut conflicts = Vec::new();
    let mut note = |id: MemoryId| {
        if !conflicts.contains(&id) {
            conflicts.push(id);
        }
    };
    for change in &set.changes {
        let present = batch.load(change.id)?.map(|stored| stored.record.version);
        if present != Some(change.version) {
            note(change.id);
        }
    }
    let is_new = |id: &MemoryId| set.new.iter().any(|new| new.id == *id);
    let of_new = set.new.iter().flat_map(new_links);
    let of_changes = set.changes.iter().flat_map(|change| links(&change.patch));
    // A memory cannot be linked to itself, which a new one may turn out to be.
    for new in &set.new {
        let Some(equal) = find_equal(batch, new)? else { continue };
        let is_itself = |change: &Change| {
            change.id == equal.id && links(&change.patch).any(|link| link == new.id)
        };
        if set.changes.iter().any(is_itself) {
            note(equal.id);
        }
    }
    for link in of_new.chain(of_changes).filter(|id| !is_new(id)) {
        if !batch.is_there(link)? {
            note(link);
        }
    }
    Ok(conflicts)
}

fn new_links(new: &NewMemory) -> impl Iterator<Item = MemoryId> + '_ {
    new.supersedes.iter().chain(&new.derived_from).chain(&new.contradicts).copied()
}

/// A new memory whose links lead to where others of the set are.
fn relinked(new: &NewMemory, instead: &BTreeMap<MemoryId, MemoryId>) -> NewMemory {
    NewMemory {
        supersedes: new.supersedes.map(|id| followed(id, instead)),
        derived_from: all_followed(&new.derived_from, instead),
        contradicts: all_followed(&new.contradicts, instead),
        ..new.clone()
    }
}

/// The same of a patch.
fn relinked_patch(patch: &Patch, instead: &BTreeMap<MemoryId, MemoryId>) -> Patch {
    let one = |link: Option<Option<MemoryId>>| link.map(|id| id.map(|id| followed(id, instead)));
    Patch {
        consolidated_into: one(patch.consolidated_into),
        superseded_by: one(patch.superseded_by),
        supersedes: one(patch.supersedes),
        contradicts: patch.contradicts.as_deref().map(|ids| all_followed(ids, instead)),
        derived_from: patch.derived_from.as_deref().map(|ids| all_followed(ids, instead)),
        ..patch.clone()
    }
}

fn followed(id: MemoryId, instead: &BTreeMap<MemoryId, MemoryId>) -> MemoryId {
    instead.get(&id).copied().unwrap_or(id)
}

fn all_followed(ids: &[MemoryId], instead: &BTreeMap<MemoryId, MemoryId>) -> Vec<MemoryId> {
    ids.iter().map(|id| followed(*id, instead)).collect()
}
