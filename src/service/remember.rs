//! Storing: limits, redaction, embedding, commit; in this order, and nothing else writes text.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::contradict::Compared;
use super::redaction::Redactor;
use super::remind::ReminderView;
use super::{Service, ServiceError};
use crate::domain::change::{NewMemory, Remember, Remembered, RequestKey, StoreStatus};
use crate::domain::decay::initial_importance;
use crate::domain::embedding::Embedded;
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::{
    CONTENT_BYTES_MAX, METADATA_BYTES_MAX, METADATA_KEYS_MAX, SESSION_BYTES_MAX, STORE_BATCH_MAX,
    TAG_BYTES_MAX, TAGS_MAX,
};
use crate::domain::memory::{Kind, Memory, Metadata, Origin};
use crate::domain::namespace::Namespace;
use crate::domain::redaction::redact;
use crate::domain::scanner::Unarmed;
use crate::ports::{Measured, Snapshot};

/// A memory as a caller gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// The text.
    pub content: String,
    /// Where it goes; `None`: where the memory it replaces is, else the caller's default.
    pub namespace: Option<String>,
    /// What sort of statement it is; `None`: a fact.
    pub kind: Option<Kind>,
    /// Tags.
    pub tags: Vec<String>,
    /// 0.0..=1.0; `None`: by kind and cues.
    pub importance: Option<f64>,
    /// When it happened.
    pub occurred_at: Option<Timestamp>,
    /// The conversation it comes from.
    pub session: Option<String>,
    /// The memory it replaces: id or handle.
    pub supersedes: Option<String>,
    /// Free fields, values as JSON text.
    pub metadata: Metadata,
    /// Never decays.
    pub pinned: bool,
}

/// What became of the drafts, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct RememberAnswer {
    /// One a draft.
    pub memories: Vec<Kept>,
}

/// What became of one draft.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Under which id it is found.
    pub id: MemoryId,
    /// Where it is.
    pub namespace: Namespace,
    /// Stored, deduplicated, superseded or forgotten.
    pub status: StoreStatus,
    /// Whether its vector is stored too.
    pub embedded: bool,
    /// Names of the redaction rules that hit.
    pub redacted: Vec<&'static str>,
    /// Fields of the equal memory that changed.
    pub changed: Vec<&'static str>,
    /// What it is to others.
    pub compared: Compared,
    /// Fields that were asked for and that the equal memory has otherwise: an update changes them.
    pub ignored: Vec<&'static str>,
    /// The memory that it took the place of, where that is not the one that was named but its latest
    /// successor.
    pub supersedes_instead: Option<MemoryId>,
    /// The reminders that are read in it.
    pub reminders: Vec<ReminderView>,
    /// Why nothing is armed where the text asks for it.
    pub unarmed: Vec<Unarmed>,
}

/// What a draft asks for that an equal memory may have otherwise.
struct Asked {
    kind: Option<Kind>,
    importance: Option<f64>,
    tags: Vec<String>,
    metadata: Metadata,
    supersedes: Option<MemoryId>,
}

impl Asked {
    fn missing_in(&self, memory: &Memory) -> Vec<&'static str> {
        let differs = |asked: f64| (asked - memory.importance).abs() > f64::EPSILON;
        let has = |(key, value): (&String, &String)| memory.metadata.get(key) == Some(value);
        let fields = [
            ("kind", self.kind.is_some_and(|kind| kind != memory.kind)),
            ("importance", self.importance.is_some_and(differs)),
            ("tags", self.tags.iter().any(|tag| !memory.tags.contains(tag))),
            ("metadata", !self.metadata.iter().all(has)),
        ];
        fields.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| name).collect()
    }
}

