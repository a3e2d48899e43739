//! `[sinks.NAME]`: what each kind needs, and that no problem quotes what could be a secret.

use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::domain::sink::{SinkKind, SinkSettings, TextUnit};

/// A complete table of each kind.
const COMPLETE: &str = r#"
[sinks.a]
kind = "slack"
url_file = "/etc/recalld/slack"
[sinks.b]
kind = "telegram"
token_file = "~/telegram"
to = -100123
[sinks.c]
kind = "feishu"
url_file = "credential:feishu"
secret_file = "credential:feishu-secret"
links = true
[sinks.d]
kind = "dingtalk"
url_file = "/d"
[sinks.e]
kind = "wecom"
url_file = "/e"
[sinks.f]
kind = "ntfy"
url = "https://ntfy.example.org/"
to_file = "/f"
allow_private = ["192.168.1.20"]
[sinks.g]
kind = "json"
url = "https://example.org/hook"
knows_keys = false
text_max = 1000
pace_ms = 250
burst = 3
timeout_ms = 5000
[sinks.h]
kind = "desktop"
[sinks.i]
kind = "discord"
url_file = "/i"
[sinks.j]
kind = "teams"
url_file = "/j"
[sinks.k]
kind = "mattermost"
url_file = "/k"
[sinks.l]
kind = "rocketchat"
url_file = "/l"
[sinks.m]
kind = "googlechat"
url_file = "/m"
[sinks.n]
kind = "gotify"
url = "https://gotify.example.org"
token_file = "/n"
[sinks.o]
kind = "matrix"
url = "https://matrix.example.org"
token_file = "/o"
to = "!abc:example.org"
[sinks.p]
kind = "email"
url = "smtps://mail.example.org"
username = "me"
token_file = "/p"
from = "me@example.org"
to = ["me@example.org", "you@example.org"]
[sinks.q]
kind = "exec"
command = ["/usr/bin/tell", "-q"]
[sinks.r]
kind = "log"
"#;

fn sinks(machine: &Machine) -> Vec<SinkSettings> {
    machine.load().config.sinks
}

#[test]
fn every_kind_can_be_configured() {
    let machine = Machine::with_file(COMPLETE).set("CREDENTIALS_DIRECTORY", "/run/credentials/x");
    let sinks = sinks(&machine);
    let kinds: Vec<SinkKind> = sinks.iter().map(|sink| sink.kind).collect();
    assert_eq!(kinds, SinkKind::ALL);
    let sink = |name: &str| sinks.iter().find(|sink| sink.name == name).unwrap();
    assert_eq!(sink("b").to, ["-100123"]);
    assert_eq!(sink("b").token_file, Some(machine.home.path().join("telegram")));
    assert_eq!(sink("b").url.as_deref(), Some("https://api.telegram.org"));
    assert_eq!(sink("c").url_file, Some(PathBuf::from("/run/credentials/x/feishu")));
    assert!(sink("c").links && !sink("d").links);
    assert_eq!(sink("f").url.as_deref(), Some("https://ntfy.example.org/"));
    assert_eq!(sink("f").allow_private.len(), 1);
    let json = sink("g");
    assert_eq!(json.timeout, Duration::from_secs(5));
    assert_eq!((json.abilities.text_max, json.abilities.text_unit), (1_000, TextUnit::Bytes));
    assert_eq!((json.abilities.pace.every.as_millis(), json.abilities.pace.burst), (250, 3));
    assert!(!json.abilities.knows_keys && sink("o").abilities.knows_keys);
    assert_eq!(sink("p").to.len(), 2);
    assert_eq!(sink("q").command, ["/usr/bin/tell", "-q"]);
}

#[test]
fn the_desktop_is_that_of_the_session() {
    let text = "[sinks.here]\nkind = \"desktop\"";
    let machine = Machine::with_file(text);
    let bus = format!("unix:path={}/runtime/bus", machine.home.path().display());
    assert_eq!(sinks(&machine)[0].url, Some(bus));
    let machine = machine.set("DBUS_SESSION_BUS_ADDRESS", "unix:path=/somewhere/bus");
    assert_eq!(sinks(&machine)[0].url.as_deref(), Some("unix:path=/somewhere/bus"));
}

