//! The real bridge before the real daemon: what an agent sees of restarts, absence and first starts.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::daemon::{Bridge, Daemon, Home, eventually};
use crate::random::Random;

/// How a client of one protocol era talks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    Legacy,
    Modern,
}

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

impl Era {
    /// The parameters as this era sends them.
    fn params(self, mut params: Value) -> Value {
        if self == Self::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        params
    }

    /// What a client says first, up to the tool list.
    async fn greet(self, bridge: &mut Bridge) {
        match self {
            Self::Legacy => {
                let answer = bridge.initialize().await;
                assert_eq!(answer["serverInfo"]["name"], "recalld", "{answer}");
            }
            Self::Modern => {
                let answer = bridge.request("server/discover", self.params(json!({}))).await;
                let versions = answer["supportedVersions"].as_array().unwrap();
                assert!(versions.contains(&json!("2026-07-28")), "{answer}");
            }
        }
        let tools = bridge.request("tools/list", self.params(json!({}))).await;
        assert_eq!(tools["tools"].as_array().unwrap().len(), 11, "{tools}");
    }

    /// Sends a tool call; gives its id.
    async fn send_call(self, bridge: &mut Bridge, tool: &str, arguments: Value) -> u64 {
        let params = json!({ "name": tool, "arguments": arguments });
        bridge.send("tools/call", self.params(params)).await
    }

    /// Calls a tool; gives its whole result.
    async fn call(self, bridge: &mut Bridge, tool: &str, arguments: Value) -> Value {
        let id = self.send_call(bridge, tool, arguments).await;
        bridge.answer(id).await["result"].clone()
    }
}

/// Ends the daemon in the middle of things, or politely.
async fn end(daemon: Daemon<'_>, is_killed: bool) {
    if is_killed {
        daemon.kill();
    } else {
        assert!(daemon.stop().await.success());
    }
}

