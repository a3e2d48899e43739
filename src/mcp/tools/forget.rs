//! `memory_forget`: by id at once, by filter in two steps.

use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::super::args::{Arguments, InvalidArgument};
use super::super::reply::{Detail, Reply, Shown, put};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, head, scope, split_references};
use crate::domain::change::Forgotten;
use crate::domain::limits::{FORGOTTEN_IDS_SHOWN_MAX, LISTED_CHARS_MAX};
use crate::domain::memory::Memory;
use crate::service::forget::{ForgetAnswer, ForgetRequest};
use crate::service::get::GetRequest;
use crate::service::scope::Scope;

pub(super) const NAME: &str = "memory_forget";

pub(super) fn definition() -> Tool {
    let properties = vec![
        schema::list("ids", "ids or handles, at most 20"),
        schema::list("namespace", ""),
        schema::text("query", "exact words in the text"),
        schema::list("tags", ""),
        schema::list("kinds", ""),
        schema::text("after", ""),
        scope::before_property(),
        schema::text("session", "all of it"),
        schema::flag("dry_run", "only show"),
        schema::text("confirm", "token of the preview"),
    ];
    schema::tool(
        NAME,
        "Forget memories for good when the user asks. By `ids` at once; by a filter the first call \
         is a preview with a token, the second, with `confirm`, forgets. Supersede what is merely \
         outdated.",
        properties,
        Conduct::Changes,
        false,
    )
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let zone = call.zone();
    let references = arguments.list(&["ids", "id"])?.unwrap_or_default();
    arguments.refuse_blank_items(scope::LISTS)?;
    let session = arguments.word(&["session"])?;
    let scope = Scope { session, ..scope::read(&mut arguments, &zone)? };
    let query = arguments.word(&["query"])?;
    let is_dry = arguments.flag(&["dry_run"])?.unwrap_or_default();
    let confirm = arguments.word(&["confirm"])?.filter(|_| !is_dry);
    let warnings = arguments.finish();
    if references.is_empty() {
        let request = ForgetRequest::Matching {
            scope: Box::new(scope),
            query,
            confirm,
            request: call.request,
        };
        let answer = call.service.forget(call.caller, request).await?;
        return Ok(render(&answer, &[], &warnings));
    }
    if scope != Scope::default() || query.is_some() {
        let expected = "either `ids` or a filter";
        return Err(InvalidArgument::new("ids", expected, &json!("both")).into());
    }
    let (references, unreadable) = split_references(references)?;
    if is_dry {
        let request = GetRequest { references, history: false, reinforces: false };
        let answer = call.service.get(call.caller, request).await?;
        let memories: Vec<Memory> = answer.memories.into_iter().map(|got| got.memory).collect();
        let missing = [answer.missing, unreadable].concat();
        return Ok(preview((memories.len(), 0), None, &memories, &missing, &warnings));
    }
    let request = ForgetRequest::Ids { references, request: call.request };
    let answer = call.service.forget(call.caller, request).await?;
    Ok(render(&answer, &unreadable, &warnings))
}

fn render(answer: &ForgetAnswer, unreadable: &[String], warnings: &[String]) -> Reply {
    match answer {
        ForgetAnswer::Preview { n_matching, n_sessions, confirm, sample } => {
            preview((*n_matching, *n_sessions), Some(confirm), sample, &[], warnings)
        }
        ForgetAnswer::Receipt { receipt, n_turns, missing, backups, backups_unknown } => {
            let missing = [missing.as_slice(), unreadable].concat();
            let mut warnings = warnings.to_vec();
            let unknown = |reason| format!("which backups still hold this is not known: {reason}");
            warnings.extend(backups_unknown.as_ref().map(unknown));
            self::receipt(receipt, *n_turns, &missing, backups, &warnings)
        }
    }
}

/// What would be forgotten: so many memories, and the working memory of so many sessions.
fn preview(
    (n_matching, n_sessions): (usize, usize),
    confirm: Option<&String>,
    sample: &[Memory],
    missing: &[String],
    warnings: &[String],
) -> Reply {
    let mut reply = Reply::default();
    let how = match confirm {
        Some(token) => format!("call again with the same filter and confirm \"{token}\""),
        None => "call again without dry_run".to_owned(),
    };
    reply.line(format!(
        "Nothing is forgotten yet. n_matching: {n_matching}; to forget them, {how}."
    ));
    reply.field("dry_run", true);
    reply.field("n_matching", n_matching);
    if n_sessions > 0 {
        reply.line(format!("n_sessions: {n_sessions} (their working memory goes, too)"));
        reply.field("n_sessions", n_sessions);
    }
    reply.field("confirm", confirm.cloned());
    let shown: Vec<Shown<'_>> = sample
        .iter()
        .map(|memory| Shown::new(memory, head(memory, LISTED_CHARS_MAX), Detail::Brief))
        .collect();
    reply.memories("sample", &shown);
    finish(reply, missing, warnings)
}

fn receipt(
    receipt: &Forgotten,
    n_turns: u64,
    missing: &[String],
    backups: &[String],
    warnings: &[String],
) -> Reply {
    let mut reply = Reply::default();
    let n_forgotten = receipt.ids.len();
    let ids: Vec<String> =
        receipt.ids.iter().take(FORGOTTEN_IDS_SHOWN_MAX).map(ToString::to_string).collect();
    let mut times = JsonObject::new();
    put(&mut times, "forgotten_at", receipt.forgotten_at.to_string());
    put(&mut times, "erase_by", receipt.erase_by.to_string());
    put(&mut times, "restorable_until", receipt.restorable_until.map(|time| time.to_string()));
    let spelled: Vec<String> = times
        .iter()
        .map(|(name, time)| format!("{name} {}", time.as_str().unwrap_or_default()))
        .collect();
    reply.line(format!("n_forgotten: {n_forgotten}, {}", spelled.join(", ")));
    if !ids.is_empty() {
        reply.line(format!("forgotten: {}", ids.join(", ")));
    }
    reply.field("n_forgotten", n_forgotten);
    reply.field("forgotten", ids);
    if n_turns > 0 {
        reply.line(format!("n_turns (of sessions, gone for good): {n_turns}"));
        reply.field("n_turns", n_turns);
    }
    if !receipt.withdrawn.is_empty() {
        let n_withdrawn = receipt.withdrawn.len();
        let withdrawn: Vec<String> = receipt
            .withdrawn
            .iter()
            .take(FORGOTTEN_IDS_SHOWN_MAX)
            .map(ToString::to_string)
            .collect();
        reply.line(format!("n_withdrawn (made of it, gone for good): {n_withdrawn}"));
        reply.line(format!("withdrawn: {}", withdrawn.join(", ")));
        reply.field("n_withdrawn", n_withdrawn);
        reply.field("withdrawn", withdrawn);
    }
    for (name, time) in times {
        reply.field(&name, time);
    }
    if !backups.is_empty() {
        reply.line(format!("still in the backups: {}", backups.join(", ")));
        reply.field("backups", backups.to_vec());
    }
    let gone: Vec<String> = receipt.missing.iter().map(ToString::to_string).collect();
    let mut reply = finish(reply, &[missing, gone.as_slice()].concat(), warnings);
    reply.n_items = n_forgotten;
    reply
}

fn finish(mut reply: Reply, missing: &[String], warnings: &[String]) -> Reply {
    if !missing.is_empty() {
        reply.line(format!("missing: {}", missing.join(", ")));
        reply.field("missing", missing.to_vec());
    }
    reply.remarks("warnings", warnings);
    reply
}
