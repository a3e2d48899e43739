//! `memory_restore`: brings archived memories back.

use rmcp::model::Tool;

use super::super::args::Arguments;
use super::super::reply::{Detail, Reply, Shown};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, head, split_references};
use crate::domain::limits::LISTED_CHARS_MAX;
use crate::domain::memory::Memory;

pub(super) const NAME: &str = "memory_restore";

pub(super) fn definition() -> Tool {
    let properties = vec![schema::list("ids", "ids or handles")];
    schema::tool(NAME, "Make archived memories current again.", properties, Conduct::Changes, false)
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let references = arguments.list(&["ids", "id"])?.unwrap_or_default();
    let warnings = arguments.finish();
    let (references, unreadable) = split_references(references)?;
    let mut answer = call.service.unarchive(call.caller, references).await?;
    answer.missing.extend(unreadable);
    let mut reply = Reply::default();
    let (n_restored, n_untouched) = (answer.restored.len(), answer.untouched.len());
    reply.line(format!("n_restored: {n_restored}, n_untouched (not archived): {n_untouched}"));
    reply.field("n_restored", n_restored);
    reply.field("n_untouched", n_untouched);
    let all: Vec<&Memory> = answer.restored.iter().chain(&answer.untouched).collect();
    let shown: Vec<Shown<'_>> = all
        .into_iter()
        .map(|memory| Shown::new(memory, head(memory, LISTED_CHARS_MAX), Detail::Brief))
        .collect();
    reply.memories("memories", &shown);
    if !answer.missing.is_empty() {
        reply.line(format!("missing: {}", answer.missing.join(", ")));
        reply.field("missing", answer.missing);
    }
    reply.remarks("warnings", &warnings);
    Ok(reply)
}
