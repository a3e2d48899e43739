//! A stand-in of the hub that models are fetched from, on loopback.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};

/// The stand-in; it runs until the process ends.
pub struct Hub {
    /// What `HF_ENDPOINT` is set to.
    pub url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Files by their path below the hub: `org/name/resolve/main/file`.
    files: BTreeMap<String, PathBuf>,
    /// Ends of paths whose content is sent with a bit turned.
    damaged: Vec<&'static str>,
    asked: Vec<String>,
}

impl Hub {
    /// A hub with nothing in it.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { url, state }
    }

    /// Puts a file into a repository.
    pub fn put(&self, repository: &str, name: &str, path: PathBuf) {
        let place = format!("{repository}/resolve/main/{name}");
        self.state.lock().unwrap().files.insert(place, path);
    }

    /// Damages what is sent of files that end so; none: sends everything as it is.
    pub fn damage(&self, ends: &[&'static str]) {
        self.state.lock().unwrap().damaged = ends.to_vec();
    }

    /// What was asked since the last look.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut range = None;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("range") {
                range = Some(value.trim().trim_start_matches("bytes=").to_owned());
            }
        }
        let path = line.split(' ').nth(1).unwrap_or("").trim_start_matches('/').to_owned();
        let (found, is_damaged) = {
            let mut state = state.lock().unwrap();
            state.asked.push(path.clone());
            let is_damaged = state.damaged.iter().any(|end| path.ends_with(end));
            (state.files.get(&path).cloned(), is_damaged)
        };
        let Some(file) = found else {
            write!(stream, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        };
        let mut content = fs::read(file)?;
        let etag: String =
            Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        if is_damaged {
            content[0] ^= 1;
        }
        let (from, to) = match range.as_deref().and_then(|range| range.split_once('-')) {
            Some((from, to)) => (from.parse().unwrap_or(0), to.parse().ok()),
            None => (0, None),
        };
        let last = to.unwrap_or(usize::MAX).min(content.len() - 1);
        let part = &content[from..=last];
        write!(
            stream,
            "HTTP/1.1 206 Partial Content\r\nx-repo-commit: {}\r\netag: \"{etag}\"\r\n\
             content-range: bytes {from}-{last}/{}\r\ncontent-length: {}\r\n\r\n",
            "0".repeat(40),
            content.len(),
            part.len()
        )?;
        stream.write_all(part)?;
    }
}