/// Every memory of the store, by content.
async fn contents(home: &Home) -> BTreeMap<String, usize> {
    let owner = home.owner().await;
    let mut counts = BTreeMap::new();
    let mut cursor = Value::Null;
    loop {
        let page = owner.must("memory_list", json!({ "limit": 100, "cursor": cursor })).await;
        for memory in page["memories"].as_array().unwrap() {
            *counts.entry(memory["content"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            return counts;
        }
    }
}

/// Stores and updates in flight while the daemon ends and comes back, several times.
async fn calls_outlive_the_daemon(era: Era, is_killed: bool) {
    const ROUNDS: u64 = 3;
    const STORES: u64 = 50;
    let mut random = Random::from_environment("bridge rounds");
    let home = Home::new();
    let mut daemon = home.serve().await;
    let mut bridge = home.bridge("tester");
    era.greet(&mut bridge).await;
    let first = json!({ "content": "This memory is updated again and again" });
    let stored = era.call(&mut bridge, "memory_store", first).await;
    let updated = stored["structuredContent"]["memories"][0]["id"].clone();

    let mut open: HashMap<u64, String> = HashMap::new();
    for round in 0..ROUNDS {
        for step in 0..STORES {
            let content = format!("Round {round} step {step} was sent once");
            let store = json!({ "content": content });
            open.insert(era.send_call(&mut bridge, "memory_store", store).await, content);
        }
        let content = format!("This memory says {round}");
        let update = json!({ "id": updated, "content": content });
        open.insert(era.send_call(&mut bridge, "memory_update", update).await, String::new());
        for _ in 0..random.below(STORES) {
            take_answer(&mut bridge, &mut open).await;
        }
        end(daemon, is_killed).await;
        daemon = home.serve().await;
    }
    while !open.is_empty() {
        take_answer(&mut bridge, &mut open).await;
    }

    let counts = contents(&home).await;
    assert_eq!(counts.len() as u64, ROUNDS * STORES + 1, "{counts:?}");
    assert!(counts.values().all(|n| *n == 1), "{counts:?}");
    let history = json!({ "ids": [updated], "history": true });
    let read = era.call(&mut bridge, "memory_get", history).await;
    // A change that is carried out twice would leave one more version.
    assert_eq!(read["structuredContent"]["history"].as_array().unwrap().len() as u64, ROUNDS);
    assert!(bridge.close().await.success());
    assert!(daemon.stop().await.success());
}

/// Reads one answer: it must be to an open call, and say that the call was carried out now, not
/// that its work was there already.
async fn take_answer(bridge: &mut Bridge, open: &mut HashMap<u64, String>) {
    let message = bridge.next().await.expect("the bridge ended");
    let id = message["id"].as_u64().unwrap_or_else(|| panic!("not an answer: {message}"));
    let content = open.remove(&id).unwrap_or_else(|| panic!("a second answer: {message}"));
    let answer = &message["result"]["structuredContent"];
    if content.is_empty() {
        assert_eq!(answer["changed"], json!(["content"]), "{message}");
    } else {
        assert_eq!(answer["memories"][0]["status"], "stored", "{message}");
    }
}

#[tokio::test]
async fn calls_in_flight_survive_sigkill_and_happen_once_in_the_older_era() {
    calls_outlive_the_daemon(Era::Legacy, true).await;
}

#[tokio::test]
async fn calls_in_flight_survive_sigkill_and_happen_once_in_the_newer_era() {
    calls_outlive_the_daemon(Era::Modern, true).await;
}

#[tokio::test]
async fn calls_in_flight_survive_sigterm_and_happen_once_in_the_older_era() {
    calls_outlive_the_daemon(Era::Legacy, false).await;
}

#[tokio::test]
async fn calls_in_flight_survive_sigterm_and_happen_once_in_the_newer_era() {
    calls_outlive_the_daemon(Era::Modern, false).await;
}

#[tokio::test]
async fn an_absent_daemon_is_said_to_be_absent_and_works_once_it_comes() {
    let home = Home::new();
    let mut bridges = ERAS.map(|_| home.bridge("waiter"));
    for (era, bridge) in ERAS.iter().zip(&mut bridges) {
        era.greet(bridge).await;
        era.send_call(bridge, "memory_store", json!({ "content": "too early" })).await;
    }
    for (era, bridge) in ERAS.iter().zip(&mut bridges) {
        let answer = bridge.next().await.unwrap();
        assert_eq!(answer["result"]["isError"], true, "{era:?}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("recalld serve"), "{era:?}: {text}");
        assert!(text.contains(&*home.socket().to_string_lossy()), "{era:?}: {text}");
    }
    let daemon = home.serve().await;
    for (era, bridge) in ERAS.iter().zip(&mut bridges) {
        let content = json!({ "content": format!("Stored late in the {era:?} era") });
        let stored = era.call(bridge, "memory_store", content).await;
        assert_eq!(stored["structuredContent"]["memories"][0]["status"], "stored", "{stored}");
    }
    assert_eq!(contents(&home).await.len(), 2, "what failed was not stored");
    assert!(daemon.stop().await.success());
}

/// The daemons that run on this data directory; ended at the end, each by its id.
struct Started<'a>(&'a Path);

impl Started<'_> {
    fn pids(&self) -> Vec<i32> {
        let state = self.0.to_str().unwrap().as_bytes();
        let is_daemon = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            words.contains(&&b"serve"[..]) && words.contains(&state)
        };
        fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(is_daemon)
            .collect()
    }

    fn signal(&self, signal: Signal) {
        for pid in self.pids().into_iter().filter_map(Pid::from_raw) {
            // It may have gone by itself meanwhile.
            kill_process(pid, signal).ok();
        }
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_bridges_at_once_start_one_daemon_that_outlives_them() {
    let home = Home::new();
    let state = home.state();
    let started = Started(&state);
    let bridges = (0..10).map(|n| {
        let agent = format!("agent{n}");
        let era = ERAS[n % 2];
        let mut bridge = Bridge::start(home.command(&["connect", "--agent", &agent]));
        async move {
            era.greet(&mut bridge).await;
            let content = json!({ "content": format!("Bridge {n} came first") });
            let stored = era.call(&mut bridge, "memory_store", content).await;
            assert_eq!(stored["structuredContent"]["memories"][0]["status"], "stored", "{stored}");
            bridge
        }
    });
    let bridges = futures::future::join_all(bridges).await;
    let pids = started.pids();
    assert_eq!(pids.len(), 1, "one daemon");
    for bridge in bridges {
        assert!(bridge.close().await.success());
    }
    assert_eq!(started.pids(), pids, "it outlives the bridges");
    assert_eq!(contents(&home).await.len(), 10);

    let stat = fs::read_to_string(format!("/proc/{}/stat", pids[0])).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_eq!(fields[3], pids[0].to_string(), "it leads its own session: {stat}");
    let log = fs::read_to_string(state.join("daemon.log")).unwrap();
    assert_eq!(log.matches("ready").count(), 1, "{log}");
    started.signal(Signal::TERM);
    eventually("the daemon stops", async || started.pids().is_empty().then_some(())).await;
    let log = fs::read_to_string(state.join("daemon.log")).unwrap();
    assert!(log.contains("stopped") && !log.contains(" ERROR "), "{log}");
}

#[tokio::test]
async fn a_lost_daemon_is_started_again_by_a_bridge_that_may() {
    let home = Home::new();
    let state = home.state();
    let started = Started(&state);
    let mut bridge = Bridge::start(home.command(&["connect", "--agent", "keeper"]));
    Era::Legacy.greet(&mut bridge).await;
    let before = json!({ "content": "Stored before the daemon was killed" });
    Era::Legacy.call(&mut bridge, "memory_store", before).await;
    started.signal(Signal::KILL);
    let after = json!({ "content": "Stored after the daemon was killed" });
    let stored = Era::Legacy.call(&mut bridge, "memory_store", after).await;
    assert_eq!(stored["structuredContent"]["memories"][0]["status"], "stored", "{stored}");
    assert_eq!(contents(&home).await.len(), 2);
    assert!(bridge.close().await.success());
}

#[tokio::test]
async fn an_agent_is_told_why_the_daemon_does_not_start() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    fs::write(home.state().join("recalld.redb"), "no store at all").unwrap();
    let mut bridge = Bridge::start(home.command(&["connect", "--agent", "keeper"]));
    Era::Legacy.greet(&mut bridge).await;
    let call = json!({ "query": "anything" });
    let refused = Era::Legacy.call(&mut bridge, "memory_search", call).await.to_string();
    for said in ["recalld restore", "damaged", "daemon.log"] {
        assert!(refused.contains(said), "{said}: {refused}");
    }
    assert!(bridge.close().await.success());
}

#[tokio::test]
async fn the_end_of_input_ends_a_bridge_with_success_and_nothing_in_flight_is_lost() {
    let home = Home::new();
    for era in ERAS {
        let mut bridge = home.bridge("leaver");
        era.greet(&mut bridge).await;
        assert!(bridge.close().await.success(), "{era:?} without a daemon");
    }
    let bridge = home.bridge("silent");
    assert!(bridge.close().await.success(), "a client that said nothing");
    let _daemon = home.serve().await;
    let mut bridge = home.bridge("leaver");
    Era::Modern.greet(&mut bridge).await;
    let mut open = HashMap::new();
    for n in 0..100 {
        let content = format!("Sent {n} just before the end");
        let store = json!({ "content": content });
        open.insert(Era::Modern.send_call(&mut bridge, "memory_store", store).await, content);
    }
    bridge.close_input();
    while !open.is_empty() {
        take_answer(&mut bridge, &mut open).await;
    }
    assert_eq!(bridge.next().await, None, "and nothing more");
    assert!(bridge.close().await.success());
    assert_eq!(contents(&home).await.len(), 100);
}

#[tokio::test]
async fn a_flood_of_calls_is_answered_call_by_call() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let mut bridge = home.bridge("flood");
    Era::Legacy.greet(&mut bridge).await;
    let mut open = HashMap::new();
    for n in 0..200 {
        let content = format!("Call {n} of a flood");
        let store = json!({ "content": content });
        open.insert(Era::Legacy.send_call(&mut bridge, "memory_store", store).await, content);
    }
    while !open.is_empty() {
        take_answer(&mut bridge, &mut open).await;
    }
    assert_eq!(contents(&home).await.len(), 200);
}

