//! `reminder_dead`: what did not arrive, or may not have: list it, send it once more, drop it. For the
//! person; not listed.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::super::super::args::{Arguments, InvalidArgument};
use super::super::super::reminders::{cut, quoted, row_facts, row_line};
use super::super::super::reply::{Budget, Reply, put};
use super::super::{Call, Outcome};
use crate::domain::limits::{LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, RIDER_CHARS_MAX};
use crate::domain::reminder::Row;
use crate::service::ServiceError;
use crate::service::remind::DeadLetter;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    List,
    Retry,
    Drop,
}

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let action = arguments.choice(&["action"], action, "list, retry or drop")?;
    let action = action.unwrap_or(Action::List);
    let keys = arguments.list(&["keys", "key"])?.unwrap_or_default();
    let all = arguments.flag(&["all"])?.unwrap_or_default();
    let limit = arguments.integer(&["limit"], 1, LIST_LIMIT_MAX)?;
    let warnings = arguments.finish();
    if action == Action::List {
        let limit = limit.unwrap_or(LIST_LIMIT_DEFAULT);
        let letters = call.service.dead_letters(call.caller, limit).await?;
        return Ok(listed(&letters, &warnings));
    }
    if keys.is_empty() != all {
        let expected = "keys of messages, or `all`";
        return Err(InvalidArgument::new("keys", expected, &Value::from(keys)).into());
    }
    let rows = if all {
        of_all(&call, action, limit.unwrap_or(LIST_LIMIT_MAX)).await?
    } else {
        of_named(&call, action, &keys).await?
    };
    Ok(done(action, &rows, &warnings))
}

fn action(word: &str) -> Option<Action> {
    match word.to_ascii_lowercase().as_str() {
        "list" => Some(Action::List),
        "retry" => Some(Action::Retry),
        "drop" => Some(Action::Drop),
        _ => None,
    }
}

/// Does it to each, as far as all can be found.
async fn of_named(
    call: &Call<'_>,
    action: Action,
    keys: &[String],
) -> Result<Vec<Row>, ServiceError> {
    let mut rows = Vec::with_capacity(keys.len());
    for key in keys {
        rows.push(act(call, action, key).await?);
    }
    Ok(rows)
}

async fn of_all(call: &Call<'_>, action: Action, limit: usize) -> Result<Vec<Row>, ServiceError> {
    let letters = call.service.dead_letters(call.caller, limit).await?;
    let keys: Vec<String> =
        letters.iter().map(|letter| letter.row.delivery.key.to_string()).collect();
    of_named(call, action, &keys).await
}

async fn act(call: &Call<'_>, action: Action, key: &str) -> Result<Row, ServiceError> {
    match action {
        Action::Drop => call.service.drop_delivery(call.caller, key).await,
        Action::List | Action::Retry => call.service.retry_delivery(call.caller, key).await,
    }
}

fn listed(letters: &[DeadLetter], warnings: &[String]) -> Reply {
    let written = |n_shown: usize| {
        let mut reply = Reply::default();
        let shown = letters.get(..n_shown).unwrap_or(letters);
        reply.line(format!("n_listed: {}, the latest first", shown.len()));
        reply.field("n_listed", shown.len());
        for letter in shown {
            let text = letter.entry.as_ref().map(|entry| quoted(&entry.text, RIDER_CHARS_MAX));
            let handle = letter.row.reminder.handle();
            reply.line(format!(
                "[{handle}] {} {}",
                text.unwrap_or_default(),
                row_line(&letter.row)
            ));
        }
        let values: Vec<Value> = shown.iter().map(|one| Value::Object(facts(one))).collect();
        reply.n_items = values.len();
        reply.items("deliveries", values);
        reply.remarks("warnings", warnings);
        reply
    };
    let halves = std::iter::successors(Some(letters.len()), |n| (*n > 1).then_some(n / 2));
    let mut replies = halves.map(written);
    replies.find(|reply| reply.fits(Budget::CAP)).unwrap_or_else(|| written(1))
}

fn facts(letter: &DeadLetter) -> JsonObject {
    let mut facts = row_facts(&letter.row);
    put(&mut facts, "reminder", letter.row.reminder.handle());
    let text = letter.entry.as_ref().map(|entry| cut(&entry.text, RIDER_CHARS_MAX));
    put(&mut facts, "text", text);
    facts
}

fn done(action: Action, rows: &[Row], warnings: &[String]) -> Reply {
    let mut reply = Reply::default();
    let what = if action == Action::Drop { "dropped" } else { "waits to be sent once more" };
    for row in rows.iter().take(LIST_LIMIT_DEFAULT) {
        reply.line(format!("{what}: {}", row_line(row)));
    }
    reply.line(format!("n_done: {}", rows.len()));
    reply.field("n_done", rows.len());
    let shown = rows.iter().take(LIST_LIMIT_DEFAULT);
    reply.n_items = rows.len();
    reply.items("deliveries", shown.map(|row| Value::Object(row_facts(row))).collect());
    reply.remarks("warnings", warnings);
    reply
}
