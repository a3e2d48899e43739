//! Who is at the other end: the optional hello line, and the caller of each request.
//!
//! `{"jsonrpc":"2.0","method":"recalld/hello","params":{"agent":"claude-code"}}` may be the first
//! line of a connection. It is consumed and not answered; any other first line is the first message.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::identity::{Access, Actor, AgentName, Caller};
use crate::domain::limits::{HELLO_BYTES_MAX, SESSION_BYTES_MAX};

/// Method of the hello line.
pub const HELLO_METHOD: &str = "recalld/hello";

/// What an agent may do, given its name and its token; `None`: the token is wrong.
pub type AccessPolicy = Arc<dyn Fn(&AgentName, Option<&str>) -> Option<Access> + Send + Sync>;

/// Why a connection or a request is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// The hello line is no hello line.
    #[error("unreadable hello line: {0}")]
    Hello(String),
    /// The owner's role was claimed by another user.
    #[error(
        "the role `owner` is for the user that runs the daemon (uid {own}), not for uid {peer}"
    )]
    NotOwner {
        /// Uid of the daemon.
        own: u32,
        /// Uid of the peer.
        peer: u32,
    },
    /// Another store is meant.
    #[error(
        "the daemon at this socket keeps the store in {own}, not in {asked}: name the socket of the other one with `--socket`, or leave its directory out"
    )]
    OtherStore {
        /// Data directory of the daemon.
        own: String,
        /// The one that is meant.
        asked: String,
    },
    /// The access policy says no.
    #[error("the token is not valid for agent `{0}`")]
    Token(AgentName),
}

/// Parameters of the hello line. All are optional; unknown ones are ignored.
#[derive(Default, Deserialize)]
pub(super) struct Hello {
    agent: Option<String>,
    token: Option<String>,
    bridge: Option<String>,
    session: Option<String>,
    role: Option<String>,
    state_dir: Option<String>,
}

