//! One connection as rmcp sees it: messages in, messages out.
//!
//! rmcp's own line transport drops what it cannot read; here every request gets an answer. A line
//! that is too long, is no JSON, or is no request is answered on the spot, with its id where that
//! can be told. A peer that does not read its answers is not read from either.

use std::collections::HashSet;
use std::convert::Infallible;
use std::future::Future;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::lines::{Line, LineReader};
use crate::domain::limits::{LINE_BYTES_MAX, UNSENT_BYTES_MAX};

/// Byte order mark, which a JSON parser may ignore (RFC 8259, 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The two halves of a connection, framed.
pub(super) struct LineTransport<R> {
    lines: LineReader<R>,
    first: Option<Line>,
    answers: Option<mpsc::UnboundedSender<Vec<u8>>>,
    unsent_bytes: watch::Sender<usize>,
    writer: JoinHandle<()>,
    in_flight: HashSet<RequestId>,
    has_request: bool,
    life: Life,
}

/// What ends a connection.
#[derive(Clone)]
pub(super) struct Life {
    /// Cancelled to stop gracefully: nothing more is read, as if the peer had finished.
    pub(super) stop: CancellationToken,
    /// Cancelled to stop at once: answers that the peer does not take are dropped.
    pub(super) kill: CancellationToken,
    /// Cancelled by the transport when it reads nothing more.
    pub(super) ended: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    /// Frames a connection whose first line may have been read already.
    pub(super) fn new(
        lines: LineReader<R>,
        first: Option<Line>,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        life: Life,
    ) -> Self {
        let (answers, queue) = mpsc::unbounded_channel();
        let (unsent_bytes, _) = watch::channel(0);
        let writer = tokio::spawn(write_answers(writer, queue, unsent_bytes.clone()));
        Self {
            lines,
            first,
            answers: Some(answers),
            unsent_bytes,
            writer,
            in_flight: HashSet::new(),
            has_request: false,
            life,
        }
    }

    /// The next line once the peer has read enough of its answers; `None` when there will be none.
    async fn next_line(&mut self) -> Option<Line> {
        let mut unsent_bytes = self.unsent_bytes.subscribe();
        let answers = self.answers.clone()?;
        let next = async {
            unsent_bytes.wait_for(|n_bytes| *n_bytes < UNSENT_BYTES_MAX).await.ok()?;
            match self.first.take() {
                Some(line) => Some(line),
                None => self.lines.next().await.ok().flatten(),
            }
        };
        tokio::select! {
            biased;
            () = self.life.stop.cancelled() => None,
            () = answers.closed() => None,
            line = next => line,
        }
    }

    /// Queues a message. Its size is bounded by the cap on results, their number by the calls in
    /// flight and by [`UNSENT_BYTES_MAX`], past which nothing more is read.
    fn queue(&self, message: &ServerJsonRpcMessage) {
        let Ok(mut bytes) = serde_json::to_vec(message) else { return };
        bytes.push(b'\n');
        let n_bytes = bytes.len();
        let Some(answers) = &self.answers else { return };
        // Counted before it is queued: the writer may take it off the count at once.
        self.unsent_bytes.send_modify(|unsent| *unsent += n_bytes);
        if answers.send(bytes).is_err() {
            self.unsent_bytes.send_modify(|unsent| *unsent -= n_bytes);
        }
    }

    /// What to hand to rmcp of a line, after answering what it could not handle.
    fn accept(&mut self, line: Line) -> Option<ClientJsonRpcMessage> {
        let incoming = match line {
            Line::TooLong { id } => {
                Incoming::refused(format!("a line has at most {LINE_BYTES_MAX} bytes"), id)
            }
            Line::Whole(bytes) => read(&bytes),
        };
        match incoming {
            Incoming::Message(message) => return self.admit(*message),
            Incoming::Nothing => {}
            Incoming::Refused(error, id) => self.queue(&ServerJsonRpcMessage::error(error, id)),
        }
        None
    }

