//! `recalld eval`: recall on dialogues with labelled evidence, through a real daemon's socket.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a JSON value by a name it does not have gives null"
)]

mod dataset;
mod report;

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::arguments::EvalArguments;
use super::demo::wait_for_vectors;
use super::session::{CliError, call_on};
use super::trial::{Trial, stop};
use crate::clock::SystemClock;
use crate::domain::embedding::is_model_name;
use crate::domain::limits::{EMBED_THREADS_MAX, RECALL_TOKENS_MAX};
use crate::domain::measure::{Measures, means_by_category};
use crate::mcp::client::Client;
use crate::ports::Clock as _;
use dataset::{Dataset, Question};
use report::{Costs, SetReport};

/// Memories in one `memory_store`: its text must stay below the line limit.
const BATCH: usize = 50;
/// Depth to which rankings are measured.
const DEPTH: usize = 20;

/// Measures every set in a fresh store each and prints the report.
pub(super) async fn run(
    what: &EvalArguments,
    config: Option<&Path>,
    models: &Path,
    json: bool,
) -> Result<(), CliError> {
    let config = trial_config(config, what.model.as_deref())?;
    if let Some(name) = what.model.as_deref().filter(|name| is_model_name(name))
        && !models.join("models").join(name).is_dir()
    {
        let why = format!(
            "{name} is not installed in {}: `recalld model list` shows what is, `--state-dir` names \
             another data directory",
            models.display()
        );
        return Err(CliError::Refused(why));
    }
    let sets: Vec<Dataset> =
        what.sets.iter().map(|path| Dataset::read(path)).collect::<Result<_, _>>()?;
    let temporary = tempfile::Builder::new().prefix("recalld-eval-").tempdir()?;
    let root = what.keep.as_deref().unwrap_or(temporary.path());
    let mut reports = Vec::with_capacity(sets.len());
    for set in &sets {
        let dir = root.join(&set.name);
        std::fs::create_dir_all(&dir)?;
        let trial = Trial::new(&dir, &config)?;
        trial.borrow_models(models)?;
        let (daemon, owner) = trial.serve().await?;
        let report = measure(set, &trial, &owner, daemon.id()).await;
        stop(daemon).await?;
        let report = report?;
        if !json {
            report::print(&report);
        }
        reports.push(report);
    }
    if json {
        report::print_json(&reports);
    }
    Ok(())
}

/// The configuration of the daemon on trial: section `[embed]` of a file, if there is one, with the
/// model asked for. The machine works for nobody else, so as many threads read as there are
/// processors.
fn trial_config(file: Option<&Path>, model: Option<&str>) -> Result<String, CliError> {
    let of_file = |path: &Path| -> Result<toml::Table, CliError> {
        let bad = |error: &dyn Display| CliError::Data(format!("read {}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| bad(&error))?;
        let whole: toml::Table = text.parse().map_err(|error| bad(&error))?;
        Ok(whole.get("embed").and_then(toml::Value::as_table).cloned().unwrap_or_default())
    };
    let mut embed = file.map(of_file).transpose()?.unwrap_or_default();
    if let Some(model) = model {
        embed.insert("model".to_owned(), model.into());
    }
    let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = i64::try_from(n_processors.min(EMBED_THREADS_MAX)).unwrap_or(1);
    embed.entry("threads").or_insert(threads.into());
    Ok(toml::Table::from_iter([("embed".to_owned(), embed.into())]).to_string())
}

async fn measure(
    set: &Dataset,
    trial: &Trial,
    owner: &Client,
    daemon: Option<u32>,
) -> Result<SetReport, CliError> {
    let clock = SystemClock::new();
    let started = clock.monotonic();
    let names = store(set, owner).await?;
    let acknowledged = clock.monotonic().saturating_sub(started);
    wait_for_vectors(owner).await?;
    let embedded = clock.monotonic().saturating_sub(started);
    let bar = progress(&format!("{}: asking", set.name), set.questions.len());
    let mut measured = Vec::with_capacity(set.questions.len());
    let mut search_ms = Vec::with_capacity(set.questions.len());
    for question in &set.questions {
        let started = clock.monotonic();
        let first = search(owner, question, &Value::Null).await?;
        search_ms.push(clock.monotonic().saturating_sub(started).as_secs_f64() * 1e3);
        let ranked = ranked(owner, question, first, &names).await?;
        let evidence: Vec<&str> = question.evidence.iter().map(String::as_str).collect();
        measured.push((question.category.clone(), Measures::of(&ranked, &evidence)));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (all, categories) = means_by_category(&measured);
    let costs = Costs {
        stores_per_second: set.memories.len() as f64 / acknowledged.as_secs_f64().max(1e-9),
        embedded_per_second: set.memories.len() as f64 / embedded.as_secs_f64().max(1e-9),
        search_ms,
        resident_bytes: report::resident_bytes(daemon),
        store_bytes: report::bytes_on_disk(&trial.state_dir().join("recalld.redb")),
        index_bytes: report::bytes_on_disk(&trial.state_dir().join("index")),
    };
    Ok(SetReport {
        name: set.name.clone(),
        n_memories: set.memories.len(),
        n_cut: set.n_cut,
        all,
        categories,
        costs,
    })
}

/// Stores the memories; gives for each id of ours the ids of the set (equal memories share one).
async fn store(set: &Dataset, owner: &Client) -> Result<HashMap<String, Vec<String>>, CliError> {
    let bar = progress(&format!("{}: storing", set.name), set.memories.len());
    let mut names: HashMap<String, Vec<String>> = HashMap::new();
    for batch in set.memories.chunks(BATCH) {
        let memories: Vec<String> = batch
            .iter()
            .map(|memory| {
                json!({
                    "content": memory.text,
                    "namespace": memory.namespace,
                    "occurred_at": memory.time,
                })
                .to_string()
            })
            .collect();
        let answer = call_on(owner, "memory_store", json!({ "memories": memories })).await?;
        let stored = answer["memories"].as_array().map_or(&[][..], Vec::as_slice);
        if stored.len() != batch.len() {
            return Err(CliError::Data(format!("stored {} of {}", stored.len(), batch.len())));
        }
        for (memory, stored) in batch.iter().zip(stored) {
            let id = stored["id"].as_str().unwrap_or_default().to_owned();
            names.entry(id).or_default().push(memory.key());
        }
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    Ok(names)
}

async fn search(owner: &Client, question: &Question, cursor: &Value) -> Result<Value, CliError> {
    let arguments = json!({
        "query": question.query,
        "namespace": question.namespace,
        "limit": DEPTH,
        "max_tokens": RECALL_TOKENS_MAX,
        "cursor": cursor,
    });
    call_on(owner, "memory_search", arguments).await
}

/// The ids of the set in the order found, through as many pages as the depth takes.
async fn ranked<'a>(
    owner: &Client,
    question: &Question,
    first: Value,
    names: &'a HashMap<String, Vec<String>>,
) -> Result<Vec<&'a str>, CliError> {
    let mut ranked = Vec::with_capacity(DEPTH);
    let mut page = first;
    loop {
        for hit in page["memories"].as_array().into_iter().flatten() {
            let id = hit["id"].as_str().unwrap_or_default();
            ranked.extend(names.get(id).into_iter().flatten().map(String::as_str));
        }
        if ranked.len() >= DEPTH || !page["next_cursor"].is_string() {
            return Ok(ranked);
        }
        page = search(owner, question, &page["next_cursor"]).await?;
    }
}

fn progress(what: &str, n_items: usize) -> ProgressBar {
    let bar = ProgressBar::new(n_items as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar
}
