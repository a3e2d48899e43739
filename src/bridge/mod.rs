//! `recalld connect`: the stdio bridge between an agent and the daemon's socket.
//!
//! MCP clients rarely start a dead server again, so a daemon that restarts would cost every agent
//! its memory for the rest of its session. The bridge is what the client sees instead: it stays,
//! connects anew, repeats the handshake, sends unanswered requests again (each tool call under a
//! request key, so that it happens once), and answers for the daemon where that is absent. It reads
//! the envelope of each line and passes the bytes on as they came.
//!
//! It must not write anything but protocol lines to stdout, keep memory without bounds, or know
//! what a tool means. Shape: one task; `session` decides and is pure, this file does the I/O.

mod dialer;
mod lines;
mod message;
mod pending;
mod replay;
mod scan;
mod session;
mod start;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, sleep_until, timeout};

pub use self::start::{StartSettings, UnitSettings, detach};

use self::dialer::Dialer;
use self::lines::{Incoming, LineReader};
use self::session::Session;
use self::start::{StartError, Started};
use crate::domain::limits::{
    BRIDGE_DRAIN_WAIT, DIAL_WAIT_MAX, LINE_BYTES_MAX, REQUEST_KEY_ROOM, START_GRACE,
};
use crate::mcp::client::Hello;

/// What the bridge is told.
#[derive(Clone)]
pub struct BridgeSettings {
    /// The daemon's socket.
    pub socket: PathBuf,
    /// The agent's name; without one the daemon takes the name the client gives itself.
    pub agent: Option<String>,
    /// The secret that proves that name, where the daemon asks for one.
    pub token: Option<String>,
    /// The data directory whose store is meant, if only that one is.
    pub state_dir: Option<PathBuf>,
    /// How to start an absent daemon; `None` leaves that to others.
    pub start: Option<StartSettings>,
}

impl fmt::Debug for BridgeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BridgeSettings")
            .field("socket", &self.socket)
            .field("agent", &self.agent)
            .field("token", &self.token.as_ref().map(|_| "..."))
            .field("state_dir", &self.state_dir)
            .field("start", &self.start)
            .finish()
    }
}

/// Answers that need no daemon: what the program knows of itself.
pub trait Offline: Send + Sync {
    /// The result of a request, in the form of the protocol that `params` speak: the handshake
    /// (`initialize`, `server/discover`, `ping`) and the static lists. `None`: only the daemon
    /// knows. Never asked for `tools/call`.
    fn answer(&self, method: &str, params: Option<&RawValue>) -> Option<serde_json::Value>;
}

/// How a bridge ended. Both are the client's doing and no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client closed the bridge's stdin; what was in flight is answered.
    InputClosed,
    /// The client no longer reads.
    OutputClosed,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::InputClosed | Ending::OutputClosed => Self::SUCCESS,
        }
    }
}

/// Runs a bridge on the stdin and stdout of this process. Log lines go where the process's
/// `tracing` subscriber writes: it must be stderr.
///
/// # Errors
/// If the runtime cannot be set up.
pub fn run_stdio(settings: BridgeSettings, offline: Arc<dyn Offline>) -> io::Result<Ending> {
    // A write to a client that is gone is an error here and no signal: Rust's start-up code
    // ignores SIGPIPE.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ending = runtime.block_on(run(settings, offline, tokio::io::stdin(), tokio::io::stdout()));
    // The thread that reads stdin cannot be cancelled; waiting for it would be waiting for the
    // client.
    runtime.shutdown_background();
    Ok(ending)
}

/// Runs a bridge between a client and the daemon until the client is gone.
pub async fn run<R, W>(
    settings: BridgeSettings,
    offline: Arc<dyn Offline>,
    stdin: R,
    stdout: W,
) -> Ending
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let hello = Hello {
        agent: settings.agent.clone(),
        token: settings.token.clone(),
        state_dir: settings.state_dir.as_ref().map(|dir| dir.to_string_lossy().into_owned()),
        ..Hello::new()
    };
    let now = Instant::now();
    let bridge = Bridge {
        session: Session::new(message::line(hello.to_line().as_bytes()), offline, now),
        input: LineReader::new(stdin, CLIENT_LINE_BYTES_MAX),
        stdout,
        daemon_read: None,
        daemon_write: None,
        refusal: None,
        dialer: Dialer::new(settings, now),
        closes_at: None,
    };
    bridge.run().await
}

/// The daemon takes lines up to [`LINE_BYTES_MAX`] and drops longer ones without a word, so a line
/// must fit with its request key.
const CLIENT_LINE_BYTES_MAX: usize = LINE_BYTES_MAX - REQUEST_KEY_ROOM;

struct Bridge<R, W> {
    session: Session,
    input: LineReader<R>,
    stdout: W,
    daemon_read: Option<LineReader<OwnedReadHalf>>,
    daemon_write: Option<OwnedWriteHalf>,
    /// Why the daemon wants no connection with us, if it said so on the present one.
    refusal: Option<String>,
    dialer: Dialer,
    /// Set when the client closed its end: the latest time to leave.
    closes_at: Option<Instant>,
}

/// What the bridge waited for.
enum Event {
    Client(Incoming),
    Daemon(Incoming),
    WrittenToClient(io::Result<usize>),
    WrittenToDaemon(io::Result<usize>),
    Started(Result<Started, StartError>),
    Time,
}

