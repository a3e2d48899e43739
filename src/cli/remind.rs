//! `recalld remind`: reminders of the person, and what did not arrive of them.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a JSON value by a name it does not have gives null"
)]

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::{Value, json};

use super::arguments::{
    AddArguments, ChangeArguments, DeadCommand, DeliveryKeys, RemindCommand, RemindListArguments,
    ReminderIds, SnoozeArguments, WhenArguments,
};
use super::output::{say, table};
use super::requests::{ToolArguments, fields, list_of};
use super::session::{CliError, Connection, Door, connect};
use super::show::{as_json, cell, items, remarks, text};

/// Carries out a command about reminders.
pub(super) async fn run(what: &RemindCommand, door: &Door, json: bool) -> Result<(), CliError> {
    let connection = connect(door, true).await?;
    let act = |ids: &ReminderIds, action| act(&connection, ids.ids.clone(), action, json);
    match what {
        RemindCommand::Add(what) => {
            let answer = connection.call("reminder_set", add(what)).await?;
            set(&answer, json);
        }
        RemindCommand::List(what) => {
            let answer = connection.call("reminder_list", list(what)).await?;
            listed(&answer, what.view.as_deref(), json);
        }
        RemindCommand::Show(what) => whole(&connection, &what.ids, json).await?,
        RemindCommand::Ack(ids) => act(ids, "ack").await?,
        RemindCommand::Pause(ids) => act(ids, "pause").await?,
        RemindCommand::Resume(ids) => act(ids, "resume").await?,
        RemindCommand::Cancel(ids) => act(ids, "cancel").await?,
        RemindCommand::Done(ids) => act(ids, "done").await?,
        RemindCommand::Accept(ids) => act(ids, "accept").await?,
        RemindCommand::Decline(ids) => act(ids, "decline").await?,
        RemindCommand::Snooze(what) => update(&connection, snooze(what), json).await?,
        RemindCommand::Change(what) => update(&connection, change(what)?, json).await?,
        RemindCommand::Dead { what } => dead(&connection, what.as_ref(), json).await?,
    }
    Ok(())
}

fn add(what: &AddArguments) -> ToolArguments {
    let text = what.text.join(" ");
    let text = if text.trim().is_empty() { Value::Null } else { json!(text) };
    let mut request = fields([
        ("text", text),
        ("memory", json!(what.memory)),
        ("namespace", json!(what.namespace)),
    ]);
    request.extend(when(&what.when));
    request
}

fn list(what: &RemindListArguments) -> ToolArguments {
    fields([
        ("view", json!(what.view)),
        ("namespace", list_of(&what.namespace)),
        ("limit", json!(what.limit)),
        ("cursor", json!(what.cursor)),
    ])
}

fn snooze(what: &SnoozeArguments) -> ToolArguments {
    let joined = (!what.time.is_empty()).then(|| what.time.join(" "));
    fields([
        ("id", json!(what.id)),
        ("action", json!("snooze")),
        ("for", json!(joined.as_ref().or(what.wait.as_ref()))),
        ("until", json!(what.until)),
    ])
}

fn change(what: &ChangeArguments) -> Result<ToolArguments, CliError> {
    let joined = (!what.words.is_empty()).then(|| what.words.join(" "));
    let mut request = fields([("text", json!(joined.as_ref().or(what.text.as_ref())))]);
    request.extend(when(&what.when));
    if request.is_empty() {
        return Err(CliError::Usage("say what to change, for example `--at TIME`".to_owned()));
    }
    request.extend(fields([("id", json!(what.id)), ("action", json!("change"))]));
    Ok(request)
}

fn when(what: &WhenArguments) -> ToolArguments {
    let priority = what.priority.as_ref().and_then(ValueEnum::to_possible_value);
    let on_missed = what.on_missed.as_ref().and_then(ValueEnum::to_possible_value);
    fields([
        ("at", json!(what.at)),
        ("rule", json!(what.rule)),
        ("lead", json!(what.lead)),
        ("zone", json!(what.zone)),
        ("sinks", list_of(&what.sink)),
        ("priority", json!(priority.as_ref().map(PossibleValue::get_name))),
        ("on_missed", json!(on_missed.as_ref().map(PossibleValue::get_name))),
        ("until", json!(what.until)),
        ("count", json!(what.count)),
    ])
}

