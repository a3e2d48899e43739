//! `memory_unforget`: the person brings back what an agent forgot. Not listed: agents cannot use it.

use super::super::args::{Arguments, InvalidArgument};
use super::super::reply::{Detail, Reply, Shown};
use super::{Call, Outcome, head};
use crate::domain::limits::HIT_CHARS_MAX;

pub(super) const NAME: &str = "memory_unforget";

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let id = arguments.word(&["id"])?.ok_or_else(|| {
        InvalidArgument::new("id", "the id of a forgotten memory", &serde_json::Value::Null)
    })?;
    let warnings = arguments.finish();
    let memory = call.service.restore(call.caller, &id).await?;
    let mut reply = Reply::default();
    reply.line("Restored.");
    let content = head(&memory, HIT_CHARS_MAX);
    reply.memories("memories", &[Shown::new(&memory, content, Detail::Brief)]);
    reply.remarks("warnings", &warnings);
    Ok(reply)
}