impl Service {
    /// Stores memories, all or none; durable at the answer.
    ///
    /// # Errors
    /// `Invalid` names the argument; `NotWritable`; `NotFound` for `supersedes`; `Store`.
    pub async fn remember(
        &self,
        caller: &Caller,
        drafts: Vec<Draft>,
        request: Option<RequestKey>,
    ) -> Result<RememberAnswer, ServiceError> {
        let started = self.clock.monotonic();
        let now = self.clock.now();
        if drafts.is_empty() || drafts.len() > STORE_BATCH_MAX {
            let expected = format!("1 to {STORE_BATCH_MAX} memories");
            return Err(ServiceError::invalid("memories", expected, drafts.len()));
        }
        let snapshot = self.store.snapshot().await?;
        let mut memories = Vec::with_capacity(drafts.len());
        let mut redacted = Vec::with_capacity(drafts.len());
        let mut asked = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let (kind, importance) = (draft.kind, draft.importance);
            let accepted = self.accept(caller, &snapshot, draft, now).await;
            // A call that is sent again may name a memory that is gone by now.
            if let (Err(ServiceError::NotFound { .. }), Some(request)) = (&accepted, &request)
                && let Some(first) = self.first_answer(caller, &snapshot, request, now).await?
            {
                return Ok(first);
            }
            let (memory, found) = accepted?;
            asked.push(Asked {
                kind,
                importance,
                tags: memory.tags.clone(),
                metadata: memory.metadata.clone(),
                supersedes: memory.supersedes,
            });
            memories.push(memory);
            redacted.push(found);
        }
        let unarmed: Vec<Vec<Unarmed>> =
            memories.iter_mut().map(|memory| self.foresee(memory, &caller.actor, now)).collect();
        let foreseen: Vec<bool> =
            memories.iter().map(|memory| !memory.reminders.is_empty()).collect();
        let ready_by = Instant::now() + self.settings().store_wait;
        self.embed_new(&mut memories).await;
        let request = Remember { memories, request, actor: caller.actor.clone(), at: now };
        let namespaces: Vec<Namespace> =
            request.memories.iter().map(|memory| memory.namespace.clone()).collect();
        let (remembered, compared) = self.store_compared(request, ready_by).await?;
        if remembered.iter().any(|one| !one.embedded) {
            self.backlog.notify_one();
        }
        let ignored = self.ignored(&asked, &remembered).await?;
        let reminders = self.all_foreseen(&remembered, &foreseen).await?;
        let memories: Vec<Kept> = remembered
            .into_iter()
            .zip(compared)
            .zip(namespaces.into_iter().zip(redacted))
            .zip(asked.iter().zip(ignored))
            .zip(reminders.into_iter().zip(unarmed))
            .map(|((((one, compared), (namespace, redacted)), (asked, ignored)), read)| Kept {
                reminders: read.0,
                unarmed: read.1,
                id: one.id,
                namespace,
                status: one.status,
                embedded: one.embedded,
                redacted,
                changed: one.changed,
                compared,
                ignored,
                supersedes_instead: one
                    .supersedes
                    .filter(|old| asked.supersedes.is_some_and(|named| named != *old)),
            })
            .collect();
        self.measure(&memories, started);
        Ok(RememberAnswer { memories })
    }

    fn measure(&self, memories: &[Kept], started: Duration) {
        let is_equal = |kept: &&Kept| kept.status == StoreStatus::Deduplicated;
        let n_deduplicated = memories.iter().filter(is_equal).count();
        self.meter.record(Measured::Store {
            n_stored: memories.len() - n_deduplicated,
            n_deduplicated,
            n_redacted: memories.iter().filter(|kept| !kept.redacted.is_empty()).count(),
            elapsed: self.clock.monotonic().saturating_sub(started),
        });
    }

    /// For each draft what the equal memory, if there is one, has otherwise.
    async fn ignored(
        &self,
        asked: &[Asked],
        remembered: &[Remembered],
    ) -> Result<Vec<Vec<&'static str>>, ServiceError> {
        let is_equal = |one: &Remembered| one.status == StoreStatus::Deduplicated;
        if !remembered.iter().any(is_equal) {
            return Ok(vec![Vec::new(); remembered.len()]);
        }
        let ids = remembered.iter().map(|one| one.id).collect();
        let found = self.store.snapshot().await?.memories(ids).await?;
        let each = asked.iter().zip(remembered).zip(found);
        Ok(each
            .map(|((asked, one), memory)| {
                let equal = memory.filter(|_| is_equal(one));
                equal.map(|memory| asked.missing_in(&memory)).unwrap_or_default()
            })
            .collect())
    }

    /// What was answered when this request key was used first, if it was.
    async fn first_answer(
        &self,
        caller: &Caller,
        snapshot: &Arc<dyn Snapshot>,
        request: &RequestKey,
        now: Timestamp,
    ) -> Result<Option<RememberAnswer>, ServiceError> {
        let ask = Remember {
            memories: Vec::new(),
            request: Some(request.clone()),
            actor: caller.actor.clone(),
            at: now,
        };
        let remembered = self.store.remember(ask).await?;
        let ids = remembered.iter().map(|one| one.id).collect();
        let found = snapshot.memories(ids).await?;
        let memories: Vec<Kept> = remembered
            .into_iter()
            .zip(found)
            .map(|(one, memory)| Kept {
                id: one.id,
                namespace: memory
                    .map_or_else(|| caller.access.write_default.clone(), |memory| memory.namespace),
                status: one.status,
                embedded: one.embedded,
                redacted: Vec::new(),
                changed: one.changed,
                compared: Compared::default(),
                ignored: Vec::new(),
                supersedes_instead: None,
                reminders: Vec::new(),
                unarmed: Vec::new(),
            })
            .collect();
        Ok((!memories.is_empty()).then_some(RememberAnswer { memories }))
    }

    /// Checks and redacts one draft.
    async fn accept(
        &self,
        caller: &Caller,
        snapshot: &Arc<dyn Snapshot>,
        draft: Draft,
        now: Timestamp,
    ) -> Result<(NewMemory, Vec<&'static str>), ServiceError> {
        let superseded = match &draft.supersedes {
            Some(reference) => {
                Some(self.find_writable(caller, snapshot, "supersedes", reference).await?)
            }
            None => None,
        };
        let namespace = match (&superseded, draft.namespace.as_deref()) {
            // Who reads the old one must be able to read what came in its place.
            (Some(old), None) => old.namespace.clone(),
            (_, asked) => writable_namespace(caller, asked)?,
        };
        if let Some(old) = &superseded
            && old.namespace != namespace
        {
            let expected =
                format!("the namespace of the memory it supersedes, `{}`", old.namespace);
            return Err(ServiceError::invalid("namespace", expected, format!("`{namespace}`")));
        }
        check_content(&draft.content)?;
        check_tags(&draft.tags)?;
        check_metadata(&draft.metadata)?;
        if let Some(session) = &draft.session
            && session.len() > SESSION_BYTES_MAX
        {
            let expected = format!("at most {SESSION_BYTES_MAX} bytes");
            return Err(ServiceError::invalid(
                "session",
                expected,
                format!("{} bytes", session.len()),
            ));
        }
        let kind = draft.kind.unwrap_or(Kind::Fact);
        let importance = match draft.importance {
            Some(importance) => checked_importance(importance)?,
            None => initial_importance(kind, &draft.content),
        };
        let mut redactor = Redactor::default();
        let memory = NewMemory {
            id: self.ids.next_id(now),
            namespace,
            content: redactor.text(&draft.content),
            kind,
            tags: redactor.tags(&draft.tags),
            metadata: redactor.metadata(&draft.metadata),
            session: draft.session.map(|session| redactor.text(&session).to_string()),
            agent: caller.agent().map(ToString::to_string),
            occurred_at: draft.occurred_at,
            importance,
            pinned: draft.pinned,
            origin: Origin::Stated,
            supersedes: superseded.map(|old| old.id),
            derived_from: Vec::new(),
            contradicts: Vec::new(),
            embedded: None,
            reminders: Vec::new(),
        };
        Ok((memory, redactor.found()))
    }

    /// Gives new memories their vectors, where these are ready within `store_wait`.
    async fn embed_new(&self, memories: &mut [NewMemory]) {
        let texts = memories.iter().map(|memory| Arc::clone(&memory.content)).collect();
        for (memory, embedded) in memories.iter_mut().zip(self.embed_in_time(texts).await) {
            memory.embedded = embedded;
        }
    }

    /// The vectors of each text, where they are ready within `store_wait`; the others come later.
    pub(super) async fn embed_in_time(&self, texts: Vec<Arc<str>>) -> Vec<Option<Embedded>> {
        let Some(embedder) = &self.embedder else { return vec![None; texts.len()] };
        let ready_by = Instant::now() + self.settings().store_wait;
        let opened = timeout_at(ready_by, self.meaning.opened()).await.ok().flatten();
        let Some(space) = opened.map(|open| open.id) else { return vec![None; texts.len()] };
        let each = texts.into_iter().map(|text| async move {
            let chunks = timeout_at(ready_by, embedder.embed_documents(vec![text]));
            let chunks = chunks.await.ok()?.ok()?.into_iter().next()?;
            (!chunks.is_empty()).then_some(Embedded { space, chunks })
        });
        futures::future::join_all(each).await
    }
}

