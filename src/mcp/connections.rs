//! Accepts connections, counts them, serves each until it ends, and stops them all gracefully.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::{ErrorCode, ErrorData, ServerJsonRpcMessage};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Shared;
use super::control::SocketLook;
use super::error::forbidden;
use super::handler::Handler;
use super::hello::{Hello, Identity, Refused, Uids};
use super::lines::{Line, LineReader};
use super::socket::Socket;
use super::transport::{Life, LineTransport};
use crate::domain::limits::HELLO_WAIT;

/// Pause after a failed accept: with no descriptor left, an immediate retry would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Time between two looks at the file of the socket.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time for connections that were cut off at the end of the grace.
const KILL_WAIT: Duration = Duration::from_secs(1);

/// See [`super::Server::serve`].
pub(super) async fn serve(mut socket: Socket, shared: Arc<Shared>, stop: CancellationToken) {
    let own = rustix::process::geteuid().as_raw();
    let tasks = TaskTracker::new();
    let kill = CancellationToken::new();
    let mut is_failing = false;
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = shared.control.asked_for_life() => continue,
            _ = looks.tick() => {
                shared.control.note_socket(look_after(&mut socket));
                continue;
            }
            accepted = socket.listener().accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                if !is_failing {
                    tracing::warn!(%error, "connections cannot be accepted");
                }
                is_failing = true;
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = sleep(ACCEPT_PAUSE) => continue,
                }
            }
        };
        if std::mem::take(&mut is_failing) {
            tracing::info!("connections are accepted again");
        }
        let Some((uids, place)) = admit(&shared, own, &stream) else { continue };
        let life =
            Life { stop: stop.child_token(), kill: kill.clone(), ended: CancellationToken::new() };
        let shared = Arc::clone(&shared);
        tasks.spawn(async move {
            let kill = life.kill.clone();
            tokio::select! {
                () = connection(stream, uids, shared, life) => {}
                () = kill.cancelled() => {}
            }
            drop(place);
        });
    }
    drop(socket);
    tasks.close();
    let grace = shared.settings.borrow().grace;
    if timeout(grace, tasks.wait()).await.is_err() {
        tracing::warn!(n_items = tasks.len(), "connections cut off at the end of the grace");
        kill.cancel();
        if timeout(KILL_WAIT, tasks.wait()).await.is_err() {
            tracing::error!(n_items = tasks.len(), "connections did not end");
        }
    }
}

/// Sees to it that who looks for the socket finds it.
fn look_after(socket: &mut Socket) -> SocketLook {
    match socket.mend() {
        Ok(false) => SocketLook::InPlace,
        Ok(true) => SocketLook::MadeAgain,
        Err(error) => SocketLook::Gone(error.to_string()),
    }
}

/// Whether a peer may connect: the daemon's own user, and those the configuration names.
pub(super) fn is_admitted(peer: u32, own: u32, allow_uids: &[u32]) -> bool {
    peer == own || allow_uids.contains(&peer)
}

/// Checks the peer and takes a place for it. Who is turned away learns why, and nothing else.
fn admit(shared: &Arc<Shared>, own: u32, stream: &UnixStream) -> Option<(Uids, Place)> {
    let peer = match stream.peer_cred() {
        Ok(peer) => peer.uid(),
        Err(error) => {
            tracing::warn!(%error, "peer unknown, connection dropped");
            return None;
        }
    };
    if !is_admitted(peer, own, &shared.settings.borrow().allow_uids) {
        tracing::warn!(uid = peer, "uid not allowed, connection dropped");
        turn_away(stream, format!("uid {peer} is not among server.allow_uids of this daemon"));
        return None;
    }
    let most = shared.settings.borrow().connections_per_uid_max;
    let place = shared.connections.enter(peer, most);
    if place.is_none() {
        tracing::warn!(uid = peer, most, "too many connections, one dropped");
        turn_away(stream, format!("uid {peer} has {most} connections already"));
    }
    Some((Uids { own, peer }, place?))
}

/// Tells a peer why it is not served.
fn turn_away(stream: &UnixStream, reason: String) {
    let refusal = ErrorData::new(ErrorCode(-32_000), reason, None);
    // A fresh socket has room for one line; if not, the peer sees the end of the stream.
    drop(stream.try_write(&line(refusal)));
}

