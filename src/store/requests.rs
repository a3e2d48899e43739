//! Request keys: a call that is sent twice is carried out once.
//!
//! A key is kept as the hash of (operation, uid, actor, key) with the first answer as ids, statuses
//! and names of fields. Keys are dropped by age and by number, a few whenever one is added.

use redb::{ReadableTable, ReadableTableMetadata};
use serde::{Deserialize, Serialize};

use crate::domain::change::RequestKey;
use crate::domain::limits::{REQUEST_KEY_AGE_MAX, REQUEST_KEYS_DROPPED_MAX, REQUEST_KEYS_MAX};

use super::batch::Batch;
use super::codec::{Stored, decode, encode};
use super::errors::Result;
use super::records::IdText;

/// The operations that take a key. The same key in two of them is two requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keyed {
    Remember,
    Revise,
    Forget,
    Append,
    Enact,
}

/// Names of fields as answers carry them.
const FIELDS: &[&str] = &[
    "consolidated_into",
    "content",
    "contradicts",
    "derived_from",
    "importance",
    "kind",
    "metadata",
    "occurred_at",
    "pinned",
    "status",
    "superseded_by",
    "supersedes",
    "tags",
    "valid_to",
];

/// The names of fields that an answer held.
pub(super) fn field_names(stored: &[String]) -> Vec<&'static str> {
    let known = |name: &String| FIELDS.iter().copied().find(|field| field == name);
    stored.iter().filter_map(known).collect()
}

/// The names of fields to be held.
pub(super) fn stored_names(fields: &[&'static str]) -> Vec<String> {
    fields.iter().map(|field| (*field).to_owned()).collect()
}

impl Batch<'_> {
    /// The first answer to this key, if it was used before and is not too old at `at`.
    pub(super) fn first_answer(
        &self,
        operation: Keyed,
        key: Option<&RequestKey>,
        at: jiff::Timestamp,
    ) -> Result<Option<RequestRecord>> {
        let Some(key) = key else { return Ok(None) };
        let Some(row) = self.tables().requests.get(&digest(operation, key))? else {
            return Ok(None);
        };
        let record: RequestRecord = decode(row.value())?;
        Ok(Some(record).filter(|record| record.at >= oldest_kept(at)))
    }

    /// Keeps the first answer to this key, and drops some that are too old or too many.
    pub(super) fn keep_answer(
        &mut self,
        operation: Keyed,
        key: Option<&RequestKey>,
        answer: &RequestRecord,
        at: jiff::Timestamp,
    ) -> Result<()> {
        let Some(key) = key else { return Ok(()) };
        let digest = digest(operation, key);
        let bytes = encode(answer)?;
        let tables = self.change();
        let expired = tables
            .requests
            .insert(&digest, bytes.as_slice())?
            .map(|row| decode::<RequestRecord>(row.value()))
            .transpose()?;
        if let Some(expired) = expired {
            tables.request_ages.remove((expired.at, &digest))?;
        }
        tables.request_ages.insert((answer.at, &digest), ())?;
        self.drop_old_answers(oldest_kept(at), REQUEST_KEYS_MAX)
    }

    fn drop_old_answers(&mut self, oldest_kept: i64, n_kept: u64) -> Result<()> {
        let tables = self.change();
        for _ in 0..REQUEST_KEYS_DROPPED_MAX {
            let Some((at, digest)) = tables.request_ages.first()?.map(|(row, _)| {
                let (at, digest) = row.value();
                (at, *digest)
            }) else {
                break;
            };
            if at >= oldest_kept && tables.requests.len()? <= n_kept {
                break;
            }
            tables.request_ages.remove((at, &digest))?;
            tables.requests.remove(&digest)?;
        }
        Ok(())
    }
}

fn oldest_kept(at: jiff::Timestamp) -> i64 {
    at.checked_sub(REQUEST_KEY_AGE_MAX).unwrap_or(jiff::Timestamp::MIN).as_microsecond()
}

fn digest(operation: Keyed, key: &RequestKey) -> [u8; 32] {
    let RequestKey { uid, actor, key } = key;
    let operation = match operation {
        Keyed::Remember => "remember",
        Keyed::Revise => "revise",
        Keyed::Forget => "forget",
        Keyed::Append => "append",
        Keyed::Enact => "enact",
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update(&uid.to_be_bytes());
    for part in [operation, actor, key] {
        hasher.update(&(part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// What became of one memory of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RequestItem {
    pub(super) id: IdText,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) status: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changed: Vec<String>,
}

/// The first answer to a request key: ids, statuses and names of fields, never text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RequestRecord {
    pub(super) at: i64,
    pub(super) items: Vec<RequestItem>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<IdText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) withdrawn: Vec<IdText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) erase_by: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) restorable_until: Option<i64>,
    /// Of turns that were added: the first, the last, and how many wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turns: Option<(u64, u64, u64)>,
}

impl Stored for RequestRecord {
    const WHAT: &'static str = "answer to a request key";
}

impl RequestRecord {
    /// An answer that says nothing yet.
    pub(super) fn at(at: jiff::Timestamp) -> Self {
        Self {
            at: at.as_microsecond(),
            items: Vec::new(),
            missing: Vec::new(),
            withdrawn: Vec::new(),
            erase_by: None,
            restorable_until: None,
            turns: None,
        }
    }
}
