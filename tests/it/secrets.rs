//! No secret reaches the disk, whichever way it comes in.

use std::fs;
use std::path::{Path, PathBuf};

use recalld::domain::limits::TAG_BYTES_MAX;
use serde_json::{Value, json};

use crate::daemon::Home;
use crate::random::Random;

/// A fake secret, put together here so that none stands in the source.
struct Secret {
    /// The rule that must find it.
    rule: &'static str,
    /// As it is written.
    text: String,
    /// Its secret part: no piece of it may be found anywhere.
    body: String,
}

/// Letters and digits, never the same twice.
fn body(random: &mut Random, n: usize) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789";
    let letters: String = (0..n - 2)
        .map(|_| {
            let at = usize::try_from(random.below(ALPHABET.len() as u64)).unwrap();
            char::from(ALPHABET[at])
        })
        .collect();
    // Whatever the draw, it has a letter and a digit.
    format!("{letters}q7")
}

fn secrets(random: &mut Random) -> Vec<Secret> {
    type Written = fn(&str) -> String;
    let shapes: &[(&'static str, usize, Written)] = &[
        ("aws-access-key", 16, |b| format!("AKIA{}", b.to_uppercase())),
        ("github-token", 36, |b| format!("ghp_{b}")),
        ("gitlab-token", 20, |b| format!("glpat-{b}")),
        ("slack-token", 32, |b| format!("xoxb-1234567890-{b}")),
        ("anthropic-key", 60, |b| format!("sk-ant-api03-{b}")),
        ("openai-key", 48, |b| format!("sk-proj-{b}")),
        ("google-key", 35, |b| format!("AIza{b}")),
        ("stripe-key", 24, |b| format!("sk_live_{b}")),
        ("huggingface-token", 34, |b| format!("hf_{b}")),
        ("npm-token", 36, |b| format!("npm_{b}")),
        ("jwt", 40, |b| format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{b}")),
        ("url-password", 20, |b| format!("postgres://app:{b}@db.example.org:5432/prod")),
        ("assigned-secret", 20, |b| format!("password = {b}")),
        ("private-key", 64, |b| {
            let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(2);
            let sort = "RSA PRIVATE KEY";
            format!("-----BEGIN {sort}-----\n{line}\n{b}\n-----END {sort}-----")
        }),
    ];
    shapes
        .iter()
        .map(|(rule, n, written)| {
            let body = body(random, *n);
            Secret { rule, text: written(&body), body }
        })
        .collect()
}

/// Every file below a directory.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), found);
        } else if entry.file_type().unwrap().is_file() {
            found.push(entry.path());
        }
    }
}

/// Everything that lies on the disk, in small letters.
pub struct Disk(Vec<(PathBuf, Vec<u8>)>);

impl Disk {
    pub fn of(home: &Home) -> Self {
        let mut all = Vec::new();
        files(&home.path(""), &mut all);
        let read = |path: PathBuf| {
            let bytes = fs::read(&path).unwrap().to_ascii_lowercase();
            (path, bytes)
        };
        Self(all.into_iter().map(read).collect())
    }

    /// Where a text stands, in whatever case.
    pub fn places(&self, text: &str) -> Vec<&Path> {
        let wanted = text.to_ascii_lowercase().into_bytes();
        let holds = |bytes: &[u8]| bytes.windows(wanted.len()).any(|window| window == wanted);
        self.0.iter().filter(|(_, bytes)| holds(bytes)).map(|(path, _)| &**path).collect()
    }
}

/// The ways of one secret into a memory, as arguments of `memory_store`.
fn ways_in(n: usize, secret: &str) -> Vec<Value> {
    let metadata = |value: Value| json!({ "where": value }).to_string();
    vec![
        json!({ "content": format!("Way {n}.1 has {secret} in it") }),
        json!({ "content": format!("Way {n}.2"), "tags": ["plain", secret] }),
        json!({ "content": format!("Way {n}.3"), "metadata": metadata(json!(secret)) }),
        json!({ "content": format!("Way {n}.4"), "metadata": metadata(json!([{ "deep": secret }])) }),
        json!({ "content": format!("Way {n}.5"), "metadata": json!({ secret: 1 }).to_string() }),
        json!({ "content": format!("Way {n}.6"), "session": secret }),
        json!({ "memories": [json!({ "content": format!("Way {n}.7 {secret}") }).to_string()] }),
    ]
}

