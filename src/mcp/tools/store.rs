//! `memory_store`: keeps one memory, or several in one call.

use jiff::tz::TimeZone;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::super::args::{Arguments, InvalidArgument};
use super::super::reminders::{facts, lines};
use super::super::reply::{Budget, Detail, Reply, put};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, stated_kind, stated_kind_words};
use crate::domain::id::MemoryId;
use crate::domain::reminder::Standing;
use crate::service::contradict::Compared;
use crate::service::remember::{Draft, Kept};
use crate::service::remind::ReminderView;

pub(super) const NAME: &str = "memory_store";

/// Names under which the text of a memory comes.
const CONTENT: &[&str] = &["content", "text"];

pub(super) fn definition() -> Tool {
    let properties = vec![
        schema::text("content", "one statement that makes sense on its own"),
        schema::list("memories", "or several: texts, or JSON objects of these fields"),
        schema::text("namespace", "user (if left out; all agents), agent/<you>, shared/..."),
        schema::choice("kind", &stated_kind_words(), "instruction: a standing order"),
        schema::list("tags", ""),
        schema::number("importance", "0 to 1"),
        schema::text("occurred_at", "ISO 8601 time or date"),
        schema::text("session", ""),
        schema::text("supersedes", "id of what it replaces"),
        schema::text("metadata", "JSON object"),
        schema::flag("pinned", "never fades"),
    ];
    schema::tool(
        NAME,
        "Remember for later sessions, as soon as it comes up: what the user says of themselves, \
         preferences, standing orders, decisions, events, how a thing is done. Not what the \
         repository holds; no passwords or keys (they are blacked out).",
        properties,
        Conduct::Adds,
        true,
    )
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let drafts = read(&mut arguments, call.session, &call.zone())?;
    let warnings = arguments.finish();
    let answer = call.service.remember(call.caller, drafts, call.request).await?;
    let reply = render(&answer.memories, &warnings, true);
    if reply.fits(Budget::CAP) {
        return Ok(reply);
    }
    // A hundred memories in a long namespace: what each is called matters more than where it is.
    Ok(render(&answer.memories, &warnings, false))
}

fn read(
    arguments: &mut Arguments,
    session: Option<&str>,
    zone: &TimeZone,
) -> Result<Vec<Draft>, InvalidArgument> {
    let content = arguments.text(CONTENT)?;
    let items = arguments.items(&["memories"])?.filter(|items| !items.is_empty());
    let connection = Draft { session: session.map(str::to_owned), ..Draft::default() };
    let common = fields(arguments, &connection, zone)?;
    let expected = "either `content` or `memories`";
    let items = match (content, items) {
        (Some(content), None) => return Ok(vec![Draft { content, ..common }]),
        (None, Some(items)) => items,
        (Some(content), Some(items)) if content.trim().is_empty() => items,
        (Some(_), Some(_)) => {
            return Err(InvalidArgument::new("content", expected, &json!("both")));
        }
        (None, None) => return Err(InvalidArgument::new("content", expected, &Value::Null)),
    };
    if common.supersedes.is_some() && items.len() > 1 {
        let expected = "one memory, or `supersedes` within each of `memories`";
        return Err(InvalidArgument::new("supersedes", expected, &json!(common.supersedes)));
    }
    items
        .iter()
        .enumerate()
        .map(|(place, item)| {
            entry(arguments, item, &common, zone)
                .map_err(|error| error.within(&format!("memories[{place}]")))
        })
        .collect()
}

/// One of `memories`: a text, or an object with a text in it. Text that only looks like an object
/// is a text.
fn entry(
    arguments: &mut Arguments,
    item: &Value,
    common: &Draft,
    zone: &TimeZone,
) -> Result<Draft, InvalidArgument> {
    let (object, text) = match item {
        Value::Object(object) => (Some(object.clone()), None),
        Value::String(text) => {
            let object = serde_json::from_str::<JsonObject>(text).ok();
            (
                object.filter(|object| CONTENT.iter().any(|name| object.contains_key(*name))),
                Some(text),
            )
        }
        Value::Number(_) | Value::Bool(_) => {
            return Ok(Draft { content: item.to_string(), ..common.clone() });
        }
        Value::Null | Value::Array(_) => (None, None),
    };
    match (object, text) {
        (Some(object), _) => {
            let mut inner = Arguments::new(object);
            let content = inner.text(CONTENT)?.ok_or_else(|| {
                InvalidArgument::new("content", "the text of the memory", &Value::Null)
            })?;
            let draft = Draft { content, ..fields(&mut inner, common, zone)? };
            for warning in inner.finish() {
                arguments.warn(format!("in `memories`: {warning}"));
            }
            Ok(draft)
        }
        (None, Some(text)) => Ok(Draft { content: text.clone(), ..common.clone() }),
        (None, None) => Err(InvalidArgument::new("content", "a text or an object", item)),
    }
}

