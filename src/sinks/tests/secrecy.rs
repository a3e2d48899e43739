//! Whatever goes wrong: no secret, and no word of a message, in an outcome or in any line of the log.

use std::io;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use super::outcomes::{
    KINDS, PATH_SECRET, Pair, QUERY_SECRET, SIGNING, Setting, TOKEN, TOPIC, success,
};
use super::server::{Act, answer};
use crate::domain::sink::SinkKind;
use crate::sinks::mask::percent_encoded;

/// Everything that is logged, of every library, down to the finest level.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// The secrets as they are and as they stand in URLs, and words of the message.
fn forbidden() -> Vec<String> {
    let mut all = Vec::new();
    for secret in [PATH_SECRET, QUERY_SECRET, TOKEN, SIGNING, TOPIC] {
        all.push(secret.to_owned());
        all.push(percent_encoded(secret));
        // The pieces between what may be encoded in more than one way.
        let pieces = secret.split(|c: char| !c.is_ascii_alphanumeric());
        all.extend(pieces.filter(|piece| piece.contains("S3cr3t")).map(str::to_owned));
    }
    all.extend(["UzNjcjN0U2lnbmluZ0tleQ", "team meeting", "org/a_b", "*bold*"].map(str::to_owned));
    all
}

#[track_caller]
fn check(what: &str, text: &str) {
    for secret in forbidden() {
        assert!(!text.contains(&secret), "{what} shows `{secret}`:\n{text}");
    }
}

/// Bodies that quote everything a service could quote.
fn quoting(body: &str) -> String {
    let all = forbidden().join(" ");
    body.replace("ALL", &all.replace('"', "'"))
}

#[tokio::test]
async fn no_failure_shows_a_secret_or_a_message() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(lines.clone())
        .with_ansi(false)
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let redirect = format!(
        "Location: https://elsewhere.example.org/{}?key={}\r\nRetry-After: {TOKEN}\r\n",
        percent_encoded(PATH_SECRET),
        percent_encoded(QUERY_SECRET)
    );
    let bodies = [
        "ALL",
        r#"{"ok":false,"error_code":400,"description":"ALL","parameters":{"retry_after":"ALL"}}"#,
        r#"{"code":19021,"msg":"ALL","StatusMessage":"ALL"}"#,
        r#"{"errcode":310000,"errmsg":"sign not match ALL"}"#,
        r#"{"success":false,"error":"ALL","id":"ALL","message":"ALL","name":"ALL"}"#,
        r#"{"errcode":"ALL","error":{"code":"ALL","message":"ALL","status":"ALL"}}"#,
        r#"{"id":"S3cr3tT0pic","error":"error-S3cr3tT0pic","name":"spaces S3cr3tT0pic"}"#,
    ];
    for kind in KINDS {
        let mut acts = vec![
            success(kind),
            Act::Reset,
            Act::ResetAtOnce,
            Act::Answer { status: 308, headers: redirect.clone(), body: quoting("ALL") },
            Act::Answer { status: 302, headers: redirect.clone(), body: quoting("ALL") },
        ];
        // Only there it is a secret.
        let n_bodies = if kind == SinkKind::Ntfy { bodies.len() } else { bodies.len() - 1 };
        for body in &bodies[..n_bodies] {
            acts.extend([200, 400, 401, 404, 429, 500].map(|status| answer(status, quoting(body))));
        }
        let pair = Pair::of(kind).await;
        for act in acts {
            let what = format!("{kind} {act:?}");
            let is_answered = matches!(act, Act::Answer { .. });
            let (outcome, got) = pair.outcome(act).await;
            check(&what, &format!("{outcome:?}"));
            // It did go out, or nothing would be proven.
            let arrived = got.iter().filter(|request| request.contains("r7k2m9qx")).count();
            assert!(arrived == 1 || !is_answered, "{what}");
        }
    }
    for base in ["http://127.0.0.1:1", "https://127.0.0.1:1", "http://8.8.8.8", "ftp://x"] {
        for kind in [SinkKind::Slack, SinkKind::Telegram, SinkKind::Ntfy] {
            let setting = Setting::new(kind, base);
            check(base, &format!("{:?} {:?}", setting.deliver().await, setting.settings));
        }
    }
    let logged = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("hyper") || logged.contains("reqwest"), "nothing was logged");
    check("the log", &logged);
}

#[tokio::test]
async fn the_place_of_a_sink_is_a_host() {
    for kind in [SinkKind::Slack, SinkKind::Telegram, SinkKind::Json] {
        let setting = Setting::new(kind, "https://hooks.example.org");
        let sink = &setting.sink;
        assert_eq!((sink.place().as_str(), sink.name()), ("hooks.example.org", "ops"));
    }
}
