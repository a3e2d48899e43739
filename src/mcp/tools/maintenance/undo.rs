//! `maintenance_undo`: takes back what a run changed.

use serde_json::json;

use super::super::super::args::Arguments;
use super::super::super::reply::Reply;
use super::super::{Call, Outcome};
use super::run_id;
use crate::domain::id::MemoryId;
use crate::domain::limits::FORGOTTEN_IDS_SHOWN_MAX;

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let id = run_id(&mut arguments)?;
    let warnings = arguments.finish();
    let undone = call.service.undo_run(call.caller, id).await?;
    let (n_restored, n_withdrawn) = (undone.restored.len(), undone.withdrawn.len());
    let mut reply = Reply::default();
    reply.line(format!(
        "Run {id} is undone by run {}: {n_restored} restored, {n_withdrawn} withdrawn, {} left.",
        undone.run,
        undone.left.len()
    ));
    reply.field("run", undone.run.0);
    reply.field("undoes", id.0);
    reply.field("n_restored", n_restored);
    reply.field("n_withdrawn", n_withdrawn);
    reply.field("n_left", undone.left.len());
    for (name, ids) in [("restored", &undone.restored), ("withdrawn", &undone.withdrawn)] {
        let shown: Vec<String> =
            ids.iter().take(FORGOTTEN_IDS_SHOWN_MAX).map(MemoryId::to_string).collect();
        if !shown.is_empty() {
            reply.line(format!("{name}: {}", shown.join(", ")));
        }
        reply.field(name, shown);
    }
    let mut left = Vec::new();
    for (id, why) in undone.left.iter().take(FORGOTTEN_IDS_SHOWN_MAX) {
        reply.line(format!("left: {id} ({why})"));
        left.push(json!({ "id": id.to_string(), "why": why.as_str() }));
    }
    reply.field("left", left);
    reply.remarks("warnings", &warnings);
    Ok(reply)
}
