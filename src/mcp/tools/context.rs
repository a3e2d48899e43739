//! `memory_context`: what to know before beginning, within a budget.

use rmcp::model::Tool;

use super::super::args::Arguments;
use super::super::reply::{Budget, Detail, Reply, Shown};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome};
use crate::domain::budget::tokens_estimate;
use crate::domain::context::{Part, shared};
use crate::domain::limits::{
    CONTEXT_TOKENS_DEFAULT, CONTEXT_TOKENS_OVERHEAD, RECALL_TOKENS_MAX, RECALL_TOKENS_MIN,
};
use crate::service::context::{ContextAnswer, ContextRequest, Told};
use crate::service::remind::ReminderView;

pub(super) const NAME: &str = "memory_context";

/// Share of the budget that one profile may have; of a longer one the beginning is told.
const PROFILE_SHARE: usize = 3;

pub(super) fn definition() -> Tool {
    schema::tool(
        NAME,
        "Call this first in a session: the user's standing orders, reminders, who the user is, and \
         what bears on the query, or else is newest.",
        vec![
            schema::text("query", "what the session is about"),
            schema::integer("max_tokens", "50 to 8000 (1500)"),
            schema::list("parts", "orders, reminders, profile, memories (all)"),
        ],
        Conduct::Reads,
        true,
    )
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let request = ContextRequest {
        query: arguments.text(&["query", "q", "prompt"])?,
        parts: arguments.choices(
            &["parts"],
            Part::parse,
            "one of orders, reminders, profile, memories",
        )?,
    };
    let tokens = arguments.integer(&["max_tokens"], RECALL_TOKENS_MIN, RECALL_TOKENS_MAX)?;
    let budget = Budget { tokens: tokens.unwrap_or(CONTEXT_TOKENS_DEFAULT), ..Budget::CAP };
    let warnings = arguments.finish();
    let has_query = request.query.as_ref().is_some_and(|query| !query.trim().is_empty());
    let answer = call.service.context(call.caller, request).await?;
    // The costs are estimates: what turns out too long is told within less.
    let mut tokens_max = budget.tokens;
    loop {
        let reply = render(&answer, has_query, tokens_max, &warnings);
        if tokens_max == 0 || reply.fits(budget) {
            return Ok(reply);
        }
        tokens_max -= tokens_max.div_ceil(8);
    }
}

/// As much as is estimated to cost `tokens_max`.
fn render(
    answer: &ContextAnswer,
    has_query: bool,
    tokens_max: usize,
    warnings: &[String],
) -> Reply {
    let profiles: Vec<Told> = answer
        .profiles
        .iter()
        .map(|told| Told {
            content: beginning(&told.content, tokens_max / PROFILE_SHARE).to_owned(),
            ..told.clone()
        })
        .collect();
    let newest = if has_query { "that bear on the query, best first" } else { "that are newest" };
    let of = |told: &[Told]| told.iter().map(cost).collect();
    let costs: Vec<Vec<usize>> = vec![
        of(&answer.orders),
        answer.reminders.iter().map(reminder_cost).collect(),
        of(&profiles),
        of(&answer.memories),
    ];
    let n_told = shared(&costs, tokens_max);
    let n_items: usize = n_told.iter().sum();
    let n_left_out = costs.iter().map(Vec::len).sum::<usize>() - n_items;
    let mut reply = Reply::default();
    reply.line(match n_items + n_left_out {
        0 => "n_told: 0. Nothing is remembered that bears on this.".to_owned(),
        _ => format!("n_told: {n_items}"),
    });
    reply.field("n_told", n_items);
    let n = |part: usize| n_told.get(part).copied().unwrap_or_default();
    let orders = "Standing orders of the user, and preferences";
    section(&mut reply, "orders", orders, &answer.orders, n(0));
    let reminders = answer.reminders.get(..n(1)).unwrap_or_default();
    if !reminders.is_empty() {
        reply.line(format!("reminders (due, to be accepted or declined, next): {}", n(1)));
        reply.reminders("reminders", reminders, Detail::Short);
    }
    section(&mut reply, "profile", "Who the user is", &profiles, n(2));
    section(&mut reply, "memories", newest, &answer.memories, n(3));
    reply.n_items = n_items;
    if n_left_out > 0 {
        reply.line(format!("n_left_out: {n_left_out} (memory_search finds them)"));
        reply.field("n_left_out", n_left_out);
    }
    reply.remarks("degraded", &answer.degraded);
    reply.remarks("warnings", &[answer.warnings.as_slice(), warnings].concat());
    reply
}

/// The first `n` of a part.
fn section(reply: &mut Reply, name: &str, title: &str, told: &[Told], n: usize) {
    if n == 0 {
        return;
    }
    reply.line(format!("{name} ({title}): {n}"));
    let shown: Vec<Shown<'_>> = told
        .iter()
        .take(n)
        .map(|told| {
            let mut shown = Shown::new(&told.memory, &told.content, Detail::Short);
            shown.contradicts = &told.contradicts;
            shown
        })
        .collect();
    reply.memories(name, &shown);
}

fn reminder_cost(view: &ReminderView) -> usize {
    tokens_estimate(&view.entry.text) + CONTEXT_TOKENS_OVERHEAD * (1 + view.next.len())
}

fn cost(told: &Told) -> usize {
    let beside: usize = told.contradicts.iter().map(|other| tokens_estimate(&other.content)).sum();
    tokens_estimate(&told.content) + beside + CONTEXT_TOKENS_OVERHEAD
}

/// The whole sentences at the beginning of a text that cost at most `tokens_max`, or what is left of the
/// first.
fn beginning(text: &str, tokens_max: usize) -> &str {
    let fits = |end: &usize| tokens_estimate(text.get(..*end).unwrap_or_default()) <= tokens_max;
    if fits(&text.len()) {
        return text;
    }
    let ends = text.char_indices().map(|(at, _)| at);
    let end = ends.take_while(fits).last().unwrap_or(0);
    let fitting = text.get(..end).unwrap_or_default();
    let sentence = fitting.rfind(['\n', '.', '。', '！', '？', '!', '?']);
    let sentence = sentence.map(|at| fitting.ceil_char_boundary(at + 1));
    fitting.get(..sentence.unwrap_or(end)).unwrap_or(fitting).trim_end()
}
