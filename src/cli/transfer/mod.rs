//! `export` and `import`: the file is written and read here, what is in it goes through the daemon.

mod file;
mod plan;

use std::path::Path;

use serde_json::{Value, json};

use super::output::{complain, say};
use super::session::{self, CliError, Connection, Door, LONG_WAIT};
use crate::clock::SystemClock;
use crate::domain::limits::{IMPORT_BATCH_BYTES, IMPORT_LINES_MAX};
use crate::mcp::transfer::{EXPORT_VERSION, Footer, Header, Line, read_item};
use crate::ports::Clock as _;

use file::{Source, Target};
use plan::{Batch, Problems};

/// Writes everything to `file`, or to standard output.
pub(super) async fn export(
    door: &Door,
    file: Option<&Path>,
    is_json: bool,
) -> Result<(), CliError> {
    let connection = session::connect(door, true).await?;
    let status = connection.call("memory_status", json!({})).await?;
    let header = Header {
        version: EXPORT_VERSION,
        created_at: SystemClock::new().now().to_string(),
        n_memories: status.pointer("/store/n_memories").and_then(Value::as_u64).unwrap_or(0),
    };
    let mut target = Target::create(file)?;
    target.line(&text_of(&Line::RecalldExport(header))?)?;
    let mut hasher = blake3::Hasher::new();
    let mut footer = Footer::default();
    let mut cursor = Value::Null;
    loop {
        let request = json!({ "cursor": cursor });
        let mut page = connection.call_within("memory_export", request, LONG_WAIT).await?;
        for line in page.get("lines").and_then(Value::as_array).into_iter().flatten() {
            let line = line.as_str().unwrap_or_default();
            hasher.update(line.as_bytes());
            hasher.update(b"\n");
            target.line(line)?;
            footer.n_lines += 1;
            footer.n_memories += u64::from(line.starts_with("{\"memory\""));
            footer.n_forgotten += u64::from(line.starts_with("{\"forgotten\""));
            footer.n_reminders += u64::from(line.starts_with("{\"reminder\""));
        }
        cursor = page.get_mut("next_cursor").map(Value::take).unwrap_or_default();
        if cursor.is_null() {
            break;
        }
    }
    hasher.finalize().to_hex().as_str().clone_into(&mut footer.blake3);
    target.line(&text_of(&Line::End(footer.clone()))?)?;
    let Some(path) = target.finish()? else { return Ok(()) };
    let Footer { n_memories, n_forgotten, n_reminders, .. } = footer;
    if is_json {
        let answer = json!({
            "path": path, "n_memories": n_memories, "n_forgotten": n_forgotten,
            "n_reminders": n_reminders,
        });
        say(&format!("{answer:#}"));
    } else {
        say(&format!(
            "exported {n_memories} memories, {n_reminders} reminders and {n_forgotten} ids of \
             forgotten ones to {path} (vectors are made anew)"
        ));
    }
    Ok(())
}

fn text_of(line: &Line) -> Result<String, CliError> {
    serde_json::to_string(line).map_err(|error| CliError::Data(error.to_string()))
}

/// Takes in what `file` holds and the store does not. Nothing is sent before the whole file was found
/// to be as it was written.
pub(super) async fn import(
    door: &Door,
    file: &Path,
    is_dry: bool,
    is_json: bool,
) -> Result<(), CliError> {
    let source = Source::open(file)?;
    plan::check(&source)?;
    let connection = session::connect(door, true).await?;
    let mut sums = Sums::default();
    let mut batch = Batch::default();
    for line in source.lines()? {
        let (number, line) = line?;
        let Ok(item) = read_item(&line) else { continue };
        let is_start = plan::starts_group(&item);
        let is_full = batch.n_bytes + line.len() > IMPORT_BATCH_BYTES
            || batch.lines.len() == IMPORT_LINES_MAX;
        // Groups are cut only where they are large by themselves.
        let is_large = is_start
            && (batch.n_bytes > IMPORT_BATCH_BYTES / 4 || batch.lines.len() > IMPORT_LINES_MAX / 4);
        if (is_full || is_large) && !batch.lines.is_empty() {
            send(&connection, &mut batch, !is_start, is_dry, &mut sums).await?;
        }
        batch.add(number, line);
    }
    send(&connection, &mut batch, false, is_dry, &mut sums).await?;
    sums.tell(is_dry, is_json);
    match sums.n_left_out {
        0 => Ok(()),
        n => Err(CliError::Data(format!("{n} of {} were left out", file.display()))),
    }
}

/// Sends what is collected and adds up the answer.
async fn send(
    connection: &Connection,
    batch: &mut Batch,
    is_continued: bool,
    is_dry: bool,
    sums: &mut Sums,
) -> Result<(), CliError> {
    let Batch { first_line, lines, .. } = std::mem::take(batch);
    if lines.is_empty() {
        return Ok(());
    }
    let request = json!({
        "lines": lines, "first_line": first_line, "continued": is_continued, "dry_run": is_dry,
    });
    let answer = connection.call_within("memory_import", request, LONG_WAIT).await?;
    sums.add(&answer);
    Ok(())
}

/// What became of everything.
#[derive(Default)]
struct Sums {
    n_added: u64,
    n_same: u64,
    n_left_out: u64,
    n_forgotten: u64,
    n_reminders: u64,
    n_redacted: u64,
    problems: Problems,
}

impl Sums {
    fn add(&mut self, answer: &Value) {
        let count = |name: &str| answer.get(name).and_then(Value::as_u64).unwrap_or(0);
        self.n_added += count("n_added");
        self.n_same += count("n_same");
        self.n_left_out += count("n_left_out");
        self.n_forgotten += count("n_forgotten");
        self.n_reminders += count("n_reminders");
        self.n_redacted += count("n_redacted");
        let problems = answer.get("problems").and_then(Value::as_array).into_iter().flatten();
        let problems = problems.filter_map(Value::as_str).map(str::to_owned);
        self.problems.count(problems, count("n_problems"));
    }

    fn tell(&self, is_dry: bool, is_json: bool) {
        let Self { n_added, n_same, n_left_out, n_forgotten, n_reminders, n_redacted, problems } =
            self;
        if is_json {
            let answer = json!({
                "dry_run": is_dry, "n_added": n_added, "n_same": n_same, "n_left_out": n_left_out,
                "n_forgotten": n_forgotten, "n_reminders": n_reminders, "n_redacted": n_redacted,
                "n_problems": problems.n_all(), "problems": problems.lines(),
            });
            return say(&format!("{answer:#}"));
        }
        for problem in problems.lines() {
            complain(&problem);
        }
        let verb = if is_dry { "to be imported" } else { "imported" };
        say(&format!(
            "{verb}: {n_added}, there already: {n_same}, left out: {n_left_out}, reminders: \
             {n_reminders}, ids of forgotten ones: {n_forgotten}"
        ));
        if *n_redacted > 0 {
            say(&format!("with something redacted: {n_redacted}"));
        }
    }
}
