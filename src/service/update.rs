//! Changing a memory; the earlier version is kept.

use std::sync::Arc;

use super::redaction::Redactor;
use super::remember::{check_content, check_metadata, check_tags, checked_importance};
use super::{Service, ServiceError};
use crate::domain::change::{Patch, RequestKey, Revise, Revised};
use crate::domain::identity::Caller;
use crate::domain::memory::Memory;
use crate::ports::Measured;

/// What to change.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateRequest {
    /// Id or handle.
    pub reference: String,
    /// New values, as the caller gives them.
    pub patch: Patch,
    /// Idempotency key.
    pub request: Option<RequestKey>,
}

/// The memory after the change.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateAnswer {
    /// As it is now.
    pub memory: Memory,
    /// Names of the fields that changed; none if all had these values already.
    pub changed: Vec<&'static str>,
    /// Names of the redaction rules that hit.
    pub redacted: Vec<&'static str>,
}

impl Service {
    /// Changes one memory; durable at the answer.
    ///
    /// # Errors
    /// `Invalid`, `NotFound`, `Ambiguous`, `NotWritable`, `Store`.
    pub async fn update(
        &self,
        caller: &Caller,
        request: UpdateRequest,
    ) -> Result<UpdateAnswer, ServiceError> {
        let now = self.clock.now();
        if request.patch == Patch::default() {
            return Err(ServiceError::invalid(
                "id",
                "at least one field to change beside it",
                "none",
            ));
        }
        let snapshot = self.store.snapshot().await?;
        let memory = self.find_writable(caller, &snapshot, "id", &request.reference).await?;
        let mut redactor = Redactor::default();
        let patch = redact_patch(request.patch, &mut redactor)?;
        let embedded = match &patch.content {
            Some(content) => self.embed_in_time(vec![Arc::clone(content)]).await.pop().flatten(),
            None => None,
        };
        let is_pending = patch.content.is_some() && embedded.is_none();
        let revise = Revise {
            id: memory.id,
            patch,
            embedded,
            request: request.request,
            actor: caller.actor.clone(),
            at: now,
        };
        match self.store.revise(revise).await? {
            Revised::Done { memory, changed } => {
                if is_pending {
                    self.backlog.notify_one();
                }
                self.meter.record(Measured::Update);
                Ok(UpdateAnswer { memory: *memory, changed, redacted: redactor.found() })
            }
            Revised::Missing => Err(ServiceError::NotFound { reference: request.reference }),
        }
    }
}

/// The patch with its values checked and its texts redacted.
fn redact_patch(patch: Patch, redactor: &mut Redactor) -> Result<Patch, ServiceError> {
    if let Some(content) = &patch.content {
        check_content(content)?;
    }
    if let Some(tags) = &patch.tags {
        check_tags(tags)?;
    }
    if let Some(metadata) = &patch.metadata {
        check_metadata(metadata)?;
    }
    Ok(Patch {
        content: patch.content.map(|content| redactor.text(&content)),
        kind: patch.kind,
        tags: patch.tags.map(|tags| redactor.tags(&tags)),
        metadata: patch.metadata.map(|metadata| redactor.metadata(&metadata)),
        importance: patch.importance.map(checked_importance).transpose()?,
        pinned: patch.pinned,
        occurred_at: patch.occurred_at,
        valid_to: patch.valid_to,
        // What stands between memories is not the caller's to write.
        ..Patch::default()
    })
}
