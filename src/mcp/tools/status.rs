//! `memory_status`: what works, what does not, and how much is remembered.

use jiff::Timestamp;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::super::Shared;
use super::super::args::Arguments;
use super::super::control::{ConfigReport, WatchdogReport};
use super::super::reminders::sink_facts;
use super::super::reply::{Reply, put};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, job_facts};
use crate::domain::identity::Caller;
use crate::domain::limits::NAMESPACES_PER_CALL_MAX;
use crate::domain::namespace::Namespace;
use crate::ports::{LlmReport, LogReport, ParityReport};
use crate::service::meaning::Reembedding;
use crate::service::remind::RemindersStatus;
use crate::service::status::{
    Comparison, LlmStatus, PartState, PartStatus, SessionCounts, StatusReport,
};

pub(super) const NAME: &str = "memory_status";

pub(super) fn definition() -> Tool {
    schema::tool(
        NAME,
        "Whether the memory works: what is degraded and why, counts, queues.",
        Vec::new(),
        Conduct::Reads,
        false,
    )
}

pub(super) async fn run(call: Call<'_>, arguments: Arguments) -> Outcome {
    let warnings = arguments.finish();
    let mut reply = Reply::default();
    for (name, value) in facts(call.shared, call.caller).await {
        write(&mut reply, &name, &value);
        reply.field(&name, value);
    }
    reply.remarks("warnings", &warnings);
    Ok(reply)
}

/// Everything the caller may know, by name.
pub(in crate::mcp) async fn facts(shared: &Shared, caller: &Caller) -> JsonObject {
    let mut report = shared.service.status().await;
    let process = shared.control.report();
    report.parts.extend(process.parts.iter().cloned());
    report.notes.extend(process.notes.iter().cloned());
    let mut facts = JsonObject::new();
    put(&mut facts, "ok", report.is_ok());
    put(&mut facts, "version", report.version);
    put(&mut facts, "started_at", report.started_at.to_string());
    put(&mut facts, "now", report.now.to_string());
    put(&mut facts, "parts", report.parts.iter().map(part).collect::<Vec<_>>());
    put(&mut facts, "store", store(&report, caller));
    put(&mut facts, "backup", backup(&report, caller));
    let index = &report.index;
    for (name, arm) in [("text", &index.text), ("vectors", &index.vectors)] {
        let mut value = JsonObject::new();
        put(&mut value, "ready", arm.ready);
        // Counts over all namespaces tell of memories that an agent may not read.
        if caller.is_owner() {
            put(&mut value, "detail", arm.detail.as_str());
            put(&mut value, "n_memories", arm.n_memories);
            put(&mut value, "disk_bytes", arm.disk_bytes);
        }
        if let ("text", true) = (name, caller.is_owner()) {
            put(&mut value, "n_rebuilds", index.text_rebuilds.n);
            let last = index.text_rebuilds.last.as_ref();
            let last = last.map(|(at, reason)| format!("{at}: {reason}"));
            put(&mut value, "last_rebuild", last);
        }
        put(&mut facts, name, value);
    }
    put(&mut facts, "n_pending_vectors", index.n_pending_vectors);
    put(&mut facts, "model", report.model.as_ref().map(|model| model.name.clone()));
    if let Some(embedder) = &report.embedder {
        let waiting = json!({"ready": embedder.ready, "n_waiting": embedder.n_waiting});
        put(&mut facts, "embedder", waiting);
    }
    if let Some(pass) = &report.reembedding {
        put(&mut facts, "reembedding", reembedding(pass));
    }
    if let Some(comparison) = &report.comparison {
        put(&mut facts, "parity", parity(comparison, caller));
    }
    if let Some(counts) = &report.sessions {
        put(&mut facts, "sessions", sessions(counts, caller));
    }
    if let (Some(status), true) = (&report.reminders, caller.is_owner()) {
        put(&mut facts, "reminders", reminders(status));
    }
    let jobs = shared.maintenance.jobs();
    let jobs: Vec<Value> = jobs.iter().map(|job| Value::Object(job_facts(job))).collect();
    put(&mut facts, "jobs", jobs);
    put(&mut facts, "n_connections", shared.connections.count());
    if caller.is_owner() {
        let counters: JsonObject =
            report.counters.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
        put(&mut facts, "counters", counters);
        put(&mut facts, "llm", llm(&report.llm));
        let weights = report.model.as_ref().map(|model| model.weights_hash.clone());
        put(&mut facts, "weights_hash", weights);
        put(&mut facts, "config", config(&process.config));
        put(&mut facts, "log", log(&process.log));
        put(&mut facts, "watchdog", process.watchdog.as_ref().map(watchdog));
    }
    put(&mut facts, "notes", report.notes.clone());
    facts
}

fn reembedding(pass: &Reembedding) -> Value {
    json!({
        "model": pass.model,
        "n_done": pass.n_done,
        "n_total": pass.n_total,
        "since": pass.since.to_string(),
        "seconds_left": pass.left.map(|left| left.as_secs()),
    })
}

/// The last comparison of the indexes with the store; counts go over all namespaces.
fn parity(comparison: &Comparison, caller: &Caller) -> JsonObject {
    let mut value = JsonObject::new();
    put(&mut value, "compared_at", comparison.at.to_string());
    match &comparison.found {
        Ok(ParityReport { n_compared, n_missing, n_surplus, n_different }) => {
            let n_repaired = n_missing + n_surplus + n_different;
            put(&mut value, "agrees", n_repaired == 0);
            if caller.is_owner() {
                put(&mut value, "n_compared", *n_compared);
                put(&mut value, "n_repaired", n_repaired);
            }
        }
        Err(error) => put(&mut value, "error", error.as_str()),
    }
    value
}