/// Does the same to each; programs get all the reminders at once.
async fn act(
    connection: &Connection,
    ids: Vec<String>,
    action: &str,
    json: bool,
) -> Result<(), CliError> {
    let mut reminders = Vec::with_capacity(ids.len());
    for id in ids {
        let request = json!({ "id": id, "action": action });
        let mut answer = connection.call("reminder_update", request).await?;
        if !json {
            done(&answer);
        }
        reminders.push(answer["reminder"].take());
    }
    as_json(&json!({ "done": action, "reminders": reminders }), json);
    Ok(())
}

async fn update(
    connection: &Connection,
    request: ToolArguments,
    json: bool,
) -> Result<(), CliError> {
    let answer = connection.call("reminder_update", request).await?;
    if !as_json(&answer, json) {
        done(&answer);
    }
    Ok(())
}

/// What was done to a reminder, and when it is told from now on.
fn done(answer: &Value) {
    let reminder = &answer["reminder"];
    let [action, handle, state] =
        [&answer["done"], &reminder["handle"], &reminder["state"]].map(text);
    say(&format!("{action}: {handle} is {state}: {}", cell(&reminder["text"])));
    upcoming(reminder);
    asides(answer);
}

/// `remind add`
fn set(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let reminder = &answer["reminder"];
    say(&format!("set {}: {}", text(&reminder["handle"]), cell(&reminder["text"])));
    say(&format!("  {}", text(&reminder["when"])));
    upcoming(reminder);
    asides(answer);
}

/// What was read in a text that was stored.
pub(super) fn read(reminder: &Value) {
    let [handle, state] = [&reminder["handle"], &reminder["state"]].map(text);
    let ask = if state == "proposed" {
        format!(" (`recalld remind accept {handle}` or decline)")
    } else {
        String::new()
    };
    say(&format!("  reminder {handle} is {state}: {}{ask}", cell(&reminder["text"])));
    upcoming(reminder);
}

/// Why nothing is armed for a text that asks to be reminded.
pub(super) fn unarmed(why: &Value) {
    say(&format!("  asks to be reminded, nothing is armed: {}", text(why)));
}

fn upcoming(reminder: &Value) {
    for next in items(reminder, "next") {
        say(&format!("  told {}", telling(next)));
    }
}

/// `Fri 4 Dec 2026 14:00 +01:00 Europe/Berlin, for Fri 4 Dec 2026 15:00 +01:00 Europe/Berlin`
fn telling(next: &Value) -> String {
    let mut words = text(&next["told"]);
    if next["event"].is_string() {
        words.push_str(&format!(", for {}", text(&next["event"])));
    }
    if next["snoozed"] == json!(true) {
        words.push_str(", snoozed");
    }
    words
}

fn asides(answer: &Value) {
    for rule in items(answer, "redacted") {
        say(&format!("redacted: {}", text(rule)));
    }
    remarks(answer);
}

/// `remind list`
fn listed(answer: &Value, view: Option<&str>, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let reminders = items(answer, "reminders");
    if reminders.is_empty() {
        match view {
            None => say("no reminders are due, proposed or to come; the others: --view all"),
            Some(view) => say(&format!("no reminders in view {view}")),
        }
    } else {
        let mut rows = table(&["handle", "state", "reminder", "told", "when"]);
        for reminder in reminders {
            let told = match reminder["due"].as_str() {
                Some(_) => format!("was due {}", text(&reminder["due"])),
                None => items(reminder, "next").first().map(telling).unwrap_or_default(),
            };
            rows.add_row([
                text(&reminder["handle"]),
                text(&reminder["state"]),
                cell(&reminder["text"]),
                told,
                text(&reminder["when"]),
            ]);
        }
        say(&rows.to_string());
    }
    if let Some(cursor) = answer["next_cursor"].as_str() {
        say(&format!("more: --cursor {cursor}"));
    }
    remarks(answer);
}

/// `remind show`; programs get all the reminders at once, and a single one by its own name too.
async fn whole(connection: &Connection, ids: &[String], json: bool) -> Result<(), CliError> {
    let mut reminders = Vec::with_capacity(ids.len());
    for id in ids {
        let mut answer = connection.call("reminder_show", json!({ "id": id })).await?;
        if !json {
            shown(&answer);
        }
        reminders.push(answer["reminder"].take());
    }
    let single = reminders.first().filter(|_| reminders.len() == 1).cloned();
    let mut answer = fields([("reminder", json!(single))]);
    answer.insert("reminders".to_owned(), json!(reminders));
    as_json(&Value::Object(answer), json);
    Ok(())
}

