//! The lines of sessions and their turns.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{all_ids, text_of, time, times};
use crate::domain::id::MemoryId;
use crate::domain::scoring::Role;
use crate::domain::session::{Part, Session, SessionSummary, Turn, Waiting};
use crate::domain::transfer::TurnItem;

/// A session without its turns.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionLine {
    namespace: String,
    session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    started_at: String,
    last_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    last_turn: u64,
    look_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<SummaryLine>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SummaryLine {
    through: u64,
    parts: Vec<PartLine>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartLine {
    turn: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    at: String,
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    memories: Vec<String>,
}

/// A turn of a session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnLine {
    namespace: String,
    session: String,
    started_at: String,
    last_turn: u64,
    number: u64,
    role: String,
    text: String,
    at: String,
    received_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// There while it waits to be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting: Option<WaitingLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    memories: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitingLine {
    tries: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_at: Option<String>,
}

impl SessionLine {
    pub(super) fn of(session: &Session) -> Self {
        let part = |part: &Part| PartLine {
            turn: part.turn,
            role: part.role.map(|role| role.to_string()),
            at: part.at.to_string(),
            text: part.text.clone(),
            memories: id_texts(&part.memories),
        };
        Self {
            namespace: session.namespace.to_string(),
            session: session.name.clone(),
            agent: session.agent.clone(),
            started_at: session.started_at.to_string(),
            last_at: session.last_at.to_string(),
            ended_at: text_of(session.ended_at),
            last_turn: session.last_turn,
            look_at: session.look_at.to_string(),
            summary: session.summary.as_ref().map(|summary| SummaryLine {
                through: summary.through,
                parts: summary.parts.iter().map(part).collect(),
            }),
        }
    }

    pub(super) fn into_session(self) -> Result<Session, String> {
        let part = |part: PartLine| -> Result<Part, String> {
            Ok(Part {
                turn: part.turn,
                role: part.role.as_deref().map(role).transpose()?,
                at: time("at", &part.at)?,
                text: part.text,
                memories: all_ids("memories", &part.memories)?,
            })
        };
        let summary = self.summary.map(|summary| -> Result<SessionSummary, String> {
            let parts = summary.parts.into_iter().map(part).collect::<Result<_, _>>()?;
            Ok(SessionSummary { through: summary.through, parts })
        });
        Ok(Session {
            namespace: self.namespace.parse().map_err(|_| "`namespace` is none")?,
            name: self.session,
            agent: self.agent,
            started_at: time("started_at", &self.started_at)?,
            last_at: time("last_at", &self.last_at)?,
            ended_at: times("ended_at", self.ended_at.as_ref())?,
            last_turn: self.last_turn,
            extract_at: None,
            look_at: time("look_at", &self.look_at)?,
            turns: Vec::new(),
            summary: summary.transpose()?,
        })
    }
}

impl TurnLine {
    pub(super) fn of(item: &TurnItem) -> Self {
        let turn = &item.turn;
        Self {
            namespace: item.namespace.to_string(),
            session: item.session.clone(),
            started_at: item.started_at.to_string(),
            last_turn: item.last_turn,
            number: turn.number,
            role: turn.role.to_string(),
            text: turn.text.to_string(),
            at: turn.at.to_string(),
            received_at: turn.received_at.to_string(),
            agent: turn.agent.clone(),
            waiting: turn.waiting.map(|waiting| WaitingLine {
                tries: waiting.tries,
                retry_at: text_of(waiting.retry_at),
            }),
            memories: id_texts(&turn.memories),
        }
    }

    pub(super) fn into_turn(self) -> Result<TurnItem, String> {
        let waiting = self.waiting.map(|waiting| -> Result<Waiting, String> {
            let retry_at: Option<Timestamp> = times("retry_at", waiting.retry_at.as_ref())?;
            Ok(Waiting { tries: waiting.tries, retry_at })
        });
        Ok(TurnItem {
            namespace: self.namespace.parse().map_err(|_| "`namespace` is none")?,
            session: self.session,
            started_at: time("started_at", &self.started_at)?,
            last_turn: self.last_turn,
            turn: Turn {
                number: self.number,
                role: role(&self.role)?,
                text: Arc::from(self.text),
                at: time("at", &self.at)?,
                received_at: time("received_at", &self.received_at)?,
                agent: self.agent,
                waiting: waiting.transpose()?,
                memories: all_ids("memories", &self.memories)?,
            },
        })
    }
}

fn role(name: &str) -> Result<Role, String> {
    Role::parse(name).ok_or_else(|| "`role` has a name that is not known here".to_owned())
}

fn id_texts(ids: &[MemoryId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}
