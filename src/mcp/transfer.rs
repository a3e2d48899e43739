//! The form of an export, version 3: JSON Lines in UTF-8. (Version 1 had no sessions and turns,
//! version 2 no reminders.)
//!
//! The first line is the header, the last the footer, and each line between is an object with one key:
//!
//! | key | what |
//! | --- | --- |
//! | `recalld_export` | the header: `version` of this form, `created_at`, and `n_memories` when the export began |
//! | `memory` | a memory with all its fields, `usage` (how it was used, and its strength anchor) included |
//! | `earlier` | an earlier version of the memory above it, oldest first, without `usage` |
//! | `session` | a session, and what its summary tells of turns that are gone |
//! | `turn` | a turn of the session of that name, which stands above it |
//! | `reminder` | a reminder: what it says, when it is due (iCalendar), and how far it is; not what was sent |
//! | `forgotten` | a forgotten memory: `id`, `namespace`, `version`, `forgotten_at`; never its content, restorable or not |
//! | `end` | the footer: `n_memories`, `n_forgotten`, `n_reminders`, `n_lines` between header and footer, and `blake3` of these lines with their newlines |
//!
//! Times are RFC 3339 in UTC with up to six decimals; the time on the wall that names an occurrence
//! of a reminder has no zone. A field without a value is left out. `later`
//! holds fields of a later version of the program. Memories and forgotten ones come in the order of
//! their ids, reminders last. Vectors are left out: they are derived, and made anew by the model in use.
//!
//! A reader takes every version up to its own. A new field is added within a version; one that
//! changes its meaning makes a new one.

mod reminders;
mod sessions;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::domain::id::{IdReference, MemoryId};
use crate::domain::memory::{Anchor, Kind, Memory, Metadata, Origin, Status, Usage};
use crate::domain::transfer::{ForgottenItem, Item, Version};

pub use reminders::ReminderLine;
pub use sessions::{SessionLine, TurnLine};

/// The version of the form that is written, and the newest that is read.
pub const EXPORT_VERSION: u32 = 3;

/// A line of an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first.
    RecalldExport(Header),
    /// A memory.
    Memory(Box<MemoryLine>),
    /// An earlier version of it.
    Earlier(Box<MemoryLine>),
    /// A forgotten one.
    Forgotten(ForgottenLine),
    /// A session.
    Session(Box<SessionLine>),
    /// A turn of it.
    Turn(Box<TurnLine>),
    /// A reminder.
    Reminder(Box<ReminderLine>),
    /// The last.
    End(Footer),
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the form.
    pub version: u32,
    /// When the export began, RFC 3339.
    pub created_at: String,
    /// Memories then.
    pub n_memories: u64,
}

/// The last line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footer {
    /// Memories in the export.
    pub n_memories: u64,
    /// Forgotten ones in it.
    pub n_forgotten: u64,
    /// Reminders in it; versions before 3 have none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_reminders: u64,
    /// Lines between header and footer.
    pub n_lines: u64,
    /// Hash of these lines, hexadecimal.
    pub blake3: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(n: &u64) -> bool {
    *n == 0
}

type Raw = BTreeMap<String, Box<RawValue>>;

/// A version of a memory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLine {
    id: String,
    namespace: String,
    content: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: Raw,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    occurred_at: Option<String>,
    created_at: String,
    updated_at: String,
    #[serde(deserialize_with = "exact")]
    importance: f64,
    #[serde(default)]
    pinned: bool,
    status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    valid_to: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    derived_from: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    consolidated_into: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    contradicts: Vec<String>,
    origin: String,
    version: u64,
    content_version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<UsageLine>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    later: Raw,
}

/// How a memory was used.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_recalled_at: Option<String>,
    recalls: u64,
    #[serde(deserialize_with = "exact")]
    anchor: f64,
    anchor_at: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    later: Raw,
}

/// A forgotten memory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgottenLine {
    id: String,
    namespace: String,
    version: u64,
    forgotten_at: String,
}

/// Reads a number to its last bit, which the reader of JSON does not promise.
fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    raw.get().parse().map_err(|_| serde::de::Error::custom(format!("`{}` is no number", raw.get())))
}

