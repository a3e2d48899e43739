//! Printing to people: standard output for answers, standard error for complaints.

use std::fmt::Display;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use comfy_table::{ContentArrangement, Table, presets};

use super::failure::{Fault, fail};

/// Why something of an answer was not printed.
static UNSAID: OnceLock<io::Error> = OnceLock::new();

/// Columns of a page where there is no terminal.
const PAGE_COLUMNS: u16 = 80;

/// Prints an answer. A reader that went away (`| head`) is no error.
pub fn say(text: &str) {
    let mut out = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    if let Err(error) = write!(out, "{text}{end}").and_then(|()| out.flush())
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        UNSAID.get_or_init(|| error);
    }
}

/// How the program ends: as `code` says, unless an answer could not be printed whole.
pub fn ending(code: ExitCode, json: bool) -> ExitCode {
    match UNSAID.get() {
        Some(error) => fail(Fault::Failed, &format!("standard output: {error}"), json),
        None => code,
    }
}

/// Prints what went wrong.
pub(super) fn complain(problem: &impl Display) {
    let problem = problem.to_string();
    say_aside(&format!("recalld: {}", problem.trim_end()));
}

/// Prints a line beside the answer.
pub(super) fn say_aside(line: &str) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}

/// Whether there is somebody to answer a question.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Asks a yes-or-no question.
///
/// # Errors
/// If the terminal cannot be read.
pub(super) fn confirmed(question: &str) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A table as wide as the terminal; elsewhere as wide as what is in it.
pub fn table(header: &[&str]) -> Table {
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| columns);
    table_within(columns, header)
}

/// A table of sentences, which are broken everywhere: as wide as the terminal, else as a page.
pub(super) fn page(header: &[&str]) -> Table {
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| columns);
    table_within(Some(columns.unwrap_or(PAGE_COLUMNS)), header)
}

fn table_within(columns: Option<u16>, header: &[&str]) -> Table {
    let mut table = Table::new();
    if let Some(columns) = columns {
        table.set_width(columns);
    }
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.iter().copied());
    table
}
