//! `recalld status`, once or again and again.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::output::page;
use super::session::{self, CliError, Connection, Door};
use super::show::{items, text};
use super::words::{age, bytes, time};
use crate::clock::SystemClock;
use crate::ports::Clock as _;

/// Longest wait for one look; the next one may do better.
const LOOK_WAIT: Duration = Duration::from_secs(5);
/// Fields of an object that are shown; the rest is counted.
const FIELDS_SHOWN: usize = 8;
/// Facts that stand elsewhere in what is printed.
const TOLD_ELSEWHERE: &[&str] = &[
    "ok",
    "version",
    "started_at",
    "now",
    "parts",
    "reembedding",
    "counters",
    "weights_hash",
    "degraded",
    "warnings",
    "notes",
];
/// Fields that say what another one beside them says: all the next runs, of which one is the next.
const TOLD_BY_ANOTHER: &[&str] = &["next_runs"];
/// Characters of a progress bar.
const BAR_CHARS: u64 = 30;
/// Clears a terminal and goes to its first line.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Everything that the daemon says of itself, for people.
pub(super) fn render(status: &Value) -> String {
    let now = time(&status["now"]).unwrap_or_default();
    let mut out = format!("recalld {}: {}", text(&status["version"]), verdict(status));
    if let Some(started) = time(&status["started_at"]) {
        out.push_str(&format!(", running for {}", age(started, now)));
    }
    let mut parts = page(&["part", "state", "because"]);
    for part in items(status, "parts") {
        parts.add_row([text(&part["name"]), state(part, now), text(&part["because"])]);
    }
    let mut facts = page(&["fact", "value"]);
    for (name, value) in status.as_object().into_iter().flatten() {
        if !TOLD_ELSEWHERE.contains(&name.as_str()) && says_something(value) {
            facts.add_row([label(name), fact(name, value)]);
        }
    }
    out.push_str(&format!("\n{parts}\n"));
    if let Some(line) = progress(&status["reembedding"]) {
        out.push_str(&format!("{line}\n"));
    }
    out.push_str(&format!("{facts}\n"));
    let counters = status["counters"].as_object().into_iter().flatten();
    let counters: Vec<String> =
        counters.filter(|(_, n)| **n != json!(0)).map(|(name, n)| format!("{name} {n}")).collect();
    if !counters.is_empty() {
        out.push_str(&format!("since the start: {}\n", counters.join(", ")));
    }
    for name in ["warnings", "notes"] {
        for remark in items(status, name) {
            out.push_str(&format!("{name}: {}\n", text(remark)));
        }
    }
    out
}

/// `re-embedding with e5 [########----------------------] 1200 of 5000, 180 s left`
fn progress(pass: &Value) -> Option<String> {
    let (n_done, n_total) = (pass["n_done"].as_u64()?, pass["n_total"].as_u64()?);
    let n_filled = (n_done * BAR_CHARS / n_total.max(1)).min(BAR_CHARS);
    let bar: String = (0..BAR_CHARS).map(|at| if at < n_filled { '#' } else { '-' }).collect();
    let left = pass["seconds_left"].as_u64().map_or(String::new(), |s| format!(", {s} s left"));
    Some(format!("re-embedding with {} [{bar}] {n_done} of {n_total}{left}", text(&pass["model"])))
}

fn verdict(status: &Value) -> String {
    let is_unwell = |part: &&Value| !matches!(part["state"].as_str(), Some("ok" | "off"));
    let unwell: Vec<String> = items(status, "parts")
        .iter()
        .filter(is_unwell)
        .map(|part| format!("{} {}", text(&part["name"]), text(&part["state"])))
        .collect();
    if unwell.is_empty() { "well".to_owned() } else { unwell.join(", ") }
}

/// `degraded since 14:02:11 (3 min)`.
fn state(part: &Value, now: Timestamp) -> String {
    let state = text(&part["state"]);
    match time(&part["since"]) {
        Some(since) => {
            format!("{state} since {} ({})", since.strftime("%Y-%m-%d %H:%M:%SZ"), age(since, now))
        }
        None => state,
    }
}

/// The name of a fact without what only programs need.
fn label(name: &str) -> String {
    name.trim_end_matches("_bytes").trim_start_matches("n_").replace('_', " ")
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

/// A fact in words: sizes in their unit, times to the second, objects as a list of their fields,
/// several of them each on a line.
fn fact(name: &str, value: &Value) -> String {
    match value {
        Value::String(_) => match time(value) {
            Some(at) => at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
            None => text(value),
        },
        Value::Number(_) if name.ends_with("_bytes") => {
            value.as_u64().map_or_else(|| value.to_string(), bytes)
        }
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Object(fields) => {
            let shows = |(name, value): &(&String, &Value)| {
                !TOLD_BY_ANOTHER.contains(&name.as_str()) && says_something(value)
            };
            let mut shown: Vec<String> = fields
                .iter()
                .filter(shows)
                .map(|(name, value)| format!("{} {}", label(name), fact(name, value)))
                .collect();
            if let Some(n @ 1..) = shown.len().checked_sub(FIELDS_SHOWN) {
                shown.truncate(FIELDS_SHOWN);
                shown.push(format!("{n} more"));
            }
            shown.join(", ")
        }
        Value::Array(values) => {
            let between = if values.iter().any(Value::is_object) { "\n" } else { "; " };
            values.iter().map(|value| fact(name, value)).collect::<Vec<_>>().join(between)
        }
        Value::Null | Value::Number(_) => text(value),
    }
}

/// One line about it all.
fn line(status: &Value) -> String {
    let parts: Vec<String> = items(status, "parts")
        .iter()
        .map(|part| format!("{} {}", text(&part["name"]), text(&part["state"])))
        .collect();
    let mut line = format!("{} {}: {}", text(&status["now"]), verdict(status), parts.join(", "));
    for (pointer, unit) in [
        ("/store/n_memories", "memories"),
        ("/store/n_waiting", "writes waiting"),
        ("/n_pending_vectors", "vectors pending"),
        ("/n_connections", "connections"),
    ] {
        if let Some(n) = status.pointer(pointer).and_then(Value::as_u64) {
            line.push_str(&format!("; {n} {unit}"));
        }
    }
    line
}

/// Looks every `interval` until Ctrl-C or until nobody reads any more. A daemon that goes away is
/// told, and looked for again.
///
/// On a terminal the whole status is drawn anew each time; elsewhere each look is a line.
///
/// # Errors
/// If the signal cannot be listened for, or standard output fails.
pub(super) async fn watch(door: &Door, interval: Duration, as_json: bool) -> Result<(), CliError> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let is_screen = io::stdout().is_terminal() && !as_json;
    let clock = SystemClock::new();
    let mut client = None;
    loop {
        let look = async {
            let looked = look(&mut client, door).await;
            let shown = show(looked, clock.now(), is_screen, as_json);
            if !print(&shown)? {
                return Ok(false);
            }
            tokio::time::sleep(interval).await;
            Ok::<bool, CliError>(true)
        };
        tokio::select! {
            goes_on = look => if !goes_on? { return Ok(()) },
            _ = interrupt.recv() => return Ok(()),
        }
    }
}

