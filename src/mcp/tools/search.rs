//! `memory_search`: what is remembered about a question.

use rmcp::model::Tool;

use super::super::args::Arguments;
use super::super::reply::{Budget, Detail, Reply, Shown};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, scope};
use crate::domain::limits::{RECALL_TOKENS_MAX, RECALL_TOKENS_MIN, SEARCH_LIMIT_MAX};
use crate::service::recall::{RecallAnswer, RecallRequest};

pub(super) const NAME: &str = "memory_search";

pub(super) fn definition() -> Tool {
    let properties = vec![
        schema::text("query", "a question or some words"),
        scope::namespace_property(),
        schema::integer("limit", "1 to 100 (8)"),
        schema::integer("max_tokens", "50 to 8000"),
        schema::text("cursor", "next_cursor of the last page"),
        scope::kinds_property(),
        schema::list("tags", ""),
        schema::text("metadata", "JSON object to match"),
        schema::text("session", ""),
        schema::text("agent", "who stored it"),
        scope::after_property(),
        scope::before_property(),
        schema::text("as_of", "what was true then"),
        schema::text("zone", "like Europe/Berlin"),
        schema::flag("include_archived", ""),
        schema::flag("include_superseded", ""),
    ];
    schema::tool(
        NAME,
        "Search the memory that outlives this conversation: facts, preferences, instructions, \
         events, how things are done. Call it before you answer or start on what may depend on \
         earlier sessions. Shows excerpts; memory_get has the whole text.",
        properties,
        Conduct::Reads,
        true,
    )
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let zone = arguments.zone(&["zone"])?;
    let dates_zone = zone.clone().unwrap_or_else(|| call.zone());
    let mut request = RecallRequest {
        query: arguments.text(&["query", "q"])?.unwrap_or_default(),
        scope: scope::read_fine(&mut arguments, &dates_zone)?,
        limit: arguments.integer(&["limit", "top_k"], 1, SEARCH_LIMIT_MAX)?,
        max_tokens: arguments.integer(&["max_tokens"], RECALL_TOKENS_MIN, RECALL_TOKENS_MAX)?,
        cursor: arguments.word(&["cursor"])?,
        zone,
    };
    let budget = Budget { tokens: request.max_tokens.unwrap_or(RECALL_TOKENS_MAX), ..Budget::CAP };
    let warnings = arguments.finish();
    loop {
        let answer = call.service.recall(call.caller, request.clone()).await?;
        let n_hits = answer.hits.len();
        let reply = render(&answer, &warnings, usize::MAX);
        if reply.fits(budget) {
            return Ok(reply);
        }
        if n_hits <= 1 {
            return Ok(render_within(&answer, &warnings, budget));
        }
        // Fewer hits, asked for anew, so that the cursor points behind the last one shown.
        let shown = (1..n_hits).rev().find(|n| {
            let mut fewer = answer.clone();
            fewer.hits.truncate(*n);
            render(&fewer, &warnings, usize::MAX).fits(budget)
        });
        request.limit = Some(shown.unwrap_or(1));
    }
}

fn render(answer: &RecallAnswer, warnings: &[String], chars_max: usize) -> Reply {
    let mut reply = Reply::default();
    let shown: Vec<Shown<'_>> = answer
        .hits
        .iter()
        .map(|hit| {
            let end = hit.excerpt.char_indices().nth(chars_max).map_or(hit.excerpt.len(), |c| c.0);
            let content = hit.excerpt.get(..end).unwrap_or_default();
            let mut shown = Shown::new(&hit.memory, content, Detail::Brief);
            shown.score = Some((hit.score, &hit.reasons));
            shown.contradicts = &hit.contradicts;
            shown.truncated = hit.truncated || end < hit.excerpt.len();
            shown
        })
        .collect();
    reply.line(match answer.hits.len() {
        0 => "n_found: 0. Nothing remembered answers this.".to_owned(),
        n => format!("n_found: {n}, best first"),
    });
    reply.field("n_found", answer.hits.len());
    reply.memories("memories", &shown);
    if answer.n_below_threshold > 0 {
        reply.line(format!(
            "n_below_threshold: {} (too unlike the query)",
            answer.n_below_threshold
        ));
        reply.field("n_below_threshold", answer.n_below_threshold);
    }
    if answer.pending_vectors > 0 {
        reply.line(format!("pending_vectors: {} (found by words only)", answer.pending_vectors));
        reply.field("pending_vectors", answer.pending_vectors);
    }
    reply.remarks("degraded", &answer.degraded);
    reply.next_cursor(answer.next_cursor.as_deref());
    reply.remarks("warnings", &[answer.warnings.as_slice(), warnings].concat());
    reply
}

/// The one hit of `answer`, cut until it fits; a budget too small even for its facts is overrun.
fn render_within(answer: &RecallAnswer, warnings: &[String], budget: Budget) -> Reply {
    let most = answer.hits.first().map_or(0, |hit| hit.excerpt.chars().count());
    let (mut fits, mut too_long) = (0, most);
    while fits + 1 < too_long {
        let middle = usize::midpoint(fits, too_long);
        if render(answer, warnings, middle).fits(budget) {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    render(answer, warnings, fits)
}