#[test]
fn what_a_kind_needs_and_takes_is_told() {
    for (table, expected) in [
        ("", "sinks.x.kind\n    expected one of \"slack\","),
        ("kind = \"slak\"", "found the string \"slak\""),
        (
            "kind = \"slack\"",
            "sinks.x.url_file\n    expected url_file, which a sink of kind slack needs",
        ),
        ("kind = \"ntfy\"", "one of to, to_file, which"),
        ("kind = \"ntfy\"\nto = \"a\"\nto_file = \"/b\"", "found more than one"),
        ("kind = \"log\"\ntoken_file = \"/a\"", "sinks.x.token_file\n    unknown key"),
        ("kind = \"slack\"\nurl_fil = \"/a\"", "did you mean sinks.x.url_file?"),
        ("kind = \"telegram\"\ntoken_file = \"/a\"\nto = \"friends\"", "the number of a chat"),
        (
            "kind = \"matrix\"\nurl = \"https://a\"\ntoken_file = \"/a\"\nto = \"#room\"",
            "the id of a room",
        ),
        ("kind = \"exec\"\ncommand = [\"tell\"]", "a program by its absolute path"),
        (
            "kind = \"email\"\nurl = \"smtp://a\"\nfrom = \"a@b\"\nto = \"a@b\"\nusername = \"u\"",
            "together",
        ),
        ("kind = \"log\"\nburst = 0", "a whole number from 1 to 1000"),
        ("kind = \"desktop\"\nurl = \"tcp:host=example.org\"", "the address of a bus"),
    ] {
        let problems = Machine::with_file(&format!("[sinks.x]\n{table}\n")).problems();
        assert!(problems.contains(expected), "{table}: {problems}");
    }
    for (text, expected) in [
        ("sinks = 3", "tables, [sinks.NAME]"),
        ("[sinks]\nx = 3", "sinks.x\n    expected a table"),
        ("[sinks.\"Not A Name\"]\nkind = \"log\"", "a name of 1 to 40 characters"),
        ("[[sinks]]\nkind = \"log\"", "tables, [sinks.NAME]"),
        ("[sink.x]\nkind = \"log\"", "did you mean sinks?"),
    ] {
        let problems = Machine::with_file(text).problems();
        assert!(problems.contains(expected), "{text}: {problems}");
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_not_quoted() {
    for table in [
        "kind = \"slack\"\nurl_file = \"https://hooks.example.org/T0/s3cr3t\"",
        "kind = \"slack\"\nurl = \"https://hooks.example.org/T0/s3cr3t\"",
        "kind = \"json\"\nurl = \"https://example.org/hook?key=s3cr3t\"",
        "kind = \"json\"\nurl = \"https://me:s3cr3t@example.org/hook\"",
        "kind = \"telegram\"\nto = 1\ntoken_file = \"123:s3cr3t\"",
        "kind = \"telegram\"\nto = 1\ntoken = \"123:s3cr3t\"",
        "kind = \"email\"\nurl = \"smtps://me:s3cr3t@example.org\"\nfrom = \"a@b\"\nto = \"a@b\"",
    ] {
        let problems = Machine::with_file(&format!("[sinks.x]\n{table}\n")).problems();
        assert!(!problems.contains("s3cr3t"), "{problems}");
        assert!(problems.contains("sinks.x."), "{problems}");
    }
}

#[test]
fn what_is_in_force_is_shown_without_paths_of_addresses() {
    let machine = Machine::with_file(
        "[sinks.x]\nkind = \"json\"\nurl = \"https://example.org/hook/s3cr3t\"\n",
    );
    let loaded = machine.load();
    let source = loaded.sources.iter().find(|source| source.key == "sinks").unwrap();
    assert_eq!(source.value, "{ x = { kind = \"json\", url = \"https://example.org/...\" } }");
    let loaded = Machine::new().load();
    let source = loaded.sources.iter().find(|source| source.key == "sinks").unwrap();
    assert_eq!(source.value, "{}");
}
