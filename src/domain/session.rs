//! The working memory of a conversation: its last turns as they were said, and one text for what came
//! before them.
//!
//! A session lies in a namespace, and is read and written by whoever reads and writes that. Its turns
//! are kept until they have fallen out of its window, are told by its summary, and what is worth
//! remembering has been taken out of them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::change::{Applied, ChangeSet, RequestKey};
use super::id::MemoryId;
use super::namespace::{Namespace, NamespacePattern};
use super::scoring::{Policy, Role};

/// Names a session in a store: a hash of its namespace and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub [u8; 32]);

impl SessionKey {
    /// The key of a session.
    pub fn of(namespace: &Namespace, name: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(namespace.as_str().len() as u64).to_be_bytes());
        hasher.update(namespace.as_str().as_bytes());
        hasher.update(name.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }
}

/// How long working memory is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPolicy {
    /// Turns that are kept as they were said, at least 1.
    pub turns: usize,
    /// Time after the last turn at which all of it goes.
    pub ttl: Duration,
    /// Time after the last turn from which the conversation is taken for over.
    pub idle: Duration,
}

impl Default for WindowPolicy {
    fn default() -> Self {
        Self { turns: 50, ttl: Duration::from_hours(7 * 24), idle: Duration::from_mins(15) }
    }
}

impl WindowPolicy {
    /// Turns beyond the window that are summarised together: not every turn is worth a summary.
    pub const fn slack(&self) -> usize {
        if self.turns < 8 { 1 } else { self.turns / 4 }
    }

    /// Turns without a summary at which some are to be summarised.
    pub const fn full(&self) -> usize {
        self.turns + self.slack()
    }

    /// When a conversation whose last turn came at `last_at` is taken for over.
    pub fn idle_at(&self, last_at: Timestamp) -> Timestamp {
        after(last_at, self.idle)
    }

    /// When all of it goes.
    pub fn expires_at(&self, last_at: Timestamp) -> Timestamp {
        after(last_at, self.ttl)
    }
}

fn after(at: Timestamp, wait: Duration) -> Timestamp {
    let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
    at.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// How sessions are kept, and what is worth remembering of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPolicy {
    /// How long they are kept.
    pub window: WindowPolicy,
    /// When a statement is worth remembering.
    pub scoring: Policy,
    /// The same where these patterns fit; the first that does counts.
    pub scoring_by_namespace: Vec<(NamespacePattern, Policy)>,
}

impl SessionPolicy {
    /// When a statement is worth remembering in this namespace.
    pub fn policy(&self, namespace: &Namespace) -> Policy {
        let mut own = self.scoring_by_namespace.iter();
        own.find(|(pattern, _)| pattern.matches(namespace))
            .map_or(self.scoring, |(_, policy)| *policy)
    }
}

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Where it lies.
    pub namespace: Namespace,
    /// Its name, unique there.
    pub name: String,
    /// The agent that began it.
    pub agent: Option<String>,
    /// When it was begun.
    pub started_at: Timestamp,
    /// When its last turn came.
    pub last_at: Timestamp,
    /// When somebody said that it is over; a later turn takes that back.
    pub ended_at: Option<Timestamp>,
    /// Number of its last turn; they count from 1.
    pub last_turn: u64,
    /// When its turns are looked at for what is worth remembering; `None`: none of them waits.
    pub extract_at: Option<Timestamp>,
    /// When it is to be looked at next, for whatever reason.
    pub look_at: Timestamp,
    /// The turns that are kept, in order.
    pub turns: Vec<Turn>,
    /// What came before them.
    pub summary: Option<SessionSummary>,
}

impl Session {
    /// Its key.
    pub fn key(&self) -> SessionKey {
        SessionKey::of(&self.namespace, &self.name)
    }

    /// Number of the last turn that the summary tells of; 0: none.
    pub fn told_through(&self) -> u64 {
        self.summary.as_ref().map_or(0, |summary| summary.through)
    }

    /// The turns that the summary does not tell of.
    pub fn recent(&self) -> &[Turn] {
        let through = self.told_through();
        let first = self.turns.partition_point(|turn| turn.number <= through);
        self.turns.get(first..).unwrap_or_default()
    }

