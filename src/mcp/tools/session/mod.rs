//! `session_append` and `memory_ingest`: what is said, into the working memory of a session.

pub(super) mod get;

use jiff::tz::TimeZone;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::super::args::{Arguments, InvalidArgument};
use super::super::reply::Reply;
use super::super::schema::{self, Conduct};
use super::{Call, Outcome};
use crate::domain::scoring::Role;
use crate::service::session::{AppendAnswer, AppendRequest, TurnDraft};

pub(super) const APPEND: &str = "session_append";
pub(super) const INGEST: &str = "memory_ingest";

/// The session of turns whose sender names none and has none.
const NO_SESSION: &str = "ingest";

/// Names under which the text of a turn comes.
const CONTENT: &[&str] = &["content", "text"];

pub(super) fn append_definition() -> Tool {
    let properties = vec![
        schema::text("session", "(that of this connection)"),
        schema::text("namespace", ""),
        schema::choice("role", &["user", "assistant"], "(user)"),
        schema::text("content", ""),
        schema::list("turns", "JSON objects with role, content, at"),
        schema::text("at", "ISO 8601 (now)"),
        schema::flag("end", "the session is over"),
    ];
    schema::tool(
        APPEND,
        "Keep turns of a conversation as its working memory; when it ends or falls silent, what is \
         worth remembering becomes memories.",
        properties,
        Conduct::Adds,
        false,
    )
}

pub(super) fn ingest_definition() -> Tool {
    schema::tool(
        INGEST,
        "As session_append, for turns that are to become memories soon, though the session goes on.",
        vec![schema::text("session", ""), schema::text("content", ""), schema::list("turns", "")],
        Conduct::Adds,
        false,
    )
}

pub(super) async fn append(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let ends = arguments.flag(&["end", "ended", "ends"])?.unwrap_or_default();
    let turns = turns(&mut arguments, &call.zone())?;
    if turns.is_empty() && !ends {
        return Err(missing().into());
    }
    let session = arguments.word(&["session"])?.or_else(|| call.session.map(str::to_owned));
    let session = session.ok_or_else(|| {
        let expected = "the name of a session, since this connection has none";
        InvalidArgument::new("session", expected, &Value::Null)
    })?;
    let request = AppendRequest { session, turns, ends, ..AppendRequest::default() };
    send(call, arguments, request).await
}

pub(super) async fn ingest(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let turns = turns(&mut arguments, &call.zone())?;
    if turns.is_empty() {
        return Err(missing().into());
    }
    let session = arguments.word(&["session"])?.or_else(|| call.session.map(str::to_owned));
    let session = session.unwrap_or_else(|| NO_SESSION.to_owned());
    let request = AppendRequest { session, turns, is_urgent: true, ..AppendRequest::default() };
    send(call, arguments, request).await
}

async fn send(call: Call<'_>, mut arguments: Arguments, request: AppendRequest) -> Outcome {
    let namespace = arguments.word(&["namespace"])?;
    let warnings = arguments.finish();
    let (ends, is_urgent) = (request.ends, request.is_urgent);
    let request = AppendRequest { namespace, request: call.request, ..request };
    let answer = call.service.session_append(call.caller, request).await?;
    Ok(render(&answer, ends, is_urgent, &warnings))
}

fn missing() -> InvalidArgument {
    InvalidArgument::new("content", "either `content` or `turns`", &Value::Null)
}

fn turns(arguments: &mut Arguments, zone: &TimeZone) -> Result<Vec<TurnDraft>, InvalidArgument> {
    let content = arguments.text(CONTENT)?;
    let items = arguments.items(&["turns"])?.unwrap_or_default();
    let common =
        fields(arguments, &TurnDraft { role: Role::User, content: String::new(), at: None }, zone)?;
    match content {
        Some(_) if !items.is_empty() => {
            Err(InvalidArgument::new("content", "either `content` or `turns`", &json!("both")))
        }
        Some(content) => Ok(vec![TurnDraft { content, ..common }]),
        None => items
            .iter()
            .enumerate()
            .map(|(place, item)| {
                entry(arguments, item, &common, zone)
                    .map_err(|error| error.within(&format!("turns[{place}]")))
            })
            .collect(),
    }
}

/// One of `turns`: an object, its JSON, or a text that is said as the common fields tell.
fn entry(
    arguments: &mut Arguments,
    item: &Value,
    common: &TurnDraft,
    zone: &TimeZone,
) -> Result<TurnDraft, InvalidArgument> {
    let object = match item {
        Value::Object(object) => object.clone(),
        Value::String(text) => {
            let object = serde_json::from_str::<JsonObject>(text).ok();
            match object.filter(|object| CONTENT.iter().any(|name| object.contains_key(*name))) {
                Some(object) => object,
                None => return Ok(TurnDraft { content: text.clone(), ..common.clone() }),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err(InvalidArgument::new("content", "a text or an object", item));
        }
    };
    let mut inner = Arguments::new(object);
    let content = inner.text(CONTENT)?;
    let content =
        content.ok_or_else(|| InvalidArgument::new("content", "what is said", &Value::Null))?;
    let turn = TurnDraft { content, ..fields(&mut inner, common, zone)? };
    for warning in inner.finish() {
        arguments.warn(format!("in `turns`: {warning}"));
    }
    Ok(turn)
}

/// Every field but the text; what is not given is as in `common`.
fn fields(
    arguments: &mut Arguments,
    common: &TurnDraft,
    zone: &TimeZone,
) -> Result<TurnDraft, InvalidArgument> {
    let role = |text: &str| match text.to_ascii_lowercase().as_str() {
        "human" => Some(Role::User),
        "agent" | "model" | "ai" => Some(Role::Assistant),
        _ => Role::parse(text),
    };
    Ok(TurnDraft {
        role: arguments
            .choice(&["role", "speaker"], role, "user or assistant")?
            .unwrap_or(common.role),
        content: String::new(),
        at: arguments.time(&["at", "time"], zone)?.or(common.at),
    })
}

fn render(answer: &AppendAnswer, ends: bool, is_urgent: bool, warnings: &[String]) -> Reply {
    let mut reply = Reply::default();
    let AppendAnswer { session, namespace, appended, redacted } = answer;
    let n_turns = (appended.last + 1).saturating_sub(appended.first);
    reply.line(format!("kept {n_turns} turns in {namespace}"));
    reply.field("session", session.as_str());
    reply.field("namespace", namespace.as_str());
    reply.field("n_turns", n_turns);
    if n_turns > 0 {
        reply.line(format!("first_turn: {}, last_turn: {}", appended.first, appended.last));
        reply.field("first_turn", appended.first);
        reply.field("last_turn", appended.last);
    }
    reply.line(format!("n_waiting: {} (turns to be looked at)", appended.n_waiting));
    reply.field("n_waiting", appended.n_waiting);
    let extraction = match (ends, is_urgent) {
        (true, _) => "soon: the session is over",
        (false, true) => "soon",
        (false, false) => "when the session ends or falls silent",
    };
    reply.line(format!("extraction: {extraction}"));
    reply.field("extraction", extraction);
    if ends {
        reply.line("ended: true");
        reply.field("ended", true);
    }
    if !redacted.is_empty() {
        reply.line(format!("redacted: {}", redacted.join(" + ")));
        reply.field("redacted", redacted.clone());
    }
    reply.remarks("warnings", warnings);
    reply
}
