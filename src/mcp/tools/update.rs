//! `memory_update`: corrects a memory; its earlier versions are kept.

use std::sync::Arc;

use rmcp::model::Tool;
use serde_json::Value;

use super::super::args::{Arguments, InvalidArgument};
use super::super::reminders::{facts, lines};
use super::super::reply::{Detail, Reply, Shown};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, head, split_references, stated_kind};
use crate::domain::change::Patch;
use crate::domain::limits::HIT_CHARS_MAX;
use crate::service::update::{UpdateAnswer, UpdateRequest};

pub(super) const NAME: &str = "memory_update";

pub(super) fn definition() -> Tool {
    let properties = vec![
        schema::text("id", "id or handle"),
        schema::text("content", "the whole text"),
        schema::text("kind", ""),
        schema::list("tags", "all of them"),
        schema::number("importance", "0 to 1"),
        schema::flag("pinned", ""),
        schema::text("occurred_at", "ISO 8601, or none"),
        schema::text("metadata", "JSON object"),
        schema::text("valid_to", "when it stopped being true, or none"),
        schema::choice("status", &["active"], "current again"),
    ];
    schema::tool(
        NAME,
        "Correct a memory; fields left out stay. If the world changed, store a new one with \
         `supersedes`.",
        properties,
        Conduct::Changes,
        false,
    )
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let zone = call.zone();
    let mut ids = arguments.list(&["id", "ids"])?.unwrap_or_default();
    if ids.len() != 1 {
        let found = serde_json::json!(ids);
        return Err(InvalidArgument::new("id", "one memory id or handle", &found).into());
    }
    let reference = split_references(std::mem::take(&mut ids))?.0.pop().unwrap_or_default();
    let is_active = |word: &str| word.eq_ignore_ascii_case("active").then_some(());
    let status = arguments.choice(&["status"], is_active, "active, or no `status`")?;
    let mut tags = arguments.list(&["tags"])?;
    if let Some(tags) = &mut tags {
        tags.sort();
        tags.dedup();
    }
    let patch = Patch {
        content: arguments.text(&["content", "text"])?.map(Arc::from),
        kind: stated_kind(&mut arguments)?,
        tags,
        metadata: arguments.metadata(&["metadata"])?,
        importance: arguments.number(&["importance"], 0.0, 1.0)?,
        pinned: arguments.flag(&["pinned"])?,
        occurred_at: arguments.time_or_none(&["occurred_at"], &zone)?,
        valid_to: arguments.time_or_none(&["valid_to"], &zone)?,
        ..Patch::default()
    };
    let warnings = arguments.finish();
    let mut reinstated = Vec::new();
    if status.is_some() {
        let answer = call.service.reinstate(call.caller, &reference).await?;
        if patch == Patch::default() {
            return Ok(render(&answer, &warnings));
        }
        reinstated = answer.changed;
    }
    let request = UpdateRequest { reference, patch, request: call.request };
    let mut answer = call.service.update(call.caller, request).await?;
    answer.changed.splice(0..0, reinstated);
    Ok(render(&answer, &warnings))
}

fn render(answer: &UpdateAnswer, warnings: &[String]) -> Reply {
    let mut reply = Reply::default();
    let changed: Vec<String> = answer.changed.iter().map(|&field| field.to_owned()).collect();
    reply.line(if changed.is_empty() {
        "Nothing changed: it was like this already.".to_owned()
    } else {
        format!("changed: {}", changed.join(", "))
    });
    reply.field("n_changed", changed.len());
    reply.field("changed", changed);
    let redacted: Vec<String> = answer.redacted.iter().map(|&rule| rule.to_owned()).collect();
    reply.remarks("redacted", &redacted);
    let content = head(&answer.memory, HIT_CHARS_MAX);
    reply.memories("memories", &[Shown::new(&answer.memory, content, Detail::Whole)]);
    for view in &answer.reminders {
        reply.line(format!("reminder read in it: {}", lines(view, Detail::Short)));
    }
    let read = answer.reminders.iter().map(|view| Value::Object(facts(view, Detail::Short)));
    reply.field("reminders_read", read.collect::<Vec<_>>());
    let unarmed: Vec<String> = answer.unarmed.iter().map(ToString::to_string).collect();
    reply.remarks("unarmed", &unarmed);
    reply.remarks("warnings", warnings);
    reply
}
