//! `memory_get`: whole memories by id, page by page where they are long.

use rmcp::model::Tool;

use super::super::args::Arguments;
use super::super::reply::{Budget, Detail, Reply, Shown};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, history, split_references};
use crate::domain::limits::CONTENT_BYTES_MAX;
use crate::domain::memory::Memory;
use crate::service::get::{GetAnswer, GetRequest};
use crate::service::linked::Linked;

pub(super) const NAME: &str = "memory_get";

pub(super) fn definition() -> Tool {
    let properties = vec![
        schema::list("ids", "ids or handles"),
        schema::flag("history", "earlier versions and changes too"),
        schema::integer("offset", "next_offset of a cut answer"),
    ];
    schema::tool(
        NAME,
        "Read memories whole by id, with all their fields. Reading one counts as using it.",
        properties,
        Conduct::Reads,
        true,
    )
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let references = arguments.list(&["ids", "id"])?.unwrap_or_default();
    let with_history = arguments.flag(&["history"])?.unwrap_or_default();
    let offset = arguments.integer(&["offset"], 0, CONTENT_BYTES_MAX)?.unwrap_or_default();
    let warnings = arguments.finish();
    let (references, unreadable) = split_references(references)?;
    let request = GetRequest { references, history: with_history, reinforces: true };
    let mut answer = call.service.get(call.caller, request).await?;
    answer.missing.extend(unreadable);
    Ok(render(&answer, offset, &warnings))
}

/// As many memories and versions as fit; the first that does not is cut, the others are named.
fn render(answer: &GetAnswer, offset: usize, warnings: &[String]) -> Reply {
    let wanted: Vec<Part<'_>> = answer
        .memories
        .iter()
        .map(|got| Part {
            memory: &got.memory,
            strength: Some(got.strength),
            linked: Some(&got.linked),
        })
        .chain(answer.memories.iter().flat_map(|got| &got.history).map(|memory| Part {
            memory,
            strength: None,
            linked: None,
        }))
        .collect();
    let page = |n_whole: usize, n_chars: usize| {
        page(answer, &wanted, (n_whole, n_chars), offset, warnings)
    };
    let fits = |n_whole: usize, n_chars: usize| page(n_whole, n_chars).fits(Budget::CAP);
    let n_whole = (0..=wanted.len()).rev().find(|n| fits(*n, 0)).unwrap_or(0);
    let Some(next) = wanted.get(n_whole) else { return page(n_whole, 0) };
    let (mut n_fitting, mut n_too_many) = (0, next.memory.content.chars().count() + 1);
    while n_fitting + 1 < n_too_many {
        let middle = usize::midpoint(n_fitting, n_too_many);
        if fits(n_whole, middle) {
            n_fitting = middle;
        } else {
            n_too_many = middle;
        }
    }
    page(n_whole, n_fitting)
}

/// A memory or an earlier version of one.
#[derive(Clone, Copy)]
struct Part<'a> {
    memory: &'a Memory,
    strength: Option<f64>,
    linked: Option<&'a Linked>,
}

impl<'a> Part<'a> {
    /// At most `chars_max` characters of its text from `offset` on.
    fn shown(self, offset: usize, chars_max: usize) -> Shown<'a> {
        let content = &self.memory.content;
        let at = |n: usize| content.char_indices().nth(n).map_or(content.len(), |(at, _)| at);
        let end = at(offset.saturating_add(chars_max));
        let text = content.get(at(offset)..end).unwrap_or_default();
        let mut shown = Shown::new(self.memory, text, Detail::Whole);
        shown.strength = self.strength;
        if let Some(linked) = self.linked {
            (shown.chain, shown.contradicts) = (&linked.chain, &linked.contradicts);
        }
        shown.truncated = end < content.len();
        shown.next_offset = shown.truncated.then(|| offset + chars_max);
        shown
    }
}

/// The first `n_whole` parts whole, and `n_chars` characters of the next one.
fn page(
    answer: &GetAnswer,
    wanted: &[Part<'_>],
    (n_whole, n_chars): (usize, usize),
    offset: usize,
    warnings: &[String],
) -> Reply {
    let cut = usize::from(n_chars > 0);
    let shown: Vec<Shown<'_>> = wanted
        .iter()
        .take(n_whole + cut)
        .enumerate()
        .map(|(place, part)| part.shown(offset, if place < n_whole { usize::MAX } else { n_chars }))
        .collect();
    let n_memories = answer.memories.len();
    let (memories, versions) = shown.split_at(n_memories.min(shown.len()));
    let mut reply = Reply::default();
    reply.memories("memories", memories);
    if !versions.is_empty() {
        reply.line("Earlier versions, oldest first:");
        reply.memories("history", versions);
    }
    reply.n_items = memories.len();
    for changed in answer.memories.iter().filter(|got| !got.changes.is_empty()) {
        reply.line("What was done to it last:");
        history::changes(&mut reply, &changed.changes);
    }
    for part in shown.iter().filter(|part| part.next_offset.is_some()) {
        let next = part.next_offset.unwrap_or_default();
        let handle = part.memory.id.handle();
        reply.line(format!("#{handle} goes on: call again with its id and offset {next}"));
    }
    let left = wanted.get(shown.len()..).unwrap_or_default();
    let mut not_shown: Vec<String> = left.iter().map(|part| part.memory.id.to_string()).collect();
    not_shown.dedup();
    if !not_shown.is_empty() {
        reply.line(format!("not_shown (no room; ask for them alone): {}", not_shown.join(", ")));
        reply.field("not_shown", not_shown);
    }
    if !answer.missing.is_empty() {
        reply.line(format!("missing: {}", answer.missing.join(", ")));
        reply.field("missing", answer.missing.clone());
    }
    reply.remarks("warnings", warnings);
    reply
}
