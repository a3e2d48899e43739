//! Agents that store, update and forget until the daemon is gone.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use recalld::mcp::client::{Client, Hello};
use serde_json::{Value, json};

use super::ledger::{Known, Ledger};
use crate::daemon::WAIT;
use crate::random::Random;

/// Agents that write at once.
const WRITERS: u64 = 4;

/// Writes from all agents at once to whatever daemon answers at `socket`, until it goes away or
/// `is_over` is set; returns the number of acknowledged writes.
///
/// Each memory is changed by one agent only, so that what is known of it is certain.
pub async fn write(
    socket: &Path,
    round: u64,
    ledger: &mut Ledger,
    random: &mut Random,
    is_over: &AtomicBool,
) -> u64 {
    let writers = (0..WRITERS).map(|number| {
        let mine = ledger.iter().filter(|(id, _)| owner_of(id) == number);
        let mine = mine.map(|(id, known)| (id.clone(), known.clone())).collect();
        let random = Random::new(random.next());
        Writer { name: format!("round{round}writer{number}"), random, mine, is_over }.run(socket)
    });
    let mut n_acknowledged = 0;
    for (mine, n) in futures::future::join_all(writers).await {
        ledger.extend(mine);
        n_acknowledged += n;
    }
    n_acknowledged
}

fn owner_of(id: &str) -> u64 {
    u64::from_str_radix(&id[id.len() - 4..], 16).unwrap() % WRITERS
}

/// One of them, with the memories that it may change.
struct Writer<'a> {
    name: String,
    random: Random,
    mine: Ledger,
    is_over: &'a AtomicBool,
}

impl Writer<'_> {
    async fn run(mut self, socket: &Path) -> (Ledger, u64) {
        let Some(client) = self.connect(socket).await else { return (self.mine, 0) };
        for step in 0.. {
            let is_answered = !self.is_over() && self.step(&client, step).await.is_some();
            if !is_answered {
                return (self.mine, step);
            }
        }
        unreachable!("there is always a next step")
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// A connection, as soon as there is a daemon.
    async fn connect(&self, socket: &Path) -> Option<Client> {
        while !self.is_over() {
            if let Ok(client) = Client::connect(socket, &Hello::owner()).await
                && client.initialize(WAIT).await.is_ok()
            {
                return Some(client);
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        None
    }

    /// One write; `None` if it was not answered.
    async fn step(&mut self, client: &Client, step: u64) -> Option<()> {
        let content = format!("{}step{step} is a memory about killing daemons", self.name);
        match (self.random.below(4), self.pick()) {
            (0, Some(id)) => {
                let known = self.mine.get_mut(&id).unwrap();
                known.contents.push(content.clone());
                call(client, "memory_update", json!({ "id": id, "content": content })).await?;
                known.contents = vec![content];
            }
            (1, Some(id)) => {
                let known = self.mine.get_mut(&id).unwrap();
                known.may_be_gone = true;
                call(client, "memory_forget", json!({ "ids": [id] })).await?;
                known.may_be_there = false;
            }
            _ => {
                let answer = call(client, "memory_store", json!({ "content": content })).await?;
                let id = answer["memories"][0]["id"].as_str().unwrap().to_owned();
                self.mine.insert(id, Known::stored(content));
            }
        }
        Some(())
    }

    /// A memory that is surely there.
    fn pick(&mut self) -> Option<String> {
        let ids: Vec<&String> =
            self.mine.iter().filter(|(_, known)| known.is_certain()).map(|(id, _)| id).collect();
        let at = usize::try_from(self.random.below(ids.len() as u64)).unwrap();
        ids.get(at).map(|id| (*id).clone())
    }
}

/// Calls a tool; `None` if the daemon went away before it answered.
async fn call(client: &Client, tool: &str, arguments: Value) -> Option<Value> {
    let reply = client.call_tool(tool, arguments, WAIT).await.ok()?;
    assert!(!reply.is_error, "{tool}: {}", reply.text);
    reply.structured
}
