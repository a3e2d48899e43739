//! `recalld demo`: the main job at work, with a real daemon, two agents behind real bridges, a kill in
//! the middle, and a reminder that arrives at a webhook. Each step checks what it shows and fails if
//! it is not so.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a JSON value by a name it does not have gives null"
)]

use std::time::Duration;

use serde_json::{Value, json};

use super::bridged::BridgedAgent;
use super::output::say;
use super::session::{CliError, call_on};
use super::show::text;
use super::trial::{Trial, stop};
use super::webhook::Receiver;
use crate::clock::SystemClock;
use crate::mcp::client::Client;
use crate::ports::Clock as _;

/// What the first agent stores.
const MEMORIES: [&str; 5] = [
    "The cat sleeps on the sofa every afternoon",
    "Deploys to production happen on Tuesdays after the stand-up",
    "The user prefers short answers with an example",
    "我喜欢喝乌龙茶，不喜欢咖啡",
    "Ticket INC-90312: the login test fails when two sessions start at once",
];

/// What the second agent asks: the question, how it is found, and a part of the memory it must find.
const QUESTIONS: [(&str, &str, &str); 3] = [
    ("Where does the kitten take a nap?", "by meaning", "sofa"),
    ("乌龙茶", "by word", "乌龙茶"),
    ("INC-90312", "by identifier", "INC-90312"),
];

/// From the setting of the reminder until it is due.
const REMIND_AFTER: Duration = Duration::from_secs(2);
/// Longest wait for it to arrive.
const WEBHOOK_WAIT: Duration = Duration::from_mins(1);

/// Time between two looks whether every vector is there.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Looks in a row that find no new vector before it is given up: two minutes.
const LOOKS_IN_VAIN_MAX: u32 = 6_000;

/// Steps with the time each took: printed as they are done, or as one JSON object at the end.
struct Steps {
    clock: SystemClock,
    json: bool,
    done: Vec<Value>,
    started: Duration,
}

impl Steps {
    fn new(json: bool) -> Self {
        let clock = SystemClock::new();
        let started = clock.monotonic();
        Self { clock, json, done: Vec::new(), started }
    }

    fn done(&mut self, what: &str) {
        self.showed(what, &Value::Null, &[]);
    }

    /// A step that showed something: to programs as fields, to people as lines.
    fn showed(&mut self, what: &str, fields: &Value, lines: &[String]) {
        let now = self.clock.monotonic();
        let ms = now.saturating_sub(self.started).as_secs_f64() * 1e3;
        let ms = (ms * 10.0).round() / 10.0;
        let mut step = json!({ "step": what, "ms": ms });
        for (name, value) in fields.as_object().into_iter().flatten() {
            step[name] = value.clone();
        }
        self.done.push(step);
        if !self.json {
            say(&format!("{:>2}. {what}  [{ms:.1} ms]", self.done.len()));
            for line in lines {
                say(&format!("      {line}"));
            }
        }
        self.started = self.clock.monotonic();
    }

    fn end(self) {
        if self.json {
            say(&format!("{:#}", json!({ "steps": self.done })));
        } else {
            say("\nEverything above was checked. `recalld serve` runs the daemon for good.");
        }
    }
}

/// Runs the demo in a temporary directory, which is removed at the end.
pub(super) async fn run(json: bool) -> Result<(), CliError> {
    let dir = tempfile::Builder::new().prefix("recalld-demo-").tempdir()?;
    let receiver = Receiver::start().await?;
    let trial = Trial::new(dir.path(), &config(receiver.url()))?;
    if !json {
        say(&format!("recalld demo, in {}\n", dir.path().display()));
    }
    let mut steps = Steps::new(json);
    let (mut daemon, owner) = trial.serve().await?;
    steps.done("started the daemon: an empty store, the bundled model, no network");
    let mut planner = BridgedAgent::connect(&trial, "planner").await?;
    let mut reviewer = BridgedAgent::connect(&trial, "reviewer").await?;
    steps.done("connected two agents, `planner` and `reviewer`, each through `recalld connect`");
    let answer = planner.call("memory_store", json!({ "memories": MEMORIES })).await?;
    let ids: Vec<String> = answer["memories"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|memory| memory["id"].as_str().map(str::to_owned))
        .collect();
    steps.done(&format!("planner stored {} memories; each is on disk at the answer", ids.len()));
    wait_for_vectors(&owner).await?;
    steps.done("the model has read them all");
    for question in QUESTIONS {
        ask(&mut reviewer, question, &mut steps).await?;
    }
    daemon.kill().await?;
    steps.done("killed the daemon with SIGKILL, bridges still connected");
    let (daemon, owner) = trial.serve().await?;
    steps.done("started it again on the same directory");
    wait_for_vectors(&owner).await?;
    for question in QUESTIONS {
        ask(&mut reviewer, question, &mut steps).await?;
    }
    let tea = ids.get(3).cloned().unwrap_or_default();
    planner.call("memory_forget", json!({ "ids": [tea] })).await?;
    steps.done("planner forgot the memory about tea");
    let found = reviewer.call("memory_search", json!({ "query": "乌龙茶" })).await?;
    expect(contents(&found).is_empty(), "a forgotten memory is not found", &found)?;
    steps.done("reviewer asked for it again: nothing, and the answer says so");
    remind(&mut planner, &mut reviewer, &receiver, &mut steps).await?;
    stop(daemon).await?;
    steps.done("stopped the daemon in order");
    steps.end();
    Ok(())
}

