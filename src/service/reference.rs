//! Ids and handles to memories, within what the caller may read.

use std::sync::Arc;

use super::{Service, ServiceError};
use crate::domain::id::IdReference;
use crate::domain::identity::Caller;
use crate::domain::memory::Memory;
use crate::ports::Snapshot;

impl Service {
    /// The memory that `reference` (an id or a handle) means to this caller.
    ///
    /// # Errors
    /// `Invalid` for text that is neither; `NotFound` if there is none or the caller may not read
    /// it; `Ambiguous` if a handle means several.
    pub(super) async fn find(
        &self,
        caller: &Caller,
        snapshot: &Arc<dyn Snapshot>,
        argument: &'static str,
        reference: &str,
    ) -> Result<Memory, ServiceError> {
        let parsed: IdReference = reference.parse().map_err(|_| {
            ServiceError::invalid(
                argument,
                "a memory id or its handle (8 to 12 characters)",
                format!("`{reference}`"),
            )
        })?;
        let ids = match parsed {
            IdReference::Whole(id) => vec![id],
            IdReference::Handle(handle) => snapshot.resolve(handle).await?,
        };
        let mut readable: Vec<Memory> = snapshot
            .memories(ids)
            .await?
            .into_iter()
            .flatten()
            .filter(|memory| caller.access.weight(&memory.namespace).is_some())
            .collect();
        match (readable.pop(), readable.is_empty()) {
            (Some(memory), true) => Ok(memory),
            (Some(memory), false) => {
                readable.push(memory);
                Err(ServiceError::Ambiguous {
                    reference: reference.to_owned(),
                    ids: readable.iter().map(|memory| memory.id).collect(),
                })
            }
            (None, _) => Err(ServiceError::NotFound { reference: reference.to_owned() }),
        }
    }

    /// Like [`Service::find`], for a caller that means to change the memory.
    ///
    /// # Errors
    /// The same, and `NotWritable` if the caller may read but not write it.
    pub(super) async fn find_writable(
        &self,
        caller: &Caller,
        snapshot: &Arc<dyn Snapshot>,
        argument: &'static str,
        reference: &str,
    ) -> Result<Memory, ServiceError> {
        let memory = self.find(caller, snapshot, argument, reference).await?;
        if caller.access.may_write(&memory.namespace) {
            Ok(memory)
        } else {
            Err(ServiceError::NotWritable { namespace: memory.namespace.to_string() })
        }
    }
}
