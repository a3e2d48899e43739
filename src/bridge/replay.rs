//! What a new connection must be told so that the client need not know that there was an old one:
//! the handshake of the older protocols, resource subscriptions, and whether the tool list is
//! still the one that the client has seen. The 2026-07-28 protocol has no handshake.

use serde_json::Value;
use serde_json::value::RawValue;

use super::lines::Line;
use super::message::{self, Id};
use crate::domain::limits::SUBSCRIPTIONS_MAX;

/// What the bridge itself asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// The client's `initialize`, again.
    Initialize,
    /// One of the client's `resources/subscribe`, again.
    Subscribe,
    /// The tool list, to compare.
    Tools,
}

/// The client's side of a conversation, as far as it outlives a connection.
#[derive(Debug, Default)]
pub(super) struct Replay {
    initialize: Option<Box<RawValue>>,
    is_initialized: bool,
    subscriptions: Vec<Subscription>,
    tools: Option<Tools>,
    /// Requests of the bridge without an answer on this connection.
    own: Vec<(Id, Own)>,
    n_own: u64,
}

#[derive(Debug)]
struct Subscription {
    uri: Value,
    params: Box<RawValue>,
}

/// The tool list that the client has, and how it asked.
#[derive(Debug)]
struct Tools {
    params: Option<Box<RawValue>>,
    list: Value,
}

impl Replay {
    /// Notes the handshake of an older protocol, and that the client begins anew with it.
    pub(super) fn begin(&mut self, params: Option<&RawValue>) {
        *self = Self { n_own: self.n_own, ..Self::default() };
        self.initialize = params.map(ToOwned::to_owned);
    }

    /// Whether the client speaks an older protocol.
    pub(super) const fn is_legacy(&self) -> bool {
        self.initialize.is_some()
    }

    /// Notes the end of that handshake.
    pub(super) const fn initialized(&mut self) {
        self.is_initialized = true;
    }

    /// Whether one more subscription can be remembered.
    pub(super) const fn has_room(&self) -> bool {
        self.subscriptions.len() < SUBSCRIPTIONS_MAX
    }

    /// Notes what follows for later connections from a request and its result.
    pub(super) fn answered(&mut self, method: &str, params: Option<&RawValue>, result: &RawValue) {
        match method {
            "resources/subscribe" | "resources/unsubscribe" => {
                let (Some(uri), Some(params)) = (message::field(params, "uri"), params) else {
                    return;
                };
                self.subscriptions.retain(|subscription| subscription.uri != uri);
                if method == "resources/subscribe" && self.has_room() {
                    self.subscriptions.push(Subscription { uri, params: params.to_owned() });
                }
            }
            "tools/list" if message::field(params, "cursor").is_none() => {
                if let Some(list) = message::field(Some(result), "tools") {
                    let params = params.map(ToOwned::to_owned);
                    self.tools = Some(Tools { params, list });
                }
            }
            _ => {}
        }
    }

    /// What to say first on a new connection. With `is_initializing` the client's own `initialize`
    /// is still unanswered and is sent again as it is.
    pub(super) fn opening(&mut self, is_initializing: bool) -> Vec<Line> {
        self.own.clear();
        let mut lines = Vec::new();
        if is_initializing {
            return lines;
        }
        if let Some(params) = self.initialize.clone() {
            lines.push(self.ask(Own::Initialize, "initialize", Some(&params)));
            if !self.is_initialized {
                return lines;
            }
            lines.push(message::notification("notifications/initialized", None));
        }
        let subscriptions = std::mem::take(&mut self.subscriptions);
        for Subscription { params, .. } in &subscriptions {
            lines.push(self.ask(Own::Subscribe, "resources/subscribe", Some(params)));
        }
        self.subscriptions = subscriptions;
        if let Some(tools) = self.tools.take() {
            lines.push(self.ask(Own::Tools, "tools/list", tools.params.as_deref()));
            self.tools = Some(tools);
        }
        lines
    }

    /// Takes the answer to a request of the bridge. `None`: it is not one.
    pub(super) fn own(&mut self, id: &Id) -> Option<Own> {
        let at = self.own.iter().position(|(own, _)| own == id)?;
        Some(self.own.swap_remove(at).1)
    }

    /// Whether `result`, the daemon's tool list, differs from the one that the client has. It
    /// counts as seen from now on.
    pub(super) fn tools_differ(&mut self, result: &RawValue) -> bool {
        match (&mut self.tools, message::field(Some(result), "tools")) {
            (Some(seen), Some(list)) if seen.list != list => {
                seen.list = list;
                true
            }
            _ => false,
        }
    }

    fn ask(&mut self, own: Own, method: &str, params: Option<&RawValue>) -> Line {
        self.n_own += 1;
        let id = Id::Text(format!("recalld-bridge-{}", self.n_own));
        let line = message::request(&id, method, params);
        self.own.push((id, own));
        line
    }
}
