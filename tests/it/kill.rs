//! SIGKILL at random moments under concurrent stores, updates and forgets: nothing acknowledged is
//! lost, nothing forgotten comes back. The same rounds run as an example program.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use recalld::mcp::client::{Client, Hello};
use serde_json::{Value, json};

use crate::daemon::{Home, WAIT};
use crate::random::Random;

/// Agents that write at once.
const WRITERS: u64 = 4;
/// Longest life of a daemon in a round, milliseconds.
const LIFE_MS_MAX: u64 = 400;

/// What is known about one memory.
#[derive(Clone, Debug)]
struct Known {
    /// Contents it may have: the acknowledged one, and that of a change that was not answered.
    contents: Vec<String>,
    /// Acknowledged as forgotten.
    is_forgotten: bool,
    /// A forget was sent and not answered: it may be there or not.
    is_uncertain: bool,
}

/// Counts of a whole run.
#[expect(clippy::struct_field_names, reason = "counts are called n_ everywhere")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Rounds run.
    pub n_rounds: u64,
    /// Of these, rounds that killed the first start on an empty directory.
    pub n_first_starts: u64,
    /// Acknowledged writes.
    pub n_acknowledged: u64,
    /// Memories checked after restarts.
    pub n_checked: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rounds ({} of them kills of a first start), {} acknowledged writes, {} checks: none lost, none back",
            self.n_rounds, self.n_first_starts, self.n_acknowledged, self.n_checked
        )
    }
}

/// Runs the rounds; panics at the first loss.
pub async fn rounds(n_rounds: u64, random: &mut Random) -> Summary {
    let mut summary = Summary { n_rounds, ..Summary::default() };
    let home = Home::new();
    let mut known = HashMap::new();
    for round in 0..n_rounds {
        if round % 5 == 0 {
            kill_a_first_start(random).await;
            summary.n_first_starts += 1;
        }
        let daemon = home.serve().await;
        summary.n_checked += check(&home, &known, round).await;
        let life = Duration::from_millis(random.below(LIFE_MS_MAX));
        let writers = (0..WRITERS).map(|writer| {
            let mine = known.clone().into_iter().filter(|(id, _)| owner_of(id) == writer).collect();
            write(&home, round, writer, Random::new(random.next()), mine)
        });
        let killing = async {
            tokio::time::sleep(life).await;
            daemon.kill();
        };
        let (written, ()) = futures::join!(futures::future::join_all(writers), killing);
        for (mine, n_acknowledged) in written {
            known.extend(mine);
            summary.n_acknowledged += n_acknowledged;
        }
    }
    let daemon = home.serve().await;
    summary.n_checked += check(&home, &known, n_rounds).await;
    assert!(daemon.stop().await.success());
    summary
}

/// A memory is changed by one writer only, so that what is known of it is certain.
fn owner_of(id: &str) -> u64 {
    u64::from_str_radix(&id[id.len() - 4..], 16).unwrap() % WRITERS
}

/// Kills the first start on an empty directory after some milliseconds, then starts again there.
async fn kill_a_first_start(random: &mut Random) {
    let home = Home::new();
    let daemon = home.spawn();
    tokio::time::sleep(Duration::from_micros(random.below(60_000))).await;
    daemon.kill();
    let daemon = home.serve().await;
    home.agent("first").await.store("stored after an interrupted first start").await;
    assert!(daemon.stop().await.success());
}

type Memories = HashMap<String, Known>;

/// Stores, updates and forgets until the daemon is gone.
async fn write(
    home: &Home,
    round: u64,
    writer: u64,
    mut random: Random,
    mut mine: Memories,
) -> (Memories, u64) {
    let mut n_acknowledged = 0;
    let Ok(client) = Client::connect(&home.socket(), &Hello::owner()).await else {
        return (mine, 0);
    };
    if client.initialize(WAIT).await.is_err() {
        return (mine, 0);
    }
    for step in 0.. {
        let content =
            format!("round{round}writer{writer}step{step} is a memory about killing daemons");
        let target = pick(&mine, &mut random);
        let is_answered = match (random.below(4), target) {
            (0, Some(id)) => {
                let memory = mine.get_mut(&id).unwrap();
                memory.contents.push(content.clone());
                let done =
                    call(&client, "memory_update", json!({ "id": id, "content": content })).await;
                if done.is_some() {
                    memory.contents = vec![content];
                }
                done.is_some()
            }
            (1, Some(id)) => {
                let memory = mine.get_mut(&id).unwrap();
                memory.is_uncertain = true;
                let done = call(&client, "memory_forget", json!({ "ids": [id] })).await;
                memory.is_forgotten = done.is_some();
                done.is_some()
            }
            _ => match call(&client, "memory_store", json!({ "content": content })).await {
                Some(answer) => {
                    let id = answer["memories"][0]["id"].as_str().unwrap().to_owned();
                    let known =
                        Known { contents: vec![content], is_forgotten: false, is_uncertain: false };
                    // What another writer would own is checked, but not changed further.
                    mine.insert(id, known);
                    true
                }
                None => false,
            },
        };
        if !is_answered {
            break;
        }
        n_acknowledged += 1;
    }
    (mine, n_acknowledged)
}

/// A memory of this writer that is surely there.
fn pick(mine: &Memories, random: &mut Random) -> Option<String> {
    let mut ids: Vec<&String> = mine
        .iter()
        .filter(|(_, memory)| !memory.is_uncertain && memory.contents.len() == 1)
        .map(|(id, _)| id)
        .collect();
    ids.sort();
    let at = usize::try_from(random.below(ids.len() as u64)).unwrap();
    ids.get(at).map(|id| (*id).clone())
}

/// Calls a tool; `None` if the daemon went away before it answered.
async fn call(client: &Client, tool: &str, arguments: Value) -> Option<Value> {
    let reply = client.call_tool(tool, arguments, WAIT).await.ok()?;
    assert!(!reply.is_error, "{tool}: {}", reply.text);
    reply.structured
}

/// Compares everything known with what the daemon says.
async fn check(home: &Home, known: &Memories, round: u64) -> u64 {
    let owner = home.owner().await;
    for (id, memory) in known {
        let reply = owner.call("memory_get", json!({ "ids": [id] })).await;
        let content =
            reply.structured.as_ref().map(|answer| answer["memories"][0]["content"].clone());
        match content.as_ref().and_then(Value::as_str) {
            Some(content) => {
                assert!(!memory.is_forgotten, "round {round}: forgotten {id} is back: {content}");
                let is_known = memory.contents.iter().any(|known| known == content);
                assert!(is_known, "round {round}: {id} says {content}, not {:?}", memory.contents);
            }
            None => assert!(memory.is_uncertain, "round {round}: {id} is lost: {}", reply.text),
        }
    }
    known.len() as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_nothing_forgotten_comes_back() {
    let n_rounds = std::env::var("RECALLD_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let mut random = Random::from_environment("kill rounds");
    let summary = rounds(n_rounds, &mut random).await;
    eprintln!("{summary}");
    assert!(summary.n_acknowledged > 0, "the rounds wrote nothing");
}
