//! The records of reminders, of the rows of the outbox, and of sinks.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::codec::Stored;
use super::super::errors::{Result, damaged};
use super::super::records::{IdText, Unknown, id_texts, named, time, times};
use crate::domain::id::MemoryId;
use crate::domain::reminder::{
    DeliveryForm, Entry, Kind, Occurrence, ReminderForm, Row, SinkForm, SinkState, Skipped,
    SkippedNote, Source, Telling,
};

/// A reminder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct EntryRecord {
    pub(super) version: u64,
    pub(super) namespace: String,
    pub(super) text: String,
    pub(super) source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<IdText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) evidence: Vec<IdText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) topic: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) sinks: Vec<String>,
    pub(super) actor: String,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proposed_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) skipped: Option<SkippedRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wakes_at: Option<i64>,
    pub(super) reminder: ReminderForm,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// Occurrences that were not told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct SkippedRecord {
    pub(super) n: u64,
    pub(super) last_due_at: i64,
    pub(super) why: String,
    pub(super) at: i64,
}

impl Stored for EntryRecord {
    const WHAT: &'static str = "reminder";
}

impl EntryRecord {
    /// The record of a reminder, with fields of a later version.
    pub(super) fn of(entry: &Entry, unknown: Unknown) -> Self {
        let skipped = entry.skipped.as_ref().map(|skipped| SkippedRecord {
            n: skipped.n,
            last_due_at: skipped.last_due_at.as_microsecond(),
            why: skipped.why.name().to_owned(),
            at: skipped.at.as_microsecond(),
        });
        Self {
            version: entry.version,
            namespace: entry.namespace.to_string(),
            text: entry.text.clone(),
            source: entry.source.to_string(),
            memory: entry.memory.map(IdText),
            evidence: id_texts(&entry.evidence),
            topic: entry.topic.clone(),
            sinks: entry.sinks.clone(),
            actor: entry.actor.clone(),
            created_at: entry.created_at.as_microsecond(),
            updated_at: entry.updated_at.as_microsecond(),
            proposed_at: entry.proposed_at.map(Timestamp::as_microsecond),
            skipped,
            wakes_at: entry.wakes_at.map(Timestamp::as_microsecond),
            reminder: ReminderForm::from(&entry.reminder),
            unknown,
        }
    }

    /// The reminder it stands for.
    pub(super) fn into_entry(self, id: MemoryId) -> Result<Entry> {
        let unreadable = |error| damaged(format!("the reminder {id}: {error}"));
        let skipped = |skipped: SkippedRecord| -> Result<SkippedNote> {
            Ok(SkippedNote {
                n: skipped.n,
                last_due_at: time(skipped.last_due_at)?,
                why: named(Skipped::named(&skipped.why), &skipped.why)?,
                at: time(skipped.at)?,
            })
        };
        Ok(Entry {
            id,
            version: self.version,
            namespace: self.namespace.parse().map_err(damaged)?,
            text: self.text,
            source: named(Source::parse(&self.source), &self.source)?,
            memory: self.memory.map(|id| id.0),
            evidence: self.evidence.iter().map(|id| id.0).collect(),
            topic: self.topic,
            sinks: self.sinks,
            actor: self.actor,
            created_at: time(self.created_at)?,
            updated_at: time(self.updated_at)?,
            proposed_at: times(self.proposed_at)?,
            skipped: self.skipped.map(skipped).transpose()?,
            wakes_at: times(self.wakes_at)?,
            reminder: self.reminder.try_into().map_err(unreadable)?,
        })
    }
}

/// A row of the outbox. Unlike the state of its reminder it keeps when the occurrence takes place: the
/// rule may be another one by the time at which it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct RowRecord {
    pub(super) version: u64,
    pub(super) reminder: IdText,
    pub(super) delivery: DeliveryForm,
    pub(super) occurrence: String,
    pub(super) occurs_at: i64,
    pub(super) kind: String,
    /// The how many-th of its kind, of kinds that are counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) n: u32,
    pub(super) due_at: i64,
    #[serde(default, skip_serializing_if = "is_zero_long")]
    pub(super) n_missed: u64,
    pub(super) expires_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl Stored for RowRecord {
    const WHAT: &'static str = "row of the outbox";
}

impl RowRecord {
    /// The record of a row, with fields of a later version.
    pub(super) fn of(row: &Row, unknown: Unknown) -> Self {
        let (kind, n) = kind_name(row.telling.kind);
        Self {
            version: row.version,
            reminder: IdText(row.reminder),
            delivery: DeliveryForm::from(&row.delivery),
            occurrence: row.telling.occurrence.civil.to_string(),
            occurs_at: row.telling.occurrence.at.as_microsecond(),
            kind: kind.to_owned(),
            n,
            due_at: row.telling.due_at.as_microsecond(),
            n_missed: row.telling.n_missed,
            expires_at: row.telling.expires_at.as_microsecond(),
            message: row.message.map(|key| key.to_string()),
            unknown,
        }
    }

    /// The row it stands for.
    pub(super) fn into_row(self) -> Result<Row> {
        let telling = Telling {
            occurrence: Occurrence {
                civil: self.occurrence.parse().map_err(damaged)?,
                at: time(self.occurs_at)?,
            },
            kind: kind_named(&self.kind, self.n)?,
            due_at: time(self.due_at)?,
            n_missed: self.n_missed,
            expires_at: time(self.expires_at)?,
        };
        Ok(Row {
            version: self.version,
            delivery: self.delivery.try_into().map_err(damaged)?,
            reminder: self.reminder.0,
            telling,
            message: self.message.map(|key| key.parse().map_err(damaged)).transpose()?,
        })
    }
}

/// What is known of a sink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct SinkRecord {
    #[serde(flatten)]
    pub(super) state: SinkForm,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl Stored for SinkRecord {
    const WHAT: &'static str = "state of a sink";
}

impl SinkRecord {
    /// The record of what is known, with fields of a later version.
    pub(super) fn of(state: &SinkState, unknown: Unknown) -> Self {
        Self { state: SinkForm::from(state), unknown }
    }

    /// What it says.
    pub(super) fn into_state(self) -> Result<SinkState> {
        self.state.try_into().map_err(damaged)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero_long(n: &u64) -> bool {
    *n == 0
}

const fn kind_name(kind: Kind) -> (&'static str, u32) {
    match kind {
        Kind::First => ("first", 0),
        Kind::Snoozed(n) => ("snoozed", n),
        Kind::Repeated(n) => ("repeated", n),
        Kind::Escalated => ("escalated", 0),
    }
}

fn kind_named(name: &str, n: u32) -> Result<Kind> {
    let all = [Kind::First, Kind::Snoozed(n), Kind::Repeated(n), Kind::Escalated];
    named(all.into_iter().find(|kind| kind_name(*kind).0 == name), name)
}
