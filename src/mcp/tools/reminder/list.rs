//! `reminder_list`: reminders by what there is to say of them.

use rmcp::model::Tool;

use super::super::super::args::Arguments;
use super::super::super::reply::{Budget, Detail, Reply};
use super::super::super::schema::{self, Conduct};
use super::super::{Call, Outcome};
use super::{LIST, tool};
use crate::domain::limits::{LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX};
use crate::domain::reminder::View;
use crate::service::ServiceError;
use crate::service::remind::{ListReminders, ReminderPage, ReminderView};

pub(in crate::mcp::tools) fn definition() -> Tool {
    let words: Vec<&str> = View::ALL.iter().map(|view| view.as_str()).collect();
    let properties = vec![
        schema::choice("view", &words, ""),
        schema::integer("limit", ""),
        schema::text("cursor", ""),
    ];
    let description = "List reminders: without a view what is due, proposed and to come.";
    tool(LIST, description, properties, Conduct::Reads)
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let words: Vec<&str> = View::ALL.iter().map(|view| view.as_str()).collect();
    let expected = format!("one of {}", words.join(", "));
    let view = arguments.choice(&["view"], View::parse, &expected)?;
    let namespaces = arguments.list(&["namespace", "namespaces"])?.unwrap_or_default();
    let limit = arguments.integer(&["limit"], 1, LIST_LIMIT_MAX)?;
    let cursor = arguments.word(&["cursor"])?;
    let warnings = arguments.finish();
    let mut limit = limit.unwrap_or(LIST_LIMIT_DEFAULT);
    loop {
        let ask = |view| ListReminders {
            view,
            namespaces: namespaces.clone(),
            limit: Some(limit),
            cursor: cursor.clone(),
        };
        let (page, notes) = match view {
            Some(view) => (call.service.reminders(call.caller, ask(view)).await?, Vec::new()),
            None => live(&call, ask).await?,
        };
        let reply = render(&page, &notes, &warnings);
        if limit <= 1 || reply.fits(Budget::CAP) {
            return Ok(reply);
        }
        // Fewer, asked for anew, so that the cursor points behind the last one shown.
        limit /= 2;
    }
}

/// What is live: what is due and proposed on the first page, and what is to come on each. The notes say
/// where the rest of the former is.
async fn live(
    call: &Call<'_>,
    ask: impl Fn(View) -> ListReminders,
) -> Result<(ReminderPage, Vec<String>), ServiceError> {
    let coming = call.service.reminders(call.caller, ask(View::Upcoming)).await?;
    let (mut reminders, mut notes) = (Vec::new(), Vec::new());
    if ask(View::Upcoming).cursor.is_none() {
        for view in [View::Due, View::Proposed] {
            let page = call.service.reminders(call.caller, ask(view)).await?;
            let has_more = page.next_cursor.is_some();
            notes.extend(has_more.then(|| format!("more are {view}: ask with view {view}")));
            reminders.extend(page.reminders);
        }
    }
    let is_new = |view: &ReminderView| view.entry.reminder.open.is_none();
    reminders.extend(coming.reminders.into_iter().filter(is_new));
    Ok((ReminderPage { reminders, next_cursor: coming.next_cursor }, notes))
}

fn render(page: &ReminderPage, notes: &[String], warnings: &[String]) -> Reply {
    let mut reply = Reply::default();
    reply.line(format!("n_listed: {}", page.reminders.len()));
    reply.field("n_listed", page.reminders.len());
    reply.reminders("reminders", &page.reminders, Detail::Brief);
    reply.next_cursor(page.next_cursor.as_deref());
    reply.remarks("notes", notes);
    reply.remarks("warnings", warnings);
    reply
}