/// One connection from its first line to its end.
pub(super) async fn connection(stream: UnixStream, uids: Uids, shared: Arc<Shared>, life: Life) {
    let (reader, writer) = stream.into_split();
    let mut lines = LineReader::new(reader);
    let first = tokio::select! {
        () = life.stop.cancelled() => return,
        first = timeout(HELLO_WAIT, lines.next()) => first,
    };
    let Ok(Ok(Some(first))) = first else {
        tracing::debug!(uid = uids.peer, "connection ended before its first line");
        return;
    };
    let (hello, first) = match greet(first) {
        Ok(greeted) => greeted,
        Err(refused) => return refuse(writer, &refused).await,
    };
    let identity = hello
        .check_store(&shared.state_dir)
        .and_then(|()| Identity::new(uids, hello, Arc::clone(&shared.access)));
    let identity = match identity {
        Ok(identity) => identity,
        Err(refused) => return refuse(writer, &refused).await,
    };
    let handler = Handler::new(shared, identity, life.ended.clone());
    let kill = life.kill.clone();
    let transport = LineTransport::new(lines, first, writer, life);
    // rmcp cancels the token it is given when the connection ends.
    match handler.serve_with_ct(transport, kill.child_token()).await {
        Ok(running) => {
            // A stop that is forced cancels what is left; that is no failure of the connection.
            if let Err(error) = running.waiting().await
                && !error.is_cancelled()
            {
                tracing::error!(%error, "connection failed");
            }
        }
        Err(error) => tracing::debug!(%error, "connection ended before its first request"),
    }
}

/// Splits the first line into a hello and what is left to handle.
fn greet(first: Line) -> Result<(Hello, Option<Line>), Refused> {
    if let Line::Whole(bytes) = &first
        && let Some(hello) = Hello::read(bytes)?
    {
        return Ok((hello, None));
    }
    Ok((Hello::default(), Some(first)))
}

async fn refuse(mut writer: OwnedWriteHalf, refused: &Refused) {
    tracing::warn!(error = %refused, "connection refused");
    let written: io::Result<()> = async {
        writer.write_all(&line(forbidden(refused))).await?;
        writer.shutdown().await
    }
    .await;
    if let Err(error) = written {
        tracing::debug!(%error, "refusal not delivered");
    }
}

fn line(error: ErrorData) -> Vec<u8> {
    let mut line =
        serde_json::to_vec(&ServerJsonRpcMessage::error(error, None)).unwrap_or_default();
    line.push(b'\n');
    line
}

/// How many connections each uid has.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections {
    by_uid: Arc<Mutex<HashMap<u32, usize>>>,
}

impl Connections {
    /// All that are open.
    pub(super) fn count(&self) -> usize {
        self.by_uid.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// Takes a place for `uid` if it has fewer than `most`.
    fn enter(&self, uid: u32, most: usize) -> Option<Place> {
        let mut by_uid = self.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        let count = by_uid.entry(uid).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        drop(by_uid);
        Some(Place { connections: self.clone(), uid })
    }
}

/// One connection among those of its uid, until it is dropped.
#[derive(Debug)]
struct Place {
    connections: Connections,
    uid: u32,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut by_uid = self.connections.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = by_uid.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                by_uid.remove(&self.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_uid_and_named_ones_are_admitted() {
        for (peer, expected) in [(1000, true), (1001, true), (0, false), (1002, false)] {
            assert_eq!(is_admitted(peer, 1000, &[1001]), expected, "{peer}");
        }
    }

    #[tokio::test]
    async fn who_is_turned_away_learns_why() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        turn_away(&ours, "uid 1002 is not among server.allow_uids".to_owned());
        drop(ours);
        let line = LineReader::new(theirs.into_split().0).next().await.unwrap().unwrap();
        let Line::Whole(line) = line else { panic!("{line:?}") };
        let told = String::from_utf8(line).unwrap();
        assert!(told.contains("\"error\"") && told.contains("server.allow_uids"), "{told}");
    }

    #[test]
    fn each_uid_has_its_own_places_and_gets_them_back() {
        let connections = Connections::default();
        let first = connections.enter(1, 2).unwrap();
        let _second = connections.enter(1, 2).unwrap();
        assert!(connections.enter(1, 2).is_none());
        let _other = connections.enter(2, 2).unwrap();
        assert_eq!(connections.count(), 3);
        drop(first);
        assert_eq!(connections.count(), 2);
        assert!(connections.enter(1, 2).is_some());
    }
}