#[tokio::test]
async fn lines_that_are_no_messages_are_answered_and_only_messages_are_printed() {
    let home = Home::new();
    let _daemon = home.serve().await;
    let mut command = home.command(&["connect", "--no-start", "--agent", "odd", "--json"]);
    command.env("RECALLD_LOG", "trace");
    let mut bridge = Bridge::start(command);
    Era::Legacy.greet(&mut bridge).await;
    let long = "x".repeat(recalld::domain::limits::LINE_BYTES_MAX);
    for (line, id, code) in [
        ("{\"jsonrpc\":", Value::Null, -32_700),
        ("{\"jsonrpc\":\"2.0\",\"id\":71,\"metho", json!(71), -32_700),
        ("{\"jsonrpc\":\"2.0\",\"id\":72}", json!(72), -32_600),
        (
            &*format!(
                r#"{{"jsonrpc":"2.0","id":73,"method":"tools/call","params":{{"name":"{long}"}}}}"#
            ),
            json!(73),
            -32_600,
        ),
    ] {
        bridge.text(line).await;
        let answer = bridge.next().await.unwrap();
        let shown: String = line.chars().take(60).collect();
        assert_eq!(answer["jsonrpc"], "2.0", "{shown}: {answer}");
        assert_eq!(answer["id"], id, "{shown}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    }
    let stored =
        Era::Legacy.call(&mut bridge, "memory_store", json!({ "content": "still here" })).await;
    assert_eq!(stored["structuredContent"]["memories"][0]["status"], "stored", "{stored}");
    bridge.close_input();
    assert_eq!(bridge.next().await, None);
}
