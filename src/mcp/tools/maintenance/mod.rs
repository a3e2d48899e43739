//! The daemon's jobs: run one, undo one; for the person also what there is and what was done.

mod list;
mod report;
mod run;
mod undo;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::super::args::{Arguments, InvalidArgument};
use super::super::error::ToolError;
use super::super::reply::{Reply, put};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome};
use crate::domain::job::{Run, RunId};
use crate::ports::JobReport;

pub(super) const LIST: &str = "maintenance_list";
pub(super) const REPORT: &str = "maintenance_report";
pub(super) const RUN: &str = "maintenance_run";
pub(super) const UNDO: &str = "maintenance_undo";

/// `maintenance_run`.
pub(super) fn run_definition() -> Tool {
    let properties = vec![
        schema::text("job", "(the answer names them)"),
        schema::flag("dry_run", "only tell what it would do"),
    ];
    let description = "Run a maintenance job now. An undo takes back what a run changed.";
    schema::tool(RUN, description, properties, Conduct::Changes, false)
}

/// `maintenance_undo`.
pub(super) fn undo_definition() -> Tool {
    let properties = vec![schema::integer("run", "")];
    let description = "Undo a run of a maintenance job; what was changed since is left and listed.";
    schema::tool(UNDO, description, properties, Conduct::Changes, false)
}

/// Runs one of the tools; `None`: it is none of these.
pub(super) async fn run(name: &str, call: Call<'_>, arguments: Arguments) -> Option<Outcome> {
    Some(match name {
        RUN => run::run(call, arguments).await,
        UNDO => undo::run(call, arguments).await,
        LIST => list::run(call, arguments).await,
        REPORT => report::run(call, arguments).await,
        _ => return None,
    })
}

/// The number of a run.
fn run_id(arguments: &mut Arguments) -> Result<RunId, ToolError> {
    let id = arguments.integer(&["run", "id"], 0, usize::MAX)?;
    let missing = || InvalidArgument::new("run", "the number of a run", &Value::Null);
    Ok(RunId(id.ok_or_else(missing)? as u64))
}

/// A run by name and value. Its report is whole for the person only: it names memories of all
/// namespaces.
fn facts(run: &Run, is_owner: bool) -> JsonObject {
    let mut facts = JsonObject::new();
    put(&mut facts, "run", run.id.0);
    put(&mut facts, "job", run.job.as_str());
    put(&mut facts, "trigger", run.trigger.as_str());
    if run.is_dry_run {
        put(&mut facts, "dry_run", true);
    }
    put(&mut facts, "scheduled_at", run.scheduled_at.map(|at| at.to_string()));
    put(&mut facts, "started_at", run.started_at.to_string());
    put(&mut facts, "finished_at", run.finished_at.map(|at| at.to_string()));
    let seconds = run.finished_at.map(|at| at.duration_since(run.started_at).as_secs_f64());
    put(&mut facts, "seconds", seconds);
    put(&mut facts, "outcome", run.outcome.as_ref().map_or("running", |outcome| outcome.as_str()));
    put(&mut facts, "why", run.outcome.as_ref().and_then(|outcome| outcome.why()));
    put(&mut facts, "n_changed", run.n_changed);
    put(&mut facts, "undoes", run.undoes.map(|id| id.0));
    put(&mut facts, "undone_by", run.undone_by.map(|id| id.0));
    let report: Value = serde_json::from_str(&run.report).unwrap_or_default();
    let report = if is_owner { Some(report) } else { counts(&report) };
    put(&mut facts, "report", report);
    facts
}

/// What of a report is a number.
fn counts(report: &Value) -> Option<Value> {
    match report {
        Value::Number(_) | Value::Bool(_) => Some(report.clone()),
        Value::Array(items) => {
            items.iter().map(counts).collect::<Option<Vec<_>>>().map(Value::from)
        }
        Value::Object(fields) => {
            let counted = |(name, value): (&String, &Value)| Some((name.clone(), counts(value)?));
            Some(Value::Object(fields.iter().filter_map(counted).collect()))
        }
        Value::Null | Value::String(_) => None,
    }
}

/// The run in a line: `run 7 of decay: done, 0 changed`.
fn line(run: &Run) -> String {
    let outcome = run.outcome.as_ref().map_or_else(|| "going on".to_owned(), ToString::to_string);
    let dry = if run.is_dry_run { "dry " } else { "" };
    format!("{dry}run {} of {}: {outcome}, {} changed", run.id, run.job, run.n_changed)
}

/// A reply about one run; lists of its report are cut so that it fits.
fn reply(run: &Run, is_owner: bool, warnings: &[String]) -> Reply {
    let whole = facts(run, is_owner);
    let written = |items_max: usize| {
        let mut reply = Reply::default();
        reply.line(line(run));
        for (name, value) in &whole {
            let value = cut(value, items_max);
            if name == "report" {
                reply.line(format!("report: {value}"));
            }
            reply.field(name, value);
        }
        reply.remarks("warnings", warnings);
        reply
    };
    let mut items_max = usize::MAX;
    let mut reply = written(items_max);
    while !reply.fits(super::super::reply::Budget::CAP) && items_max > 0 {
        items_max = if items_max == usize::MAX { 1024 } else { items_max / 2 };
        reply = written(items_max);
    }
    reply
}

/// The value with at most so many items in each list, and how many there are more.
fn cut(value: &Value, items_max: usize) -> Value {
    match value {
        Value::Array(items) if items.len() > items_max => {
            let n_more = items.len() - items_max;
            let shown = items.iter().take(items_max).map(|item| cut(item, items_max));
            Value::Array(shown.chain([json!(format!("{n_more} more"))]).collect())
        }
        Value::Array(items) => items.iter().map(|item| cut(item, items_max)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), cut(value, items_max)));
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// A job by name and value, for lists and for `status`.
pub(in crate::mcp) fn job_facts(job: &JobReport) -> JsonObject {
    let state = &job.state;
    let mut facts = JsonObject::new();
    put(&mut facts, "job", state.job.as_str());
    put(&mut facts, "schedule", job.schedule.clone());
    let upcoming: Vec<String> = job.upcoming.iter().map(ToString::to_string).collect();
    put(&mut facts, "next_at", state.next_due_at.map(|at| at.to_string()));
    put(&mut facts, "next_runs", upcoming);
    put(&mut facts, "activity", job.activity.clone());
    let last = state.last_finished_at.zip(state.last_outcome.as_ref());
    if let Some((finished_at, outcome)) = last {
        put(&mut facts, "last_finished_at", finished_at.to_string());
        put(&mut facts, "last_outcome", outcome.as_str());
        put(&mut facts, "last_why", outcome.why());
        let started_at = state.last_started_at.filter(|started| *started <= finished_at);
        let seconds = started_at.map(|started| finished_at.duration_since(started).as_secs_f64());
        put(&mut facts, "last_seconds", seconds);
    }
    put(&mut facts, "last_success_at", state.last_success_at.map(|at| at.to_string()));
    put(&mut facts, "paused_until", state.paused_until.map(|at| at.to_string()));
    if state.n_failures > 0 {
        put(&mut facts, "n_failures", state.n_failures);
    }
    if let Some((at, why)) = &state.last_skip {
        put(&mut facts, "n_skipped", state.n_skipped);
        put(&mut facts, "last_skipped_at", at.to_string());
        put(&mut facts, "last_skipped_why", why.as_str());
    }
    facts
}
