//! One client's conversation across any number of connections to the daemon. Pure: lines and time
//! come in as arguments, lines to be written go into the two outboxes.
//!
//! The promise: every request gets exactly one answer. A request leaves [`Unanswered`] in the same
//! step in which its answer goes to the client, and an answer whose request is not there is
//! dropped.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;
use uuid::Uuid;

use super::Offline;
use super::lines::{Line, Outbox};
use super::message::{self, INVALID_REQUEST, Id, Message, SUBSCRIPTION_ID};
use super::pending::{Pending, Unanswered};
use super::replay::{Own, Replay};
use crate::domain::limits::{
    BRIDGE_DRAIN_WAIT, CALLS_WAITING_BYTES_MAX, CALLS_WAITING_MAX, DIAL_WAIT_MAX, LISTENS_MAX,
    OFFLINE_AFTER, OUTBOX_BYTES_MAX, RESENDS_MAX, SILENT_AFTER, UNREACHABLE_AFTER,
};

/// See the module.
pub(super) struct Session {
    /// Lines for the client.
    pub(super) to_client: Outbox,
    /// Lines for the daemon, on the present connection.
    pub(super) to_daemon: Outbox,
    hello: Line,
    offline: Arc<dyn Offline>,
    reach: Reach,
    replay: Replay,
    unanswered: Unanswered,
}

/// Whether the daemon can be reached, and since when not.
#[derive(Debug)]
struct Reach {
    is_up: bool,
    connected_at: Instant,
    /// Whether this connection has brought a line.
    has_spoken: bool,
    lost_at: Instant,
}

impl Reach {
    /// When the offline answers are asked for this request, if they were not yet.
    fn offline_at(&self, pending: &Pending) -> Option<Instant> {
        if pending.is_offline_asked {
            return None;
        }
        match (self.is_up, self.has_spoken) {
            (false, _) => Some(self.lost_at + OFFLINE_AFTER),
            (true, false) => Some(self.connected_at.max(pending.arrived) + SILENT_AFTER),
            (true, true) => None,
        }
    }
}

impl Session {
    /// A conversation that has not begun, without a connection since `now`. `hello` opens each
    /// connection.
    pub(super) fn new(hello: Line, offline: Arc<dyn Offline>, now: Instant) -> Self {
        Self {
            to_client: Outbox::default(),
            to_daemon: Outbox::default(),
            hello,
            offline,
            reach: Reach { is_up: false, connected_at: now, has_spoken: false, lost_at: now },
            replay: Replay::default(),
            unanswered: Unanswered::default(),
        }
    }

    /// Whether another line of the client can be taken. While it cannot, the client waits in its
    /// own write, and a cancellation waits with it: this happens only with [`CALLS_WAITING_MAX`]
    /// calls behind [`CALLS_PER_CONNECTION_MAX`](crate::domain::limits::CALLS_PER_CONNECTION_MAX)
    /// in flight, and ends with the next answer.
    pub(super) fn has_room(&self) -> bool {
        let n_waiting = self.unanswered.calls().filter(|call| !call.is_sent).count();
        let n_bytes: usize = self.unanswered.calls().map(|call| call.line.len()).sum();
        n_waiting < CALLS_WAITING_MAX
            && n_bytes < CALLS_WAITING_BYTES_MAX
            && self.to_daemon.n_bytes() < OUTBOX_BYTES_MAX
            && self.client_keeps_up()
    }

    /// Whether the client reads what it gets.
    pub(super) const fn client_keeps_up(&self) -> bool {
        self.to_client.n_bytes() < OUTBOX_BYTES_MAX
    }

    /// Whether somebody waits for the daemon.
    pub(super) fn wants_daemon(&self) -> bool {
        self.unanswered.calls().next().is_some()
    }

    /// Whether there is nothing left to do.
    pub(super) fn is_done(&self) -> bool {
        self.unanswered.iter().next().is_none()
            && self.to_client.is_empty()
            && (self.to_daemon.is_empty() || !self.reach.is_up)
    }

