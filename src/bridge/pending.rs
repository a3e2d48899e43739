//! The requests of the client that have no answer yet, in the order in which they came.

use std::collections::VecDeque;

use tokio::time::Instant;

use super::lines::Line;
use super::message::{self, Id, PROTOCOL_VERSION, SUBSCRIPTION_ID};
use crate::domain::limits::CALLS_PER_CONNECTION_MAX;

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Pending {
    /// The client's id.
    pub(super) id: Id,
    /// Its method.
    pub(super) method: String,
    /// The line, as it is sent and sent again.
    pub(super) line: Line,
    /// When it came.
    pub(super) arrived: Instant,
    /// Whether it is of the 2026-07-28 protocol, whose results carry a type.
    pub(super) is_modern: bool,
    /// Whether it was sent on the present connection.
    pub(super) is_sent: bool,
    /// Times it went down with a connection.
    pub(super) n_lost: u32,
    /// Whether the offline answers were asked already.
    pub(super) is_offline_asked: bool,
    /// Set for `subscriptions/listen`, which stays open while the client listens.
    pub(super) listen: Option<Listen>,
}

/// What is known of an open listen request.
#[derive(Debug, Default)]
pub(super) struct Listen {
    /// Whether the client was told that it listens; a second acknowledgement is swallowed.
    pub(super) is_acknowledged: bool,
    /// Whether it asked for changes of the tool list.
    pub(super) wants_tools: bool,
    /// Its final answer and when it came. A daemon ends its listeners when it stops, and then the
    /// next daemon takes them over; only if the connection stays is the end meant.
    pub(super) end: Option<(Instant, Line)>,
}

impl Pending {
    /// A request that has just come. `line` is what will be sent, request key included.
    pub(super) fn new(
        id: Id,
        method: &str,
        params: Option<&serde_json::value::RawValue>,
        line: Line,
        arrived: Instant,
    ) -> Self {
        let listen = (method == "subscriptions/listen").then(|| Listen {
            wants_tools: message::field(params, "notifications")
                .and_then(|filter| filter.get("toolsListChanged")?.as_bool())
                .unwrap_or(false),
            ..Listen::default()
        });
        Self {
            id,
            method: method.to_owned(),
            line,
            arrived,
            is_modern: message::meta(params, PROTOCOL_VERSION).is_some(),
            is_sent: false,
            n_lost: 0,
            is_offline_asked: false,
            listen,
        }
    }

    /// The answer that says that this request failed, in the form its method calls for.
    pub(super) fn failure(&self, text: &str) -> Line {
        if self.method == "tools/call" {
            message::tool_failure(&self.id, self.is_modern, text)
        } else {
            message::error(Some(&self.id), message::INTERNAL_ERROR, text)
        }
    }

    /// The notification that the tool list changed, if this is a listener who wants to know.
    pub(super) fn tools_changed(&self) -> Option<Line> {
        let listen = self.listen.as_ref().filter(|listen| listen.wants_tools)?;
        listen.is_acknowledged.then(|| {
            let params = serde_json::json!({ "_meta": { SUBSCRIPTION_ID: self.id.to_value() } });
            message::notification("notifications/tools/list_changed", Some(&params))
        })
    }
}

/// All requests without an answer. Open listens are apart in every count: they are no work.
#[derive(Debug, Default)]
pub(super) struct Unanswered(VecDeque<Pending>);

impl Unanswered {
    /// Adds the newest.
    pub(super) fn push(&mut self, pending: Pending) {
        self.0.push_back(pending);
    }

    /// The request of this id.
    pub(super) fn get_mut(&mut self, id: &Id) -> Option<&mut Pending> {
        self.0.iter_mut().find(|pending| pending.id == *id)
    }

    /// Takes out the request of this id.
    pub(super) fn remove(&mut self, id: &Id) -> Option<Pending> {
        let at = self.0.iter().position(|pending| pending.id == *id)?;
        self.0.remove(at)
    }

    /// Takes out those that `is_done` names.
    pub(super) fn extract(&mut self, is_done: impl Fn(&Pending) -> bool) -> Vec<Pending> {
        let (done, left) = std::mem::take(&mut self.0).into_iter().partition(is_done);
        self.0 = left;
        Vec::from(done)
    }

    /// All, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.0.iter()
    }

    /// All, oldest first.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Pending> {
        self.0.iter_mut()
    }

    /// Whether this id is taken.
    pub(super) fn contains(&self, id: &Id) -> bool {
        self.0.iter().any(|pending| pending.id == *id)
    }

    /// Open listen requests.
    pub(super) fn n_listens(&self) -> usize {
        self.0.iter().filter(|pending| pending.listen.is_some()).count()
    }

    /// Calls, which is everything else.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Pending> {
        self.0.iter().filter(|pending| pending.listen.is_none())
    }

    /// Marks as sent, and returns, the lines that may go out now, in order: listens, and calls up
    /// to [`CALLS_PER_CONNECTION_MAX`] in flight.
    pub(super) fn take_sendable(&mut self) -> Vec<Line> {
        let n_in_flight = self.calls().filter(|call| call.is_sent).count();
        let mut n_free = CALLS_PER_CONNECTION_MAX.saturating_sub(n_in_flight);
        let mut lines = Vec::new();
        for pending in self.0.iter_mut().filter(|pending| !pending.is_sent) {
            if pending.listen.is_none() {
                if n_free == 0 {
                    continue;
                }
                n_free -= 1;
            }
            pending.is_sent = true;
            lines.push(pending.line.clone());
        }
        lines
    }
}
