//! `reminder_dead`: what did not arrive, or may not have: list it, send it once more, drop it. For the
//! person; not listed.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::super::super::args::{Arguments, InvalidArgument};
use super::super::super::reminders::{cut, quoted, row_facts, row_line, word};
use super::super::super::reply::{Budget, Reply, put};
use super::super::{Call, Outcome};
use crate::domain::limits::{LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, RIDER_CHARS_MAX};
use crate::domain::reminder::Row;
use crate::service::remind::{DeadLetter, DeadOnes, WaitingMessages};

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
    let sink = arguments.word(&["sink"])?;
    let all = arguments.flag(&["all"])?.unwrap_or_default();
    let limit = arguments.integer(&["limit"], 1, LIST_LIMIT_MAX)?;
    let warnings = arguments.finish();
    if action == Action::List {
        let limit = limit.unwrap_or(LIST_LIMIT_DEFAULT);
        let letters = call.service.dead_letters(call.caller, limit).await?;
        let waiting = call.service.waiting_messages(call.caller).await?;
        return Ok(listed(&letters, &waiting, &warnings));
    }
    let which = match (keys.is_empty(), sink, all) {
        (false, None, false) => DeadOnes::Keys(keys),
        (true, Some(sink), false) => DeadOnes::Sink(sink),
        (true, None, true) => DeadOnes::All,
        (_, sink, all) => {
            let expected = "keys of messages, or `sink`, or `all`: one of the three";
            let found = json!({ "keys": keys, "sink": sink, "all": all });
            return Err(InvalidArgument::new("keys", expected, &found).into());
        }
    };
    let rows = match action {
        Action::Drop => call.service.drop_dead(call.caller, &which).await?,
        Action::List | Action::Retry => call.service.retry_dead(call.caller, &which).await?,
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

fn listed(letters: &[DeadLetter], waiting: &[WaitingMessages], warnings: &[String]) -> Reply {
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
        for one in waiting {
            let words = waiting_facts(one);
            let words = words.iter().map(|(name, value)| word(name, value));
            reply.line(format!("waiting: {}", words.collect::<Vec<_>>().join(", ")));
        }
        let values = waiting.iter().map(|one| Value::Object(waiting_facts(one)));
        reply.items("waiting", values.collect());
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

/// What waits for a sink, by name and value.
fn waiting_facts(waiting: &WaitingMessages) -> JsonObject {
    let mut facts = JsonObject::new();
    put(&mut facts, "sink", waiting.sink.name.as_str());
    put(&mut facts, "state", waiting.sink.condition.as_str());
    put(&mut facts, "n_waiting", waiting.sink.n_queued);
    put(&mut facts, "since", waiting.since.to_string());
    put(&mut facts, "next_try", waiting.next_try.map(|at| at.to_string()));
    put(&mut facts, "why", waiting.why.as_deref());
    put(&mut facts, "advice", waiting.sink.advice.as_deref());
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
