//! `recalld sinks`: where reminders go, and whether they can.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a JSON value by a name it does not have gives null"
)]

use serde_json::{Value, json};

use super::arguments::SinksCommand;
use super::output::{say, table};
use super::session::{CliError, Door, connect};
use super::show::{as_json, items, remarks, text};

/// Carries out a command about sinks.
pub(super) async fn run(what: &SinksCommand, door: &Door, json: bool) -> Result<(), CliError> {
    let connection = connect(door, true).await?;
    match what {
        SinksCommand::List => {
            let answer = connection.call("sink_list", json!({})).await?;
            list(&answer, json);
        }
        SinksCommand::Test { name } => {
            let answer = connection.call("sink_test", json!({ "name": name })).await?;
            let outcome = text(&answer["outcome"]);
            let why = text(&answer["why"]);
            if outcome != "sent" && outcome != "accepted" {
                return Err(CliError::Refused(format!("{name}: {outcome}: {why}")));
            }
            tested(&answer, json);
        }
    }
    Ok(())
}

fn tested(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    say(&format!("{}: {}", text(&answer["name"]), text(&answer["outcome"])));
    remarks(answer);
}

fn list(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let sinks = items(answer, "sinks");
    if sinks.is_empty() {
        say("no sink is configured: [sinks.NAME] in config.toml");
    } else {
        let mut rows = table(&["sink", "kind", "place", "state", "queued", "dead", "uncertain"]);
        for sink in sinks {
            rows.add_row([
                text(&sink["name"]),
                text(&sink["kind"]),
                text(&sink["place"]),
                state(sink),
                text(&sink["n_queued"]),
                text(&sink["n_dead"]),
                text(&sink["n_uncertain"]),
            ]);
        }
        say(&rows.to_string());
    }
    remarks(answer);
}

/// How a sink is, why, what helps, and until when it is left alone.
fn state(sink: &Value) -> String {
    let mut words = text(&sink["state"]);
    if sink["why"].is_string() {
        words.push_str(&format!(": {}", text(&sink["why"])));
    }
    if sink["since"].is_string() {
        words.push_str(&format!("\nsince {}", text(&sink["since"])));
    }
    if sink["advice"].is_string() {
        words.push_str(&format!("\n{}", text(&sink["advice"])));
    }
    if sink["waits_until"].is_string() {
        words.push_str(&format!("\nleft alone until {}", text(&sink["waits_until"])));
    }
    words
}
