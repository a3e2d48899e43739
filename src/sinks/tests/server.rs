//! A server that does with each request what a test says, and keeps what it got.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What is done with a request.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// It is answered.
    Answer {
        /// HTTP status.
        status: u16,
        /// More headers, each with its line end.
        headers: String,
        /// Body.
        body: String,
    },
    /// The head of an answer with this status comes, and half of its body, and nothing more.
    Stall(u16),
    /// It is read and never answered.
    Silence,
    /// It is read, and the connection reset.
    Reset,
    /// The connection is reset before anything is read.
    ResetAtOnce,
}

/// An answer without special headers.
pub(super) fn answer(status: u16, body: impl Into<String>) -> Act {
    Act::Answer { status, headers: String::new(), body: body.into() }
}

/// The server; it ends with the test.
pub(super) struct Server {
    /// `http://127.0.0.1:port`.
    pub(super) base: String,
    act: Arc<Mutex<Act>>,
    got: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Does `act` with every request from now on.
    pub(super) async fn that(act: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (act, got) = (Arc::new(Mutex::new(act)), Arc::new(Mutex::new(Vec::new())));
        let server = Self { base, act: Arc::clone(&act), got: Arc::clone(&got) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let act = act.lock().unwrap().clone();
                tokio::spawn(serve(stream, act, Arc::clone(&got)));
            }
        });
        server
    }

    /// Does something else from now on.
    pub(super) fn does(&self, act: Act) {
        *self.act.lock().unwrap() = act;
    }

    /// The requests since the last time, head and body.
    pub(super) fn got(&self) -> Vec<String> {
        std::mem::take(&mut *self.got.lock().unwrap())
    }
}

async fn serve(mut stream: TcpStream, act: Act, got: Arc<Mutex<Vec<String>>>) {
    if matches!(act, Act::ResetAtOnce) {
        stream.set_zero_linger().unwrap();
        return;
    }
    let Some(request) = read(&mut stream).await else { return };
    got.lock().unwrap().push(request);
    match act {
        Act::Answer { status, headers, body } => {
            let head = head(status, &headers, body.len());
            // A client that has read enough may be gone.
            drop(stream.write_all(format!("{head}{body}").as_bytes()).await);
            drop(stream.shutdown().await);
        }
        Act::Stall(status) => {
            drop(stream.write_all(format!("{}half", head(status, "", 8)).as_bytes()).await);
            until_gone(stream).await;
        }
        Act::Silence => until_gone(stream).await,
        Act::Reset | Act::ResetAtOnce => stream.set_zero_linger().unwrap(),
    }
}

fn head(status: u16, headers: &str, n_bytes: usize) -> String {
    format!("HTTP/1.1 {status} Status\r\n{headers}Content-Length: {n_bytes}\r\n\r\n")
}

/// Waits until the client gives up, but not for ever.
async fn until_gone(mut stream: TcpStream) {
    let mut rest = [0; 64];
    drop(tokio::time::timeout(Duration::from_mins(1), stream.read(&mut rest)).await);
}

/// A request as a whole.
async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4_096];
        let n = stream.read(&mut piece).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        if body.len() >= length.unwrap_or(0_usize) {
            return Some(text.into_owned());
        }
    }
}
