//! What a caller says of memories that it was given.

use jiff::Timestamp;

use super::{Service, ServiceError};
use crate::domain::change::{Patch, Revise, Revised};
use crate::domain::decay::{Use, Verdict};
use crate::domain::identity::Caller;
use crate::domain::limits::GET_IDS_MAX;
use crate::domain::memory::{Memory, Status};

/// A verdict on memories.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedbackRequest {
    /// Ids or handles.
    pub references: Vec<String>,
    /// What is said of each.
    pub verdict: Verdict,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedbackAnswer {
    /// The memories, each with its strength after it, 0.0..=1.0.
    pub memories: Vec<(Memory, f64)>,
    /// References that mean nothing the caller may read.
    pub missing: Vec<String>,
}

impl Service {
    /// Takes feedback on memories. Useful and useless move the strength, which is no change of a
    /// memory; wrong is one, and takes the right to write.
    ///
    /// # Errors
    /// `Invalid`, `Ambiguous`, `NotWritable`, `Store`; `NotFound` only if not a single one was found.
    /// What was said of those before stands.
    pub async fn feedback(
        &self,
        caller: &Caller,
        request: FeedbackRequest,
    ) -> Result<FeedbackAnswer, ServiceError> {
        let n_asked = request.references.len();
        if n_asked == 0 || n_asked > GET_IDS_MAX {
            return Err(ServiceError::invalid("ids", format!("1 to {GET_IDS_MAX} ids"), n_asked));
        }
        let snapshot = self.store.snapshot().await?;
        let mut answer = FeedbackAnswer { memories: Vec::new(), missing: Vec::new() };
        for reference in request.references {
            let found = match request.verdict {
                Verdict::Useful | Verdict::Useless => {
                    self.find(caller, &snapshot, "ids", &reference).await
                }
                Verdict::Wrong => self.find_writable(caller, &snapshot, "ids", &reference).await,
            };
            match found {
                Ok(memory) => {
                    answer.memories.push(self.judge(caller, memory, request.verdict).await?);
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

    async fn judge(
        &self,
        caller: &Caller,
        memory: Memory,
        verdict: Verdict,
    ) -> Result<(Memory, f64), ServiceError> {
        let now = self.clock.now();
        let how = match verdict {
            Verdict::Useful => Use::Useful,
            Verdict::Useless => Use::Useless,
            Verdict::Wrong => {
                let memory = self.invalidated(caller, memory, now).await?;
                let strength = self.strength(&memory, now);
                return Ok((memory, strength));
            }
        };
        let strength = self.reinforce(&memory, how, 0, now);
        let memory = match how {
            Use::Useful => self.used(memory, &caller.actor, now).await,
            Use::Read | Use::Useless => memory,
        };
        Ok((memory, strength))
    }

    /// The memory, no longer valid from now on; one that is not current anyhow stays as it is.
    async fn invalidated(
        &self,
        caller: &Caller,
        memory: Memory,
        now: Timestamp,
    ) -> Result<Memory, ServiceError> {
        if matches!(memory.status, Status::Superseded | Status::Invalidated) {
            return Ok(memory);
        }
        let revise = Revise {
            id: memory.id,
            patch: Patch { valid_to: Some(Some(now)), ..Patch::default() },
            embedded: None,
            request: None,
            actor: caller.actor.clone(),
            at: now,
        };
        match self.store.revise(revise).await? {
            Revised::Done { memory, .. } => Ok(*memory),
            Revised::Missing => Err(ServiceError::NotFound { reference: memory.id.to_string() }),
        }
    }
}
