//! Reminders: set one, list them, do something to one. For the person also the sinks and what did not
//! arrive.

mod dead;
mod list;
mod set;
mod show;
mod sinks;
mod update;

use rmcp::model::Tool;
use serde_json::Value;

use super::super::args::{Arguments, InvalidArgument};
use super::super::schema::{self, Conduct, Property};
use super::{Call, Outcome};
use crate::domain::limits::RULE_COUNT_MAX;
use crate::domain::reminder::{OnMissed, Priority};

pub(super) const SET: &str = "reminder_set";
pub(super) const LIST: &str = "reminder_list";
pub(super) const UPDATE: &str = "reminder_update";
pub(super) const SHOW: &str = "reminder_show";
pub(super) const DEAD: &str = "reminder_dead";
pub(super) const SINKS: &str = "sink_list";
pub(super) const TEST: &str = "sink_test";

pub(super) use list::definition as list_definition;
pub(super) use set::definition as set_definition;
pub(super) use update::definition as update_definition;

/// Whether it is one of these tools.
pub(super) fn has(name: &str) -> bool {
    matches!(name, SET | LIST | UPDATE | SHOW | DEAD | SINKS | TEST)
}

/// Runs one of the tools; `None`: it is none of these.
pub(super) async fn run(name: &str, call: Call<'_>, arguments: Arguments) -> Option<Outcome> {
    Some(match name {
        SET => set::run(call, arguments).await,
        LIST => list::run(call, arguments).await,
        UPDATE => update::run(call, arguments).await,
        SHOW => show::run(call, arguments).await,
        DEAD => dead::run(call, arguments).await,
        SINKS => sinks::list(call, arguments).await,
        TEST => sinks::test(call, arguments).await,
        _ => return None,
    })
}

/// A tool of the small set that clients load when they look for it.
fn tool(
    name: &'static str,
    description: &'static str,
    properties: Vec<Property>,
    conduct: Conduct,
) -> Tool {
    schema::tool(name, description, properties, conduct, false)
}

/// What a reminder is made of and can be changed to.
struct Fields {
    text: Option<String>,
    at: Option<String>,
    rule: Option<String>,
    lead: Option<String>,
    zone: Option<String>,
    sinks: Option<Vec<String>>,
    priority: Option<Priority>,
    on_missed: Option<OnMissed>,
    until: Option<String>,
    count: Option<u32>,
}

impl Fields {
    fn read(arguments: &mut Arguments) -> Result<Self, InvalidArgument> {
        let count = arguments.integer(&["count", "times"], 1, RULE_COUNT_MAX as usize)?;
        Ok(Self {
            text: arguments.text(&["text", "content", "message"])?,
            at: arguments.word(&["at", "when", "time"])?,
            rule: arguments.word(&["rule", "rrule", "recurrence"])?,
            lead: arguments.word(&["lead", "before"])?,
            zone: arguments.word(&["zone", "timezone", "time_zone"])?,
            sinks: arguments.list(&["sinks", "sink"])?,
            priority: arguments.choice(&["priority"], Priority::parse, "normal or urgent")?,
            on_missed: arguments.choice(
                &["on_missed"],
                OnMissed::parse,
                "late, skip or coalesce",
            )?,
            until: arguments.word(&["until"])?,
            count: count.and_then(|count| u32::try_from(count).ok()),
        })
    }
}

/// The reminder that a call is about.
fn reference(arguments: &mut Arguments) -> Result<String, InvalidArgument> {
    let reference = arguments.word(&["id", "reminder", "handle"])?;
    reference
        .ok_or_else(|| InvalidArgument::new("id", "the id or handle of a reminder", &Value::Null))
}