/// The namespace a caller writes to.
pub(super) fn writable_namespace(
    caller: &Caller,
    asked: Option<&str>,
) -> Result<Namespace, ServiceError> {
    let namespace = match asked {
        None => caller.access.write_default.clone(),
        Some(text) => text.parse::<Namespace>().map_err(|_| {
            ServiceError::invalid(
                "namespace",
                "a namespace like `user` or `agent/claude-code` (segments of a-z 0-9 . _ -)",
                format!("`{text}`"),
            )
        })?,
    };
    // A namespace is a key of the store: it cannot be kept with a part blacked out.
    if !redact(namespace.as_str()).found.is_empty() {
        let expected = "a namespace that holds no secret";
        return Err(ServiceError::invalid("namespace", expected, "one that does"));
    }
    if caller.access.may_write(&namespace) {
        Ok(namespace)
    } else {
        Err(ServiceError::NotWritable { namespace: namespace.to_string() })
    }
}

pub(super) fn check_content(content: &str) -> Result<(), ServiceError> {
    let expected = || format!("text of 1 to {CONTENT_BYTES_MAX} bytes");
    if content.trim().is_empty() {
        Err(ServiceError::invalid("content", expected(), "nothing"))
    } else if content.len() > CONTENT_BYTES_MAX {
        Err(ServiceError::invalid("content", expected(), format!("{} bytes", content.len())))
    } else {
        Ok(())
    }
}

