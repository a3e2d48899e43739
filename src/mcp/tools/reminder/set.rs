//! `reminder_set`: a new reminder; the answer tells when it will be told.

use rmcp::model::Tool;

use super::super::super::args::Arguments;
use super::super::super::reply::Reply;
use super::super::super::schema::{self, Conduct};
use super::super::{Call, Outcome};
use super::{Fields, SET, tool};
use crate::service::remind::SetReminder;

pub(in crate::mcp::tools) fn definition() -> Tool {
    let properties = vec![
        schema::text("text", "of what"),
        schema::text("memory", "or id of one"),
        schema::text("at", "ISO 8601 or words (tomorrow 3pm)"),
        schema::text("rule", "every Friday 15:00, or RRULE"),
        schema::text("lead", "before: PT1H, P1D@18:00"),
        schema::text("zone", ""),
        schema::list("sinks", ""),
        schema::choice("priority", &["normal", "urgent"], ""),
        schema::choice("on_missed", &["late", "skip", "coalesce"], ""),
        schema::text("namespace", ""),
    ];
    let description = "Remind the user in their chat apps, once or by a rule. The text may name \
                       the time. Tell the user the next times of the answer.";
    tool(SET, description, properties, Conduct::Adds)
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let fields = Fields::read(&mut arguments)?;
    let asked = SetReminder {
        text: fields.text.filter(|text| !text.trim().is_empty()),
        memory: arguments.word(&["memory", "memory_id"])?,
        at: fields.at,
        rule: fields.rule,
        lead: fields.lead,
        zone: fields.zone,
        sinks: fields.sinks.unwrap_or_default(),
        priority: fields.priority,
        on_missed: fields.on_missed,
        until: fields.until,
        count: fields.count,
        namespace: arguments.word(&["namespace"])?,
        request: call.request,
    };
    let warnings = arguments.finish();
    let view = call.service.set_reminder(call.caller, asked).await?;
    let mut reply = Reply::default();
    reply.line("Set.");
    reply.reminder(&view);
    reply.remarks("warnings", &warnings);
    Ok(reply)
}