    /// Takes a line of the client.
    pub(super) fn client_line(&mut self, line: &[u8], now: Instant) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match message::parse(line) {
            Ok(Message::Request { id, method, params }) => {
                if let Err(answer) = self.request(&id, &method, params, line, now) {
                    self.to_client.push(answer);
                }
            }
            Ok(Message::Notification { method, params }) => {
                self.client_notification(&method, params, line);
            }
            Ok(Message::Response { .. }) => self.forward(line),
            Err(unusable) => self.to_client.push(unusable.answer()),
        }
        self.send();
    }

    /// Refuses a line of the client that was over the limit of `bytes_max`.
    pub(super) fn client_line_too_long(&mut self, id: Option<&Id>, bytes_max: usize) {
        let text = format!("the line is over the limit of {bytes_max} bytes");
        self.to_client.push(message::error(id, INVALID_REQUEST, &text));
    }

    /// The client will send nothing more; open listens end with it.
    pub(super) fn client_closed(&mut self) {
        self.unanswered.extract(|pending| pending.listen.is_some());
    }

    /// Takes a line of the daemon.
    pub(super) fn daemon_line(&mut self, line: &[u8], now: Instant) {
        self.reach.has_spoken = true;
        match message::parse(line) {
            Ok(Message::Response { id, result }) => self.answer(&id, result, line, now),
            Ok(Message::Notification { method, params }) => {
                if !self.is_repeated_acknowledgement(&method, params) {
                    self.to_client.push(message::line(line));
                }
            }
            Ok(Message::Request { .. }) => self.to_client.push(message::line(line)),
            Err(unusable) => {
                tracing::warn!(error = unusable.why, "the daemon sent a line without meaning");
            }
        }
        self.send();
    }

    /// Fails the request whose answer was over the limit.
    pub(super) fn daemon_line_too_long(&mut self, id: Option<&Id>) {
        self.reach.has_spoken = true;
        if let Some(pending) = id.and_then(|id| self.unanswered.remove(id)) {
            self.to_client.push(pending.failure("the daemon's answer was too long to pass on"));
        } else {
            tracing::warn!("the daemon sent an over-long line, dropped");
        }
        self.send();
    }

    /// A connection is there: says hello, repeats the handshake, sends again what is unanswered.
    pub(super) fn connected(&mut self, now: Instant) {
        self.reach = Reach {
            is_up: true,
            connected_at: now,
            has_spoken: false,
            lost_at: self.reach.lost_at,
        };
        self.to_daemon.clear();
        self.to_daemon.push(self.hello.clone());
        let is_initializing = self.unanswered.iter().any(|pending| pending.method == "initialize");
        for line in self.replay.opening(is_initializing) {
            self.to_daemon.push(line);
        }
        self.send();
    }

    /// The connection is gone. Returns whether it was of any use: one that ended at once, without
    /// a word, does not count as having reached the daemon, nor as an attempt at a request.
    pub(super) fn disconnected(&mut self, now: Instant) -> bool {
        let lasted = now.saturating_duration_since(self.reach.connected_at);
        let was_useful = self.reach.has_spoken || lasted >= DIAL_WAIT_MAX;
        self.reach.is_up = false;
        if was_useful {
            self.reach.lost_at = now;
        }
        self.to_daemon.clear();
        for pending in self.unanswered.iter_mut().filter(|pending| pending.is_sent) {
            pending.is_sent = false;
            match &mut pending.listen {
                Some(listen) => listen.end = None,
                None => pending.n_lost += u32::from(was_useful),
            }
        }
        for pending in self.unanswered.extract(|pending| pending.n_lost > RESENDS_MAX) {
            let n_lost = pending.n_lost;
            tracing::warn!(method = pending.method, n_lost, "gave up on a request");
            self.to_client.push(pending.failure(&format!(
                "the memory daemon went away {n_lost} times while it worked on this; whether it \
                 was done is unknown"
            )));
        }
        was_useful
    }

    /// Does what is due at `now`. `why` says why the daemon cannot be reached.
    pub(super) fn tick(&mut self, now: Instant, why: impl Fn() -> String) {
        let ended =
            self.unanswered.extract(|pending| listen_ends_at(pending).is_some_and(|at| at <= now));
        for (_, line) in ended.into_iter().filter_map(|pending| pending.listen?.end) {
            self.to_client.push(line);
        }
        self.answer_offline(now);
        if self.reach.is_up {
            return;
        }
        let lost_at = self.reach.lost_at;
        let failed = |pending: &Pending| fails_at(lost_at, pending).is_some_and(|at| at <= now);
        for pending in self.unanswered.extract(failed) {
            self.to_client.push(pending.failure(&why()));
        }
    }

    /// When [`Self::tick`] has something to do next.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.unanswered
            .iter()
            .flat_map(|pending| {
                let fails_at = fails_at(self.reach.lost_at, pending);
                [
                    self.reach.offline_at(pending),
                    fails_at.filter(|_| !self.reach.is_up),
                    listen_ends_at(pending),
                ]
            })
            .flatten()
            .min()
    }

    /// Time since the daemon was lost, if it is.
    pub(super) fn lost_for(&self, now: Instant) -> Option<Duration> {
        (!self.reach.is_up).then(|| now.saturating_duration_since(self.reach.lost_at))
    }

    /// Answers everything that is left with a failure.
    pub(super) fn give_up(&mut self, why: &str) {
        for pending in self.unanswered.extract(|_| true) {
            self.to_client.push(pending.failure(why));
        }
    }

    /// Takes a request; the error is the answer that refuses it.
    fn request(
        &mut self,
        id: &Id,
        method: &str,
        params: Option<&RawValue>,
        line: &[u8],
        now: Instant,
    ) -> Result<(), Line> {
        let refuse = |why: &str| message::error(Some(id), INVALID_REQUEST, why);
        if self.unanswered.contains(id) {
            return Err(refuse("a request with this id is still in flight"));
        }
        message::check_whole(line, id).map_err(|unusable| unusable.answer())?;
        match method {
            "initialize" => self.replay.begin(params),
            "resources/subscribe" if !self.replay.has_room() => {
                return Err(refuse("too many resource subscriptions"));
            }
            "subscriptions/listen" if self.unanswered.n_listens() >= LISTENS_MAX => {
                return Err(refuse("too many open subscriptions"));
            }
            _ => {}
        }
        let line = match params {
            Some(params) if method == "tools/call" => {
                let key = Uuid::new_v4().to_string();
                message::line(&message::with_request_key(line, params, &key))
            }
            _ => message::line(line),
        };
        self.unanswered.push(Pending::new(id.clone(), method, params, line, now));
        Ok(())
    }

    fn client_notification(&mut self, method: &str, params: Option<&RawValue>, line: &[u8]) {
        match method {
            "notifications/initialized" => self.replay.initialized(),
            "notifications/cancelled" => {
                // A cancelled request gets no answer, and one that was not sent yet never existed
                // for the daemon.
                let cancelled = message::field(params, "requestId")
                    .and_then(|id| self.unanswered.remove(&Id::from_value(&id)?));
                if cancelled.is_some_and(|pending| !pending.is_sent) {
                    return;
                }
            }
            _ => {}
        }
        self.forward(line);
    }

    /// Passes on what needs no answer; without a connection it has lost its meaning.
    fn forward(&mut self, line: &[u8]) {
        if self.reach.is_up {
            self.to_daemon.push(message::line(line));
        }
    }

    fn send(&mut self) {
        if self.reach.is_up {
            for line in self.unanswered.take_sendable() {
                self.to_daemon.push(line);
            }
        }
    }

    fn answer(&mut self, id: &Id, result: Option<&RawValue>, line: &[u8], now: Instant) {
        if let Some(own) = self.replay.own(id) {
            self.own_answer(own, result);
            return;
        }
        let Some(pending) = self.unanswered.get_mut(id).filter(|pending| pending.is_sent) else {
            tracing::debug!(%id, "dropped an answer nobody waits for");
            return;
        };
        if let (Some(listen), Some(_)) = (&mut pending.listen, result) {
            listen.end = Some((now, message::line(line)));
            return;
        }
        if let Some(result) = result {
            note_answer(&mut self.replay, pending, result);
        }
        self.unanswered.remove(id);
        self.to_client.push(message::line(line));
    }

    fn own_answer(&mut self, own: Own, result: Option<&RawValue>) {
        let Some(result) = result else {
            tracing::warn!(?own, "the daemon refused what was repeated after a reconnect");
            return;
        };
        if own != Own::Tools || !self.replay.tools_differ(result) {
            return;
        }
        tracing::info!("the tool list changed with the daemon");
        if self.replay.is_legacy() {
            self.to_client.push(message::notification("notifications/tools/list_changed", None));
            return;
        }
        for line in self.unanswered.iter().filter_map(Pending::tools_changed) {
            self.to_client.push(line);
        }
    }

    /// Whether this tells a listener once more that it listens; notes the first time.
    fn is_repeated_acknowledgement(&mut self, method: &str, params: Option<&RawValue>) -> bool {
        if method != "notifications/subscriptions/acknowledged" {
            return false;
        }
        message::meta(params, SUBSCRIPTION_ID)
            .and_then(|id| self.unanswered.get_mut(&Id::from_value(&id)?)?.listen.as_mut())
            .is_some_and(|listen| std::mem::replace(&mut listen.is_acknowledged, true))
    }

    /// Answers what needs no daemon for those who waited for one long enough. Should the daemon
    /// answer too, that comes too late and is dropped.
    fn answer_offline(&mut self, now: Instant) {
        let mut answered = Vec::new();
        for pending in self.unanswered.iter_mut() {
            if self.reach.offline_at(pending).is_none_or(|at| at > now) {
                continue;
            }
            pending.is_offline_asked = true;
            if pending.method == "tools/call" {
                continue;
            }
            let params = params_of(&pending.line);
            if let Some(result) = self.offline.answer(&pending.method, params) {
                if let Ok(result) = serde_json::value::to_raw_value(&result) {
                    note_answer(&mut self.replay, pending, &result);
                }
                answered.push((pending.id.clone(), result));
            }
        }
        for (id, result) in answered {
            self.unanswered.remove(&id);
            self.to_client.push(message::result(&id, &result));
        }
    }
}

fn params_of(line: &[u8]) -> Option<&RawValue> {
    match message::parse(line) {
        Ok(Message::Request { params, .. }) => params,
        _ => None,
    }
}

fn note_answer(replay: &mut Replay, pending: &Pending, result: &RawValue) {
    if matches!(
        pending.method.as_str(),
        "tools/list" | "resources/subscribe" | "resources/unsubscribe"
    ) {
        replay.answered(&pending.method, params_of(&pending.line), result);
    }
}

/// When the client is told that its listen ended, if it did.
fn listen_ends_at(pending: &Pending) -> Option<Instant> {
    let (came_at, _) = pending.listen.as_ref()?.end.as_ref()?;
    Some(*came_at + BRIDGE_DRAIN_WAIT)
}

/// When a request fails, with the daemon gone since `lost_at`: each gets at least one attempt, and
/// an open listen outlasts any outage.
fn fails_at(lost_at: Instant, pending: &Pending) -> Option<Instant> {
    let is_open = pending.listen.as_ref().is_some_and(|listen| listen.is_acknowledged);
    (!is_open).then(|| (lost_at + UNREACHABLE_AFTER).max(pending.arrived + DIAL_WAIT_MAX))
}
