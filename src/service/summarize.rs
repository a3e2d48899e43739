//! A summary on demand: of the memories that a caller names by time, kind, tags and namespace.

use serde_json::json;

use super::consolidate::common_tags;
use super::redaction::Redactor;
use super::scope::Scope;
use super::summary::{Because, WrittenSummary};
use super::{Service, ServiceError};
use crate::domain::change::{Change, ChangeSet, NewMemory, Patch};
use crate::domain::consolidation::REQUESTED_KEY;
use crate::domain::decay::initial_importance;
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::{LLM_PASSAGES_MAX, SUMMARIZE_WAIT};
use crate::domain::memory::{Kind, Memory, Origin};
use crate::domain::namespace::Namespace;
use crate::domain::summary::Aim;
use crate::ports::Listing;

/// What is to be summarised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummarizeRequest {
    /// Which memories. Without kinds: all but what is made of others.
    pub scope: Scope,
    /// At most this many, the newest, 1..=[`LLM_PASSAGES_MAX`].
    pub limit: Option<usize>,
    /// Whether the summary is stored beside them.
    pub store: bool,
}

/// The summary.
#[derive(Clone, Debug, PartialEq)]
pub struct SummarizeAnswer {
    /// It; `None`: no memory is meant, or none says anything.
    pub written: Option<WrittenSummary>,
    /// The memories that were read, oldest first.
    pub memories: Vec<Memory>,
    /// Whether there are older ones that were not read.
    pub has_more: bool,
    /// Under which id it is stored, if it was to be.
    pub stored: Option<MemoryId>,
}

impl Service {
    /// Summarises memories. A model that does not answer in time is not waited for: then the memories
    /// are quoted.
    ///
    /// # Errors
    /// `Invalid`, `NotReadable`, `NotWritable`, `Store`.
    pub async fn summarize(
        &self,
        caller: &Caller,
        request: SummarizeRequest,
    ) -> Result<SummarizeAnswer, ServiceError> {
        let limit = request.limit.unwrap_or(LLM_PASSAGES_MAX);
        if !(1..=LLM_PASSAGES_MAX).contains(&limit) {
            let expected = format!("a number 1 to {LLM_PASSAGES_MAX}");
            return Err(ServiceError::invalid("limit", expected, limit));
        }
        let mut scope = request.scope;
        if scope.kinds.is_empty() && scope.layer.is_none() {
            let is_said = |kind: &Kind| !matches!(kind, Kind::Summary | Kind::Profile);
            scope.kinds = Kind::ALL.iter().copied().filter(is_said).collect();
        }
        let snapshot = self.store.snapshot().await?;
        let filter = self.filter(caller, &snapshot, &scope).await?;
        let listing = Listing { filter, newest_first: true, after: None, limit: limit + 1 };
        let mut memories = snapshot.list(listing).await?;
        drop(snapshot);
        let has_more = memories.len() > limit;
        memories.truncate(limit);
        memories.reverse();
        let home = if request.store { writable_home(caller, &memories)? } else { None };
        let written =
            if memories.is_empty() { None } else { self.written_in_time(&memories).await };
        let stored = match (home, &written) {
            (Some(home), Some(written)) => {
                Some(self.store_summary(caller, home, &memories, written).await?)
            }
            _ => None,
        };
        Ok(SummarizeAnswer { written, memories, has_more, stored })
    }

    async fn written_in_time(&self, memories: &[Memory]) -> Option<WrittenSummary> {
        let writing = self.write_summary(Aim::Summary, memories);
        if let Ok(written) = tokio::time::timeout(SUMMARIZE_WAIT, writing).await {
            return written;
        }
        let reason = format!("it did not answer within {} s", SUMMARIZE_WAIT.as_secs());
        self.quote_summary(Aim::Summary, memories, Because::Away(reason))
    }

    /// Stores a summary as a memory made of these, unless one of them has changed meanwhile. They are
    /// not marked, and nobody extends it.
    async fn store_summary(
        &self,
        caller: &Caller,
        namespace: Namespace,
        memories: &[Memory],
        written: &WrittenSummary,
    ) -> Result<MemoryId, ServiceError> {
        let at = self.clock.now();
        let content = Redactor::default().text(&written.text);
        let embedded = self.embed_in_time(vec![content.clone()]).await.into_iter().next().flatten();
        let mut metadata = written.metadata();
        metadata.insert(REQUESTED_KEY.to_owned(), json!(true).to_string());
        let new = NewMemory {
            id: self.ids.next_id(at),
            namespace,
            importance: initial_importance(Kind::Summary, &content),
            content,
            kind: Kind::Summary,
            tags: common_tags(memories),
            metadata,
            session: None,
            agent: caller.agent().map(ToString::to_string),
            occurred_at: memories.iter().map(Memory::event_time).max(),
            pinned: false,
            origin: Origin::Consolidated,
            supersedes: None,
            derived_from: memories.iter().map(|memory| memory.id).collect(),
            contradicts: Vec::new(),
            embedded,
            reminders: Vec::new(),
        };
        let id = new.id;
        let set = ChangeSet {
            run: None,
            new: vec![new],
            changes: memories.iter().map(unchanged).collect(),
            marks: Vec::new(),
            actor: caller.actor.clone(),
            at,
        };
        let applied = self.store.apply(set).await?;
        if let Some(changed) = applied.conflicts.first() {
            let expected = "memories that nobody changes meanwhile: ask again";
            return Err(ServiceError::invalid("store", expected, changed));
        }
        if applied.stored.iter().any(|one| !one.embedded) {
            self.backlog.notify_one();
        }
        Ok(id)
    }
}

/// A condition: the memory is still as it was read.
fn unchanged(memory: &Memory) -> Change {
    Change { id: memory.id, version: memory.version, patch: Patch::default() }
}

/// Where a summary of these memories is stored: beside them; `None` if there are none.
fn writable_home(caller: &Caller, memories: &[Memory]) -> Result<Option<Namespace>, ServiceError> {
    let Some(first) = memories.first() else { return Ok(None) };
    let home = &first.namespace;
    if let Some(other) = memories.iter().find(|memory| memory.namespace != *home) {
        let expected = "one namespace, since the summary is stored beside its memories";
        let found = format!("memories of `{home}` and `{}`", other.namespace);
        return Err(ServiceError::invalid("namespace", expected, found));
    }
    if !caller.access.may_write(home) {
        return Err(ServiceError::NotWritable { namespace: home.to_string() });
    }
    Ok(Some(home.clone()))
}
