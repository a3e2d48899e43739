//! The records of a memory, and how they become domain types and back.
//!
//! In all records values are those of JSON (ids and names are text, times are microseconds since the epoch, UTC),
//! so that a field of a later version can be kept by one that does not know it. A new field is
//! optional or has a default; one that changes its meaning needs a new version byte and a migration.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::change::NewMemory;
use crate::domain::dedupe::{DedupeKey, dedupe_key};
use crate::domain::id::{IdReference, MemoryId};
use crate::domain::memory::{Anchor, Kind, Memory, Origin, Status, Usage};
use crate::domain::namespace::Namespace;

use super::codec::Stored;
use super::errors::{Result, damaged};

/// Fields of a later version.
pub(super) type Unknown = serde_json::Map<String, serde_json::Value>;

/// An id as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdText(pub(super) MemoryId);

impl Serialize for IdText {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for IdText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.parse() {
            Ok(IdReference::Whole(id)) => Ok(Self(id)),
            Ok(IdReference::Handle(_)) | Err(_) => {
                Err(serde::de::Error::custom(format!("`{text}` is no id")))
            }
        }
    }
}

/// A memory without its usage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MemoryRecord {
    pub(super) namespace: String,
    pub(super) content: String,
    pub(super) kind: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) metadata: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) occurred_at: Option<i64>,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) importance: f64,
    pub(super) pinned: bool,
    pub(super) status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) supersedes: Option<IdText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) superseded_by: Option<IdText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) valid_to: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) derived_from: Vec<IdText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) consolidated_into: Option<IdText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) contradicts: Vec<IdText>,
    pub(super) origin: String,
    pub(super) version: u64,
    /// The version in which the content became what it is: vectors of an earlier one are stale.
    pub(super) content_version: u64,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl Stored for MemoryRecord {
    const WHAT: &'static str = "memory";

    fn is_cold(&self) -> bool {
        self.status == Status::Archived.as_str()
    }
}

impl MemoryRecord {
    /// The first version of a new memory.
    pub(super) fn first(new: &NewMemory, at: Timestamp) -> Self {
        Self {
            namespace: new.namespace.to_string(),
            content: new.content.to_string(),
            kind: new.kind.to_string(),
            tags: new.tags.clone(),
            metadata: new.metadata.clone(),
            session: new.session.clone(),
            agent: new.agent.clone(),
            occurred_at: new.occurred_at.map(Timestamp::as_microsecond),
            created_at: at.as_microsecond(),
            updated_at: at.as_microsecond(),
            importance: new.importance,
            pinned: new.pinned,
            status: Status::Active.to_string(),
            supersedes: None,
            superseded_by: None,
            valid_to: None,
            derived_from: id_texts(&new.derived_from),
            consolidated_into: None,
            contradicts: Vec::new(),
            origin: new.origin.to_string(),
            version: 1,
            content_version: 1,
            unknown: Unknown::new(),
        }
    }

    /// Whether two versions of a memory differ in their numbers alone.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        let Self { version, content_version, .. } = *other;
        Self { version, content_version, ..self.clone() } == *other
    }

    /// Event time: `occurred_at`, else `created_at`.
    pub(super) fn event_time(&self) -> i64 {
        self.occurred_at.unwrap_or(self.created_at)
    }

    /// Where it lives.
    pub(super) fn namespace(&self) -> Result<Namespace> {
        self.namespace.parse().map_err(damaged)
    }

    /// What sort of statement it is.
    pub(super) fn kind(&self) -> Result<Kind> {
        named(Kind::parse(&self.kind), &self.kind)
    }

    /// Where it stands in its life.
    pub(super) fn status(&self) -> Result<Status> {
        named(Status::parse(&self.status), &self.status)
    }

    /// The key by which an equal memory finds it.
    pub(super) fn dedupe_key(&self) -> Result<DedupeKey> {
        Ok(dedupe_key(&self.namespace()?, &self.content, times(self.occurred_at)?))
    }

    /// The memory it stands for.
    pub(super) fn to_memory(&self, id: MemoryId, usage: &UsageRecord) -> Result<Memory> {
        Ok(Memory {
            id,
            namespace: self.namespace()?,
            content: Arc::from(self.content.as_str()),
            kind: self.kind()?,
            tags: self.tags.clone(),
            metadata: self.metadata.clone(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            occurred_at: times(self.occurred_at)?,
            created_at: time(self.created_at)?,
            updated_at: time(self.updated_at)?,
            importance: self.importance,
            pinned: self.pinned,
            status: self.status()?,
            supersedes: self.supersedes.map(|id| id.0),
            superseded_by: self.superseded_by.map(|id| id.0),
            valid_to: times(self.valid_to)?,
            derived_from: self.derived_from.iter().map(|id| id.0).collect(),
            consolidated_into: self.consolidated_into.map(|id| id.0),
            contradicts: self.contradicts.iter().map(|id| id.0).collect(),
            origin: named(Origin::parse(&self.origin), &self.origin)?,
            version: self.version,
            usage: usage.to_usage()?,
        })
    }
}

/// How a memory has been used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct UsageRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_recalled_at: Option<i64>,
    pub(super) recalls: u64,
    pub(super) anchor: f64,
    pub(super) anchor_at: i64,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl Stored for UsageRecord {
    const WHAT: &'static str = "usage of a memory";
}

impl UsageRecord {
    /// A memory that was never recalled, with this strength anchor.
    pub(super) fn unused(anchor: f64, anchor_at: i64) -> Self {
        Self { last_recalled_at: None, recalls: 0, anchor, anchor_at, unknown: Unknown::new() }
    }

    fn to_usage(&self) -> Result<Usage> {
        Ok(Usage {
            last_recalled_at: times(self.last_recalled_at)?,
            recalls: self.recalls,
            anchor: Anchor { value: self.anchor, at: time(self.anchor_at)? },
        })
    }
}

/// Ids as they are stored, without repeats.
pub(super) fn id_texts(ids: &[MemoryId]) -> Vec<IdText> {
    let mut texts: Vec<IdText> = Vec::with_capacity(ids.len());
    for id in ids {
        if !texts.contains(&IdText(*id)) {
            texts.push(IdText(*id));
        }
    }
    texts
}

/// A stored time.
pub(super) fn time(microseconds: i64) -> Result<Timestamp> {
    Timestamp::from_microsecond(microseconds).map_err(damaged)
}

/// A stored time that may be missing.
pub(super) fn times(microseconds: Option<i64>) -> Result<Option<Timestamp>> {
    microseconds.map(time).transpose()
}

/// A value of a name that is known.
pub(super) fn named<T>(value: Option<T>, text: &str) -> Result<T> {
    value.ok_or_else(|| damaged(format!("the unknown name `{text}`")))
}
