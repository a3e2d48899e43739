//! Export and import: for the person alone, page by page.
//!
//! What comes in goes the way of every text: limits, then redaction, then the store. Ids, times and
//! versions are kept, since an import brings back what was, and nothing that is there is changed.

mod reminders;

use super::redaction::Redactor;
use super::remember::{check_content, check_metadata, check_tags, checked_importance};
use super::{Service, ServiceError};
use crate::domain::identity::{AgentName, Caller};
use crate::domain::limits::{AGENT_BYTES_MAX, EXPORT_PAGE_BYTES, SESSION_BYTES_MAX};
use crate::domain::memory::{Memory, Metadata, Status};
use crate::domain::redaction::redact;
use crate::domain::session::{Session, Turn};
use crate::domain::transfer::{ExportPlace, Group, ImportOutcome, Item, TurnItem, Version};
use crate::ports::ExportPage;

/// A group that came in, with the number of its first line in the file it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    /// Line number, from 1.
    pub line: u64,
    /// A memory with earlier versions, or a forgotten one.
    pub group: Group,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Line number of the group.
    pub line: u64,
    /// What the store made of it, or why it was not asked.
    pub outcome: Result<ImportOutcome, String>,
    /// Names of the redaction rules that hit.
    pub redacted: Vec<&'static str>,
}

impl Service {
    /// A page of everything: what follows `after`.
    ///
    /// # Errors
    /// `Invalid` for who is not the person; `Store`.
    pub async fn export(
        &self,
        caller: &Caller,
        after: ExportPlace,
    ) -> Result<ExportPage, ServiceError> {
        for_the_person(caller)?;
        Ok(self.transfer.export(after, EXPORT_PAGE_BYTES).await?)
    }

    /// Takes in what is not there yet. Of the last group more versions follow in the next call if it
    /// `is_continued`. With `is_dry` only says what would become of it. Groups that
    /// break a limit are refused one by one.
    ///
    /// # Errors
    /// `Invalid` for who is not the person; `Store`.
    pub async fn import(
        &self,
        caller: &Caller,
        incoming: Vec<Incoming>,
        is_continued: bool,
        is_dry: bool,
    ) -> Result<Vec<Imported>, ServiceError> {
        for_the_person(caller)?;
        let mut groups = Vec::with_capacity(incoming.len());
        let mut imported = Vec::with_capacity(incoming.len());
        let last = incoming.last().map(|last| last.line).filter(|_| is_continued);
        for Incoming { line, group } in incoming {
            let mut redactor = Redactor::default();
            let accepted = accept(group, last == Some(line), &mut redactor);
            let outcome = match accepted {
                Ok(group) => {
                    groups.push(group);
                    Ok(ImportOutcome::Same)
                }
                Err(error) => Err(error.to_string()),
            };
            imported.push(Imported { line, outcome, redacted: redactor.found() });
        }
        let now = self.clock.now();
        let outcomes = self.transfer.import(groups, caller.actor.clone(), now, is_dry).await?;
        if !is_dry {
            self.backlog.notify_one();
            // Reminders among them may be due before anything else is.
            self.reminders_are_other();
        }
        let asked = imported.iter_mut().filter(|one| one.outcome.is_ok());
        for (one, outcome) in asked.zip(outcomes) {
            one.outcome = Ok(outcome);
        }
        Ok(imported)
    }
}

fn for_the_person(caller: &Caller) -> Result<(), ServiceError> {
    if caller.is_owner() {
        return Ok(());
    }
    Err(ServiceError::invalid("caller", "the person whose memory it is", &caller.actor))
}

/// The group within the limits and without secrets.
fn accept(
    group: Group,
    is_continued: bool,
    redactor: &mut Redactor,
) -> Result<Group, ServiceError> {
    let mut last = None;
    let mut present = None;
    let mut accepted = Vec::with_capacity(group.len());
    for item in group {
        accepted.push(match item {
            Item::Memory { version, usage_later } => {
                check_usage(&version.memory)?;
                present = Some(version.memory.version);
                let version = Box::new(accept_version(*version, redactor)?);
                last = Some((version.memory.id, 0));
                Item::Memory { version, usage_later: redact_later(usage_later, redactor)? }
            }
            Item::Earlier(version) => {
                let (id, number) = (version.memory.id, version.memory.version);
                let follows = last.is_none_or(|last| last == (id, number.wrapping_sub(1)));
                if !follows || present.is_some_and(|present| number >= present) {
                    let expected = "each earlier version once, from 1 on, below its memory";
                    return Err(ServiceError::invalid("version", expected, number));
                }
                last = Some((id, number));
                Item::Earlier(Box::new(accept_version(*version, redactor)?))
            }
            Item::Forgotten(item) => {
                check_namespace(item.namespace.as_str())?;
                Item::Forgotten(item)
            }
            Item::Session(session) => Item::Session(Box::new(accept_session(*session, redactor)?)),
            Item::Turn(item) => Item::Turn(Box::new(accept_turn(*item, redactor)?)),
            Item::Reminder(entry) => Item::Reminder(Box::new(reminders::accept(*entry, redactor)?)),
        });
    }
    match (present, last) {
        (Some(present), Some((_, seen))) if !is_continued && seen + 1 != present => {
            let expected = format!("all earlier versions below version {present}");
            Err(ServiceError::invalid("version", expected, format!("the last is {seen}")))
        }
        _ => Ok(accepted),
    }
}

