//! Answers as people read them: tables, with the reasons of each hit.

use serde_json::{Value, json};

use super::output::{say, table};
use super::remind;

/// Characters of a content in a table.
const CELL_CHARS: usize = 160;

/// Prints the answer as JSON if that is asked for.
pub(super) fn as_json(answer: &Value, json: bool) -> bool {
    if json {
        say(&format!("{answer:#}"));
    }
    json
}

/// A value as people read it.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.chars().map(printable).collect(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Control characters and those that turn the direction of writing would let a memory rewrite the
/// screen of who reads it.
fn printable(c: char) -> char {
    let is_turning =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if (c.is_control() && c != '\n' && c != '\t') || is_turning { '\u{fffd}' } else { c }
}

/// A value in a table, which may be cut.
pub(super) fn cell(value: &Value) -> String {
    let whole = text(value);
    let short: String = whole.chars().take(CELL_CHARS).collect();
    if short.len() < whole.len() { format!("{short}…") } else { short }
}

/// A list of an answer; none is an empty one.
pub(super) fn items<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer[name].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn remarks(answer: &Value) {
    for name in ["degraded", "warnings", "notes"] {
        for remark in items(answer, name) {
            say(&format!("{name}: {}", text(remark)));
        }
    }
}

fn when(memory: &Value) -> String {
    let time = [&memory["occurred_at"], &memory["created_at"]].into_iter().find(|t| t.is_string());
    time.map(text).unwrap_or_default().chars().take(16).collect()
}

/// `remember`
pub(super) fn stored(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    for memory in items(answer, "memories") {
        let mut line = format!("{} {}", text(&memory["status"]), text(&memory["id"]));
        for (name, words) in [
            ("redacted", "redacted"),
            ("changed", "changed"),
            ("ignored", "not applied (`recalld update` does it)"),
        ] {
            let what: Vec<String> = items(memory, name).iter().map(text).collect();
            if !what.is_empty() {
                line.push_str(&format!(", {words}: {}", what.join(", ")));
            }
        }
        for name in ["reinforced", "superseded", "contradicts"] {
            let ids: Vec<String> = items(memory, name).iter().map(text).collect();
            if !ids.is_empty() {
                line.push_str(&format!(", {name} {}", ids.join(", ")));
            }
        }
        if memory["supersedes"].is_string() {
            let id = text(&memory["supersedes"]);
            line.push_str(&format!(", supersedes {id}, the latest successor of the one named"));
        }
        if memory["embedded"] == json!(false) {
            line.push_str(" (found by words; its vector follows)");
        }
        say(&line);
        for reminder in items(memory, "reminders") {
            remind::read(reminder);
        }
        for why in items(memory, "unarmed") {
            remind::unarmed(why);
        }
    }
    remarks(answer);
}

/// `recall`
pub(super) fn found(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let hits = items(answer, "memories");
    if hits.is_empty() {
        say("nothing remembered answers this");
    } else {
        let mut rows = table(&["handle", "score", "memory", "when", "why"]);
        for hit in hits {
            let mut reasons: Vec<String> = items(hit, "reasons").iter().map(text).collect();
            if hit["status"].is_string() {
                reasons.push(text(&hit["status"]));
            }
            for other in items(hit, "contradicting") {
                reasons.push(format!("contradicted: {}", cell(&other["content"])));
            }
            rows.add_row([
                text(&hit["handle"]),
                text(&hit["score"]),
                cell(&hit["content"]),
                when(hit),
                reasons.join("\n"),
            ]);
        }
        say(&rows.to_string());
    }
    if let Some(n) = answer["n_below_threshold"].as_u64() {
        say(&format!("{n} more were too unlike the question"));
    }
    remarks(answer);
}

/// `list`
pub(super) fn listed(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let mut rows = table(&["handle", "kind", "namespace", "memory", "when"]);
    for memory in items(answer, "memories") {
        rows.add_row([
            text(&memory["handle"]),
            text(&memory["kind"]),
            text(&memory["namespace"]),
            cell(&memory["content"]),
            when(memory),
        ]);
    }
    say(&rows.to_string());
    if let Some(cursor) = answer["next_cursor"].as_str() {
        say(&format!("more: --cursor {cursor}"));
    }
    remarks(answer);
}

