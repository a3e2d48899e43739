//! A mail server that answers each step as a test says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::message;
use crate::clock::ManualClock;
use crate::domain::reminder::Outcome;
use crate::domain::sink::{Message, SinkKind, SinkSettings};
use crate::sinks::open;

/// What the server does at a step; every other step goes well.
#[derive(Clone, Copy, Debug)]
enum Act {
    Say(&'static str),
    HangUp,
    Silence,
}

/// A server that does `act` at the step that begins with a word, and what it was told.
async fn server(step: &'static str, act: Act) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that hangs up ends the talk.
            drop(talk(stream, step, act, Arc::clone(&kept)).await);
        }
    });
    (url, heard)
}

async fn talk(
    stream: TcpStream,
    step: &str,
    act: Act,
    heard: Arc<Mutex<String>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut said = "CONNECT".to_owned();
    loop {
        let reply = match said.split_whitespace().next().unwrap_or_default() {
            word if word == step => match act {
                Act::Say(reply) => reply,
                Act::HangUp => return Ok(()),
                Act::Silence => {
                    stream.read_line(&mut said).await?;
                    return Ok(());
                }
            },
            "CONNECT" => "220 here",
            "EHLO" => "250-here\r\n250 AUTH PLAIN LOGIN",
            "AUTH" => "235 welcome",
            "DATA" => "354 go on",
            "QUIT" => "221 bye",
            _ => "250 ok",
        };
        let is_mail = said.starts_with("DATA") && reply.starts_with("354");
        stream.write_all(format!("{reply}\r\n").as_bytes()).await?;
        said.clear();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            heard.lock().unwrap().push_str(&line);
            if !is_mail {
                said = line;
                break;
            }
            if line == ".\r\n" {
                said = "MAILED".to_owned();
                break;
            }
        }
    }
}

async fn deliver(url: &str, message: &Message) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    std::fs::write(&file, "open S3cr3t sesame\n").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut settings = SinkSettings::new("mail", SinkKind::Email);
    settings.url = Some(url.to_owned());
    settings.from = Some("recalld <recalld@example.org>".to_owned());
    settings.to = vec!["one@example.org".to_owned(), "two@example.org".to_owned()];
    settings.username = Some("recalld".to_owned());
    settings.token_file = Some(file);
    settings.timeout = Duration::from_secs(3);
    let clock = Arc::new(ManualClock::at(Timestamp::from_second(1_700_000_000).unwrap()));
    open(settings, clock).deliver(message).await
}

#[tokio::test]
async fn a_mail_arrives_with_its_headers() {
    let (url, heard) = server("NEVER", Act::HangUp).await;
    let message = Message { title: "Team\r\nBcc: x@example.org \u{4f1a}".to_owned(), ..message() };
    assert_eq!(deliver(&url, &message).await, Outcome::Sent { remote_id: None });
    let heard = heard.lock().unwrap().clone();
    for line in [
        "MAIL FROM:<recalld@example.org>",
        "RCPT TO:<one@example.org>",
        "RCPT TO:<two@example.org>",
        "Message-ID: <0123456789abcdef0123456789abcdef@example.org>",
        "Auto-Submitted: auto-generated",
        "Date: Tue, 14 Nov 2023 22:13:20 +0000",
        "https://example.org/a_b *bold* @here",
        "r7k2m9qx",
    ] {
        assert!(heard.contains(line), "{line}\n{heard}");
    }
    assert!(!heard.contains("\r\nBcc:"), "{heard}");
    assert!(heard.is_ascii(), "{heard}");
}

#[tokio::test]
async fn every_step_that_fails_has_its_class() {
    for (step, act, expected) in [
        ("CONNECT", Act::Say("421 too busy"), "Retry"),
        ("CONNECT", Act::HangUp, "Retry"),
        ("CONNECT", Act::Silence, "Retry"),
        ("EHLO", Act::HangUp, "Retry"),
        ("AUTH", Act::Say("535 wrong S3cr3t"), "Disabled"),
        ("AUTH", Act::Say("454 later"), "Retry"),
        ("MAIL", Act::Say("451 later"), "Retry"),
        ("RCPT", Act::Say("550 no such mailbox team meeting"), "Refused"),
        ("RCPT", Act::Say("450 greylisted"), "Retry"),
        ("DATA", Act::HangUp, "Retry"),
        ("DATA", Act::Silence, "Retry"),
        ("MAILED", Act::Say("554 refused"), "Refused"),
        ("MAILED", Act::Say("452 disk full"), "Retry"),
        ("MAILED", Act::HangUp, "Unknown"),
        ("MAILED", Act::Silence, "Unknown"),
        ("QUIT", Act::HangUp, "Sent"),
        ("QUIT", Act::Silence, "Sent"),
    ] {
        let (url, _) = server(step, act).await;
        let outcome = format!("{:?}", deliver(&url, &message()).await);
        assert!(outcome.starts_with(expected), "{step} {act:?}: {outcome}");
        for word in ["S3cr3t", "team meeting", "r7k2m9qx"] {
            assert!(!outcome.contains(word), "{outcome}");
        }
    }
}

#[tokio::test]
async fn a_password_is_not_sent_where_it_could_be_read() {
    for (url, expected) in
        [("smtp://192.168.1.20", "sinks.mail.allow_private"), ("http://127.0.0.1", "smtps://host")]
    {
        let outcome = format!("{:?}", deliver(url, &message()).await);
        assert!(outcome.contains(expected), "{url}: {outcome}");
    }
}