fn accept_version(version: Version, redactor: &mut Redactor) -> Result<Version, ServiceError> {
    let Version { memory, content_version, later } = version;
    check_memory(&memory, content_version)?;
    let mut redacted = memory.clone();
    redacted.content = redactor.text(&memory.content);
    redacted.tags = redactor.tags(&memory.tags);
    redacted.session = memory.session.map(|session| redactor.text(&session).to_string());
    redacted.metadata = redact_metadata(memory.metadata, redactor);
    let later = redact_later(later, redactor)?;
    Ok(Version { memory: redacted, content_version, later })
}

fn accept_session(session: Session, redactor: &mut Redactor) -> Result<Session, ServiceError> {
    check_namespace(session.namespace.as_str())?;
    check_session(&session.name)?;
    check_agent(session.agent.as_deref())?;
    let name = redactor.text(&session.name).to_string();
    let mut summary = session.summary.clone();
    if let Some(summary) = &mut summary {
        if summary.through > session.last_turn {
            let expected = format!("a turn up to {}", session.last_turn);
            return Err(ServiceError::invalid("summary.through", expected, summary.through));
        }
        for part in &mut summary.parts {
            check_content(&part.text)?;
            part.text = redactor.text(&part.text).to_string();
        }
    }
    Ok(Session { name, summary, ..session })
}

fn accept_turn(item: TurnItem, redactor: &mut Redactor) -> Result<TurnItem, ServiceError> {
    check_namespace(item.namespace.as_str())?;
    check_session(&item.session)?;
    check_content(&item.turn.text)?;
    check_agent(item.turn.agent.as_deref())?;
    if !(1..=item.last_turn).contains(&item.turn.number) {
        let expected = format!("a number 1 to {}", item.last_turn);
        return Err(ServiceError::invalid("number", expected, item.turn.number));
    }
    let session = redactor.text(&item.session).to_string();
    let turn = Turn { text: redactor.text(&item.turn.text), ..item.turn };
    Ok(TurnItem { session, turn, ..item })
}

/// Metadata without secrets; what holds none stays as it is to the last digit.
fn redact_metadata(metadata: Metadata, redactor: &mut Redactor) -> Metadata {
    let mut own = Redactor::default();
    let redacted = own.metadata(&metadata);
    if own.is_clean() {
        return metadata;
    }
    redactor.merge(own);
    redacted
}

fn redact_later(later: Metadata, redactor: &mut Redactor) -> Result<Metadata, ServiceError> {
    check_metadata(&later)?;
    Ok(redact_metadata(later, redactor))
}

fn check_memory(memory: &Memory, content_version: u64) -> Result<(), ServiceError> {
    check_namespace(memory.namespace.as_str())?;
    check_content(&memory.content)?;
    check_tags(&memory.tags)?;
    if !memory.tags.is_sorted_by(|a, b| a < b) {
        return Err(ServiceError::invalid("tags", "sorted tags without repeats", "others"));
    }
    check_metadata(&memory.metadata)?;
    checked_importance(memory.importance)?;
    memory.session.as_deref().map(check_session).transpose()?;
    check_agent(memory.agent.as_deref())?;
    if !(1..=memory.version).contains(&content_version) {
        let expected = format!("a version 1 to {}", memory.version);
        return Err(ServiceError::invalid("content_version", expected, content_version));
    }
    if memory.status == Status::Superseded && memory.superseded_by.is_none() {
        let expected = "the id of the memory that superseded it";
        return Err(ServiceError::invalid("superseded_by", expected, "nothing"));
    }
    Ok(())
}

/// A namespace is a key of the store: it cannot be kept with a part blacked out.
fn check_namespace(namespace: &str) -> Result<(), ServiceError> {
    if redact(namespace).found.is_empty() {
        return Ok(());
    }
    let expected = "a namespace that holds no secret";
    Err(ServiceError::invalid("namespace", expected, "one that does"))
}

fn check_session(name: &str) -> Result<(), ServiceError> {
    if name.len() <= SESSION_BYTES_MAX {
        return Ok(());
    }
    let expected = format!("at most {SESSION_BYTES_MAX} bytes");
    Err(ServiceError::invalid("session", expected, format!("{} bytes", name.len())))
}

fn check_agent(name: Option<&str>) -> Result<(), ServiceError> {
    match name.filter(|name| name.parse::<AgentName>().is_err()) {
        Some(name) => {
            Err(ServiceError::invalid("agent", "the name of an agent", format!("`{name}`")))
        }
        None => Ok(()),
    }
}

/// Who did something, as the change log names them.
fn check_actor(text: &str) -> Result<(), ServiceError> {
    match text.split_once('/') {
        Some(("agent", name)) => check_agent(Some(name)),
        Some(("job", job)) if (1..=AGENT_BYTES_MAX).contains(&job.len()) => Ok(()),
        None if text == "owner" => Ok(()),
        Some(_) | None => {
            let expected = "`owner`, or an agent or a job by its name";
            Err(ServiceError::invalid("actor", expected, "something else"))
        }
    }
}

fn check_usage(memory: &Memory) -> Result<(), ServiceError> {
    let anchor = memory.usage.anchor.value;
    if (0.0..=1.0).contains(&anchor) {
        return Ok(());
    }
    Err(ServiceError::invalid("usage.anchor", "a number 0 to 1", anchor))
}