/// `show`
pub(super) fn whole(memories: &[Value], json: bool) {
    if as_json(&json!({ "memories": memories }), json) {
        return;
    }
    for memory in memories {
        let mut rows = table(&["field", "value"]);
        for (name, value) in memory.as_object().into_iter().flatten() {
            if name != "content" && name != "history" && !value.is_null() {
                rows.add_row([name.clone(), text(value)]);
            }
        }
        say(&format!("{}\n{rows}", text(&memory["content"])));
        for version in items(memory, "history") {
            say(&format!(
                "version {} ({}): {}",
                text(&version["version"]),
                text(&version["updated_at"]),
                text(&version["content"])
            ));
        }
    }
}

/// `history`
pub(super) fn history(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    if answer["is_there"] == json!(false) {
        say("this memory is gone");
    }
    say(&changes(answer));
    if answer["has_older"] == json!(true) {
        say("older changes are not shown");
    }
    remarks(answer);
}

/// The entries of the change log in an answer.
fn changes(answer: &Value) -> String {
    let mut rows = table(&["when", "what", "by", "run", "version", "fields"]);
    for change in items(answer, "changes") {
        let fields: Vec<String> = items(change, "fields").iter().map(text).collect();
        let [at, operation, actor, run, version] =
            ["at", "operation", "actor", "run", "version"].map(|name| text(&change[name]));
        rows.add_row([at, operation, actor, run, version, fields.join(", ")]);
    }
    rows.to_string()
}

/// `update`
pub(super) fn updated(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let changed: Vec<String> = items(answer, "changed").iter().map(text).collect();
    say(&if changed.is_empty() {
        "nothing to change: it says so already".to_owned()
    } else {
        format!("changed {}", changed.join(", "))
    });
    for rule in items(answer, "redacted") {
        say(&format!("redacted: {}", text(rule)));
    }
    for reminder in items(answer, "reminders_read") {
        remind::read(reminder);
    }
    for why in items(answer, "unarmed") {
        remind::unarmed(why);
    }
    remarks(answer);
}

/// What a filtered `forget` would take.
pub(super) fn preview(answer: &Value) {
    if let Some(n) = answer["n_sessions"].as_u64() {
        say(&format!("sessions, with what was said in them: {n}"));
    }
    say(&format!("matching: {}, the first of them:", text(&answer["n_matching"])));
    for memory in items(answer, "sample") {
        say(&format!("  {} {}", text(&memory["handle"]), cell(&memory["content"])));
    }
}

/// `forget` where nothing is as described.
pub(super) fn none_matching(answer: &Value, json: bool) {
    if !as_json(answer, json) {
        say("nothing matches, nothing was forgotten");
    }
}

/// `forget`
pub(super) fn forgotten(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let is_deleted = answer["erase_by"] == answer["forgotten_at"];
    let until = if is_deleted {
        "deleted".to_owned()
    } else {
        format!("deleted by {}", text(&answer["erase_by"]))
    };
    say(&format!("forgotten: {}, {until}", text(&answer["n_forgotten"])));
    if let Some(n) = answer["n_turns"].as_u64() {
        say(&format!("turns of sessions gone for good: {n}"));
    }
    if let Some(n) = answer["n_withdrawn"].as_u64() {
        say(&format!("made of it and gone for good: {n}"));
    }
    let backups: Vec<String> = items(answer, "backups").iter().map(text).collect();
    if !backups.is_empty() {
        say(&format!("still in the backups: {}", backups.join(", ")));
    }
    for reference in items(answer, "missing") {
        say(&format!("not found: {}", text(reference)));
    }
    remarks(answer);
}

/// `backup`
pub(super) fn backed_up(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let [path, n_memories, at] =
        ["path", "n_memories", "created_at"].map(|name| text(&answer[name]));
    say(&format!("backed up {n_memories} memories as of {at} to {path}"));
    remarks(answer);
}

/// `unforget` and `unarchive`
pub(super) fn restored(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    for memory in items(answer, "memories") {
        say(&format!("restored {}: {}", text(&memory["handle"]), cell(&memory["content"])));
    }
    remarks(answer);
}

/// `reload`
pub(super) fn reloaded(answer: &Value, json: bool) {
    if as_json(answer, json) {
        return;
    }
    let keys = |name| {
        let keys: Vec<String> = items(answer, name).iter().map(text).collect();
        if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") }
    };
    say(&format!("configuration {} is in force", text(&answer["generation"])));
    say(&format!("changed: {}", keys("changed")));
    if !items(answer, "needs_restart").is_empty() {
        say(&format!("needs a restart: {}", keys("needs_restart")));
    }
    remarks(answer);
}

/// `status`
pub(super) fn status(answer: &Value, json: bool) {
    if !as_json(answer, json) {
        say(&super::status::render(answer));
    }
}
