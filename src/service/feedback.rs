//! What a caller says of memories that it was given.
//!
//! Useful and useless move how well a memory lasts. Wrong is a contradiction: the memory is true no
//! longer, and what is true takes its place if the caller says it or if one current memory is linked as
//! saying otherwise. What the wrong one had replaced is named, since it may have been right.

use jiff::Timestamp;

use super::contradict::{change_set, replacing};
use super::linked::contradicting;
use super::remember::Draft;
use super::{Service, ServiceError};
use crate::domain::change::{Change, Patch, Revise, Revised};
use crate::domain::decay::{Use, Verdict};
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::GET_IDS_MAX;
use crate::domain::memory::{Kind, Memory, Status};

/// A verdict on memories.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedbackRequest {
    /// Ids or handles.
    pub references: Vec<String>,
    /// What is said of each.
    pub verdict: Verdict,
    /// What is true instead of a single memory that is wrong.
    pub correction: Option<String>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedbackAnswer {
    /// What became of the memories, in the order asked.
    pub memories: Vec<Judged>,
    /// References that mean nothing the caller may read.
    pub missing: Vec<String>,
}

/// A memory that something was said of.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// As it is now.
    pub memory: Memory,
    /// How strong, 0.0..=1.0.
    pub strength: f64,
    /// What it replaced when it was stored, if it is wrong: that is not current by itself.
    pub replaced: Option<MemoryId>,
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
        mut request: FeedbackRequest,
    ) -> Result<FeedbackAnswer, ServiceError> {
        let n_asked = request.references.len();
        if n_asked == 0 || n_asked > GET_IDS_MAX {
            return Err(ServiceError::invalid("ids", format!("1 to {GET_IDS_MAX} ids"), n_asked));
        }
        if request.correction.is_some() && (n_asked > 1 || request.verdict != Verdict::Wrong) {
            let (expected, given) = ("the verdict wrong on a single id", request.verdict.as_str());
            return Err(ServiceError::invalid("correction", expected, given));
        }
        let snapshot = self.store.snapshot().await?;
        let mut answer = FeedbackAnswer { memories: Vec::new(), missing: Vec::new() };
        for reference in std::mem::take(&mut request.references) {
            let found = match request.verdict {
                Verdict::Useful | Verdict::Useless => {
                    self.find(caller, &snapshot, "ids", &reference).await
                }
                Verdict::Wrong => self.find_writable(caller, &snapshot, "ids", &reference).await,
            };
            match found {
                Ok(memory) => answer.memories.push(match request.verdict {
                    Verdict::Useful => self.judged(caller, memory, Use::Useful).await,
                    Verdict::Useless => self.judged(caller, memory, Use::Useless).await,
                    Verdict::Wrong => {
                        self.found_wrong(caller, memory, request.correction.take()).await?
                    }
                }),
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

    async fn judged(&self, caller: &Caller, memory: Memory, how: Use) -> Judged {
        let now = self.clock.now();
        let strength = self.reinforce(&memory, how, 0, now);
        let memory = match how {
            Use::Useful => self.used(memory, &caller.actor, now).await,
            Use::Read | Use::Useless => memory,
        };
        Judged { memory, strength, replaced: None }
    }

    async fn found_wrong(
        &self,
        caller: &Caller,
        memory: Memory,
        correction: Option<String>,
    ) -> Result<Judged, ServiceError> {
        let now = self.clock.now();
        let is_current = !matches!(memory.status, Status::Superseded | Status::Invalidated);
        let (id, replaced) = (memory.id, memory.supersedes.filter(|_| is_current));
        let memory = match correction {
            Some(correction) => {
                // Who corrects a summary states what is so; it is no summary of anything.
                let is_stated = !matches!(memory.kind, Kind::Summary | Kind::Profile);
                let draft = Draft {
                    content: correction,
                    kind: is_stated.then_some(memory.kind),
                    tags: memory.tags.clone(),
                    metadata: memory.metadata.clone(),
                    supersedes: Some(id.to_string()),
                    ..Draft::default()
                };
                self.remember(caller, vec![draft], None).await?;
                self.present(memory).await?
            }
            None if !is_current => memory,
            None => match self.settled(caller, &memory, now).await? {
                Some(memory) => memory,
                None => self.invalidated(caller, memory, now).await?,
            },
        };
        let strength = self.strength(&memory, now);
        Ok(Judged { memory, strength, replaced })
    }

    /// The memory, replaced by the one current memory that says otherwise, if there is just one.
    async fn settled(
        &self,
        caller: &Caller,
        memory: &Memory,
        now: Timestamp,
    ) -> Result<Option<Memory>, ServiceError> {
        let snapshot = self.store.snapshot().await?;
        let others = contradicting(caller, &snapshot, memory).await?;
        let [right] = others.as_slice() else { return Ok(None) };
        if !caller.access.may_write(&right.namespace) {
            return Ok(None);
        }
        let mut changes = replacing(std::slice::from_ref(memory), right.id, now);
        if right.supersedes.is_none() {
            let patch = Patch { supersedes: Some(Some(memory.id)), ..Patch::default() };
            changes.push(Change { id: right.id, version: right.version, patch });
        }
        let applied = self.store.apply(change_set(changes, caller.actor.clone(), now)).await?;
        if !applied.conflicts.is_empty() {
            let expected = "memories that nobody else changes at this moment; try again";
            return Err(ServiceError::invalid("ids", expected, "one that was just changed"));
        }
        Ok(Some(self.present(memory.clone()).await?))
    }

    /// The memory as it is now.
    async fn present(&self, memory: Memory) -> Result<Memory, ServiceError> {
        let snapshot = self.store.snapshot().await?;
        let present = snapshot.memories(vec![memory.id]).await?.into_iter().flatten().next();
        present.ok_or_else(|| ServiceError::NotFound { reference: memory.id.to_string() })
    }

    /// The memory, no longer valid from now on.
    async fn invalidated(
        &self,
        caller: &Caller,
        memory: Memory,
        now: Timestamp,
    ) -> Result<Memory, ServiceError> {
        let revise = Revise {
            id: memory.id,
            patch: Patch { valid_to: Some(Some(now)), ..Patch::default() },
            embedded: None,
            reminders: None,
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
