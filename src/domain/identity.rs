//! Who is calling, and what they may read and write.
//!
//! Identity is a credential of the connection (peer uid, hello line), never state that a call can
//! change. Agents that run as one uid can claim each other's names: between them names are
//! hygiene, not a security boundary.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::limits::AGENT_BYTES_MAX;
use super::namespace::{Namespace, NamespacePattern};

/// The name of an agent: 1 to 64 characters of `a-z 0-9 . _ -`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(Arc<str>);

/// Text that is not an agent name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an agent name (1 to 64 characters of a-z 0-9 . _ -), got `{0}`")]
pub struct InvalidAgentName(String);

impl AgentName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Makes a name of whatever a client calls itself: lower case, every run of other characters
    /// one `-`, cut at 64. `None` if nothing is left.
    pub fn from_client(text: &str) -> Option<Self> {
        let mut name = String::new();
        for c in text.trim().to_lowercase().chars() {
            match c {
                'a'..='z' | '0'..='9' | '.' | '_' | '-' => name.push(c),
                _ if !name.ends_with('-') => name.push('-'),
                _ => {}
            }
        }
        let name = name.trim_matches(['-', '.']);
        name.get(..name.len().min(AGENT_BYTES_MAX))?.parse().ok()
    }

    /// The private namespace of this agent, `agent/<name>`.
    pub fn namespace(&self) -> Namespace {
        // The alphabet of names is that of namespace segments, so this always parses.
        format!("agent/{}", self.0).parse().unwrap_or_else(|_| Namespace::user())
    }
}

impl FromStr for AgentName {
    type Err = InvalidAgentName;

    fn from_str(text: &str) -> Result<Self, InvalidAgentName> {
        let is_valid = (1..=AGENT_BYTES_MAX).contains(&text.len())
            && !text.starts_with('.')
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'));
        if is_valid {
            Ok(Self(Arc::from(text)))
        } else {
            Err(InvalidAgentName(text.chars().take(64).collect()))
        }
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who acts: recorded in the change log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The person whose workstation it is, through the command line.
    Owner,
    /// An agent.
    Agent(AgentName),
    /// The daemon's own maintenance, by the name of the job.
    Job(&'static str),
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("owner"),
            Self::Agent(name) => write!(f, "agent/{name}"),
            Self::Job(job) => write!(f, "job/{job}"),
        }
    }
}

/// A namespace pattern and the weight of its memories in a search, 0.0..=1.0.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadGrant {
    /// What may be read.
    pub pattern: NamespacePattern,
    /// Factor on the score of what is found there.
    pub weight: f64,
}

/// What an identity may do.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Readable namespaces; the first matching grant gives the weight.
    pub read: Vec<ReadGrant>,
    /// Writable namespaces.
    pub write: Vec<NamespacePattern>,
    /// Where a memory goes that names no namespace.
    pub write_default: Namespace,
}

impl Access {
    /// The weight of `namespace` for this reader, or `None` if it may not be read.
    pub fn weight(&self, namespace: &Namespace) -> Option<f64> {
        self.read.iter().find(|grant| grant.pattern.matches(namespace)).map(|grant| grant.weight)
    }

    /// Whether `namespace` may be written.
    pub fn may_write(&self, namespace: &Namespace) -> bool {
        self.write.iter().any(|pattern| pattern.matches(namespace))
    }

    /// The command line of the person: reads and writes everything.
    pub fn owner() -> Self {
        Self {
            read: vec![ReadGrant { pattern: NamespacePattern::All, weight: 1.0 }],
            write: vec![NamespacePattern::All],
            write_default: Namespace::user(),
        }
    }
}

/// The caller of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    /// Uid of the peer, from the socket.
    pub uid: u32,
    /// Who acts.
    pub actor: Actor,
    /// What it may do.
    pub access: Access,
}

impl Caller {
    /// The agent's name, if an agent calls.
    pub fn agent(&self) -> Option<&AgentName> {
        match &self.actor {
            Actor::Agent(name) => Some(name),
            Actor::Owner | Actor::Job(_) => None,
        }
    }

    /// Whether the person calls.
    pub fn is_owner(&self) -> bool {
        self.actor == Actor::Owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_name_becomes_an_agent_name() {
        for (client, expected) in [
            ("claude-code", Some("claude-code")),
            ("Visual Studio Code", Some("visual-studio-code")),
            ("  ", None),
            ("记忆", None),
            ("..x", Some("x")),
        ] {
            let name = AgentName::from_client(client);
            assert_eq!(name.as_ref().map(AgentName::as_str), expected, "{client}");
        }
        let long = AgentName::from_client(&"x".repeat(100)).unwrap();
        assert_eq!(long.as_str().len(), AGENT_BYTES_MAX);
        assert_eq!(long.namespace().as_str(), format!("agent/{long}"));
    }

    #[test]
    fn the_first_matching_grant_gives_the_weight() {
        let access = Access {
            read: vec![
                ReadGrant { pattern: "shared/a".parse().unwrap(), weight: 0.5 },
                ReadGrant { pattern: "shared/*".parse().unwrap(), weight: 0.7 },
            ],
            write: vec!["user".parse().unwrap()],
            write_default: Namespace::user(),
        };
        assert_eq!(access.weight(&"shared/a".parse().unwrap()), Some(0.5));
        assert_eq!(access.weight(&"shared/b".parse().unwrap()), Some(0.7));
        assert_eq!(access.weight(&"user".parse().unwrap()), None);
        assert!(!access.may_write(&"shared/a".parse().unwrap()));
    }
}
