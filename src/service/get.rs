//! Reading memories by id. Reading one is using it: it reinforces.

use super::linked::{Linked, linked};
use super::{Service, ServiceError};
use crate::domain::change::LogEntry;
use crate::domain::decay::Use;
use crate::domain::identity::Caller;
use crate::domain::limits::{CHANGES_SHOWN_MAX, GET_IDS_MAX};
use crate::domain::memory::Memory;

/// Which memories to read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GetRequest {
    /// Ids or handles.
    pub references: Vec<String>,
    /// Earlier versions too, and of one memory alone the newest entries of the change log.
    pub history: bool,
    /// Whether this counts as use (a resource read does not).
    pub reinforces: bool,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct GetAnswer {
    /// In the order asked for.
    pub memories: Vec<Got>,
    /// References that mean nothing the caller may read.
    pub missing: Vec<String>,
}

/// One memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Got {
    /// As it is now.
    pub memory: Memory,
    /// Strength now, 0.0..=1.0.
    pub strength: f64,
    /// Earlier versions, oldest first, if they were asked for.
    pub history: Vec<Memory>,
    /// What stands beside it.
    pub linked: Linked,
    /// Its newest log entries, oldest first, if its history alone was asked for.
    pub changes: Vec<LogEntry>,
}

impl Service {
    /// Reads memories by id or handle.
    ///
    /// # Errors
    /// `Invalid`, `Ambiguous`; `NotFound` only if not a single one was found.
    pub async fn get(
        &self,
        caller: &Caller,
        request: GetRequest,
    ) -> Result<GetAnswer, ServiceError> {
        let n_asked = request.references.len();
        if n_asked == 0 || n_asked > GET_IDS_MAX {
            return Err(ServiceError::invalid("ids", format!("1 to {GET_IDS_MAX} ids"), n_asked));
        }
        let now = self.clock.now();
        let snapshot = self.store.snapshot().await?;
        let mut answer = GetAnswer { memories: Vec::new(), missing: Vec::new() };
        for reference in request.references {
            match self.find(caller, &snapshot, "ids", &reference).await {
                Ok(memory) => {
                    let (mut history, mut changes) = (Vec::new(), Vec::new());
                    if request.history {
                        history = snapshot.history(memory.id).await?;
                    }
                    if request.history && n_asked == 1 {
                        changes = snapshot.log_of(memory.id, CHANGES_SHOWN_MAX).await?;
                    }
                    let mut memory = self.with_notes(memory);
                    if request.reinforces && caller.agent().is_some() {
                        let before = memory.usage;
                        self.note_used(caller, &memory, Use::Read, now);
                        memory = self.used(memory, &caller.actor, now).await;
                        memory.usage = before;
                    }
                    let strength = self.strength(&memory, now);
                    let linked = linked(caller, &snapshot, &memory).await?;
                    answer.memories.push(Got { memory, strength, history, linked, changes });
                }
                Err(ServiceError::NotFound { reference }) => answer.missing.push(reference),
                Err(other) => return Err(other),
            }
        }
        match answer.missing.first() {
            Some(reference) if answer.memories.is_empty() => {
                Err(ServiceError::NotFound { reference: reference.clone() })
            }
            _ => Ok(answer),
        }
    }
}