/// Reads a line.
///
/// # Errors
/// What is wrong with it, without the content of a memory.
pub fn read_line(line: &str) -> Result<Line, String> {
    serde_json::from_str(line).map_err(|error| match error.classify() {
        // Its text may quote what stands there.
        serde_json::error::Category::Data => format!("a field is wrong: {}", named_alone(&error)),
        serde_json::error::Category::Io
        | serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof => format!("no JSON object: {error}"),
    })
}

/// An error about a field, without a value that it quotes.
fn named_alone(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(": ") {
        Some((sort, rest)) if sort.starts_with("invalid") => {
            let expected = rest.split_once(", expected ").map_or("", |(_, expected)| expected);
            format!("{sort}, expected {expected}")
        }
        _ => text,
    }
}

/// The line of an item, without its newline.
///
/// # Errors
/// If it cannot be written as JSON, which no item that was read does.
pub fn write_item(item: &Item) -> Result<String, serde_json::Error> {
    let line = match item {
        Item::Memory { version, usage_later } => {
            let usage = version.memory.usage;
            let mut line = memory_line(version);
            line.usage = Some(UsageLine {
                last_recalled_at: text_of(usage.last_recalled_at),
                recalls: usage.recalls,
                anchor: usage.anchor.value,
                anchor_at: usage.anchor.at.to_string(),
                later: raw(usage_later),
            });
            Line::Memory(Box::new(line))
        }
        Item::Earlier(version) => Line::Earlier(Box::new(memory_line(version))),
        Item::Forgotten(item) => Line::Forgotten(ForgottenLine {
            id: item.id.to_string(),
            namespace: item.namespace.to_string(),
            version: item.version,
            forgotten_at: item.forgotten_at.to_string(),
        }),
        Item::Session(session) => Line::Session(Box::new(SessionLine::of(session))),
        Item::Turn(item) => Line::Turn(Box::new(TurnLine::of(item))),
        Item::Reminder(entry) => Line::Reminder(Box::new(ReminderLine::of(entry))),
    };
    serde_json::to_string(&line)
}

fn memory_line(version: &Version) -> MemoryLine {
    let memory = &version.memory;
    MemoryLine {
        id: memory.id.to_string(),
        namespace: memory.namespace.to_string(),
        content: memory.content.to_string(),
        kind: memory.kind.to_string(),
        tags: memory.tags.clone(),
        metadata: raw(&memory.metadata),
        session: memory.session.clone(),
        agent: memory.agent.clone(),
        occurred_at: text_of(memory.occurred_at),
        created_at: memory.created_at.to_string(),
        updated_at: memory.updated_at.to_string(),
        importance: memory.importance,
        pinned: memory.pinned,
        status: memory.status.to_string(),
        supersedes: memory.supersedes.map(|id| id.to_string()),
        superseded_by: memory.superseded_by.map(|id| id.to_string()),
        valid_to: text_of(memory.valid_to),
        derived_from: memory.derived_from.iter().map(ToString::to_string).collect(),
        consolidated_into: memory.consolidated_into.map(|id| id.to_string()),
        contradicts: memory.contradicts.iter().map(ToString::to_string).collect(),
        origin: memory.origin.to_string(),
        version: memory.version,
        content_version: version.content_version,
        usage: None,
        later: raw(&version.later),
    }
}

fn text_of(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}

/// JSON texts as they are; what is none becomes a string.
fn raw(texts: &Metadata) -> Raw {
    let raw = |text: &String| {
        RawValue::from_string(text.clone()).or_else(|_| serde_json::value::to_raw_value(text)).ok()
    };
    texts.iter().filter_map(|(name, text)| Some((name.clone(), raw(text)?))).collect()
}

