//! `session_get`: the working memory of a session.

use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

use super::super::super::args::{Arguments, InvalidArgument};
use super::super::super::reply::{Budget, Reply, put};
use super::super::super::schema::{self, Conduct};
use super::super::{Call, Outcome};
use crate::domain::limits::{SESSION_TURNS_SHOWN, SESSION_TURNS_SHOWN_MAX};
use crate::domain::session::Turn;
use crate::service::session::SessionAnswer;

pub(in crate::mcp::tools) const NAME: &str = "session_get";

pub(in crate::mcp::tools) fn definition() -> Tool {
    schema::tool(
        NAME,
        "The working memory of a session: its last turns, and a summary of those before.",
        vec![
            schema::text("session", "(that of this connection)"),
            schema::text("namespace", ""),
            schema::integer("limit", "last turns, 1 to 200 (20)"),
        ],
        Conduct::Reads,
        false,
    )
}

pub(in crate::mcp::tools) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let session = arguments.word(&["session"])?.or_else(|| call.session.map(str::to_owned));
    let session = session.ok_or_else(|| {
        let expected = "the name of a session, since this connection has none";
        InvalidArgument::new("session", expected, &Value::Null)
    })?;
    let namespace = arguments.word(&["namespace"])?;
    let limit = arguments.integer(&["limit"], 1, SESSION_TURNS_SHOWN_MAX)?;
    let warnings = arguments.finish();
    let answer = call.service.session_get(call.caller, &session, namespace.as_deref()).await?;
    let mut n_shown = limit.unwrap_or(SESSION_TURNS_SHOWN);
    loop {
        let reply = render(&answer, n_shown, &warnings);
        if n_shown <= 1 || reply.fits(Budget::CAP) {
            return Ok(reply);
        }
        n_shown = n_shown.min(answer.session.recent().len()) / 2;
    }
}

/// The session with its last turns; one alone that is too long is cut.
fn render(answer: &SessionAnswer, n_shown: usize, warnings: &[String]) -> Reply {
    /// Characters of a turn that is shown alone.
    const CHARS_MAX: usize = 3_000;
    let session = &answer.session;
    let recent = session.recent();
    let shown = recent.get(recent.len().saturating_sub(n_shown)..).unwrap_or_default();
    let chars_max = if n_shown <= 1 { CHARS_MAX } else { usize::MAX };
    let mut reply = Reply::default();
    let n_waiting = session.waiting().count();
    reply.line(format!("A session in {}, turns up to {}.", session.namespace, session.last_turn));
    reply.field("session", session.name.as_str());
    reply.field("namespace", session.namespace.as_str());
    reply.field("n_turns", session.last_turn);
    let times = [
        ("started_at", Some(session.started_at)),
        ("last_at", Some(session.last_at)),
        ("ended_at", session.ended_at),
        ("expires_at", Some(answer.expires_at)),
    ];
    for (name, time) in times.into_iter().filter_map(|(name, time)| Some((name, time?))) {
        reply.line(format!("{name}: {time}"));
        reply.field(name, time.to_string());
    }
    reply.line(format!("n_waiting: {n_waiting} (turns to be looked at)"));
    reply.field("n_waiting", n_waiting);
    if let Some(summary) = &answer.summary {
        reply.stored_text("summary", summary);
    }
    let n_earlier = recent.len() - shown.len();
    if n_earlier > 0 {
        reply.line(format!("n_earlier: {n_earlier} more turns before these; ask with a limit"));
        reply.field("n_earlier", n_earlier);
    }
    let lines: Vec<String> = shown.iter().map(|turn| line(turn, chars_max)).collect();
    reply.stored_block(&lines.join("\n"));
    let fields: Vec<Value> =
        shown.iter().map(|turn| Value::Object(fields(turn, chars_max))).collect();
    reply.n_items = fields.len();
    reply.field("turns", fields);
    reply.remarks("warnings", warnings);
    reply
}

fn line(turn: &Turn, chars_max: usize) -> String {
    format!("{}. {} {}: {}", turn.number, turn.at, turn.role, head(&turn.text, chars_max))
}

fn fields(turn: &Turn, chars_max: usize) -> JsonObject {
    let mut fields = JsonObject::new();
    let content = head(&turn.text, chars_max);
    put(&mut fields, "number", turn.number);
    put(&mut fields, "role", turn.role.as_str());
    put(&mut fields, "at", turn.at.to_string());
    put(&mut fields, "content", content);
    put(&mut fields, "agent", turn.agent.clone());
    put(&mut fields, "memories", turn.memories.iter().map(ToString::to_string).collect::<Vec<_>>());
    if content.len() < turn.text.len() {
        put(&mut fields, "truncated", true);
    }
    fields
}

fn head(text: &str, chars_max: usize) -> &str {
    let end = text.char_indices().nth(chars_max).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}
