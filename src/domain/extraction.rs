//! Whether a statement that somebody took out of a turn of a conversation may be kept as a memory.
//!
//! A model is not believed: its statement must reach the threshold, say something, be borne out by its
//! turn in every value, and a standing order is only ever the person's own.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::decay::initial_importance;
use super::embedding::ScriptShares;
use super::grounding::values::{DateParts, Support, Value};
use super::grounding::{self, Source, Sources, Summary};
use super::limits::FACT_CHARS_MAX;
use super::memory::{Kind, Memory, Origin};
use super::scoring::{Candidate, Policy, Role, Turn, has_content, is_question, named_time};
use super::summary::ScoredFact;

/// Metadata field of a memory that was taken out of a conversation: when its turn was said, a JSON
/// string. It may have become a memory much later.
pub const SAID_AT_KEY: &str = "said_at";

/// When what a memory says was said, as far as that is known: what is heard last is what is true.
pub fn said_at(memory: &Memory) -> Timestamp {
    let noted = memory.metadata.get(SAID_AT_KEY).filter(|_| memory.origin == Origin::Extracted);
    let noted = noted.and_then(|text| text.trim_matches('"').parse().ok());
    noted.unwrap_or(memory.created_at)
}

/// Why a statement is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not worth remembering.
    BelowThreshold,
    /// It says nothing, or asks.
    SmallTalk,
    /// It is the agent's word for what only the person can say.
    Speaker,
    /// It is in another language than its turn.
    Language,
    /// The turn does not bear it out, for these reasons, each once.
    Ungrounded(Vec<grounding::Reason>),
}

impl Refusal {
    /// The names under which it is counted.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Self::BelowThreshold => vec!["below_threshold"],
            Self::SmallTalk => vec!["small_talk"],
            Self::Speaker => vec!["speaker"],
            Self::Language => vec!["language"],
            Self::Ungrounded(reasons) => reasons.iter().map(|reason| reason.as_str()).collect(),
        }
    }

    /// Whether whoever made the statement made something up, so that the turn is worth another look.
    pub const fn is_made_up(&self) -> bool {
        matches!(self, Self::Language | Self::Ungrounded(_))
    }
}

/// A turn that was read once, so that many a statement can be proven by it.
pub struct Witness<'a> {
    turn: &'a Turn<'a>,
    /// That of its days.
    zone: &'a TimeZone,
    says_something: bool,
    sources: Sources<'a>,
}

impl<'a> Witness<'a> {
    /// Reads a turn; days are those of `zone`.
    pub fn of(turn: &'a Turn<'a>, zone: &'a TimeZone) -> Self {
        let day = zone.to_datetime(turn.at).date();
        let sources = Sources::read(&[
            Source { id: "turn", text: turn.text, event_date: Some(day) },
            Source { id: "speaker", text: speaker(turn.role), event_date: None },
        ]);
        Self { turn, zone, says_something: has_content(turn.text), sources }
    }

    /// The memory that a statement of a model becomes.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn accept(&self, fact: &ScoredFact, policy: &Policy) -> Result<Candidate, Refusal> {
        if policy.mean(&fact.scores) < policy.mean_min {
            return Err(Refusal::BelowThreshold);
        }
        let (turn, zone, text) = (self.turn, self.zone, fact.text.as_str());
        let said = named_time(text, fact.kind, turn.at, zone);
        let dated = || {
            let date = fact.event_date.filter(|date| names_day(turn, zone, *date))?;
            zone.to_timestamp(date.to_datetime(jiff::civil::Time::midnight())).ok()
        };
        let as_event = || (fact.kind == Kind::Event).then_some(turn.at);
        self.prove(Candidate {
            text: text.to_owned(),
            kind: fact.kind,
            importance: initial_importance(fact.kind, text),
            event_time: said.or_else(dated).or_else(as_event),
            scores: fact.scores,
        })
    }

    /// A statement that may be kept, whoever took it out of its turn.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn prove(&self, candidate: Candidate) -> Result<Candidate, Refusal> {
        let (turn, text) = (self.turn, candidate.text.as_str());
        if !has_content(text) || is_question(text) || !self.says_something {
            return Err(Refusal::SmallTalk);
        }
        let is_own = matches!(candidate.kind, Kind::Instruction | Kind::Preference);
        if is_own && turn.role != Role::User {
            return Err(Refusal::Speaker);
        }
        if is_latin(text) != is_latin(turn.text) {
            return Err(Refusal::Language);
        }
        let policy = grounding::Policy {
            chars_min: 1,
            chars_max: FACT_CHARS_MAX,
            share_max: f64::INFINITY,
            asks_for_language: false,
            ..grounding::Policy::default()
        };
        let summary = Summary { text, citations: &["turn", "speaker"] };
        let violations = self.sources.check(&summary, &policy);
        if violations.is_empty() {
            return Ok(candidate);
        }
        let mut reasons: Vec<grounding::Reason> =
            violations.into_iter().map(|violation| violation.reason).collect();
        reasons.sort_unstable();
        reasons.dedup();
        Err(Refusal::Ungrounded(reasons))
    }
}

/// What a statement may call the one who speaks, though the turn does not say it.
const fn speaker(role: Role) -> &'static str {
    match role {
        Role::User => "user 用户",
        Role::Assistant => "assistant 助手",
    }
}

/// Whether a turn names a day, or was said on it.
fn names_day(turn: &Turn<'_>, zone: &TimeZone, date: Date) -> bool {
    let day = zone.to_datetime(turn.at).date();
    let parts =
        DateParts { year: Some(date.year()), month: Some(date.month()), day: Some(date.day()) };
    Support::of(turn.text, Some(day)).holds(&Value::Date(parts))
}

fn is_latin(text: &str) -> bool {
    ScriptShares::of(text).latin() >= 0.5
}

/// The time at which something that was looked at `tries` times in vain is looked at again.
pub fn retry_at(tries: u32, now: Timestamp) -> Timestamp {
    use super::limits::{EXTRACT_RETRY_MAX, EXTRACT_RETRY_MIN};
    let doubled = EXTRACT_RETRY_MIN.saturating_mul(1 << tries.saturating_sub(1).min(20));
    let wait = jiff::SignedDuration::try_from(doubled.min(EXTRACT_RETRY_MAX));
    wait.ok().and_then(|wait| now.checked_add(wait).ok()).unwrap_or(Timestamp::MAX)
}

/// How many turns are asked about at once that were looked at so often in vain: the one that a model
/// cannot deal with must not hold up the others.
pub const fn batch_max(tries: u32) -> usize {
    match tries {
        0 => super::limits::LLM_PASSAGES_MAX,
        1 => super::limits::LLM_PASSAGES_MAX / 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
