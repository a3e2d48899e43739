//! Changing one memory.

use crate::domain::change::{Operation, Patch, Revise, Revised};
use crate::domain::memory::Status;

use super::batch::{Batch, By, NewText, StoredMemory};
use super::errors::Result;
use super::records::IdText;
use super::requests::{Keyed, RequestItem, RequestRecord, field_names, stored_names};

/// Carries out a [`Revise`].
pub(super) fn revise(batch: &mut Batch<'_>, request: &Revise) -> Result<Revised> {
    let key = request.request.as_ref();
    if let Some(first) = batch.first_answer(Keyed::Revise, key, request.at)? {
        return replayed(batch, &first);
    }
    let Some(old) = batch.load(request.id)? else { return Ok(Revised::Missing) };
    let (new, changed) = patched(&old, &request.patch, request.at)?;
    let memory = Box::new(new.memory()?);
    if !changed.is_empty() {
        batch.may_grow()?;
        write(batch, &old, &new, &changed, request)?;
    }
    let answer = RequestRecord {
        at: request.at.as_microsecond(),
        items: vec![RequestItem {
            id: IdText(old.id),
            status: String::new(),
            changed: stored_names(&changed),
        }],
        missing: Vec::new(),
        erase_by: None,
        restorable_until: None,
    };
    batch.keep_answer(Keyed::Revise, key, &answer, request.at)?;
    Ok(Revised::Done { memory, changed })
}

fn write(
    batch: &mut Batch<'_>,
    old: &StoredMemory,
    new: &StoredMemory,
    changed: &[&'static str],
    request: &Revise,
) -> Result<()> {
    let by = By { actor: &request.actor, at: request.at };
    batch.replace(old, new)?;
    let text = if changed.contains(&"content") {
        batch.await_vectors(new.id)?;
        NewText::Yes(batch.attach_new(new, request.embedded.as_ref())?)
    } else {
        NewText::No
    };
    batch.announce(by, Operation::Update, new, changed, text)
}

/// The memory with the patch applied, and the names of the fields that it changed.
fn patched(
    old: &StoredMemory,
    patch: &Patch,
    at: jiff::Timestamp,
) -> Result<(StoredMemory, Vec<&'static str>)> {
    // Destructured, so that a new field of the patch cannot be left out.
    let Patch { content, kind, tags, metadata, importance, pinned, occurred_at, valid_to } = patch;
    let mut new = old.clone();
    let record = &mut new.record;
    let mut changed = Vec::new();
    let mut note = |field: &'static str, is_changed: bool| {
        if is_changed {
            changed.push(field);
        }
    };
    note("content", replace(&mut record.content, content.as_ref().map(ToString::to_string)));
    note("kind", replace(&mut record.kind, kind.map(|kind| kind.to_string())));
    note("tags", replace(&mut record.tags, tags.clone()));
    note("metadata", replace(&mut record.metadata, metadata.clone()));
    if let Some(value) = importance.filter(|new| new.to_bits() != old.record.importance.to_bits()) {
        record.importance = value;
        new.usage.anchor = value;
        new.usage.anchor_at = at.as_microsecond();
        note("importance", true);
    }
    note("pinned", replace(&mut record.pinned, *pinned));
    let microseconds = |time: Option<jiff::Timestamp>| time.map(jiff::Timestamp::as_microsecond);
    note("occurred_at", replace(&mut record.occurred_at, occurred_at.map(microseconds)));
    note("valid_to", replace(&mut record.valid_to, valid_to.map(microseconds)));
    if valid_to.is_some() {
        let status = status_by_validity(record.status()?, record.valid_to, at);
        note("status", replace(&mut record.status, Some(status.to_string())));
    }
    if !changed.is_empty() {
        record.version += 1;
        record.updated_at = at.as_microsecond();
    }
    if changed.contains(&"content") {
        record.content_version = record.version;
    }
    Ok((new, changed))
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

/// Sets `field` if there is a new value; whether that changed it.
fn replace<T: PartialEq>(field: &mut T, new: Option<T>) -> bool {
    match new {
        Some(new) if new != *field => {
            *field = new;
            true
        }
        Some(_) | None => false,
    }
}

/// The memory as it is now, with what the first request changed.
fn replayed(batch: &Batch<'_>, first: &RequestRecord) -> Result<Revised> {
    let Some(item) = first.items.first() else { return Ok(Revised::Missing) };
    Ok(match batch.load(item.id.0)? {
        Some(stored) => Revised::Done {
            memory: Box::new(stored.memory()?),
            changed: field_names(&item.changed),
        },
        None => Revised::Missing,
    })
}