    /// Those of them that have fallen out of a window of so many turns.
    pub fn overflow(&self, window: usize) -> &[Turn] {
        let recent = self.recent();
        recent.get(..recent.len().saturating_sub(window)).unwrap_or_default()
    }

    /// The turns out of which nothing has been taken yet.
    pub fn waiting(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter().filter(|turn| turn.waiting.is_some())
    }
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its place in the session, from 1; of a turn that is gone it is not given again.
    pub number: u64,
    /// Who said it.
    pub role: Role,
    /// What was said, after redaction.
    pub text: Arc<str>,
    /// When it was said.
    pub at: Timestamp,
    /// When it came here.
    pub received_at: Timestamp,
    /// The agent that brought it.
    pub agent: Option<String>,
    /// Whether it waits to be looked at for what is worth remembering.
    pub waiting: Option<Waiting>,
    /// The memories that were taken out of it.
    pub memories: Vec<MemoryId>,
}

/// How often a turn was looked at in vain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// So often.
    pub tries: u32,
    /// Not before this time again.
    pub retry_at: Option<Timestamp>,
}

/// What is told of the turns of a session that have fallen out of its window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionSummary {
    /// Number of the last turn that it tells of.
    pub through: u64,
    /// What it is made of, in order; none: what it told has been forgotten.
    pub parts: Vec<Part>,
}

impl SessionSummary {
    /// The whole text, days in `zone`.
    pub fn text(&self, zone: &TimeZone) -> String {
        let mut text = String::new();
        for part in &self.parts {
            if !text.is_empty() {
                text.push('\n');
            }
            match part.role {
                Some(role) => {
                    let day = zone.to_datetime(part.at).date();
                    // Writing to a text cannot fail.
                    let _is_written = write!(text, "{day} {role}: {}", part.text).is_ok();
                }
                None => text.push_str(&part.text),
            }
        }
        text
    }
}

/// A part of a summary: a quotation, or what a model wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The turn that is quoted, or the last one that the model read.
    pub turn: u64,
    /// Who is quoted; `None`: a model wrote it, of any turn up to that one.
    pub role: Option<Role>,
    /// When the turn was said.
    pub at: Timestamp,
    /// The text.
    pub text: String,
    /// The memories that were taken out of the turns it may tell of.
    pub memories: Vec<MemoryId>,
}

impl Part {
    /// Whether it may tell of this turn.
    pub const fn may_tell_of(&self, turn: u64) -> bool {
        if self.role.is_some() { turn == self.turn } else { turn <= self.turn }
    }
}

/// A turn that comes in: within the limits, redacted.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTurn {
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub text: Arc<str>,
    /// When.
    pub at: Timestamp,
}

/// Add turns to a session, which is made if it is new; all or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// Where the session lies.
    pub namespace: Namespace,
    /// Its name.
    pub name: String,
    /// The agent that brings them.
    pub agent: Option<String>,
    /// The turns; none: only say that the session is over.
    pub turns: Vec<NewTurn>,
    /// Whether it is over with them.
    pub ends: bool,
    /// When its turns are to be looked at, unless that time has come for earlier ones.
    pub extract_at: Timestamp,
    /// When all of it goes.
    pub expires_at: Timestamp,
    /// Turns without a summary at which it is to be looked at now.
    pub full: usize,
    /// Idempotency key.
    pub request: Option<RequestKey>,
    /// Now.
    pub at: Timestamp,
}

/// What came of an [`Append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Number of the first new turn.
    pub first: u64,
    /// Number of the last turn.
    pub last: u64,
    /// Turns that wait to be looked at.
    pub n_waiting: u64,
}

/// Why nothing was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAppended {
    /// There is no such session, so it cannot be over.
    Missing,
    /// It has as many turns as one may have, since they still wait to be looked at.
    Full,
    /// There are as many sessions as there may be.
    TooMany,
}

/// Note what was taken out of turns, with the memories that were made of them: all or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Settle {
    /// The session.
    pub key: SessionKey,
    /// The memories.
    pub set: ChangeSet,
    /// What becomes of each turn that was looked at, by its number.
    pub turns: Vec<(u64, Fate)>,
}

