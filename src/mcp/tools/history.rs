//! `memory_history`: what happened to one memory, to the person even when it is gone. Not listed:
//! agents have `memory_get` with `history`.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::super::args::{Arguments, InvalidArgument};
use super::super::reply::{Reply, put};
use super::{Call, Outcome};
use crate::domain::change::LogEntry;

pub(super) const NAME: &str = "memory_history";

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let id = arguments
        .word(&["id"])?
        .ok_or_else(|| InvalidArgument::new("id", "an id or a handle", &Value::Null))?;
    let warnings = arguments.finish();
    let answer = call.service.history(call.caller, &id).await?;
    let mut reply = Reply::default();
    let state = if answer.is_there { "is there" } else { "is gone" };
    reply.line(format!("{} {state}.", answer.id));
    reply.field("id", answer.id.to_string());
    reply.field("is_there", answer.is_there);
    changes(&mut reply, &answer.changes);
    if answer.has_older {
        reply.line("There are older changes, which are not shown.");
        reply.field("has_older", true);
    }
    reply.remarks("warnings", &warnings);
    reply.n_items = answer.changes.len();
    Ok(reply)
}

/// Adds log entries, to both forms.
pub(super) fn changes(reply: &mut Reply, changes: &[LogEntry]) {
    let mut values = Vec::with_capacity(changes.len());
    for change in changes {
        let LogEntry { at, actor, operation, version, fields, run, .. } = change;
        let mut line = format!("{at} {operation} by {actor}, version {version}");
        if let Some(run) = run {
            line.push_str(&format!(", run {run}"));
        }
        if !fields.is_empty() {
            line.push_str(&format!(": {}", fields.join(", ")));
        }
        reply.line(line);
        let mut value = JsonObject::new();
        put(&mut value, "at", at.to_string());
        put(&mut value, "operation", operation.as_str());
        put(&mut value, "actor", actor.as_str());
        put(&mut value, "version", *version);
        put(&mut value, "fields", fields.clone());
        put(&mut value, "run", run.map(|run| run.0));
        values.push(Value::Object(value));
    }
    reply.field("changes", values);
}