/// A place for reminders: the receiver.
fn config(url: &str) -> String {
    format!("[sinks.webhook]\nkind = \"json\"\nurl = \"{url}\"\n")
}

/// One agent sets a reminder; it reaches the webhook, and the other agent, who acknowledges it.
async fn remind(
    planner: &mut BridgedAgent,
    reviewer: &mut BridgedAgent,
    receiver: &Receiver,
    steps: &mut Steps,
) -> Result<(), CliError> {
    let at = steps.clock.now().checked_add(REMIND_AFTER).unwrap_or_default();
    let arguments = json!({ "text": "Water the plants", "at": at.to_string() });
    let set = planner.call("reminder_set", arguments).await?;
    let told = text(&set["reminder"]["next"][0]["told"]);
    steps.done(&format!("planner set a reminder, to be told {told}"));
    let waited = tokio::time::timeout(WEBHOOK_WAIT, receiver.next()).await;
    let sent =
        waited.map_err(|_| CliError::Data("no reminder reached the webhook".to_owned()))??;
    let message = &sent["data"];
    expect(message["title"] == json!("Water the plants"), "the reminder arrives", &sent)?;
    let parts = ["title", "text", "footer"].map(|part| text(&message[part])).join("\n");
    let lines: Vec<String> = parts.lines().map(|line| format!("| {line}")).collect();
    let what = "it arrived at the webhook, a server of this program on 127.0.0.1";
    steps.showed(what, &json!({ "sent": message }), &lines);
    let found = reviewer.call("memory_search", json!({ "query": "sofa" })).await?;
    let due = &found["reminders"][0];
    expect(due["text"] == json!("Water the plants"), "it rides in what reviewer asks", &found)?;
    let arguments = json!({ "id": due["id"], "action": "ack" });
    let done = reviewer.call("reminder_update", arguments).await?;
    expect(done["reminder"]["state"] == json!("done"), "it is over", &done)?;
    steps.done("reviewer was told of it in the answer to a search, and acknowledged it");
    Ok(())
}

/// Asks a question and checks that the expected memory comes first.
async fn ask(
    agent: &mut BridgedAgent,
    (question, how, part): (&str, &str, &str),
    steps: &mut Steps,
) -> Result<(), CliError> {
    let answer = agent.call("memory_search", json!({ "query": question })).await?;
    let found = contents(&answer);
    let best = found.first().copied().unwrap_or_default();
    expect(best.contains(part), "the right memory comes first", &answer)?;
    let reasons: Vec<&str> = answer["memories"][0]["reasons"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let what = format!("reviewer asked \"{question}\" ({how})");
    let lines = [format!("-> {best}"), format!("   because {}", reasons.join(", "))];
    steps.showed(&what, &json!({ "found": best, "reasons": reasons }), &lines);
    Ok(())
}

fn contents(answer: &Value) -> Vec<&str> {
    let memories = answer["memories"].as_array();
    memories.into_iter().flatten().filter_map(|memory| memory["content"].as_str()).collect()
}

fn expect(is_so: bool, what: &str, answer: &Value) -> Result<(), CliError> {
    if is_so { Ok(()) } else { Err(CliError::Data(format!("expected that {what}, got {answer}"))) }
}

/// Waits until every memory can be found by meaning, for as long as vectors keep coming.
pub(super) async fn wait_for_vectors(owner: &Client) -> Result<(), CliError> {
    let mut n_fewest = u64::MAX;
    let mut n_looks_in_vain = 0;
    while n_looks_in_vain < LOOKS_IN_VAIN_MAX {
        let status = call_on(owner, "memory_status", json!({})).await?;
        let n_pending = status["n_pending_vectors"].as_u64().unwrap_or(0);
        if status["embedder"].is_null() {
            // Meaning is switched off.
            return Ok(());
        }
        if status["vectors"]["ready"] == json!(true) && n_pending == 0 {
            return Ok(());
        }
        n_looks_in_vain = if n_pending < n_fewest { 0 } else { n_looks_in_vain + 1 };
        n_fewest = n_fewest.min(n_pending);
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let status = call_on(owner, "memory_status", json!({})).await?;
    let parts = status["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let model = parts.iter().find(|part| part["name"] == json!("model"));
    let because = model.map(|model| text(&model["because"])).unwrap_or_default();
    Err(CliError::Data(format!("no more vectors came; the model: {because}")))
}