/// A reminder with its messages.
fn shown(answer: &Value) {
    let reminder = &answer["reminder"];
    let mut rows = table(&["field", "value"]);
    for (name, value) in reminder.as_object().into_iter().flatten() {
        let shown = match name.as_str() {
            "text" | "deliveries" => continue,
            "next" => items(reminder, "next").iter().map(telling).collect::<Vec<_>>().join("\n"),
            _ => match value.as_array() {
                Some(list) => list.iter().map(text).collect::<Vec<_>>().join("\n"),
                None => text(value),
            },
        };
        rows.add_row([name.clone(), shown]);
    }
    say(&format!("{}\n{rows}", text(&reminder["text"])));
    let deliveries = items(reminder, "deliveries");
    if !deliveries.is_empty() {
        say(&messages(deliveries, "telling"));
    }
    remarks(answer);
}

/// `remind dead`
async fn dead(
    connection: &Connection,
    what: Option<&DeadCommand>,
    json: bool,
) -> Result<(), CliError> {
    let (action, keys) = match what {
        None | Some(DeadCommand::List) => ("list", None),
        Some(DeadCommand::Retry(keys)) => ("retry", Some(keys)),
        Some(DeadCommand::Drop(keys)) => ("drop", Some(keys)),
    };
    let mut request = fields([("action", json!(action))]);
    request.extend(keys.map(chosen).unwrap_or_default());
    let answer = connection.call("reminder_dead", request).await?;
    if as_json(&answer, json) {
        return Ok(());
    }
    let deliveries = items(&answer, "deliveries");
    match action {
        "list" => {}
        "drop" => say(&format!("dropped: {}", text(&answer["n_done"]))),
        _ => say(&format!("to be sent once more: {}", text(&answer["n_done"]))),
    }
    if !deliveries.is_empty() {
        say(&messages(deliveries, if action == "list" { "reminder" } else { "telling" }));
    }
    if action == "list" {
        waiting(&answer, deliveries.is_empty());
    }
    remarks(&answer);
    Ok(())
}

/// What is due and has not been sent, by sink; `is_all`: no message was given up.
fn waiting(answer: &Value, is_all: bool) {
    let waiting = items(answer, "waiting");
    let n: u64 = waiting.iter().filter_map(|sink| sink["n_waiting"].as_u64()).sum();
    match (is_all, n) {
        (true, 0) => say("every message arrived"),
        (false, 0) => {}
        (true, n) => say(&format!("no message was given up; waiting to be sent: {n}")),
        (false, n) => say(&format!("waiting to be sent: {n}")),
    }
    for sink in waiting {
        let next = match sink["next_try"].as_str() {
            Some(at) => format!("next try {at}"),
            None => text(&sink["state"]),
        };
        let [name, n, since] = [&sink["sink"], &sink["n_waiting"], &sink["since"]].map(text);
        let mut words = format!("  {name}: {n} since {since}, {next}");
        for (before, of) in [(": ", "why"), ("; ", "advice")] {
            if sink[of].is_string() {
                words.push_str(&format!("{before}{}", text(&sink[of])));
            }
        }
        say(&words);
    }
}

fn chosen(keys: &DeliveryKeys) -> ToolArguments {
    fields([
        ("keys", list_of(&keys.keys)),
        ("sink", json!(keys.sink)),
        ("all", json!(keys.all.then_some(true))),
    ])
}

/// Messages as a table, with what they are `about`: a telling of the reminder, or a reminder.
fn messages(deliveries: &[Value], about: &str) -> String {
    let mut rows = table(&["key", "sink", "state", "due", "attempts", about, "why"]);
    for delivery in deliveries {
        let reminder = match delivery["reminder"].as_str() {
            Some(handle) => format!("{handle} {}", cell(&delivery["text"])),
            None => text(&delivery["telling"]),
        };
        rows.add_row([
            text(&delivery["key"]),
            text(&delivery["sink"]),
            text(&delivery["state"]),
            text(&delivery["due_at"]),
            text(&delivery["n_attempts"]),
            reminder,
            text(&delivery["why"]),
        ]);
    }
    rows.to_string()
}
