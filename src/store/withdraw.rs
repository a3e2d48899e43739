//! Taking away what was made of memories that go, and cutting the links that led to it.
//!
//! A summary tells what its sources say: it cannot stay when one of them is forgotten, nor what was
//! made of the summary. Its other sources are as they were before it: another summary that it had
//! replaced speaks for them again, else none does and they are summarised anew.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::change::Operation;
use crate::domain::id::MemoryId;
use crate::domain::memory::Status;

use super::batch::{Batch, By, StoredMemory};
use super::errors::Result;
use super::forget::Fate;
use super::records::IdText;
use super::staging::Staging;

/// A memory that was taken away.
pub(super) struct Gone {
    /// As it was last.
    pub(super) memory: StoredMemory,
    /// Whether it had to go with another, instead of being named itself.
    pub(super) is_withdrawn: bool,
}

/// Everything that was made of these memories, directly or not. One of them that was made of another
/// is among it.
pub(super) fn made_of(
    batch: &Batch<'_>,
    sources: impl Iterator<Item = MemoryId>,
) -> Result<BTreeSet<MemoryId>> {
    let mut made = BTreeSet::new();
    let mut waiting: Vec<MemoryId> = sources.collect();
    while let Some(source) = waiting.pop() {
        for product in batch.products(source)? {
            if made.insert(product) {
                waiting.push(product);
            }
        }
    }
    Ok(made)
}

/// Takes away for good what was made of memories that go, whether it is there or restorable. Returns
/// what was there, and adds it to `gone`.
pub(super) fn withdraw(
    batch: &mut Batch<'_>,
    made: &BTreeSet<MemoryId>,
    by: By<'_>,
    gone: &mut Vec<Gone>,
) -> Result<Vec<MemoryId>> {
    let mut withdrawn = Vec::with_capacity(made.len());
    for id in made {
        let Some(memory) = batch.load(*id)? else {
            batch.erase(*id, by)?;
            continue;
        };
        let fate = Fate { restorable_until: None, erase_by: by.at };
        batch.take_away(&memory, fate, Operation::Withdraw, by)?;
        gone.push(Gone { memory, is_withdrawn: true });
        withdrawn.push(*id);
    }
    Ok(withdrawn)
}

/// Cuts the links that lead to what is gone.
pub(super) fn unlink(batch: &Batch<'_>, staging: &mut Staging, gone: &[Gone]) -> Result<()> {
    let by_id: BTreeMap<MemoryId, &Gone> = gone.iter().map(|one| (one.memory.id, one)).collect();
    for Gone { memory, is_withdrawn } in gone {
        let own = Some(IdText(memory.id));
        let before = if *is_withdrawn { predecessor(&by_id, memory) } else { None };
        for source in &memory.record.derived_from {
            let speaks_again = match before {
                Some(before) if staging.is_made_of(batch, before, source.0)? => Some(before),
                Some(_) | None => None,
            };
            if let Some(present) = staging.edit(batch, source.0)?
                && present.record.consolidated_into == own
            {
                present.record.consolidated_into = speaks_again.map(IdText);
            }
        }
        staging.link_back(batch, memory.id, &memory.record.contradicts, &[])?;
        let Some(replaced) = memory.record.supersedes.filter(|_| *is_withdrawn) else { continue };
        if let Some(present) = staging.edit(batch, replaced.0)?
            && present.record.superseded_by == own
            && present.record.status()? == Status::Superseded
        {
            present.record.status = Status::Active.to_string();
            present.record.superseded_by = None;
            present.record.valid_to = None;
        }
    }
    Ok(())
}

/// The memory that one which is gone had replaced, past those that are gone too.
fn predecessor(gone: &BTreeMap<MemoryId, &Gone>, memory: &StoredMemory) -> Option<MemoryId> {
    let mut replaced = memory.record.supersedes?.0;
    // Each step leads to another that is gone, unless the links run in a circle.
    for _ in 0..=gone.len() {
        match gone.get(&replaced) {
            Some(before) => replaced = before.memory.record.supersedes?.0,
            None => return Some(replaced),
        }
    }
    None
}
