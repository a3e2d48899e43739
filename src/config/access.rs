//! Which agent reads and writes what: the entries of `access.agents`.
//!
//! Patterns may hold `{agent}`, the caller's name. They are checked here with the longest name there
//! is, so that filling them in cannot fail later. The alphabet of agent names is that of namespace
//! segments, so a name can never reach beyond its segment.

use std::fmt;
use std::str::FromStr;

use crate::domain::identity::{Access, AgentName, ReadGrant};
use crate::domain::limits::AGENT_BYTES_MAX;
use crate::domain::namespace::Namespace;

/// What stands for the caller's name in a pattern.
const AGENT: &str = "{agent}";

/// Whom a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Agents {
    /// Every agent.
    All,
    /// The agent of this name.
    Named(AgentName),
}

impl Agents {
    /// The name, or `*`.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::All => "*",
            Self::Named(name) => name.as_str(),
        }
    }
}

/// What the agents of one name may do.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessRule {
    pub(super) agents: Agents,
    /// Patterns with the weight of what is found there, 0.0..=1.0.
    pub(super) read: Vec<(String, f64)>,
    pub(super) write: Vec<String>,
    pub(super) write_default: String,
    pub(super) token_hash: Option<TokenHash>,
}

impl AccessRule {
    /// Whether the rule is for this agent.
    pub(super) fn is_for(&self, agent: &AgentName) -> bool {
        match &self.agents {
            Agents::All => true,
            Agents::Named(name) => name == agent,
        }
    }

    /// The rule for one agent.
    pub(super) fn access(&self, agent: &AgentName) -> Access {
        let read = self.read.iter().filter_map(|(pattern, weight)| {
            Some(ReadGrant { pattern: fill(pattern, agent)?, weight: *weight })
        });
        Access {
            read: read.collect(),
            write: self.write.iter().filter_map(|pattern| fill(pattern, agent)).collect(),
            write_default: fill(&self.write_default, agent).unwrap_or_else(Namespace::user),
        }
    }

    /// Whether `token` proves the name; without a hash no proof is asked for.
    pub(super) fn is_proven(&self, token: Option<&str>) -> bool {
        match (&self.token_hash, token) {
            (None, _) => true,
            (Some(hash), Some(token)) => hash.0 == blake3::hash(token.as_bytes()),
            (Some(_), None) => false,
        }
    }
}

/// BLAKE3 of a secret. Comparing is constant-time, showing gives nothing away.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenHash(blake3::Hash);

impl TokenHash {
    /// Reads 64 hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(Self)
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

fn fill<T: FromStr>(pattern: &str, agent: &AgentName) -> Option<T> {
    pattern.replace(AGENT, agent.as_str()).parse().ok()
}

/// Whether a pattern parses whatever the agent's name is.
pub(super) fn is_valid<T: FromStr>(pattern: &str) -> bool {
    pattern.replace(AGENT, &"a".repeat(AGENT_BYTES_MAX)).parse::<T>().is_ok()
}
