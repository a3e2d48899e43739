//! From a plan to the store: each product is written, and applied in one change or not at all.

use std::collections::HashMap;

use serde_json::json;

use super::super::redaction::Redactor;
use super::super::{Service, ServiceError};
use super::Consolidation;
use super::report::{Report, TaskReport, author};
use super::survey::Surveyed;
use crate::domain::change::{Change, ChangeSet, NewMemory, Patch};
use crate::domain::consolidation::{FINGERPRINT_KEY, MAKER_KEY, Task, Why};
use crate::domain::decay::initial_importance;
use crate::domain::id::MemoryId;
use crate::domain::limits::REFUSALS_MAX;
use crate::domain::memory::{Kind, Memory, Metadata, Origin, Status};
use crate::domain::summary::Aim;
use crate::ports::{Snapshot, StoreError};
use crate::service::summary::{Author, Because, WrittenSummary};

/// Metadata field of a product: the kind of its sources.
pub(super) const OF_KEY: &str = "summary_of";
/// Metadata field of a product that quotes because no draft of the model could be kept: how often the
/// model was asked.
const REFUSED_KEY: &str = "refused";
/// Who made what quotes its sources: any model may write it anew.
const NO_MODEL: &str = "extractive";

/// What is known of a task when it is written.
struct Material {
    sources: Vec<Memory>,
    /// One memory for each statement, the one that says it last.
    speakers: Vec<Memory>,
    replaced: Vec<Memory>,
    /// Memories for which one of the replaced ones speaks, and the new one will not.
    freed: Vec<Memory>,
}

impl Service {
    /// Carries out a plan, a product at a time.
    pub(super) async fn enact(
        &self,
        order: &Consolidation,
        surveyed: &Surveyed,
        report: &mut Report,
    ) -> Result<(), ServiceError> {
        for task in &surveyed.plan.tasks {
            self.produce(order, Aim::Summary, task, &surveyed.versions, report).await?;
        }
        for id in &surveyed.plan.withdrawn {
            self.end(order, *id, report).await?;
        }
        Ok(())
    }

    /// Writes one product of memories of these versions, and stores it with what follows from it.
    pub(super) async fn produce(
        &self,
        order: &Consolidation,
        aim: Aim,
        task: &Task,
        versions: &HashMap<MemoryId, u64>,
        report: &mut Report,
    ) -> Result<(), ServiceError> {
        let mut told = TaskReport::of(kind_of(aim), task);
        if !order.is_dry_run {
            told.written = self.written(order, aim, task, versions, report).await?;
        }
        report.task(told);
        Ok(())
    }

    /// The product and who wrote it, if it was written.
    async fn written(
        &self,
        order: &Consolidation,
        aim: Aim,
        task: &Task,
        versions: &HashMap<MemoryId, u64>,
        report: &mut Report,
    ) -> Result<Option<(MemoryId, &'static str)>, ServiceError> {
        if order.stop.is_cancelled() {
            report.is_stopped = true;
            return Ok(None);
        }
        let Some(material) = self.material(task, versions).await? else {
            report.n_conflicts += 1;
            return Ok(None);
        };
        let written = if let [_] = material.speakers.as_slice() {
            // What is said once, in however many words, is best said in its own.
            self.quote_summary(aim, &material.speakers, Because::NoModel)
        } else {
            tokio::select! {
                written = self.write_summary(aim, &material.speakers) => written,
                () = order.stop.cancelled() => {
                    report.is_stopped = true;
                    None
                }
            }
        };
        // Memories without a sentence in them are left as they are.
        let Some(written) = written else { return Ok(None) };
        report.written(&written);
        if let (Why::Redone, Author::Extract(because)) = (task.why, &written.author) {
            // Other quotations are no better: it stays the memory that it is.
            match because {
                Because::Away(_) => report.n_waiting += 1,
                Because::Refused | Because::NoModel => {
                    self.note_maker(order, &material, &written.author, report).await?;
                }
            }
            return Ok(None);
        }
        let set = self.change_set(order, aim, task, &material, &written).await;
        let id = set.new.first().map(|new| new.id);
        let is_done = self.commit(set, report).await?;
        Ok(id.filter(|_| is_done).map(|id| (id, author(&written.author))))
    }

