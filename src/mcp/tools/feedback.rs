//! `memory_feedback`: whether memories helped.

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::super::args::{Arguments, InvalidArgument};
use super::super::reply::{Reply, rounded};
use super::super::schema::{self, Conduct};
use super::{Call, Outcome, split_references};
use crate::domain::decay::Verdict;
use crate::service::feedback::{FeedbackAnswer, FeedbackRequest};

pub(super) const NAME: &str = "memory_feedback";

fn words() -> Vec<&'static str> {
    Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect()
}

pub(super) fn definition() -> Tool {
    let properties = vec![
        schema::list("ids", "ids or handles"),
        schema::choice("verdict", &words(), "wrong: not true, no longer found by default"),
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
    let warnings = arguments.finish();
    let (references, unreadable) = split_references(references)?;
    let request = FeedbackRequest { references, verdict };
    let mut answer = call.service.feedback(call.caller, request).await?;
    answer.missing.extend(unreadable);
    Ok(render(&answer, verdict, &warnings))
}

fn render(answer: &FeedbackAnswer, verdict: Verdict, warnings: &[String]) -> Reply {
    let mut reply = Reply::default();
    let mut memories = Vec::with_capacity(answer.memories.len());
    for (memory, strength) in &answer.memories {
        let (handle, status) = (memory.id.handle(), memory.status.as_str());
        reply.line(format!("#{handle} is {verdict}: {status}, strength {}", rounded(*strength)));
        memories.push(json!({
            "id": memory.id.to_string(),
            "handle": handle,
            "status": status,
            "strength": rounded(*strength),
        }));
    }
    if verdict == Verdict::Wrong {
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
