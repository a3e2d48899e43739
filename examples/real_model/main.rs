//! A daemon with a real language model, end to end: memories of a few weeks in two languages become
//! summaries and profiles, and a conversation becomes memories. Fails if anything that was stored says
//! more than its sources.
//!
//! `cargo build && RECALLD_LLM_URL=http://127.0.0.1:8091/v1 RECALLD_LLM_MODEL=NAME cargo run --example
//! real_model`, with any OpenAI-compatible endpoint there; `RECALLD_LLM_CONTEXT` is its window in tokens
//! (2000). It prints how the endpoint was asked, what that took, what was refused and why, who wrote
//! what is stored (the model, or the memories themselves, quoted), and how long searches took meanwhile.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "shares the test code of tests/it, where a failure is a panic"
)]

#[path = "../../tests/it/daemon.rs"]
mod daemon;
mod faithful;
mod talk;

use std::process::ExitCode;
use std::time::Duration;

use daemon::{Agent, Home, eventually};
use faithful::{Cited, faults};
use jiff::Timestamp;
use recalld::clock::SystemClock;
use recalld::domain::job::JobName;
use recalld::domain::scoring::Role;
use recalld::ports::Clock as _;
use serde_json::{Value, json};

/// Time between two searches, and between two looks at a job.
const PAUSE: Duration = Duration::from_millis(100);
const SESSION: &str = "talk";
/// Turns that the session keeps as they were said; the others are told.
const TURNS_KEPT: usize = 6;
const N_QUIET: usize = 50;

