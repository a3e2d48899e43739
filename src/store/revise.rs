//! Changing one memory.

use crate::domain::change::{Revise, Revised};
use crate::domain::id::MemoryId;

use super::batch::{Batch, By};
use super::errors::Result;
use super::records::IdText;
use super::reminders::follow_text;
use super::requests::{Keyed, RequestItem, RequestRecord, field_names, stored_names};
use super::staging::{Staging, links};

/// Carries out a [`Revise`].
pub(super) fn revise(batch: &mut Batch<'_>, request: &Revise) -> Result<Revised> {
    let key = request.request.as_ref();
    if let Some(first) = batch.first_answer(Keyed::Revise, key, request.at)? {
        return replayed(batch, &first);
    }
    let id = request.id;
    let mut staging = Staging::default();
    if staging.edit(batch, id)?.is_none() {
        return Ok(Revised::Missing);
    }
    batch.check_links(id, links(&request.patch))?;
    staging.patch(batch, id, &request.patch, request.at)?;
    let changed = staging.changed(id);
    if !changed.is_empty() {
        batch.may_grow()?;
        let embedded = request.embedded.as_ref().map(|embedded| (id, embedded));
        staging.write(batch, By::new(&request.actor, request.at), embedded)?;
        if let Some(read) = &request.reminders {
            follow_text(batch, &[id], read, request.at)?;
        }
    }
    let answer = RequestRecord {
        items: vec![RequestItem {
            id: IdText(id),
            status: String::new(),
            changed: stored_names(&changed),
        }],
        ..RequestRecord::at(request.at)
    };
    batch.keep_answer(Keyed::Revise, key, &answer, request.at)?;
    present(batch, id, changed)
}

/// The memory as it is now, with what the first request changed.
fn replayed(batch: &Batch<'_>, first: &RequestRecord) -> Result<Revised> {
    match first.items.first() {
        Some(item) => present(batch, item.id.0, field_names(&item.changed)),
        None => Ok(Revised::Missing),
    }
}

fn present(batch: &Batch<'_>, id: MemoryId, changed: Vec<&'static str>) -> Result<Revised> {
    Ok(match batch.load(id)? {
        Some(stored) => Revised::Done { memory: Box::new(stored.memory()?), changed },
        None => Revised::Missing,
    })
}
