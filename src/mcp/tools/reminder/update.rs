//! `reminder_update`: acknowledges, snoozes, pauses, changes or ends a reminder, or answers a proposal.

use rmcp::model::Tool;
use serde_json::Value;

use super::super::super::args::{Arguments, InvalidArgument};
use super::super::super::reply::Reply;
use super::super::super::schema::{self, Conduct};
use super::super::{Call, Outcome};
use super::{Fields, UPDATE, reference, tool};
use crate::service::remind::{ChangeReminder, ReminderAction, UpdateReminder};

/// What can be done, as callers say it.
const ACTIONS: [&str; 9] =
    ["ack", "snooze", "pause", "resume", "change", "cancel", "done", "accept", "decline"];

pub(in crate::mcp::tools) fn definition() -> Tool {
    let properties = vec![
        schema::text("id", ""),
        schema::choice("action", &ACTIONS, ""),
        schema::text("for", "snooze: 30m"),
        schema::text("until", "snooze: a time; change: last day"),
        schema::text("text", ""),
        schema::text("at", ""),
        schema::text("rule", ""),
    ];
    let description = "Acknowledge, snooze, change (any field of reminder_set) or end a reminder; \
                       accept or decline a proposed one.";
    tool(UPDATE, description, properties, Conduct::Changes)
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let reference = reference(&mut arguments)?;
    let known = |word: &str| ACTIONS.into_iter().find(|action| word.eq_ignore_ascii_case(action));
    let expected = format!("one of {}", ACTIONS.join(", "));
    let named = arguments.choice(&["action"], known, &expected)?;
    let missing = || InvalidArgument::new("action", expected.clone(), &Value::Null);
    let name = named.ok_or_else(missing)?;
    let action = action(name, &mut arguments)?;
    let warnings = arguments.finish();
    let asked = UpdateReminder { reference, action };
    let view = call.service.update_reminder(call.caller, asked).await?;
    let mut reply = Reply::default();
    reply.line(format!("done: {name}"));
    reply.field("done", name);
    reply.reminder(&view);
    reply.remarks("warnings", &warnings);
    Ok(reply)
}

/// The action with what belongs to it; what does not is left, and named in a warning.
fn action(name: &str, arguments: &mut Arguments) -> Result<ReminderAction, InvalidArgument> {
    Ok(match name {
        "ack" => ReminderAction::Ack,
        "snooze" => ReminderAction::Snooze {
            wait: arguments.word(&["for", "wait", "minutes"])?,
            until: arguments.word(&["until", "at"])?,
        },
        "pause" => ReminderAction::Pause,
        "resume" => ReminderAction::Resume,
        "cancel" => ReminderAction::Cancel,
        "done" => ReminderAction::Done,
        "accept" => ReminderAction::Accept,
        "decline" => ReminderAction::Decline,
        _ => {
            let fields = Fields::read(arguments)?;
            ReminderAction::Change(ChangeReminder {
                text: fields.text,
                at: fields.at,
                rule: fields.rule,
                lead: fields.lead,
                zone: fields.zone,
                sinks: fields.sinks,
                priority: fields.priority,
                on_missed: fields.on_missed,
                until: fields.until,
                count: fields.count,
            })
        }
    })
}
