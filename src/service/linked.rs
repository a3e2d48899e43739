//! What stands beside a memory: those it replaced or was replaced by, and those that say otherwise.

use std::sync::Arc;

use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::LINKED_SHOWN_MAX;
use crate::domain::memory::{Memory, Status};
use crate::ports::{Snapshot, StoreError};

/// Memories beside one, within what the caller may read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linked {
    /// What it replaced, directly or not, and what replaced it, oldest first; at most
    /// [`LINKED_SHOWN_MAX`] in each direction.
    pub chain: Vec<Memory>,
    /// Those that say otherwise and are current.
    pub contradicts: Vec<Memory>,
}

/// Everything beside a memory.
pub(super) async fn linked(
    caller: &Caller,
    snapshot: &Arc<dyn Snapshot>,
    memory: &Memory,
) -> Result<Linked, StoreError> {
    let earlier = follow(caller, snapshot, memory, |memory| memory.supersedes).await?;
    let later = follow(caller, snapshot, memory, |memory| memory.superseded_by).await?;
    let contradicts = contradicting(caller, snapshot, memory).await?;
    Ok(Linked { chain: earlier.into_iter().rev().chain(later).collect(), contradicts })
}

/// The memories that say otherwise, without it being clear which is right, and are current.
pub(super) async fn contradicting(
    caller: &Caller,
    snapshot: &Arc<dyn Snapshot>,
    memory: &Memory,
) -> Result<Vec<Memory>, StoreError> {
    if memory.contradicts.is_empty() {
        return Ok(Vec::new());
    }
    let others = snapshot.memories(memory.contradicts.clone()).await?.into_iter().flatten();
    Ok(others
        .filter(|other| other.status == Status::Active && is_readable(caller, other))
        .take(LINKED_SHOWN_MAX)
        .collect())
}

/// Follows a link from memory to memory.
async fn follow(
    caller: &Caller,
    snapshot: &Arc<dyn Snapshot>,
    memory: &Memory,
    link: impl Fn(&Memory) -> Option<MemoryId>,
) -> Result<Vec<Memory>, StoreError> {
    let mut followed: Vec<Memory> = Vec::new();
    let mut next = link(memory);
    while let Some(id) = next.take() {
        let is_known = id == memory.id || followed.iter().any(|known| known.id == id);
        if is_known || followed.len() >= LINKED_SHOWN_MAX {
            break;
        }
        let found = snapshot.memories(vec![id]).await?.into_iter().flatten().next();
        if let Some(found) = found.filter(|found| is_readable(caller, found)) {
            next = link(&found);
            followed.push(found);
        }
    }
    Ok(followed)
}

fn is_readable(caller: &Caller, memory: &Memory) -> bool {
    caller.access.weight(&memory.namespace).is_some()
}