/// What the daemon says now, over the connection there is or a new one.
async fn look(client: &mut Option<Connection>, door: &Door) -> Result<Value, CliError> {
    let looking = async {
        let connected = match client.take() {
            Some(connected) => connected,
            None => session::connect(door, false).await?,
        };
        let status = connected.call("memory_status", json!({})).await?;
        Ok::<_, CliError>((connected, status))
    };
    let silent = || CliError::Data(format!("no answer in {} s", LOOK_WAIT.as_secs()));
    let (connected, status) =
        tokio::time::timeout(LOOK_WAIT, looking).await.map_err(|_| silent())??;
    *client = Some(connected);
    Ok(status)
}

fn show(looked: Result<Value, CliError>, now: Timestamp, is_screen: bool, as_json: bool) -> String {
    match looked {
        Ok(status) if is_screen => format!("{CLEAR}{}", render(&status)),
        Ok(status) if as_json => format!("{status}\n"),
        Ok(status) => format!("{}\n", line(&status)),
        Err(error) if as_json => {
            let now = now.to_string();
            format!("{}\n", json!({ "ok": false, "now": now, "error": error.to_string() }))
        }
        Err(error) => {
            let clear = if is_screen { CLEAR } else { "" };
            format!("{clear}{now} no daemon: {error}\n")
        }
    }
}

/// Prints; `false` if nobody reads any more.
fn print(shown: &str) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Value {
        json!({
            "ok": false,
            "version": "1.2.3",
            "started_at": "2026-01-01T00:00:00Z",
            "now": "2026-01-01T03:00:00Z",
            "parts": [
                { "name": "store", "state": "ok" },
                {
                    "name": "text",
                    "state": "degraded",
                    "since": "2026-01-01T02:50:00Z",
                    "because": "it is built anew",
                },
                { "name": "model", "state": "off", "because": "switched off" },
            ],
            "store": { "n_memories": 12, "file_bytes": 2048, "namespaces": { "user": 12 } },
            "n_pending_vectors": 3,
            "backup": { "next": "2026-01-02T03:04:05.678901Z", "last": null, "place": "/b" },
            "jobs": [
                { "job": "decay", "next_at": "2026-01-02T03:30:00Z", "next_runs": ["x", "y"] },
                { "job": "purge", "last_error": "", "next_runs": [] },
            ],
            "counters": { "recalls": 5, "stores": 0 },
            "notes": ["English only"],
        })
    }

    #[test]
    fn people_read_each_part_with_since_when_and_why() {
        let text = render(&status());
        for said in [
            "recalld 1.2.3: text degraded, running for 3 h",
            "degraded since 2026-01-01 02:50:00Z (10 min)",
            "it is built anew",
            "switched off",
            "memories 12, file 2.0 KiB, namespaces user 12",
            "since the start: recalls 5\n",
            "notes: English only",
            " pending vectors   3 ",
            " next 2026-01-02 03:04:05Z, place /b ",
            " job decay, next at 2026-01-02 03:30:00Z ",
            " job purge ",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn a_status_is_no_wider_than_a_page() {
        let mut status = status();
        let because =
            "a reason that is longer than what fits beside the name of the part ".repeat(4);
        status["parts"][1]["because"] = json!(because);
        status["store"]["location"] = json!(format!("/{}", "a-long-name/".repeat(20)));
        let text = render(&status);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{widest}: {text}");
    }

    #[test]
    fn a_look_is_a_line_where_nobody_draws() {
        let now = Timestamp::UNIX_EPOCH;
        let line = show(Ok(status()), now, false, false);
        let expected = "2026-01-01T03:00:00Z text degraded: store ok, text degraded, model off; \
                        12 memories; 3 vectors pending\n";
        assert_eq!(line, expected);
        let json: Value = serde_json::from_str(&show(Ok(status()), now, false, true)).unwrap();
        assert_eq!(json, status());
        let gone = || Err(CliError::Data("gone".to_owned()));
        assert_eq!(show(gone(), now, false, false), "1970-01-01T00:00:00Z no daemon: gone\n");
        let json: Value = serde_json::from_str(&show(gone(), now, false, true)).unwrap();
        assert_eq!((&json["ok"], &json["error"]), (&json!(false), &json!("gone")));
    }
}