/// What is kept of what was said, where the caller may read it.
fn sessions(counts: &[SessionCounts], caller: &Caller) -> Value {
    let readable =
        || counts.iter().filter(|counts| caller.access.weight(&counts.namespace).is_some());
    json!({
        "n_sessions": readable().map(|counts| counts.n_sessions).sum::<u64>(),
        "n_waiting_turns": readable().map(|counts| counts.n_waiting).sum::<u64>(),
    })
}

/// What is due next, and the sinks. None of it has a secret or a word of a reminder in it.
fn reminders(status: &RemindersStatus) -> JsonObject {
    let mut value = JsonObject::new();
    put(&mut value, "next_at", status.next_at.map(|at| at.to_string()));
    put(&mut value, "sinks", status.sinks.iter().map(sink_facts).collect::<Vec<_>>());
    value
}

fn part(part: &PartStatus) -> Value {
    match &part.state {
        PartState::Ok => json!({"name": part.name, "state": "ok"}),
        PartState::Off { because } => {
            json!({"name": part.name, "state": "off", "because": because})
        }
        PartState::Degraded { since, because } => unwell(part.name, "degraded", *since, because),
        PartState::Down { since, because } => unwell(part.name, "down", *since, because),
    }
}

fn unwell(name: &str, state: &str, since: Timestamp, because: &str) -> Value {
    json!({ "name": name, "state": state, "since": since.to_string(), "because": because })
}

/// When the last backup was made and the next is due; where they lie and how large they are is for
/// the person.
fn backup(report: &StatusReport, caller: &Caller) -> JsonObject {
    let mut value = JsonObject::new();
    let backup = &report.backup;
    put(&mut value, "last", backup.last.as_ref().map(|last| last.created_at.to_string()));
    put(&mut value, "next", backup.next.map(|next| next.to_string()));
    if caller.is_owner() {
        put(&mut value, "place", backup.place.to_string_lossy());
        put(&mut value, "n_backups", backup.n_backups);
        put(&mut value, "last_file", backup.last.as_ref().map(|last| last.path.to_string_lossy()));
        put(&mut value, "last_bytes", backup.last.as_ref().map(|last| last.n_bytes));
        put(&mut value, "last_memories", backup.last.as_ref().map(|last| last.n_memories));
    }
    value
}

/// The language models, what they cost today, and what of their work was refused.
fn llm(status: &LlmStatus) -> JsonObject {
    let model = |report: &LlmReport| {
        json!({
            "model": report.model,
            "endpoint": report.place,
            "form": report.form,
            "calls_today": report.calls.0,
            "calls_per_day": report.calls.1,
            "tokens_today": report.tokens.0,
            "tokens_per_day": report.tokens.1,
        })
    };
    let mut value = JsonObject::new();
    put(&mut value, "summary", status.summary.as_ref().map(model));
    put(&mut value, "scoring", status.scoring.as_ref().map(model));
    put(&mut value, "rejected", json!(status.rejections));
    value
}

fn config(config: &ConfigReport) -> Value {
    json!({
        "generation": config.generation,
        "loaded_at": config.loaded_at.to_string(),
        "file": config.file,
        "needs_restart": config.needs_restart,
    })
}

fn log(log: &LogReport) -> Value {
    let last_error = log.last_error.as_ref();
    json!({
        "file": log.file,
        "n_dropped": log.n_dropped,
        "n_failed": log.n_failed,
        "n_folded": log.n_folded,
        "last_error": last_error.map(|(at, event)| json!({"at": at.to_string(), "event": event})),
    })
}

fn watchdog(watchdog: &WatchdogReport) -> Value {
    json!({
        "limit_ms": watchdog.limit_ms,
        "last_at": watchdog.last_at.map(|at| at.to_string()),
        "stuck": watchdog.stuck,
    })
}

/// The store; of namespaces only those that the caller may read, the fullest first.
fn store(report: &StatusReport, caller: &Caller) -> JsonObject {
    let mut value = JsonObject::new();
    let Some(store) = &report.store else { return value };
    put(&mut value, "location", store.location.as_str());
    put(&mut value, "file_bytes", store.file_bytes);
    put(&mut value, "format_version", store.format_version);
    put(&mut value, "n_waiting", store.n_waiting);
    let mut readable: Vec<&(Namespace, u64)> = store
        .namespaces
        .iter()
        .filter(|(namespace, _)| caller.access.weight(namespace).is_some())
        .collect();
    put(&mut value, "n_memories", readable.iter().map(|(_, count)| count).sum::<u64>());
    readable.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let namespaces: JsonObject = readable
        .into_iter()
        .take(NAMESPACES_PER_CALL_MAX)
        .map(|(namespace, count)| (namespace.to_string(), json!(count)))
        .collect();
    put(&mut value, "namespaces", namespaces);
    value
}

/// Writes a fact as lines of text.
fn write(reply: &mut Reply, name: &str, value: &Value) {
    match value {
        Value::Array(items) => {
            for item in items {
                write(reply, name, item);
            }
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect();
            reply.line(format!("{name}: {}", fields.join(", ")));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            reply.line(format!("{name}: {}", plain(value)));
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