pub(super) fn check_tags(tags: &[String]) -> Result<(), ServiceError> {
    if tags.len() > TAGS_MAX {
        return Err(ServiceError::invalid("tags", format!("at most {TAGS_MAX} tags"), tags.len()));
    }
    match tags.iter().find(|tag| tag.trim().is_empty() || tag.len() > TAG_BYTES_MAX) {
        Some(tag) => Err(ServiceError::invalid(
            "tags",
            format!("tags of 1 to {TAG_BYTES_MAX} bytes"),
            format!("`{tag}`"),
        )),
        None => Ok(()),
    }
}

pub(super) fn check_metadata(metadata: &Metadata) -> Result<(), ServiceError> {
    let n_bytes: usize = metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
    if metadata.len() > METADATA_KEYS_MAX || n_bytes > METADATA_BYTES_MAX {
        return Err(ServiceError::invalid(
            "metadata",
            format!("at most {METADATA_KEYS_MAX} keys and {METADATA_BYTES_MAX} bytes"),
            format!("{} keys and {n_bytes} bytes", metadata.len()),
        ));
    }
    Ok(())
}

pub(super) fn checked_importance(importance: f64) -> Result<f64, ServiceError> {
    if (0.0..=1.0).contains(&importance) {
        Ok(importance)
    } else {
        Err(ServiceError::invalid("importance", "a number 0 to 1", importance))
    }
}
