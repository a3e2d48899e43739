//! `memory_backup`: the person asks for a backup now. Not listed: agents cannot use it.

use super::super::args::Arguments;
use super::super::reply::Reply;
use super::{Call, Outcome};

pub(super) const NAME: &str = "memory_backup";

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let to = arguments.text(&["file"])?.filter(|path| !path.is_empty());
    let warnings = arguments.finish();
    let made = call.service.back_up(call.caller, to.map(Into::into)).await?;
    let mut reply = Reply::default();
    let path = made.path.to_string_lossy();
    reply.line(format!(
        "Backed up {} memories as of {} to {path}.",
        made.n_memories, made.created_at
    ));
    reply.field("path", path);
    reply.field("created_at", made.created_at.to_string());
    reply.field("n_bytes", made.n_bytes);
    reply.field("n_memories", made.n_memories);
    reply.remarks("warnings", &warnings);
    Ok(reply)
}
