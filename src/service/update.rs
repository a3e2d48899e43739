//! Changing a memory; the earlier version is kept.

use std::sync::Arc;

use super::redaction::Redactor;
use super::remember::{check_content, check_metadata, check_tags, checked_importance};
use super::remind::ReminderView;
use super::{Service, ServiceError};
use crate::domain::change::{Change, ChangeSet, Patch, RequestKey, Revise, Revised};
use crate::domain::identity::Caller;
use crate::domain::memory::{Memory, Status};
use crate::domain::scanner::Unarmed;
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
    /// The reminders that are read in it, if its text changed.
    pub reminders: Vec<ReminderView>,
    /// Why nothing is armed where its new text asks for it.
    pub unarmed: Vec<Unarmed>,
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
        let says_other = patch.content.is_some();
        let actor = &caller.actor;
        let (reminders, unarmed) = match patch.content.as_deref() {
            Some(content) => self.foresee_again(&memory, content, actor, now),
            None => (None, Vec::new()),
        };
        let revise = Revise {
            id: memory.id,
            patch,
            embedded,
            reminders,
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
                self.reminders_are_other();
                let reminders =
                    if says_other { self.foreseen(memory.id).await? } else { Vec::new() };
                let redacted = redactor.found();
                Ok(UpdateAnswer { memory: *memory, changed, redacted, reminders, unarmed })
            }
            Revised::Missing => Err(ServiceError::NotFound { reference: request.reference }),
        }
    }
}

impl Service {
    /// Makes a memory current again that was superseded, invalidated or archived; durable at the
    /// answer. One that replaced it stays current too, but no longer in its place.
    ///
    /// # Errors
    /// `Invalid`, `NotFound`, `Ambiguous`, `NotWritable`, `Store`.
    pub async fn reinstate(
        &self,
        caller: &Caller,
        reference: &str,
    ) -> Result<UpdateAnswer, ServiceError> {
        let now = self.clock.now();
        let snapshot = self.store.snapshot().await?;
        let memory = self.find_writable(caller, &snapshot, "id", reference).await?;
        if memory.status == Status::Active && memory.valid_to.is_none() {
            return Ok(UpdateAnswer {
                memory,
                changed: Vec::new(),
                redacted: Vec::new(),
                reminders: Vec::new(),
                unarmed: Vec::new(),
            });
        }
        let patch = Patch {
            status: Some(Status::Active),
            valid_to: Some(None),
            superseded_by: Some(None),
            ..Patch::default()
        };
        let mut changes = vec![Change { id: memory.id, version: memory.version, patch }];
        let successor = snapshot.memories(memory.superseded_by.into_iter().collect()).await?;
        if let Some(successor) = successor.into_iter().flatten().next()
            && successor.supersedes == Some(memory.id)
            && caller.access.may_write(&successor.namespace)
        {
            let patch = Patch { supersedes: Some(None), ..Patch::default() };
            changes.push(Change { id: successor.id, version: successor.version, patch });
        }
        let actor = caller.actor.clone();
        let (run, new, marks) = (None, Vec::new(), Vec::new());
        let applied =
            self.store.apply(ChangeSet { run, new, changes, marks, actor, at: now }).await?;
        if !applied.conflicts.is_empty() {
            let expected = "a memory that nobody else changes at this moment; try again";
            return Err(ServiceError::invalid("id", expected, "one that was just changed"));
        }
        let current = self.store.snapshot().await?.memories(vec![memory.id]).await?;
        let current = current.into_iter().flatten().next();
        let not_found = || ServiceError::NotFound { reference: reference.to_owned() };
        let current = current.ok_or_else(not_found)?;
        let changed = [
            ("status", current.status != memory.status),
            ("valid_to", current.valid_to != memory.valid_to),
            ("superseded_by", current.superseded_by != memory.superseded_by),
        ];
        let changed = changed.into_iter().filter_map(|(name, differs)| differs.then_some(name));
        self.meter.record(Measured::Update);
        let (changed, redacted, reminders) = (changed.collect(), Vec::new(), Vec::new());
        Ok(UpdateAnswer { memory: current, changed, redacted, reminders, unarmed: Vec::new() })
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