/// What becomes of a turn that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has been dealt with; these of the new memories, by their place, are taken out of it.
    Done(Vec<usize>),
    /// It goes on waiting.
    Later(Waiting),
}

/// What came of a [`Settle`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is done.
    Done(Applied),
    /// One of the turns is gone or was dealt with meanwhile: nothing was written.
    Changed,
}

/// Put a summary in the place of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Retell {
    /// The session.
    pub key: SessionKey,
    /// The summary that it was made of.
    pub before: Option<SessionSummary>,
    /// The turns that it was made of; if one is gone, nothing is written.
    pub of: Vec<u64>,
    /// The new one.
    pub summary: SessionSummary,
}

/// Note when a session is to be looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relook {
    /// The session.
    pub key: SessionKey,
    /// Number of its last turn when that was decided; if more came since, they are not put off.
    pub last_turn: u64,
    /// See [`Session::extract_at`].
    pub extract_at: Option<Timestamp>,
    /// See [`Session::look_at`].
    pub look_at: Timestamp,
}

/// What is known of a session without reading its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Where it lies.
    pub namespace: Namespace,
    /// Its name.
    pub name: String,
    /// Number of its last turn.
    pub last_turn: u64,
    /// Turns that wait to be looked at.
    pub n_waiting: u64,
    /// When it was begun.
    pub started_at: Timestamp,
    /// When its last turn came.
    pub last_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(n_turns: u64, summary: Option<SessionSummary>) -> Session {
        let at = Timestamp::UNIX_EPOCH;
        let turn = |number| Turn {
            number,
            role: Role::User,
            text: Arc::from("x"),
            at,
            received_at: at,
            agent: None,
            waiting: None,
            memories: Vec::new(),
        };
        Session {
            namespace: Namespace::user(),
            name: "s".to_owned(),
            agent: None,
            started_at: at,
            last_at: at,
            ended_at: None,
            last_turn: n_turns,
            extract_at: None,
            look_at: at,
            turns: (1..=n_turns).map(turn).collect(),
            summary,
        }
    }

    #[test]
    fn what_is_not_told_is_recent_and_what_does_not_fit_the_window_flows_over() {
        let numbers = |turns: &[Turn]| turns.iter().map(|turn| turn.number).collect::<Vec<_>>();
        let told = SessionSummary { through: 3, parts: Vec::new() };
        let session = session(8, Some(told));
        assert_eq!(numbers(session.recent()), [4, 5, 6, 7, 8]);
        assert_eq!(numbers(session.overflow(3)), [4, 5]);
        assert_eq!(numbers(session.overflow(5)), [0; 0]);
        assert_eq!(numbers(session.overflow(100)), [0; 0]);
    }

    #[test]
    fn a_quotation_tells_of_its_turn_and_a_text_of_all_before() {
        let at = "2026-11-20T23:30:00Z".parse().unwrap();
        let part = |turn, role, text: &str| Part {
            turn,
            role,
            at,
            text: text.to_owned(),
            memories: Vec::new(),
        };
        let (text, quote) = (part(4, None, "They met."), part(6, Some(Role::User), "我住在柏林。"));
        assert!(text.may_tell_of(1) && text.may_tell_of(4) && !text.may_tell_of(5));
        assert!(quote.may_tell_of(6) && !quote.may_tell_of(5));
        let summary = SessionSummary { through: 6, parts: vec![text, quote] };
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(summary.text(&zone), "They met.\n2026-11-21 user: 我住在柏林。");
    }

    #[test]
    fn sessions_of_one_name_in_two_namespaces_are_two() {
        let (a, b) = ("agent/a".parse().unwrap(), "agent/b".parse().unwrap());
        assert_ne!(SessionKey::of(&a, "s"), SessionKey::of(&b, "s"));
        // No name can reach into another namespace.
        let longer = "agent/ab".parse().unwrap();
        assert_ne!(SessionKey::of(&a, "bs"), SessionKey::of(&longer, "s"));
    }
}
