//! The records of sessions, their turns and their summaries.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::codec::Stored;
use super::super::errors::Result;
use super::super::records::{IdText, Unknown, id_texts, named, time, times};
use crate::domain::id::MemoryId;
use crate::domain::scoring::Role;
use crate::domain::session::{NewTurn, Part, SessionSummary, Turn, Waiting};

/// A session without its turns and its summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct SessionRecord {
    pub(super) namespace: String,
    pub(super) session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
    pub(super) started_at: i64,
    pub(super) last_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended_at: Option<i64>,
    pub(super) last_turn: u64,
    pub(super) n_waiting: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) extract_at: Option<i64>,
    pub(super) look_at: i64,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl Stored for SessionRecord {
    const WHAT: &'static str = "session";
}

/// A turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct TurnRecord {
    pub(super) role: String,
    pub(super) text: String,
    pub(super) at: i64,
    pub(super) received_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
    /// There while it waits to be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) waiting: Option<WaitingRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) memories: Vec<IdText>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// How often a turn was looked at in vain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct WaitingRecord {
    pub(super) tries: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_at: Option<i64>,
}

impl Stored for TurnRecord {
    const WHAT: &'static str = "turn of a session";
}

impl WaitingRecord {
    pub(super) fn of(waiting: Waiting) -> Self {
        let retry_at = waiting.retry_at.map(Timestamp::as_microsecond);
        Self { tries: waiting.tries, retry_at }
    }
}

impl TurnRecord {
    /// A turn that has just come.
    pub(super) fn new(new: &NewTurn, agent: Option<String>, received_at: Timestamp) -> Self {
        Self {
            role: new.role.to_string(),
            text: new.text.to_string(),
            at: new.at.as_microsecond(),
            received_at: received_at.as_microsecond(),
            agent,
            waiting: Some(WaitingRecord::default()),
            memories: Vec::new(),
            unknown: Unknown::new(),
        }
    }

    /// The record of a turn.
    pub(super) fn of(turn: &Turn) -> Self {
        Self {
            role: turn.role.to_string(),
            text: turn.text.to_string(),
            at: turn.at.as_microsecond(),
            received_at: turn.received_at.as_microsecond(),
            agent: turn.agent.clone(),
            waiting: turn.waiting.map(WaitingRecord::of),
            memories: id_texts(&turn.memories),
            unknown: Unknown::new(),
        }
    }

    /// The turn it stands for.
    pub(super) fn into_turn(self, number: u64) -> Result<Turn> {
        let waiting = self
            .waiting
            .map(|waiting| -> Result<Waiting> {
                Ok(Waiting { tries: waiting.tries, retry_at: times(waiting.retry_at)? })
            })
            .transpose()?;
        Ok(Turn {
            number,
            role: named(Role::parse(&self.role), &self.role)?,
            text: Arc::from(self.text),
            at: time(self.at)?,
            received_at: time(self.received_at)?,
            agent: self.agent,
            waiting,
            memories: ids(&self.memories),
        })
    }
}

/// What is told of the turns that have fallen out of the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct SummaryRecord {
    pub(super) through: u64,
    pub(super) parts: Vec<PartRecord>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// A part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct PartRecord {
    pub(super) turn: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    pub(super) at: i64,
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) memories: Vec<IdText>,
}

impl Stored for SummaryRecord {
    const WHAT: &'static str = "summary of a session";
}

impl SummaryRecord {
    /// The record of a summary.
    pub(super) fn of(summary: &SessionSummary) -> Self {
        let part = |part: &Part| PartRecord {
            turn: part.turn,
            role: part.role.map(|role| role.to_string()),
            at: part.at.as_microsecond(),
            text: part.text.clone(),
            memories: id_texts(&part.memories),
        };
        Self {
            through: summary.through,
            parts: summary.parts.iter().map(part).collect(),
            unknown: Unknown::new(),
        }
    }

    /// The summary it stands for.
    pub(super) fn into_summary(self) -> Result<SessionSummary> {
        let part = |part: PartRecord| -> Result<Part> {
            let role = part.role.map(|name| named(Role::parse(&name), &name)).transpose()?;
            let (turn, at) = (part.turn, time(part.at)?);
            Ok(Part { turn, role, at, text: part.text, memories: ids(&part.memories) })
        };
        let parts = self.parts.into_iter().map(part).collect::<Result<_>>()?;
        Ok(SessionSummary { through: self.through, parts })
    }
}

impl PartRecord {
    /// Whether it may tell of this turn, see [`Part::may_tell_of`].
    pub(super) const fn may_tell_of(&self, turn: u64) -> bool {
        if self.role.is_some() { turn == self.turn } else { turn <= self.turn }
    }
}

fn ids(texts: &[IdText]) -> Vec<MemoryId> {
    texts.iter().map(|id| id.0).collect()
}