/// Reads the line of an item.
///
/// # Errors
/// What is wrong with it.
pub fn read_item(line: &str) -> Result<Item, String> {
    match read_line(line)? {
        Line::Memory(mut line) => {
            let usage = line.usage.take().ok_or("`usage` is missing")?;
            let mut version = line.into_version()?;
            version.memory.usage = Usage {
                last_recalled_at: times("usage.last_recalled_at", usage.last_recalled_at.as_ref())?,
                recalls: usage.recalls,
                anchor: Anchor {
                    value: usage.anchor,
                    at: time("usage.anchor_at", &usage.anchor_at)?,
                },
            };
            Ok(Item::Memory { version: Box::new(version), usage_later: texts(usage.later) })
        }
        Line::Earlier(line) => Ok(Item::Earlier(Box::new(line.into_version()?))),
        Line::Forgotten(line) => Ok(Item::Forgotten(ForgottenItem {
            id: id("id", &line.id)?,
            namespace: line.namespace.parse().map_err(|_| "`namespace` is none")?,
            version: line.version,
            forgotten_at: time("forgotten_at", &line.forgotten_at)?,
        })),
        Line::Session(line) => Ok(Item::Session(Box::new(line.into_session()?))),
        Line::Turn(line) => Ok(Item::Turn(Box::new(line.into_turn()?))),
        Line::Reminder(line) => Ok(Item::Reminder(Box::new(line.into_entry()?))),
        Line::RecalldExport(_) | Line::End(_) => {
            Err("a header or footer in the middle of the file".to_owned())
        }
    }
}

impl MemoryLine {
    /// The version it stands for, without usage.
    fn into_version(self) -> Result<Version, String> {
        let created_at = time("created_at", &self.created_at)?;
        let named = |field: &str| format!("`{field}` has a name that is not known here");
        Ok(Version {
            memory: Memory {
                id: id("id", &self.id)?,
                namespace: self.namespace.parse().map_err(|_| "`namespace` is none")?,
                content: Arc::from(self.content),
                kind: Kind::parse(&self.kind).ok_or_else(|| named("kind"))?,
                tags: self.tags,
                metadata: texts(self.metadata),
                session: self.session,
                agent: self.agent,
                occurred_at: times("occurred_at", self.occurred_at.as_ref())?,
                created_at,
                updated_at: time("updated_at", &self.updated_at)?,
                importance: self.importance,
                pinned: self.pinned,
                status: Status::parse(&self.status).ok_or_else(|| named("status"))?,
                supersedes: ids("supersedes", self.supersedes.as_ref())?,
                superseded_by: ids("superseded_by", self.superseded_by.as_ref())?,
                valid_to: times("valid_to", self.valid_to.as_ref())?,
                derived_from: all_ids("derived_from", &self.derived_from)?,
                consolidated_into: ids("consolidated_into", self.consolidated_into.as_ref())?,
                contradicts: all_ids("contradicts", &self.contradicts)?,
                origin: Origin::parse(&self.origin).ok_or_else(|| named("origin"))?,
                version: self.version,
                usage: Usage {
                    last_recalled_at: None,
                    recalls: 0,
                    anchor: Anchor { value: self.importance, at: created_at },
                },
            },
            content_version: self.content_version,
            later: texts(self.later),
        })
    }
}

fn texts(raw: Raw) -> Metadata {
    raw.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect()
}

fn time(field: &str, text: &str) -> Result<Timestamp, String> {
    let time: Option<Timestamp> = text.parse().ok();
    // The store keeps microseconds: finer ones would be lost in silence.
    time.filter(|time| time.subsec_nanosecond() % 1_000 == 0)
        .ok_or_else(|| format!("`{field}`: expected a time in RFC 3339 with at most six decimals"))
}

fn times(field: &str, text: Option<&String>) -> Result<Option<Timestamp>, String> {
    text.map(|text| time(field, text)).transpose()
}

fn id(field: &str, text: &str) -> Result<MemoryId, String> {
    match text.parse() {
        Ok(IdReference::Whole(id)) => Ok(id),
        Ok(IdReference::Handle(_)) | Err(_) => Err(format!("`{field}`: expected a whole id")),
    }
}

fn ids(field: &str, text: Option<&String>) -> Result<Option<MemoryId>, String> {
    text.map(|text| id(field, text)).transpose()
}

fn all_ids(field: &str, texts: &[String]) -> Result<Vec<MemoryId>, String> {
    texts.iter().map(|text| id(field, text)).collect()
}