    /// The memories of a task; `None` if one of them is not what the task was planned for.
    async fn material(
        &self,
        task: &Task,
        versions: &HashMap<MemoryId, u64>,
    ) -> Result<Option<Material>, StoreError> {
        let snapshot = self.store.snapshot().await?;
        let ids = task.sources();
        let sources: Vec<Memory> =
            snapshot.memories(ids.clone()).await?.into_iter().flatten().collect();
        let is_as_planned = |memory: &Memory| versions.get(&memory.id) == Some(&memory.version);
        let replaced: Vec<Memory> =
            snapshot.memories(task.replaces.clone()).await?.into_iter().flatten().collect();
        let is_live = |memory: &Memory| memory.status == Status::Active;
        if sources.len() != ids.len()
            || !sources.iter().all(is_as_planned)
            || replaced.len() != task.replaces.len()
            || !replaced.iter().all(is_live)
        {
            return Ok(None);
        }
        let mut freed = Vec::new();
        for summary in &replaced {
            let others = spoken_for(snapshot.as_ref(), summary).await?;
            freed.extend(others.into_iter().filter(|memory| !ids.contains(&memory.id)));
        }
        let speaker = |statement: &Vec<MemoryId>| {
            let id = statement.first()?;
            sources.iter().find(|memory| memory.id == *id).cloned()
        };
        let speakers = task.statements.iter().filter_map(speaker).collect();
        Ok(Some(Material { sources, speakers, replaced, freed }))
    }

    /// The one change that a product is.
    async fn change_set(
        &self,
        order: &Consolidation,
        aim: Aim,
        task: &Task,
        material: &Material,
        written: &WrittenSummary,
    ) -> ChangeSet {
        let at = self.clock.now();
        let content = Redactor::default().text(&written.text);
        let embedded = self.embed_in_time(vec![content.clone()]).await.into_iter().next().flatten();
        let n_refused = u32::from(written.author == Author::Extract(Because::Refused));
        let mut metadata = written.metadata();
        let maker = self.maker(&written.author, n_refused);
        let own = [
            (OF_KEY, json!(task.kind.as_str())),
            (FINGERPRINT_KEY, json!(task.fingerprint)),
            (MAKER_KEY, json!(maker)),
        ];
        metadata.extend(own.map(|(key, value)| (key.to_owned(), value.to_string())));
        if n_refused > 0 {
            metadata.insert(REFUSED_KEY.to_owned(), json!(n_refused).to_string());
        }
        let kind = kind_of(aim);
        let new = NewMemory {
            id: self.ids.next_id(at),
            namespace: task.namespace.clone(),
            importance: initial_importance(kind, &content),
            content,
            kind,
            tags: common_tags(&material.sources),
            metadata,
            session: None,
            agent: None,
            occurred_at: material.sources.iter().map(Memory::event_time).max(),
            pinned: false,
            origin: Origin::Consolidated,
            supersedes: task.replaces.first().copied(),
            derived_from: task.sources(),
            contradicts: Vec::new(),
            embedded,
            reminders: Vec::new(),
        };
        let changes = changes(&new, aim, material, at);
        ChangeSet { new: vec![new], changes, ..order.change_set(at) }
    }

    /// Who is to be held for the maker of a product: the model that would be asked, but while one may
    /// write it that has not been asked often enough.
    fn maker(&self, author: &Author, n_refused: u32) -> String {
        let may_be_asked = match author {
            Author::Model { .. } | Author::Extract(Because::NoModel) => false,
            Author::Extract(Because::Away(_)) => true,
            Author::Extract(Because::Refused) => n_refused < REFUSALS_MAX,
        };
        if may_be_asked { NO_MODEL.to_owned() } else { self.summary_key() }
    }

    /// Notes on a product that goes on quoting how that came about.
    async fn note_maker(
        &self,
        order: &Consolidation,
        material: &Material,
        author: &Author,
        report: &mut Report,
    ) -> Result<(), ServiceError> {
        let Some(product) = material.replaced.first() else { return Ok(()) };
        let before = product.metadata.get(REFUSED_KEY).and_then(|n| n.parse::<u32>().ok());
        let is_refused = *author == Author::Extract(Because::Refused);
        let n_refused = before.unwrap_or_default().saturating_add(u32::from(is_refused));
        let mut metadata: Metadata = product.metadata.clone();
        metadata.insert(REFUSED_KEY.to_owned(), json!(n_refused).to_string());
        let maker = self.maker(author, n_refused);
        metadata.insert(MAKER_KEY.to_owned(), json!(maker).to_string());
        let patch = Patch { metadata: Some(metadata), ..Patch::default() };
        let changes = vec![change(product, patch)];
        let set = ChangeSet { changes, ..order.change_set(self.clock.now()) };
        self.commit(set, report).await.map(drop)
    }

