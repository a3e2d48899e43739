//! A stand-in of an OpenAI-compatible endpoint on loopback, which answers as the test says.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// How the stand-in answers a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A list of embeddings with so many numbers, in order.
    Floats(usize),
    /// The same in reverse order, with the numbers of their texts.
    Reversed(usize),
    /// The same as base64 of little-endian floats.
    Base64(usize),
    /// What a chat model writes.
    Chat(Chat),
    /// This status, with these header lines and this body.
    Raw(u16, &'static str, String),
    /// Nothing; the connection stays open.
    Silence,
    /// More bytes than anybody wants.
    Endless,
}

/// What a chat model writes; `$1` stands for the label of the first source that it is given.
#[derive(Clone, Debug)]
pub struct Chat {
    /// The content of its message.
    pub content: String,
    /// Why it stopped.
    pub finish: &'static str,
    /// How many tokens it says that it read; 0: it does not say.
    pub prompt_tokens: u64,
}

/// A chat model writes this and stops.
pub fn chat(content: &str) -> Answer {
    Answer::Chat(Chat { content: content.to_owned(), finish: "stop", prompt_tokens: 0 })
}

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Method and path.
    pub line: String,
    /// Header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl Asked {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The sources that a chat model is given.
    pub fn sources(&self) -> Vec<Value> {
        let user = self.body["messages"][1]["content"].as_str().unwrap_or("{}");
        let user: Value = serde_json::from_str(user).unwrap();
        user["sources"].as_array().cloned().unwrap_or_default()
    }

    /// The texts to embed.
    pub fn texts(&self) -> Vec<String> {
        let texts = self.body["input"].as_array().unwrap();
        texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }
}

#[derive(Default)]
struct State {
    next: VecDeque<Answer>,
    always: Option<Answer>,
    asked: Vec<Asked>,
}

/// The stand-in. It runs until the process ends.
pub struct Endpoint {
    /// Base URL of its API.
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl Endpoint {
    /// Starts one that answers so unless told otherwise.
    pub fn start(always: Answer) -> Self {
        Self::start_at("127.0.0.1:0", always)
    }

    /// The same at an address.
    pub fn start_at(address: &str, always: Answer) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State { always: Some(always), ..State::default() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { url, state }
    }

    /// Answers the next requests so.
    pub fn next(&self, answers: impl IntoIterator<Item = Answer>) {
        self.state.lock().unwrap().next.extend(answers);
    }

    /// Answers all requests after those so.
    pub fn always(&self, answer: Answer) {
        self.state.lock().unwrap().always = Some(answer);
    }

    /// What was asked since the last look.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let asked = Asked { line: line.trim_end().to_owned(), headers, body: Value::Null };
    let length = asked.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked = Asked { body: serde_json::from_slice(&body).unwrap_or_default(), ..asked };
    let texts: Vec<String> = match asked.body["input"].as_array() {
        Some(texts) => texts.iter().map(|text| text.as_str().unwrap_or("").to_owned()).collect(),
        None => Vec::new(),
    };
    let labels: Vec<String> =
        asked.sources().iter().map(|source| source["id"].as_str().unwrap().to_owned()).collect();
    let answer = {
        let mut state = state.lock().unwrap();
        state.asked.push(asked);
        state.next.pop_front().or_else(|| state.always.clone()).unwrap()
    };
    reply(stream, answer, &texts, &labels)
}

fn completion(chat: Chat, labels: &[String]) -> String {
    let Chat { mut content, finish, prompt_tokens } = chat;
    for (at, label) in labels.iter().enumerate().rev() {
        content = content.replace(&format!("${}", at + 1), label);
    }
    let mut body = json!({
        "object": "chat.completion",
        "choices": [{
            "index": 0,
            "finish_reason": finish,
            "message": { "role": "assistant", "content": content },
        }],
    });
    if prompt_tokens > 0 {
        let total_tokens = prompt_tokens + 50;
        body["usage"] = json!({ "prompt_tokens": prompt_tokens, "total_tokens": total_tokens });
    }
    body.to_string()
}

fn reply(
    mut stream: TcpStream,
    answer: Answer,
    texts: &[String],
    labels: &[String],
) -> std::io::Result<()> {
    let numbered = |n_numbers: usize| {
        let items = texts.iter().enumerate();
        items.map(move |(index, text)| (index, vector(text, n_numbers))).collect::<Vec<_>>()
    };
    let list = |items: Vec<Value>| {
        json!({ "object": "list", "model": "stand-in", "data": items }).to_string()
    };
    let item = |(index, vector): (usize, Vec<f32>)| json!({ "object": "embedding", "index": index, "embedding": vector });
    let (status, headers, body) = match answer {
        Answer::Floats(n) => (200, "", list(numbered(n).into_iter().map(item).collect())),
        Answer::Reversed(n) => (200, "", list(numbered(n).into_iter().rev().map(item).collect())),
        Answer::Base64(n) => {
            let encode = |(index, vector): (usize, Vec<f32>)| {
                use base64::Engine as _;
                let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
                let text = base64::engine::general_purpose::STANDARD.encode(bytes);
                json!({ "index": index, "embedding": text })
            };
            (200, "", list(numbered(n).into_iter().map(encode).collect()))
        }
        Answer::Raw(status, headers, body) => (status, headers, body),
        Answer::Chat(chat) => (200, "", completion(chat, labels)),
        Answer::Silence => {
            // Held until the other side goes away.
            let mut rest = Vec::new();
            return stream.read_to_end(&mut rest).map(drop);
        }
        Answer::Endless => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")?;
            loop {
                stream.write_all(&[b' '; 4_096])?;
            }
        }
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Answer\r\ncontent-type: application/json\r\n{headers}content-length: \
         {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// The sum of a direction for each word, so that texts that share words are near.
pub fn vector(text: &str, n_numbers: usize) -> Vec<f32> {
    let mut sum = vec![0.001; n_numbers];
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words {
        let word = word.to_lowercase();
        let hash = blake3::hash(word.as_bytes());
        for (at, byte) in hash.as_bytes().iter().enumerate() {
            sum[at % n_numbers] += f32::from(*byte) / 128.0 - 1.0;
        }
    }
    sum
}
