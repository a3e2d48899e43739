//! Printing to people: standard output for answers, standard error for complaints.

use std::fmt::Display;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use comfy_table::{ContentArrangement, Table, presets};

/// Prints an answer. A reader that went away (`| head`) is no error.
pub fn say(text: &str) {
    let mut out = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    drop(write!(out, "{text}{end}").and_then(|()| out.flush()));
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
    let mut table = Table::new();
    if let Some((_, columns)) = console::Term::stdout().size_checked() {
        table.set_width(columns);
    }
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.iter().copied());
    table
}