    fn admit(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Request(request) => {
                self.has_request = true;
                if !self.in_flight.insert(request.id.clone()) {
                    let reason = format!("a request with the id {} is in flight", request.id);
                    self.queue(&ServerJsonRpcMessage::error(
                        invalid(reason),
                        Some(request.id.clone()),
                    ));
                    return None;
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // rmcp sends no answer to a cancelled request.
                    self.in_flight.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        // Before the first request rmcp would close the connection over anything else.
        self.has_request.then_some(message)
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for LineTransport<R> {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.in_flight.remove(id);
        }
        self.queue(&message);
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(line) = self.next_line().await else {
                if !self.has_request {
                    // rmcp drops a connection that asked for nothing, with what was refused on it.
                    self.close().await.unwrap_or_else(|never| match never {});
                }
                self.life.ended.cancel();
                return None;
            };
            if let Some(message) = self.accept(line) {
                return Some(message);
            }
        }
    }

    /// Waits until everything queued is written.
    async fn close(&mut self) -> Result<(), Infallible> {
        self.answers = None;
        tokio::select! {
            _ = &mut self.writer => {}
            () = self.life.kill.cancelled() => self.writer.abort(),
        }
        Ok(())
    }
}

impl<R> Drop for LineTransport<R> {
    fn drop(&mut self) {
        self.life.ended.cancel();
        self.writer.abort();
    }
}

/// Writes what is queued until the queue or the peer ends.
async fn write_answers(
    mut writer: impl AsyncWrite + Unpin,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    unsent_bytes: watch::Sender<usize>,
) {
    while let Some(bytes) = queue.recv().await {
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
        unsent_bytes.send_modify(|unsent| *unsent -= bytes.len());
    }
    drop(writer.shutdown().await);
}

/// What a line comes to.
enum Incoming {
    /// Something for rmcp.
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing that asks for an answer.
    Nothing,
    /// A request that cannot be handled, and its id where that can be told.
    Refused(ErrorData, Option<RequestId>),
}

impl Incoming {
    fn refused(reason: impl Into<String>, id: Option<RequestId>) -> Self {
        Self::Refused(invalid(reason), id)
    }
}

/// Reads a line.
fn read(line: &[u8]) -> Incoming {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Incoming::Nothing;
    }
    match serde_json::from_slice(line) {
        Ok(message) => Incoming::Message(Box::new(message)),
        Err(reason) => diagnose(line, &reason),
    }
}

/// What is wrong with a line that is no message: a second look, without rmcp's types.
fn diagnose(line: &[u8], reason: &serde_json::Error) -> Incoming {
    let value = match serde_json::from_slice::<Value>(line) {
        Ok(value) => value,
        Err(syntax) => {
            return Incoming::Refused(
                ErrorData::parse_error(format!("not JSON: {syntax}"), None),
                None,
            );
        }
    };
    if value.is_array() {
        return Incoming::refused("no batches: send each message on a line of its own", None);
    }
    let has = |key| value.get(key).is_some();
    let is_notification = has("method") && !has("id");
    let is_answer = !has("method") && (has("result") || has("error"));
    if is_notification || is_answer {
        return Incoming::Nothing;
    }
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    Incoming::refused(format!("not a JSON-RPC 2.0 request: {reason}"), id)
}

fn invalid(reason: impl Into<String>) -> ErrorData {
    ErrorData::invalid_request(reason.into(), None)
}

#[cfg(test)]
mod tests {
    use rmcp::model::ServerResult;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn a_peer_that_takes_no_answers_is_not_read_from() {
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let (mut peer, writer) = tokio::io::duplex(16);
        let token = CancellationToken::new;
        let life = Life { stop: token(), kill: token(), ended: token() };
        let lines = LineReader::new(line.as_slice());
        let mut transport = LineTransport::new(lines, None, writer, life);
        let answer =
            || ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(0));
        let n_bytes = serde_json::to_vec(&answer()).unwrap().len() + 1;
        let n_answers = UNSENT_BYTES_MAX / n_bytes + 1;
        for _ in 0..n_answers {
            transport.send(answer()).await.unwrap();
        }
        assert!(futures::poll!(std::pin::pin!(transport.receive())).is_pending());
        let mut taken = vec![0; n_answers * n_bytes];
        peer.read_exact(&mut taken).await.unwrap();
        assert!(transport.receive().await.is_some());
    }
}