    /// Ends a product without a source that still holds: what it says is not said any more.
    pub(super) async fn end(
        &self,
        order: &Consolidation,
        id: MemoryId,
        report: &mut Report,
    ) -> Result<(), ServiceError> {
        if order.is_dry_run || order.stop.is_cancelled() {
            report.n_ended += u64::from(order.is_dry_run);
            report.is_stopped |= order.stop.is_cancelled();
            return Ok(());
        }
        let snapshot = self.store.snapshot().await?;
        let Some(product) = snapshot.memories(vec![id]).await?.into_iter().flatten().next() else {
            return Ok(());
        };
        let at = self.clock.now();
        let patch = Patch { valid_to: Some(Some(at)), ..Patch::default() };
        let mut changes = vec![change(&product, patch)];
        let freed = spoken_for(snapshot.as_ref(), &product).await?;
        changes.extend(freed.iter().map(|memory| change(memory, free())));
        let set = ChangeSet { changes, ..order.change_set(at) };
        report.n_ended += u64::from(self.commit(set, report).await?);
        Ok(())
    }

    /// Applies a change set; `false`: something changed meanwhile, and nothing was written.
    async fn commit(&self, set: ChangeSet, report: &mut Report) -> Result<bool, ServiceError> {
        let is_change = |change: &&Change| change.patch != Patch::default();
        let n_changed = set.new.len() + set.changes.iter().filter(is_change).count();
        let applied = self.store.apply(set).await?;
        if !applied.conflicts.is_empty() {
            report.n_conflicts += 1;
            return Ok(false);
        }
        report.n_changed += n_changed as u64;
        if applied.stored.iter().any(|one| !one.embedded) {
            self.backlog.notify_one();
        }
        Ok(true)
    }
}

/// What follows from a product: its sources name it, what it replaces ends, and what that spoke for
/// beside them is free. Sources that are not changed are named too, so that they are as planned.
fn changes(new: &NewMemory, aim: Aim, material: &Material, at: jiff::Timestamp) -> Vec<Change> {
    let of_source = match aim {
        Aim::Summary => Patch { consolidated_into: Some(Some(new.id)), ..Patch::default() },
        // A standing order stays as near at hand as it was.
        Aim::Profile => Patch::default(),
    };
    let mut changes: Vec<Change> =
        material.sources.iter().map(|source| change(source, of_source.clone())).collect();
    for replaced in &material.replaced {
        let patch = if new.supersedes == Some(replaced.id) {
            // That is said by the new memory itself.
            Patch::default()
        } else {
            Patch {
                status: Some(Status::Superseded),
                superseded_by: Some(Some(new.id)),
                valid_to: Some(Some(new.occurred_at.unwrap_or(at))),
                ..Patch::default()
            }
        };
        changes.push(change(replaced, patch));
    }
    changes.extend(material.freed.iter().map(|memory| change(memory, free())));
    changes
}

fn change(memory: &Memory, patch: Patch) -> Change {
    Change { id: memory.id, version: memory.version, patch }
}

/// Nothing speaks for it any more.
fn free() -> Patch {
    Patch { consolidated_into: Some(None), ..Patch::default() }
}

/// The memories that a summary speaks for.
async fn spoken_for(snapshot: &dyn Snapshot, summary: &Memory) -> Result<Vec<Memory>, StoreError> {
    let sources = snapshot.memories(summary.derived_from.clone()).await?;
    let is_its = |memory: &Memory| memory.consolidated_into == Some(summary.id);
    Ok(sources.into_iter().flatten().filter(is_its).collect())
}

const fn kind_of(aim: Aim) -> Kind {
    match aim {
        Aim::Summary => Kind::Summary,
        Aim::Profile => Kind::Profile,
    }
}

/// The tags that all of them have.
pub(in crate::service) fn common_tags(memories: &[Memory]) -> Vec<String> {
    let mut memories = memories.iter();
    let mut tags = memories.next().map(|memory| memory.tags.clone()).unwrap_or_default();
    for memory in memories {
        tags.retain(|tag| memory.tags.contains(tag));
    }
    tags
}