/// Every field but the text; what is not given is as in `common`.
fn fields(
    arguments: &mut Arguments,
    common: &Draft,
    zone: &TimeZone,
) -> Result<Draft, InvalidArgument> {
    let common = common.clone();
    Ok(Draft {
        content: String::new(),
        namespace: arguments.word(&["namespace"])?.or(common.namespace),
        kind: stated_kind(arguments)?.or(common.kind),
        tags: arguments.list(&["tags"])?.unwrap_or(common.tags),
        importance: arguments.number(&["importance"], 0.0, 1.0)?.or(common.importance),
        occurred_at: arguments.time(&["occurred_at"], zone)?.or(common.occurred_at),
        session: arguments.word(&["session"])?.or(common.session),
        supersedes: arguments.word(&["supersedes"])?.or(common.supersedes),
        metadata: arguments.metadata(&["metadata"])?.unwrap_or(common.metadata),
        pinned: arguments.flag(&["pinned"])?.unwrap_or(common.pinned),
    })
}

fn render(memories: &[Kept], warnings: &[String], is_full: bool) -> Reply {
    let mut reply = Reply::default();
    let mut values = Vec::with_capacity(memories.len());
    for one in memories {
        let mut value = JsonObject::new();
        put(&mut value, "id", one.id.to_string());
        let mut line = format!("{} {}", one.status.as_str(), one.id);
        if is_full {
            put(&mut value, "handle", one.id.handle());
            put(&mut value, "namespace", one.namespace.as_str());
            line.push_str(&format!(" (#{}) in {}", one.id.handle(), one.namespace));
        }
        let mut compared = String::new();
        put(&mut value, "status", one.status.as_str());
        put(&mut value, "embedded", one.embedded);
        put(&mut value, "redacted", one.redacted.clone());
        put(&mut value, "changed", one.changed.clone());
        for (name, ids) in links(&one.compared) {
            let ids: Vec<String> = ids.iter().map(MemoryId::to_string).collect();
            if !ids.is_empty() {
                compared.push_str(&format!(", {name} {}", ids.join(" + ")));
            }
            put(&mut value, name, ids);
        }
        if one.compared.is_pending {
            put(&mut value, "comparison", "pending");
            compared.push_str(", comparison pending");
        }
        put(&mut value, "ignored", one.ignored.clone());
        let instead = one.supersedes_instead.map(|id| id.to_string());
        put(&mut value, "supersedes", instead.clone());
        line.push_str(&format!(", embedded {}", one.embedded));
        if !one.redacted.is_empty() {
            line.push_str(&format!(", redacted {}", one.redacted.join(" + ")));
        }
        if !one.changed.is_empty() {
            line.push_str(&format!(", changed {}", one.changed.join(" + ")));
        }
        if !one.ignored.is_empty() {
            let ignored = one.ignored.join(" + ");
            line.push_str(&format!(", ignored {ignored} (memory_update changes them)"));
        }
        if let Some(id) = instead {
            line.push_str(&format!(", supersedes {id}, the latest successor of the one named"));
        }
        line.push_str(&compared);
        let unarmed: Vec<String> = one.unarmed.iter().map(ToString::to_string).collect();
        put(&mut value, "unarmed", unarmed.clone());
        let n_reminders = one.reminders.len();
        if is_full || n_reminders == 0 {
            reply.line(line);
            for view in &one.reminders {
                reply.line(format!("  {} {}", role(view), lines(view, Detail::Short)));
            }
            let facts = one.reminders.iter().map(|view| Value::Object(facts(view, Detail::Short)));
            put(&mut value, "reminders", facts.collect::<Vec<_>>());
        } else {
            reply.line(format!("{line}, n_reminders {n_reminders}"));
            put(&mut value, "n_reminders", n_reminders);
        }
        for why in unarmed {
            reply.line(format!("  asks to be reminded, nothing is armed: {why}"));
        }
        values.push(Value::Object(value));
    }
    reply.n_items = memories.len();
    reply.field("memories", values);
    reply.remarks("warnings", warnings);
    reply
}

/// What a reminder that was read in a text is.
fn role(view: &ReminderView) -> &'static str {
    if view.standing == Standing::Proposed {
        "proposes (tell the user; reminder_update accept or decline)"
    } else {
        "reminds"
    }
}

/// What a stored memory is to others, by name.
fn links(compared: &Compared) -> [(&'static str, &[MemoryId]); 3] {
    [
        ("reinforced", &compared.reinforced),
        ("superseded", &compared.superseded),
        ("contradicts", &compared.contradicts),
    ]
}
