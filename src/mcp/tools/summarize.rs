//! `memory_summarize`: what memories say together.

use rmcp::model::Tool;

use super::super::args::Arguments;
use super::super::reply::{Budget, Detail, Reply, Shown};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, head, scope};
use crate::domain::limits::{LISTED_CHARS_MAX, LLM_PASSAGES_MAX};
use crate::service::summarize::{SummarizeAnswer, SummarizeRequest};
use crate::service::summary::{Author, Because};

pub(super) const NAME: &str = "memory_summarize";

pub(super) fn definition() -> Tool {
    let properties = vec![
        schema::list("namespace", ""),
        schema::list("kinds", ""),
        schema::list("tags", ""),
        schema::text("after", ""),
        scope::before_property(),
        schema::integer("limit", "newest, 1 to 24 (24)"),
        schema::flag("store", "keep it"),
    ];
    schema::tool(
        NAME,
        "Summarize memories of a time, kind or tag, with their ids.",
        properties,
        Conduct::Adds,
        false,
    )
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let zone = call.zone();
    let request = SummarizeRequest {
        scope: scope::read(&mut arguments, &zone)?,
        limit: arguments.integer(&["limit"], 1, LLM_PASSAGES_MAX)?,
        store: arguments.flag(&["store"])?.unwrap_or_default(),
    };
    let warnings = arguments.finish();
    let answer = call.service.summarize(call.caller, request).await?;
    let whole = render(&answer, LISTED_CHARS_MAX, &warnings);
    if whole.fits(Budget::CAP) {
        return Ok(whole);
    }
    let short = render(&answer, LISTED_CHARS_MAX / 3, &warnings);
    Ok(if short.fits(Budget::CAP) { short } else { render(&answer, 0, &warnings) })
}

/// The summary and its sources, each with at most so many characters of its text.
fn render(answer: &SummarizeAnswer, chars_max: usize, warnings: &[String]) -> Reply {
    let mut reply = Reply::default();
    let n_sources = answer.memories.len();
    let shown: Vec<Shown<'_>> = answer
        .memories
        .iter()
        .map(|memory| Shown::new(memory, head(memory, chars_max), Detail::Brief))
        .collect();
    match &answer.written {
        Some(written) => {
            reply.line(format!("A summary of {n_sources} memories:"));
            reply.stored_text("summary", &written.text);
            let (author, why) = author(&written.author);
            reply.line(format!("written_by: {author}"));
            reply.field("written_by", author);
            reply.remarks("because", &Vec::from_iter(why));
        }
        None => reply.line("There is nothing to summarise."),
    }
    if let Some(id) = answer.stored {
        reply.line(format!("stored as {id} (#{})", id.handle()));
        reply.field("stored", id.to_string());
        reply.field("stored_handle", id.handle());
    }
    if answer.has_more {
        reply.line("older_left_out: there are older ones that were not read");
        reply.field("older_left_out", true);
    }
    reply.memories("sources", &shown);
    reply.remarks("warnings", warnings);
    reply
}

/// Who wrote it, and why it was not a model, if so.
fn author(author: &Author) -> (String, Option<String>) {
    let quotes = || "nobody: it quotes its sources".to_owned();
    match author {
        Author::Model { name, .. } => (format!("the model {name}"), None),
        Author::Extract(Because::NoModel) => (quotes(), None),
        Author::Extract(Because::Away(reason)) => (quotes(), Some(reason.clone())),
        Author::Extract(Because::Refused) => {
            (quotes(), Some("no draft of the model could be kept".to_owned()))
        }
    }
}
