//! Every kind of sink fails in every way, with services that quote all that they were sent: no secret
//! stands in any byte of what the daemon keeps, logs or says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jiff::SignedDuration;
use recalld::clock::SystemClock;
use recalld::domain::sink::SinkKind;
use recalld::ports::Clock as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::receiver::{Act, Receiver, answer};
use crate::daemon::{Home, eventually};
use crate::secrets::Disk;

/// Secrets, each with the word that gives it away, in whatever form it stands.
const PATH: &str = "S3cr3tP4th/aB+c=d";
const QUERY: &str = "S3cr3tQu3ry/Z+y=";
const TOKEN: &str = "987654:S3cr3tT0ken+/x=";
const SIGNING: &str = "whsec_UzNjcjN0U2lnbmluZ0tleQ==";
const TOPIC: &str = "S3cr3tT0pic";
/// The word, and how it begins in base64, for every place that it may have in three bytes.
const GIVEAWAYS: [&str; 4] = ["s3cr3t", "uznjcjn0", "mzy3izd", "tm2nym3r"];

/// What a service that quotes everything has to say.
fn quoted() -> String {
    [PATH, QUERY, TOKEN, SIGNING, TOPIC, &encoded(PATH), &encoded(QUERY), &encoded(TOKEN)].join(" ")
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Answers that quote everything.
fn acts() -> Vec<Act> {
    let said = [
        "ALL",
        r#"{"ok":false,"error_code":400,"description":"ALL","parameters":{"retry_after":"ALL"}}"#,
        r#"{"code":19021,"msg":"ALL","StatusMessage":"ALL"}"#,
        r#"{"errcode":310000,"errmsg":"sign not match ALL"}"#,
        r#"{"success":false,"error":"ALL","message":"ALL","errcode":"ALL"}"#,
    ];
    let redirect = format!(
        "Location: https://elsewhere.example.org/{}?key={}\r\nRetry-After: {TOKEN}\r\n",
        encoded(PATH),
        encoded(QUERY)
    );
    let mut acts = vec![
        Act::HangUp,
        Act::Answer(302, redirect.clone(), quoted()),
        Act::Answer(308, redirect, quoted()),
    ];
    for (at, body) in said.iter().enumerate() {
        let body = body.replace("ALL", &quoted());
        let status = [400, 200, 429, 500, 403][at];
        acts.extend([answer(status, &body), answer(404, &body)]);
    }
    acts
}

/// A sink of a kind with every secret that it takes, at a receiver.
fn section(kind: SinkKind, base: &str, dir: &Path) -> String {
    let mut lines = format!("[sinks.{kind}]\nkind = \"{kind}\"\n");
    let groups = kind.needs().iter().filter_map(|group| group.last());
    for option in groups.chain(kind.takes().iter().filter(|option| option.ends_with("_file"))) {
        let address = format!("{base}/{}?key={}", encoded(PATH), encoded(QUERY));
        let (name, content) = match *option {
            "url_file" => ("url", address.as_str()),
            "token_file" => ("token", TOKEN),
            "secret_file" => ("signing", SIGNING),
            "to_file" => ("to", TOPIC),
            "url" if kind == SinkKind::Email => {
                lines.push_str("url = \"smtp://127.0.0.1:1\"\nusername = \"me\"\n");
                continue;
            }
            "to" if kind == SinkKind::Email => {
                lines.push_str("to = [\"me@example.org\"]\n");
                continue;
            }
            "url" => {
                lines.push_str(&format!("url = \"{base}\"\n"));
                continue;
            }
            "to" => {
                let to = if kind == SinkKind::Matrix { "!100123:example.org" } else { "-100123" };
                lines.push_str(&format!("to = \"{to}\"\n"));
                continue;
            }
            "from" => {
                lines.push_str("from = \"recalld@example.org\"\n");
                continue;
            }
            "command" => {
                let script = format!("echo {TOKEN} >&2; echo {TOKEN}; exit 1");
                let path = dir.join("program");
                fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
                lines.push_str(&format!("command = [\"{}\"]\n", path.display()));
                continue;
            }
            other => panic!("{kind} has an option {other} that this test does not know"),
        };
        let path = dir.join(format!("{kind}.{name}"));
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        lines.push_str(&format!("{option} = \"{}\"\n", path.display()));
    }
    if matches!(kind, SinkKind::Telegram | SinkKind::Ntfy) {
        lines.push_str(&format!("url = \"{base}\"\n"));
    }
    lines
}

#[track_caller]
fn check(what: &str, text: &str) {
    let text = text.to_lowercase();
    for giveaway in GIVEAWAYS {
        assert!(!text.contains(giveaway), "{what} shows `{giveaway}`:\n{text}");
    }
}

#[tokio::test]
async fn no_secret_of_a_sink_stands_anywhere_after_all_have_failed_in_every_way() {
    let secrets = TempDir::new().unwrap();
    let receivers: Vec<(SinkKind, Receiver)> =
        SinkKind::ALL.iter().map(|kind| (*kind, Receiver::start())).collect();
    let mut config =
        "[embed]\nmodel = \"none\"\n[jobs]\nzone = \"UTC\"\n[reminders]\nbackoff_s = 1\n"
            .to_owned();
    for (kind, receiver) in &receivers {
        config.push_str(&section(*kind, &receiver.base, secrets.path()));
    }
    let success = r#"{"ok":true,"id":"ALL","name":"ALL","event_id":"ALL","errcode":"ALL"}"#;
    for (_, receiver) in &receivers {
        let said = [quoted(), success.replace("ALL", &quoted())];
        receiver.next("/", [answer(500, &said[0]), answer(200, &said[1])]);
        receiver.always("/", answer(401, &said[0]));
    }
    let home = Home::with_config(&config).expect_log("reminder not told");
    let home = home.expect_log("sink takes nothing from us");
    let daemon = home
        .serve_with(|command| {
            command.env("RECALLD_LOG", "trace,tantivy=warn,rmcp=off");
        })
        .await;
    let agent = home.agent("a").await;
    for n in 0..2 {
        let at = (SystemClock::new().now() + SignedDuration::from_secs(2)).to_string();
        let asked = json!({ "text": format!("Errand {n}"), "at": at, "priority": "urgent" });
        agent.must("reminder_set", asked).await;
    }
    let is_asked = |kind: SinkKind| {
        let others = [SinkKind::Desktop, SinkKind::Email, SinkKind::Exec, SinkKind::Log];
        !others.contains(&kind)
    };
    for (kind, receiver) in receivers.iter().filter(|(kind, _)| is_asked(*kind)) {
        eventually(&format!("{kind} is asked again and again"), async || {
            (receiver.got("/").len() >= 3).then_some(())
        })
        .await;
        // It did go out, or nothing would be proven.
        let got = receiver.got("/");
        let is_there = got.iter().all(|got| {
            got.text.contains("S3cr3t") || matches!(*kind, SinkKind::Json if got.text.len() > 1)
        });
        assert!(is_there, "{kind}: {got:?}");
    }
    ask(&home, &receivers).await;
    daemon.signal(rustix::process::Signal::USR1);
    assert!(daemon.stop().await.success());
    assert!(home.log().contains(" TRACE ") && home.log().contains("message not taken"));
    let disk = Disk::of(&home);
    for giveaway in GIVEAWAYS {
        let found = disk.places(giveaway);
        assert!(found.is_empty(), "{giveaway} stands in {found:?}");
    }
}

/// Fails each sink in every way once more, and asks for all that is said of it.
async fn ask(home: &Home, receivers: &[(SinkKind, Receiver)]) {
    let owner = home.owner().await;
    let said = async |tool: &str, arguments: Value| {
        let reply = owner.call(tool, arguments.clone()).await;
        check(&format!("{tool} {arguments}"), &reply.text);
        check(&format!("{tool} {arguments}"), &format!("{:?}", reply.structured));
        reply.text
    };
    for (kind, receiver) in receivers {
        for act in acts() {
            receiver.next("/", [act]);
            let outcome = said("sink_test", json!({ "name": kind.as_str() })).await;
            assert!(!outcome.is_empty());
        }
    }
    let listed = said("sink_list", json!({})).await;
    assert!(listed.contains("disabled") && listed.contains("answers 40"), "{listed}");
    for (tool, arguments) in [
        ("reminder_dead", json!({})),
        ("reminder_list", json!({ "view": "all" })),
        ("memory_status", json!({})),
    ] {
        said(tool, arguments).await;
    }
    for arguments in [&["status"][..], &["sinks", "list"], &["remind", "dead"], &["check-config"]] {
        let output = home.run(arguments);
        check(&arguments.join(" "), &format!("{output:?}"));
    }
}
