//! A receiver of webhooks on loopback: it does with each request what a test says, by its path.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use serde_json::Value;

/// What is done with a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// It is answered: status, more header lines, body.
    Answer(u16, String, String),
    /// It is read, and the connection ends.
    HangUp,
}

/// An answer without special headers.
pub fn answer(status: u16, body: &str) -> Act {
    Act::Answer(status, String::new(), body.to_owned())
}

/// A request.
#[derive(Clone, Debug)]
pub struct Got {
    /// When it came.
    pub at: Timestamp,
    /// Path and query.
    pub path: String,
    /// Whether it was answered with a success.
    pub is_taken: bool,
    /// All of it, as text.
    pub text: String,
    /// The body, if it is JSON.
    pub body: Value,
}

impl Got {
    /// A field of a message to a program.
    pub fn data(&self, name: &str) -> &Value {
        &self.body["data"][name]
    }
}

#[derive(Default)]
struct State {
    next: BTreeMap<String, VecDeque<Act>>,
    always: BTreeMap<String, Act>,
    got: Vec<Got>,
}

/// The receiver. It takes everything unless told otherwise, and runs until the process ends.
pub struct Receiver {
    /// `http://127.0.0.1:port`
    pub base: String,
    state: Arc<Mutex<State>>,
}

impl Receiver {
    /// Starts one.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { base, state }
    }

    /// Does this with the next requests whose path begins so.
    pub fn next(&self, path: &str, acts: impl IntoIterator<Item = Act>) {
        self.state.lock().unwrap().next.entry(path.to_owned()).or_default().extend(acts);
    }

    /// Does this with all requests after those.
    pub fn always(&self, path: &str, act: Act) {
        self.state.lock().unwrap().always.insert(path.to_owned(), act);
    }

    /// What has come so far to a path that begins so.
    pub fn got(&self, path: &str) -> Vec<Got> {
        let state = self.state.lock().unwrap();
        state.got.iter().filter(|got| got.path.starts_with(path)).cloned().collect()
    }

    /// What was taken there.
    pub fn taken(&self, path: &str) -> Vec<Got> {
        let mut got = self.got(path);
        got.retain(|got| got.is_taken);
        got
    }
}

impl State {
    fn act(&mut self, path: &str) -> Act {
        let mut queues = self.next.iter_mut().filter(|(start, _)| path.starts_with(start.as_str()));
        let next = queues.find_map(|(_, acts)| acts.pop_front());
        let always = self.always.iter().find(|(start, _)| path.starts_with(start.as_str()));
        next.or_else(|| always.map(|(_, act)| act.clone())).unwrap_or_else(|| answer(204, ""))
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let at = SystemClock::new().now();
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut text = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        text.push_str(&line);
        let Some((name, value)) = line.trim_end().split_once(':') else {
            if line.trim_end().is_empty() {
                break;
            }
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    text.push_str(&String::from_utf8_lossy(&body));
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let act = {
        let mut state = state.lock().unwrap();
        let act = state.act(&path);
        let is_taken = matches!(act, Act::Answer(200..=299, ..));
        state.got.push(Got { at, path, is_taken, text, body });
        act
    };
    reply(stream, act)
}

fn reply(mut stream: TcpStream, act: Act) -> std::io::Result<()> {
    let Act::Answer(status, headers, body) = act else { return Ok(()) };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Answer\r\n{headers}content-length: {length}\r\nconnection: \
         close\r\n\r\n{body}"
    )
}