impl<R, W> Bridge<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    async fn run(mut self) -> Ending {
        loop {
            let now = Instant::now();
            if self.daemon_read.is_none() && self.dialer.next_at <= now {
                self.dial(now).await;
            }
            self.session.tick(now, || self.dialer.why());
            if let Some(closes_at) = self.closes_at
                && (self.session.is_done() || closes_at <= now)
            {
                self.leave().await;
                return Ending::InputClosed;
            }
            match self.next_event().await {
                Event::Client(incoming) => self.client_sent(incoming),
                Event::Daemon(incoming) => self.daemon_sent(incoming),
                Event::WrittenToClient(Ok(n)) => self.session.to_client.advance(n),
                Event::WrittenToClient(Err(error)) => {
                    tracing::debug!(%error, "the client no longer reads");
                    return Ending::OutputClosed;
                }
                Event::WrittenToDaemon(Ok(n)) => self.session.to_daemon.advance(n),
                // What the daemon said before it went may still be read; the end comes there.
                Event::WrittenToDaemon(Err(error)) => {
                    tracing::debug!(%error, "the daemon no longer reads");
                    self.daemon_write = None;
                }
                Event::Started(result) => self.dialer.started(result, Instant::now()),
                Event::Time => {}
            }
        }
    }

    /// Waits for whatever comes first. Every branch may be dropped at any time without loss.
    async fn next_event(&mut self) -> Event {
        let takes_client = self.closes_at.is_none() && self.session.has_room();
        let takes_daemon = self.session.client_keeps_up();
        let dials_at = self.daemon_read.is_none().then_some(self.dialer.next_at);
        let wakes_at =
            [dials_at, self.session.next_tick(), self.closes_at].into_iter().flatten().min();
        tokio::select! {
            incoming = self.input.next(), if takes_client => Event::Client(incoming),
            incoming = next_from(&mut self.daemon_read), if takes_daemon => Event::Daemon(incoming),
            written = self.session.to_client.write_some(Some(&mut self.stdout)) => {
                Event::WrittenToClient(written)
            }
            written = self.session.to_daemon.write_some(self.daemon_write.as_mut()) => {
                Event::WrittenToDaemon(written)
            }
            result = self.dialer.starting() => Event::Started(result),
            () = until(wakes_at) => Event::Time,
        }
    }

    fn client_sent(&mut self, incoming: Incoming) {
        let now = Instant::now();
        match incoming {
            Incoming::Line(line) => self.session.client_line(&line, now),
            Incoming::TooLong(id) => {
                self.session.client_line_too_long(id.as_ref(), CLIENT_LINE_BYTES_MAX);
            }
            Incoming::End(rest) => {
                self.session.client_line(&rest, now);
                self.session.client_closed();
                self.closes_at = Some(now + BRIDGE_DRAIN_WAIT);
            }
        }
    }

    fn daemon_sent(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Line(line) => match message::refusal(&line) {
                Some(why) => self.refusal = Some(why),
                None => self.session.daemon_line(&line, Instant::now()),
            },
            Incoming::TooLong(id) => self.session.daemon_line_too_long(id.as_ref()),
            // Half a line has no meaning: its request is sent again.
            Incoming::End(_) => match self.refusal.take() {
                // To wait would not help: whoever asked is told at once.
                Some(why) => {
                    self.lost(&why);
                    self.session.give_up(&format!("the memory daemon refuses: {why}"));
                }
                None => self.lost("closed by the daemon"),
            },
        }
    }

    async fn dial(&mut self, now: Instant) {
        // On a Unix socket this never waits: it connects, or it fails at once.
        match UnixStream::connect(&self.dialer.settings.socket).await {
            Ok(stream) => {
                let (read, write) = stream.into_split();
                self.daemon_read = Some(LineReader::new(read, LINE_BYTES_MAX));
                self.daemon_write = Some(write);
                self.session.connected(now);
                tracing::debug!("connected");
            }
            Err(error) => {
                let is_wanted = self.dialer.is_first || self.session.wants_daemon();
                let lost_for = self.session.lost_for(now).unwrap_or_default();
                let may_start = is_wanted && (self.dialer.is_first || lost_for >= START_GRACE);
                self.dialer.failed(&error, may_start, now);
            }
        }
    }

    fn lost(&mut self, why: &str) {
        let now = Instant::now();
        self.daemon_read = None;
        self.daemon_write = None;
        let was_useful = self.session.disconnected(now);
        tracing::info!(why, "connection to the daemon lost");
        self.dialer.lost(why, was_useful, now);
    }

    /// Says what there is still to say, to a client that may no longer listen.
    async fn leave(mut self) {
        self.session.give_up("the client closed the connection before the memory daemon answered");
        let say = async {
            while !self.session.to_client.is_empty() {
                let n = self.session.to_client.write_some(Some(&mut self.stdout)).await?;
                self.session.to_client.advance(n);
            }
            self.stdout.flush().await
        };
        match timeout(DIAL_WAIT_MAX, say).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the client no longer reads"),
            Err(_) => tracing::debug!("the client does not read"),
        }
    }
}

async fn next_from(daemon: &mut Option<LineReader<OwnedReadHalf>>) -> Incoming {
    match daemon {
        Some(reader) => reader.next().await,
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