#[tokio::test]
async fn no_secret_reaches_the_disk_by_storing_changing_or_asking() {
    let mut random = Random::from_environment("secrets");
    let secrets = secrets(&mut random);
    let canary = body(&mut random, 24);
    let home = Home::full();
    let daemon = home.serve().await;
    let agent = home.agent("careless").await;
    let target = agent.store(&format!("The canary {canary} is no secret")).await;
    for (n, secret) in secrets.iter().enumerate() {
        for arguments in ways_in(n, &secret.text) {
            // A tag is short: what does not fit is refused as a whole.
            if secret.text.len() > TAG_BYTES_MAX && arguments.get("tags").is_some() {
                agent.refused("memory_store", arguments).await;
                continue;
            }
            let stored = agent.must("memory_store", arguments.clone()).await;
            let found = &stored["memories"][0]["redacted"];
            assert_eq!(*found, json!([secret.rule]), "{arguments}: {stored}");
        }
        let metadata = json!({ "key": secret.text }).to_string();
        for patch in [
            json!({ "id": target, "content": format!("Changed to {} for {canary}", secret.text) }),
            json!({ "id": target, "metadata": metadata }),
        ] {
            let changed = agent.must("memory_update", patch.clone()).await;
            assert_eq!(changed["redacted"], json!([secret.rule]), "{patch}: {changed}");
        }
        ask(&agent, secret).await;
    }
    // Names are in small letters, and so are some tokens.
    let small = body(&mut random, 32).to_ascii_lowercase();
    let named = json!({ "content": "x", "namespace": format!("shared/sk-{small}") });
    let message = agent.refused("memory_store", named).await;
    assert!(message.contains("namespace"), "{message}");
    let status = agent.must("memory_status", json!({})).await;
    assert!(status["store"]["n_memories"].as_u64().unwrap() > 50, "{status}");
    assert!(daemon.stop().await.success());

    let disk = Disk::of(&home);
    let canaries = disk.places(&canary);
    assert!(
        canaries.iter().any(|path| path.extension().is_some_and(|e| e == "redb")),
        "{canaries:?}"
    );
    assert!(home.log().contains(" DEBUG "), "the log shows what a debug log shows");
    assert!(disk.places(&small).is_empty(), "the name of a namespace");
    for secret in &secrets {
        for part in [&secret.body[..], &secret.body[..secret.body.len() / 2]] {
            let found = disk.places(part);
            assert!(found.is_empty(), "{}: {part} stands in {found:?}", secret.rule);
        }
    }
}

/// Secrets in questions and in what is refused; no answer may be an outage.
async fn ask(agent: &crate::daemon::Agent, secret: &Secret) {
    let text = &secret.text;
    for (tool, arguments) in [
        ("memory_search", json!({ "query": format!("what is {text}") })),
        ("memory_search", json!({ "query": "x", "tags": [text], "session": text })),
        ("memory_search", json!({ "query": "x", "cursor": text, "zone": text })),
        ("memory_list", json!({ "namespace": text })),
        ("memory_get", json!({ "ids": [text] })),
        ("memory_forget", json!({ "query": text, "dry_run": true })),
        ("memory_forget", json!({ "query": text, "confirm": text })),
        ("memory_update", json!({ "id": text, "content": "x" })),
        ("memory_store", json!({ "content": "x", "supersedes": text })),
        ("memory_store", json!({ "content": "x", "kind": text, "importance": text })),
        ("memory_store", json!({ "content": "An unknown field", "password": text })),
    ] {
        let reply = agent.call(tool, arguments).await;
        assert!(!reply.text.contains("internal"), "{tool}: {}", reply.text);
    }
}

#[tokio::test]
async fn what_only_looks_like_a_secret_stays_as_it_is() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let agent = home.agent("careful").await;
    let id = agent.store("The first one").await;
    for content in [
        format!("The fix is commit {}", "9f86d081884c7d65".repeat(3).split_at(40).0),
        "The build is f47ac10b-58cc-4372-a567-0e02b2c3d479".to_owned(),
        format!("It goes with memory {id}"),
        "The password is in the safe, ask Mara".to_owned(),
        "See https://example.org/login?user=mara&page=2".to_owned(),
    ] {
        let stored = agent.must("memory_store", json!({ "content": content })).await;
        assert_eq!(stored["memories"][0]["redacted"], Value::Null, "{content}");
        let ids = json!({ "ids": [stored["memories"][0]["id"]] });
        let read = agent.must("memory_get", ids).await;
        assert_eq!(read["memories"][0]["content"], json!(content));
    }
}
