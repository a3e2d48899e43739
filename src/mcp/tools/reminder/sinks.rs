//! `sink_list` and `sink_test`: where reminders go, and whether they can. For the person; not listed.

use serde_json::Value;

use super::super::super::args::{Arguments, InvalidArgument};
use super::super::super::reminders::sink_facts;
use super::super::super::reply::Reply;
use super::super::{Call, Outcome};
use crate::domain::reminder;

pub(super) async fn list(call: Call<'_>, arguments: Arguments) -> Outcome {
    let warnings = arguments.finish();
    let sinks = call.service.sink_reports().await?;
    let mut reply = Reply::default();
    if sinks.is_empty() {
        reply.line("No sink is configured: [sinks.NAME] in config.toml.");
    }
    for sink in &sinks {
        let words: Vec<String> = sink_facts(sink)
            .iter()
            .filter(|(name, _)| *name != "name")
            .map(|(name, value)| match value.as_str() {
                Some(text) => format!("{name} {text}"),
                None => format!("{name} {value}"),
            })
            .collect();
        reply.line(format!("{}: {}", sink.name, words.join(", ")));
    }
    reply.n_items = sinks.len();
    reply.items("sinks", sinks.iter().map(|sink| Value::Object(sink_facts(sink))).collect());
    reply.remarks("warnings", &warnings);
    Ok(reply)
}

pub(super) async fn test(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let name = arguments.word(&["name", "sink"])?.ok_or_else(|| {
        InvalidArgument::new("name", "the name of a configured sink", &Value::Null)
    })?;
    let warnings = arguments.finish();
    let outcome = call.service.test_sink(call.caller, &name).await?;
    let (word, why) = told(&outcome);
    let mut reply = Reply::default();
    reply.line(format!(
        "{name}: {word}{}",
        why.as_ref().map_or_else(String::new, |why| format!(", {why}"))
    ));
    reply.field("name", name);
    reply.field("outcome", word);
    reply.field("why", why);
    reply.remarks("warnings", &warnings);
    Ok(reply)
}

/// What came of a test, in a word, and why.
fn told(outcome: &reminder::Outcome) -> (&'static str, Option<String>) {
    match outcome {
        reminder::Outcome::Sent { .. } => ("sent", None),
        reminder::Outcome::Accepted => ("accepted", None),
        reminder::Outcome::Retry { why, .. } => ("not taken now", Some(why.clone())),
        reminder::Outcome::Refused(why) => ("refused", Some(why.clone())),
        reminder::Outcome::Disabled(why) => ("takes nothing", Some(why.clone())),
        reminder::Outcome::Unknown(why) => ("not known", Some(why.clone())),
    }
}
