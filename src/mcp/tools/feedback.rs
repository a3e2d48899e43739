//! `memory_feedback`: whether memories helped.

use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

use super::super::args::{Arguments, InvalidArgument};
use super::super::reply::{Reply, put, rounded};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, split_references};
use crate::domain::decay::Verdict;
use crate::service::feedback::{FeedbackAnswer, FeedbackRequest, Judged};

pub(super) const NAME: &str = "memory_feedback";

fn words() -> Vec<&'static str> {
    Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect()
}

pub(super) fn definition() -> Tool {
    let properties = vec![
        schema::list("ids", "ids or handles"),
        schema::choice("verdict", &words(), ""),
        schema::text("correction", "what is true instead"),
    ];
    let description =
        "Say whether memories you were given helped: that decides how well they last.";
    schema::tool(NAME, description, properties, Conduct::Changes, false)
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let references = arguments.list(&["ids", "id"])?.unwrap_or_default();
    let expected = format!("one of {}", words().join(", "));
    let verdict = arguments.choice(&["verdict", "feedback"], Verdict::parse, &expected)?;
    let verdict = verdict.ok_or_else(|| InvalidArgument::new("verdict", expected, &Value::Null))?;
    let correction = arguments.text(&["correction"])?;
    let warnings = arguments.finish();
    let (references, unreadable) = split_references(references)?;
    let request = FeedbackRequest { references, verdict, correction };
    let mut answer = call.service.feedback(call.caller, request).await?;
    answer.missing.extend(unreadable);
    Ok(render(&answer, verdict, &warnings))
}

fn render(answer: &FeedbackAnswer, verdict: Verdict, warnings: &[String]) -> Reply {
    let mut reply = Reply::default();
    let mut memories = Vec::with_capacity(answer.memories.len());
    for Judged { memory, strength, replaced } in &answer.memories {
        let (handle, status) = (memory.id.handle(), memory.status.as_str());
        let mut line = format!("#{handle} is {verdict}: {status}, strength {}", rounded(*strength));
        let mut one = JsonObject::new();
        put(&mut one, "id", memory.id.to_string());
        put(&mut one, "handle", handle);
        put(&mut one, "status", status);
        put(&mut one, "strength", rounded(*strength));
        if let Some(right) = memory.superseded_by {
            line.push_str(&format!(", superseded by {right}"));
            put(&mut one, "superseded_by", right.to_string());
        }
        if let Some(earlier) = replaced {
            line.push_str(&format!(
                "; it had replaced {earlier}: memory_update with status active makes that current"
            ));
            put(&mut one, "replaced", earlier.to_string());
        }
        reply.line(line);
        memories.push(Value::Object(one));
    }
    let is_open = |judged: &Judged| judged.memory.superseded_by.is_none();
    if verdict == Verdict::Wrong && answer.memories.iter().any(is_open) {
        reply.line("Store what is true with `supersedes` set to the id of the wrong one.");
    }
    reply.n_items = memories.len();
    reply.field("memories", memories);
    if !answer.missing.is_empty() {
        reply.line(format!("missing: {}", answer.missing.join(", ")));
        reply.field("missing", answer.missing.clone());
    }
    reply.remarks("warnings", warnings);
    reply
}
