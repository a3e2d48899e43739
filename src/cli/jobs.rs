//! `recalld jobs`: what the daemon does by itself, what it did, and undoing that.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a JSON value by a name it does not have gives null"
)]

use std::time::Duration;

use serde_json::{Value, json};

use super::arguments::JobsCommand;
use super::output::{say, table};
use super::session::{CliError, Connection, Door, LONG_WAIT, connect};
use super::show::{as_json, items, remarks, text};

/// Time between two looks whether a run has ended.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Items of a list that a report shows.
const OUTLINED_MAX: usize = 5;

/// Carries out a command about jobs.
pub(super) async fn run(what: &JobsCommand, door: &Door, json: bool) -> Result<(), CliError> {
    let connection = connect(door, true).await?;
    match what {
        JobsCommand::List => {
            let answer = connection.call("maintenance_list", json!({})).await?;
            list(&answer, json);
        }
        JobsCommand::Run { job, dry_run } => {
            let request = json!({ "job": job, "dry_run": dry_run });
            let answer = connection.call("maintenance_run", request).await?;
            let answer =
                tokio::time::timeout(door.timeout.unwrap_or(LONG_WAIT), ended(&connection, answer))
                    .await
                    .map_err(|_| CliError::Data("the run has not ended".to_owned()))??;
            report(&answer, json);
            if answer["outcome"] == "failed" {
                return Err(CliError::Refused(format!("{job} failed: {}", text(&answer["why"]))));
            }
        }
        JobsCommand::Report { run } => {
            let answer = connection.call("maintenance_report", json!({ "run": run })).await?;
            report(&answer, json);
        }
        JobsCommand::Undo { run } => {
            let answer = connection.call("maintenance_undo", json!({ "run": run })).await?;
            undone(&answer, json);
        }
    }
    Ok(())
}

/// The answer about a run once that has ended. One that waits for its turn has no number yet.
async fn ended(connection: &Connection, mut answer: Value) -> Result<Value, CliError> {
    while answer["outcome"] == "running" {
        tokio::time::sleep(LOOK_EVERY).await;
        let request = json!({ "run": answer["run"] });
        answer = connection.call("maintenance_report", request).await?;
    }
    Ok(answer)
}

fn list(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let mut jobs = table(&["job", "next run", "last run", "outcome", "took", "remark"]);
    for job in items(answer, "jobs") {
        jobs.add_row([
            text(&job["job"]),
            next(job),
            text(&job["last_finished_at"]),
            text(&job["last_outcome"]),
            seconds(&job["last_seconds"]),
            remark(job),
        ]);
    }
    say(&jobs.to_string());
    let mut runs = table(&["run", "job", "by", "started", "outcome", "took", "changed", "remark"]);
    for run in items(answer, "runs") {
        runs.add_row([
            text(&run["run"]),
            text(&run["job"]),
            text(&run["trigger"]),
            text(&run["started_at"]),
            text(&run["outcome"]),
            seconds(&run["seconds"]),
            text(&run["n_changed"]),
            run_remark(run),
        ]);
    }
    if !items(answer, "runs").is_empty() {
        say(&runs.to_string());
    }
    remarks(answer);
}

/// When a job is due: by its timetable, with the zone, or earlier to make up for something.
fn next(job: &Value) -> String {
    match (&job["activity"], items(job, "next_runs").first()) {
        (Value::String(activity), _) => activity.clone(),
        (_, Some(next)) => text(next),
        (_, None) => "only when asked for".to_owned(),
    }
}

fn remark(job: &Value) -> String {
    let mut remarks = Vec::new();
    if let Some(why) = job["last_why"].as_str() {
        remarks.push(why.to_owned());
    }
    if let Some(until) = job["paused_until"].as_str() {
        remarks.push(format!("paused until {until} after {} failures", text(&job["n_failures"])));
    }
    if let Some(why) = job["last_skipped_why"].as_str() {
        let (n, at) = (text(&job["n_skipped"]), text(&job["last_skipped_at"]));
        remarks.push(format!("skipped {n} times, last {at}: {why}"));
    }
    remarks.join("\n")
}

fn run_remark(run: &Value) -> String {
    let mut remarks = Vec::new();
    if run["dry_run"] == json!(true) {
        remarks.push("dry run".to_owned());
    }
    for (name, words) in [("undoes", "undid run"), ("undone_by", "undone by run")] {
        if !run[name].is_null() {
            remarks.push(format!("{words} {}", text(&run[name])));
        }
    }
    remarks.extend(run["why"].as_str().map(str::to_owned));
    remarks.join("\n")
}

fn seconds(value: &Value) -> String {
    value.as_f64().map(|seconds| format!("{seconds:.2} s")).unwrap_or_default()
}

/// One run in full.
fn report(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let mut rows = table(&["field", "value"]);
    for (name, value) in answer.as_object().into_iter().flatten() {
        if name != "report" && name != "warnings" {
            rows.add_row([name.clone(), text(value)]);
        }
    }
    say(&rows.to_string());
    if !answer["report"].is_null() {
        say(outline(&answer["report"], 0).trim_end());
    }
    remarks(answer);
}

/// An object as indented lines. Of long lists the beginning is shown: `--json` shows all.
fn outline(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let lines = value.as_object().into_iter().flatten().map(|(name, value)| {
        let name = name.strip_prefix("n_").unwrap_or(name).replace('_', " ");
        match value {
            Value::Object(fields) if fields.is_empty() => format!("{indent}{name}: none\n"),
            Value::Object(_) => format!("{indent}{name}:\n{}", outline(value, depth + 1)),
            Value::Array(list) if list.iter().any(Value::is_object) => {
                let shown = list.iter().take(OUTLINED_MAX);
                let items = shown.map(|item| format!("{indent}  -\n{}", outline(item, depth + 2)));
                let items: String = items.collect();
                format!("{indent}{name} ({}):\n{items}{}", list.len(), more(list, &indent))
            }
            Value::Array(list) => {
                let shown: Vec<String> = list.iter().take(OUTLINED_MAX).map(text).collect();
                let shown = if list.is_empty() { "none".to_owned() } else { shown.join(", ") };
                let more = list.len().saturating_sub(OUTLINED_MAX);
                let more = if more == 0 { String::new() } else { format!(" and {more} more") };
                format!("{indent}{name}: {shown}{more}\n")
            }
            Value::Null => format!("{indent}{name}: none\n"),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                format!("{indent}{name}: {}\n", text(value))
            }
        }
    });
    lines.collect()
}

/// How many items of a list are not shown.
fn more(list: &[Value], indent: &str) -> String {
    match list.len().saturating_sub(OUTLINED_MAX) {
        0 => String::new(),
        n => format!("{indent}  and {n} more\n"),
    }
}

fn undone(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let [run, undoes, n_restored, n_withdrawn, n_left] =
        ["run", "undoes", "n_restored", "n_withdrawn", "n_left"].map(|name| text(&answer[name]));
    say(&format!(
        "run {undoes} undone by run {run}: {n_restored} restored, {n_withdrawn} withdrawn, \
         {n_left} left"
    ));
    for left in items(answer, "left") {
        say(&format!("left: {} ({})", text(&left["id"]), text(&left["why"])));
    }
    remarks(answer);
}
