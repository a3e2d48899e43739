//! `memory_list`: memories in order of time, page by page.

use rmcp::model::Tool;

use super::super::args::Arguments;
use super::super::reply::{Budget, Detail, Reply, Shown};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, head, scope};
use crate::domain::limits::{LIST_LIMIT_MAX, LISTED_CHARS_MAX};
use crate::service::list::{ListAnswer, ListRequest};

pub(super) const NAME: &str = "memory_list";

pub(super) fn definition() -> Tool {
    let properties = vec![
        schema::list("namespace", ""),
        schema::list("kinds", ""),
        schema::list("tags", ""),
        scope::status_property(),
        schema::text("after", ""),
        scope::before_property(),
        schema::choice("order", &["newest", "oldest"], ""),
        schema::integer("limit", "1 to 200 (20)"),
        schema::text("cursor", ""),
    ];
    schema::tool(
        NAME,
        "List memories by time, without ranking. To find something, use memory_search.",
        properties,
        Conduct::Reads,
        false,
    )
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let zone = call.zone();
    let mut request = ListRequest {
        scope: scope::read(&mut arguments, &zone)?,
        oldest_first: arguments
            .choice(&["order"], oldest_first, "newest or oldest")?
            .unwrap_or_default(),
        limit: arguments.integer(&["limit"], 1, LIST_LIMIT_MAX)?,
        cursor: arguments.word(&["cursor"])?,
    };
    request.scope.statuses = scope::read_statuses(&mut arguments)?;
    let warnings = arguments.finish();
    loop {
        let answer = call.service.list(call.caller, request.clone()).await?;
        let n_listed = answer.memories.len();
        let reply = render(&answer, n_listed, &warnings);
        if n_listed <= 1 || reply.fits(Budget::CAP) {
            return Ok(reply);
        }
        // Fewer, asked for anew, so that the cursor points behind the last one shown.
        let fitting =
            (1..n_listed).rev().find(|n| render(&answer, *n, &warnings).fits(Budget::CAP));
        request.limit = Some(fitting.unwrap_or(1));
    }
}

fn oldest_first(order: &str) -> Option<bool> {
    match order.to_ascii_lowercase().as_str() {
        "newest" | "newest_first" | "desc" => Some(false),
        "oldest" | "oldest_first" | "asc" => Some(true),
        _ => None,
    }
}

fn render(answer: &ListAnswer, n_shown: usize, warnings: &[String]) -> Reply {
    let mut reply = Reply::default();
    let shown: Vec<Shown<'_>> = answer
        .memories
        .iter()
        .take(n_shown)
        .map(|memory| Shown::new(memory, head(memory, LISTED_CHARS_MAX), Detail::Brief))
        .collect();
    reply.line(format!("n_listed: {}", shown.len()));
    reply.field("n_listed", shown.len());
    reply.memories("memories", &shown);
    reply.next_cursor(answer.next_cursor.as_deref());
    reply.remarks("warnings", warnings);
    reply
}