#[tokio::main]
async fn main() -> ExitCode {
    let home = Home::with_config(&config());
    let daemon = home.serve().await;
    let agent = home.owner().await;
    let n_memories = store(&agent).await;
    let said_at = SystemClock::new().now();
    append(&agent, said_at).await;
    println!("{n_memories} memories, {} turns of a conversation", talk::TALK.len());
    let mut quiet = Vec::new();
    while quiet.len() < N_QUIET {
        quiet.push(search(&agent, quiet.len()).await);
        tokio::time::sleep(PAUSE).await;
    }
    told("searches before", quiet);
    run(&home, &agent, JobName::Consolidate, &["n_items", "n_clusters", "n_tasks", "written_by"])
        .await;
    let counts =
        ["n_turns", "n_small_talk", "n_facts", "n_stored", "n_later", "unusable", "n_told"];
    run(&home, &agent, JobName::Extract, &counts).await;
    asked(&agent).await;
    corrected(&agent).await;
    let n_faults = products(&agent).await + extracted(&agent, said_at).await;
    println!("{n_faults} of what was stored says more than its sources");
    assert!(daemon.stop().await.success());
    if n_faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Both tasks of the model that the environment names; jobs run when they are asked for.
fn config() -> String {
    let url = std::env::var("RECALLD_LLM_URL").expect("RECALLD_LLM_URL is an endpoint");
    let model = std::env::var("RECALLD_LLM_MODEL").expect("RECALLD_LLM_MODEL is its model");
    let context = std::env::var("RECALLD_LLM_CONTEXT").unwrap_or_else(|_| "2000".to_owned());
    let llm = |task: &str| {
        format!(
            "[llm.{task}]\nurl = \"{url}\"\nmodel = \"{model}\"\ncontext_tokens = {context}\n\
             timeout_ms = 300000\n"
        )
    };
    format!(
        "[jobs]\nzone = \"UTC\"\n[jobs.consolidate]\nenabled = false\n[jobs.extract]\n\
         enabled = false\n[session]\nturns = {TURNS_KEPT}\n{}{}",
        llm("summary"),
        llm("scoring")
    )
}

/// Stores every memory; gives how many there are.
async fn store(agent: &Agent) -> usize {
    let mut n_memories = 0;
    for (kind, memories) in &talk::TOPICS {
        for (day, content) in *memories {
            let occurred_at = format!("2026-11-{day:02}T12:00:00Z");
            let draft =
                json!({ "content": content, "kind": kind.as_str(), "occurred_at": occurred_at });
            agent.must("memory_store", draft).await;
            n_memories += 1;
        }
    }
    eventually("every memory has its vector", async || {
        let status = agent.must("memory_status", json!({})).await;
        (status["ok"] == true && status["n_pending_vectors"] == 0).then_some(())
    })
    .await;
    n_memories
}

/// Says the conversation, all of it at this time.
async fn append(agent: &Agent, at: Timestamp) {
    let turn =
        |(role, content): &(Role, &str)| json!({ "role": role.as_str(), "content": content });
    let turns: Vec<Value> = talk::TALK.iter().map(turn).collect();
    let arguments =
        json!({ "session": SESSION, "turns": turns, "at": at.to_string(), "end": true });
    agent.must("session_append", arguments).await;
}

/// Searches once; gives the time it took.
async fn search(agent: &Agent, n: usize) -> Duration {
    let clock = SystemClock::new();
    let query = talk::QUESTIONS[n % talk::QUESTIONS.len()];
    let found = agent.must("memory_search", json!({ "query": query })).await;
    assert!(!found["memories"].as_array().unwrap().is_empty(), "{query}: {found}");
    clock.monotonic()
}

fn told(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!(
        "{what}: {} of them, median {:.0} ms, 99th percentile {:.0} ms, longest {:.0} ms",
        times.len(),
        at(50),
        at(99),
        at(100)
    );
}

/// Runs a job to its end, searching all the while, and prints these counts of its report.
async fn run(home: &Home, agent: &Agent, job: JobName, counts: &[&str]) {
    let other = home.agent("meanwhile").await;
    let asked = json!({ "job": job.as_str() });
    let mut run = agent.must("maintenance_run", asked).await;
    let mut times = Vec::new();
    while run["outcome"] == "running" {
        times.push(search(&other, times.len()).await);
        tokio::time::sleep(PAUSE).await;
        run = agent.must("maintenance_report", json!({ "run": run["run"] })).await;
    }
    let report = &run["report"];
    println!("{job}: {} after {} s {}", run["outcome"], run["seconds"], run["why"]);
    for name in counts.iter().chain(&["rejections"]) {
        println!("  {name}: {}", report[name]);
    }
    told("  searches meanwhile", times);
}

/// How the endpoint was asked, and what that took.
async fn asked(agent: &Agent) {
    let status = agent.must("memory_status", json!({})).await;
    for task in ["summary", "scoring"] {
        let llm = &status["llm"][task];
        println!(
            "llm.{task}: {} by {}, {} calls, {} tokens",
            llm["model"], llm["form"], llm["calls_today"], llm["tokens_today"]
        );
    }
}

/// Prints what is held to be put right by something else that was stored.
async fn corrected(agent: &Agent) {
    let listed = agent.must("memory_list", json!({ "status": ["superseded"], "limit": 200 })).await;
    for old in get(agent, &listed["memories"]).await {
        let by = get(agent, &json!([old["superseded_by"]])).await;
        println!("put right:\n  {}\n  {}", old["content"], by[0]["content"]);
    }
}

/// Every memory of these kinds, whole.
async fn whole(agent: &Agent, kinds: &[&str]) -> Vec<Value> {
    let listed = agent.must("memory_list", json!({ "kinds": kinds, "limit": 200 })).await;
    get(agent, &listed["memories"]).await
}

/// The memories of a list, whole.
async fn get(agent: &Agent, listed: &Value) -> Vec<Value> {
    let mut memories = Vec::new();
    for one in listed.as_array().unwrap() {
        let id = one.get("id").unwrap_or(one);
        let got = agent.must("memory_get", json!({ "ids": [id] })).await;
        memories.push(got["memories"][0].clone());
    }
    memories
}

/// Prints the summaries and profiles; gives how many are not borne out by their sources.
async fn products(agent: &Agent) -> usize {
    let mut n_faults = 0;
    for product in whole(agent, &["summary", "profile"]).await {
        let sources = get(agent, &product["derived_from"]).await;
        let cited: Vec<Cited> = sources.iter().map(Cited::memory).collect();
        let by = &product["metadata"]["summary_kind"];
        println!("{} of {} memories ({by}):", product["kind"], cited.len());
        n_faults += shown(product["content"].as_str().unwrap(), &cited);
    }
    n_faults
}

/// The same for what was taken out of the conversation, and for the summary of its beginning.
async fn extracted(agent: &Agent, said_at: Timestamp) -> usize {
    let said: Vec<[Cited; 2]> = talk::TALK
        .iter()
        .zip(1..)
        .map(|((role, content), number)| Cited::turn(number, *role, content, said_at))
        .collect();
    let mut n_faults = 0;
    for memory in whole(agent, &[]).await.iter().filter(|one| one["origin"] == "extracted") {
        let turn = memory["metadata"]["turn"].as_u64().unwrap();
        let source = &said[usize::try_from(turn).unwrap() - 1];
        println!("{} of turn {turn} ({}):", memory["kind"], memory["metadata"]["extracted_by"]);
        n_faults += shown(memory["content"].as_str().unwrap(), source);
    }
    let got = agent.must("session_get", json!({ "session": SESSION })).await;
    if let Some(summary) = got["summary"].as_str() {
        println!("beginning of the conversation:");
        n_faults += shown(summary, &said.concat());
    }
    n_faults
}

/// Prints a stored text with its faults; 1 if it has any.
fn shown(text: &str, cited: &[Cited]) -> usize {
    let faults = faults(text, cited);
    println!("  {}", text.replace('\n', "\n  "));
    for fault in &faults {
        println!("  NOT SO: {fault}");
    }
    usize::from(!faults.is_empty())
}