impl Hello {
    /// Refuses who means another store than the one in `own`.
    pub(super) fn check_store(&self, own: &Path) -> Result<(), Refused> {
        match &self.state_dir {
            Some(asked) if Path::new(asked) != own => {
                Err(Refused::OtherStore { own: own.display().to_string(), asked: asked.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Reads a first line; `None` if it is something else.
    pub(super) fn read(line: &[u8]) -> Result<Option<Self>, Refused> {
        #[derive(Deserialize)]
        struct Envelope<'a> {
            method: String,
            #[serde(borrow)]
            params: Option<&'a RawValue>,
        }
        let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(line) else { return Ok(None) };
        if envelope.method != HELLO_METHOD {
            return Ok(None);
        }
        if line.len() > HELLO_BYTES_MAX {
            return Err(Refused::Hello(format!("it has more than {HELLO_BYTES_MAX} bytes")));
        }
        let params = envelope.params.map_or("{}", RawValue::get);
        match serde_json::from_str::<Option<Self>>(params) {
            Ok(hello) => Ok(Some(hello.unwrap_or_default())),
            Err(reason) => Err(Refused::Hello(reason.to_string())),
        }
    }
}

/// Uids that matter to a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uids {
    /// Of the daemon.
    pub(super) own: u32,
    /// Of the peer, from the socket.
    pub(super) peer: u32,
}

/// What is known of the peer of a connection.
#[derive(Clone)]
pub(super) struct Identity {
    uid: u32,
    is_owner: bool,
    agent: Option<AgentName>,
    token: Option<String>,
    session: Option<String>,
    access: AccessPolicy,
}

impl Identity {
    /// The identity of a connection, from its peer and its hello line.
    pub(super) fn new(uids: Uids, hello: Hello, access: AccessPolicy) -> Result<Self, Refused> {
        let is_owner = hello.role.as_deref() == Some("owner");
        if is_owner && uids.own != uids.peer {
            return Err(Refused::NotOwner { own: uids.own, peer: uids.peer });
        }
        let agent = hello.agent.as_deref().and_then(AgentName::from_client);
        if hello.agent.is_some() && agent.is_none() {
            tracing::warn!(uid = uids.peer, "agent name of the hello line has no usable character");
        }
        let is_session = |session: &String| {
            (1..=SESSION_BYTES_MAX).contains(&session.len()) && !session.trim().is_empty()
        };
        // Each command of the person is a process, but no conversation.
        let session = hello.session.filter(|session| !is_owner && is_session(session));
        tracing::debug!(
            uid = uids.peer,
            agent = agent.as_ref().map(AgentName::as_str),
            bridge = hello.bridge.as_deref(),
            is_owner,
            "connection opened"
        );
        let identity =
            Self { uid: uids.peer, is_owner, agent, token: hello.token, session, access };
        if identity.agent.is_some() {
            // A wrong token is told at once, not at the first call.
            identity.caller(None)?;
        }
        Ok(identity)
    }

    /// The caller of a request whose client calls itself `client`.
    pub(super) fn caller(&self, client: Option<&str>) -> Result<Caller, Refused> {
        if self.is_owner {
            return Ok(Caller { uid: self.uid, actor: Actor::Owner, access: Access::owner() });
        }
        let named = self.agent.clone().or_else(|| client.and_then(AgentName::from_client));
        let by_uid = || AgentName::from_client(&format!("uid-{}", self.uid));
        let Some(name) = named.or_else(by_uid) else {
            return Err(Refused::Hello("no agent name".to_owned()));
        };
        match (self.access)(&name, self.token.as_deref()) {
            Some(access) => Ok(Caller { uid: self.uid, actor: Actor::Agent(name), access }),
            None => Err(Refused::Token(name)),
        }
    }

    /// The session that memories of this connection belong to if they name none.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

impl fmt::Debug for Identity {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("uid", &self.uid)
            .field("is_owner", &self.is_owner)
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Uids = Uids { own: 1000, peer: 1000 };

    fn hello(params: &str) -> Hello {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"recalld/hello","params":{params}}}"#);
        Hello::read(line.as_bytes()).unwrap().unwrap()
    }

    /// Knows one token, of `careful`.
    fn access() -> AccessPolicy {
        Arc::new(|name, token| {
            (name.as_str() != "careful" || token == Some("secret")).then(Access::owner)
        })
    }

    fn name_of(hello: Hello, client: Option<&str>) -> Option<String> {
        let caller = Identity::new(OWN, hello, access()).unwrap().caller(client).unwrap();
        caller.agent().map(ToString::to_string)
    }

    #[test]
    fn the_agent_is_who_the_hello_says_or_the_client_or_the_uid() {
        for (params, client, expected) in [
            (r#"{"agent":"Claude Code"}"#, Some("other"), "claude-code"),
            ("{}", Some("Visual Studio Code"), "visual-studio-code"),
            ("null", None, "uid-1000"),
            (r#"{"agent":"  "}"#, Some("codex"), "codex"),
            (r#"{"agent":null,"later":1}"#, None, "uid-1000"),
        ] {
            assert_eq!(name_of(hello(params), client).as_deref(), Some(expected), "{params}");
        }
    }

    #[test]
    fn the_owner_is_no_agent_and_has_the_uid_of_the_daemon() {
        assert_eq!(name_of(hello(r#"{"role":"owner","agent":"x"}"#), Some("y")), None);
        let foreign = Uids { own: 1000, peer: 1001 };
        let refused = Identity::new(foreign, hello(r#"{"role":"owner"}"#), access()).unwrap_err();
        assert_eq!(refused, Refused::NotOwner { own: 1000, peer: 1001 });
    }

    #[test]
    fn who_means_another_store_is_refused_with_both_names() {
        let own = Path::new("/state");
        for params in ["{}", r#"{"state_dir":null}"#, r#"{"state_dir":"/state"}"#] {
            assert_eq!(hello(params).check_store(own), Ok(()), "{params}");
        }
        let refused = hello(r#"{"state_dir":"/other"}"#).check_store(own).unwrap_err().to_string();
        assert!(refused.contains("/state") && refused.contains("/other"), "{refused}");
    }

    #[test]
    fn a_wrong_token_is_refused_with_the_hello_and_with_a_request() {
        let careful = AgentName::from_client("careful").unwrap();
        for params in [r#"{"agent":"careful"}"#, r#"{"agent":"careful","token":"guess"}"#] {
            let refused = Identity::new(OWN, hello(params), access()).unwrap_err();
            assert_eq!(refused, Refused::Token(careful.clone()), "{params}");
            assert!(!refused.to_string().contains("guess"));
        }
        let good = hello(r#"{"agent":"careful","token":"secret"}"#);
        assert_eq!(name_of(good, None).as_deref(), Some("careful"));
        let unnamed = Identity::new(OWN, Hello::default(), access()).unwrap();
        assert_eq!(unnamed.caller(Some("careful")).unwrap_err(), Refused::Token(careful));
    }

    #[test]
    fn other_first_lines_are_no_hello_and_bad_hellos_are_refused() {
        for line in ["", "x", "[]", r#"{"method":"initialize","params":{"agent":1}}"#] {
            assert!(Hello::read(line.as_bytes()).unwrap().is_none(), "{line}");
        }
        let long = format!(
            r#"{{"method":"recalld/hello","params":{{"agent":"{}"}}}}"#,
            "x".repeat(HELLO_BYTES_MAX)
        );
        for line in [r#"{"method":"recalld/hello","params":{"agent":1}}"#, &long] {
            assert!(matches!(Hello::read(line.as_bytes()), Err(Refused::Hello(_))));
        }
    }
}
